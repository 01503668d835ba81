//! The facts of a row: its times, its track, its source lines. Durations are shortened; the tooltip and the copy of
//! each have every nanosecond.

use std::borrow::Cow;

use egui::Ui;

use super::sample_value::SampleValue;
use super::values::{NAME_POINTS, pair};
use super::{DetailsPanel, share_text};
use crate::base::time::{duration_text, elapsed_text, grouped_digits};
use crate::base::units::duration_word;
use crate::query::filter::exactly;
use crate::query::groups::{GroupBy, NameKey, OwnerKey};
use crate::scene::labels::shorten_middle;
use crate::store::lane::LaneKind;
use crate::ui::command::Command;
use crate::ui::panels::number::TableNumber;
use crate::ui::panels::value_menu::PanelValue;
use crate::ui::theme::Theme;
use crate::ui::timeline::ruler_clock::RulerClock;

/// Limit for the letters of a fact, which may have the name of another span; its tooltip has more.
const FACT_LETTERS_MAX: f32 = 160.0;

/// A label with its value; not shown if the value is empty.
pub(super) struct Fact {
    label: &'static str,
    text: String,
    /// The filter that matches spans with this value.
    filter: Option<String>,
    /// More than the text has, for the tooltip.
    tip: Option<String>,
    /// The exact value, for the copy, if the text is shortened.
    exact: Option<String>,
}

impl Fact {
    pub(super) fn new(label: &'static str, text: impl Into<String>) -> Self {
        Self { label, text: text.into(), filter: None, tip: None, exact: None }
    }

    fn found_by(self, filter: Option<String>) -> Self {
        Self { filter, ..self }
    }

    /// Adds the exact value, for the copy.
    pub(super) fn copied_as(self, exact: String) -> Self {
        Self { exact: Some(exact), ..self }
    }

    pub(super) fn exactly_ns(self, dur_ns: u64) -> Self {
        let exact = TableNumber::Duration(dur_ns.into());
        Self { tip: Some(exact.exact()), exact: Some(exact.copied()), ..self }
    }

    /// Adds the time on the clock of the trace. The text is exact already, but on the clock of the ruler.
    fn at_ns(self, ts_ns: i64) -> Self {
        Self { tip: Some(format!("{} on the clock of the trace", ns_text(ts_ns))), ..self }
    }
}

impl DetailsPanel {
    pub(super) fn show_facts(&self, ui: &mut Ui, theme: &Theme, clock: RulerClock, commands: &mut Vec<Command>) {
        let filter_of = |key: &str, text: &str| (!text.is_empty()).then(|| format!("{key}:{}", exactly(text)));
        let description = &self.description;
        let category = description.category.clone().unwrap_or_default();
        let with_category = filter_of("cat", &category);
        let mut facts =
            vec![Fact::new(if self.is_frame { "Module" } else { "Category" }, category).found_by(with_category)];
        facts.extend(self.times(clock));
        let of_track = filter_of("thread", &description.track_name).filter(|_| self.sample.is_none());
        facts.push(Fact::new("Track", &*self.track_text).found_by(of_track));
        let of_process = filter_of("process", &description.process_name);
        facts.push(Fact::new("Process", &*self.process_text).found_by(of_process));
        if self.sample.is_none() {
            facts.push(Fact::new("Depth", description.depth.to_string()));
        }
        if self.unit.is_time() {
            facts.push(Fact::new("Clock", ns_text(description.start_ns)));
        }
        facts.push(Fact::new("UTC", self.utc_text().unwrap_or_default()));
        for (index, line) in self.lines.iter().enumerate() {
            facts.push(Fact::new(if index == 0 { "Source" } else { "Inlined in" }, &**line));
        }
        for fact in facts {
            self.show_fact(ui, theme, fact, commands);
        }
    }

    /// Returns the start, the end and the durations of the row.
    fn times(&self, clock: RulerClock) -> Vec<Fact> {
        let (description, unit) = (&self.description, &self.unit);
        let mut facts = Vec::new();
        if unit.is_time() {
            let label = if self.sample.is_some() { "Time" } else { "Start" };
            facts.push(Fact::new(label, clock.time_text(description.start_ns)).at_ns(description.start_ns));
            facts.extend(self.end_ns().map(|end_ns| Fact::new("End", clock.time_text(end_ns)).at_ns(end_ns)));
        }
        if self.kind == LaneKind::Spans {
            facts.extend(self.durations());
        }
        facts.extend(self.sampling.iter().map(|text| Fact::new("Sampled", &**text)));
        facts.extend(self.sample.iter().flat_map(SampleValue::facts));
        let thread_dur_ns = description.thread_dur_ns;
        facts.extend(thread_dur_ns.map(|dur_ns| Fact {
            tip: Some(ns_text(dur_ns)),
            exact: Some(dur_ns.to_string()),
            ..Fact::new("Thread time", signed_duration_text(dur_ns))
        }));
        facts.extend(description.thread_ts_ns.map(|ts_ns| Fact::new("Thread clock", elapsed_text(ts_ns))));
        facts
    }

    /// Returns the duration of a span, or its weight, and the shares of it.
    fn durations(&self) -> Vec<Fact> {
        let (description, unit) = (&self.description, &self.unit);
        let dur_ns = description.dur_ns;
        let exactly = |fact: Fact, ns: u64| if unit.is_time() { fact.exactly_ns(ns) } else { fact };
        let (label, self_label) = if unit.is_time() { ("Duration", "Self time") } else { ("Weight", "Self weight") };
        let more = if description.unfinished { " or more" } else { "" };
        let as_long = unit.is_time().then(|| format!("dur={}", duration_word(dur_ns)));
        let mut facts =
            vec![exactly(Fact::new(label, format!("{}{more}", unit.text(dur_ns))).found_by(as_long), dur_ns)];
        facts.extend(description.self_ns.map(|self_ns| {
            let share = if description.unfinished { String::new() } else { share_text(self_ns, dur_ns) };
            exactly(Fact::new(self_label, unit.text(self_ns) + &share), self_ns)
        }));
        // The share of an unknown duration is unknown.
        let of_parent = self.parent.as_ref().filter(|_| !description.unfinished);
        facts.extend(of_parent.map(|(name, parent_ns)| {
            Fact::new("Share", format!("{} of {name}", share_text(dur_ns, *parent_ns).trim()))
        }));
        facts
    }

    fn show_fact(&self, ui: &mut Ui, theme: &Theme, fact: Fact, commands: &mut Vec<Command>) {
        let Fact { label, text, filter, tip, exact } = fact;
        if text.is_empty() {
            return;
        }
        let short = shorten_middle(&text, FACT_LETTERS_MAX, |_| 1.0).unwrap_or_default();
        let whole = matches!(short, Cow::Owned(_)).then_some(&*text);
        let by = group_key(label).filter(|_| self.kind == LaneKind::Spans);
        let value = || PanelValue { filter, ..PanelValue::new(exact.unwrap_or_else(|| text.clone())) }.grouped_by(by);
        let more = tip.as_deref().or(whole);
        commands.extend(pair(ui, theme, (label, NAME_POINTS), (&short, more), value));
    }
}

/// Returns the grouping key of a fact, if there is one.
fn group_key(label: &str) -> Option<GroupBy> {
    let (name, track) = match label {
        "Category" => (Some(NameKey::Category), None),
        "Track" => (None, Some(OwnerKey::Thread)),
        "Process" => (None, Some(OwnerKey::Process)),
        _ => return None,
    };
    Some(GroupBy::Keys { name, track })
}

fn signed_duration_text(dur_ns: i64) -> String {
    let sign = if dur_ns < 0 { "-" } else { "" };
    format!("{sign}{}", duration_text(dur_ns.unsigned_abs()))
}

/// Formats every nanosecond, such as `1 207 279 000 ns`.
fn ns_text(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    format!("{sign}{} ns", grouped_digits(ns.unsigned_abs()))
}

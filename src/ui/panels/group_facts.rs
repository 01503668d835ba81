//! Shows one group of the statistics: its durations, its spans over time, and the longest of them.

use egui::{RichText, Ui};

use super::answer_state::SKETCH_ERROR;
use super::number::TableNumber;
use crate::base::sketch::{Sketch, SketchBar};
use crate::base::time::{duration_text, grouped_digits};
use crate::base::units::duration_word;
use crate::query::exact_quantiles::QUANTILE_PARTS;
use crate::query::search::Hit;
use crate::query::totals::NameTotals;
use crate::scene::labels::shown;
use crate::ui::command::{Command, PanelCommand, TimelineCommand};
use crate::ui::questions::{ExactQuantiles, GroupFacts};
use crate::ui::theme::Theme;
use crate::ui::timeline::state::Timeline;
use crate::ui::widgets::bars::Bars;
use crate::ui::widgets::reading_order::on_screen;

/// Shows the label of a group, and a button that searches for its spans by `filter`.
pub(super) fn show_title(ui: &mut Ui, label: &str, filter: Option<&str>, commands: &mut Vec<Command>) {
    ui.horizontal(|ui| {
        // The button comes first, because a long label takes the rest of the line.
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            if let Some(filter) = filter
                && ui.small_button("Search").clicked()
            {
                commands.push(PanelCommand::SearchFor(filter.to_owned()).into());
            }
            ui.with_layout(egui::Layout::left_to_right(egui::Align::Center), |ui| {
                ui.add(egui::Label::new(RichText::new(on_screen(&shown(label))).strong()).truncate());
            });
        });
    });
}

/// Shows quantiles of the durations: the exact ones once they are known, until then estimates of the totals.
pub(super) fn show_quantiles(ui: &mut Ui, totals: &NameTotals, exact: Option<&ExactQuantiles>, theme: &Theme) {
    ui.horizontal_wrapped(|ui| {
        for (index, part) in QUANTILE_PARTS.into_iter().enumerate() {
            let Some(sketched_ns) = totals.quantile_ns(part) else { continue };
            let dur = TableNumber::Duration(exact.map_or(sketched_ns, |exact| exact[index]).into());
            let is_sketched = exact.is_none() && totals.quantile_error() > 0.0;
            let mark = if is_sketched { "~" } else { "" };
            let hint = if is_sketched { format!("{}\n{SKETCH_ERROR}", dur.exact()) } else { dur.exact() };
            let text = format!("{mark}p{:.0} {}", part * 100.0, dur.text());
            // The number and its unit stay on one line.
            ui.add(egui::Label::new(RichText::new(text).color(theme.text)).extend()).on_hover_text(hint);
        }
    });
}

/// Shows the distribution of durations. A click on a bar searches for its spans, if the group has a filter.
pub(super) fn show_durations(
    ui: &mut Ui,
    durations: &Sketch,
    filter: Option<&str>,
    theme: &Theme,
    commands: &mut Vec<Command>,
) {
    // Four bars per octave resolve a factor of 1.2.
    let bars = durations.bars(2);
    let counts: Vec<u64> = bars.iter().map(|bar| bar.count).collect();
    let title = |bar: usize| {
        let bar = bars[bar];
        let (least, most) = (duration_text(bar.least_ns), duration_text(bar.most_ns));
        format!("{} of {least} to {most}", grouped_digits(bar.count))
    };
    // The edges of bars have many digits.
    let end = |bar: Option<u64>| bar.map(|dur_ns| TableNumber::Duration(dur_ns.into()).text()).unwrap_or_default();
    let (first, last) = (bars.first().map(|bar| bar.least_ns), bars.last().map(|bar| bar.most_ns));
    let ticks = power_ticks(&bars).into_iter().map(|(part, dur_ns)| (part, duration_text(dur_ns))).collect();
    let shown = Bars { title: "Durations (log scale)", counts: &counts, ends: (end(first), end(last)), ticks };
    let clicked = shown.show(ui, theme, title).and_then(|bar| bars.get(bar));
    if let Some((bar, filter)) = clicked.zip(filter) {
        let (least, most) = (duration_word(bar.least_ns), duration_word(bar.most_ns));
        let filter = format!("dur>={least} dur<={most} {filter}");
        commands.push(PanelCommand::SearchFor(filter).into());
    }
}

/// Returns the powers of ten nanoseconds on the scale of bars, with their positions from 0 to 1.
fn power_ticks(bars: &[SketchBar]) -> Vec<(f32, u64)> {
    let powers = (0..u64::MAX.ilog10()).map(|digits| 10_u64.pow(digits));
    let tick = |power_ns: u64| {
        let index = bars.iter().position(|bar| (bar.least_ns..=bar.most_ns).contains(&power_ns))?;
        let SketchBar { least_ns, most_ns, .. } = bars[index];
        let within = (power_ns - least_ns) as f32 / (most_ns - least_ns).saturating_add(1) as f32;
        Some(((index as f32 + within) / bars.len() as f32, power_ns))
    };
    powers.filter_map(tick).collect()
}

/// Shows the starts of spans over time. A click on a bar shows its time on the timeline.
pub(super) fn show_over_time(
    ui: &mut Ui,
    facts: &GroupFacts,
    timeline: &Timeline,
    theme: &Theme,
    commands: &mut Vec<Command>,
) {
    let (from_ns, to_ns) = facts.range;
    let time_of = |part: usize| {
        let width = i128::from(to_ns) - i128::from(from_ns);
        let ts_ns = i128::from(from_ns) + width * part as i128 / facts.over_time.len().max(1) as i128;
        i64::try_from(ts_ns).unwrap_or(to_ns)
    };
    let title = |part: usize| {
        let at = timeline.time_text(time_of(part));
        format!("{} from {at} on", grouped_digits(facts.over_time[part]))
    };
    let ends = timeline.clock().range_ends((from_ns, to_ns));
    let shown = Bars { title: "Over time", counts: &facts.over_time, ends, ticks: Vec::new() };
    if let Some(part) = shown.show(ui, theme, title) {
        commands.push(TimelineCommand::ShowSlice(time_of(part), time_of(part + 1)).into());
    }
}

/// Lists the longest spans. A click on one shows it on the timeline.
pub(super) fn show_longest(
    ui: &mut Ui,
    longest: &[Hit],
    timeline: &Timeline,
    theme: &Theme,
    commands: &mut Vec<Command>,
) {
    ui.label(RichText::new("Longest").small().color(theme.weak_text));
    for hit in longest {
        let at = timeline.time_text(hit.start_ns);
        let dur = TableNumber::Duration(hit.dur_ns.into());
        if ui.link(format!("{}  at {at}", dur.text())).on_hover_text(dur.exact()).clicked() {
            commands.push(TimelineCommand::Reveal(hit.row).into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_ten_are_at_equal_distances_on_the_scale_of_durations() {
        let mut durations = Sketch::default();
        [700, 80_000_000].into_iter().for_each(|dur_ns| durations.add(dur_ns));
        let ticks = power_ticks(&durations.bars(2));
        let labels: Vec<_> = ticks.iter().map(|&(_, dur_ns)| duration_text(dur_ns)).collect();
        assert_eq!(labels, ["1 µs", "10 µs", "100 µs", "1 ms", "10 ms"]);
        let distances: Vec<_> = ticks.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
        assert!(distances.iter().all(|distance| (distance / distances[0] - 1.0).abs() < 0.05), "{distances:?}");
        assert!(ticks[0].0 > 0.0 && ticks[4].0 < 1.0);
        assert!(power_ticks(&[]).is_empty());
    }
}

//! The scope options shared by commands, and the message if they select nothing.

use regex::Regex;

use super::error::CliError;
use super::messages::{counted, say};
use crate::base::typed_time::TypedTime;
use crate::model::{TrackIdx, TrackKind, TrackSet};
use crate::query::Snapshot;
use crate::query::filter::{Filter, Term, Test, TextTest};
use crate::query::matcher::Matcher;
use crate::query::scope::{Scope, TrackChoice};
use crate::query::track_number::track_number;

/// A time range of a trace; `None` leaves that side open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct TimeBounds {
    pub(super) from: Option<TypedTime>,
    pub(super) to: Option<TypedTime>,
}

/// The options `--from --to --track --process --thread --kind --filter`.
#[derive(Debug, Clone, Default)]
pub(super) struct ScopeArgs {
    pub(super) range: TimeBounds,
    pub(super) tracks: TrackChoice,
    pub(super) filter: Filter,
    /// The expression of `--name`, whose term is in the filter.
    pub(super) name: Option<String>,
    /// The number of terms in the filter that come from a query, not from `--filter`.
    pub(super) query_terms: usize,
}

impl TimeBounds {
    /// Checks the range, as far as that is possible without a trace: both bounds must be of one kind. Returns
    /// [`CliError::Usage`] if the end is not after the start.
    pub(super) fn check(self) -> Result<(), CliError> {
        match (self.from, self.to) {
            (Some(TypedTime::Absolute(from)), Some(TypedTime::Absolute(to)))
            | (Some(TypedTime::FromStart(from)), Some(TypedTime::FromStart(to))) => in_order(from, to),
            _ => Ok(()),
        }
    }

    /// Converts the range to the clock of a trace: its first nanosecond, and the first after it.
    pub(super) fn on_clock_of(self, start_ns: i64) -> (Option<i64>, Option<i64>) {
        (self.from.map(|from| from.on_clock_of(start_ns)), self.to.map(|to| to.on_clock_of(start_ns)))
    }
}

impl ScopeArgs {
    /// Restricts the scope to rows whose name matches, if there is an expression.
    #[must_use]
    pub(super) fn named(&self, name: Option<&Regex>) -> Self {
        let mut scope = self.clone();
        if let Some(name) = name {
            let test = Test::Name(TextTest::Expression(name.clone()));
            scope.filter.terms.push(Term { negated: false, test });
            scope.name = Some(name.to_string());
        }
        scope
    }

    /// Returns whether the scope depends neither on times nor on names, so that it holds for a profile by address too.
    pub(super) fn is_by_track(&self) -> bool {
        self.range.from.is_none() && self.range.to.is_none() && self.filter.is_empty()
    }

    /// Returns the given options, with their values if these are short.
    pub(super) fn options(&self) -> Vec<String> {
        let TrackChoice { track, numbered, process, thread, kinds } = &self.tracks;
        let text = |option: &str, expression: &Option<Regex>| Some(format!("{option} {}", expression.as_ref()?));
        let bound = |option: &str, time: Option<TypedTime>| time.map(|_| option.to_owned());
        let has_filter = self.filter.terms.len() > usize::from(self.name.is_some()) + self.query_terms;
        let options = [
            bound("--from", self.range.from),
            bound("--to", self.range.to),
            text("--track", track),
            numbers_text(numbered).map(|numbers| format!("--track {numbers}")),
            text("--process", process),
            text("--thread", thread),
            kinds_text(kinds).map(|kinds| format!("--kind {kinds}")),
            self.name.as_ref().map(|name| format!("--name {name}")),
            has_filter.then(|| "--filter".to_owned()),
            (self.query_terms > 0).then(|| "the query".to_owned()),
        ];
        options.into_iter().flatten().collect()
    }

    /// Applies the options to a trace, with a note on stderr about an option that selects nothing. Returns
    /// [`CliError::Usage`] if the end of the range is not after its start.
    pub(super) fn on(&self, snapshot: &Snapshot) -> Result<Scope, CliError> {
        let (from_ns, to_ns) = self.range.on_clock_of(snapshot.start_ns());
        if let (Some(from_ns), Some(to_ns)) = (from_ns, to_ns) {
            in_order(from_ns, to_ns)?;
        }
        let (start_ns, end_ns) = (snapshot.start_ns(), snapshot.end_ns());
        if let Some(from_ns) = from_ns.filter(|&from_ns| from_ns > end_ns) {
            say(format_args!("--from {from_ns} ns selects nothing: the trace ends at {end_ns} ns"));
        }
        if let Some(to_ns) = to_ns.filter(|&to_ns| to_ns <= start_ns) {
            say(format_args!("--to {to_ns} ns selects nothing: the trace starts at {start_ns} ns"));
        }
        let scope = Scope::from_range(from_ns, to_ns).matching(Matcher::new(snapshot, &self.filter));
        let scope = scope.on_tracks(snapshot, &self.tracks);
        let tracks = snapshot.tracks().tracks.len();
        if scope.tracks.is_empty() {
            self.say_what_misses(snapshot);
        } else if let Some(&track) = self.tracks.numbered.iter().find(|track| track.index() >= tracks) {
            say(format_args!("the trace has no track {}; `longspan dump` numbers its tracks", track_number(track)));
        }
        Ok(self.without_untimed(snapshot, scope))
    }

    /// Leaves samples without times out of a scope that selects by time, with a note. A trace with only such samples is
    /// cut where they are drawn, as in the window.
    fn without_untimed(&self, snapshot: &Snapshot, scope: Scope) -> Scope {
        let has_start = self.filter.terms.iter().any(|term| matches!(term.test, Test::Start(_)));
        let TimeBounds { from, to } = self.range;
        let limits = [("--from", from.is_some()), ("--to", to.is_some()), ("`start`", has_start)];
        let limits: Vec<_> = limits.into_iter().filter_map(|(limit, is_given)| is_given.then_some(limit)).collect();
        let set_of = |is_wanted: bool| {
            let is_member = |track| snapshot.track(track).key.is_untimed() == is_wanted;
            TrackSet::from_fn(snapshot.tracks().tracks.len(), is_member)
        };
        if limits.is_empty() || snapshot.untimed_samples() == 0 || scope.tracks.intersection(&set_of(true)).is_empty() {
            return scope;
        }
        let limits = limits.join(" and ");
        if snapshot.is_untimed() {
            say(format_args!("this trace has no times: its samples are drawn side by side, and cut there by {limits}"));
            return scope;
        }
        let samples = counted(snapshot.untimed_samples(), "sample");
        say(format_args!("left out: {samples} without times, which {limits} cannot select"));
        Scope { tracks: scope.tracks.intersection(&set_of(false)), ..scope }
    }

    fn say_what_misses(&self, snapshot: &Snapshot) {
        let TrackChoice { track, numbered, process, thread, kinds } = self.tracks.clone();
        let text = |expression: &Option<Regex>| expression.as_ref().map(Regex::to_string);
        let (numbers_text, kinds_text) = (numbers_text(&numbered), kinds_text(&kinds));
        let alone = [
            ("--track", text(&track), TrackChoice { track, ..TrackChoice::default() }),
            ("--track", numbers_text, TrackChoice { numbered, ..TrackChoice::default() }),
            ("--process", text(&process), TrackChoice { process, ..TrackChoice::default() }),
            ("--thread", text(&thread), TrackChoice { thread, ..TrackChoice::default() }),
            ("--kind", kinds_text, TrackChoice { kinds, ..TrackChoice::default() }),
        ];
        let given: Vec<_> = alone.into_iter().filter_map(|(name, text, choice)| Some((name, text?, choice))).collect();
        let misses =
            |(_, _, choice): &&(_, _, TrackChoice)| Scope::default().on_tracks(snapshot, choice).tracks.is_empty();
        let mut missing = given.iter().filter(misses).peekable();
        if missing.peek().is_none() {
            let options: Vec<_> = given.iter().map(|(name, text, _)| format!("{name} {text}")).collect();
            say(format_args!("no track matches {} at once", options.join(" and ")));
        }
        for (name, text, _) in missing {
            say(format_args!("nothing matches {name} {text}; `longspan dump` lists the processes and tracks"));
        }
    }
}

/// Returns the numbers of tracks as `--track` takes them; `None` without any.
fn numbers_text(tracks: &[TrackIdx]) -> Option<String> {
    (!tracks.is_empty()).then(|| tracks.iter().map(|&track| track_number(track)).collect::<Vec<_>>().join(","))
}

/// Returns the values of `--kind` as a person would give them; `None` without any.
fn kinds_text(kinds: &[TrackKind]) -> Option<String> {
    (!kinds.is_empty()).then(|| kinds.iter().map(|kind| kind.word()).collect::<Vec<_>>().join(" --kind "))
}

fn in_order(from_ns: i64, to_ns: i64) -> Result<(), CliError> {
    if to_ns <= from_ns {
        let message = format!("--to must be later than --from, but {to_ns} ns is not later than {from_ns} ns");
        return Err(CliError::Usage(message));
    }
    Ok(())
}

/// Reports the terms of a filter that do not apply to `things`; `thing` names one of them.
pub(super) fn say_ignored_terms(filter: &Filter, things: &str, thing: &str) {
    let mut keys: Vec<_> = filter.terms.iter().filter_map(|term| row_key(&term.test)).collect();
    keys.sort_unstable();
    keys.dedup();
    if !keys.is_empty() {
        let keys = keys.join(", ");
        say(format_args!("not applied to {things}: {keys}; {thing} is selected by `thread:`, `process:` or --track"));
    }
}

/// Returns the key of a test of rows; `None` for a test of tracks.
fn row_key(test: &Test) -> Option<&'static str> {
    Some(match test {
        Test::Name(_) => "names",
        Test::Category(_) => "`cat:`",
        Test::Duration(_) => "`dur`",
        Test::Start(_) => "`start`",
        Test::Argument { .. } => "`arg.`",
        Test::Failed => "`is:`",
        Test::Has(_) => "`has:`",
        Test::Inside(_) => "`in:`",
        Test::Within(_) => "`within:`",
        Test::Thread(_) | Test::Process(_) => return None,
    })
}

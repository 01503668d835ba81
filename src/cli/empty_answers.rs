//! Says on stderr why a table is empty: the trace has nothing of the kind, or the scope excludes all of it. Without a
//! reason, the empty table of a mistyped filter looks like a result.

use super::messages::say;
use super::scope::ScopeArgs;
use crate::query::Snapshot;
use crate::query::mistyped_key::filter_hint;

/// Says why there are no spans.
pub(super) fn say_no_spans(snapshot: &Snapshot, scope: &ScopeArgs) {
    let summary = snapshot.summary();
    match (summary.spans, summary.samples) {
        (0, 0) => say("this trace has no spans"),
        (0, samples) => say(format_args!(
            "this trace has {samples} samples and no spans: `longspan stats` adds them up by function, `longspan flame` \
             by path, `longspan dump` lists them"
        )),
        _ => say(nothing_of("spans", snapshot, scope)),
    }
}

/// Says why there are no counters.
pub(super) fn say_no_counters(snapshot: &Snapshot, scope: &ScopeArgs) {
    if snapshot.summary().counters == 0 {
        say("this trace has no counters");
    } else {
        say(nothing_of("counters", snapshot, scope));
    }
}

/// Says why there are no samples.
pub(super) fn say_no_samples(snapshot: &Snapshot, scope: &ScopeArgs) {
    if snapshot.summary().samples == 0 {
        say("this trace has no samples: record with perf, samply or another sampling profiler");
    } else {
        say(nothing_of("samples", snapshot, scope));
    }
}

/// Says that no row matches the scope.
pub(super) fn say_no_rows(snapshot: &Snapshot, scope: &ScopeArgs) {
    say(nothing_of("rows", snapshot, scope));
}

/// Returns a sentence with the options that exclude everything.
fn nothing_of(things: &str, snapshot: &Snapshot, scope: &ScopeArgs) -> String {
    match scope.options() {
        options if options.is_empty() => format!("no {things} in this part"),
        options => {
            let hint = filter_hint(snapshot, &scope.filter).map(|hint| format!("; {hint}")).unwrap_or_default();
            format!("no {things} in this part: none matches {}{hint}", options.join(" and "))
        }
    }
}

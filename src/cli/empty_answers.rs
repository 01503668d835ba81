//! Says on stderr why a table is empty: the trace has nothing of the kind, or the scope leaves nothing of it. Without
//! that, a mistyped filter looks like an answer.

use super::messages::say;
use crate::query::Snapshot;

/// Says why there are no spans.
pub(super) fn say_no_spans(snapshot: &Snapshot) {
    let summary = snapshot.summary();
    match (summary.spans, summary.samples) {
        (0, 0) => say("this trace has no spans"),
        (0, samples) => say(format_args!(
            "this trace has {samples} samples and no spans: `longspan stats` adds them up by function, `longspan flame` \
             by path, `longspan dump` lists them"
        )),
        _ => say("no spans in this part"),
    }
}

/// Says why there are no counters.
pub(super) fn say_no_counters(snapshot: &Snapshot) {
    say(if snapshot.summary().counters == 0 { "this trace has no counters" } else { "no counters in this part" });
}

/// Says why there are no samples.
pub(super) fn say_no_samples(snapshot: &Snapshot) {
    if snapshot.summary().samples == 0 {
        say("this trace has no samples: record with perf, samply or another sampling profiler");
    } else {
        say("no samples in this part");
    }
}

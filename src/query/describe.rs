//! Describes one row in full, for a panel or a tooltip.

use super::argument_path::ArgumentPath;
use super::cursor::LaneCursor;
use super::snapshot::Snapshot;
use crate::model::args::Detail;
use crate::model::{Id, TrackIdx};
use crate::store::details::DetailReader;
use crate::store::{LaneIdx, LaneKind, RowIdx};

/// The description of a row, for the panel and the exports.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Description {
    pub(crate) name: String,
    pub(crate) category: Option<String>,
    pub(crate) start_ns: i64,
    /// Duration in nanoseconds; 0 for instants.
    pub(crate) dur_ns: u64,
    /// Whether its end is missing from the trace.
    pub(crate) unfinished: bool,
    /// Whether it failed, as the trace states.
    pub(crate) failed: bool,
    /// Self time: the part of its duration in which none of its children runs. `None` if computing it would take too
    /// long.
    pub(crate) self_ns: Option<u64>,
    /// Name of its process; empty if the trace has none.
    pub(crate) process_name: String,
    pub(crate) pid: Id,
    pub(crate) track_name: String,
    pub(crate) tid: Id,
    pub(crate) track: TrackIdx,
    pub(crate) depth: u16,
    /// Thread clock at its start.
    pub(crate) thread_ts_ns: Option<i64>,
    /// Duration by the thread clock.
    pub(crate) thread_dur_ns: Option<i64>,
    /// Its arguments as one JSON object, or empty.
    pub(crate) args_json: String,
    /// The enclosing spans on its track, outermost first.
    pub(crate) ancestors: Vec<RowIdx>,
}

/// Describes a row; `None` if there is no such row.
#[must_use]
pub fn describe(snapshot: &Snapshot, row: RowIdx) -> Option<Description> {
    let store = snapshot.store();
    let info = store.lane(row.lane).info();
    let mut cursor = LaneCursor::new(snapshot.store(), row.lane);
    let decoded_row = cursor.row(row.row)?;
    let span = cursor.span_of(decoded_row, row.row);
    let name = snapshot.names().get(span.name);
    let track = snapshot.track(info.track);
    let process = &snapshot.tracks().processes[track.process.index()];
    let mut reader = DetailReader::default();
    let detail = Detail::decode(store.detail(span.detail, &mut reader));
    let is_span = info.kind == LaneKind::Spans;
    let depth = if info.kind == LaneKind::Instants { decoded_row.instant_depth() } else { info.depth };
    Some(Description {
        name: name.text.to_owned(),
        category: name.category.map(str::to_owned),
        start_ns: span.start_ns,
        dur_ns: span.dur_ns,
        unfinished: span.unfinished,
        failed: name.is_failed,
        self_ns: if is_span { self_ns(snapshot, row) } else { None },
        process_name: process.name.to_string(),
        pid: process.pid.clone(),
        track_name: track.name.to_string(),
        tid: track.key.tid.clone(),
        track: info.track,
        depth,
        thread_ts_ns: detail.thread_ts_ns,
        thread_dur_ns: detail.thread_dur_ns,
        args_json: detail.args_json.to_owned(),
        ancestors: ancestors(snapshot, info.track, depth, span.start_ns, span.end_ns()),
    })
}

/// Returns the arguments of a row as one JSON object, or an empty text.
#[must_use]
pub(crate) fn arguments(snapshot: &Snapshot, row: RowIdx) -> String {
    let store = snapshot.store();
    let mut cursor = LaneCursor::new(store, row.lane);
    let Some(decoded_row) = cursor.row(row.row) else { return String::new() };
    let mut reader = DetailReader::default();
    Detail::decode(store.detail(cursor.span_of(decoded_row, row.row).detail, &mut reader)).args_json.to_owned()
}

/// Returns the filter that matches the spans of a row's distributed trace, from its arguments; `None` without a trace
/// id.
#[must_use]
pub(crate) fn trace_filter(args_json: &str) -> Option<String> {
    /// The argument under which all readers of distributed traces write the id.
    const TRACE_ID: &str = "trace_id";
    // Arguments may be long, so a text without the key is not parsed.
    if !args_json.contains(TRACE_ID) {
        return None;
    }
    let args: serde_json::Value = serde_json::from_str(args_json).ok()?;
    let id = args.get(TRACE_ID)?.as_str()?;
    Some(ArgumentPath::from_member(&args, &[TRACE_ID])?.filter(id))
}

/// Returns the spans of `track` above `depth` that contain `[start_ns, end_ns)`, outermost first.
#[must_use]
pub(crate) fn ancestors(snapshot: &Snapshot, track: TrackIdx, depth: u16, start_ns: i64, end_ns: i64) -> Vec<RowIdx> {
    let mut spans = Vec::new();
    for lane in snapshot.lanes_of(track).map(LaneIdx) {
        let info = snapshot.lane(lane);
        if info.kind != LaneKind::Spans || info.depth >= depth {
            continue;
        }
        if let Some(row) = containing(snapshot, lane, start_ns, end_ns) {
            spans.push(row);
        }
    }
    spans
}

fn containing(snapshot: &Snapshot, lane: LaneIdx, start_ns: i64, end_ns: i64) -> Option<RowIdx> {
    let mut cursor = LaneCursor::new(snapshot.store(), lane);
    let after = cursor.first_after(start_ns);
    let row = after.row.checked_sub(1)?;
    let span = cursor.span(row)?;
    (span.end_ns() >= end_ns && span.start_ns <= start_ns).then_some(RowIdx { lane, row })
}

/// Returns the duration of a span minus the time of its children: the spans of the lane below that lie within it.
///
/// Returns `None` for too many children: a tooltip must not take longer than a frame.
#[must_use]
pub(crate) fn self_ns(snapshot: &Snapshot, row: RowIdx) -> Option<u64> {
    /// A thousand blocks of 64 rows: about a millisecond.
    const CHILDREN_MAX: u64 = 64 * 1024;
    let span = snapshot.row(row);
    let Some(below) = snapshot.lane_below(row.lane) else { return Some(span.dur_ns) };
    let mut cursor = LaneCursor::new(snapshot.store(), below);
    let from = cursor.first_from(span.start_ns);
    let to = cursor.first_from(span.end_ns());
    if to.row - from.row > CHILDREN_MAX {
        return None;
    }
    let end_ns = span.end_ns();
    let mut children_ns = 0u64;
    for child in from.row..to.row {
        let child = cursor.span(child)?;
        children_ns += child.end_ns().min(end_ns).abs_diff(child.start_ns);
    }
    Some(span.dur_ns.saturating_sub(children_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_with_a_trace_id_have_the_filter_of_their_trace() {
        let filter = trace_filter(r#"{"kind":"SERVER","trace_id":"0a1b","tags":{"a":1}}"#);
        assert_eq!(filter.as_deref(), Some(r#"arg.trace_id="0a1b""#));
        for other in ["", "{}", r#"{"tags":{"trace_id":"0a"}}"#, r#"{"trace_id":7}"#, r#"{"trace_id":"#] {
            assert_eq!(trace_filter(other), None, "{other}");
        }
    }

    #[test]
    fn an_instant_is_inside_the_deepest_span_that_is_open_also_if_one_above_it_has_ended() {
        let json = r#"[{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":10},{"ph":"X","name":"b","pid":1,"tid":1,"ts":5,"dur":10},
            {"ph":"i","s":"t","name":"mark","pid":1,"tid":1,"ts":12}]"#;
        let snapshot = crate::scene::tests::snapshot(json);
        let is_instants = |&lane: &LaneIdx| snapshot.lane(lane).kind == LaneKind::Instants;
        let lane = (0..snapshot.store().lane_count()).map(LaneIdx).find(is_instants).unwrap();
        let described = describe(&snapshot, RowIdx { lane, row: 0 }).unwrap();
        let name = |&row: &RowIdx| snapshot.names().get(snapshot.row(row).name).text;
        assert_eq!((described.depth, described.ancestors.iter().map(name).collect::<Vec<_>>()), (2, vec!["b"]));
    }

    #[test]
    fn the_arguments_of_a_row_are_those_of_its_description() {
        let json = r#"[{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":5,"args":{"trace_id":"7"}}]"#;
        let snapshot = crate::scene::tests::snapshot(json);
        let row = RowIdx { lane: LaneIdx(0), row: 0 };
        let described = describe(&snapshot, row).map(|description| description.args_json);
        assert_eq!(described.as_deref(), Some(&*arguments(&snapshot, row)));
        assert!(described.is_some_and(|args| args.contains("trace_id")));
    }
}

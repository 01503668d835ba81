//! The selected span in its saved form. Its track, start, duration and name identify it, because another import of the
//! trace may have other indices.

use serde::{Deserialize, Deserializer, Serialize};

use crate::model::{TrackIdx, TrackKey};
use crate::query::Snapshot;
use crate::query::cursor::LaneCursor;
use crate::store::lane::{LaneIdx, LaneKind, RowIdx, Span};

/// Limit for the saved letters of the name.
const NAME_LETTERS_MAX: usize = 200;

/// Maximum number of lanes of the track that are searched.
const LANES_MAX: usize = 10_000;

/// Maximum number of rows with the same start that are compared in a lane.
const SAME_START_MAX: u64 = 1000;

/// A span, or another row that can be selected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedSpan {
    track: TrackKey,
    /// The code of the kind of its lane.
    kind: u8,
    /// The number of its lane in the track. It may be in another lane once the trace has more spans.
    depth: u32,
    start_ns: i64,
    dur_ns: u64,
    /// The first letters of its name.
    name: String,
    /// Its number among the rows of the lane with this start.
    same_start: u64,
}

impl SavedSpan {
    /// Returns a row in its saved form. Reads only this row.
    #[must_use]
    pub(crate) fn new(snapshot: &Snapshot, row: RowIdx) -> Self {
        let lane = snapshot.lane(row.lane);
        let mut cursor = LaneCursor::new(snapshot.store(), row.lane);
        let span = cursor.span(row.row).unwrap_or_default();
        let first = cursor.first_from(span.start_ns).row;
        Self {
            track: snapshot.track(lane.track).key.clone(),
            kind: lane.kind.code(),
            depth: row.lane.0.saturating_sub(snapshot.lanes_of(lane.track).start),
            start_ns: span.start_ns,
            dur_ns: span.dur_ns,
            name: first_letters(snapshot.raw_names().get(span.name).text).collect(),
            same_start: row.row.saturating_sub(first),
        }
    }

    /// Returns the row of a trace; `None` if no row has the same track, times and name. Looks in the saved lane first,
    /// which takes time logarithmic in the number of rows.
    #[must_use]
    pub(crate) fn find_in(&self, snapshot: &Snapshot) -> Option<RowIdx> {
        let track = snapshot.tracks().tracks.iter().position(|track| track.key == self.track)?;
        let lanes = snapshot.lanes_of(TrackIdx(u32::try_from(track).ok()?));
        let own = lanes.start.checked_add(self.depth).filter(|lane| lanes.contains(lane));
        let lanes = own.into_iter().chain(lanes.take(LANES_MAX)).map(LaneIdx);
        let kind = LaneKind::from_code(self.kind);
        let mut same_kind = lanes.filter(|&lane| snapshot.lane(lane).kind == kind);
        same_kind.find_map(|lane| Some(RowIdx { lane, row: self.find_in_lane(snapshot, lane)? }))
    }

    fn find_in_lane(&self, snapshot: &Snapshot, lane: LaneIdx) -> Option<u64> {
        let mut cursor = LaneCursor::new(snapshot.store(), lane);
        let first = cursor.first_from(self.start_ns).row;
        let own = first.saturating_add(self.same_start);
        let mut span_at = |row| cursor.span(row).filter(|span| span.start_ns == self.start_ns);
        let is_same = |span: Span| {
            let name = snapshot.raw_names().get(span.name).text;
            span.dur_ns == self.dur_ns && first_letters(name).eq(self.name.chars())
        };
        if span_at(own).is_some_and(is_same) {
            return Some(own);
        }
        let mut rows = (first..first.saturating_add(SAME_START_MAX)).map_while(|row| Some((row, span_at(row)?)));
        rows.find(|&(_, span)| is_same(span)).map(|(row, _)| row)
    }
}

fn first_letters(name: &str) -> impl Iterator<Item = char> + '_ {
    name.chars().take(NAME_LETTERS_MAX)
}

/// Reads a saved span; `None` if a later version has written it in another form.
pub(super) fn read_if_known<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SavedSpan>, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::tests::snapshot;

    fn trace(events: &[&str]) -> Snapshot {
        snapshot(&format!("[{}]", events.join(",")))
    }

    fn rows(snapshot: &Snapshot) -> impl Iterator<Item = RowIdx> + '_ {
        let lanes = (0..snapshot.store().lane_count()).map(LaneIdx);
        lanes.flat_map(|lane| (0..snapshot.lane(lane).rows).map(move |row| RowIdx { lane, row }))
    }

    /// Rows that differ from others only in their lane, their kind, or their number among equal ones.
    const ALIKE: [&str; 9] = [
        r#"{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":9}"#,
        r#"{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":9}"#,
        r#"{"ph":"X","name":"b","pid":1,"tid":1,"ts":2,"dur":0}"#,
        r#"{"ph":"i","s":"t","name":"b","pid":1,"tid":1,"ts":2}"#,
        r#"{"ph":"i","s":"t","name":"b","pid":1,"tid":1,"ts":2}"#,
        r#"{"ph":"i","s":"t","name":"c","pid":1,"tid":1,"ts":2}"#,
        r#"{"ph":"X","name":"a","pid":1,"tid":2,"ts":0,"dur":9}"#,
        r#"{"ph":"C","name":"queue","pid":1,"ts":2,"args":{"length":3}}"#,
        r#"{"ph":"X","name":"open","pid":1,"tid":3,"ts":1,"dur":1}"#,
    ];

    #[test]
    fn every_row_is_found_again_after_it_was_written_and_read() {
        let trace = trace(&ALIKE);
        assert_eq!(rows(&trace).count(), ALIKE.len());
        for row in rows(&trace) {
            let text = serde_json::to_string(&SavedSpan::new(&trace, row)).unwrap();
            let saved: SavedSpan = serde_json::from_str(&text).unwrap();
            assert_eq!(saved.find_in(&trace), Some(row), "{text}");
        }
    }

    #[test]
    fn a_span_is_found_in_a_trace_whose_tracks_lanes_and_rows_have_other_indices() {
        let before = trace(&[
            r#"{"ph":"X","name":"outer","pid":1,"tid":1,"ts":0,"dur":90}"#,
            r#"{"ph":"X","name":"inner","pid":1,"tid":1,"ts":20,"dur":10}"#,
        ]);
        let inner = rows(&before).find(|&row| before.row(row).dur_ns == 10_000).unwrap();
        let after = trace(&[
            r#"{"ph":"X","name":"inner","pid":1,"tid":7,"ts":20,"dur":10}"#,
            r#"{"ph":"X","name":"early","pid":1,"tid":1,"ts":1,"dur":2}"#,
            r#"{"ph":"X","name":"inner","pid":1,"tid":1,"ts":20,"dur":10}"#,
        ]);
        let found = SavedSpan::new(&before, inner).find_in(&after).unwrap();
        let span = after.row(found);
        assert_eq!((after.names().get(span.name).text, span.start_ns, span.dur_ns), ("inner", 20_000, 10_000));
        assert_eq!(after.track(after.lane(found.lane).track).key, before.track(before.lane(inner.lane).track).key);
    }

    #[test]
    fn a_span_that_has_changed_in_any_way_is_not_found() {
        let span = |name: &str, tid: u32, ts: u32, dur: u32| {
            format!(r#"{{"ph":"X","name":"{name}","pid":1,"tid":{tid},"ts":{ts},"dur":{dur}}}"#)
        };
        let before = trace(&[&span("a", 1, 5, 5)]);
        let saved = SavedSpan::new(&before, rows(&before).next().unwrap());
        for (changed, is_found) in [
            (span("a", 1, 5, 5), true),
            (span("b", 1, 5, 5), false),
            (span("a", 2, 5, 5), false),
            (span("a", 1, 4, 5), false),
            (span("a", 1, 5, 6), false),
        ] {
            assert_eq!(saved.find_in(&trace(&[&changed])).is_some(), is_found, "{changed}");
        }
    }

    #[test]
    fn the_saved_form_of_a_span_stays_short_and_invalid_numbers_find_nothing() {
        let name = "long ".repeat(10_000);
        let trace = trace(&[&format!(r#"{{"ph":"X","name":"{name}","pid":1,"tid":1,"ts":5,"dur":5}}"#)]);
        let row = rows(&trace).next().unwrap();
        let saved = SavedSpan::new(&trace, row);
        assert!(serde_json::to_string(&saved).unwrap().len() < 1000);
        assert_eq!(saved.find_in(&trace), Some(row));
        let far = SavedSpan { depth: u32::MAX, same_start: u64::MAX, ..saved.clone() };
        assert_eq!(far.find_in(&trace), Some(row));
        for start_ns in [i64::MIN, i64::MAX] {
            assert_eq!(SavedSpan { start_ns, ..saved.clone() }.find_in(&trace), None);
        }
    }
}

//! Units of bars in profiles without times. A bar of bytes or counts is as wide as its weight, so its width is not a
//! duration.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rustc_hash::FxHashMap;

use super::cursor::LaneCursor;
use crate::base::escape::escaped;
use crate::base::time::{duration_text, grouped_digits};
use crate::model::args::Detail;
use crate::model::sample_measure::{NANOSECONDS, drawn_ns_per_unit};
use crate::model::{SampleMeasure, TrackIdx, TrackKey, TrackKind};
use crate::store::details::DetailReader;
use crate::store::{DetailRef, LaneIdx, LaneKind, Store};

/// The unit of the bars of a track.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum DrawnUnit {
    /// Bars are as wide as their durations.
    #[default]
    Time,
    /// Bars are as wide as their weights, in this unit.
    Weight(Arc<str>),
}

/// The units of the tracks that were looked up.
#[derive(Debug, Default)]
pub(super) struct DrawnUnits {
    of_tracks: Mutex<FxHashMap<TrackIdx, DrawnUnit>>,
    of_axis: OnceLock<AxisUnit>,
}

/// The unit of the horizontal axis of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AxisUnit {
    Time,
    /// The unit of all tracks, if no track has times.
    Weight(Arc<str>),
    /// Several units without times, so that a position has none.
    Mixed,
}

impl AxisUnit {
    /// Formats a distance on the axis; `None` if it has no unit.
    #[must_use]
    pub(crate) fn length_text(&self, length_ns: u64) -> Option<String> {
        match self {
            Self::Time => Some(DrawnUnit::Time.text(length_ns)),
            Self::Weight(unit) => Some(DrawnUnit::Weight(Arc::clone(unit)).text(length_ns)),
            Self::Mixed => None,
        }
    }

    /// Formats the length of a part of the axis; without a unit, it is just a part.
    #[must_use]
    pub(crate) fn part_text(&self, (from_ns, to_ns): (i64, i64)) -> String {
        self.length_text(to_ns.abs_diff(from_ns)).unwrap_or_else(|| "part".to_owned())
    }
}

impl DrawnUnit {
    #[must_use]
    pub(crate) fn is_time(&self) -> bool {
        *self == Self::Time
    }

    /// Formats the width of a bar, such as `1,737,192 bytes` or `1.737 ms`.
    #[must_use]
    pub(crate) fn text(&self, dur_ns: u64) -> String {
        match self {
            Self::Time => duration_text(dur_ns),
            Self::Weight(unit) => {
                let weight = dur_ns / drawn_ns_per_unit(unit);
                // A count of one is singular.
                let unit = if weight == 1 { unit.strip_suffix('s').unwrap_or(unit) } else { unit };
                format!("{} {}", grouped_digits(weight), escaped(unit))
            }
        }
    }
}

impl DrawnUnits {
    fn lock(&self) -> MutexGuard<'_, FxHashMap<TrackIdx, DrawnUnit>> {
        self.of_tracks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the unit that the first of `tracks` share. `tracks` are all shown tracks. The unit is computed once,
    /// because the window asks in each frame.
    pub(super) fn of_axis(&self, store: &Store, tracks: &[TrackIdx]) -> &AxisUnit {
        /// Maximum number of tracks that are checked.
        const TRACKS_MAX: usize = 1000;
        self.of_axis.get_or_init(|| {
            let mut shared = None;
            for &track in tracks.iter().take(TRACKS_MAX) {
                shared = match (self.of_track(store, track), shared) {
                    (DrawnUnit::Time, _) => return AxisUnit::Time,
                    (DrawnUnit::Weight(unit), Some(AxisUnit::Weight(other))) if unit != other => Some(AxisUnit::Mixed),
                    (DrawnUnit::Weight(unit), None) => Some(AxisUnit::Weight(unit)),
                    (DrawnUnit::Weight(_), shared) => shared,
                };
            }
            shared.unwrap_or(AxisUnit::Time)
        })
    }

    /// Returns the unit of the bars of a track.
    pub(super) fn of_track(&self, store: &Store, track: TrackIdx) -> DrawnUnit {
        let Some(key) = store.meta().tracks.tracks.get(track.index()).map(|track| &track.key) else {
            return DrawnUnit::Time;
        };
        if !key.is_untimed() {
            return DrawnUnit::Time;
        }
        if let Some(unit) = self.lock().get(&track) {
            return unit.clone();
        }
        let unit = unit_of_samples(store, key).filter(|unit| unit != NANOSECONDS);
        let unit = unit.map_or(DrawnUnit::Time, |unit| DrawnUnit::Weight(unit.into()));
        self.lock().insert(track, unit.clone());
        unit
    }
}

/// Returns the unit of the first sample of the thread with the ids of `key`.
fn unit_of_samples(store: &Store, key: &TrackKey) -> Option<String> {
    let source = store.meta().tracks.tracks.iter().position(|track| {
        (track.key.kind, track.key.slot) == (TrackKind::Thread, key.slot)
            && (&track.key.tid, &track.key.pid) == (&key.tid, &key.pid)
    })?;
    let source = TrackIdx(u32::try_from(source).ok()?);
    let mut lanes = store.lanes_of(source).map(LaneIdx);
    let lane = lanes.find(|&lane| store.lane(lane).info().kind == LaneKind::Samples)?;
    let sample = LaneCursor::new(store, lane).row(0)?;
    let mut reader = DetailReader::default();
    let detail = Detail::decode(store.detail(DetailRef(sample.detail), &mut reader));
    Some(SampleMeasure::from_args(detail.args_json).unit.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Id, Registry};
    use crate::store::{Meta, Row, StoreWriter};

    /// Returns the unit of tracks with these slots and a sample in these units. Asserts that a second call looks up no
    /// track.
    fn axis_unit(of_tracks: &[(u32, &str)]) -> AxisUnit {
        let (mut registry, mut blob) = (Registry::default(), Vec::new());
        let file = tempfile::tempfile().unwrap();
        let mut writer = StoreWriter::new(file.try_clone().unwrap(), 1 << 20).unwrap();
        let tracks: Vec<TrackIdx> = (0..of_tracks.len() as u32).map(TrackIdx).collect();
        for (&(slot, unit), &track) in of_tracks.iter().zip(&tracks) {
            let args_json = &*format!(r#"{{"event":"heap","unit":"{unit}","period":7}}"#);
            blob.clear();
            Detail { args_json, ..Detail::default() }.encode_into(&mut blob);
            registry.track(&TrackKey { slot, ..TrackKey::thread(Id::Number(1), Id::Number(track.0.into())) });
            let DetailRef(detail) = writer.push_detail(&blob).unwrap();
            let lane = writer.add_lane(track, LaneKind::Samples, 0).unwrap();
            writer.push(lane, Row { start_ns: 0, value: 0, detail, name: 0 }).unwrap();
        }
        writer.finish(&Meta { tracks: registry.into_tables(), ..Meta::default() }).unwrap();
        let store = Store::from_file(&file, "test".as_ref()).unwrap();
        let units = DrawnUnits::default();
        let unit = units.of_axis(&store, &tracks).clone();
        units.lock().clear();
        assert_eq!(*units.of_axis(&store, &tracks), unit);
        assert!(units.lock().is_empty(), "the tracks are looked up once");
        unit
    }

    #[test]
    fn a_trace_has_times_if_one_of_its_tracks_does_or_if_it_is_empty() {
        const UNTIMED: u32 = TrackKey::SLOT_UNTIMED;
        let bytes = AxisUnit::Weight("bytes".into());
        for (of_tracks, expected) in [
            (&[][..], AxisUnit::Time),
            (&[(UNTIMED, "bytes")], bytes.clone()),
            (&[(UNTIMED, "bytes"), (UNTIMED, "bytes")], bytes.clone()),
            (&[(UNTIMED, "bytes"), (UNTIMED, "count"), (UNTIMED, "count")], AxisUnit::Mixed),
            (&[(UNTIMED, "bytes"), (0, "bytes")], AxisUnit::Time),
            (&[(UNTIMED, "bytes"), (UNTIMED, "ns")], AxisUnit::Time),
        ] {
            assert_eq!(axis_unit(of_tracks), expected, "{of_tracks:?}");
        }
        assert_eq!(bytes.length_text(197_080).as_deref(), Some("197\u{2009}080 bytes"));
        assert_eq!(AxisUnit::Time.length_text(1500).as_deref(), Some("1.5 µs"));
        assert_eq!(AxisUnit::Mixed.length_text(1), None);
    }
}

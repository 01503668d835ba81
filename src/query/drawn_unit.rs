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
    has_times: OnceLock<bool>,
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
                // One of a count is singular.
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

    /// Returns whether any of the first tracks has times; `tracks` are those of the trace. They are looked up once,
    /// because the window asks in each frame.
    pub(super) fn has_times(&self, store: &Store, tracks: &[TrackIdx]) -> bool {
        /// Maximum number of tracks that are checked.
        const TRACKS_MAX: usize = 1000;
        *self.has_times.get_or_init(|| {
            tracks.is_empty() || tracks.iter().take(TRACKS_MAX).any(|&track| self.of_track(store, track).is_time())
        })
    }

    /// Returns the unit of the bars of a track.
    pub(super) fn of_track(&self, store: &Store, track: TrackIdx) -> DrawnUnit {
        let Some(key) = store.meta().tracks.tracks.get(track.index()).map(|track| &track.key) else {
            return DrawnUnit::Time;
        };
        let is_untimed = key.slot == TrackKey::SLOT_UNTIMED;
        if !is_untimed || !matches!(key.kind, TrackKind::Thread | TrackKind::Samples) {
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

    /// Returns whether tracks with these slots and a sample in bytes have times. Asserts that a second call looks up
    /// no track.
    fn has_times(slots: &[u32]) -> bool {
        let (mut registry, mut blob) = (Registry::default(), Vec::new());
        let args_json = r#"{"event":"heap","unit":"bytes","period":7}"#;
        Detail { args_json, ..Detail::default() }.encode_into(&mut blob);
        let file = tempfile::tempfile().unwrap();
        let mut writer = StoreWriter::new(file.try_clone().unwrap(), 1 << 20).unwrap();
        let tracks: Vec<TrackIdx> = (0..slots.len() as u32).map(TrackIdx).collect();
        for (&slot, &track) in slots.iter().zip(&tracks) {
            registry.track(&TrackKey { slot, ..TrackKey::thread(Id::Number(1), Id::Number(track.0.into())) });
            let DetailRef(detail) = writer.push_detail(&blob).unwrap();
            let lane = writer.add_lane(track, LaneKind::Samples, 0).unwrap();
            writer.push(lane, Row { start_ns: 0, value: 0, detail, name: 0 }).unwrap();
        }
        writer.finish(&Meta { tracks: registry.into_tables(), ..Meta::default() }).unwrap();
        let store = Store::from_file(&file, "test".as_ref()).unwrap();
        let units = DrawnUnits::default();
        let has_times = units.has_times(&store, &tracks);
        units.lock().clear();
        assert_eq!(units.has_times(&store, &tracks), has_times);
        assert!(units.lock().is_empty(), "the tracks are looked up once");
        has_times
    }

    #[test]
    fn a_trace_has_times_if_one_of_its_tracks_does_or_if_it_is_empty() {
        const UNTIMED: u32 = TrackKey::SLOT_UNTIMED;
        let cases: [&[u32]; 4] = [&[], &[UNTIMED], &[UNTIMED, UNTIMED], &[UNTIMED, 0]];
        assert_eq!(cases.map(has_times), [true, false, false, true]);
    }
}

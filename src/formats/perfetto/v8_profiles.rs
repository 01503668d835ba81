//! V8 CPU profiles in legacy events of phase `P`. Their JSON is in the annotation `data`, as in Chrome JSON.

use super::event_builder::{PerfettoEventBuilder, TrackEvent};
use super::fields::track_event;
use super::legacy_event::Legacy;
use super::values::{ValueTables, annotation_name, write_annotation};
use crate::formats::profiles::v8_parts::{ProfilePart, ProfileRole};
use crate::formats::protobuf::message::ProtoMessage as _;
use crate::model::{Event, EventKind, StackIdx};

const SAMPLE_PHASE: u8 = b'P';

impl PerfettoEventBuilder<'_> {
    /// Returns the part of a V8 profile that an event contains. Its times are on the clock of the profile.
    #[inline]
    pub(super) fn profile_part(&mut self, event: &TrackEvent<'_>, ts_ns: i64) -> Option<ProfilePart> {
        let legacy = event.legacy.filter(|legacy| legacy.phase == SAMPLE_PHASE)?;
        self.sampled_part(event, legacy, ts_ns)
    }

    #[inline(never)]
    fn sampled_part(&mut self, event: &TrackEvent<'_>, legacy: &Legacy<'_>, ts_ns: i64) -> Option<ProfilePart> {
        let name = self.name(event);
        let role = ProfileRole::from_name(self.batch.name_row(name)?.text.as_bytes())?;
        let data = self.annotation_json(event, b"data").filter(|data| data.starts_with('{'))?;
        let track = self.legacy_track(event, legacy);
        let key = self.tracks.key(track);
        let id = legacy.id.map_or_else(Default::default, |id| id.number.to_le_bytes().into());
        let (pid, tid) = (key.pid.clone(), key.tid.clone());
        Some(ProfilePart { pid, tid, id, role, ts_ns, clock_shift_ns: 0, data: data.into(), pos: self.pos })
    }

    /// Returns the value of an annotation as JSON.
    fn annotation_json(&mut self, event: &TrackEvent<'_>, key: &[u8]) -> Option<String> {
        let (texts, losses, pos) = (&self.sequence.texts, self.batch.losses(), self.pos);
        let mut annotations = event.bytes.repeated(track_event::DEBUG_ANNOTATIONS);
        let annotation = annotations.find(|bytes| annotation_name(bytes, texts, pos, losses) == key)?;
        let mut json = String::new();
        let shared = &mut ValueTables { texts, tracks: self.tracks, pos, losses };
        write_annotation(&mut json, shared, annotation, 0);
        Some(json)
    }

    /// Adds a sample of one frame, which is named by its event.
    pub(super) fn legacy_sample(&mut self, event: &TrackEvent<'_>, legacy: &Legacy<'_>, ts_ns: i64) {
        let name = self.name(event);
        let track = self.legacy_track(event, legacy);
        let track = self.batch.track(track, self.tracks);
        let text = self.batch.name_row(name).map(|row| row.text.clone()).unwrap_or_default();
        let frame = self.batch.name(text.as_bytes(), None, self.pos);
        let stack = self.batch.frame(StackIdx::EMPTY, frame);
        let detail = self.detail(event, None, None);
        self.batch.push(Event {
            value: u64::from(stack.0),
            detail,
            ..Event::new(ts_ns, EventKind::Sample, track, name)
        });
    }
}

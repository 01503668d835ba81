//! Legacy Chrome JSON events inside track events: a phase and its fields.

use xxhash_rust::xxh3::xxh3_64;

use super::args::{annotation_number, annotation_text};
use super::event_builder::{PerfettoEventBuilder, TrackEvent};
use super::fields::{flow_direction, instant_event_scope, track_event};
use super::legacy_event::Legacy;
use super::tracks::TrackNumber;
use super::values::annotation_name;
use crate::formats::output::batch::{label, text};
use crate::formats::protobuf::message::ProtoMessage as _;
use crate::model::{Event, EventFlags, EventKind, Id, Loss, LossValue, Metadata, TrackKey, TrackKind};

impl PerfettoEventBuilder<'_> {
    /// Adds an event by its phase.
    #[inline(never)]
    pub(super) fn legacy(&mut self, event: &TrackEvent<'_>, legacy: &Legacy<'_>, ts_ns: i64) {
        match legacy.phase {
            b'B' => self.legacy_span(event, legacy, ts_ns, EventKind::Begin),
            b'E' => self.legacy_span(event, legacy, ts_ns, EventKind::End),
            b'X' => self.legacy_span(event, legacy, ts_ns, EventKind::Complete),
            b'I' | b'i' | b'R' => self.legacy_span(event, legacy, ts_ns, EventKind::Instant),
            b'b' => self.legacy_async(event, legacy, ts_ns, EventKind::AsyncBegin, false),
            b'n' => self.legacy_async(event, legacy, ts_ns, EventKind::AsyncInstant, false),
            b'e' => self.legacy_async(event, legacy, ts_ns, EventKind::AsyncEnd, false),
            b'S' => self.legacy_async(event, legacy, ts_ns, EventKind::AsyncBegin, true),
            b'T' => self.legacy_async(event, legacy, ts_ns, EventKind::AsyncStepInto, true),
            b'p' => self.legacy_async(event, legacy, ts_ns, EventKind::AsyncStepPast, true),
            b'F' => self.legacy_async(event, legacy, ts_ns, EventKind::AsyncEnd, true),
            b's' => self.legacy_flow(event, legacy, ts_ns, EventKind::FlowStart),
            b't' => self.legacy_flow(event, legacy, ts_ns, EventKind::FlowStep),
            b'f' => self.legacy_flow(event, legacy, ts_ns, EventKind::FlowEnd),
            b'C' => self.legacy_counter(event, legacy, ts_ns),
            b'M' => self.legacy_metadata(event, legacy),
            b'P' => self.legacy_sample(event, legacy, ts_ns),
            0 => self.batch.lose(Loss::UnknownPhase, self.pos),
            phase => self.batch.lose_value(Loss::IgnoredPhase, LossValue::text(&[phase]), self.pos),
        }
    }

    fn legacy_span(&mut self, event: &TrackEvent<'_>, legacy: &Legacy<'_>, ts_ns: i64, kind: EventKind) {
        let name = self.name(event);
        let track = match (kind, legacy.instant_scope) {
            (EventKind::Instant, instant_event_scope::SCOPE_GLOBAL) => self.tracks.global(),
            (EventKind::Instant, instant_event_scope::SCOPE_PROCESS) => {
                let pid = self.process(event, legacy);
                self.tracks.process(pid)
            }
            _ => self.legacy_track(event, legacy),
        };
        let thread_ts_ns = self.thread_time(event, ts_ns);
        let thread_dur_ns = legacy.thread_dur_us.and_then(|us| us.checked_mul(1000));
        let track = self.batch.track(track, self.tracks);
        let detail = self.detail(event, thread_ts_ns, thread_dur_ns);
        let mut made = Event { detail, ..Event::new(ts_ns, kind, track, name) };
        match kind {
            EventKind::Complete => match legacy.dur_us.map(|us| us.checked_mul(1000)) {
                Some(Some(dur_ns)) if dur_ns >= 0 => made.value = dur_ns.unsigned_abs().min(i64::MAX.abs_diff(ts_ns)),
                Some(Some(_)) => self.batch.lose(Loss::NegativeDuration, self.pos),
                Some(None) | None => {
                    made.flags = EventFlags::UNFINISHED;
                    self.batch.lose(Loss::BadNumber, self.pos);
                }
            },
            EventKind::End if event.name.is_none() && event.name_iid == 0 && legacy.name_iid == 0 => {
                made.flags = EventFlags::UNNAMED;
            }
            _ => {}
        }
        if kind == EventKind::End {
            self.flows(event, &made);
        }
        self.batch.push(made);
        if kind != EventKind::End {
            self.flows(event, &made);
            self.bound_flow(legacy, &made);
        }
    }

    /// Adds the flow of version 2 that leaves an event, reaches it, or both.
    pub(super) fn bound_flow(&mut self, legacy: &Legacy<'_>, made: &Event) {
        let Some(bind_id) = legacy.bind_id else { return };
        let kind = match legacy.flow_direction {
            flow_direction::FLOW_IN => EventKind::FlowEnd,
            flow_direction::FLOW_OUT => EventKind::FlowStart,
            flow_direction::FLOW_INOUT => EventKind::FlowStep,
            _ => return,
        };
        let value = hash(b'v', &[], bind_id, None);
        // A flow binds at the start of its span, so that a flow which reaches the span can continue from it.
        let depth = match made.kind {
            EventKind::Instant | EventKind::End => Event::FLOW_OF_SPAN,
            _ => 0,
        };
        let flags = EventFlags::BIND_ENCLOSING;
        self.batch.push(Event { kind, value, flags, depth, detail: 0, ..*made });
    }

    fn legacy_async(
        &mut self,
        event: &TrackEvent<'_>,
        legacy: &Legacy<'_>,
        ts_ns: i64,
        kind: EventKind,
        by_name: bool,
    ) {
        let Some(id) = legacy.id else {
            self.batch.lose(Loss::BadAsync, self.pos);
            return self.legacy_span(event, legacy, ts_ns, EventKind::Instant);
        };
        let name = self.name(event);
        let row = self.batch.name_row(name).cloned().unwrap_or_default();
        let category = row.category.unwrap_or_default();
        let scope = legacy.id_scope.unwrap_or(category.as_bytes());
        let pid = self.process(event, legacy);
        let local = id.is_local.then(|| pid.to_string());
        let mut parts = vec![scope];
        if by_name {
            parts.push(row.text.as_bytes());
        }
        let value = hash(if by_name { b'S' } else { b'b' }, &parts, id.number, local.as_deref());
        let key = TrackKey { kind: TrackKind::Async, pid, tid: Id::None, name: category.into(), slot: 0 };
        let track = self.tracks.number(key);
        let track = self.batch.track(track, self.tracks);
        let thread_ts_ns = self.thread_time(event, ts_ns);
        let detail = self.detail(event, thread_ts_ns, None);
        let is_unnamed = event.name.is_none() && event.name_iid == 0 && legacy.name_iid == 0;
        let flags = if is_unnamed && kind == EventKind::AsyncEnd { EventFlags::UNNAMED } else { EventFlags::NONE };
        self.batch.push(Event { value, detail, flags, ..Event::new(ts_ns, kind, track, name) });
    }

    fn legacy_flow(&mut self, event: &TrackEvent<'_>, legacy: &Legacy<'_>, ts_ns: i64, kind: EventKind) {
        let id = legacy.id.map(|id| id.number).or(legacy.bind_id);
        let Some(id) = id else { return self.batch.lose(Loss::BadFlow, self.pos) };
        let name = self.name(event);
        let row = self.batch.name_row(name).cloned().unwrap_or_default();
        let category = row.category.unwrap_or_default();
        let value = hash(b's', &[category.as_bytes(), row.text.as_bytes()], id, None);
        let track = self.legacy_track(event, legacy);
        let track = self.batch.track(track, self.tracks);
        let binds_around = kind != EventKind::FlowEnd || legacy.binds_enclosing;
        let flags = if binds_around { EventFlags::BIND_ENCLOSING } else { EventFlags::NONE };
        let detail = self.detail(event, None, None);
        self.batch.push(Event { value, detail, flags, ..Event::new(ts_ns, kind, track, name) });
    }

    /// Adds a counter series for each numeric annotation.
    fn legacy_counter(&mut self, event: &TrackEvent<'_>, legacy: &Legacy<'_>, ts_ns: i64) {
        let pid = self.process(event, legacy);
        let row = self.name(event);
        let name = self.batch.name_row(row).map(|row| row.text.to_string()).unwrap_or_default();
        let id = legacy.id.map(|id| format!("[{:#x}]", id.number)).unwrap_or_default();
        let mut has_series = false;
        for annotation in event.bytes.repeated(track_event::DEBUG_ANNOTATIONS) {
            let Some(value) = annotation_number(annotation).filter(|value| value.is_finite()) else { continue };
            has_series = true;
            let losses = self.batch.losses();
            let series = annotation_name(annotation, &self.sequence.texts, self.pos, losses);
            let series = text(series, self.pos, losses);
            let track = self.tracks.named_counter(pid.clone(), format!("{name}{id} {series}").trim(), "");
            let track = self.batch.track(track, self.tracks);
            self.batch.push(Event { value: value.to_bits(), ..Event::new(ts_ns, EventKind::Counter, track, row) });
        }
        if !has_series {
            self.batch.lose(Loss::BadCounter, self.pos);
        }
    }

    fn legacy_metadata(&mut self, event: &TrackEvent<'_>, legacy: &Legacy<'_>) {
        let row = self.name(event);
        let what = self.batch.name_row(row).map(|row| row.text.clone()).unwrap_or_default();
        let annotation = event.bytes.repeated(track_event::DEBUG_ANNOTATIONS).find_map(annotation_text);
        let name = annotation.map(|annotation| label(annotation, self.pos, self.batch.losses()));
        let pid = self.process(event, legacy);
        let tid = legacy.tid.or(self.sequence.any_thread().map(|(_, tid)| *tid));
        let metadata = match (&*what, name, tid) {
            ("process_name", Some(name), _) => Metadata::ProcessName { pid, name },
            ("process_labels", Some(labels), _) => Metadata::ProcessLabels { pid, labels },
            ("thread_name", Some(name), Some(tid)) => Metadata::ThreadName { pid, tid: Id::Number(tid), name },
            _ => return self.batch.lose_value(Loss::IgnoredMetadata, LossValue::text(what.as_bytes()), self.pos),
        };
        self.batch.add_metadata(metadata);
    }

    /// Returns the thread that the event names, else its track.
    pub(super) fn legacy_track(&mut self, event: &TrackEvent<'_>, legacy: &Legacy<'_>) -> TrackNumber {
        self.named_thread(event, legacy).unwrap_or_else(|| self.event_track(event))
    }

    /// Returns the thread or process given by the event's pid and tid.
    pub(super) fn named_thread(&mut self, event: &TrackEvent<'_>, legacy: &Legacy<'_>) -> Option<TrackNumber> {
        let track = match (legacy.pid, legacy.tid) {
            (None, None) => return None,
            (_, Some(tid)) => {
                let pid = self.process(event, legacy);
                let key = TrackKey::thread(pid, Id::Number(tid));
                self.tracks.number(key)
            }
            (Some(pid), None) => {
                let pid = self.tracks.process_now(pid);
                self.tracks.process(pid)
            }
        };
        Some(track)
    }

    fn process(&mut self, event: &TrackEvent<'_>, legacy: &Legacy<'_>) -> Id {
        if let Some(pid) = legacy.pid {
            return self.tracks.process_now(pid);
        }
        let track = self.uuid_track(event);
        self.tracks.key(track).pid.clone()
    }
}

/// Hashes texts and an id; `domain` separates the kinds of ids.
fn hash(domain: u8, parts: &[&[u8]], id: u64, local: Option<&str>) -> u64 {
    let mut bytes = vec![domain];
    for part in parts {
        bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
        bytes.extend_from_slice(part);
    }
    bytes.extend_from_slice(&id.to_le_bytes());
    if let Some(local) = local {
        bytes.extend_from_slice(local.as_bytes());
    }
    xxh3_64(&bytes)
}

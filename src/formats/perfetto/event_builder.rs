//! Builds the parts that all kinds of track events share: names, tracks, counters, thread times, flows.

use std::ops::Deref;

use super::fields::track_event;
use super::legacy_event::Legacy;
use super::packets::PacketPart;
use super::parse::{CounterValue, EventFields, OwnTime, RareFields};
use super::sequence::Sequence;
use super::tracks::{PerfettoTracks, TrackNumber};
use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::BatchBuilder;
use crate::formats::protobuf::decode::Fields;
use crate::formats::protobuf::message::ProtoMessage as _;
use crate::model::{Event, EventFlags, EventKind, Loss, NameIdx, SourcePos};

/// The state that events of a packet are built with.
pub(super) struct PerfettoEventBuilder<'m> {
    pub(super) sequence: &'m mut Sequence,
    pub(super) tracks: &'m mut PerfettoTracks,
    pub(super) batch: &'m mut BatchBuilder,
    pub(super) args: &'m mut ArgsWriter,
    pub(super) pos: SourcePos,
}

/// A track event. Repeated fields are parsed again from `bytes` when they are needed.
#[derive(Debug)]
pub(super) struct TrackEvent<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) name: Option<&'a [u8]>,
    pub(super) legacy: Option<&'a Legacy<'a>>,
    fields: &'a EventFields,
    rare: &'a RareFields,
}

impl Deref for TrackEvent<'_> {
    type Target = EventFields;

    fn deref(&self) -> &EventFields {
        self.fields
    }
}

impl<'a> TrackEvent<'a> {
    /// Creates the event in `bytes`, whose parts point into `block`.
    #[inline]
    pub(super) fn new(
        bytes: &'a [u8],
        fields: &'a EventFields,
        rare: &'a RareFields,
        legacy: Option<&'a Legacy<'a>>,
        block: &'a [u8],
    ) -> Self {
        Self { bytes, name: rare.name.map(|part: PacketPart| part.in_block(block)), legacy, fields, rare }
    }

    /// Returns whether it has neither name nor category, like most span ends.
    #[inline]
    fn is_unnamed(&self) -> bool {
        self.name.is_none()
            && self.name_iid == 0
            && self.categories == 0
            && !self.has_inline_category
            && self.legacy.is_none()
    }

    /// Returns the duration of a span without an end, as this program writes it.
    pub(super) fn unfinished_dur_ns(&self) -> Option<u64> {
        self.rare.unfinished_dur_ns
    }

    /// Returns the time in the event itself, as the oldest traces have it.
    pub(super) fn own_us(&self, sequence: &mut Sequence) -> Option<i64> {
        match self.rare.own_time? {
            OwnTime::Absolute(us) => Some(us),
            OwnTime::SincePrevious(us) => {
                sequence.newest_us = sequence.newest_us.checked_add(us)?;
                Some(sequence.newest_us)
            }
        }
    }
}

impl PerfettoEventBuilder<'_> {
    /// Returns the row of the event's name and categories. Several categories are joined with commas.
    #[inline]
    pub(super) fn name(&mut self, event: &TrackEvent<'_>) -> NameIdx {
        if event.is_unnamed() {
            return NameIdx::EMPTY;
        }
        let name_iid = match event.legacy {
            Some(legacy) if event.name_iid == 0 => legacy.name_iid,
            _ => event.name_iid,
        };
        // Iid 0 means no category, but in `CATEGORY_IIDS` it means a missing category.
        let has_known_category = event.categories == 0 || event.categories == 1 && event.category_iid != 0;
        let is_simple = event.name.is_none() && has_known_category && !event.has_inline_category;
        if is_simple
            && let Some(name) = self.sequence.known_name(self.batch.names_number(), name_iid, event.category_iid)
        {
            return name;
        }
        self.new_name(event, name_iid, is_simple)
    }

    #[inline(never)]
    fn new_name(&mut self, event: &TrackEvent<'_>, name_iid: u64, is_simple: bool) -> NameIdx {
        let texts = &self.sequence.texts;
        let interned = texts.names.get(name_iid).map(|name| &**name);
        let mut is_missing = event.name.or(interned).is_none() && name_iid != 0;
        let name = event.name.or(interned).unwrap_or_default();
        let translations = self.tracks.translations();
        let name = if translations.keeps_spans() { name } else { translations.span(name) };
        let row = if event.categories == 0 && !event.has_inline_category {
            self.batch.name(name, None, self.pos)
        } else {
            let mut categories: Vec<&[u8]> = Vec::new();
            for field in Fields::new(event.bytes) {
                match field.number {
                    track_event::CATEGORY_IIDS => {
                        for iid in field.value.varints() {
                            match texts.categories.get(iid) {
                                Some(category) => categories.push(category),
                                None => is_missing = true,
                            }
                        }
                    }
                    track_event::CATEGORIES => categories.push(field.value.bytes()),
                    _ => {}
                }
            }
            let joined;
            let category: Option<&[u8]> = match categories[..] {
                [] => None,
                [one] => Some(one),
                _ => {
                    joined = categories.join(&b","[..]);
                    Some(&joined)
                }
            };
            self.batch.name(name, category, self.pos)
        };
        if is_missing {
            self.batch.lose(Loss::MissingText, self.pos);
        } else if is_simple {
            self.sequence.remember_name(self.batch.names_number(), name_iid, event.category_iid, row);
        }
        row
    }

    /// Returns the track of the event: its own track, else the track of the sequence or of its thread, or the root
    /// track.
    #[inline]
    pub(super) fn event_track(&mut self, event: &TrackEvent<'_>) -> TrackNumber {
        if let Some(legacy) = event.legacy.filter(|_| event.track == Some(0))
            && let Some(track) = self.named_thread(event, legacy)
        {
            return track;
        }
        self.uuid_track(event)
    }

    /// Returns the track of the event by its uuid, or the default of its sequence.
    #[inline]
    pub(super) fn uuid_track(&mut self, event: &TrackEvent<'_>) -> TrackNumber {
        // Uuid 0 is not a track.
        let named = event.track.or(self.sequence.defaults.track).filter(|&uuid| uuid != 0);
        // An event with a type and uuid 0 is on the root track; legacy events have uuid 0 if they have no track.
        let is_global = event.track == Some(0) && event.kind != 0;
        let thread = if is_global { self.sequence.thread.as_ref() } else { self.sequence.any_thread() };
        let uuid = match (named, thread) {
            (Some(uuid), _) => uuid,
            (None, Some((pid, tid))) => return self.tracks.thread_of(pid.clone(), *tid),
            (None, None) => 0,
        };
        if let Some((recent, track)) = self.sequence.recent_track
            && recent == uuid
        {
            return track;
        }
        let (texts, iid) = (&self.sequence.texts, event.name_iid);
        let name = || event.name.or_else(|| texts.names.get(iid).map(|name| &**name));
        let track = self.tracks.spans(uuid, name);
        if self.tracks.is_settled(uuid) {
            self.sequence.recent_track = Some((uuid, track));
        }
        track
    }

    #[inline(never)]
    pub(super) fn counter(&mut self, event: &TrackEvent<'_>, ts_ns: i64) {
        let uuid = event.track.or(self.sequence.defaults.track).unwrap_or(0);
        let Some(value) = event.rare.counter else { return self.batch.lose(Loss::BadCounter, self.pos) };
        let name = match self.name_text(event) {
            Some(name) => String::from_utf8_lossy(name).into_owned(),
            None => String::new(),
        };
        self.push_value(uuid, value, &name, ts_ns);
    }

    fn name_text<'n>(&'n self, event: &TrackEvent<'n>) -> Option<&'n [u8]> {
        event.name.or_else(|| self.sequence.texts.names.get(event.name_iid).map(|name| &**name))
    }

    /// Adds a counter value; `name` is used if the counter has no name.
    fn push_value(&mut self, uuid: u64, value: CounterValue, name: &str, ts_ns: i64) {
        let (track, counter) = self.tracks.counter(uuid, name);
        let value = match value {
            CounterValue::Whole(value) => {
                let value = if counter.is_incremental { self.sum(uuid, value) } else { value };
                value as f64 * counter.multiplier as f64
            }
            CounterValue::Double(value) => {
                let value = if counter.is_incremental { self.sum_of_doubles(uuid, value) } else { value };
                value * counter.multiplier as f64
            }
        };
        if !value.is_finite() {
            return self.batch.lose(Loss::BadCounter, self.pos);
        }
        let track = self.batch.track(track, self.tracks);
        self.batch
            .push(Event { value: value.to_bits(), ..Event::new(ts_ns, EventKind::Counter, track, NameIdx::EMPTY) });
    }

    fn sum(&mut self, uuid: u64, distance: i64) -> i64 {
        let sum = self.sequence.sums.entry(uuid).or_default();
        *sum = sum.wrapping_add(distance);
        *sum
    }

    fn sum_of_doubles(&mut self, uuid: u64, distance: f64) -> f64 {
        let sum = self.sequence.double_sums.entry(uuid).or_default();
        *sum += distance;
        *sum
    }

    /// Adds the extra counters of the event. Returns the thread time if it is among them.
    #[inline]
    pub(super) fn further_counters(&mut self, event: &TrackEvent<'_>, ts_ns: i64) -> Option<i64> {
        let mut thread_ts_ns = None;
        if event.has_double_counters || event.counter_values > 1 || event.names_counter_tracks {
            self.many_counters(event, ts_ns, &mut thread_ts_ns);
        } else if event.counter_values == 1 {
            let uuid = self.sequence.defaults.counters.first().copied();
            self.further_counter(uuid, event.counter_value, ts_ns, &mut thread_ts_ns);
        }
        thread_ts_ns
    }

    /// Reads the counters of an event again, in the order of their values.
    #[inline(never)]
    fn many_counters(&mut self, event: &TrackEvent<'_>, ts_ns: i64, thread_ts_ns: &mut Option<i64>) {
        for (of_values, of_uuids, is_double) in [
            (track_event::EXTRA_COUNTER_VALUES, track_event::EXTRA_COUNTER_TRACK_UUIDS, false),
            (track_event::EXTRA_DOUBLE_COUNTER_VALUES, track_event::EXTRA_DOUBLE_COUNTER_TRACK_UUIDS, true),
        ] {
            let event_uuids = || event.bytes.numbers(of_uuids);
            let values = Fields::new(event.bytes)
                .filter(|field| field.number == of_values)
                .flat_map(|field| field.value.numbers(is_double));
            let has_own = event.names_counter_tracks && event_uuids().next().is_some();
            let mut uuids = event_uuids();
            for (position, value) in values.enumerate() {
                let defaults = &self.sequence.defaults;
                let defaults = if is_double { &defaults.double_counters } else { &defaults.counters };
                let uuid = if has_own { uuids.next() } else { defaults.get(position).copied() };
                match uuid {
                    Some(uuid) if is_double => {
                        self.push_value(uuid, CounterValue::Double(f64::from_bits(value)), "", ts_ns);
                    }
                    _ => self.further_counter(uuid, value, ts_ns, thread_ts_ns),
                }
            }
        }
    }

    /// Adds a value of a counter, or sets the thread time to it.
    fn further_counter(&mut self, uuid: Option<u64>, value: u64, ts_ns: i64, thread_ts_ns: &mut Option<i64>) {
        let Some(uuid) = uuid else { return self.batch.lose(Loss::BadCounter, self.pos) };
        let counter = self.tracks.descriptor(uuid).and_then(|descriptor| descriptor.counter);
        match counter {
            // Shown with the span rather than drawn as a counter: each end of a span has one value.
            Some(counter) if counter.is_thread_time => {
                let value =
                    if counter.is_incremental { self.sum(uuid, value.cast_signed()) } else { value.cast_signed() };
                *thread_ts_ns = value.checked_mul(counter.multiplier);
                if thread_ts_ns.is_none() {
                    self.batch.lose(Loss::BadNumber, self.pos);
                }
            }
            _ => self.push_value(uuid, CounterValue::Whole(value.cast_signed()), "", ts_ns),
        }
    }

    /// Returns the thread time of the event, from a counter or from its own field.
    pub(super) fn thread_time(&mut self, event: &TrackEvent<'_>, ts_ns: i64) -> Option<i64> {
        let by_counter = self.further_counters(event, ts_ns);
        let us = event.rare.own_thread_time.map(|time| match time {
            OwnTime::Absolute(us) => us,
            OwnTime::SincePrevious(us) => {
                self.sequence.newest_thread_us = self.sequence.newest_thread_us.wrapping_add(us);
                self.sequence.newest_thread_us
            }
        });
        by_counter.or_else(|| us?.checked_mul(1000))
    }

    /// Adds the flows of the event. The ends of a flow are ordered by time: the first event starts it.
    pub(super) fn flows(&mut self, event: &TrackEvent<'_>, made: &Event) {
        if !event.has_flows {
            return;
        }
        let depth = match made.kind {
            EventKind::Instant => Event::FLOW_OF_INSTANT,
            // A state is none of the open spans of its track, so its time binds the flow.
            EventKind::State => 0,
            _ => Event::FLOW_OF_SPAN,
        };
        for field in Fields::new(event.bytes) {
            let (kind, wide) = match field.number {
                track_event::FLOW_IDS_OLD => (EventKind::FlowStep, false),
                track_event::FLOW_IDS => (EventKind::FlowStep, true),
                track_event::TERMINATING_FLOW_IDS_OLD => (EventKind::FlowEnd, false),
                track_event::TERMINATING_FLOW_IDS => (EventKind::FlowEnd, true),
                _ => continue,
            };
            for value in field.value.numbers(wide) {
                let flags = EventFlags::BIND_ENCLOSING;
                self.batch.push(Event { kind, value, flags, depth, detail: 0, ..*made });
            }
        }
    }
}

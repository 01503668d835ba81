//! Builds events for packets and kernel events: arguments from tables of fields, spans that may overlap, and instants.

use xxhash_rust::xxh3::xxh3_64;

use super::ftrace::SystemEventBuilder;
use super::tracks::TrackNumber;
use crate::formats::output::args::ArgsWriter;
use crate::formats::protobuf::message::ProtoMessage as _;
use crate::formats::protobuf::numbers::FieldNumber;
use crate::model::{Event, EventFlags, EventKind, Id, TrackIdx, TrackKey, TrackKind};

/// An argument: its key, its field, and the form of its value. A missing field gives no argument.
pub(super) struct PacketArg(pub(super) &'static str, pub(super) FieldNumber, pub(super) ArgForm);

/// The form of an argument's value.
pub(super) enum ArgForm {
    Unsigned,
    Signed,
    Text,
    /// The table entry of a number, or the number itself.
    Known(&'static [(u64, &'static str)]),
    /// The table entries of all bits that are set, or the number itself.
    Bits(&'static [(u64, &'static str)]),
}

/// Writes the arguments of a message.
pub(super) fn write_args(args: &mut ArgsWriter, bytes: &[u8], table: &[PacketArg]) {
    for PacketArg(key, field, form) in table {
        let Some(value) = bytes.value(*field) else { continue };
        match form {
            ArgForm::Unsigned => args.number(key, value.number()),
            ArgForm::Signed => args.signed(key, value.signed()),
            ArgForm::Text => args.text(key, value.bytes()),
            ArgForm::Known(names) => match enum_name(value.number(), names) {
                Some(name) => args.text(key, name.as_bytes()),
                None => args.number(key, value.number()),
            },
            ArgForm::Bits(names) => {
                let bits = value.number();
                let set: Vec<&str> = names.iter().filter(|(bit, _)| bits & bit != 0).map(|&(_, name)| name).collect();
                if set.is_empty() { args.number(key, bits) } else { args.text(key, set.join(", ").as_bytes()) }
            }
        }
    }
}

/// Returns the table entry of a number.
pub(super) fn enum_name(number: u64, names: &[(u64, &'static str)]) -> Option<&'static str> {
    names.iter().find(|&&(value, _)| value == number).map(|&(_, name)| name)
}

/// Returns the async id of a span, distinct from ids of other kinds.
pub(super) fn async_id(kind: &str, numbers: &[u64]) -> u64 {
    let numbers = numbers.iter().flat_map(|number| number.to_le_bytes());
    xxh3_64(&kind.bytes().chain(numbers).collect::<Vec<u8>>())
}

impl SystemEventBuilder<'_> {
    /// Returns the track of spans that may overlap; of no process if `pid` is [`Id::None`].
    pub(super) fn overlapping_track(&mut self, pid: Id, name: &str) -> TrackNumber {
        let (kind, tid, slot) = (TrackKind::Async, Id::None, TrackKey::SLOT_NAMED);
        self.tracks.number(TrackKey { kind, pid, tid, name: name.into(), slot })
    }

    /// Returns the track of a name whose spans do not overlap, or that only has instants.
    pub(super) fn instant_track(&mut self, pid: Id, name: &str) -> TrackIdx {
        let track = self.single_track(pid, name);
        self.batch.track(track, self.tracks)
    }

    fn single_track(&mut self, pid: Id, name: &str) -> TrackNumber {
        let (kind, tid, slot) = (TrackKind::Async, Id::None, TrackKey::SLOT_ALONE);
        self.tracks.number(TrackKey { kind, pid, tid, name: name.into(), slot })
    }

    /// Returns the track of a queue or a ring of a GPU, whose spans do not overlap.
    pub(super) fn gpu_track(&mut self, name: &str) -> TrackIdx {
        let track = self.single_track(Id::None, name);
        self.tracks.mark_as_gpu(track);
        self.batch.track(track, self.tracks)
    }

    /// Returns the track of a device or a stream that belongs to no process.
    pub(super) fn global_track(&mut self, name: &str) -> TrackIdx {
        self.instant_track(Id::None, name)
    }

    /// Stores the arguments written so far, and returns the index of their details; 0 if there are none.
    pub(super) fn written_args(&mut self) -> u32 {
        self.batch.args(self.state.args.finish())
    }

    /// Adds an instant with the arguments written so far.
    pub(super) fn push_message(&mut self, ts_ns: i64, track: TrackIdx, name: &[u8], category: Option<&[u8]>) {
        let detail = self.written_args();
        let name = self.batch.name(name, category, self.pos);
        self.batch.push(Event { detail, ..Event::new(ts_ns, EventKind::Instant, track, name) });
    }

    /// Begins a span that may overlap others, with the arguments written so far.
    pub(super) fn begin_async(&mut self, ts_ns: i64, track: TrackNumber, (name, category): (&str, &str), id: u64) {
        let detail = self.written_args();
        let track = self.batch.track(track, self.tracks);
        let name = self.batch.name(name.as_bytes(), Some(category.as_bytes()), self.pos);
        self.batch.push(Event { value: id, detail, ..Event::new(ts_ns, EventKind::AsyncBegin, track, name) });
    }

    /// Ends a span that may overlap others, with the arguments written so far.
    pub(super) fn end_async(&mut self, ts_ns: i64, track: TrackNumber, id: u64) {
        let detail = self.written_args();
        let track = self.batch.track(track, self.tracks);
        let name = self.batch.name(b"", None, self.pos);
        let flags = EventFlags::UNNAMED;
        self.batch.push(Event { value: id, detail, flags, ..Event::new(ts_ns, EventKind::AsyncEnd, track, name) });
    }

    /// Adds a span that may overlap others, with the arguments written so far.
    pub(super) fn push_async(&mut self, (ts_ns, dur_ns): (i64, u64), track: TrackNumber, name: (&str, &str), id: u64) {
        self.begin_async(ts_ns, track, name, id);
        self.state.args.clear();
        self.end_async(ts_ns.saturating_add_unsigned(dur_ns), track, id);
    }
}

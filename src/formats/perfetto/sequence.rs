//! State of a packet sequence: interned texts, defaults, sums, and whether packets were lost.

use rustc_hash::FxHashMap;

use super::fields::{interned_data, interned_string, source_location, trace_packet_defaults, track_event_defaults};
use super::interned::{InternCharge, InternRoom, Interned, InternedValue, is_dense};
use super::packet_fields::{graphics_context, interned_gpu_counters, network_context};
use super::profile::PerfettoStackTables;
use super::sample_defaults::SampleDefaults;
use super::tracks::TrackNumber;
use crate::formats::protobuf::decode::{Fields, ProtoValue};
use crate::formats::protobuf::message::ProtoMessage as _;
use crate::formats::protobuf::numbers::FieldNumber;
use crate::model::{Id, Loss, NameIdx};

/// Limit for remembered pairs of name and category; a sequence has several hundred.
const KNOWN_NAMES_MAX: usize = 1 << 16;

/// State of one packet sequence.
#[derive(Debug, Default)]
pub(super) struct Sequence {
    /// Whether no packet was lost since the state was cleared.
    pub(super) is_valid: bool,
    /// Whether it has had a packet.
    pub(super) is_known: bool,
    pub(super) texts: InternedTexts,
    /// Bytes of interned entries, as counted in [`InternRoom`].
    interned_bytes: usize,
    pub(super) defaults: Defaults,
    pub(super) stacks: PerfettoStackTables,
    /// Sums of incremental counters, by uuid.
    pub(super) sums: FxHashMap<u64, i64>,
    /// Sums of incremental double counters, by uuid.
    pub(super) double_sums: FxHashMap<u64, f64>,
    /// Allocated bytes of each stack, by process and heap.
    pub(super) heap_totals: FxHashMap<(i64, u64, u64), u64>,
    /// Default process and thread for events without a track.
    pub(super) thread: Option<(Id, i64)>,
    /// Default thread from the last track descriptor; not used for events that are explicitly on no track.
    pub(super) described_thread: Option<(Id, i64)>,
    pub(super) newest_us: i64,
    pub(super) newest_thread_us: i64,
    pub(super) newest_instructions: i64,
    /// Name rows by name and category, with the number of their name table.
    known_names: FxHashMap<(u64, u64), (u32, NameIdx)>,
    /// Rows by small name iid: table, category, row. A name nearly always has one category.
    recent_names: Vec<(u32, u64, NameIdx)>,
    /// The most recently used uuid and its track.
    pub(super) recent_track: Option<(u64, TrackNumber)>,
}

// A trace may have a hundred thousand sequences, with a few packets each.
const _: () = assert!(size_of::<Sequence>() <= 640);

/// Defaults for fields that packets omit.
#[derive(Debug, Default)]
pub(super) struct Defaults {
    pub(super) clock: Option<u64>,
    pub(super) track: Option<u64>,
    pub(super) counters: Vec<u64>,
    pub(super) double_counters: Vec<u64>,
    /// Defaults of samples triggered by kernel counters.
    pub(super) samples: SampleDefaults,
}

#[derive(Debug, Default)]
pub(super) struct InternedTexts {
    pub(super) categories: Interned<Box<[u8]>>,
    pub(super) names: Interned<Box<[u8]>>,
    pub(super) argument_names: Interned<Box<[u8]>>,
    pub(super) argument_values: Interned<Box<[u8]>>,
    pub(super) argument_types: Interned<Box<[u8]>>,
    pub(super) messages: Interned<Box<[u8]>>,
    pub(super) correlations: Interned<Box<[u8]>>,
    pub(super) histograms: Interned<Box<[u8]>>,
    pub(super) kernel_symbols: Interned<Box<[u8]>>,
    pub(super) locations: Interned<Location>,
    /// Names of the hardware queues and stages of GPUs.
    pub(super) gpu_specifications: Interned<Box<[u8]>>,
    /// Process id of each graphics context.
    pub(super) gpu_contexts: Interned<i64>,
    /// Encoded descriptors of GPU counters.
    pub(super) gpu_counters: Interned<Box<[u8]>>,
    /// Encoded contexts of network packets.
    pub(super) network_contexts: Interned<Box<[u8]>>,
    /// Encoded descriptions of app wakelocks.
    pub(super) wakelocks: Interned<Box<[u8]>>,
}

impl InternedTexts {
    /// Adds an interned message of devices. All have their iid in the same field.
    fn put_message(&mut self, kind: FieldNumber, bytes: &[u8], charge: &mut InternCharge<'_>) {
        let iid = bytes.number(interned_string::IID);
        let content = |field| bytes.content(field).unwrap_or_default().into();
        match kind {
            interned_data::GRAPHICS_CONTEXTS => {
                let pid = bytes.signed(graphics_context::PID);
                charge.put(&mut self.gpu_contexts, iid, pid);
            }
            interned_data::GPU_COUNTER_DESCRIPTORS => {
                charge.put(&mut self.gpu_counters, iid, content(interned_gpu_counters::COUNTER_DESCRIPTOR));
            }
            interned_data::PACKET_CONTEXT => {
                charge.put(&mut self.network_contexts, iid, content(network_context::CTX));
            }
            _ => charge.put(&mut self.wakelocks, iid, bytes.into()),
        }
    }
}

/// A source location, with its function.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Location {
    pub(super) file: Box<[u8]>,
    pub(super) function: Box<[u8]>,
    pub(super) line: u64,
}

impl InternedValue for Location {
    fn heap_bytes(&self) -> usize {
        self.file.len() + self.function.len()
    }
}

impl Sequence {
    /// Returns the thread of this sequence, from either kind of descriptor.
    pub(super) fn any_thread(&self) -> Option<&(Id, i64)> {
        self.thread.as_ref().or(self.described_thread.as_ref())
    }

    /// Clears the incremental state: later packets do not refer to earlier ones.
    #[inline(never)]
    pub(super) fn clear(&mut self, room: &mut InternRoom) {
        room.free(std::mem::take(&mut self.interned_bytes));
        self.texts = InternedTexts::default();
        self.stacks = PerfettoStackTables::default();
        self.defaults = Defaults::default();
        self.sums.clear();
        self.double_sums.clear();
        self.known_names.clear();
        self.recent_names.clear();
        self.recent_track = None;
        self.is_valid = true;
    }

    /// Adds interned data. Returns the loss if it is malformed or beyond the limit for all sequences.
    #[inline(never)]
    pub(super) fn intern(&mut self, bytes: &[u8], room: &mut InternRoom) -> Option<Loss> {
        let mut fields = Fields::new(bytes);
        let mut is_whole = true;
        let mut charge = InternCharge::new(room, &mut self.interned_bytes);
        for field in fields.by_ref() {
            let texts = &mut self.texts;
            let table = match field.number {
                interned_data::EVENT_CATEGORIES => &mut texts.categories,
                interned_data::EVENT_NAMES => &mut texts.names,
                interned_data::DEBUG_ANNOTATION_NAMES => &mut texts.argument_names,
                interned_data::SOURCE_LOCATIONS => {
                    let (iid, location) = location(field.value.bytes());
                    charge.put(&mut texts.locations, iid, location);
                    continue;
                }
                interned_data::GPU_SPECIFICATIONS => &mut texts.gpu_specifications,
                interned_data::GRAPHICS_CONTEXTS
                | interned_data::GPU_COUNTER_DESCRIPTORS
                | interned_data::PACKET_CONTEXT
                | interned_data::APP_WAKELOCK_INFO => {
                    texts.put_message(field.number, field.value.bytes(), &mut charge);
                    continue;
                }
                interned_data::LOG_MESSAGE_BODY => &mut texts.messages,
                interned_data::DEBUG_ANNOTATION_VALUE_TYPE_NAMES => &mut texts.argument_types,
                interned_data::DEBUG_ANNOTATION_STRING_VALUES => &mut texts.argument_values,
                interned_data::HISTOGRAM_NAMES => &mut texts.histograms,
                interned_data::KERNEL_SYMBOLS => &mut texts.kernel_symbols,
                interned_data::CORRELATION_ID_STR => &mut texts.correlations,
                number => {
                    self.stacks.intern(number, field.value.bytes(), &mut charge);
                    continue;
                }
            };
            let (mut iid, mut text) = (0, &[][..]);
            let mut entry = Fields::new(field.value.bytes());
            for field in entry.by_ref() {
                match (field.number, field.value) {
                    (interned_string::IID, value) => iid = value.number(),
                    (interned_string::STR, ProtoValue::Bytes(bytes)) => text = bytes,
                    _ => {}
                }
            }
            is_whole &= !entry.is_broken();
            if table.get(iid).is_some_and(|earlier_text| **earlier_text != *text) {
                // Redefined iids violate the format; the last definition counts.
                self.known_names.clear();
                self.recent_names.clear();
            }
            charge.put(table, iid, text.into());
        }
        let is_bad = !is_whole || fields.is_broken();
        is_bad.then_some(Loss::BadRecord).or(charge.is_over().then_some(Loss::OverLimit))
    }

    #[inline(never)]
    pub(super) fn set_defaults(&mut self, bytes: &[u8]) {
        let mut defaults = Defaults::default();
        for field in Fields::new(bytes) {
            match field.number {
                trace_packet_defaults::PERF_SAMPLE_DEFAULTS => {
                    defaults.samples = SampleDefaults::read(field.value.bytes());
                }
                trace_packet_defaults::TIMESTAMP_CLOCK_ID => defaults.clock = Some(field.value.number()),
                trace_packet_defaults::TRACK_EVENT_DEFAULTS => {
                    for field in Fields::new(field.value.bytes()) {
                        match field.number {
                            track_event_defaults::TRACK_UUID => defaults.track = Some(field.value.number()),
                            track_event_defaults::EXTRA_COUNTER_TRACK_UUIDS => {
                                defaults.counters.extend(field.value.varints());
                            }
                            track_event_defaults::EXTRA_DOUBLE_COUNTER_TRACK_UUIDS => {
                                defaults.double_counters.extend(field.value.varints());
                            }
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        self.defaults = defaults;
    }

    /// Returns the row of a name and category in the name table with this number, if it is cached.
    #[inline]
    pub(super) fn known_name(&self, table: u32, name: u64, category: u64) -> Option<NameIdx> {
        match self.recent_names.get(name as usize) {
            Some(&(of_table, of_category, row)) if (of_table, of_category) == (table, category) => Some(row),
            _ => {
                let &(of_table, row) = self.known_names.get(&(name, category))?;
                (of_table == table).then_some(row)
            }
        }
    }

    pub(super) fn remember_name(&mut self, table: u32, name: u64, category: u64, row: NameIdx) {
        if self.known_names.len() >= KNOWN_NAMES_MAX {
            self.known_names.clear();
            self.recent_names.clear();
        }
        self.known_names.insert((name, category), (table, row));
        if is_dense(name, self.recent_names.len()) {
            let position = name as usize;
            if self.recent_names.len() <= position {
                self.recent_names.resize(position + 1, (0, 0, NameIdx::EMPTY));
            }
            self.recent_names[position] = (table, category, row);
        }
    }
}

/// Parses a source location, and its iid if it is interned.
pub(super) fn location(bytes: &[u8]) -> (u64, Location) {
    let mut location = Location::default();
    let mut iid = 0;
    for field in Fields::new(bytes) {
        match field.number {
            source_location::IID => iid = field.value.number(),
            source_location::FILE_NAME => location.file = field.value.bytes().into(),
            source_location::FUNCTION_NAME => location.function = field.value.bytes().into(),
            source_location::LINE_NUMBER => location.line = field.value.number(),
            _ => {}
        }
    }
    (iid, location)
}

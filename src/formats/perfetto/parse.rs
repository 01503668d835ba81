//! Parses the fields of packets that do not depend on earlier packets: positions of their parts, and scalar fields of
//! their track event. Blocks can therefore be parsed in parallel; `read` interprets them in order.

use super::fields::{sequence_flags, trace_packet, track_event};
use super::own_fields::own_track_event;
use super::packets::{Bundle, PacketBlock, PacketPart};
use crate::formats::protobuf::decode::{Fields, ProtoField, ProtoValue, bytes_tag, small_field, varint_tag};
use crate::formats::protobuf::numbers::FieldNumber;

/// Limit for bundles of a block that are unpacked ahead; a recorded bundle has several hundred KiB. Others are unpacked
/// when they are interpreted.
const UNPACKED_AHEAD_BYTES: usize = 4 << 20;

/// A block and its parsed packets.
#[derive(Debug, Default)]
pub(super) struct ParsedBlock {
    pub(super) block: PacketBlock,
    pub(super) table: PacketTable,
    /// Bundles unpacked ahead, each with the row of its packet.
    pub(super) bundles: Vec<(usize, ParsedBundle)>,
}

/// An unpacked bundle and its first parsed packets.
#[derive(Debug)]
pub(super) struct ParsedBundle {
    pub(super) bundle: Bundle,
    pub(super) table: PacketTable,
}

/// The parsed packets of a block.
#[derive(Debug, Default)]
pub(super) struct PacketTable {
    pub(super) packets: Vec<PacketFields>,
    /// Fields that most packets lack; row 0 is empty.
    rare: Vec<RareFields>,
}

/// Header fields of a packet. Kept small, since it moves from the parsing core to the interpreting core; rare fields
/// are in a row of [`RareFields`].
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "the format has these flags")]
pub(super) struct PacketFields {
    /// Offset of the packet in its block.
    pub(super) at: u32,
    pub(super) sequence: u32,
    pub(super) clock: Option<u32>,
    /// Number of its payload field, if it has one.
    pub(super) kind: FieldNumber,
    rare_row: u32,
    /// Bytes of its payload field.
    pub(super) data: Option<PacketPart>,
    pub(super) timestamp: Option<u64>,
    pub(super) is_cleared: bool,
    pub(super) needs_state: bool,
    pub(super) was_dropped: bool,
    pub(super) is_broken: bool,
    /// Fields of its track event, if it is one.
    pub(super) event: EventFields,
}

/// Fields of a track event. Repeated fields are parsed again when they are needed.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "one for each repeated field that is read again where it is used")]
pub(super) struct EventFields {
    pub(super) track: Option<u64>,
    pub(super) name_iid: u64,
    /// Iid of the last category.
    pub(super) category_iid: u64,
    pub(super) categories: u32,
    /// The last whole-number value of an extra counter.
    pub(super) counter_value: u64,
    pub(super) counter_values: u32,
    /// Type of the event; a value that does not fit becomes `u32::MAX`, which is also unknown.
    pub(super) kind: u32,
    pub(super) has_inline_category: bool,
    pub(super) has_double_counters: bool,
    /// Whether the event names tracks for its counters, and does not use the defaults of the sequence.
    pub(super) names_counter_tracks: bool,
    pub(super) has_flows: bool,
    pub(super) has_args: bool,
    pub(super) is_broken: bool,
}

/// Fields that few packets and track events have.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RareFields {
    pub(super) interned: Option<PacketPart>,
    pub(super) defaults: Option<PacketPart>,
    pub(super) name: Option<PacketPart>,
    pub(super) legacy: Option<PacketPart>,
    pub(super) counter: Option<CounterValue>,
    pub(super) own_time: Option<OwnTime>,
    pub(super) own_thread_time: Option<OwnTime>,
    /// The duration of a span without an end, in nanoseconds.
    pub(super) unfinished_dur_ns: Option<u64>,
    /// The machine that recorded the packet; 0 is the machine that wrote the trace.
    pub(super) machine: u32,
}

/// A counter value as recorded, which may be an increment.
#[derive(Debug, Clone, Copy)]
pub(super) enum CounterValue {
    Whole(i64),
    Double(f64),
}

/// A time in the event itself, in microseconds.
#[derive(Debug, Clone, Copy)]
pub(super) enum OwnTime {
    Absolute(i64),
    /// Microseconds after the previous event.
    SincePrevious(i64),
}

impl ParsedBlock {
    /// Parses a block into the table of an earlier block, to reuse its memory.
    pub(super) fn parse(block: PacketBlock, mut table: PacketTable) -> Self {
        table.read(&block);
        let mut bytes_left = UNPACKED_AHEAD_BYTES;
        let mut bundles = Vec::new();
        for (row, fields) in table.packets.iter().enumerate().filter(|(_, fields)| Bundle::is_bundle(fields.kind)) {
            let unpacked = ParsedBundle::unpack(fields, &block, bytes_left);
            let bytes = unpacked.bundle.block.bytes.len();
            if bytes < bytes_left {
                bytes_left -= bytes;
                bundles.push((row, unpacked));
            }
        }
        Self { block, table, bundles }
    }

    /// Returns the memory of the block and its tables, in bytes.
    pub(super) fn memory_bytes(&self) -> u64 {
        let block_bytes = |block: &PacketBlock, table: &PacketTable| {
            let table_bytes =
                table.packets.capacity() * size_of::<PacketFields>() + table.rare.capacity() * size_of::<RareFields>();
            block.bytes.capacity() + block.packets.capacity() * size_of::<(u32, PacketPart)>() + table_bytes
        };
        let bundle_bytes: usize =
            self.bundles.iter().map(|(_, unpacked)| block_bytes(&unpacked.bundle.block, &unpacked.table)).sum();
        (block_bytes(&self.block, &self.table) + bundle_bytes) as u64
    }
}

impl ParsedBundle {
    /// Unpacks a bundle up to `bytes_max` bytes, and parses its first packets.
    pub(super) fn unpack(fields: &PacketFields, block: &PacketBlock, bytes_max: usize) -> Self {
        let packed = fields.data.map_or(&[][..], |part| part.in_block(&block.bytes));
        let bundle = Bundle::unpack(fields.kind, packed, block.offset + u64::from(fields.at), bytes_max);
        let mut unpacked = Self { bundle, table: PacketTable::default() };
        unpacked.next();
        unpacked
    }

    /// Parses the next packets; returns false if there are none.
    pub(super) fn next(&mut self) -> bool {
        let has_more = self.bundle.next();
        self.table.read(&self.bundle.block);
        has_more
    }
}

impl PacketTable {
    fn read(&mut self, block: &PacketBlock) {
        self.packets.clear();
        self.rare.clear();
        self.rare.push(RareFields::default());
        for &(at, part) in &block.packets {
            // Filled in place: a move costs as much as parsing it.
            let packet = self.packets.push_mut(PacketFields { at, ..PacketFields::default() });
            PacketParser { packet, rare: &mut self.rare, block: &block.bytes }.packet(part);
        }
    }

    /// Returns the rare fields of a packet.
    #[inline]
    pub(super) fn rare_fields(&self, packet: &PacketFields) -> &RareFields {
        &self.rare[packet.rare_row as usize]
    }
}

struct PacketParser<'r> {
    packet: &'r mut PacketFields,
    rare: &'r mut Vec<RareFields>,
    block: &'r [u8],
}

impl PacketParser<'_> {
    #[inline]
    fn packet(&mut self, part: PacketPart) {
        const TIMESTAMP: u64 = varint_tag(trace_packet::TIMESTAMP);
        const SEQUENCE: u64 = varint_tag(trace_packet::TRUSTED_PACKET_SEQUENCE_ID);
        const FLAGS: u64 = varint_tag(trace_packet::SEQUENCE_FLAGS);
        const EVENT: u64 = bytes_tag(trace_packet::TRACK_EVENT);
        let mut fields = Fields::new(part.in_block(self.block));
        loop {
            // One match for the fields of nearly all packets.
            if let Some((tag, value)) = fields.small() {
                match u64::from(tag) {
                    SEQUENCE => self.packet.sequence = value.into(),
                    FLAGS => self.add_flags(value.into()),
                    _ => self.packet_field(small_field(tag.into(), value.into())),
                }
                continue;
            }
            let Some(tag) = fields.tag() else { break };
            match tag {
                TIMESTAMP => self.packet.timestamp = Some(fields.varint()),
                SEQUENCE => self.packet.sequence = fields.varint() as u32,
                EVENT => {
                    if let Some(bytes) = fields.bytes() {
                        self.event(bytes);
                        self.packet.kind = trace_packet::TRACK_EVENT;
                        self.packet.data = Some(PacketPart::new(bytes, self.block));
                    }
                }
                _ => {
                    if let Some(field) = fields.value(tag) {
                        self.packet_field(field);
                    }
                }
            }
        }
        self.packet.is_broken = fields.is_broken();
    }

    #[inline(never)]
    fn packet_field(&mut self, field: ProtoField<'_>) {
        let Self { packet, block, .. } = self;
        match (field.number, field.value) {
            (trace_packet::TIMESTAMP, value) => packet.timestamp = Some(value.number()),
            (trace_packet::TRUSTED_PACKET_SEQUENCE_ID, value) => packet.sequence = value.number() as u32,
            (trace_packet::INTERNED_DATA, ProtoValue::Bytes(bytes)) => {
                self.rare_fields().interned = Some(PacketPart::new(bytes, self.block));
            }
            (trace_packet::SEQUENCE_FLAGS, value) => self.add_flags(value.number()),
            (trace_packet::INCREMENTAL_STATE_CLEARED, value) => packet.is_cleared |= value.number() != 0,
            (trace_packet::PREVIOUS_PACKET_DROPPED, value) => packet.was_dropped = value.number() != 0,
            (trace_packet::TIMESTAMP_CLOCK_ID, value) => {
                packet.clock = Some(u32::try_from(value.number()).unwrap_or(u32::MAX));
            }
            (trace_packet::MACHINE_ID, value) => self.rare_fields().machine = value.number() as u32,
            (trace_packet::TRACE_PACKET_DEFAULTS, ProtoValue::Bytes(bytes)) => {
                self.rare_fields().defaults = Some(PacketPart::new(bytes, self.block));
            }
            (number, ProtoValue::Bytes(bytes)) => {
                packet.kind = number;
                packet.data = Some(PacketPart::new(bytes, block));
            }
            _ => {}
        }
    }

    fn add_flags(&mut self, flags: u64) {
        self.packet.is_cleared |= flags & sequence_flags::SEQ_INCREMENTAL_STATE_CLEARED != 0;
        self.packet.needs_state |= flags & sequence_flags::SEQ_NEEDS_INCREMENTAL_STATE != 0;
    }

    #[inline]
    fn event(&mut self, bytes: &[u8]) {
        const CATEGORY: u64 = varint_tag(track_event::CATEGORY_IIDS);
        const KIND: u64 = varint_tag(track_event::TYPE);
        const NAME: u64 = varint_tag(track_event::NAME_IID);
        const TRACK: u64 = varint_tag(track_event::TRACK_UUID);
        if self.packet.kind == trace_packet::TRACK_EVENT {
            // A packet has one event; if there are several, the last counts.
            self.packet.event = EventFields::default();
            let rare = self.rare_fields();
            *rare = RareFields { interned: rare.interned, defaults: rare.defaults, ..RareFields::default() };
        }
        let mut fields = Fields::new(bytes);
        loop {
            let (tag, value) = match fields.small() {
                Some((tag, value)) => (tag.into(), value.into()),
                None => match fields.tag() {
                    // One match for the fields of nearly all events.
                    Some(tag @ (KIND | TRACK | NAME | CATEGORY)) => (tag, fields.varint()),
                    Some(tag) => {
                        if let Some(field) = fields.value(tag) {
                            self.event_field(field);
                        }
                        continue;
                    }
                    None => break,
                },
            };
            let event = &mut self.packet.event;
            match tag {
                KIND => event.kind = u32::try_from(value).unwrap_or(u32::MAX),
                TRACK => event.track = Some(value),
                NAME => event.name_iid = value,
                CATEGORY => event.add_category(value),
                _ => self.event_field(small_field(tag, value)),
            }
        }
        self.packet.event.is_broken = fields.is_broken();
    }

    #[inline(never)]
    fn event_field(&mut self, field: ProtoField<'_>) {
        let value = field.value;
        let event = &mut self.packet.event;
        match field.number {
            track_event::TIMESTAMP_DELTA_US => set_delta(&mut self.rare_fields().own_time, value.signed()),
            track_event::THREAD_TIME_DELTA_US => set_delta(&mut self.rare_fields().own_thread_time, value.signed()),
            track_event::CATEGORY_IIDS => value.varints().for_each(|iid| event.add_category(iid)),
            track_event::LEGACY_EVENT => self.rare_fields().legacy = Some(PacketPart::new(value.bytes(), self.block)),
            track_event::TYPE => event.kind = u32::try_from(value.number()).unwrap_or(u32::MAX),
            track_event::NAME_IID => event.name_iid = value.number(),
            track_event::TRACK_UUID => event.track = Some(value.number()),
            track_event::EXTRA_COUNTER_VALUES => {
                for number in value.varints() {
                    event.counter_value = number;
                    event.counter_values += 1;
                }
            }
            track_event::EXTRA_DOUBLE_COUNTER_VALUES => event.has_double_counters = true,
            track_event::TIMESTAMP_ABSOLUTE_US => self.rare_fields().own_time = Some(OwnTime::Absolute(value.signed())),
            track_event::THREAD_TIME_ABSOLUTE_US => {
                self.rare_fields().own_thread_time = Some(OwnTime::Absolute(value.signed()));
            }
            track_event::CATEGORIES => event.has_inline_category = true,
            track_event::NAME => self.rare_fields().name = Some(PacketPart::new(value.bytes(), self.block)),
            track_event::COUNTER_VALUE => self.rare_fields().counter = Some(CounterValue::Whole(value.signed())),
            track_event::DOUBLE_COUNTER_VALUE => {
                self.rare_fields().counter = Some(CounterValue::Double(value.double()));
            }
            track_event::FLOW_IDS_OLD
            | track_event::TERMINATING_FLOW_IDS_OLD
            | track_event::FLOW_IDS
            | track_event::TERMINATING_FLOW_IDS => event.has_flows = true,
            track_event::EXTRA_COUNTER_TRACK_UUIDS | track_event::EXTRA_DOUBLE_COUNTER_TRACK_UUIDS => {
                event.names_counter_tracks = true;
            }
            own_track_event::UNFINISHED_DUR_NS => self.rare_fields().unfinished_dur_ns = Some(value.number()),
            // Annotations and all other arguments.
            _ => event.has_args = true,
        }
    }

    /// Returns the packet's row of rare fields, adding it if needed.
    fn rare_fields(&mut self) -> &mut RareFields {
        if self.packet.rare_row == 0 {
            // A block has at most a few thousand packets.
            self.packet.rare_row = self.rare.len() as u32;
            self.rare.push(RareFields::default());
        }
        &mut self.rare[self.packet.rare_row as usize]
    }
}

impl EventFields {
    fn add_category(&mut self, iid: u64) {
        self.category_iid = iid;
        self.categories += 1;
    }
}

/// Sets a relative time; an absolute one takes precedence.
fn set_delta(time: &mut Option<OwnTime>, us: i64) {
    if !matches!(time, Some(OwnTime::Absolute(_))) {
        *time = Some(OwnTime::SincePrevious(us));
    }
}

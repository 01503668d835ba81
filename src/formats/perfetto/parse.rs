//! What a packet says without what stands before it: where its parts are, and the numbers of its track event. So blocks
//! are parsed at once, on several threads; what the numbers mean is told by `read`, in the order of the capture.

use super::packets::{Block, Bundle, Part};
use super::wire::{Field, Fields, Value, bytes_tag, varint_tag};

/// Bytes of bundles that are unpacked ahead for a block: a bundle of a recording has some hundred KiB. What is beyond is
/// unpacked when its turn comes.
const UNPACKED_AHEAD_BYTES: usize = 4 << 20;

/// A block, and what its packets say.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    pub(super) block: Block,
    pub(super) packets: Vec<PacketFields>,
    /// Bundles that are unpacked already, and which packet each is.
    pub(super) bundles: Vec<(usize, ParsedBundle)>,
}

/// An unpacked bundle, and what its first packets say.
#[derive(Debug)]
pub(super) struct ParsedBundle {
    pub(super) bundle: Bundle,
    pub(super) packets: Vec<PacketFields>,
}

/// The fields of a packet that say how to read it, and what it is.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "the format has these flags")]
pub(super) struct PacketFields {
    /// Where it begins in its block.
    pub(super) at: u32,
    pub(super) sequence: u32,
    pub(super) clock: Option<u32>,
    /// The number of the field that says what it is, or 0.
    pub(super) kind: u32,
    /// The bytes of that field.
    pub(super) data: Option<Part>,
    pub(super) timestamp: Option<u64>,
    pub(super) interned: Option<Part>,
    pub(super) defaults: Option<Part>,
    pub(super) is_cleared: bool,
    pub(super) needs_state: bool,
    pub(super) was_dropped: bool,
    pub(super) is_broken: bool,
    /// If it is a track event.
    pub(super) event: EventFields,
}

/// The fields of a track event; what is repeated is read again where it is used.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "one for each repeated field that is read again where it is used")]
pub(super) struct EventFields {
    pub(super) kind: u64,
    pub(super) name: Option<Part>,
    pub(super) legacy: Option<Part>,
    pub(super) name_iid: u64,
    /// The last of them.
    pub(super) category_iid: u64,
    pub(super) categories: u32,
    pub(super) track: Option<u64>,
    pub(super) counter: Option<Number>,
    pub(super) own_time: Option<OwnTime>,
    pub(super) own_thread_time: Option<OwnTime>,
    pub(super) has_inline_category: bool,
    pub(super) has_counters: bool,
    pub(super) has_flows: bool,
    pub(super) has_args: bool,
    pub(super) is_broken: bool,
}

/// A counter's value as the capture has it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Number {
    Whole(i64),
    Double(f64),
}

/// A time that an event tells itself, in microseconds.
#[derive(Debug, Clone, Copy)]
pub(super) enum OwnTime {
    Absolute(i64),
    /// Than the event before.
    Later(i64),
}

/// The field of a packet that is a track event.
pub(super) const TRACK_EVENT: u32 = 11;

impl Parsed {
    /// Parses a block, into what an earlier one took.
    pub(super) fn of(block: Block, mut packets: Vec<PacketFields>) -> Self {
        read_packets(&block, &mut packets);
        let mut bytes_left = UNPACKED_AHEAD_BYTES;
        let mut bundles = Vec::new();
        for (row, fields) in packets.iter().enumerate().filter(|(_, fields)| Bundle::is(fields.kind)) {
            let unpacked = ParsedBundle::of(fields, &block, bytes_left);
            let bytes = unpacked.bundle.block.bytes.len();
            if bytes < bytes_left {
                bytes_left -= bytes;
                bundles.push((row, unpacked));
            }
        }
        Self { block, packets, bundles }
    }

    /// Bytes that this holds.
    pub(super) fn memory_bytes(&self) -> u64 {
        let of = |block: &Block, packets: &Vec<PacketFields>| {
            block.bytes.capacity() + block.packets.capacity() * 12 + packets.capacity() * size_of::<PacketFields>()
        };
        let of_bundles: usize =
            self.bundles.iter().map(|(_, unpacked)| of(&unpacked.bundle.block, &unpacked.packets)).sum();
        (of(&self.block, &self.packets) + of_bundles) as u64
    }
}

impl ParsedBundle {
    /// Unpacks the bundle that a packet of a block is, up to a size.
    pub(super) fn of(fields: &PacketFields, block: &Block, bytes_max: usize) -> Self {
        let packed = fields.data.map_or(&[][..], |part| part.in_block(&block.bytes));
        let bundle = Bundle::unpack(fields.kind, packed, block.offset + u64::from(fields.at), bytes_max);
        let mut unpacked = Self { bundle, packets: Vec::new() };
        unpacked.next();
        unpacked
    }

    /// Parses the next packets; false if there are no more.
    pub(super) fn next(&mut self) -> bool {
        let has_more = self.bundle.next();
        read_packets(&self.bundle.block, &mut self.packets);
        has_more
    }
}

fn read_packets(block: &Block, packets: &mut Vec<PacketFields>) {
    packets.clear();
    packets.extend(block.packets.iter().map(|&(at, part)| PacketFields::read(at, part, &block.bytes)));
}

impl PacketFields {
    #[inline]
    fn read(at: u32, part: Part, block: &[u8]) -> Self {
        const TIMESTAMP: u64 = varint_tag(8);
        const SEQUENCE: u64 = varint_tag(10);
        const FLAGS: u64 = varint_tag(13);
        const EVENT: u64 = bytes_tag(TRACK_EVENT);
        let mut packet = Self { at, ..Self::default() };
        let mut fields = Fields::of(part.in_block(block));
        while let Some(tag) = fields.tag() {
            match tag {
                // Those of nearly all packets, told apart at one step.
                TIMESTAMP => packet.timestamp = Some(fields.varint()),
                SEQUENCE => packet.sequence = fields.varint() as u32,
                FLAGS => packet.take_flags(fields.varint()),
                EVENT => {
                    if let Some(bytes) = fields.bytes() {
                        packet.kind = TRACK_EVENT;
                        packet.data = Some(Part::of(bytes, block));
                        packet.event = EventFields::read(bytes, block);
                    }
                }
                _ => {
                    if let Some(field) = fields.value(tag) {
                        packet.take_field(field, block);
                    }
                }
            }
        }
        packet.is_broken = fields.is_broken();
        packet
    }

    fn take_field(&mut self, field: Field<'_>, block: &[u8]) {
        match (field.number, field.value) {
            (8, value) => self.timestamp = Some(value.number()),
            (10, value) => self.sequence = value.number() as u32,
            (12, Value::Bytes(bytes)) => self.interned = Some(Part::of(bytes, block)),
            (13, value) => self.take_flags(value.number()),
            (41, value) => self.is_cleared |= value.number() != 0,
            (42, value) => self.was_dropped = value.number() != 0,
            (58, value) => self.clock = Some(u32::try_from(value.number()).unwrap_or(u32::MAX)),
            (59, Value::Bytes(bytes)) => self.defaults = Some(Part::of(bytes, block)),
            (number, Value::Bytes(bytes)) => {
                self.kind = number;
                self.data = Some(Part::of(bytes, block));
            }
            _ => {}
        }
    }

    fn take_flags(&mut self, flags: u64) {
        self.is_cleared |= flags & 1 != 0;
        self.needs_state |= flags & 2 != 0;
    }
}

impl EventFields {
    #[inline]
    fn read(bytes: &[u8], block: &[u8]) -> Self {
        const CATEGORY: u64 = varint_tag(3);
        const KIND: u64 = varint_tag(9);
        const NAME: u64 = varint_tag(10);
        const TRACK: u64 = varint_tag(11);
        let mut event = Self::default();
        let mut fields = Fields::of(bytes);
        while let Some(tag) = fields.tag() {
            match tag {
                // Those of nearly all events, told apart at one step.
                KIND => event.kind = fields.varint(),
                TRACK => event.track = Some(fields.varint()),
                NAME => event.name_iid = fields.varint(),
                CATEGORY => event.take_category(fields.varint()),
                _ => {
                    if let Some(field) = fields.value(tag) {
                        event.take_field(field, block);
                    }
                }
            }
        }
        event.is_broken = fields.is_broken();
        event
    }

    fn take_field(&mut self, field: Field<'_>, block: &[u8]) {
        let value = field.value;
        match field.number {
            1 => later(&mut self.own_time, value.signed()),
            2 => later(&mut self.own_thread_time, value.signed()),
            3 => value.numbers(false).for_each(|iid| self.take_category(iid)),
            6 => self.legacy = Some(Part::of(value.bytes(), block)),
            9 => self.kind = value.number(),
            10 => self.name_iid = value.number(),
            11 => self.track = Some(value.number()),
            12 | 46 => self.has_counters = true,
            16 => self.own_time = Some(OwnTime::Absolute(value.signed())),
            17 => self.own_thread_time = Some(OwnTime::Absolute(value.signed())),
            22 => self.has_inline_category = true,
            23 => self.name = Some(Part::of(value.bytes(), block)),
            30 => self.counter = Some(Number::Whole(value.signed())),
            44 => self.counter = Some(Number::Double(value.double())),
            36 | 42 | 47 | 48 => self.has_flows = true,
            31 | 45 => {}
            // Annotations, and all that is an argument.
            _ => self.has_args = true,
        }
    }

    /// Whether it has neither name nor category, as most ends of spans.
    #[inline]
    pub(super) fn is_unnamed(&self) -> bool {
        self.name.is_none() && self.name_iid == 0 && self.categories == 0 && !self.has_inline_category
    }

    fn take_category(&mut self, iid: u64) {
        self.category_iid = iid;
        self.categories += 1;
    }
}

/// An absolute time counts for more.
fn later(time: &mut Option<OwnTime>, us: i64) {
    if !matches!(time, Some(OwnTime::Absolute(_))) {
        *time = Some(OwnTime::Later(us));
    }
}

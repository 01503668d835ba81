//! Events cut into planes: all lowest bytes of a column, then all second bytes, and so on. Converts events to planes
//! and back, and reports which planes hold one byte only; compresses nothing and trusts no plane.

use crate::model::{Event, EventFlags, EventKind, NameIdx, TrackIdx};

/// How many planes each column has. Times and values are two columns each, the low and the high half, so that all
/// columns are of 32-bit words, of which the processor turns twice as many at once as of 64-bit ones.
const WIDTHS: [u32; COLUMNS] = [4, 4, 4, 4, 4, 4, 4, 2, 1, 1];
const COLUMNS: usize = 10;
const TS: usize = 0;
const TS_HIGH: usize = 1;
const VALUE: usize = 2;
const VALUE_HIGH: usize = 3;
const TRACK: usize = 4;
const NAME: usize = 5;
const DETAIL: usize = 6;
const DEPTH: usize = 7;
const KIND: usize = 8;
const FLAGS: usize = 9;
pub(super) const PLANES: usize = 32;

/// Events that are turned at once: their columns take 10 KiB, a part of a first-level cache.
const BLOCK_EVENTS: usize = 256;

/// Every kind of event, at the place of its byte.
pub(super) const KINDS: [EventKind; 15] = [
    EventKind::Complete,
    EventKind::Begin,
    EventKind::End,
    EventKind::Instant,
    EventKind::Counter,
    EventKind::AsyncBegin,
    EventKind::AsyncEnd,
    EventKind::AsyncInstant,
    EventKind::AsyncStepInto,
    EventKind::AsyncStepPast,
    EventKind::FlowStart,
    EventKind::FlowStep,
    EventKind::FlowEnd,
    EventKind::Sample,
    EventKind::State,
];

const _: () = {
    let mut kind = 0;
    while kind < KINDS.len() {
        assert!(KINDS[kind] as usize == kind, "each kind stands at the place of its byte");
        kind += 1;
    }
};

/// Which planes of some events are stored, and what the others consist of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PlaneLayout {
    pub(super) first_ts_ns: i64,
    /// Bit `p`: plane `p` is stored.
    pub(super) stored: u32,
    /// The byte of each plane that is not.
    pub(super) constants: [u8; PLANES],
}

impl PlaneLayout {
    /// The layout that leaves out the planes of `events` that hold one byte only.
    pub(super) fn from_events(events: &[Event]) -> Self {
        let first_ts_ns = events.first().map_or(0, |event| event.ts_ns);
        let mut layout = Self { first_ts_ns, stored: 0, constants: [0; PLANES] };
        let Some((first, others)) = events.split_first() else { return layout };
        let (mut firsts, mut varying) = ([0; COLUMNS], [0; COLUMNS]);
        let mut before = Before { ts_ns: first_ts_ns, detail: 0 };
        for (column, word) in firsts.iter_mut().enumerate() {
            before.fill(std::slice::from_mut(word), column, std::slice::from_ref(first));
        }
        let mut words = [0; BLOCK_EVENTS];
        // Block by block, so that the events stay in the cache from one column to the next.
        for rows in others.chunks(BLOCK_EVENTS) {
            for column in 0..COLUMNS {
                before.fill(&mut words, column, rows);
                varying[column] |= words[..rows.len()].iter().fold(0, |bits, word| bits | (word ^ firsts[column]));
            }
        }
        for_each_plane(|plane, column, shift| {
            layout.constants[plane] = byte_at(firsts[column], shift);
            layout.stored |= u32::from(byte_at(varying[column], shift) != 0) << plane;
        });
        layout
    }

    /// The stored planes of `events`, end to end.
    pub(super) fn encode(&self, events: &[Event]) -> Vec<u8> {
        let mut planes = vec![0; self.stored.count_ones() as usize * events.len()];
        let mut before = Before { ts_ns: self.first_ts_ns, detail: 0 };
        let mut words: Box<PlaneBlock> = Box::new([[0; BLOCK_EVENTS]; COLUMNS]);
        // The loop visits the time's high half even if it is not stored, since that updates the last time.
        let mut wanted = [false; COLUMNS];
        wanted[TS_HIGH] = true;
        for_each_plane(|plane, column, _| wanted[column] |= self.stores(plane));
        for (block, rows) in events.chunks(BLOCK_EVENTS).enumerate() {
            for column in (0..COLUMNS).filter(|&column| wanted[column]) {
                before.fill(&mut words[column], column, rows);
            }
            let mut start = block * BLOCK_EVENTS;
            for_each_plane(|plane, column, shift| {
                if self.stores(plane) {
                    let out = planes[start..start + rows.len()].iter_mut();
                    out.zip(&words[column]).for_each(|(byte, &word)| *byte = byte_at(word, shift));
                    start += events.len();
                }
            });
        }
        planes
    }

    /// Decodes `count` events from the stored planes. The error is an unknown byte of a kind.
    ///
    /// # Panics
    /// If `planes` is not as many bytes as the layout says.
    pub(super) fn decode(&self, count: usize, planes: &[u8]) -> Result<Vec<Event>, u32> {
        let mut events = Vec::with_capacity(count);
        let mut before = Before { ts_ns: self.first_ts_ns, detail: 0 };
        let mut constants = [0u32; COLUMNS];
        for_each_plane(|plane, column, shift| {
            if !self.stores(plane) {
                constants[column] |= u32::from(self.constants[plane]) << shift;
            }
        });
        let mut words: Box<PlaneBlock> = Box::new(constants.map(|constant| [constant; BLOCK_EVENTS]));
        for first in (0..count).step_by(BLOCK_EVENTS) {
            let rows = BLOCK_EVENTS.min(count - first);
            let mut start = first;
            let mut begun = [false; COLUMNS];
            for_each_plane(|plane, column, shift| {
                if self.stores(plane) {
                    let base = if std::mem::replace(&mut begun[column], true) { None } else { Some(constants[column]) };
                    set_plane(&mut words[column], base, &planes[start..start + rows], shift);
                    start += count;
                }
            });
            if let Some(&unknown) = words[KIND][..rows].iter().find(|&&kind| kind >= KINDS.len() as u32) {
                return Err(unknown);
            }
            events.extend((0..rows).map(|row| before.event(&words, row)));
        }
        Ok(events)
    }

    fn stores(&self, plane: usize) -> bool {
        self.stored >> plane & 1 == 1
    }
}

/// One word of each column for each event of a block.
type PlaneBlock = [[u32; BLOCK_EVENTS]; COLUMNS];

/// The values of the event before, which times and details are deltas to.
#[derive(Clone, Copy)]
struct Before {
    ts_ns: i64,
    detail: u32,
}

impl Before {
    /// Fills in the words of a column, and remembers what the next events lean on.
    fn fill(&mut self, words: &mut [u32], column: usize, events: &[Event]) {
        let pairs = words.iter_mut().zip(events);
        match column {
            TS => {
                // The high half comes next and leans on the same times.
                let mut before = *self;
                pairs.for_each(|(word, event)| *word = low_half(before.ts_step(event.ts_ns)));
            }
            TS_HIGH => pairs.for_each(|(word, event)| *word = low_half(self.ts_step(event.ts_ns) >> 32)),
            VALUE => pairs.for_each(|(word, event)| *word = low_half(event.value)),
            VALUE_HIGH => pairs.for_each(|(word, event)| *word = low_half(event.value >> 32)),
            TRACK => pairs.for_each(|(word, event)| *word = event.track.0),
            NAME => pairs.for_each(|(word, event)| *word = event.name.0),
            DETAIL => pairs.for_each(|(word, event)| *word = self.detail_step(event.detail)),
            DEPTH => pairs.for_each(|(word, event)| *word = event.depth.into()),
            KIND => pairs.for_each(|(word, event)| *word = event.kind as u32),
            _ => pairs.for_each(|(word, event)| *word = event.flags.0.into()),
        }
    }

    /// The event of a row of a block.
    fn event(&mut self, words: &PlaneBlock, row: usize) -> Event {
        let word = |column: usize| words[column][row];
        let long = |low: usize, high: usize| u64::from(word(low)) | u64::from(word(high)) << 32;
        Event {
            ts_ns: self.ts_ns(long(TS, TS_HIGH)),
            value: long(VALUE, VALUE_HIGH),
            track: TrackIdx(word(TRACK)),
            name: NameIdx(word(NAME)),
            detail: self.detail(word(DETAIL)),
            depth: (word(DEPTH) & 0xffff) as u16,
            kind: KINDS[word(KIND) as usize % KINDS.len()],
            flags: EventFlags(byte_at(word(FLAGS), 0)),
        }
    }

    fn ts_step(&mut self, ts_ns: i64) -> u64 {
        zigzag(ts_ns.wrapping_sub(std::mem::replace(&mut self.ts_ns, ts_ns)))
    }

    fn ts_ns(&mut self, step: u64) -> i64 {
        self.ts_ns = self.ts_ns.wrapping_add(unzigzag(step));
        self.ts_ns
    }

    /// The wrapping step from the last detail, except that "no detail" is 0: the two change places.
    fn detail_step(&mut self, detail: u32) -> u32 {
        if detail == 0 {
            return 0;
        }
        let before = std::mem::replace(&mut self.detail, detail);
        if detail == before { before.wrapping_neg() } else { detail.wrapping_sub(before) }
    }

    fn detail(&mut self, step: u32) -> u32 {
        if step == 0 {
            return 0;
        }
        let detail = self.detail.wrapping_add(step);
        // The encoder writes a repeated detail as the step that would lead to 0.
        if detail != 0 {
            self.detail = detail;
        }
        self.detail
    }
}

/// Calls `each` with every plane of the events, its column, and how far its byte is shifted in the column's word.
fn for_each_plane(mut each: impl FnMut(usize, usize, u32)) {
    let mut plane = 0;
    for (column, width) in WIDTHS.into_iter().enumerate() {
        for byte in 0..width {
            each(plane, column, byte * 8);
            plane += 1;
        }
    }
}

/// Puts the bytes of a plane into words, which start from `base` if there is one.
fn set_plane(words: &mut [u32; BLOCK_EVENTS], base: Option<u32>, bytes: &[u8], shift: u32) {
    let pairs = words.iter_mut().zip(bytes);
    match base {
        Some(base) => pairs.for_each(|(word, &byte)| *word = base | u32::from(byte) << shift),
        None => pairs.for_each(|(word, &byte)| *word |= u32::from(byte) << shift),
    }
}

/// Small steps either way as small numbers.
fn zigzag(step: i64) -> u64 {
    (step << 1 ^ step >> 63).cast_unsigned()
}

fn unzigzag(word: u64) -> i64 {
    (word >> 1).cast_signed() ^ -(word & 1).cast_signed()
}

fn byte_at(word: u32, shift: u32) -> u8 {
    (word >> shift) as u8
}

fn low_half(word: u64) -> u32 {
    word as u32
}

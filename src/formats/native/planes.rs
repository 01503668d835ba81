//! Splits events into planes: all lowest bytes of a column, then all second bytes, and so on. Converts both ways, and
//! detects constant planes; neither compresses nor validates planes.

use crate::model::{Event, EventFlags, EventKind, NameIdx, TrackIdx};

/// Number of planes of each column. Times and values are split into a low and a high column. So all columns are 32-bit
/// words: SIMD converts twice as many of them at once as 64-bit words.
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

/// Events per block; their columns take 10 KiB, a part of the first-level cache.
const BLOCK_EVENTS: usize = 256;

/// Which planes are stored, and the bytes of the constant planes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PlaneLayout {
    pub(super) first_ts_ns: i64,
    /// Bit `p` means that plane `p` is stored.
    pub(super) stored: u32,
    /// The byte of each plane that is not stored.
    pub(super) constants: [u8; PLANES],
}

impl PlaneLayout {
    /// Creates the layout that omits the constant planes of `events`.
    pub(super) fn from_events(events: &[Event]) -> Self {
        let first_ts_ns = events.first().map_or(0, |event| event.ts_ns);
        let mut layout = Self { first_ts_ns, stored: 0, constants: [0; PLANES] };
        let Some((first, others)) = events.split_first() else { return layout };
        let (mut firsts, mut varying) = ([0; COLUMNS], [0; COLUMNS]);
        let mut before = PreviousEvent { ts_ns: first_ts_ns, detail: 0 };
        for (column, word) in firsts.iter_mut().enumerate() {
            before.fill(std::slice::from_mut(word), column, std::slice::from_ref(first));
        }
        let mut words = [0; BLOCK_EVENTS];
        // Block by block, so that events stay in the cache across columns.
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

    /// Returns the stored planes of `events`, concatenated.
    pub(super) fn encode(&self, events: &[Event]) -> Vec<u8> {
        let mut planes = vec![0; self.stored.count_ones() as usize * events.len()];
        let mut before = PreviousEvent { ts_ns: self.first_ts_ns, detail: 0 };
        let mut words: Box<PlaneBlock> = Box::new([[0; BLOCK_EVENTS]; COLUMNS]);
        // The high half of times is always computed, since that updates the previous time.
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

    /// Decodes `count` events from the stored planes. The error is an unknown kind byte.
    ///
    /// # Panics
    /// If the length of `planes` does not match the layout.
    pub(super) fn decode(&self, count: usize, planes: &[u8]) -> Result<Vec<Event>, u32> {
        let mut events = Vec::with_capacity(count);
        let mut before = PreviousEvent { ts_ns: self.first_ts_ns, detail: 0 };
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
            if let Some(&unknown) = words[KIND][..rows].iter().find(|&&kind| kind >= EventKind::ALL.len() as u32) {
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

/// One word of each column, for each event of a block.
type PlaneBlock = [[u32; BLOCK_EVENTS]; COLUMNS];

/// The previous time and detail, to which the next are relative.
#[derive(Clone, Copy)]
struct PreviousEvent {
    ts_ns: i64,
    detail: u32,
}

impl PreviousEvent {
    /// Fills the words of a column, and updates the previous values.
    fn fill(&mut self, words: &mut [u32], column: usize, events: &[Event]) {
        let pairs = words.iter_mut().zip(events);
        match column {
            TS => {
                // The high half is next, and needs the same previous times.
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

    /// Returns the event in a row of a block.
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
            kind: EventKind::ALL[word(KIND) as usize % EventKind::ALL.len()],
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

    /// Returns the wrapping delta from the last detail. 0 means no detail, so a repeated detail is encoded as the delta
    /// that would lead to 0.
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
        // A repeated detail is encoded as the delta that would lead to 0.
        if detail != 0 {
            self.detail = detail;
        }
        self.detail
    }
}

/// Calls `each` with every plane, its column, and the shift of its byte in the column's word.
fn for_each_plane(mut each: impl FnMut(usize, usize, u32)) {
    let mut plane = 0;
    for (column, width) in WIDTHS.into_iter().enumerate() {
        for byte in 0..width {
            each(plane, column, byte * 8);
            plane += 1;
        }
    }
}

/// Inserts the bytes of a plane into words, which start as `base` if it is given.
fn set_plane(words: &mut [u32; BLOCK_EVENTS], base: Option<u32>, bytes: &[u8], shift: u32) {
    let pairs = words.iter_mut().zip(bytes);
    match base {
        Some(base) => pairs.for_each(|(word, &byte)| *word = base | u32::from(byte) << shift),
        None => pairs.for_each(|(word, &byte)| *word |= u32::from(byte) << shift),
    }
}

/// Maps small positive and negative steps to small numbers.
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

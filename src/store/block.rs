//! Packs up to 64 rows of one lane into a block, the unit that a query decodes.
//!
//! | bytes | content | |---|---| | 8 | [`Header`] | | 8 each | smallest value, detail and name, unless they are in the
//! header | | rest | the columns of names, details, values and steps, each padded to 8 bytes |
//!
//! Names and details are bit-packed, so that one of them is read alone; values and steps are [`patched`]. The smallest
//! value of a column is subtracted if that saves bytes. The first start is in the directory of the extent. The step to
//! each later row is counted from the end of the row before it if rows do not overlap, else from its start. Arithmetic
//! wraps, so steps cover all of `i64`.

use super::pack;
use super::patched::{self, Widths};

/// Rows in a full block: the decoded durations take 512 bytes (eight cache lines), the packed block about half as much.
pub const BLOCK_ROWS: usize = 64;

/// Rows whose starts are summed in one go.
const GROUP: usize = 8;

/// Bytes of a header and of each smallest value after it.
const WORD_BYTES: usize = 8;

/// Largest size of a packed block: four columns of full width, 8 + 8 + 4 + 8 bytes per row. Exceptions only make a
/// column smaller.
pub(crate) const BLOCK_BYTES_MAX: usize = 4 * WORD_BYTES + BLOCK_ROWS * 28;

/// One row of a lane of any kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Row {
    /// Start in nanoseconds; the time of a row without duration.
    pub start_ns: i64,
    /// A duration, the bits of a counter value, a flow id, or the index of a stack, by the kind of the lane.
    pub value: u64,
    /// Reference to the arguments; 0 for none.
    pub detail: u64,
    /// Index in the names of the store.
    pub name: u32,
}

impl Row {
    /// Returns the depth of an instant: the number of spans around it.
    #[must_use]
    pub(crate) fn instant_depth(&self) -> u16 {
        u16::try_from(self.value).unwrap_or(u16::MAX)
    }
}

/// The first word of a block.
///
/// | bits | content |
/// |---|---|
/// | 4 x 7 | low and high width of the steps, then of the values |
/// | 6, 7 | widths of names and details |
/// | 1 each | whether steps are counted from ends, whether the smallest value, detail and name follow the header |
/// | 19 | smallest name, unless it follows |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a bit of the word")]
struct Header {
    steps: Widths,
    values: Widths,
    names: u32,
    details: u32,
    are_from_ends: bool,
    has_value_min: bool,
    has_detail_min: bool,
    has_name_min: bool,
    name_min: u32,
}

/// Names below this are in the header: most traces have fewer.
const HEADER_NAMES: u32 = 1 << 19;

impl Header {
    fn to_word(self) -> u64 {
        let fields = [
            (self.steps.low, 7),
            (self.steps.high, 7),
            (self.values.low, 7),
            (self.values.high, 7),
            (self.names, 6),
            (self.details, 7),
            (self.are_from_ends.into(), 1),
            (self.has_value_min.into(), 1),
            (self.has_detail_min.into(), 1),
            (self.has_name_min.into(), 1),
            (self.name_min, 19),
        ];
        fields.iter().rev().fold(0, |word, &(field, bits)| word << bits | u64::from(field))
    }

    /// Decodes a header. The widths of a damaged header are limited to those that exist.
    fn from_word(word: u64) -> Self {
        let field = |first: u32, bits: u32| (word >> first) as u32 & ((1 << bits) - 1);
        let widths = |first: u32| {
            let low = field(first, 7).min(64);
            Widths { low, high: field(first + 7, 7).min(64 - low) }
        };
        Self {
            steps: widths(0),
            values: widths(14),
            names: field(28, 6),
            details: field(34, 7).min(64),
            are_from_ends: field(41, 1) != 0,
            has_value_min: field(42, 1) != 0,
            has_detail_min: field(43, 1) != 0,
            has_name_min: field(44, 1) != 0,
            name_min: field(45, 19),
        }
    }
}

/// Appends the encoded block of `rows`, at most [`BLOCK_ROWS`], which are sorted by start. The first start is not
/// stored in the block.
pub fn encode(rows: &[Row], bytes: &mut Vec<u8>) {
    let rows = &rows[..rows.len().min(BLOCK_ROWS)];
    let (mut names, mut details) = ([0; BLOCK_ROWS], [0; BLOCK_ROWS]);
    let (mut values, mut steps) = ([0; BLOCK_ROWS], [0; BLOCK_ROWS]);
    let mut name_min = u32::MAX;
    let (mut value_bounds, mut detail_bounds) = (Bounds::default(), Bounds::default());
    for (slot, row) in rows.iter().enumerate() {
        (names[slot], details[slot], values[slot]) = (row.name.into(), row.detail, row.value);
        name_min = name_min.min(row.name);
        value_bounds.add(row.value);
        detail_bounds.add(row.detail);
    }
    let [names, details, values] = [&mut names, &mut details, &mut values].map(|column| &mut column[..rows.len()]);
    let steps = &mut steps[..rows.len().saturating_sub(1)];
    let are_from_ends = rows.windows(2).all(|pair| end_ns(&pair[0]).is_some_and(|end_ns| end_ns <= pair[1].start_ns));
    for (step, pair) in steps.iter_mut().zip(rows.windows(2)) {
        let between_ns = if are_from_ends { pair[0].value } else { 0 };
        *step = pair[1].start_ns.wrapping_sub(pair[0].start_ns).cast_unsigned().wrapping_sub(between_ns);
    }
    names.iter_mut().for_each(|name| *name -= u64::from(name_min));
    let (value_min, detail_min) = (value_bounds.subtrahend(values.len()), detail_bounds.subtrahend(details.len()));
    values.iter_mut().filter(|_| value_min != 0).for_each(|value| *value -= value_min);
    details.iter_mut().filter(|_| detail_min != 0).for_each(|detail| *detail -= detail_min);
    let has_name_min = name_min >= HEADER_NAMES;
    let header = Header {
        steps: Widths::of_values(steps),
        values: Widths::of_values(values),
        names: pack::width(names),
        details: pack::width(details),
        are_from_ends,
        has_value_min: value_min != 0,
        has_detail_min: detail_min != 0,
        has_name_min,
        name_min: if has_name_min { 0 } else { name_min },
    };
    let name_word = if has_name_min { name_min.into() } else { 0 };
    bytes.extend_from_slice(&header.to_word().to_le_bytes());
    let mins = [value_min, detail_min, name_word].into_iter().filter(|&min| min != 0);
    mins.for_each(|min| bytes.extend_from_slice(&min.to_le_bytes()));
    pack::pack(bytes, names, header.names);
    pack::pack(bytes, details, header.details);
    patched::pack(bytes, values, header.values);
    patched::pack(bytes, steps, header.steps);
}

/// The smallest and the largest value of a column.
struct Bounds {
    min: u64,
    max: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { min: u64::MAX, max: 0 }
    }
}

impl Bounds {
    fn add(&mut self, value: u64) {
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Returns the smallest of `count` values if subtracting it saves more than its word, else 0.
    fn subtrahend(&self, count: usize) -> u64 {
        let saved_bits = pack::bits(self.max) - pack::bits(self.max.saturating_sub(self.min));
        if saved_bits as usize * count > u64::BITS as usize { self.min } else { 0 }
    }
}

/// Returns the end of a row; `None` beyond the last time.
fn end_ns(row: &Row) -> Option<i64> {
    row.start_ns.checked_add_unsigned(row.value)
}

/// A packed block, split into columns that are not decoded yet.
#[derive(Debug, Clone, Copy)]
pub struct Block<'a> {
    rows: usize,
    first_start_ns: i64,
    header: Header,
    value_min: u64,
    detail_min: u64,
    bytes: usize,
    names: &'a [u8],
    details: &'a [u8],
    values: &'a [u8],
    steps: &'a [u8],
}

impl<'a> Block<'a> {
    /// Splits a block into its columns. Missing bytes read as zeros: the checksum of the extent detects damage.
    #[must_use]
    pub fn new(bytes: &'a [u8], rows: usize, first_start_ns: i64) -> Self {
        let rows = rows.clamp(1, BLOCK_ROWS);
        let mut rest = bytes;
        let mut header = Header::from_word(take_word(&mut rest));
        let value_min = if header.has_value_min { take_word(&mut rest) } else { 0 };
        let detail_min = if header.has_detail_min { take_word(&mut rest) } else { 0 };
        if header.has_name_min {
            header.name_min = take_word(&mut rest) as u32;
        }
        let mut column = |column_bytes: usize| {
            let (column, tail) = rest.split_at(column_bytes.min(rest.len()));
            rest = tail;
            column
        };
        let names = column(pack::packed_bytes(rows, header.names));
        let details = column(pack::packed_bytes(rows, header.details));
        let (values, steps) = rest.split_at(header.values.packed_bytes(rest, rows).min(rest.len()));
        let bytes = bytes.len();
        Self { rows, first_start_ns, header, value_min, detail_min, bytes, names, details, values, steps }
    }

    /// Number of rows, 1 to 64.
    #[must_use]
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Size of the packed block in bytes.
    #[must_use]
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Decodes all starts and values. Entries after the last row are unspecified.
    pub fn times(&self, starts: &mut [i64; BLOCK_ROWS], values: &mut [u64; BLOCK_ROWS]) {
        self.values(values);
        self.starts_after(starts, self.header.are_from_ends.then_some(values));
    }

    /// Decodes all starts into `starts`. Entries after the last row are unspecified.
    pub fn starts(&self, starts: &mut [i64; BLOCK_ROWS]) {
        let mut values = [0; BLOCK_ROWS];
        if self.header.are_from_ends {
            self.values(&mut values);
        }
        self.starts_after(starts, self.header.are_from_ends.then_some(&values));
    }

    /// Sums the steps to starts, in place; with the values that lie between if the steps are counted from ends.
    fn starts_after(&self, starts: &mut [i64; BLOCK_ROWS], values: Option<&[u64; BLOCK_ROWS]>) {
        patched::unpack(self.steps, self.header.steps, self.rows - 1, bytemuck::cast_mut(starts));
        let mut start_ns = self.first_start_ns;
        // Groups of a constant size are unrolled.
        let groups = starts.as_chunks_mut::<GROUP>().0.iter_mut();
        match values {
            Some(values) => {
                for (starts, values) in groups.zip(values.as_chunks::<GROUP>().0) {
                    for (start, value) in starts.iter_mut().zip(values) {
                        let step = start.wrapping_add(value.cast_signed());
                        *start = start_ns;
                        start_ns = start_ns.wrapping_add(step);
                    }
                }
            }
            None => {
                for start in groups.flatten() {
                    let step = *start;
                    *start = start_ns;
                    start_ns = start_ns.wrapping_add(step);
                }
            }
        }
    }

    /// Decodes all values into `values`. Entries after the last row are unspecified.
    pub fn values(&self, values: &mut [u64; BLOCK_ROWS]) {
        patched::unpack(self.values, self.header.values, self.rows, values);
        if self.value_min != 0 {
            values.iter_mut().for_each(|value| *value = value.wrapping_add(self.value_min));
        }
    }

    #[must_use]
    pub(crate) fn name(&self, row: usize) -> u32 {
        // A value of up to 63 bits from a damaged block must not panic.
        self.header.name_min.wrapping_add(pack::get(self.names, self.header.names, row) as u32)
    }

    /// Returns the smallest name and an upper bound of the names.
    #[must_use]
    pub fn name_bounds(&self) -> (u32, u32) {
        let Header { names: width, name_min, .. } = self.header;
        let above = (u64::MAX >> (64 - width.max(1))).min(u32::MAX.into()) as u32;
        (name_min, if width == 0 { name_min } else { name_min.saturating_add(above) })
    }

    /// Decodes all names into `names`. Entries after the last row are unspecified.
    pub(crate) fn names(&self, names: &mut [u64; BLOCK_ROWS]) {
        if !pack::unpack_full(self.names, self.header.names, names) {
            pack::unpack(self.names, self.header.names, &mut names[..self.rows]);
        }
        names.iter_mut().for_each(|name| *name = u64::from(self.header.name_min.wrapping_add(*name as u32)));
    }

    /// Returns the reference to the arguments of a row.
    #[must_use]
    pub(crate) fn detail(&self, row: usize) -> u64 {
        self.detail_min.wrapping_add(pack::get(self.details, self.header.details, row))
    }

    /// Appends all decoded rows to `rows`.
    pub fn decode(&self, rows: &mut Vec<Row>) {
        let (mut starts, mut values) = ([0; BLOCK_ROWS], [0; BLOCK_ROWS]);
        let (mut names, mut details) = ([0; BLOCK_ROWS], [0; BLOCK_ROWS]);
        self.times(&mut starts, &mut values);
        self.names(&mut names);
        if !pack::unpack_full(self.details, self.header.details, &mut details) {
            pack::unpack(self.details, self.header.details, &mut details[..self.rows]);
        }
        rows.extend((0..self.rows).map(|row| Row {
            start_ns: starts[row],
            value: values[row],
            detail: self.detail_min.wrapping_add(details[row]),
            name: names[row] as u32,
        }));
    }
}

/// Removes the first word of `bytes`; 0 if it is missing.
fn take_word(bytes: &mut &[u8]) -> u64 {
    let Some((word, rest)) = bytes.split_first_chunk() else { return 0 };
    *bytes = rest;
    u64::from_le_bytes(*word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rows_come_back_over_the_whole_of_every_field(
            raw in proptest::collection::vec((any::<i64>(), any::<u64>(), any::<u64>(), any::<u32>()), 1..=BLOCK_ROWS),
            small in any::<bool>(),
        ) {
            let mut rows: Vec<Row> = raw
                .into_iter()
                .map(|(start_ns, value, detail, name)| {
                    let shift = if small { 44 } else { 0 };
                    Row { start_ns: start_ns >> shift, value: value >> shift, detail: detail >> shift, name }
                })
                .collect();
            rows.sort_by_key(|row| row.start_ns);
            let mut bytes = Vec::new();
            encode(&rows, &mut bytes);
            let mut back = Vec::new();
            let block = Block::new(&bytes, rows.len(), rows[0].start_ns);
            block.decode(&mut back);
            let mut names = [0; BLOCK_ROWS];
            block.names(&mut names);
            let (least, most) = block.name_bounds();
            for (row, name) in rows.iter().zip(names) {
                prop_assert_eq!(u64::from(row.name), name);
                prop_assert!((least..=most).contains(&row.name));
            }
            prop_assert_eq!(back, rows);
        }

        #[test]
        fn spans_that_do_not_overlap_come_back_from_their_gaps(
            first_ns in prop_oneof![Just(i64::MIN), -1000i64..1000, Just(i64::MAX - 1_000_000)],
            steps in proptest::collection::vec((0u64..3000, 0u64..400, any::<u32>()), 1..=BLOCK_ROWS),
            rare in 1usize..40,
        ) {
            let mut free_ns = first_ns;
            let rows: Vec<Row> = steps.iter().enumerate().map(|(slot, &(gap_ns, value, name))| {
                let gap_ns = if slot % rare == 0 { gap_ns * 1_000_000 } else { gap_ns % 16 };
                let start_ns = free_ns.saturating_add_unsigned(gap_ns);
                // At the end of time, durations are cut.
                let value = value.min(i64::MAX.abs_diff(start_ns));
                free_ns = start_ns.saturating_add_unsigned(value);
                Row { start_ns, value, detail: 0, name }
            }).collect();
            let mut bytes = Vec::new();
            encode(&rows, &mut bytes);
            prop_assert!(bytes.len() <= BLOCK_BYTES_MAX && bytes.len().is_multiple_of(WORD_BYTES));
            let block = Block::new(&bytes, rows.len(), rows[0].start_ns);
            prop_assert!(block.header.are_from_ends);
            let (mut starts, mut values, mut starts_alone) = ([0; BLOCK_ROWS], [0; BLOCK_ROWS], [0; BLOCK_ROWS]);
            block.times(&mut starts, &mut values);
            block.starts(&mut starts_alone);
            for (slot, row) in rows.iter().enumerate() {
                prop_assert_eq!((starts[slot], values[slot]), (row.start_ns, row.value));
                prop_assert_eq!(starts_alone[slot], row.start_ns);
            }
        }

        #[test]
        fn any_bytes_decode_to_something_without_a_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            rows in 0usize..100,
        ) {
            let mut back = Vec::new();
            Block::new(&bytes, rows, 0).decode(&mut back);
            prop_assert!(!back.is_empty());
        }
    }

    #[test]
    fn alike_rows_cost_nearly_nothing() {
        let rows: Vec<Row> = (0..64).map(|k| Row { start_ns: k * 10, value: 10, detail: 0, name: 3 }).collect();
        let mut bytes = Vec::new();
        encode(&rows, &mut bytes);
        assert_eq!(bytes.len(), 2 * WORD_BYTES, "the header and the smallest value");
    }
}

//! Packs up to 64 rows of one lane into a block, the unit that a query decodes.
//!
//! | bytes | content |
//! |---|---|
//! | 4 | bit widths of the four columns: start deltas, values, names, details |
//! | 4 | smallest name |
//! | 8 | smallest value |
//! | 8 | smallest detail |
//! | rest | the four columns in this order, each bit-packed and padded to 8 bytes |
//!
//! Starts are stored as the delta from the previous row; the first start is in the directory of the extent. The other
//! columns use frame-of-reference encoding: the difference from the smallest value. Arithmetic wraps, so deltas cover
//! all of `i64`.

use super::pack;

/// Rows in a full block: the decoded durations take 512 bytes (eight cache lines), the packed block about as much.
pub const BLOCK_ROWS: usize = 64;

const HEADER_BYTES: usize = 24;

/// Largest size of a packed block: four columns of full width, 8 + 8 + 4 + 8 bytes per row.
pub(crate) const BLOCK_BYTES_MAX: usize = HEADER_BYTES + BLOCK_ROWS * 28;

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

/// Appends the encoded block of `rows`, which are sorted by start. The first start is not stored in the block.
pub fn encode(rows: &[Row], bytes: &mut Vec<u8>) {
    let name_min = rows.iter().map(|row| row.name).min().unwrap_or(0);
    let value_min = rows.iter().map(|row| row.value).min().unwrap_or(0);
    let detail_min = rows.iter().map(|row| row.detail).min().unwrap_or(0);
    let steps = || rows.windows(2).map(|pair| pair[1].start_ns.wrapping_sub(pair[0].start_ns).cast_unsigned());
    let values = || rows.iter().map(|row| row.value - value_min);
    let names = || rows.iter().map(|row| u64::from(row.name - name_min));
    let details = || rows.iter().map(|row| row.detail - detail_min);
    let widths = [pack::width(steps()), pack::width(values()), pack::width(names()), pack::width(details())];
    bytes.extend(widths.map(|width| width as u8));
    bytes.extend_from_slice(&name_min.to_le_bytes());
    bytes.extend_from_slice(&value_min.to_le_bytes());
    bytes.extend_from_slice(&detail_min.to_le_bytes());
    pack::pack(bytes, steps(), widths[0]);
    pack::pack(bytes, values(), widths[1]);
    pack::pack(bytes, names(), widths[2]);
    pack::pack(bytes, details(), widths[3]);
}

/// A packed block, split into columns that are not decoded yet.
#[derive(Debug, Clone, Copy)]
pub struct Block<'a> {
    rows: usize,
    first_start_ns: i64,
    name_min: u32,
    value_min: u64,
    detail_min: u64,
    widths: [u32; 4],
    columns: [&'a [u8]; 4],
}

impl<'a> Block<'a> {
    /// Splits a block into its columns. Missing bytes read as zeros: the checksum of the extent detects damage.
    #[must_use]
    pub fn new(bytes: &'a [u8], rows: usize, first_start_ns: i64) -> Self {
        let rows = rows.clamp(1, BLOCK_ROWS);
        let header = bytes.first_chunk::<HEADER_BYTES>().copied().unwrap_or([0; HEADER_BYTES]);
        let widths = [0, 1, 2, 3].map(|column| u32::from(header[column]).min(64));
        let mut rest = bytes.get(HEADER_BYTES..).unwrap_or(&[]);
        let mut column = |values: usize, width: u32| {
            let (column, tail) = rest.split_at(pack::packed_bytes(values, width).min(rest.len()));
            rest = tail;
            column
        };
        let columns =
            [column(rows - 1, widths[0]), column(rows, widths[1]), column(rows, widths[2]), column(rows, widths[3])];
        Self {
            rows,
            first_start_ns,
            name_min: u32::from_le_bytes([header[4], header[5], header[6], header[7]]),
            value_min: word_at(&header, 8),
            detail_min: word_at(&header, 16),
            widths,
            columns,
        }
    }

    /// Number of rows, 1 to 64.
    #[must_use]
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Size of the packed block in bytes.
    #[must_use]
    pub(crate) fn bytes(&self) -> usize {
        HEADER_BYTES + self.columns.iter().map(|column| column.len()).sum::<usize>()
    }

    /// Decodes all starts into `starts`. Entries after the last row are unspecified.
    pub fn starts(&self, starts: &mut [i64; BLOCK_ROWS]) {
        let mut steps = [0; BLOCK_ROWS];
        self.column(0, self.rows - 1, &mut steps);
        let mut start_ns = self.first_start_ns;
        for (start, step) in starts.iter_mut().zip(steps) {
            *start = start_ns;
            start_ns = start_ns.wrapping_add(step.cast_signed());
        }
    }

    /// Decodes all values into `values`. Entries after the last row are unspecified.
    pub fn values(&self, values: &mut [u64; BLOCK_ROWS]) {
        self.column(1, self.rows, values);
        values.iter_mut().for_each(|value| *value = value.wrapping_add(self.value_min));
    }

    #[must_use]
    pub(crate) fn name(&self, row: usize) -> u32 {
        // A value of up to 64 bits from a damaged block must not panic.
        self.name_min.wrapping_add(pack::get(self.columns[2], self.widths[2], row) as u32)
    }

    /// Returns the smallest name and an upper bound of the names.
    #[must_use]
    pub fn name_bounds(&self) -> (u32, u32) {
        let above = (u64::MAX >> (64 - self.widths[2].max(1))).min(u32::MAX.into()) as u32;
        (self.name_min, if self.widths[2] == 0 { self.name_min } else { self.name_min.saturating_add(above) })
    }

    /// Decodes all names into `names`. Entries after the last row are unspecified.
    pub(crate) fn names(&self, names: &mut [u64; BLOCK_ROWS]) {
        self.column(2, self.rows, names);
        names.iter_mut().for_each(|name| *name = u64::from(self.name_min.wrapping_add(*name as u32)));
    }

    /// Returns the reference to the arguments of a row.
    #[must_use]
    pub(crate) fn detail(&self, row: usize) -> u64 {
        self.detail_min.wrapping_add(pack::get(self.columns[3], self.widths[3], row))
    }

    /// Unpacks the first `count` values of a column. Entries of `out` after these are unspecified.
    fn column(&self, column: usize, count: usize, out: &mut [u64; BLOCK_ROWS]) {
        let (bytes, width) = (self.columns[column], self.widths[column]);
        if !pack::unpack_full(bytes, width, out) {
            pack::unpack(bytes, width, &mut out[..count]);
        }
    }

    /// Appends all decoded rows to `rows`.
    pub fn decode(&self, rows: &mut Vec<Row>) {
        let (mut starts, mut values) = ([0; BLOCK_ROWS], [0; BLOCK_ROWS]);
        self.starts(&mut starts);
        self.values(&mut values);
        rows.extend((0..self.rows).map(|row| Row {
            start_ns: starts[row],
            value: values[row],
            detail: self.detail(row),
            name: self.name(row),
        }));
    }
}

fn word_at(header: &[u8; HEADER_BYTES], at: usize) -> u64 {
    header[at..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
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
        assert_eq!(bytes.len(), HEADER_BYTES + pack::packed_bytes(63, 4));
    }
}

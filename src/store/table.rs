//! A table of a store. A published store has it in the map, where it takes no heap memory. While the store is built, it
//! is in memory.

use std::ops::Range;

use bytemuck::Pod;

/// An array of rows. Each method takes the map of the store.
#[derive(Debug)]
pub(super) enum Table<T> {
    /// A byte range of the map.
    Mapped(Range<usize>),
    /// Rows in memory, as of a store under construction.
    Held(Vec<T>),
}

impl<T: Pod> Table<T> {
    /// Returns the table at `bytes` of the map; `None` if the range does not hold whole, aligned rows.
    pub(super) fn mapped(map: &[u8], bytes: Range<usize>) -> Option<Self> {
        bytemuck::try_cast_slice::<u8, T>(map.get(bytes.clone())?).ok()?;
        Some(Self::Mapped(bytes))
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Mapped(bytes) => bytes.len() / size_of::<T>(),
            Self::Held(rows) => rows.len(),
        }
    }

    pub(super) fn rows<'a>(&'a self, map: &'a [u8]) -> &'a [T] {
        self.slice(map, 0, self.len() as u64)
    }

    pub(super) fn get<'a>(&'a self, map: &'a [u8], row: usize) -> Option<&'a T> {
        match self {
            Self::Mapped(bytes) => {
                let start = row.checked_mul(size_of::<T>())?;
                let row_bytes = map.get(bytes.clone())?.get(start..start.checked_add(size_of::<T>())?)?;
                bytemuck::try_from_bytes(row_bytes).ok()
            }
            Self::Held(rows) => rows.get(row),
        }
    }

    /// Returns a range of rows; empty if it is out of bounds.
    pub(super) fn slice<'a>(&'a self, map: &'a [u8], first: u64, count: u64) -> &'a [T] {
        self.checked_slice(map, first, count).unwrap_or(&[])
    }

    fn checked_slice<'a>(&'a self, map: &'a [u8], first: u64, count: u64) -> Option<&'a [T]> {
        let (first, count) = (usize::try_from(first).ok()?, usize::try_from(count).ok()?);
        match self {
            Self::Mapped(bytes) => {
                let (start, length) = (first.checked_mul(size_of::<T>())?, count.checked_mul(size_of::<T>())?);
                let row_bytes = map.get(bytes.clone())?.get(start..start.checked_add(length)?)?;
                bytemuck::try_cast_slice(row_bytes).ok()
            }
            Self::Held(rows) => rows.get(first..first.checked_add(count)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapped_table_answers_as_one_in_memory() {
        let words: Vec<u64> = (10..20).collect();
        let map: &[u8] = bytemuck::cast_slice(&words);
        let rows = words[2..9].to_vec();
        let (mapped, held) = (Table::<u64>::mapped(map, 16..72).unwrap(), Table::Held(rows.clone()));
        for table in [mapped, held] {
            assert_eq!((table.len(), table.rows(map)), (7, &rows[..]));
            for row in 0..9 {
                assert_eq!(table.get(map, row), rows.get(row));
                for count in 0..9 {
                    let expected = rows.get(row..row + count).unwrap_or(&[]);
                    assert_eq!(table.slice(map, row as u64, count as u64), expected, "{row}, {count}");
                }
            }
            assert_eq!(table.get(map, usize::MAX), None);
            assert!(table.slice(map, u64::MAX, 1).is_empty() && table.slice(map, 1, u64::MAX).is_empty());
        }
        assert!(Table::<u64>::mapped(map, 12..20).is_none(), "not at a multiple of 8");
        assert!(Table::<u64>::mapped(map, 16..20).is_none(), "not a whole row");
        assert!(Table::<u64>::mapped(map, 72..88).is_none(), "beyond the end");
    }
}

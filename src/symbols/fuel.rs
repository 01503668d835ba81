//! Bounds the reading of debug information in steps: a reader fails once its fuel is burnt. Debug information may refer
//! to itself, so the length of a file does not bound the time to read it.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use gimli::{EndianSlice, Error, LittleEndian, Reader, ReaderOffsetId, Result};

/// Steps that a reader takes from the pool at once, to reduce contention.
const STEPS_AT_ONCE: u64 = 64 * 1024;

/// The remaining steps for one file, shared by all threads.
#[derive(Debug)]
pub(super) struct FuelPool(AtomicU64);

/// The steps of one thread before it takes more from the pool. The rest is returned on drop.
#[derive(Debug)]
pub(super) struct Fuel<'p> {
    left: Cell<u64>,
    pool: &'p FuelPool,
}

impl FuelPool {
    pub(super) fn new(steps: u64) -> Self {
        Self(AtomicU64::new(steps))
    }

    /// Returns the steps that are left for all tasks.
    pub(super) fn remaining(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Takes up to `steps` from the pool.
    fn take_steps(&self, steps: u64) -> u64 {
        let taken = |left: u64| Some(left - left.min(steps));
        let before = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).unwrap_or(0);
        before.min(steps)
    }
}

impl<'p> Fuel<'p> {
    pub(super) fn new(pool: &'p FuelPool) -> Self {
        Self { left: Cell::new(0), pool }
    }

    /// Burns some steps. Returns an error if the pool is empty.
    #[inline]
    pub(super) fn burn(&self, steps: u64) -> Result<()> {
        match self.left.get().checked_sub(steps) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => self.refill(steps),
        }
    }

    #[cold]
    fn refill(&self, steps: u64) -> Result<()> {
        let missing = steps - self.left.get();
        let taken = self.pool.take_steps(missing.saturating_add(STEPS_AT_ONCE));
        // An empty pool stays empty: the rest is burnt as well.
        let left = taken.checked_sub(missing);
        self.left.set(left.unwrap_or(0));
        left.map(|_| ()).ok_or(Error::UnexpectedEof(ReaderOffsetId(0)))
    }
}

impl Drop for Fuel<'_> {
    fn drop(&mut self) {
        self.pool.0.fetch_add(self.left.get(), Ordering::Relaxed);
    }
}

/// A part of a section.
#[derive(Debug, Clone, Copy)]
pub(super) struct FuelledSlice<'a, 'f> {
    slice: EndianSlice<'a, LittleEndian>,
    fuel: &'f Fuel<'f>,
}

impl<'a, 'f> FuelledSlice<'a, 'f> {
    pub(super) fn new(bytes: &'a [u8], fuel: &'f Fuel<'f>) -> Self {
        Self { slice: EndianSlice::new(bytes, LittleEndian), fuel }
    }

    pub(super) fn bytes(&self) -> &'a [u8] {
        self.slice.slice()
    }
}

impl Reader for FuelledSlice<'_, '_> {
    type Endian = LittleEndian;
    type Offset = usize;

    #[inline]
    fn endian(&self) -> LittleEndian {
        LittleEndian
    }

    #[inline]
    fn len(&self) -> usize {
        self.slice.len()
    }

    #[inline]
    fn empty(&mut self) {
        Reader::empty(&mut self.slice);
    }

    #[inline]
    fn truncate(&mut self, len: usize) -> Result<()> {
        self.slice.truncate(len)
    }

    #[inline]
    fn offset_from(&self, base: &Self) -> usize {
        Reader::offset_from(&self.slice, &base.slice)
    }

    #[inline]
    fn offset_id(&self) -> ReaderOffsetId {
        self.slice.offset_id()
    }

    #[inline]
    fn lookup_offset_id(&self, id: ReaderOffsetId) -> Option<usize> {
        self.slice.lookup_offset_id(id)
    }

    #[inline]
    fn find(&self, byte: u8) -> Result<usize> {
        let length = memchr::memchr(byte, self.slice.slice());
        self.fuel.burn(1 + length.unwrap_or(self.slice.len()) as u64 / 16)?;
        length.ok_or_else(|| Error::UnexpectedEof(self.slice.offset_id()))
    }

    #[inline]
    fn skip(&mut self, len: usize) -> Result<()> {
        self.fuel.burn(1)?;
        self.slice.skip(len)
    }

    #[inline]
    fn split(&mut self, len: usize) -> Result<Self> {
        self.fuel.burn(1)?;
        Ok(Self { slice: self.slice.split(len)?, fuel: self.fuel })
    }

    fn to_slice(&self) -> Result<Cow<'_, [u8]>> {
        Ok(self.slice.slice().into())
    }

    fn to_string(&self) -> Result<Cow<'_, str>> {
        Reader::to_string(&self.slice)
    }

    fn to_string_lossy(&self) -> Result<Cow<'_, str>> {
        self.fuel.burn(1 + self.slice.len() as u64 / 4)?;
        Reader::to_string_lossy(&self.slice)
    }

    #[inline]
    fn read_slice(&mut self, buffer: &mut [u8]) -> Result<()> {
        self.fuel.burn(1)?;
        self.slice.read_slice(buffer)
    }

    #[inline]
    fn read_u8(&mut self) -> Result<u8> {
        self.fuel.burn(1)?;
        self.slice.read_u8()
    }

    // A variable-length number is one step: it has at most ten bytes.
    #[inline]
    fn read_uleb128(&mut self) -> Result<u64> {
        self.fuel.burn(1)?;
        self.slice.read_uleb128()
    }

    #[inline]
    fn read_sleb128(&mut self) -> Result<i64> {
        self.fuel.burn(1)?;
        self.slice.read_sleb128()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_share_the_steps_of_a_pool_and_give_back_what_they_leave() {
        let pool = FuelPool::new(STEPS_AT_ONCE * 3);
        {
            let (one, other) = (Fuel::new(&pool), Fuel::new(&pool));
            assert!(one.burn(1).is_ok() && other.burn(STEPS_AT_ONCE / 2).is_ok());
            assert!(one.burn(STEPS_AT_ONCE * 3).is_err());
            assert!(one.burn(1).is_err());
        }
        let fuel = Fuel::new(&pool);
        assert!(fuel.burn(STEPS_AT_ONCE).is_ok() && fuel.burn(STEPS_AT_ONCE).is_err());
    }

    #[test]
    fn numbers_are_those_of_a_reader_without_a_bound() {
        let bytes =
            [0x80, 0x81, 0x01, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, b'a', b'b', 0, 9];
        let pool = FuelPool::new(STEPS_AT_ONCE);
        let fuel = Fuel::new(&pool);
        let (mut ours, mut theirs) = (FuelledSlice::new(&bytes, &fuel), EndianSlice::new(&bytes, LittleEndian));
        assert_eq!(ours.read_uleb128(), theirs.read_uleb128());
        assert_eq!(ours.read_sleb128(), theirs.read_sleb128());
        assert_eq!(ours.read_uleb128(), theirs.read_uleb128());
        assert_eq!(ours.read_null_terminated_slice().unwrap().bytes(), b"ab");
        assert_eq!((ours.read_u8(), ours.len()), (Ok(9), 0));
    }
}

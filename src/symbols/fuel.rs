//! Bytes of debug information whose reading is bounded in steps: a reader that fails once its fuel is burnt. Debug
//! information may refer to itself, so the length of a file does not bound the time to read it.

use std::borrow::Cow;
use std::cell::Cell;

use gimli::{EndianSlice, Error, LittleEndian, Reader, ReaderOffsetId, Result};

/// Steps that may still be made, shared by all readers of one file.
#[derive(Debug)]
pub(super) struct Fuel(Cell<u64>);

impl Fuel {
    pub(super) fn new(steps: u64) -> Self {
        Self(Cell::new(steps))
    }

    pub(super) fn is_burnt(&self) -> bool {
        self.0.get() == 0
    }

    #[inline]
    fn burn(&self, steps: u64) -> Result<()> {
        let left = self.0.get().saturating_sub(steps);
        self.0.set(left);
        if left == 0 { Err(Error::UnexpectedEof(ReaderOffsetId(0))) } else { Ok(()) }
    }
}

/// A part of a section.
#[derive(Debug, Clone, Copy)]
pub(super) struct FuelledSlice<'a> {
    slice: EndianSlice<'a, LittleEndian>,
    fuel: &'a Fuel,
}

impl<'a> FuelledSlice<'a> {
    pub(super) fn new(bytes: &'a [u8], fuel: &'a Fuel) -> Self {
        Self { slice: EndianSlice::new(bytes, LittleEndian), fuel }
    }

    pub(super) fn bytes(&self) -> &'a [u8] {
        self.slice.slice()
    }
}

impl Reader for FuelledSlice<'_> {
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
        let found = Reader::find(&self.slice, byte)?;
        self.fuel.burn(1 + found as u64 / 16)?;
        Ok(found)
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
}

//! Sorted events that exceed the memory budget, in one temporary file. They are read back block by block.
//!
//! The file is unnamed, so it disappears however the program ends.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::base::budget::Budget;
use crate::base::budget_shares::BudgetShare;
use crate::base::disk::{Disk, SystemDisk};
use crate::base::files;
use crate::formats::native::columns;
use crate::model::{Chunk, Event};

/// Number of events in a block of a spilled run: about 256 KiB in memory. A thousand runs can be open within a budget
/// of 1 GiB, and reads still reach the speed of the disk.
pub const BLOCK_EVENTS: usize = 8 * 1024;

/// Bytes of details that end a block early: one event may have a megabyte of arguments.
const BLOCK_DETAIL_BYTES: usize = 4 << 20;

/// The limits of a block. They are smaller within a small budget, since the blocks of some 15 runs must be in memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockLimits {
    events: usize,
    detail_bytes: usize,
}

impl BlockLimits {
    /// Number of blocks for which the memory of open runs has room.
    const BLOCKS: u64 = 32;

    /// Below this size of the events, or of the details, reads take longer than the merge.
    const BYTES_MIN: usize = 32 << 10;

    pub(crate) fn new(budget: &Budget) -> Self {
        let half_bytes = BudgetShare::OpenRuns.bytes(budget) / Self::BLOCKS / 2;
        let half_bytes = usize::try_from(half_bytes).unwrap_or(usize::MAX).max(Self::BYTES_MIN);
        let events = (half_bytes / size_of::<Event>()).min(BLOCK_EVENTS);
        Self { events, detail_bytes: half_bytes.min(BLOCK_DETAIL_BYTES) }
    }

    /// Returns whether a block must end.
    pub(crate) fn is_reached(self, block: &Chunk) -> bool {
        block.events.len() >= self.events || block.details.bytes.len() >= self.detail_bytes
    }
}

/// The temporary file; blocks are appended.
#[derive(Debug)]
pub struct SpillFile {
    file: File,
    disk: Arc<dyn Disk>,
    end: AtomicU64,
}

/// The position of a block in the file.
#[derive(Debug, Clone, Copy)]
pub struct SpilledBlock {
    offset: u64,
    chunk_bytes: u32,
    origins: u32,
    /// In memory, with the origins.
    memory_bytes: u64,
}

impl SpilledBlock {
    /// Returns the memory size of the block once it is read.
    pub(super) fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }
}

impl SpillFile {
    /// Creates an empty, unnamed file in `folder`.
    ///
    /// # Errors
    /// Any I/O error, such as a folder that is not writable.
    pub fn create(folder: &Path) -> io::Result<Self> {
        Self::on(Arc::new(SystemDisk), folder)
    }

    /// Like [`SpillFile::create`], on the given disk.
    pub(crate) fn on(disk: Arc<dyn Disk>, folder: &Path) -> io::Result<Self> {
        Ok(Self { file: tempfile::tempfile_in(folder)?, disk, end: AtomicU64::new(0) })
    }

    #[must_use]
    pub(crate) fn bytes(&self) -> u64 {
        self.end.load(Ordering::Relaxed)
    }

    /// Writes a chunk with the chunk number of each event; `origins` is empty if they all come from one chunk.
    ///
    /// # Errors
    /// Any I/O error of a write, such as a full disk.
    pub fn write(&self, chunk: &Chunk, origins: &[u32]) -> io::Result<SpilledBlock> {
        let mut bytes = columns::encode(chunk).map_err(io::Error::other)?;
        let chunk_bytes = u32::try_from(bytes.len()).map_err(io::Error::other)?;
        bytes.extend_from_slice(bytemuck::cast_slice(origins));
        let offset = self.end.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.disk.write_all_at(&self.file, &bytes, offset)?;
        let memory_bytes = chunk.memory_bytes() + size_of_val(origins) as u64;
        let origins = u32::try_from(origins.len()).map_err(io::Error::other)?;
        Ok(SpilledBlock { offset, chunk_bytes, origins, memory_bytes })
    }

    /// Reads a block back, with the chunk number of each event; see [`Self::write`].
    ///
    /// # Errors
    /// Any I/O error of a read, or an error for a block that was changed since it was written.
    pub fn read(&self, block: SpilledBlock) -> io::Result<(Chunk, Vec<u32>)> {
        let mut bytes = vec![0; block.chunk_bytes as usize];
        files::read_exact_at(&self.file, &mut bytes, block.offset)?;
        let chunk = columns::decode(&bytes).map_err(io::Error::other)?;
        let mut origins = vec![0u32; block.origins as usize];
        let origins_at = block.offset + u64::from(block.chunk_bytes);
        files::read_exact_at(&self.file, bytemuck::cast_slice_mut(&mut origins), origins_at)?;
        Ok((chunk, origins))
    }

    /// Writes bytes for [`Self::read_bytes`], and returns their offset. Fails like [`Self::write`].
    pub(crate) fn write_bytes(&self, bytes: &[u8]) -> io::Result<u64> {
        let offset = self.end.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.disk.write_all_at(&self.file, bytes, offset)?;
        Ok(offset)
    }

    /// Fills `bytes` from `offset` on. Returns any I/O error of a read.
    pub(crate) fn read_bytes(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        files::read_exact_at(&self.file, bytes, offset)
    }
}

//! Encodes and decodes blocks of spilled runs on other threads: both take about as long as merging them. Few blocks
//! wait to be written, and one of each run is read ahead if the budget allows. If the system refuses all threads, the
//! caller does the work.

use std::cell::OnceCell;
use std::collections::VecDeque;
use std::io;
use std::thread::Scope;

use crossbeam_channel::{Receiver, Sender, TryRecvError, bounded};

use super::spill::{SpillFile, SpilledBlock};
use crate::base::budget::{Budget, Charge};
use crate::base::budget_shares::BudgetShare;
use crate::base::threads::start_scoped;
use crate::model::Chunk;

/// Maximum number of threads: together, these are faster than the merge.
const THREADS_MAX: usize = 4;

/// Larger blocks, with long arguments, are written by the caller. So a few megabytes wait to be written at most.
const WAITING_BYTES_MAX: u64 = 1 << 20;

/// Threads that write and read blocks of a spill file.
pub(super) struct SpillPool<'scope, 'a> {
    scope: &'scope Scope<'scope, 'a>,
    spill: &'a SpillFile,
    threads: usize,
    /// Started with the first block, because most traces are not spilled. `None` if no thread could be started.
    jobs: OnceCell<Option<Sender<SpillJob>>>,
}

/// A block to write or to read, with the receiver of the result.
enum SpillJob {
    Write(Chunk, Vec<u32>, Sender<io::Result<SpilledBlock>>),
    Read(SpilledBlock, Sender<io::Result<BlockContent>>),
}

/// The events of a block, with the chunk number of each.
type BlockContent = (Chunk, Vec<u32>);

impl SpillJob {
    fn run(self, spill: &SpillFile) {
        // A merge that has failed no longer receives.
        match self {
            Self::Write(chunk, origins, reply) => drop(reply.send(spill.write(&chunk, &origins))),
            Self::Read(block, reply) => drop(reply.send(spill.read(block))),
        }
    }
}

impl<'scope, 'a> SpillPool<'scope, 'a> {
    /// Returns a pool of at most `threads` threads in `scope`.
    pub(super) fn new(scope: &'scope Scope<'scope, 'a>, spill: &'a SpillFile, threads: usize) -> Self {
        Self { scope, spill, threads: threads.clamp(1, THREADS_MAX), jobs: OnceCell::new() }
    }

    fn submit(&self, job: SpillJob) {
        let refused = match self.jobs.get_or_init(|| self.start()) {
            Some(jobs) => jobs.send(job).err().map(|error| error.0),
            None => Some(job),
        };
        if let Some(job) = refused {
            job.run(self.spill);
        }
    }

    fn start(&self) -> Option<Sender<SpillJob>> {
        let (sender, jobs) = bounded::<SpillJob>(self.threads);
        let spill = self.spill;
        let start_one = || {
            let jobs = jobs.clone();
            start_scoped(self.scope, "spill", move || jobs.into_iter().for_each(|job| job.run(spill))).is_ok()
        };
        let started = (0..self.threads).take_while(|_| start_one()).count();
        (started > 0).then_some(sender)
    }
}

/// Writes the blocks of one run, in order.
pub(super) struct RunWriter<'b, 'scope, 'a> {
    pool: &'b SpillPool<'scope, 'a>,
    pending: VecDeque<Receiver<io::Result<SpilledBlock>>>,
    written: Vec<SpilledBlock>,
}

impl<'b, 'scope, 'a> RunWriter<'b, 'scope, 'a> {
    pub(super) fn new(pool: &'b SpillPool<'scope, 'a>) -> Self {
        Self { pool, pending: VecDeque::new(), written: Vec::new() }
    }

    /// Writes the next block; see [`SpillFile::write`].
    ///
    /// # Errors
    /// Any I/O error of this write or of an earlier one.
    pub(super) fn push(&mut self, chunk: Chunk, origins: Vec<u32>) -> io::Result<()> {
        let (reply, written) = bounded(1);
        self.pending.push_back(written);
        let is_large = chunk.memory_bytes() > WAITING_BYTES_MAX;
        let job = SpillJob::Write(chunk, origins, reply);
        if is_large {
            job.run(self.pool.spill);
        } else {
            self.pool.submit(job);
        }
        while let Some(first) = self.pending.front() {
            match first.try_recv() {
                Ok(block) => self.written.push(block?),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return Err(writer_has_stopped()),
            }
            self.pending.pop_front();
        }
        Ok(())
    }

    /// Waits until all blocks are written, and returns the run.
    ///
    /// # Errors
    /// Any I/O error of a write.
    pub(super) fn finish(mut self) -> io::Result<SpilledRun> {
        for block in self.pending {
            self.written.push(block.recv().map_err(|_| writer_has_stopped())??);
        }
        Ok(SpilledRun::new(self.written))
    }
}

/// The remaining blocks of a run in the spill file, in order.
#[derive(Debug)]
pub struct SpilledRun {
    blocks: std::vec::IntoIter<SpilledBlock>,
    /// The sum of their sizes in memory.
    remaining_bytes: u64,
    /// The next block while it is read ahead, with the charge of its memory.
    ahead: Option<(Receiver<io::Result<BlockContent>>, Charge)>,
}

impl SpilledRun {
    /// Returns a run of blocks that were written.
    #[must_use]
    pub fn new(blocks: Vec<SpilledBlock>) -> Self {
        let remaining_bytes = blocks.iter().map(SpilledBlock::memory_bytes).sum();
        Self { blocks: blocks.into_iter(), remaining_bytes, ahead: None }
    }

    /// Returns the memory size of all blocks that are not read yet.
    pub(super) fn remaining_bytes(&self) -> u64 {
        self.remaining_bytes
    }

    fn next_block(&mut self) -> Option<SpilledBlock> {
        let block = self.blocks.next()?;
        self.remaining_bytes -= block.memory_bytes();
        Some(block)
    }

    /// Returns the events of the next block with the chunk number of each; `None` after the last one.
    ///
    /// # Errors
    /// Fails as [`SpillFile::read`] does.
    pub fn read_next(&mut self, spill: &SpillFile) -> io::Result<Option<BlockContent>> {
        if let Some((content, _charge)) = self.ahead.take() {
            return content.recv().map_err(|_| writer_has_stopped())?.map(Some);
        }
        self.next_block().map(|block| spill.read(block)).transpose()
    }

    /// Starts to read the next block on another thread, if the budget allows.
    pub(super) fn read_ahead(&mut self, pool: &SpillPool<'_, '_>, budget: &Budget) {
        let Some(block) = self.blocks.as_slice().first().filter(|_| self.ahead.is_none()) else { return };
        let Some(charge) = budget.try_charge(block.memory_bytes(), BudgetShare::OpenRuns.fraction()) else { return };
        let (reply, content) = bounded(1);
        self.ahead = self.next_block().map(|block| {
            pool.submit(SpillJob::Read(block, reply));
            (content, charge)
        });
    }
}

/// Returns the error for a thread that has panicked. It only ends the merge: the scope of the thread panics then.
fn writer_has_stopped() -> io::Error {
    io::Error::other("a thread that sorts has failed")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;
    use crate::base::disk::tests::FullAfter;
    use crate::base::threads::tests::with_only;
    use crate::model::{Details, Event, NameIdx, TrackIdx};

    const BLOCKS: usize = 50;

    /// A block of one event at the time of its number; every tenth one has long details.
    fn block(number: usize) -> BlockContent {
        let mut details = Details::default();
        let bytes = if number.is_multiple_of(10) { WAITING_BYTES_MAX as usize + 1 } else { number };
        let detail = details.push_blob(&vec![number as u8; bytes]);
        let event = Event { detail, ..Event::at(number as i64, TrackIdx(0), NameIdx::EMPTY) };
        (Chunk { events: vec![event], details, ..Chunk::default() }, vec![number as u32])
    }

    fn write_blocks(pool: &SpillPool<'_, '_>) -> io::Result<SpilledRun> {
        let mut writer = RunWriter::new(pool);
        for (chunk, origins) in (0..BLOCKS).map(block) {
            writer.push(chunk, origins)?;
        }
        writer.finish()
    }

    #[test]
    fn blocks_are_read_in_the_order_of_their_writes_with_any_threads_and_budget() {
        let spill = SpillFile::create(&std::env::temp_dir()).unwrap();
        for (startable, budget_bytes) in (0..4).flat_map(|startable| [(startable, 1), (startable, 1 << 30)]) {
            let budget = Budget::new(budget_bytes);
            thread::scope(|scope| {
                let pool = SpillPool::new(scope, &spill, 3);
                let mut run = with_only(startable, || write_blocks(&pool)).unwrap();
                for number in 0..BLOCKS {
                    let (chunk, origins) = run.read_next(&spill).unwrap().unwrap();
                    let (expected, expected_origins) = block(number);
                    assert_eq!((chunk.events, origins), (expected.events, expected_origins));
                    assert_eq!(chunk.details.bytes, expected.details.bytes);
                    run.read_ahead(&pool, &budget);
                    run.read_ahead(&pool, &budget); // does nothing: the next block is already read
                    assert_eq!(run.ahead.is_some(), budget_bytes > 1 && number + 1 < BLOCKS);
                }
                assert!(run.read_next(&spill).unwrap().is_none());
            });
        }
    }

    #[test]
    fn a_write_that_fails_on_another_thread_fails_the_run() {
        for writes in [0, 1, 7, BLOCKS - 1] {
            let disk = Arc::new(FullAfter::new(writes));
            let spill = SpillFile::on(disk, &std::env::temp_dir()).unwrap();
            let failed = thread::scope(|scope| write_blocks(&SpillPool::new(scope, &spill, 3)).unwrap_err());
            assert_eq!(failed.kind(), io::ErrorKind::StorageFull, "after {writes} writes");
        }
    }
}

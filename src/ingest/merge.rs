//! The deferred merge sort: turns chunks into one stream of events, sorted by time. It neither parses nor nests.
//!
//! The result equals a stable sort of all events by time, which would need all events in memory. Instead, a chunk is
//! loaded and sorted when the merge reaches the minimum time in its header. So nearly sorted traces are merged with a
//! few chunks in memory. If the open chunks exceed the budget, their remaining events are merged into one run in the
//! spill file. The run is read back block by block, like in an external merge sort.
//!
//! Usually each event is spilled once at most. If the blocks of the runs take more memory than the chunks, runs of
//! similar size are merged into one of at least twice their size. So an event is spilled a logarithmic number of times.

use std::io;
use std::thread;

use super::heads::{HeadTable, SortedRun};
use super::open_run::{Key, OpenRun, Origin};
use super::prefetch::{AheadLimits, Prefetch};
use super::spill::{BlockLimits, SpillFile};
use super::spill_pool::{RunWriter, SpillPool, SpilledRun};
use crate::base::budget::Budget;
use crate::base::budget_shares::BudgetShare;
use crate::base::cancel::{Cancel, Cancelled};
use crate::formats::{ChunkHead, ChunkSource, ReadError};
use crate::model::{Chunk, EventFlags, Loss, Losses, SourcePos};

/// The limits and resources of a merge.
#[derive(Debug)]
pub struct MergeContext<'a> {
    /// Stops the merge when it is set.
    pub cancel: &'a Cancel,
    /// Limits the memory of the open chunks.
    pub budget: &'a Budget,
    /// Stores events beyond the budget.
    pub spill: &'a SpillFile,
    /// Number of threads that load and sort chunks, at least 1.
    pub threads: usize,
}

/// The statistics of a finished merge.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MergeStats {
    /// Maximum number of runs that were open at once.
    pub(crate) open_max: u64,
    /// Number of moves in the head table.
    pub(crate) head_moves: u64,
    /// Number of events that follow a later event in the trace.
    pub(crate) late_events: u64,
    /// Maximum lateness of an event, in nanoseconds.
    pub(crate) max_lateness_ns: u64,
    /// Losses in chunks, such as a damaged block.
    pub(crate) losses: Losses,
}

/// An error of a merge.
#[derive(Debug, thiserror::Error)]
pub enum MergeError<E> {
    /// The receiver of the events failed.
    #[error("{0}")]
    Sink(E),
    /// The spill file cannot be written, or not be read back.
    #[error("cannot use the temporary file for sorting: {0}")]
    Spill(#[source] io::Error),
    /// The trace has more chunks than 32 bits can count; the chunk number breaks ties in time.
    #[error("the trace has {chunks} chunks; the maximum is 4,294,967,295")]
    TooManyChunks { chunks: usize },
    /// The trace can no longer be read.
    #[error(transparent)]
    Read(ReadError),
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// A chunk contains events earlier than its header's minimum, and earlier than events already emitted. The merge
    /// must be restarted with the heads returned by [`true_heads`].
    #[error("chunk {chunk} contains events earlier than its header says")]
    HeaderLied { chunk: usize },
}

/// Merges all chunks of `source`, whose minimum times are in `heads`, and passes runs of sorted events to `sink`.
///
/// Events at the same time are ordered by chunk and position. The result does not depend on `context.threads`.
///
/// # Errors
/// See [`MergeError`]. Damaged chunks are not errors: they are counted as losses.
pub fn merge<E>(
    source: &dyn ChunkSource,
    heads: &[ChunkHead],
    context: &MergeContext<'_>,
    mut sink: impl FnMut(&SortedRun<'_>) -> Result<(), E>,
) -> Result<MergeStats, MergeError<E>> {
    let chunks = u32::try_from(heads.len()).map_err(|_| MergeError::TooManyChunks { chunks: heads.len() })?;
    let mut order: Vec<Key> =
        (0..chunks).zip(heads).map(|(chunk, head)| Key { ts_ns: head.min_ts_ns, chunk }).collect();
    order.sort_unstable();
    thread::scope(|scope| {
        let bytes = BudgetShare::ChunksAhead.bytes(context.budget);
        let limits = AheadLimits { chunks: context.threads + 2, bytes };
        let mut prefetch = Prefetch::start(scope, source, &order, context.threads, limits);
        let mut unopened = order.iter().copied().peekable();
        let pool = SpillPool::new(scope, context.spill, context.threads);
        let mut runs = OpenRuns::new(heads, context);
        loop {
            let promised = unopened.peek().copied();
            match (runs.table.first(), promised) {
                (None, None) => break,
                (first, Some(promised)) if first.is_none_or(|first| promised < first) => {
                    context.cancel.check()?;
                    unopened.next();
                    let Some(loaded) = prefetch.take_next() else { break };
                    runs.open(promised, loaded, &pool)?;
                }
                _ => {
                    let emitted = &mut runs.emitted;
                    let emit = |run: SortedRun<'_>| {
                        *emitted = run.last_key();
                        sink(&run)
                    };
                    let Some((result, finished)) = runs.table.advance(promised, emit) else { break };
                    result.map_err(MergeError::Sink)?;
                    if let Some(next) = finished.and_then(|run| reopen(run, context).transpose()) {
                        context.cancel.check()?;
                        let mut next = next.map_err(MergeError::Spill)?;
                        // Chunks that are not open yet need the memory first.
                        if let Some(rest) = next.rest.as_mut().filter(|_| promised.is_none()) {
                            rest.read_ahead(&pool, context.budget);
                        }
                        runs.table.insert(next);
                    }
                }
            }
        }
        runs.stats.open_max = runs.table.open_max() as u64;
        runs.stats.head_moves = runs.table.moves();
        Ok(runs.stats)
    })
}

/// The open runs of a merge, and its progress.
struct OpenRuns<'a> {
    heads: &'a [ChunkHead],
    /// The latest event of all chunks before each chunk.
    newest_before: Vec<i64>,
    context: &'a MergeContext<'a>,
    table: HeadTable,
    /// The last event that was passed on.
    emitted: Option<Key>,
    stats: MergeStats,
}

impl<'a> OpenRuns<'a> {
    fn new(heads: &'a [ChunkHead], context: &'a MergeContext<'a>) -> Self {
        Self {
            heads,
            newest_before: newest_before(heads),
            context,
            table: HeadTable::default(),
            emitted: None,
            stats: MergeStats::default(),
        }
    }

    /// Opens a chunk whose header promises the key `promised`. If it exceeds the budget, spills all others first.
    fn open<E>(
        &mut self,
        promised: Key,
        loaded: Result<Chunk, ReadError>,
        pool: &SpillPool<'_, '_>,
    ) -> Result<(), MergeError<E>> {
        let chunk_index = promised.chunk as usize;
        let chunk = match loaded {
            Ok(chunk) => chunk,
            Err(ReadError::Malformed { offset, .. }) => {
                let events = u64::from(self.heads[chunk_index].events.max(1));
                self.stats.losses.add_many(Loss::BadChunk, SourcePos::Offset(offset), events);
                return Ok(());
            }
            Err(error) => return Err(MergeError::Read(error)),
        };
        count_disorder(&chunk, self.newest_before[chunk_index], &mut self.stats);
        let liars = chunk.events.partition_point(|event| event.ts_ns < promised.ts_ns);
        if let Some(earliest) = chunk.events[..liars].first() {
            let earliest_key = Key { ts_ns: earliest.ts_ns, chunk: promised.chunk };
            if self.emitted.is_some_and(|emitted| earliest_key < emitted) {
                return Err(MergeError::HeaderLied { chunk: chunk_index });
            }
            self.stats.losses.add_many(Loss::LyingHeader, SourcePos::Time(earliest.ts_ns), liars as u64);
        }
        let (table, budget) = (&mut self.table, self.context.budget);
        let memory_bytes = chunk.memory_bytes();
        if table.open() > 0 && budget.try_charge(memory_bytes, BudgetShare::OpenRuns.fraction()).is_none() {
            let run = spill_all(table, self.context, pool).map_err(MergeError::Spill)?;
            run.into_iter().for_each(|run| table.insert(run));
        }
        let charge = budget.charge(memory_bytes);
        let origin = Origin::One(promised.chunk);
        table.insert(OpenRun { chunk, origin, next: 0, rest: None, charge });
        Ok(())
    }
}

/// Computes the heads from the events, by loading each chunk once: for traces with wrong headers. Counts the wrong
/// ones.
///
/// # Errors
/// Returns [`Cancelled`] on request. Unreadable chunks keep the head of their header; the merge handles them.
pub(crate) fn true_heads(
    source: &dyn ChunkSource,
    cancel: &Cancel,
    losses: &mut Losses,
) -> Result<Vec<ChunkHead>, Cancelled> {
    let mut heads = source.heads().to_vec();
    for (index, head) in heads.iter_mut().enumerate() {
        cancel.check()?;
        let Ok(chunk) = source.load(index) else { continue };
        let Some(min_ts_ns) = chunk.min_ts_ns() else { continue };
        let liars = chunk.events.iter().filter(|event| event.ts_ns < head.min_ts_ns).count();
        losses.add_many(Loss::LyingHeader, SourcePos::Time(min_ts_ns), liars as u64);
        head.min_ts_ns = min_ts_ns;
    }
    Ok(heads)
}

/// Returns the latest time before each chunk: an event before that time is late.
fn newest_before(heads: &[ChunkHead]) -> Vec<i64> {
    let newest = heads.iter().scan(i64::MIN, |newest, head| {
        let before = *newest;
        if head.events > 0 {
            *newest = before.max(head.max_ts_ns);
        }
        Some(before)
    });
    newest.collect()
}

fn count_disorder(chunk: &Chunk, newest_before_ns: i64, stats: &mut MergeStats) {
    let Some(first) = chunk.events.first() else { return };
    let late = chunk.events.partition_point(|event| event.ts_ns < newest_before_ns);
    let late_within = chunk.events[late..].iter().filter(|event| event.flags.has(EventFlags::LATE)).count();
    stats.late_events += (late + late_within) as u64;
    let behind_ns = if late > 0 { newest_before_ns.abs_diff(first.ts_ns) } else { 0 };
    stats.max_lateness_ns = stats.max_lateness_ns.max(chunk.max_lateness_ns).max(behind_ns);
}

/// Reads the next block of a run, if any.
fn reopen(run: OpenRun, context: &MergeContext<'_>) -> io::Result<Option<OpenRun>> {
    let OpenRun { rest: Some(rest), charge, .. } = run else { return Ok(None) };
    drop(charge);
    open_next(rest, context)
}

fn open_next(mut rest: SpilledRun, context: &MergeContext<'_>) -> io::Result<Option<OpenRun>> {
    let Some((chunk, origins)) = rest.read_next(context.spill)? else { return Ok(None) };
    let charge = context.budget.charge(chunk.memory_bytes() + size_of_val(&*origins) as u64);
    Ok(Some(OpenRun { chunk, origin: Origin::Each(origins), next: 0, rest: Some(rest), charge }))
}

/// Returns how many of the runs, smallest first, to merge with `bytes` of chunks: as many as possible, none above half
/// of the result. Each run left alone is larger than all smaller runs together, so few are left.
fn balanced(mut bytes: u64, sorted_runs: impl Iterator<Item = u64>) -> usize {
    let mut count = 0;
    for (position, run_bytes) in sorted_runs.enumerate() {
        if run_bytes <= bytes {
            count = position + 1;
        }
        bytes = bytes.saturating_add(run_bytes);
    }
    count
}

/// Merges the remaining events of the loaded chunks into one run in the spill file, and opens its first block. Returns
/// `None` if there are no events.
///
/// Spilled runs are left alone, since each has only one block in memory. If these blocks take more memory than the
/// loaded chunks, the [`balanced`] runs are merged too. This bounds their number by a logarithm.
fn spill_all(
    table: &mut HeadTable,
    context: &MergeContext<'_>,
    pool: &SpillPool<'_, '_>,
) -> io::Result<Option<OpenRun>> {
    let mut loaded = HeadTable::default();
    let (mut merged, mut runs): (Vec<_>, Vec<_>) = table.drain().into_iter().partition(|run| run.rest.is_none());
    let bytes = |runs: &[OpenRun]| runs.iter().map(|run| run.charge.bytes()).sum::<u64>();
    let chunk_bytes = bytes(&merged);
    if bytes(&runs) > chunk_bytes {
        runs.sort_by_cached_key(OpenRun::remaining_bytes);
        let count = balanced(chunk_bytes, runs.iter().map(OpenRun::remaining_bytes));
        merged.extend(runs.drain(..count));
    }
    merged.into_iter().for_each(|run| loaded.insert(run));
    runs.into_iter().for_each(|run| table.insert(run));
    let limits = BlockLimits::new(context.budget);
    let mut writer = RunWriter::new(pool);
    let (mut block, mut origins) = (Chunk::default(), Vec::new());
    while loaded.open() > 0 {
        let Some((written, used_up)) = loaded.advance(None, |run| {
            for (offset, event) in run.events.iter().enumerate() {
                let detail = match event.detail {
                    0 => 0,
                    _ => block.details.push_blob(run.blob(offset)),
                };
                block.events.push(crate::model::Event { detail, ..*event });
                origins.push(run.origin(offset));
                if limits.is_reached(&block) {
                    writer.push(std::mem::take(&mut block), std::mem::take(&mut origins))?;
                }
            }
            io::Result::Ok(())
        }) else {
            break;
        };
        written?;
        // A spilled run that was merged again continues with its next block.
        if let Some(run) = used_up.map_or(Ok(None), |run| reopen(run, context))? {
            loaded.insert(run);
        }
    }
    if !block.events.is_empty() {
        writer.push(block, origins)?;
    }
    open_next(writer.finish()?, context)
}

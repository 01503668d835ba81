//! Cost of sorting: the deferred merge, compared with a stable sort of all events in memory and an external merge sort
//! of the same chunks. Each runs alone, and followed by nesting and writing the store. All start from the same
//! compressed chunks in memory and use all CPUs. Nanoseconds of wall time per span, best of three rounds.
//!
//! `cargo bench --no-default-features --bench sort -- [SPANS]`

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use longspan::facade::base::budget::Budget;
use longspan::facade::base::cancel::Cancel;
use longspan::facade::formats::native::columns;
use longspan::facade::formats::{ChunkHead, ChunkSource, ReadError};
use longspan::facade::ingest::heads::{HeadTable, OpenRun, Origin, SortedRun};
use longspan::facade::ingest::merge::{MergeContext, merge};
use longspan::facade::ingest::nest::Nester;
use longspan::facade::ingest::spill::{BLOCK_EVENTS, SpillFile, SpilledRun};
use longspan::facade::model::{Chunk, Losses, Registry};
use longspan::facade::store::{Meta, StoreWriter};
use longspan::facade::synth::{Synth, SynthOptions};
use rayon::prelude::*;

const SPANS: u64 = 2_000_000;
const ROUNDS: usize = 3;

/// A trace in memory, encoded as in its file.
struct EncodedTrace {
    synth: Synth,
    heads: Vec<ChunkHead>,
    chunks: Vec<Vec<u8>>,
}

type Sink<'a> = &'a mut dyn FnMut(&SortedRun<'_>) -> io::Result<()>;

impl ChunkSource for EncodedTrace {
    fn heads(&self) -> &[ChunkHead] {
        &self.heads
    }

    fn load(&self, chunk: usize) -> Result<Chunk, ReadError> {
        columns::decode(&self.chunks[chunk]).map_err(|error| ReadError::Sink(Box::new(error)))
    }
}

impl EncodedTrace {
    fn new(options: SynthOptions) -> Self {
        let synth = Synth::new(options);
        let (mut heads, mut chunks) = (Vec::new(), Vec::new());
        let Ok(()) = synth.generate::<Infallible>(&mut |chunk| {
            heads.push(ChunkHead {
                min_ts_ns: chunk.min_ts_ns().unwrap_or(0),
                max_ts_ns: chunk.events.iter().map(|event| event.ts_ns).max().unwrap_or(0),
                events: chunk.events.len() as u32,
                memory_bytes: chunk.memory_bytes(),
            });
            chunks.push(columns::encode(&chunk).unwrap_or_default());
            Ok(())
        });
        Self { synth, heads, chunks }
    }

    fn sorted_chunk(&self, chunk: usize) -> io::Result<Chunk> {
        let mut chunk = self.load(chunk).map_err(io::Error::other)?;
        chunk.sort();
        Ok(chunk)
    }

    fn deferred_merge(&self, sink: Sink<'_>) -> io::Result<()> {
        let spill = SpillFile::create(&std::env::temp_dir())?;
        let (cancel, budget) = (Cancel::default(), Budget::default());
        let context = MergeContext { cancel: &cancel, budget: &budget, spill: &spill, threads: threads() };
        merge(self, &self.heads, &context, sink).map(drop).map_err(|error| io::Error::other(error.to_string()))
    }

    /// Loads all chunks and sorts them as one.
    fn sort_in_memory(&self, sink: Sink<'_>) -> io::Result<()> {
        let chunks = (0..self.chunks.len()).into_par_iter().map(|chunk| self.load(chunk));
        let chunks = chunks.collect::<Result<Vec<_>, _>>().map_err(io::Error::other)?;
        let events = chunks.into_iter().flat_map(|chunk| chunk.events).collect();
        let mut all = Chunk { events, ..Chunk::default() };
        all.sort();
        emit_all(
            vec![OpenRun {
                chunk: all,
                origin: Origin::One(0),
                next: 0,
                rest: None,
                charge: Budget::default().charge(0),
            }],
            &SpillFile::create(&std::env::temp_dir())?,
            sink,
        )
    }

    /// Writes each sorted chunk to a file, then merges all of them from there, block by block.
    fn external_merge_sort(&self, sink: Sink<'_>) -> io::Result<()> {
        let spill = SpillFile::create(&std::env::temp_dir())?;
        let budget = Budget::default();
        let runs = (0..self.chunks.len()).into_par_iter().map(|index| {
            let chunk = self.sorted_chunk(index)?;
            let blocks = chunk.events.chunks(BLOCK_EVENTS).map(|events| {
                let block = Chunk { events: events.to_vec(), ..Chunk::default() };
                spill.write(&block, &[])
            });
            let mut rest = SpilledRun::new(blocks.collect::<io::Result<Vec<_>>>()?);
            let (chunk, _) = rest.read_next(&spill)?.unwrap_or_default();
            let origin = Origin::One(index as u32);
            Ok(OpenRun { chunk, origin, next: 0, rest: Some(rest), charge: budget.charge(0) })
        });
        emit_all(runs.collect::<io::Result<Vec<_>>>()?, &spill, sink)
    }
}

/// Merges runs that are all open.
fn emit_all(runs: Vec<OpenRun>, spill: &SpillFile, sink: Sink<'_>) -> io::Result<()> {
    let mut table = HeadTable::default();
    runs.into_iter().for_each(|run| table.insert(run));
    while let Some((emitted, used_up)) = table.advance(None, |run| sink(&run)) {
        emitted?;
        if let Some(OpenRun { rest: Some(mut rest), origin, charge, .. }) = used_up
            && let Some((chunk, _)) = rest.read_next(spill)?
        {
            table.insert(OpenRun { chunk, origin, next: 0, rest: Some(rest), charge });
        }
    }
    Ok(())
}

fn main() -> io::Result<()> {
    let spans = std::env::args().find_map(|word| word.parse().ok()).unwrap_or(SPANS);
    println!("{spans} spans, {} threads; ns a span, and how much the deferred merge is faster", threads());
    println!("{:<28}{:>14}{:>22}{:>22}", "", "deferred", "in memory", "external");
    for disorder in [0.0, 0.01, 0.3, 1.0] {
        let trace = EncodedTrace::new(SynthOptions { spans, disorder, ..SynthOptions::default() });
        let events: u64 = trace.heads.iter().map(|head| u64::from(head.events)).sum();
        let order = if disorder < 1.0 { format!("{:.0}% late", disorder * 100.0) } else { "random order".to_owned() };
        let sorts = [EncodedTrace::deferred_merge, EncodedTrace::sort_in_memory, EncodedTrace::external_merge_sort];
        report(&format!("{order}, sort"), events, sorts.map(|sort| best_of(|| sum(&trace, sort))))?;
        report(&format!("{order}, sort and store"), events, sorts.map(|sort| best_of(|| store(&trace, sort))))?;
    }
    Ok(())
}

type Sort = fn(&EncodedTrace, Sink<'_>) -> io::Result<()>;

/// Sorts and visits all events; returns a checksum of their order, to compare the three sorts.
fn sum(trace: &EncodedTrace, sort: Sort) -> io::Result<u64> {
    let (mut sum, mut place) = (0u64, 0u64);
    sort(trace, &mut |run| {
        for event in run.events {
            place += 1;
            sum = sum.wrapping_add(place.wrapping_mul(event.ts_ns.cast_unsigned() ^ event.value));
        }
        Ok(())
    })?;
    Ok(sum)
}

/// Sorts, nests and writes a store; returns its size.
fn store(trace: &EncodedTrace, sort: Sort) -> io::Result<u64> {
    let mut writer = StoreWriter::new(tempfile::tempfile()?, 256 << 20)?;
    let (names, stacks) = (Arc::new(trace.synth.names().clone()), Arc::default());
    let mut registry = Registry::from_tables(trace.synth.tracks().clone());
    let mut nester = Nester::new(&mut writer, &names, &stacks, &mut registry);
    sort(trace, &mut |run| nester.add_run(run))?;
    let nested = nester.finish()?;
    let meta =
        Meta { names, stacks, tracks: registry.into_tables(), losses: Losses::default(), summary: nested.summary };
    writer.finish(&meta)
}

/// Returns the best time of all rounds, in nanoseconds, and the result.
fn best_of(work: impl Fn() -> io::Result<u64>) -> io::Result<(f64, u64)> {
    let mut best = (f64::INFINITY, 0);
    for _ in 0..ROUNDS {
        let started = Instant::now();
        let output = work()?;
        best = (best.0.min(started.elapsed().as_nanos() as f64), output);
    }
    Ok(best)
}

fn report(name: &str, events: u64, found: [io::Result<(f64, u64)>; 3]) -> io::Result<()> {
    let [deferred, in_memory, external] = found;
    let [deferred, in_memory, external] = [deferred?, in_memory?, external?];
    assert!(deferred.1 == in_memory.1 && deferred.1 == external.1, "{name}: three sorts, three orders");
    let per_event = |(ns, _): (f64, u64)| ns / events as f64;
    let beside = |found: (f64, u64)| format!("{:10.1} ({:5.2} x)", per_event(found), found.0 / deferred.0);
    println!("{name:<28}{:>14.1}{:>22}{:>22}", per_event(deferred), beside(in_memory), beside(external));
    Ok(())
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}

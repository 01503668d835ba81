//! Concurrent loads that share one memory budget: each stays within its share while others use much, and all finish.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::thread;

use longspan::facade::base::budget::Memory;
use longspan::facade::formats::native::write::NativeWriter;
use longspan::facade::ingest::LoadOptions;
use longspan::facade::model::{Chunk, Losses};
use longspan::facade::query::Snapshot;
use longspan::facade::store::LoadStats;
use longspan::facade::synth::{Synth, SynthOptions};

use crate::harness::{CHUNK_EVENTS, Line, folder, lines, load, options};

/// Open chunks may take half of this memory. One trace fits into that half, but four do not fit into all of it.
const MEMORY_BYTES: u64 = 12 << 20;

/// Writes a shuffled trace: all chunks are open at once unless they are spilled.
fn shuffled_trace(folder: &Path, seed: u64) -> PathBuf {
    let path = folder.join(format!("shuffled-{seed}.longspan"));
    let synth = Synth::new(SynthOptions { spans: 120_000, threads: 5, disorder: 1.0, seed, ..SynthOptions::default() });
    let mut writer = NativeWriter::new(File::create(&path).expect("created"), false).expect("written");
    writer.write_tables(synth.names(), synth.tracks()).expect("written");
    let write = |large: Chunk| {
        large.events.chunks(10 * CHUNK_EVENTS).all(|events| {
            let chunk = Chunk { events: events.to_vec(), ..Chunk::default() };
            writer.write_chunk(&chunk).is_ok()
        })
    };
    synth.produce(&mut { write }).expect("written");
    writer.finish(&Losses::default()).expect("written");
    path
}

fn sharing(memory: &Memory) -> LoadOptions {
    LoadOptions { memory: memory.clone(), threads: 1, ..options(None) }
}

fn loaded(trace: &Path, memory: &Memory) -> (Vec<Line>, LoadStats) {
    let store = load(trace, &sharing(memory)).expect("loads").store;
    (lines(&store), Snapshot::new(store).summary().load.clone())
}

#[test]
fn a_load_beside_another_that_uses_nearly_all_memory_spills_with_the_same_result() {
    let folder = folder();
    let trace = shuffled_trace(folder.path(), 1);
    let (expected, alone) = loaded(&trace, &Memory::new(MEMORY_BYTES));
    assert_eq!(alone.spilled_bytes, 0, "alone it fits");
    let memory = Memory::new(MEMORY_BYTES);
    let other = memory.budget();
    let charge = other.charge(MEMORY_BYTES - (1 << 20));
    let (found, beside) = loaded(&trace, &memory);
    assert!(found == expected);
    assert!(beside.spilled_bytes > 0);
    assert!(beside.peak_budget_bytes < alone.peak_budget_bytes, "{} bytes", beside.peak_budget_bytes);
    drop((other, charge));
    assert_eq!(loaded(&trace, &memory).1.spilled_bytes, 0, "all is given back");
}

#[test]
fn concurrent_loads_stay_within_their_memory_budget() {
    let folder = folder();
    let traces: Vec<PathBuf> = (1..=4).map(|seed| shuffled_trace(folder.path(), seed)).collect();
    let alone: Vec<_> = traces.iter().map(|trace| loaded(trace, &Memory::new(MEMORY_BYTES))).collect();
    let together: u64 = alone.iter().map(|(_, stats)| stats.peak_budget_bytes).sum();
    assert!(together > MEMORY_BYTES, "{together} bytes");
    let memory = Memory::new(MEMORY_BYTES);
    let found: Vec<_> = thread::scope(|scope| {
        let loads = traces.iter().map(|trace| scope.spawn(|| loaded(trace, &memory)));
        loads.collect::<Vec<_>>().into_iter().map(|load| load.join().expect("no panic")).collect()
    });
    for ((found, _), (expected, _)) in found.iter().zip(&alone) {
        assert!(found == expected);
    }
    assert!(memory.peak_bytes() <= MEMORY_BYTES, "{} bytes", memory.peak_bytes());
}

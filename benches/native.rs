//! Cost of encoding a chunk as columns, compared with copying its rows and with compressing its rows. Nanoseconds and
//! bytes per event, best of several rounds, in CPU time if the system provides it.
//!
//! `cargo bench --no-default-features --bench native`

use std::convert::Infallible;
use std::hint::black_box;
use std::sync::OnceLock;
use std::time::Instant;

use longspan::facade::formats::native::columns;
use longspan::facade::model::{Chunk, Event};
use longspan::facade::synth::{Synth, SynthOptions};

/// Enough chunks to exceed the cache, few enough that a run takes seconds.
const SPANS: u64 = 4_000_000;
const ROUNDS: usize = 5;

fn main() {
    for (name, options) in [
        ("spans, 1% out of place", SynthOptions::default()),
        ("spans, 30% out of place", SynthOptions { disorder: 0.3, ..SynthOptions::default() }),
        ("spans of 200 threads", SynthOptions { threads: 200, ..SynthOptions::default() }),
        ("demo: with arguments", SynthOptions::demo()),
    ] {
        measure(name, SynthOptions { spans: SPANS, ..options });
    }
}

fn measure(name: &str, options: SynthOptions) {
    let synth = Synth::new(options);
    let mut chunks: Vec<Chunk> = Vec::new();
    let started_ns = now_ns();
    let Ok(()) = synth.generate::<Infallible>(&mut |chunk| {
        chunks.push(chunk);
        Ok(())
    });
    let generated_ns = now_ns() - started_ns;
    let events: usize = chunks.iter().map(|chunk| chunk.events.len()).sum();
    println!("{name}: {events} events");
    println!("  generate           {:7.2} ns an event", generated_ns as f64 / events as f64);

    let rows = |chunk: &Chunk| bytemuck::cast_slice::<Event, u8>(&chunk.events).to_vec();
    report("copy rows", events, &chunks, rows, Vec::clone);
    report(
        "zstd of rows",
        events,
        &chunks,
        |chunk| zstd::bulk::compress(&rows(chunk), 1).unwrap_or_default(),
        |bytes| zstd::bulk::decompress(bytes, 1 << 26).unwrap_or_default(),
    );
    report(
        "columns",
        events,
        &chunks,
        |chunk| columns::encode(chunk).unwrap_or_default(),
        |bytes| columns::decode(bytes).unwrap_or_default(),
    );
}

/// Prints the cost of encoding and decoding all chunks.
fn report<B>(
    name: &str,
    events: usize,
    chunks: &[Chunk],
    encode: impl Fn(&Chunk) -> Vec<u8>,
    decode: impl Fn(&Vec<u8>) -> B,
) {
    let encoded: Vec<Vec<u8>> = chunks.iter().map(&encode).collect();
    let encode_ns = best_ns(|| chunks.iter().for_each(|chunk| drop(black_box(encode(chunk)))));
    let decode_ns = best_ns(|| encoded.iter().for_each(|bytes| drop(black_box(decode(bytes)))));
    let bytes: usize = encoded.iter().map(Vec::len).sum();
    let per_event = |total: f64| total / events as f64;
    println!(
        "  {name:<18} {:7.2} ns an event to write, {:6.2} to read, {:6.2} bytes",
        per_event(encode_ns),
        per_event(decode_ns),
        per_event(bytes as f64)
    );
}

fn best_ns(mut work: impl FnMut()) -> f64 {
    let times = (0..ROUNDS).map(|_| {
        let started_ns = now_ns();
        work();
        now_ns() - started_ns
    });
    times.min().unwrap_or(0) as f64
}

/// Returns the CPU time of this thread, which depends little on the load of the machine; the wall time on other
/// systems.
fn now_ns() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let elapsed_ns = START.get_or_init(Instant::now).elapsed().as_nanos() as u64;
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    schedstat.split(' ').next().and_then(|text| text.parse().ok()).unwrap_or(elapsed_ns)
}

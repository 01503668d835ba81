//! Throughput of parsing Chrome JSON, in MB/s: our reader on one and on all threads, compared with `serde_json` on the
//! same bytes.
//!
//! The baseline is a careful program without this reader: a typed, streaming `serde_json` visitor that borrows its text
//! and computes only a checksum. It does not sort, stores no names, and stops at the first damaged byte.

use std::fmt::{self, Write as _};
use std::hint::black_box;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use longspan::facade::formats::{BatchSink, ReadContext, ReadError, Reader, sniff};
use longspan::facade::model::Batch;
use serde::de::{Deserializer as _, IgnoredAny, SeqAccess, Visitor};

/// Fits the page cache of any machine, and takes some seconds.
const DEFAULT_EVENTS: u64 = 3_000_000;

/// Number of runs of each reader. The best one counts; the machine was busier during the others.
const RUNS: usize = 3;

/// Counts events, batches and losses, and drops the batches.
#[derive(Default)]
struct Count {
    events: u64,
    batches: u64,
    losses: u64,
}

impl BatchSink for Count {
    fn accept(&mut self, batch: Batch) -> Result<(), ReadError> {
        self.events += batch.chunk.events.len() as u64;
        self.batches += 1;
        self.losses += batch.losses.total();
        Ok(())
    }
}

/// The fields of a record that the baseline parses.
#[derive(serde::Deserialize)]
struct Typed<'a> {
    #[serde(borrow)]
    name: &'a str,
    ph: &'a str,
    ts: f64,
    dur: f64,
    pid: u64,
    tid: u64,
    #[serde(default)]
    args: Option<IgnoredAny>,
}

struct Sum;

impl<'de> Visitor<'de> for Sum {
    type Value = (u64, f64);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut records: A) -> Result<Self::Value, A::Error> {
        let mut count = 0;
        let mut sum = 0.0;
        while let Some(record) = records.next_element::<Typed<'de>>()? {
            count += 1;
            sum += record.ts + record.dur;
            black_box((record.name, record.ph, record.pid, record.tid, record.args.is_some()));
        }
        Ok((count, sum))
    }
}

fn main() {
    // Cargo passes `--bench`; a number is a number of events, any other word a trace to read.
    let argument = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    if let Some(path) = argument.as_deref().filter(|argument| argument.parse::<u64>().is_err()) {
        let bytes = std::fs::metadata(path).expect("a trace").len();
        return measure_ours(Path::new(path), bytes);
    }
    let events = argument.and_then(|count| count.parse().ok()).unwrap_or(DEFAULT_EVENTS);
    for with_args in [false, true] {
        let file = generate(events, with_args);
        let bytes = file.as_file().metadata().expect("a file").len();
        println!(
            "{events} complete events, {} bytes each{}",
            bytes / events,
            if with_args { ", with args" } else { "" }
        );
        measure_ours(file.path(), bytes);
        report("serde_json, typed, from memory", bytes, || {
            let json = std::fs::read(file.path()).expect("read");
            let (count, sum) = serde_json::Deserializer::from_slice(&json).deserialize_seq(Sum).expect("strict JSON");
            black_box(sum);
            count
        });
    }
}

fn measure_ours(path: &Path, bytes: u64) {
    let all = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    for threads in [1, all] {
        report(&format!("longspan, {threads} parsing"), bytes, || {
            let context = ReadContext { threads, ..ReadContext::default() };
            let mut count = Count::default();
            match sniff::open(path, &context).expect("a trace") {
                Reader::Stream(reader) => reader.read(&mut count, &context).expect("read"),
                Reader::Chunks(_) => panic!("Chrome JSON is a stream"),
            }
            black_box((count.batches, count.losses));
            count.events
        });
    }
}

/// Measures `read`, which returns the number of events.
fn report(name: &str, bytes: u64, mut read: impl FnMut() -> u64) {
    let mut best = f64::INFINITY;
    let mut events = 0;
    for _ in 0..RUNS {
        let start = Instant::now();
        events = read();
        best = best.min(start.elapsed().as_secs_f64());
    }
    let (mb, ns) = (bytes as f64 / best / 1e6, best * 1e9 / events.max(1) as f64);
    println!("  {name:32} {mb:7.0} MB/s {ns:6.0} ns an event, {events} events");
}

/// Generates spans as viztracer and others write them: 98 bytes each, nearly sorted.
fn generate(events: u64, with_args: bool) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    let mut text = String::from("[");
    let mut random = 1u64;
    for k in 0..events {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // One in a hundred is late by up to a hundred events.
        let late = if (random >> 50).is_multiple_of(100) { (random >> 30) % 97 } else { 0 };
        let (name, dur_ns) = (random >> 60, (random >> 40) % 9973);
        let ts_ns = 1_700_000_000_000_000 + k * 1013 - late * 1000;
        let comma = if k == 0 { "" } else { ",\n" };
        write!(
            text,
            "{comma}{{\"name\":\"function_{name:02}\",\"cat\":\"app\",\"ph\":\"X\",\"ts\":{}.{:03},\"dur\":{}.{:03},\"pid\":4711,\"tid\":{}",
            ts_ns / 1000,
            ts_ns % 1000,
            dur_ns / 1000,
            dur_ns % 1000,
            4711 + k % 4,
        )
        .expect("memory");
        if with_args {
            write!(text, ",\"args\":{{\"id\":{k},\"path\":\"/srv/{name}\"}}").expect("memory");
        }
        text.push('}');
        if text.len() > 1 << 20 {
            file.write_all(text.as_bytes()).expect("disk");
            text.clear();
        }
    }
    text.push(']');
    file.write_all(text.as_bytes()).expect("disk");
    file
}

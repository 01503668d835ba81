//! Tests of progress while reading, and of cancellation.

use std::fmt::Write as _;
use std::path::Path;

use super::*;
use crate::base::progress::Stage;
use crate::formats::{BatchSink, ReadContext, Reader, sniff};
use crate::model::Batch;

/// Returns spans for several pieces.
fn large_capture() -> String {
    let mut text = String::from("[");
    for k in 0..100_000 {
        let comma = if k == 0 { "" } else { "," };
        write!(text, r#"{comma}{{"name":"s{}","ph":"X","ts":{k},"dur":1,"pid":1,"tid":{}}}"#, k % 9, k % 5)
            .expect("memory");
    }
    text + "]"
}

/// Cancels or fails at the first batch.
struct Stubborn<'a> {
    context: &'a ReadContext,
    fails: bool,
    batches: usize,
}

impl BatchSink for Stubborn<'_> {
    fn accept(&mut self, _: Batch) -> Result<(), ReadError> {
        self.batches += 1;
        if self.fails {
            return Err(ReadError::Sink("disk full".into()));
        }
        self.context.cancel.cancel();
        Ok(())
    }
}

fn read_into(sink: &mut Stubborn<'_>, path: &Path) -> Result<(), ReadError> {
    let context = sink.context;
    match sniff::open(path, context)? {
        Reader::Stream(reader) => reader.read(sink, context),
        Reader::Chunks(_) => panic!("Chrome JSON is a stream"),
    }
}

#[test]
fn a_reading_stops_at_the_next_piece_when_cancelled_and_at_once_when_the_sink_fails() {
    let file = file_of(large_capture().as_bytes());
    let context = super::context(2);
    let mut cancelling = Stubborn { context: &context, fails: false, batches: 0 };
    assert!(matches!(read_into(&mut cancelling, file.path()), Err(ReadError::Cancelled(_))));
    assert_eq!(cancelling.batches, 1);
    let context = super::context(2);
    let mut failing = Stubborn { context: &context, fails: true, batches: 0 };
    let error = read_into(&mut failing, file.path()).expect_err("the sink failed").to_string();
    assert_eq!((error.as_str(), failing.batches), ("disk full", 1));
}

#[test]
fn progress_counts_bytes_of_the_file_and_all_events_and_the_budget_is_given_back() {
    let text = large_capture();
    let packed = zstd::encode_all(text.as_bytes(), 1).expect("memory");
    for bytes in [text.as_bytes(), &packed] {
        let file = file_of(bytes);
        let context = context(3);
        let mut reading = Counting(0);
        match sniff::open(file.path(), &context).expect("a capture") {
            Reader::Stream(reader) => reader.read(&mut reading, &context).expect("read"),
            Reader::Chunks(_) => panic!("Chrome JSON is a stream"),
        }
        let view = context.progress.view();
        assert_eq!((view.stage, view.bytes, view.done), (Stage::Parsing, bytes.len() as u64, bytes.len() as u64));
        assert_eq!((view.total, view.events, reading.0), (bytes.len() as u64, 100_000, 100_000));
        assert!(context.budget.peak_bytes() > 0);
        assert!(context.budget.try_charge(context.budget.limit_bytes(), 1.0).is_some(), "all was given back");
    }
}

/// Counts events: sorting a hundred thousand resolved ones after each batch would take too long.
struct Counting(usize);

impl BatchSink for Counting {
    fn accept(&mut self, batch: Batch) -> Result<(), ReadError> {
        self.0 += batch.chunk.events.len();
        Ok(())
    }
}

//! Traces that another program truncates, overwrites or replaces during the load. The result is a part of the trace, or
//! an error with the position, and no store outlives its trace.

use std::collections::HashSet;
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use longspan::facade::ingest::LoadError;
use longspan::facade::store::LaneKind;

use crate::harness::{Line, Random, files, folder, is_part_of, json_trace, lines, load, native_trace, options};

/// Number of moments at which a trace is changed, spread over the load.
const MOMENTS: u32 = 24;

/// Maximum number of loads that end before the change. On a busy machine many do, since the moments are derived from
/// the duration of earlier loads.
const EARLY_ENDS_MAX: u32 = 10 * MOMENTS;

/// Timeout of a load: far more than any takes.
const TIME_LIMIT: Duration = Duration::from_mins(1);

fn cut(trace: &Path, random: &mut Random) {
    let file = OpenOptions::new().write(true).open(trace).expect("opens");
    let bytes = file.metadata().expect("is there").len();
    file.set_len(random.below(bytes)).expect("cut");
}

fn overwrite(trace: &Path, random: &mut Random) {
    let other = vec![b'7'; random.below(300_000) as usize];
    fs::write(trace, other).expect("overwritten");
}

fn replace(trace: &Path, random: &mut Random) {
    let other = trace.with_extension("other");
    fs::write(&other, vec![b' '; random.below(1000) as usize]).expect("written");
    fs::rename(other, trace).expect("replaced");
}

/// Loads a trace while `change` modifies it, at many moments.
fn change_during_loads(trace: &Path, change: fn(&Path, &mut Random)) {
    let folder = folder();
    let (whole, cache) = (fs::read(trace).expect("readable"), folder.path().join("cache"));
    let began = Instant::now();
    let expected = lines(&load(trace, &options(None)).expect("loads").store);
    let mut shortest = began.elapsed();
    let mut random = Random(7);
    let (mut changed, mut early_ends) = (0, 0);
    while changed < MOMENTS {
        let victim: PathBuf = folder.path().join("victim");
        fs::write(&victim, &whole).expect("written");
        let began = Instant::now();
        let loaded = std::thread::scope(|scope| {
            let loading = scope.spawn(|| load(&victim, &options(Some(&cache))));
            while began.elapsed() < shortest * changed / MOMENTS && !loading.is_finished() {
                std::thread::sleep(Duration::from_micros(100));
            }
            if loading.is_finished() {
                early_ends += 1;
                shortest = shortest.min(began.elapsed());
            } else {
                changed += 1;
            }
            change(&victim, &mut random);
            loading.join().expect("no panic")
        });
        assert!(began.elapsed() < TIME_LIMIT, "a load that hangs");
        match loaded {
            Ok(loaded) => {
                let found = lines(&loaded.store);
                let is_counted = !loaded.store.meta().losses.is_empty();
                // The array of a JSON trace may end after any record.
                let is_part = || is_part_of(&found, &expected);
                assert!(is_counted || is_part(), "{} of {} rows", found.len(), expected.len());
                assert!(is_plausible(&found, &expected), "spans that the trace never had");
            }
            // The error depends on which part of the change is seen first.
            Err(LoadError::Read(error)) => assert!(error.to_string().contains("victim"), "{error}"),
            Err(error) => panic!("{error}"),
        }
        fs::remove_file(&victim).expect("removed");
        assert!(early_ends < EARLY_ENDS_MAX, "only {changed} of the changes came during a load");
    }
    assert!(files(&cache).iter().all(|path| path.extension().is_some_and(|kind| kind == "lsstore")));
}

/// Returns whether every span has the name and start of an original span. Its end may differ.
fn is_plausible(found: &[Line], expected: &[Line]) -> bool {
    let known: HashSet<_> = expected.iter().map(|line| (&line.name, line.start_ns)).collect();
    let spans = found.iter().filter(|line| line.kind == LaneKind::Spans);
    spans.into_iter().all(|line| known.contains(&(&line.name, line.start_ns)))
}

#[test]
fn a_native_trace_may_be_truncated_while_it_is_read() {
    let folder = folder();
    change_during_loads(&native_trace(folder.path(), 20_000), cut);
}

#[test]
fn a_native_trace_may_be_overwritten_while_it_is_read() {
    let folder = folder();
    change_during_loads(&native_trace(folder.path(), 20_000), overwrite);
}

#[test]
fn a_json_trace_may_be_truncated_while_it_is_read() {
    let folder = folder();
    change_during_loads(&json_trace(folder.path(), 20_000), cut);
}

#[test]
fn a_json_trace_may_be_replaced_while_it_is_read() {
    let folder = folder();
    change_during_loads(&json_trace(folder.path(), 20_000), replace);
}

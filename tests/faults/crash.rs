//! Loads that are killed at arbitrary moments: the cache has no store or the right one, and the next load cleans up.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use longspan::facade::store::Store;
use longspan::facade::store::cache::Cache;

use crate::harness::{Random, files, folder, lines, load, longspan, native_trace, options};

const KILLS: u32 = 500;

/// Time limit for kills, since the machine may be busy.
const TIME_LIMIT: Duration = Duration::from_secs(15);

#[test]
fn a_kill_at_any_moment_leaves_the_correct_store_or_none() {
    let folder = folder();
    let (trace, cache) = (native_trace(folder.path(), 3000), folder.path().join("cache"));
    let args = ["info", "--cache", cache.to_str().expect("text"), trace.to_str().expect("text")];
    let expected = lines(&load(&trace, &options(None)).expect("loads").store);
    let began = Instant::now();
    assert!(longspan(&args).output().expect("the program starts").status.success());
    let mut longest_wait = began.elapsed();
    Cache::open(&cache).expect("a cache").clear().expect("cleared");

    let (mut random, mut killed, mut left_building, mut left_store) = (Random(3), 0, 0, 0);
    let began = Instant::now();
    for _ in 0..KILLS {
        let mut child = longspan(&args).spawn().expect("the program starts");
        std::thread::sleep(Duration::from_micros(random.below(longest_wait.as_micros() as u64)));
        child.kill().expect("a child");
        let was_killed = child.wait().expect("a child").code().is_none();
        killed += u32::from(was_killed);
        // With a fixed wait, measured while the machine is busy, nearly all loads would finish once it is idle.
        longest_wait = if was_killed { longest_wait * 21 / 20 } else { longest_wait * 19 / 20 };
        longest_wait = longest_wait.max(Duration::from_micros(1));
        let (stores, buildings): (Vec<_>, Vec<_>) =
            files(&cache).into_iter().partition(|path| path.extension().is_some_and(|kind| kind == "lsstore"));
        assert!(buildings.len() <= 1, "each load removes what the one before has left: {buildings:?}");
        left_building += buildings.len();
        for path in stores {
            assert_eq!(lines(&Arc::new(Store::open(&path).expect("whole"))), expected);
            fs::remove_file(path).expect("removed");
            left_store += 1;
        }
        if began.elapsed() > TIME_LIMIT {
            break;
        }
    }
    assert!(killed > 20 && left_building > 0, "{killed} killed, {left_building} while writing, {left_store} done");
    assert!(longspan(&args).output().expect("the program starts").status.success());
    let stores = files(&cache);
    assert!(stores.len() == 1 && stores[0].extension().is_some_and(|kind| kind == "lsstore"), "{stores:?}");
    assert_eq!(lines(&Arc::new(Store::open(&stores[0]).expect("whole"))), expected);
}

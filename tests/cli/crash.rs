//! Loads that are killed: whatever the moment, the next load answers as if nothing had been.

use std::time::{Duration, Instant};

use crate::harness::{command, folder, longspan, spans_of, text};

/// A few dozen moments, spread over the load.
const KILLS: u32 = 36;

#[test]
fn a_load_that_is_killed_leaves_no_wrong_store() {
    let folder = folder();
    let (cache, file) = (folder.path().join("cache"), folder.path().join("capture.longspan"));
    longspan(&["synth", "-o", text(&file), "--spans", "300000", "--disorder", "0.05"]).done();
    let expected = spans_of(&file);
    let words = ["info", "--cache", text(&cache), text(&file)];
    let clear = || longspan(&["cache", "clear", "--cache", text(&cache)]).done();

    let began = Instant::now();
    longspan(&words).done();
    let load = began.elapsed();
    clear();

    let mut killed = 0;
    for moment in 0..KILLS {
        let mut child = command(&words).spawn().expect("the program starts");
        std::thread::sleep(load * moment / KILLS);
        child.kill().expect("a child");
        killed += u32::from(child.wait().expect("a child").code().is_none());
        if moment % 6 == 5 {
            let answer = longspan(&["spans", "--cache", text(&cache), text(&file)]).done();
            assert!(answer == expected, "after a kill at {:?} of {load:?}", load * moment / KILLS);
            clear();
        }
    }
    assert!(killed > KILLS / 2, "only {killed} loads were killed before their end");

    std::thread::sleep(Duration::from_millis(50));
    clear();
    let left: Vec<_> = cache.read_dir().expect("the cache").map(|entry| entry.expect("readable").path()).collect();
    assert!(left.is_empty(), "abandoned files: {left:?}");
}

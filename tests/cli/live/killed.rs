//! Recordings that are killed.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::{fifo, wait_until};
use crate::harness::{command, folder, longspan, text};

/// Five random moments, or 100 with `LONGSPAN_LONG_TESTS`, also before the first event.
#[test]
fn a_killed_recording_has_all_events_that_were_counted() {
    let folder = folder();
    let (rounds, latest_ms): (u64, u64) =
        if std::env::var_os("LONGSPAN_LONG_TESTS").is_some() { (100, 2000) } else { (5, 300) };
    for round in 0..rounds {
        let (pipe, out) =
            (fifo(folder.path(), &format!("pipe{round}")), folder.path().join(format!("{round}.longspan")));
        let args = ["record", text(&pipe), "-o", text(&out), "--progress", "always"];
        let mut child = command(&args).spawn().expect("it starts");
        let lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let writer = std::thread::spawn(move || {
            let mut file = File::options().write(true).open(pipe).expect("the other end");
            writeln!(file, "[").ok();
            for span in 0..u64::MAX {
                let record = format!("{{\"name\":\"a\",\"ph\":\"X\",\"ts\":{span},\"dur\":1,\"pid\":1,\"tid\":1}},\n");
                if file.write_all(record.as_bytes()).is_err() {
                    return;
                }
                if span % 100 == 0 {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        });
        let counted = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&counted);
        let reader = std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let number = line.strip_prefix("Recording ").and_then(|rest| rest.split(' ').next());
                let scale = if line.contains(" krows,") { 1000.0 } else { 1.0 };
                // The last of three digits is rounded.
                let rows =
                    number.and_then(|number| number.parse().ok()).map_or(0.0, |number: f64| number * scale * 0.99);
                count.fetch_max(rows as usize, Ordering::SeqCst);
            }
        });
        if round % 4 != 3 {
            wait_until(|| counted.load(Ordering::SeqCst) > 0);
        }
        // A random number of the round: the finaliser of SplitMix64.
        let mixed = (round + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_u64);
        let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        std::thread::sleep(Duration::from_millis((mixed ^ mixed >> 27) % latest_ms));
        let counted = counted.load(Ordering::SeqCst);
        child.kill().expect("killed");
        child.wait().expect("a child");
        reader.join().expect("it ends");
        let spool = folder.path().join(format!("{round}.longspan.spool"));
        assert!(!out.exists());
        if counted > 0 {
            let found = longspan(&["spans", text(&spool), "--no-cache"]).done().lines().count() - 1;
            assert!(found >= counted, "round {round}: {found} of {counted}");
            writer.join().expect("it ends");
        }
    }
}

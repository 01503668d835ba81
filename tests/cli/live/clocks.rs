//! Several sources whose clocks differ.

use std::fs::{self, File};
use std::io::Read;
use std::time::Duration;

use super::{fifo, slices};
use crate::harness::{folder, longspan, text, wait};

/// A clock since boot beside the time of day, and two clocks with a common sync.
#[test]
fn sources_are_on_one_clock_as_files_are() {
    let folder = folder();
    let write = |name: &str, text: String| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("written");
        path
    };
    let spans = |first_us: u64| {
        let span = |us| format!(r#"{{"ph":"X","name":"s{us}","pid":1,"tid":1,"ts":{us},"dur":10}}"#);
        (0..5).map(|number| span(first_us + 100 * number)).collect::<Vec<_>>().join(",")
    };
    let since_boot = write(
        "boot.json",
        format!(r#"{{"baseTimeNanoseconds":1795166531000000000,"traceEvents":[{}]}}"#, spans(1_000_000)),
    );
    let call = |number| format!("7 1795166532.{:06} read(3) = 0 <0.000010>\n", 100 * number);
    let of_day = write("day.txt", (0..5).map(call).collect());
    let sync =
        |us: u64| format!(r#"{{"ph":"c","name":"clock_sync","pid":1,"tid":1,"ts":{us},"args":{{"sync_id":"a"}}}}"#);
    let [one, two] = [("one.json", 1000), ("two.json", 6_000_000)]
        .map(|(name, us)| write(name, format!("[{},{}]", sync(us), spans(us + 50))));
    for (pair, is_moved) in [([&since_boot, &of_day], true), ([&one, &two], true), ([&one, &one], false)] {
        let [first, second] = pair.map(|path| text(path));
        let sorted = slices(&longspan(&["dump", first, second, "--no-cache"]).done());
        // The second source begins first.
        let (pipe, out) = (fifo(folder.path(), "pipe"), folder.path().join("out.longspan"));
        for command in [&["tail", "--format", "jsonl"][..], &["record", "--keep", "1GB", "-o", text(&out)]] {
            let args = [command, &[text(&pipe), "-"]].concat();
            let mut child = crate::harness::command(&args);
            let mut child = child.stdin(File::open(second).expect("there")).spawn().expect("it starts");
            std::thread::sleep(Duration::from_millis(100));
            fs::write(&pipe, fs::read(first).expect("there")).expect("read");
            let (mut printed, mut message) = (String::new(), String::new());
            child.stdout.take().expect("a pipe").read_to_string(&mut printed).expect("text");
            child.stderr.take().expect("a pipe").read_to_string(&mut message).expect("text");
            assert_eq!(wait(&mut child, &args), Some(0), "{message}");
            let live =
                if command[0] == "tail" { printed } else { longspan(&["dump", text(&out), "--no-cache"]).done() };
            let mut found = slices(&live);
            found.sort();
            let mut expected = sorted.clone();
            expected.sort();
            assert_eq!(found, expected, "{args:?}");
            assert_eq!(message.contains(" is moved by "), is_moved, "{args:?}: {message}");
        }
        fs::remove_file(&pipe).expect("there");
    }
}

//! Files whose writer overwrites the end of the document with each record, so that it is valid at any time.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::time::Duration;

use super::{interrupt, wait_until};
use crate::harness::{command, folder, spans_of, text, wait};

#[test]
fn a_json_document_whose_end_is_overwritten_is_followed_without_a_gap() {
    for (start, end) in [("[\n", "\n]"), ("{\"traceEvents\":[\n", "\n]}\n")] {
        for filler in [0, 300] {
            let folder = folder();
            let (path, out) = (folder.path().join("growing.json"), folder.path().join("out.longspan"));
            let record = |number: usize| {
                let args = format!(r#""args":{{"filler":"{}"}}"#, "x".repeat(filler));
                format!(r#"{{"ph":"X","name":"n{number}","pid":1,"tid":1,"ts":{number}0,"dur":5,{args}}}"#)
            };
            let mut file = File::create(&path).expect("created");
            write!(file, "{start}{}{end}", record(0)).expect("written");
            let words = ["record", text(&path), "-o", text(&out)];
            let mut child = command(&words).spawn().expect("it starts");
            let spool = folder.path().join("out.longspan.spool");
            let spooled = |record: &str| fs::read_to_string(&spool).is_ok_and(|spool| spool.ends_with(record));
            for number in 1..6 {
                wait_until(|| spooled(&record(number - 1)));
                // The reader is at the end, and checks the modification time of the file.
                std::thread::sleep(Duration::from_millis(120));
                file.seek(SeekFrom::End(-(end.len() as i64))).expect("there");
                write!(file, ",\n{}{end}", record(number)).expect("written");
            }
            wait_until(|| spooled(&record(5)));
            interrupt(&child);
            let mut stderr = String::new();
            child.stderr.take().expect("a pipe").read_to_string(&mut stderr).expect("text");
            assert_eq!(wait(&mut child, &words), Some(0), "{stderr}");
            assert!(stderr.starts_with("longspan: ") && stderr.lines().count() == 1, "only the result: {stderr}");
            assert_eq!(spans_of(&out), spans_of(&path));
            assert_eq!(spans_of(&out).lines().count(), 7);
        }
    }
}

//! Captures in formats that this program does not read, or that lack what a timeline needs:
//! recognised, and refused with advice.

use super::format::{Format, Opener};
use super::input::source::Source;
use super::linux::strace;
use super::{ReadError, Reader};

/// All captures that are recognised and refused.
pub(super) const FORMAT: Format = Format {
    name: "trace to convert",
    sniff: is_unsupported,
    shows: &[],
    opener: Opener::Capture(|source, _| refuse(&source)),
};

/// A format that is recognised and refused.
struct UnsupportedFormat {
    sniff: fn(head: &[u8]) -> bool,
    /// The description in the error.
    found: &'static str,
    /// How to get a capture that can be read.
    advice: &'static str,
}

/// All of them, the most certain first.
const UNSUPPORTED: [UnsupportedFormat; 5] = [
    UnsupportedFormat {
        // Of this and of earlier versions; the layout changes with each.
        sniff: |head| [&b"tr\xfdP"[..], b"tlZ\x04", b"tZst"].iter().any(|magic| head.starts_with(magic)),
        found: "a trace of Tracy",
        advice: "convert it with `tracy-csvexport -u CAPTURE > zones.csv` and open zones.csv",
    },
    UnsupportedFormat {
        sniff: |head| head.starts_with(b"\x17\x08\x44tracing"),
        found: "a trace of trace-cmd",
        advice: "convert it with `trace-cmd report CAPTURE > trace.txt` and open trace.txt",
    },
    UnsupportedFormat {
        sniff: |head| head.starts_with(b"go 1.") && head.get(..16).is_some_and(|head| head.contains(&0)),
        found: "an execution trace of Go",
        advice: "run `go tool trace -http=localhost:6060 CAPTURE`, and save http://localhost:6060/jsontrace as trace.json",
    },
    UnsupportedFormat {
        sniff: |head| head.starts_with(b"FLR\0"),
        found: "a recording of Java's flight recorder",
        advice: "convert it with async-profiler's `jfrconv -o collapsed CAPTURE stacks.txt` and open stacks.txt",
    },
    UnsupportedFormat {
        sniff: strace::looks_like_strace_without_times,
        found: "what strace prints without times",
        advice: "record it again with `strace -f -ttt -T -o trace.txt`",
    },
];

/// Whether a capture is of one of these formats.
fn is_unsupported(head: &[u8]) -> bool {
    UNSUPPORTED.iter().any(|kind| (kind.sniff)(head))
}

/// Fails with the format of a capture and the way to convert it.
fn refuse(source: &Source) -> Result<Reader, ReadError> {
    let kind = UNSUPPORTED.iter().find(|kind| (kind.sniff)(source.head()));
    let found = kind.map_or_else(|| "another".to_owned(), |kind| format!("{}: {}", kind.found, kind.advice));
    let expected = "a trace in a format that Longspan reads".to_owned();
    Err(ReadError::Malformed { path: source.path().to_owned(), offset: 0, expected, found })
}

#[cfg(test)]
mod tests {
    use crate::formats::testing::read_bytes;

    #[test]
    fn captures_of_other_tools_are_refused_with_what_converts_them() {
        for (head, advice) in [
            (&b"tr\xfdP"[..], "tracy-csvexport -u"),
            (b"tlZ\x04", "tracy-csvexport -u"),
            (b"tZst", "tracy-csvexport -u"),
            (b"\x17\x08\x44tracing6\0", "trace-cmd report"),
            (b"go 1.22 trace\0\0\0", "go tool trace"),
            (b"FLR\0\0\x02", "jfrconv"),
            (b"execve(\"/bin/ls\", [\"ls\"], 0x7ff /* 1 var */) = 0\nbrk(NULL) = 0x5\n", "strace -f -ttt -T"),
            (b"16955 execve(\"/bin/ls\", [\"ls\"], 0x7ff /* 1 var */) = 0\n", "strace -f -ttt -T"),
            (b"16949      0.000206 brk(NULL) = 0x5\n", "strace -f -ttt -T"),
        ] {
            let error = read_bytes(&[head, &[b'\n'; 100]].concat()).expect_err("refused").to_string();
            assert!(error.contains(advice), "{error}");
        }
        let error = read_bytes(b"go 1.22 is out, and so is the trace of it\n").expect_err("no capture").to_string();
        assert!(!error.contains("go tool"), "{error}");
    }
}

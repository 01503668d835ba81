//! Which format a capture is in, by its content and not by its name. One table; the first row that fits wins.

use std::path::Path;

use super::source::{Source, excerpt};
use super::{
    ReadContext, ReadError, Reader, chrome_json, collapsed, cpuprofile, firefox, ftrace, fxt, ninja, otlp, perf_data,
    perf_script, perfetto, spall, speedscope, strace, tracy,
};

/// A format that can be read.
#[derive(Debug)]
pub struct Format {
    /// Its name, for a person.
    pub name: &'static str,
    /// Usual endings of its files, for the file dialog.
    pub extensions: &'static [&'static str],
    /// Whether a (decompressed) capture that begins so is probably one.
    pub sniff: fn(head: &[u8]) -> bool,
    /// Opens it. A format that reads by position opens the path anew and leaves the source.
    pub open: fn(source: Source, context: &ReadContext) -> Result<Reader, ReadError>,
}

/// Every format, the most certain first.
pub const FORMATS: &[Format] = &[
    Format {
        name: "Longspan capture",
        extensions: &["longspan"],
        sniff: |head| head.starts_with(&super::native::wire::MAGIC),
        open: |source, context| super::native::read::open(source.path(), context).map(Box::new).map(Reader::Chunks),
    },
    Format {
        name: "OpenTelemetry protobuf",
        extensions: &["otlp", "binpb"],
        sniff: otlp::proto::looks_like_otlp,
        open: |source, _| Ok(otlp::proto::open(source)),
    },
    Format {
        name: "Perfetto",
        extensions: &["pftrace", "perfetto-trace", "perfetto", "pb", "pftrace.gz", "perfetto-trace.gz"],
        sniff: perfetto::packets::looks_like_perfetto,
        open: |source, _| Ok(perfetto::read::open(source)),
    },
    Format {
        name: "Ninja log",
        extensions: &["ninja_log"],
        sniff: ninja::looks_like_ninja_log,
        open: |source, _| Ok(ninja::open(source)),
    },
    Format {
        name: "Spall",
        extensions: &["spall"],
        sniff: spall::read::looks_like_spall,
        open: |source, _| spall::read::open(source),
    },
    Format {
        name: "Tracy",
        extensions: &["tracy"],
        sniff: tracy::looks_like_tracy,
        open: |source, _| tracy::refuse(&source),
    },
    Format {
        name: "Tracy zones",
        extensions: &["csv"],
        sniff: tracy::looks_like_zones,
        open: |source, _| Ok(tracy::open(source)),
    },
    Format {
        name: "strace",
        extensions: &["strace"],
        sniff: strace::looks_like_strace,
        open: |source, _| Ok(strace::open(source)),
    },
    Format {
        name: "ftrace",
        extensions: &["ftrace", "systrace", "html", "txt"],
        sniff: ftrace::looks_like_ftrace,
        open: |source, _| Ok(ftrace::open(source)),
    },
    Format {
        name: "perf.data",
        extensions: &["data", "perf"],
        sniff: perf_data::read::looks_like_perf_data,
        open: |source, _| perf_data::read::open(source),
    },
    Format {
        name: "perf script",
        extensions: &["perf", "txt"],
        sniff: perf_script::looks_like_perf_script,
        open: |source, _| Ok(perf_script::open(source)),
    },
    Format {
        name: "Fuchsia trace",
        extensions: &["fxt"],
        sniff: fxt::read::looks_like_fxt,
        open: |source, _| Ok(fxt::read::open(source)),
    },
    Format {
        name: "OpenTelemetry JSON",
        extensions: &["jsonl", "json", "jsonl.gz"],
        sniff: otlp::json::looks_like_otlp,
        open: |source, _| Ok(otlp::json::open(source)),
    },
    Format {
        name: "Firefox profile",
        extensions: &["json", "json.gz"],
        sniff: firefox::read::looks_like_firefox,
        open: |source, _| Ok(firefox::read::open(source)),
    },
    Format {
        name: "speedscope",
        extensions: &["speedscope.json"],
        sniff: speedscope::looks_like_speedscope,
        open: |source, _| Ok(speedscope::open(source)),
    },
    Format {
        name: "V8 CPU profile",
        extensions: &["cpuprofile"],
        sniff: cpuprofile::looks_like_cpuprofile,
        open: |source, _| Ok(cpuprofile::open(source)),
    },
    Format {
        name: "Chrome JSON",
        extensions: &["json", "json.gz", "json.zst"],
        sniff: looks_like_json,
        open: |source, _| Ok(chrome_json::read::open(source)),
    },
    Format {
        name: "Collapsed stacks",
        extensions: &["collapsed", "folded"],
        sniff: collapsed::looks_like_collapsed,
        open: |source, _| Ok(collapsed::open(source)),
    },
];

/// Opens a capture in whatever known format it is.
///
/// # Errors
/// When it cannot be opened, or begins like no known format.
pub fn open(path: &Path, context: &ReadContext) -> Result<Reader, ReadError> {
    let source = Source::open(path, context)?;
    match format_of(source.head()) {
        Some(format) => (format.open)(source, context),
        None => Err(ReadError::Unrecognised { path: path.to_owned(), found: excerpt(source.head()) }),
    }
}

/// The format that a decompressed capture is in, by its first bytes, up to [`HEAD_BYTES`](super::source::HEAD_BYTES) of them.
#[must_use]
pub fn format_of(head: &[u8]) -> Option<&'static Format> {
    FORMATS.iter().find(|format| (format.sniff)(head))
}

/// An array or object, after a byte order mark and white space perhaps.
pub(super) fn looks_like_json(head: &[u8]) -> bool {
    let head = head.strip_prefix("\u{feff}".as_bytes()).unwrap_or(head);
    matches!(head.trim_ascii_start().first(), Some(b'[' | b'{'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::testing::{data, format_of};

    /// Captures that others wrote, and what they are.
    const CAPTURES: &[(&str, &str)] = &[
        ("chromium.pftrace.gz", "Perfetto"),
        ("ftrace.txt.gz", "ftrace"),
        ("go_trace.json", "Chrome JSON"),
        ("ninja_log.txt", "Ninja log"),
        ("otlp.jsonl.gz", "OpenTelemetry JSON"),
        ("perf.data.gz", "perf.data"),
        ("perf_sched_script.txt.gz", "perf script"),
        ("perf_script.txt.gz", "perf script"),
        ("pyspy_collapsed.txt", "Collapsed stacks"),
        ("pyspy.speedscope.json", "speedscope"),
        ("samply.json.gz", "Firefox profile"),
        ("spall_v3.spall.gz", "Spall"),
        ("strace_ttt.txt.gz", "strace"),
        ("ugly.json", "Chrome JSON"),
    ];

    #[test]
    fn captures_are_recognised_by_their_content_and_by_no_other_row_but_that_of_all_json() {
        for (file, expected) in CAPTURES {
            let path = data(file);
            let source = Source::open(&path, &ReadContext::default()).expect("a file");
            let fits = FORMATS.iter().filter(|format| (format.sniff)(source.head())).map(|format| format.name);
            let (mut fits, json) = (fits.collect::<Vec<_>>(), "Chrome JSON");
            assert_eq!(fits.first(), Some(expected), "{file}");
            fits.retain(|format| *format != json || *expected == json);
            assert_eq!(fits.len(), 1, "{file}: {fits:?}");
        }
    }

    #[test]
    fn what_is_no_capture_is_none() {
        let texts = ["plain text;\nof two lines", "name,count\na,1\n", "a b\n1 2\n", "<svg></svg>", "\n\n", ";;; 1 x"];
        for text in texts {
            assert_eq!(format_of(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(format_of(b"\x7fELF\x02\x01\x01\x00"), None);
    }
}

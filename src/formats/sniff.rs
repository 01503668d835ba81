//! Which format a capture is in, by its content and not by its name. One table; the first row that fits wins.

use std::path::Path;

use super::input::source::{Source, excerpt};
use super::linux::{ftrace, perf_data, perf_script, strace};
use super::multi::archive;
use super::profiles::{collapsed, cpuprofile, firefox, speedscope};
use super::{ReadContext, ReadError, Reader, chrome, fxt, ninja, otlp, perfetto, spall, tracy, unsupported};

/// What a reader makes of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// What runs for a while.
    Spans,
    /// What happens at a time.
    Instants,
    /// Numbers over time.
    Counters,
    /// Arrows from one span to another.
    Flows,
    /// What events carry.
    Arguments,
    /// What CPUs run and threads wait for.
    Scheduling,
    /// Call stacks at a time.
    Samples,
}

impl Shown {
    /// All, in the order of the documentation.
    pub(crate) const ALL: [Self; 7] =
        [Self::Spans, Self::Instants, Self::Counters, Self::Flows, Self::Arguments, Self::Scheduling, Self::Samples];

    /// One word.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Spans => "spans",
            Self::Instants => "instants",
            Self::Counters => "counters",
            Self::Flows => "flows",
            Self::Arguments => "arguments",
            Self::Scheduling => "scheduling",
            Self::Samples => "samples",
        }
    }
}

/// A format that can be read.
#[derive(Debug)]
pub struct Format {
    /// Its name, for a person.
    pub name: &'static str,
    /// Whether a (decompressed) capture that begins so is probably one.
    pub(crate) sniff: fn(head: &[u8]) -> bool,
    /// What of a capture it shows; nothing for those that are refused, or that hold captures.
    pub(crate) shows: &'static [Shown],
    /// Opens it. A format that reads by position opens the path anew and leaves the source.
    pub open: fn(source: Source, context: &ReadContext) -> Result<Reader, ReadError>,
}

use Shown::{Arguments, Counters, Flows, Instants, Samples, Scheduling, Spans};

/// Every format, the most certain first.
pub const FORMATS: &[Format] = &[
    Format {
        name: "Longspan capture",
        sniff: |head| head.starts_with(&super::native::wire::MAGIC),
        shows: &Shown::ALL,
        open: open_native,
    },
    Format {
        name: "zip archive",
        sniff: archive::read::looks_like_zip,
        shows: &[],
        open: |source, _| Ok(archive::read::open_zip(source)),
    },
    Format {
        name: "tar archive",
        sniff: archive::read::looks_like_tar,
        shows: &[],
        open: |source, _| Ok(archive::read::open_tar(source)),
    },
    Format {
        name: "OpenTelemetry protobuf",
        sniff: otlp::proto::looks_like_otlp,
        shows: &[Spans, Instants, Flows, Arguments],
        open: |source, _| Ok(otlp::proto::open(source)),
    },
    Format {
        name: "Perfetto",
        sniff: perfetto::packets::looks_like_perfetto,
        shows: &Shown::ALL,
        open: |source, _| Ok(perfetto::read::open(source)),
    },
    Format {
        name: "Ninja log",
        sniff: ninja::looks_like_ninja_log,
        shows: &[Spans, Arguments],
        open: |source, _| Ok(ninja::open(source)),
    },
    Format {
        name: "Spall",
        sniff: spall::read::looks_like_spall,
        shows: &[Spans, Instants, Arguments],
        open: |source, _| spall::read::open(source),
    },
    Format {
        name: "Tracy zones",
        sniff: tracy::looks_like_zones,
        shows: &[Spans, Arguments],
        open: |source, _| Ok(tracy::open(source)),
    },
    Format {
        name: "strace",
        sniff: strace::looks_like_strace,
        shows: &[Spans, Instants, Arguments],
        open: |source, _| Ok(strace::open(source)),
    },
    Format {
        name: "ftrace",
        sniff: ftrace::looks_like_ftrace,
        shows: &[Spans, Instants, Counters, Arguments, Scheduling],
        open: |source, _| Ok(ftrace::open(source)),
    },
    Format {
        name: "perf.data",
        sniff: perf_data::read::looks_like_perf_data,
        shows: &[Spans, Instants, Arguments, Scheduling, Samples],
        open: |source, _| perf_data::read::open(source),
    },
    Format {
        name: "perf script",
        sniff: perf_script::looks_like_perf_script,
        shows: &[Spans, Instants, Arguments, Scheduling, Samples],
        open: |source, _| Ok(perf_script::open(source)),
    },
    Format {
        name: "Fuchsia trace",
        sniff: fxt::read::looks_like_fxt,
        shows: &[Spans, Instants, Counters, Flows, Arguments, Scheduling],
        open: |source, _| Ok(fxt::read::open(source)),
    },
    Format {
        name: "OpenTelemetry JSON",
        sniff: otlp::json::looks_like_otlp,
        shows: &[Spans, Instants, Flows, Arguments],
        open: otlp::json::open,
    },
    Format {
        name: "Firefox profile",
        sniff: firefox::read::looks_like_firefox,
        shows: &[Spans, Instants, Counters, Arguments, Samples],
        open: |source, _| Ok(firefox::read::open(source)),
    },
    Format {
        name: "speedscope",
        sniff: speedscope::looks_like_speedscope,
        shows: &[Spans],
        open: |source, _| Ok(speedscope::open(source)),
    },
    Format {
        name: "V8 CPU profile",
        sniff: cpuprofile::looks_like_cpuprofile,
        shows: &[Samples],
        open: |source, _| Ok(cpuprofile::open(source)),
    },
    Format {
        name: "Chrome JSON",
        sniff: looks_like_json,
        shows: &[Spans, Instants, Counters, Flows, Arguments, Samples],
        open: |source, _| Ok(chrome::read::open(source)),
    },
    Format {
        name: "Collapsed stacks",
        sniff: collapsed::looks_like_collapsed,
        shows: &[Spans],
        open: |source, _| Ok(collapsed::open(source)),
    },
    Format {
        name: "capture to convert",
        sniff: unsupported::is_elsewhere,
        shows: &[],
        open: |source, _| unsupported::refuse(&source),
    },
];

impl Format {
    /// Whether it holds captures rather than being one.
    #[must_use]
    pub fn is_archive(&self) -> bool {
        self.name.ends_with(" archive")
    }
}

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

/// The format that a decompressed capture is in, by its first bytes, up to [`HEAD_BYTES`](super::input::source::HEAD_BYTES) of them.
#[must_use]
pub fn format_of(head: &[u8]) -> Option<&'static Format> {
    FORMATS.iter().find(|format| (format.sniff)(head))
}

/// What captures may be in, for those who have one that is in none of it.
#[must_use]
pub(crate) fn names() -> String {
    let names: Vec<&str> = FORMATS.iter().filter(|format| !format.shows.is_empty()).map(|format| format.name).collect();
    names.join(", ")
}

/// A native capture is read by position: one that is compressed as a whole is unpacked to a file first.
fn open_native(source: Source, context: &ReadContext) -> Result<Reader, ReadError> {
    let path = source.path().to_owned();
    let unpacked = if source.is_packed() { Some(archive::unpacked_to_file(source, context)?) } else { None };
    // The file has no name any more once it is open.
    let bytes = unpacked.as_ref().map_or(path.as_path(), |file| file.path());
    super::native::read::open_unpacked(bytes, &path, context).map(Box::new).map(Reader::Chunks)
}

/// Whether there is a key of this name: a text with a colon behind it. The same text may be a name in any document.
pub(super) fn has_key(head: &[u8], key: &str) -> bool {
    let quoted = format!("\"{key}\"");
    let mut found = memchr::memmem::find_iter(head, quoted.as_bytes());
    found.any(|at| head[at + quoted.len()..].trim_ascii_start().starts_with(b":"))
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
        ("perf_calls.data.gz", "perf.data"),
        ("perf_calls_script.txt.gz", "perf script"),
        ("perf_raw_calls.data.gz", "perf.data"),
        ("perf_raw_calls_script.txt.gz", "perf script"),
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
    fn names_that_are_keys_of_other_formats_mislead_nobody() {
        let profile = r#"{"nodes":[{"id":1,"callFrame":{"functionName":"ph"}},{"id":2,"callFrame":{"functionName":"traceEvents"}}]"#;
        assert_eq!(format_of(profile.as_bytes()), Some("V8 CPU profile"));
        let trace = r#"[{"name":"speedscope","ph":"B"},{"name":"\"nodes\" \"callFrame\" \"functionName\""}]"#;
        assert_eq!(format_of(trace.as_bytes()), Some("Chrome JSON"));
        let profiles = r#"{"exporter":"speedscope@1.2","name":"\"ph\" \"traceEvents\"","profiles":[{"name":"ph"}"#;
        assert_eq!(format_of(profiles.as_bytes()), Some("speedscope"));
        let firefox = r#"{"meta":{"interval":1,"startTime":0},"threads":[{"name":"traceEvents"}"#;
        assert_eq!(format_of(firefox.as_bytes()), Some("Firefox profile"));
    }

    #[test]
    fn what_is_no_capture_is_none() {
        let texts = ["plain text;\nof two lines", "name,count\na,1\n", "a b\n1 2\n", "<svg></svg>", "\n\n", ";;; 1 x"];
        for text in texts {
            assert_eq!(format_of(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(format_of(b"\x7fELF\x02\x01\x01\x00"), None);
    }

    #[test]
    fn the_documentation_has_the_table_of_formats() {
        let row = |format: &Format| {
            let mark = |shown: &Shown| if format.shows.contains(shown) { " x |" } else { " |" };
            format!("| {} |{}\n", format.name, Shown::ALL.iter().map(mark).collect::<String>())
        };
        let labels = Shown::ALL.map(Shown::label).join(" | ");
        let head = format!("| format | {labels} |\n|---|{}\n", "---|".repeat(Shown::ALL.len()));
        let rows = FORMATS.iter().filter(|format| !format.shows.is_empty()).map(row);
        let table = rows.fold(head, |table, row| table + &row);
        let readme = include_str!("../../README.md");
        assert!(readme.contains(&table), "README.md should have:\n{table}");
    }
}

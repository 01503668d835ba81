//! Detects the format of a trace by its content, not by its name: the first matching row of a table wins. A new format
//! needs its `mod` line and its row in [`FORMATS`].

mod guess;

use std::path::Path;

use super::format::{Format, Opener, recognise, recognise_source};
use super::input::source::{Source, excerpt};
use super::record_check::{RecordKind, checked};
use super::{ReadContext, ReadError, Reader, unsupported};
use crate::base::files::FileKind;
use crate::model::SourceFile;

/// All formats, the most specific first.
pub const FORMATS: &[Format] = &[
    super::native::FORMAT,
    super::multi::archive::ZIP,
    super::multi::archive::TAR,
    super::unsupported::FORMAT,
    super::otlp::proto::FORMAT,
    super::perfetto::FORMAT,
    super::profiles::pprof::FORMAT,
    super::ninja::FORMAT,
    super::cargo_timings::FORMAT,
    super::spall::FORMAT,
    super::tracy::FORMAT,
    super::linux::strace::FORMAT,
    super::page::FORMAT,
    super::linux::babeltrace::FORMAT,
    super::linux::perf_data::FORMAT,
    super::linux::perf_script::FORMAT,
    super::linux::perf_json::FORMAT,
    super::linux::uftrace::FORMAT,
    super::fxt::FORMAT,
    super::otlp::json::FORMAT,
    super::requests::zipkin::FORMAT,
    super::requests::jaeger::FORMAT,
    super::requests::next_js::FORMAT,
    super::requests::har::FORMAT,
    super::requests::playwright::FORMAT,
    super::profiles::firefox::FORMAT,
    super::profiles::speedscope::FORMAT,
    super::profiles::cpuprofile::FORMAT,
    super::profiles::heap_profile::FORMAT,
    super::chrome::FORMAT,
    super::profiles::austin::FORMAT,
    super::profiles::xdebug::FORMAT,
    super::profiles::callgrind::FORMAT,
    super::profiles::collapsed::FORMAT,
    super::unsupported::LATE_FORMAT,
];

/// Opens a trace in any known format.
///
/// # Errors
/// If it cannot be opened, or if its format is not recognised.
pub fn open(path: &Path, context: &ReadContext) -> Result<Reader, ReadError> {
    let mut source = match Source::open(path, context) {
        Err(error @ ReadError::NotAFile { kind: FileKind::Folder, .. }) => {
            if let Some(info) = super::linux::uftrace::info_file(path) {
                return open(&info, context);
            }
            let is_trace = |head: &[u8]| recognise(FORMATS, head).is_some();
            return Err(unsupported::folder(path, is_trace).unwrap_or(error));
        }
        source => source?,
    };
    if let Some(format) = recognise_source(FORMATS, &mut source)? {
        open_as(format, source, context)
    } else if let Some(error) = unsupported::by_name(path) {
        Err(error)
    } else if super::multi::archive::is_empty_tar(&mut source)? {
        Err(super::multi::archive::empty_archive(path))
    } else {
        let (found, guess, supported) = (excerpt(source.head()), guess::sentence(path), names());
        Err(ReadError::Unrecognised { path: path.to_owned(), found, guess, supported })
    }
}

/// Returns whether the beginning of a trace, in a file, has no supported format, however it continues: it must be
/// longer than any head that a format is recognised by. False if it cannot be read.
pub(crate) fn is_refused(beginning: &Path) -> bool {
    let source = Source::open(beginning, &ReadContext::default());
    let format = source.and_then(|mut source| recognise_source(FORMATS, &mut source));
    format.is_ok_and(|format| format.is_none_or(|format| format.shows.is_empty() && !format.is_archive()))
}

/// Returns the name of the format of a file or a folder; `None` if it cannot be read again, such as a pipe.
pub(crate) fn format_name(path: &Path) -> Option<&'static str> {
    let path = super::linux::uftrace::info_file(path).unwrap_or_else(|| path.to_owned());
    // Opening a pipe would wait for its other end.
    std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file)?;
    let mut source = Source::open(&path, &ReadContext::default()).ok()?;
    recognise_source(FORMATS, &mut source).ok()?.map(|format| format.name)
}

/// Returns whether a file is a profile whose frames may have both a name and an address; see
/// [`ReadContext::code_addresses`]. False if it cannot be read again.
pub(crate) fn has_code_addresses(file: &SourceFile) -> bool {
    !file.input.is_open_file() && format_name(file.path()) == Some(super::profiles::pprof::FORMAT.name)
}

/// Returns whether the weights of a file have a unit, so that none can be given. False if its format is unknown, as of
/// an archive, or if it cannot be read again.
pub(crate) fn has_own_units(file: &SourceFile) -> bool {
    let name = if file.input.is_open_file() { None } else { format_name(file.path()) };
    name.is_some_and(|name| name != super::profiles::collapsed::FORMAT.name)
}

/// Returns whether a folder is a trace.
#[must_use]
pub(crate) fn is_trace_folder(folder: &Path) -> bool {
    super::linux::uftrace::info_file(folder).is_some()
}

/// Opens a trace in this format, even if another format is detected.
///
/// # Errors
/// As the format refuses input.
pub fn open_as(format: &Format, source: Source, context: &ReadContext) -> Result<Reader, ReadError> {
    let (path, end) = (source.path().to_owned(), source.packed_end());
    let mut reader = match format.opener {
        Opener::Trace(open) => open(source, context)?,
        Opener::Archive(open) => open(source, FORMATS),
    };
    if let Some(end) = end {
        reader = end.counted_by(reader);
    }
    Ok(checked(reader, path, RecordKind::new(format)))
}

/// Detects the format of decompressed data by its first bytes, up to [`HEAD_BYTES`](super::input::source::HEAD_BYTES).
#[must_use]
pub fn format_of(head: &[u8]) -> Option<&'static Format> {
    recognise(FORMATS, head)
}

/// Returns the names of all supported formats, for the error about an unrecognised format.
#[must_use]
pub(crate) fn names() -> String {
    let names: Vec<&str> = FORMATS.iter().filter(|format| !format.shows.is_empty()).map(|format| format.name).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::generated_docs::assert_generated;
    use crate::formats::format::DataKind;
    use crate::formats::testing::{data, format_of};

    /// Recorded traces and their formats.
    const CAPTURES: &[(&str, &str)] = &[
        ("babeltrace.txt.gz", "babeltrace"),
        ("cargo_timing.html.gz", "Cargo timings"),
        ("chromium.pftrace.gz", "Perfetto"),
        ("ftrace.txt.gz", "ftrace"),
        ("go_trace.json", "Chrome JSON"),
        ("nested_tracks.pftrace.gz", "Perfetto"),
        ("ninja_log.txt", "Ninja log"),
        ("otlp.jsonl.gz", "OpenTelemetry JSON"),
        ("perf.data.gz", "perf.data"),
        ("perf_calls.data.gz", "perf.data"),
        ("perf_calls_script.txt.gz", "perf script"),
        ("perf_dwarf.data.gz", "perf.data"),
        ("perf_events.json.gz", "perf JSON"),
        ("perf_raw_calls.data.gz", "perf.data"),
        ("perf_raw_calls_script.txt.gz", "perf script"),
        ("perf_sched_script.txt.gz", "perf script"),
        ("perf_script.txt.gz", "perf script"),
        ("perf_switch_events.data.gz", "perf.data"),
        ("perf_switch_events_script.txt.gz", "perf script"),
        ("pyspy_collapsed.txt", "Collapsed stacks"),
        ("pyspy.speedscope.json", "speedscope"),
        ("samply.json.gz", "Firefox profile"),
        ("spall_v3.spall.gz", "Spall"),
        ("strace_ttt.txt.gz", "strace"),
        ("uftrace/info", "uftrace"),
        ("ugly.json", "Chrome JSON"),
        ("people/pw.har", "HAR"),
        ("people/next-trace", "Next.js trace"),
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
    fn names_that_are_keys_of_other_formats_do_not_mislead() {
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
    fn other_files_have_no_format() {
        let texts = ["plain text;\nof two lines", "name,count\na,1\n", "a b\n1 2\n", "\n\n", ";;; 1 x"];
        for text in texts {
            assert_eq!(format_of(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(format_of(b"\x01\x02\x01\x00"), None);
    }

    #[test]
    fn formats_in_the_docs_are_those_of_the_table() {
        let row = |format: &Format| {
            let mark = |kind: &DataKind| if format.shows.contains(kind) { " x |" } else { " |" };
            format!("| {} |{}\n", format.name, DataKind::ALL.iter().map(mark).collect::<String>())
        };
        let labels = DataKind::ALL.map(DataKind::label).join(" | ");
        let head = format!("| format | {labels} |\n|---|{}\n", "---|".repeat(DataKind::ALL.len()));
        let rows = FORMATS.iter().filter(|format| !format.shows.is_empty()).map(row);
        let table = rows.fold(head, |table, row| table + &row);
        assert_generated("formats.md", "the table of formats", &table);
    }
}

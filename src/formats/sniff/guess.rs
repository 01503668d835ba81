//! The format that the name of an unrecognised file implies. It distinguishes a damaged or wrapped trace from an
//! unrelated file.

use std::path::Path;

/// A file name ending, its format, and the first bytes of the format.
struct PromisedFormat {
    ending: &'static str,
    format: &'static str,
    beginning: &'static str,
}

const fn named(ending: &'static str, format: &'static str, beginning: &'static str) -> PromisedFormat {
    PromisedFormat { ending, format, beginning }
}

/// File name endings and their formats; the first match counts.
const NAMED: &[PromisedFormat] = &[
    named(".longspan", "Longspan trace", "byte 89 and \"SPAN\""),
    named(".pftrace", "Perfetto", "byte 0a"),
    named(".perfetto-trace", "Perfetto", "byte 0a"),
    named("perf.data", "perf.data", "\"PERFILE2\""),
    named(".cpuprofile", "V8 CPU profile", "{"),
    named(".har", "HAR", "{"),
    named(".jsonl", "OpenTelemetry JSON", "{"),
    named(".json", "Chrome JSON", "[ or {"),
    named(".fxt", "Fuchsia trace", "bytes 10 00 04 46"),
    named(".spall", "Spall", "bytes 0d f0 ad"),
    named(".ninja_log", "Ninja log", "\"# ninja log\""),
    named(".pprof", "pprof", "byte 0a, or gzip's 1f 8b"),
];

/// Endings of compressed files that are unpacked before detection.
const UNPACKED: [&str; 3] = [".gz", ".zst", ".bz2"];

/// Returns a sentence about the format that a file name implies; empty if it implies none.
pub(super) fn sentence(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let name = UNPACKED.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name);
    let Some(PromisedFormat { format, beginning, .. }) = NAMED.iter().find(|row| name.ends_with(row.ending)) else {
        return String::new();
    };
    format!(
        " Its name suggests the format {format}, which begins with {beginning}: the file may be damaged or incomplete."
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::sniff::FORMATS;

    #[test]
    fn the_name_of_a_file_promises_a_format_that_is_read_also_where_it_is_compressed() {
        assert!(sentence(Path::new("/tmp/A.JSON.gz")).contains("Chrome JSON"));
        assert!(sentence(Path::new("x.pftrace")).contains("Perfetto"));
        assert!(sentence(Path::new("my-perf.data")).contains("perf.data"));
        assert!(sentence(Path::new("a.json.zst")).contains("Chrome JSON"));
        assert!(sentence(Path::new("a.json.bz2")).contains("Chrome JSON"));
        // xz and lz4 are not unpacked, so the name implies nothing.
        assert_eq!(["a.json.xz", "a.json.lz4"].map(|name| sentence(Path::new(name))), ["", ""]);
        assert_eq!(sentence(Path::new("notes.txt")), "");
        assert_eq!(sentence(Path::new("json")), "");
        assert_eq!(sentence(Path::new("/")), "");
    }

    #[test]
    fn each_format_of_the_table_is_one_that_is_read() {
        for row in NAMED {
            assert!(FORMATS.iter().any(|format| format.name == row.format), "{}", row.format);
        }
    }
}

//! Formats that can be read from a live stream, and their detection by the first bytes. Refuses formats that are read
//! by position or as a whole document.

use super::error::ReadError;
use super::format::{ArrivalKey, Format, Opener};
use super::input::decompress::Compression;
use super::input::source::{HEAD_BYTES, LONG_HEAD_BYTES, Source, excerpt, is_text};
use super::json::sniff::has_chrome_events;
use super::linux::perf_data::{self, is_pipe_mode};
use super::reader::{ReadContext, Reader, StreamReader};
use super::sniff::{FORMATS, format_of};
use super::unsupported::is_compressed;

/// A format that can be followed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LiveFormat {
    pub(crate) format: &'static Format,
    pub(crate) key: ArrivalKey,
}

impl LiveFormat {
    fn new(format: &'static Format) -> Option<Self> {
        Some(Self { format, key: format.live? })
    }
}

/// Number of bytes that suffice to detect a binary format.
const BINARY_BYTES: usize = 32;

/// State of a stream after its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamState {
    /// The source is open, and more bytes are arriving.
    Flowing,
    /// The source is open, but no bytes have arrived for a while.
    Quiet,
    Ended,
}

/// Why a stream cannot be followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotLive {
    #[error("compressed data cannot be followed: decompress it before the pipe, for example with `zcat -f` or `xzcat`")]
    Compressed,
    #[error(
        "{format} is read as a whole and cannot be followed: {}. Formats that can be followed: {}",
        instead_of(format),
        live_names()
    )]
    Whole { format: &'static str },
    #[error("unrecognised format: it begins with {found}. Formats that can be followed: {}", live_names())]
    Unrecognised { found: String },
}

/// Returns the advice for a format that is read as a whole.
fn instead_of(format: &str) -> &'static str {
    match format {
        "perf.data" => "record with `perf record -o -` into a pipe, or open the file when it is finished",
        _ => "write it to a file, and open that when it is finished",
    }
}

fn live_names() -> String {
    FORMATS.iter().filter_map(LiveFormat::new).map(|live| live.format.name).collect::<Vec<_>>().join(", ")
}

/// Detects the format of a stream; returns `None` if more bytes are needed. As in files, the first record of a text may
/// begin within [`LONG_HEAD_BYTES`].
pub(crate) fn recognise_live(head: &[u8], state: StreamState) -> Option<Result<LiveFormat, NotLive>> {
    let has_head = head.len() >= HEAD_BYTES || state == StreamState::Ended;
    if !has_head && (state == StreamState::Flowing || !has_first_record(head)) {
        return None;
    }
    if Compression::detect(head).is_some() || is_compressed(head) {
        return Some(Err(NotLive::Compressed));
    }
    let is_full = state == StreamState::Ended || head.len() >= head_limit(head);
    let first = &head[..head.len().min(HEAD_BYTES)];
    // A truncated line may look like another format.
    let whole_lines = memchr::memrchr(b'\n', head).map_or(head, |end| &head[..=end]);
    // JSON of any kind may have the keys of another format further on.
    let is_certain = |format: &Format, part: &[u8]| {
        format.name != Format::ANY_JSON || has_chrome_events(part) || is_full || !has_head
    };
    let of_part = |part: &[u8]| format_of(part).filter(|format| is_certain(format, part));
    let format = if has_head || is_binary(head) {
        of_part(first).or_else(|| of_part(whole_lines)).or_else(|| of_part(head).filter(|_| is_full))
    } else {
        of_part(whole_lines)
    };
    match format {
        Some(format) => {
            let is_file = format.name == perf_data::FORMAT.name && !is_pipe_mode(head);
            let live = LiveFormat::new(format).filter(|_| !is_file);
            Some(live.ok_or(NotLive::Whole { format: format.name }))
        }
        None if is_full => Some(Err(NotLive::Unrecognised { found: excerpt(head) })),
        None => None,
    }
}

/// Returns the number of bytes by which the format of a stream is detected at the latest.
pub(crate) fn head_limit(head: &[u8]) -> usize {
    if is_text(head) { LONG_HEAD_BYTES } else { HEAD_BYTES }
}

/// Returns whether the head suffices to detect the format if nothing more arrives for now.
fn has_first_record(head: &[u8]) -> bool {
    // Tracers open an array, and write the first event much later.
    head.contains(&b'\n') || head.trim_ascii_start().starts_with(b"[") || is_binary(head) && head.len() >= BINARY_BYTES
}

fn is_binary(head: &[u8]) -> bool {
    head.iter().take(BINARY_BYTES).any(|&byte| byte < b' ' && !byte.is_ascii_whitespace() && byte != 0x1b)
}

/// Creates the reader of a live source.
///
/// # Errors
/// If the format refuses the input.
pub(crate) fn open_live(
    live: LiveFormat,
    source: Source,
    context: &ReadContext,
) -> Result<Box<dyn StreamReader>, ReadError> {
    let path = source.path().to_owned();
    let reader = match live.format.opener {
        Opener::Trace(open) => open(source, context)?,
        Opener::Archive(open) => open(source, &[]),
    };
    match reader {
        Reader::Stream(reader) => Ok(reader),
        Reader::Chunks(_) => Err(ReadError::malformed(path, 0, "a format of streams", live.format.name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(head: &[u8], state: StreamState) -> Option<Result<&'static str, NotLive>> {
        recognise_live(head, state).map(|found| found.map(|live| live.format.name))
    }

    #[test]
    fn a_first_record_after_a_long_beginning_is_recognised_as_in_files() {
        use StreamState::{Ended, Flowing, Quiet};
        let sample = "a 8 5.000001: cycles: \n";
        for lines in [100, 1200] {
            let beginning = "# This line belongs to the beginning of the file.\n".repeat(lines);
            let long = format!("{beginning}{sample}");
            assert!(long.len() > HEAD_BYTES && long.len() < LONG_HEAD_BYTES);
            for state in [Flowing, Quiet, Ended] {
                assert_eq!(name(long.as_bytes(), state), Some(Ok("perf script")), "{lines} {state:?}");
                let partly = name(&long.as_bytes()[..beginning.len() + 5], state);
                assert_eq!(partly.is_none(), state != Ended, "half a record {lines} {state:?}");
            }
            assert_eq!([Flowing, Quiet].map(|state| name(beginning.as_bytes(), state)), [None, None]);
        }
        // The keys of Chrome's events may follow others.
        let object = format!("{{\"metadata\":\"{}\",", "x".repeat(6000));
        assert_eq!(name(object.as_bytes(), Flowing), None);
        let events = format!("{object}\"traceEvents\":[{{\"ph\":\"i\",\"ts\":1}},\n");
        assert_eq!(name(events.as_bytes(), Flowing), Some(Ok("Chrome JSON")));
    }

    #[test]
    fn a_stream_is_recognised_by_its_first_record_once_nothing_more_comes() {
        use StreamState::{Ended, Flowing, Quiet};
        let call = b"7 1795166531.000001 getpid() = 7\n";
        assert_eq!(name(call, Flowing), None, "more is coming");
        assert_eq!(name(call, Quiet), Some(Ok("strace")));
        assert_eq!(name(&call[..20], Quiet), None, "half a line");
        assert_eq!(name(&[&call[..], b"7 17951"].concat(), Quiet), Some(Ok("strace")));
        assert_eq!(name(b"[", Quiet), Some(Ok("Chrome JSON")));
        assert_eq!(name(b"{\"resource", Quiet), None);
        assert_eq!(name(b"{\"resourceSpans\":[]}\n", Quiet), Some(Ok("OpenTelemetry JSON")));
        assert_eq!(name(b"plain text\n", Quiet), None, "a tool may say something first");
        assert!(matches!(name(b"plain text\n", Ended), Some(Err(NotLive::Unrecognised { .. }))));
        assert!(name(&[b'x'; HEAD_BYTES], Flowing).is_none(), "a record may follow");
        assert!(matches!(name(&[1; HEAD_BYTES], Flowing), Some(Err(NotLive::Unrecognised { .. }))));
        assert!(matches!(name(&vec![b'x'; LONG_HEAD_BYTES], Flowing), Some(Err(NotLive::Unrecognised { .. }))));
        for packed in [&b"\x1f\x8b\x08\0\0\0\0\0\0\x03abc"[..], b"\xfd7zXZ\0\0\x04", b"BZh91AY&SY"] {
            assert_eq!(name(packed, Ended), Some(Err(NotLive::Compressed)));
        }
        let perf = [&b"PERFILE2"[..], &[0x68], &[0; 90]].concat();
        let said = match recognise_live(&perf, Ended) {
            Some(Err(why)) => why.to_string(),
            other => panic!("{other:?}"),
        };
        assert!(said.contains("`perf record -o -`"), "{said}");
        let pipe = [&b"PERFILE2"[..], &[16], &[0; 90]].concat();
        assert_eq!(name(&pipe, Quiet), Some(Ok("perf.data")));
        let profile = br#"{"nodes":[{"id":1,"callFrame":{"functionName":"a"}}]}"#;
        assert_eq!(name(profile, Ended), Some(Err(NotLive::Whole { format: "V8 CPU profile" })));
    }
}

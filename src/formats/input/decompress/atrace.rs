//! The output of `atrace -z`: lines of text, then zlib data, into which a terminal may have inserted carriage returns.

use std::io::{self, BufRead, BufReader, Read};

use super::FailedRead;

/// Number of leading bytes that identify the output: `atrace` may print several warnings first.
pub(super) const ATRACE_BYTES: usize = 1024;

/// Beginnings of the output of `atrace`. The last are errors before its status.
const ATRACE_BEGINNINGS: [&[u8]; 7] =
    [b"TRACE:", b"capturing trace", b"error ", b"unable to ", b"Unable to ", b"warning: ", b"WARNING: "];

/// Number of bytes of its data in which line feeds are looked for.
const ATRACE_DATA_BYTES: usize = 64 << 10;

/// Returns whether bytes begin like such output.
pub(super) fn begins_like_atrace(head: &[u8]) -> bool {
    ATRACE_BEGINNINGS.iter().any(|begin| head.starts_with(begin))
}

/// Returns the length of the lines before the zlib data of `atrace -z`: `TRACE:`, optionally preceded by errors and a
/// status line, and followed by warnings.
pub(super) fn atrace_lines(head: &[u8]) -> Option<usize> {
    let head = &head[..head.len().min(ATRACE_BYTES)];
    let begin = memchr::memmem::find(head, ATRACE_BEGINNINGS[0]).filter(|_| begins_like_atrace(head))?;
    if !is_printable(&head[..begin]) {
        return None;
    }
    let rest = &head[begin + ATRACE_BEGINNINGS[0].len()..];
    let mut rest = rest.strip_prefix(b"\r").unwrap_or(rest).strip_prefix(b"\n")?;
    // The zlib header: the first byte, and a second one that makes both a multiple of 31.
    while !matches!(rest, [0x78, 0x01 | 0x5e | 0x9c | 0xda, ..]) {
        let (line, next) = rest.split_at(memchr::memchr(b'\n', rest)? + 1);
        if !is_printable(line) {
            return None;
        }
        rest = next;
    }
    Some(head.len() - rest.len())
}

fn is_printable(text: &[u8]) -> bool {
    text.iter().all(|&byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
}

/// Removes the carriage returns that a terminal inserted before each line feed of binary data. Leaves data as it is in
/// which a line feed follows another byte.
pub(super) fn without_inserted_returns(
    mut packed: Box<dyn BufRead + Send>,
    block_bytes: usize,
) -> Box<dyn BufRead + Send> {
    let mut head = Vec::new();
    // A read error before the end is repeated after these bytes.
    let error = packed.by_ref().take(ATRACE_DATA_BYTES as u64).read_to_end(&mut head).err();
    let mut feeds = memchr::memchr_iter(b'\n', &head).peekable();
    let has_inserted =
        feeds.peek().is_some() && feeds.all(|at| at.checked_sub(1).is_some_and(|before| head[before] == b'\r'));
    let chained = io::Cursor::new(head).chain(BufReader::with_capacity(1, FailedRead(error))).chain(packed);
    if has_inserted {
        let without = WithoutReturns { packed: chained, has_return: false };
        Box::new(BufReader::with_capacity(block_bytes, without))
    } else {
        Box::new(chained)
    }
}

/// Reads bytes without the carriage return before each line feed.
struct WithoutReturns<R> {
    packed: R,
    /// Whether the last byte was a carriage return, which is not read yet.
    has_return: bool,
}

impl<R: BufRead> Read for WithoutReturns<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut len = 0;
        while len < buffer.len() {
            let unread = match self.packed.fill_buf() {
                Ok(unread) => unread,
                Err(_) if len > 0 => break,
                Err(error) => return Err(error),
            };
            if std::mem::take(&mut self.has_return) && unread.first() != Some(&b'\n') {
                buffer[len] = b'\r';
                len += 1;
                continue;
            }
            if unread.is_empty() {
                break;
            }
            let part = &unread[..unread.len().min(buffer.len() - len)];
            let plain = memchr::memchr(b'\r', part).unwrap_or(part.len());
            buffer[len..len + plain].copy_from_slice(&part[..plain]);
            len += plain;
            self.has_return = plain < part.len();
            self.packed.consume(plain + usize::from(self.has_return));
        }
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::ReadContext;
    use crate::formats::input::source::Source;
    use crate::formats::testing::file_of;

    /// Returns what a file unpacks to, and whether its data ended early.
    fn unpack(packed: &[u8]) -> (Vec<u8>, bool) {
        let file = file_of(packed);
        let mut source = Source::open(file.path(), &ReadContext::default()).expect("a file");
        let mut found = Vec::new();
        source.read_to_end(&mut found).expect("read");
        (found, source.cut_at().is_some())
    }

    #[test]
    fn carriage_returns_that_a_terminal_inserted_into_data_of_atrace_are_removed() {
        let text: String = (0..20_000).map(|number| (number * 7919 % 20_011).to_string() + "\r\r\n").collect();
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        io::Write::write_all(&mut zlib, text.as_bytes()).expect("in memory");
        let mut data = b"capturing trace... done\nTRACE:\n".to_vec();
        data.extend(zlib.finish().expect("in memory"));
        let harmed: Vec<u8> =
            data.iter().flat_map(|&byte| if byte == b'\n' { vec![b'\r', b'\n'] } else { vec![byte] }).collect();
        // Only the lines have other ends.
        let mut lines_only = b"capturing trace... done\r\nTRACE:\r\n".to_vec();
        lines_only.extend_from_slice(&data[b"capturing trace... done\nTRACE:\n".len()..]);
        for packed in [&data, &harmed, &lines_only] {
            let (found, is_cut) = unpack(packed);
            assert!(found == text.as_bytes() && !is_cut, "{} of {} bytes", found.len(), text.len());
        }
        assert!(harmed.len() > data.len() + 50);
        for len in [harmed.len() / 2, harmed.len() - 1] {
            assert!(unpack(&harmed[..len]).1, "{len}");
        }
    }

    #[test]
    fn errors_before_the_status_of_atrace_are_not_data() {
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        io::Write::write_all(&mut zlib, b"a\n").expect("in memory");
        let zlib = zlib.finish().expect("in memory");
        let errors = b"error opening /sys/kernel/tracing/x: No such file or directory (2)\nunable to start tracing\n";
        let lines = [&errors[..], b"capturing trace... done\nTRACE:\n"].concat();
        assert_eq!(unpack(&[&lines[..], &zlib].concat()), (b"a\n".to_vec(), false));
        let text = [&lines[..], b"# tracer: nop\n"].concat();
        assert_eq!(unpack(&text), (text, false), "not compressed");
    }
}

//! A minimal HTTP/1.1 server for requests of exporters on one connection. Every read has a deadline and a limit: a head
//! of 16 KiB within seconds, and a body, compressed or not, within the memory limit. Other protocols are refused with a
//! message. Independent of traces.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use flate2::read::MultiGzDecoder;

use crate::base::cancel::Cancel;

/// Limit for the bytes of a request's head.
const HEAD_BYTES_MAX: usize = 16 << 10;

/// Limit for the header lines of a request.
const HEADERS_MAX: usize = 64;

/// Allowed silence between two requests.
const IDLE: Duration = Duration::from_secs(30);

/// Time limit for a head, from its first byte.
const HEAD_TIME: Duration = Duration::from_secs(5);

/// Time limit for a body.
const BODY_TIME: Duration = Duration::from_secs(20);

/// Time limit for a response.
const ANSWER_TIME: Duration = Duration::from_secs(5);

/// Time limit for the rest of a refused request; half a second is too short if other programs use all cores.
const REST_TIME: Duration = Duration::from_secs(3);

/// Interval of checks for cancellation.
const LOOK_EVERY: Duration = Duration::from_millis(250);

const READ_BYTES: usize = 64 << 10;

/// Limit for the line with the length of a chunk.
const CHUNK_LINE_MAX: usize = 1 << 10;

/// First bytes of HTTP/2, which gRPC starts with.
const HTTP2: &[u8] = b"PRI * HTTP/2.0";

/// First bytes of TLS: a handshake record of major version 3.
const TLS: &[u8] = &[0x16, 3];

/// The reason for a missing request.
#[derive(Debug)]
pub(super) enum NoRequest {
    /// The connection or the session has ended: there is no response.
    Gone,
    /// The client speaks HTTP/2, as gRPC does.
    Grpc,
    Tls,
    /// A refused request, with its status and a sentence.
    Refused(u16, &'static str),
}

impl From<io::Error> for NoRequest {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

/// The parsed fields of a head that are used.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a header line")]
pub(super) struct RequestHead {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) host: Option<String>,
    /// Whether a page in a browser sends it.
    pub(super) is_of_browser: bool,
    pub(super) content_type: String,
    pub(super) is_gzip: bool,
    pub(super) keeps_alive: bool,
    length: BodyLength,
    expects_continue: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum BodyLength {
    #[default]
    None,
    Bytes(u64),
    Chunked,
}

/// The memory limit of all bodies together.
#[derive(Debug, Clone)]
pub(super) struct BodyMemory {
    used: Arc<AtomicU64>,
    most: u64,
}

/// A body, which occupies its share of the memory limit until it is dropped.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) bytes: Vec<u8>,
    reserved: u64,
    memory: BodyMemory,
}

impl BodyMemory {
    pub(super) fn new(most: u64) -> Self {
        Self { used: Arc::default(), most }
    }

    /// Creates an empty body that counts against this memory.
    fn body(&self) -> Body {
        Body { bytes: Vec::new(), reserved: 0, memory: self.clone() }
    }
}

impl Body {
    const TOO_LARGE: NoRequest = NoRequest::Refused(413, "the body is too large: export smaller batches");
    const BUSY: NoRequest = NoRequest::Refused(429, "other requests use all memory for bodies: retry later");

    /// Extends the buffer of the body, up to the memory limit.
    fn grow(&mut self, more: usize) -> Result<(), NoRequest> {
        let BodyMemory { used, most } = &self.memory;
        let more = more as u64;
        // A single body may take half of the memory limit.
        if self.reserved + more > most / 2 {
            return Err(Self::TOO_LARGE);
        }
        if used.fetch_add(more, Ordering::SeqCst) + more > *most {
            used.fetch_sub(more, Ordering::SeqCst);
            return Err(Self::BUSY);
        }
        self.reserved += more;
        // One more byte has room for the line break that ends a request in its stream.
        self.bytes.reserve_exact(usize::try_from(more).unwrap_or(0) + 1);
        Ok(())
    }

    /// Decompresses gzip, of one or more members. Anything else between or after them is refused.
    fn unpacked(&self) -> Result<Self, NoRequest> {
        let mut unpacked = self.memory.body();
        let mut decoder = MultiGzDecoder::new(&self.bytes[..]);
        let mut step = vec![0; READ_BYTES];
        loop {
            let len =
                decoder.read(&mut step).map_err(|_| NoRequest::Refused(400, "the body is not whole gzip data"))?;
            if len == 0 {
                return Ok(unpacked);
            }
            unpacked.grow(len)?;
            unpacked.bytes.extend_from_slice(&step[..len]);
        }
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        self.memory.used.fetch_sub(self.reserved, Ordering::SeqCst);
    }
}

/// A connection with its unread bytes.
pub(super) struct HttpConnection {
    stream: TcpStream,
    stop: Cancel,
    ahead: Vec<u8>,
    /// Whether the last request asks for the head of its response only.
    is_head: bool,
}

impl HttpConnection {
    pub(super) fn new(stream: TcpStream, stop: Cancel) -> Self {
        Self { stream, stop, ahead: Vec::new(), is_head: false }
    }

    /// Reads the head of the next request.
    pub(super) fn head(&mut self) -> Result<RequestHead, NoRequest> {
        if self.ahead.is_empty() {
            self.more(Instant::now() + IDLE).map_err(|_| NoRequest::Gone)?;
        }
        let until = Instant::now() + HEAD_TIME;
        loop {
            if HTTP2.starts_with(&self.ahead[..self.ahead.len().min(HTTP2.len())]) {
                if self.ahead.len() >= HTTP2.len() {
                    return Err(NoRequest::Grpc);
                }
            } else if self.ahead.starts_with(TLS) {
                return Err(NoRequest::Tls);
            } else if let Some((head, len)) = parsed(&self.ahead)?.filter(|(_, len)| *len <= HEAD_BYTES_MAX) {
                self.ahead.drain(..len);
                self.is_head = head.method == "HEAD";
                return Ok(head);
            }
            if self.ahead.len() > HEAD_BYTES_MAX {
                return Err(NoRequest::Refused(431, "the head of the request is too long"));
            }
            self.more(until)?;
        }
    }

    /// Reads the body after a head, and decompresses it.
    pub(super) fn body(&mut self, head: &RequestHead, memory: &BodyMemory) -> Result<Body, NoRequest> {
        let mut body = memory.body();
        // Refused before it is sent.
        if let BodyLength::Bytes(bytes) = head.length
            && bytes > memory.most / 2
        {
            return Err(Body::TOO_LARGE);
        }
        if head.expects_continue && head.length != BodyLength::None {
            self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        let until = Instant::now() + BODY_TIME;
        match head.length {
            BodyLength::None => {}
            BodyLength::Bytes(bytes) => self.read_into(&mut body, bytes, until)?,
            BodyLength::Chunked => loop {
                let bytes = self.chunk_length(until)?;
                if bytes == 0 {
                    self.skip_trailers(until)?;
                    break;
                }
                self.read_into(&mut body, bytes, until)?;
                self.line_end(until)?;
            },
        }
        if head.is_gzip { body.unpacked() } else { Ok(body) }
    }

    /// Sends a plain text, after which the connection closes.
    pub(super) fn refuse(&mut self, status: u16, text: &[u8]) -> io::Result<()> {
        self.answer(status, "text/plain", text, false)
    }

    /// Sends a response; one to a HEAD request has no content.
    pub(super) fn answer(&mut self, status: u16, content_type: &str, text: &[u8], keeps_alive: bool) -> io::Result<()> {
        let reason = reason(status);
        let connection = if keeps_alive { "keep-alive" } else { "close" };
        let more = match status {
            429 | 503 => "Retry-After: 1\r\n",
            405 => "Allow: POST\r\n",
            _ => "",
        };
        let len = text.len();
        let mut bytes = format!(
            "HTTP/1.1 {status} {reason}\r\nContent-Type: {content_type}\r\nContent-Length: {len}\r\n\
             X-Content-Type-Options: nosniff\r\n{more}Connection: {connection}\r\n\r\n"
        )
        .into_bytes();
        bytes.extend_from_slice(if self.is_head { b"" } else { text });
        self.stream.set_write_timeout(Some(ANSWER_TIME))?;
        self.stream.write_all(&bytes)
    }

    /// Reads the rest of a refused request, for a limited time.
    pub(super) fn drain(&mut self) {
        let until = Instant::now() + REST_TIME;
        self.stream.shutdown(std::net::Shutdown::Write).ok(); // it may have gone
        // Unread bytes at the close would reset the connection, and the client would lose the response.
        while self.more(until).is_ok() {
            self.ahead.clear();
        }
    }

    /// Reads at least one more byte.
    fn more(&mut self, until: Instant) -> Result<(), NoRequest> {
        let mut step = vec![0; READ_BYTES];
        let len = self.read(&mut step, until)?;
        self.ahead.extend_from_slice(&step[..len]);
        Ok(())
    }

    fn read(&mut self, step: &mut [u8], until: Instant) -> Result<usize, NoRequest> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(NoRequest::Refused(408, "the request arrives too slowly"));
            }
            self.stream.set_read_timeout(Some(left.min(LOOK_EVERY).max(Duration::from_millis(1))))?;
            match self.stream.read(step) {
                Ok(0) => return Err(NoRequest::Gone),
                Ok(len) => return Ok(len),
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    if self.stop.is_cancelled() {
                        return Err(NoRequest::Gone);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Moves bytes to the body, starting with the buffered ones.
    fn read_into(&mut self, body: &mut Body, mut bytes: u64, until: Instant) -> Result<(), NoRequest> {
        while bytes > 0 {
            if self.ahead.is_empty() {
                self.more(until)?;
            }
            let len = self.ahead.len().min(usize::try_from(bytes).unwrap_or(usize::MAX));
            body.grow(len)?;
            body.bytes.extend_from_slice(&self.ahead[..len]);
            self.ahead.drain(..len);
            bytes -= len as u64;
        }
        Ok(())
    }

    fn chunk_length(&mut self, until: Instant) -> Result<u64, NoRequest> {
        loop {
            match httparse::parse_chunk_size(&self.ahead) {
                Ok(httparse::Status::Complete((len, bytes))) => {
                    self.ahead.drain(..len);
                    return Ok(bytes);
                }
                Ok(httparse::Status::Partial) if self.ahead.len() <= CHUNK_LINE_MAX => self.more(until)?,
                Ok(httparse::Status::Partial) | Err(_) => return Err(BAD_CHUNK),
            }
        }
    }

    fn line_end(&mut self, until: Instant) -> Result<(), NoRequest> {
        while self.ahead.len() < 2 {
            self.more(until)?;
        }
        if !self.ahead.starts_with(b"\r\n") {
            return Err(BAD_CHUNK);
        }
        self.ahead.drain(..2);
        Ok(())
    }

    /// Skips trailers after the last chunk, up to an empty line.
    fn skip_trailers(&mut self, until: Instant) -> Result<(), NoRequest> {
        loop {
            if self.ahead.starts_with(b"\r\n") {
                self.ahead.drain(..2);
                return Ok(());
            }
            match self.ahead.windows(2).position(|two| two == b"\r\n") {
                Some(end) => drop(self.ahead.drain(..end + 2)),
                None if self.ahead.len() > HEAD_BYTES_MAX => return Err(BAD_CHUNK),
                None => self.more(until)?,
            }
        }
    }
}

const BAD_CHUNK: NoRequest = NoRequest::Refused(400, "malformed chunked body");

/// Parses the head at the start of some bytes, and returns it with its length; `None` while it is incomplete.
fn parsed(bytes: &[u8]) -> Result<Option<(RequestHead, usize)>, NoRequest> {
    const BAD: NoRequest = NoRequest::Refused(400, "this is not an HTTP/1.1 request");
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    let len = match request.parse(bytes) {
        Ok(httparse::Status::Complete(len)) => len,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => {
            return Err(NoRequest::Refused(431, "the request has too many header lines"));
        }
        Err(_) => return Err(BAD),
    };
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    let mut head = RequestHead { method: text(request.method), path: text(request.path), ..RequestHead::default() };
    head.keeps_alive = request.version == Some(1);
    for header in request.headers.iter() {
        let Ok(value) = str::from_utf8(header.value) else { continue };
        let (value, lower) = (value.trim(), value.trim().to_ascii_lowercase());
        let is_named = |name: &str| header.name.eq_ignore_ascii_case(name);
        if is_named("host") {
            // With two host headers, each side could believe a different one.
            if head.host.replace(lower).is_some() {
                return Err(BAD);
            }
        } else if is_named("origin") || is_named("sec-fetch-site") {
            head.is_of_browser = true;
        } else if is_named("content-type") {
            lower.split(';').next().unwrap_or_default().trim().clone_into(&mut head.content_type);
        } else if is_named("content-encoding") {
            match &*lower {
                "gzip" => head.is_gzip = true,
                "identity" | "" => {}
                _ => return Err(NoRequest::Refused(415, "the only supported content encoding is gzip")),
            }
        } else if is_named("content-length") {
            let digits = value.bytes().all(|byte| byte.is_ascii_digit());
            let length = value.parse().ok().filter(|_| digits && head.length == BodyLength::None).ok_or(BAD)?;
            head.length = BodyLength::Bytes(length);
        } else if is_named("transfer-encoding") {
            if lower != "chunked" || head.length != BodyLength::None {
                return Err(BAD);
            }
            head.length = BodyLength::Chunked;
        } else if is_named("connection") {
            let asks = |word: &str| lower.split(',').any(|part| part.trim() == word);
            head.keeps_alive = !asks("close") && (head.keeps_alive || asks("keep-alive"));
        } else if is_named("expect") {
            head.expects_continue = lower == "100-continue";
        }
    }
    Ok(Some((head, len)))
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        421 => "Misdirected Request",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "Bad Request",
    }
}

#[cfg(test)]
mod tests;

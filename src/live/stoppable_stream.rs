//! Streams that end by themselves after a request to stop: at a silence, or with the bytes that have arrived by a
//! deadline. A timeout of the receiver would lose bytes for which the reading thread had no time on a busy machine.
//! Systems other than Unix have no such streams, and leave the end to the receiver.

use std::io::{self, Read};
#[cfg(unix)]
use std::os::fd::AsFd;
use std::time::Duration;
#[cfg(unix)]
use std::time::Instant;

use crate::base::cancel::Cancel;

/// Silence after which a source has ended, once a stop was requested.
pub(super) const LAST_SILENCE: Duration = Duration::from_millis(200);

/// The same for connections.
pub(super) const CONNECTION_SILENCE: Duration = Duration::from_millis(250);

/// Time that sources have to finish after a request to stop.
pub(super) const LAST_WORDS: Duration = Duration::from_secs(2);

/// Whether streams end by themselves.
pub(super) const ENDS_ITSELF: bool = cfg!(unix);

/// Interval at which a silent stream checks for cancellation.
#[cfg(unix)]
const LOOK_EVERY: Duration = Duration::from_millis(250);

#[cfg(unix)]
pub(super) trait Readable: Read + AsFd {}
#[cfg(unix)]
impl<R: Read + AsFd> Readable for R {}

#[cfg(not(unix))]
pub(super) trait Readable: Read {}
#[cfg(not(unix))]
impl<R: Read> Readable for R {}

/// A stream that ends after a request to stop.
#[cfg_attr(not(unix), expect(dead_code, reason = "reads block until the stream ends"))]
pub(super) struct StoppableStream<R> {
    stream: R,
    stop: Cancel,
    /// Silence after which the stream ends, once a stop was requested.
    last_silence: Duration,
    #[cfg(unix)]
    last_words: LastWords,
}

/// The state of the reads after a request to stop.
#[cfg(unix)]
#[derive(Debug, Default)]
struct LastWords {
    /// When the request was noticed.
    began: Option<Instant>,
    /// When the last bytes were read since then.
    came: Option<Instant>,
    /// Bytes that had arrived by the deadline and are not read yet.
    left_bytes: Option<u64>,
    has_stopped: bool,
}

impl<R: Readable> StoppableStream<R> {
    pub(super) fn new(stream: R, stop: &Cancel, last_silence: Duration) -> Self {
        Self {
            stream,
            stop: stop.clone(),
            last_silence,
            #[cfg(unix)]
            last_words: LastWords::default(),
        }
    }
}

#[cfg(not(unix))]
impl<R: Readable> StoppableStream<R> {
    /// Returns whether reads ended because of the request, so that the stream may have more.
    #[expect(clippy::unused_self, reason = "as on Unix")]
    pub(super) fn has_stopped(&self) -> bool {
        false
    }
}

#[cfg(not(unix))]
impl<R: Readable> Read for StoppableStream<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.read(buffer)
    }
}

#[cfg(unix)]
impl<R: Readable> StoppableStream<R> {
    /// Returns whether reads ended because of the request, so that the stream may have more.
    pub(super) fn has_stopped(&self) -> bool {
        self.last_words.has_stopped
    }

    /// Waits for bytes or the end of the stream, for a limited time.
    fn is_readable(&self, most: Duration) -> io::Result<bool> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let most = Timespec { tv_sec: most.as_secs().cast_signed(), tv_nsec: most.subsec_nanos().into() };
        let mut fds = [PollFd::new(&self.stream, PollFlags::IN)];
        Ok(poll(&mut fds, Some(&most))? > 0)
    }

    /// Reads without waiting. The bytes of a connection that was reset are kept, and its other end is gone.
    fn read_available(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.stream.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(0),
            read => read,
        }
    }

    fn stop_here(&mut self) -> usize {
        self.last_words.has_stopped = true;
        0
    }
}

#[cfg(unix)]
impl<R: Readable> Read for StoppableStream<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(left_bytes) = self.last_words.left_bytes {
                let most = usize::try_from(left_bytes).unwrap_or(usize::MAX).min(buffer.len());
                if most == 0 {
                    return Ok(self.stop_here());
                }
                let len = self.read_available(&mut buffer[..most])?;
                self.last_words.left_bytes = Some(left_bytes - len as u64);
                return Ok(len);
            }
            let mut most = LOOK_EVERY;
            if self.stop.is_cancelled() {
                let now = Instant::now();
                let began = *self.last_words.began.get_or_insert(now);
                if now >= began + LAST_WORDS {
                    // A writer that never pauses must not keep the session from ending.
                    self.last_words.left_bytes = Some(rustix::io::ioctl_fionread(&self.stream)?);
                    continue;
                }
                let silent_since = self.last_words.came.unwrap_or(began);
                most = (silent_since + self.last_silence).saturating_duration_since(now).min(LOOK_EVERY);
            }
            if self.is_readable(most)? {
                let len = self.read_available(buffer)?;
                self.last_words.came = self.last_words.began.map(|_| Instant::now());
                return Ok(len);
            }
            let silent_since = self.last_words.came.or(self.last_words.began);
            if silent_since.is_some_and(|since| since.elapsed() >= self.last_silence) {
                return Ok(self.stop_here());
            }
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;
    use std::thread;

    use super::*;

    const SILENCE: Duration = Duration::from_millis(20);

    fn read_all(mut stream: StoppableStream<UnixStream>) -> (usize, bool) {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("readable");
        (bytes.len(), stream.has_stopped())
    }

    #[test]
    fn bytes_written_before_the_stop_are_read_although_the_deadline_is_over_and_the_writer_goes_on() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(&vec![1; 50_000]).unwrap();
        let stop = Cancel::default();
        stop.cancel();
        let mut stream = StoppableStream::new(ours, &stop, SILENCE);
        stream.last_words.began = Some(Instant::now().checked_sub(LAST_WORDS).unwrap());
        assert_eq!(stream.read(&mut [0; 100]).unwrap(), 100);
        let writer = thread::spawn(move || while theirs.write_all(&[2; 1000]).is_ok() {});
        let (bytes, has_stopped) = read_all(stream);
        assert_eq!((bytes, has_stopped), (49_900, true), "later bytes are another matter");
        writer.join().unwrap();
    }

    #[test]
    fn a_stopped_stream_ends_at_a_silence_and_another_one_waits_for_its_end() {
        let stop = Cancel::default();
        let (ours, theirs) = UnixStream::pair().unwrap();
        let running = StoppableStream::new(ours, &stop, SILENCE);
        let reader = thread::spawn(move || read_all(running));
        thread::sleep(LOOK_EVERY + SILENCE * 2);
        (&theirs).write_all(b"late").unwrap();
        drop(theirs);
        assert_eq!(reader.join().unwrap(), (4, false));

        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(b"last words").unwrap();
        stop.cancel();
        assert_eq!(read_all(StoppableStream::new(ours, &stop, SILENCE)), (10, true), "the writer is still there");
        drop(theirs);
    }

    #[test]
    fn the_bytes_of_a_connection_that_was_reset_are_kept() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        (&ours).write_all(b"unread").unwrap();
        theirs.write_all(b"kept").unwrap();
        // Unread bytes at the close reset the connection.
        drop(theirs);
        assert_eq!(read_all(StoppableStream::new(ours, &Cancel::default(), SILENCE)), (4, false));
    }
}

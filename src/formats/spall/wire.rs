//! The bytes of Spall's captures, little endian and packed: header, buffers, events.

/// The first 8 bytes of a capture of the manual kind, whose events calls in the program's source make.
pub(super) const MAGIC: [u8; 8] = 0x0bad_f00d_u64.to_le_bytes();

/// The first 8 bytes of a capture of the automatic kind, whose events compiler instrumentation makes.
pub(super) const MAGIC_AUTOMATIC: [u8; 8] = 0xabad_f00d_u64.to_le_bytes();

/// The version of a stream of events that each say their thread and time.
pub(super) const VERSION_STREAM: u64 = 1;

/// The version of buffers, each of one thread.
pub(super) const VERSION_BUFFERS: u64 = 3;

/// Types of events, as `spall.h` names them.
mod event_type {
    pub(super) const STREAM_OVER: u8 = 2;
    pub(super) const BEGIN: u8 = 3;
    pub(super) const END: u8 = 4;
    pub(super) const INSTANT: u8 = 5;
    pub(super) const PAD_SKIP: u8 = 7;
    pub(super) const NAME_PROCESS: u8 = 8;
    pub(super) const NAME_THREAD: u8 = 9;
}

/// Magic, version, microseconds of a tick, and a zero: 8 bytes each.
pub(super) const HEADER_BYTES: usize = 32;

/// The header of a buffer of version 3: length and two ids in 4 bytes each, and the first time in 8.
pub(super) const BUFFER_HEADER_BYTES: usize = 20;

/// The longest event is a begin of version 1 with the longest name and arguments.
pub(super) const EVENT_BYTES_MAX: usize = 20 + 255 + 255;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SpallEvent<'a> {
    pub(super) what: SpallEventKind<'a>,
    pub(super) len: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum SpallEventKind<'a> {
    Begin {
        at: SpallTime,
        name: &'a [u8],
        args: &'a [u8],
    },
    End {
        at: SpallTime,
    },
    Instant {
        at: SpallTime,
        name: &'a [u8],
    },
    ProcessName(&'a [u8]),
    ThreadName(&'a [u8]),
    /// Bytes to skip after the event.
    Padding(u32),
    /// The end of the events.
    Over,
}

/// When, and in version 1 also on which thread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum SpallTime {
    Float { pid: u32, tid: u32, ticks: f64 },
    Ticks(u64),
}

/// Why bytes are no event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoEvent {
    /// They end inside of it.
    Incomplete,
    /// Its first byte is of no kind that there is.
    Unknown,
}

/// Reads bytes from front to back.
struct SpallBytes<'a>(&'a [u8]);

impl<'a> SpallBytes<'a> {
    fn bytes(&mut self, len: usize) -> Result<&'a [u8], NoEvent> {
        let (bytes, rest) = self.0.split_at_checked(len).ok_or(NoEvent::Incomplete)?;
        self.0 = rest;
        Ok(bytes)
    }

    fn array<const LEN: usize>(&mut self) -> Result<[u8; LEN], NoEvent> {
        let (bytes, rest) = self.0.split_first_chunk::<LEN>().ok_or(NoEvent::Incomplete)?;
        self.0 = rest;
        Ok(*bytes)
    }

    fn byte(&mut self) -> Result<u8, NoEvent> {
        Ok(self.array::<1>()?[0])
    }

    /// A text after its length in one byte.
    fn short_text(&mut self) -> Result<&'a [u8], NoEvent> {
        let len = self.byte()?;
        self.bytes(len.into())
    }

    fn thread_and_time(&mut self) -> Result<SpallTime, NoEvent> {
        let (pid, tid) = (u32::from_le_bytes(self.array()?), u32::from_le_bytes(self.array()?));
        Ok(SpallTime::Float { pid, tid, ticks: f64::from_le_bytes(self.array()?) })
    }

    fn ticks(&mut self) -> Result<SpallTime, NoEvent> {
        Ok(SpallTime::Ticks(u64::from_le_bytes(self.array()?)))
    }
}

/// Reads the event that `bytes` begin with.
pub(super) fn event(version: u64, bytes: &[u8]) -> Result<SpallEvent<'_>, NoEvent> {
    let mut front = SpallBytes(bytes);
    let event_type = front.byte()?;
    let what = match (event_type, version) {
        (event_type::STREAM_OVER, _) => SpallEventKind::Over,
        (event_type::BEGIN, VERSION_STREAM) => {
            front.byte()?; // a category, which no tool shows
            let at = front.thread_and_time()?;
            named(&mut front, at)?
        }
        (event_type::BEGIN, _) => {
            let at = front.ticks()?;
            named(&mut front, at)?
        }
        (event_type::END, VERSION_STREAM) => SpallEventKind::End { at: front.thread_and_time()? },
        (event_type::END, _) => SpallEventKind::End { at: front.ticks()? },
        (event_type::INSTANT, VERSION_BUFFERS) => {
            let at = front.ticks()?;
            SpallEventKind::Instant { at, name: front.short_text()? }
        }
        (event_type::PAD_SKIP, _) => SpallEventKind::Padding(u32::from_le_bytes(front.array()?)),
        (event_type::NAME_PROCESS, VERSION_BUFFERS) => SpallEventKind::ProcessName(front.short_text()?),
        (event_type::NAME_THREAD, VERSION_BUFFERS) => SpallEventKind::ThreadName(front.short_text()?),
        _ => return Err(NoEvent::Unknown),
    };
    Ok(SpallEvent { what, len: bytes.len() - front.0.len() })
}

fn named<'a>(front: &mut SpallBytes<'a>, at: SpallTime) -> Result<SpallEventKind<'a>, NoEvent> {
    let (name, args) = (front.byte()?.into(), front.byte()?.into());
    Ok(SpallEventKind::Begin { at, name: front.bytes(name)?, args: front.bytes(args)? })
}

//! The bytes of Spall's captures, little endian and packed: header, buffers, events.

/// The first 8 bytes of a capture whose events were made by hand.
pub(super) const MAGIC: [u8; 8] = 0x0bad_f00d_u64.to_le_bytes();

/// The first 8 bytes of a capture whose events a compiler made.
pub(super) const MAGIC_AUTOMATIC: [u8; 8] = 0xabad_f00d_u64.to_le_bytes();

/// Magic, version, microseconds of a tick, and a zero: 8 bytes each.
pub(super) const HEADER_BYTES: usize = 32;

/// The header of a buffer of version 3: length and two ids in 4 bytes each, and the first time in 8.
pub(super) const BUFFER_HEADER_BYTES: usize = 20;

/// The longest event is a begin of version 1 with the longest name and arguments.
pub(super) const EVENT_BYTES_MAX: usize = 20 + 255 + 255;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SpallEvent<'a> {
    pub(super) what: SpallEventKind<'a>,
    /// Its length in bytes.
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
    /// Bytes to step over behind it.
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

/// Bytes that are taken from the front.
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

    fn byte(&mut self) -> Result<usize, NoEvent> {
        Ok(usize::from(self.array::<1>()?[0]))
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
    let kind = front.byte()?;
    let what = match (kind, version) {
        (2, _) => SpallEventKind::Over,
        (3, 1) => {
            front.byte()?; // a category, which no tool shows
            let at = front.thread_and_time()?;
            named(&mut front, at)?
        }
        (3, _) => {
            let at = front.ticks()?;
            named(&mut front, at)?
        }
        (4, 1) => SpallEventKind::End { at: front.thread_and_time()? },
        (4, _) => SpallEventKind::End { at: front.ticks()? },
        (5, 3) => {
            let at = front.ticks()?;
            let len = front.byte()?;
            SpallEventKind::Instant { at, name: front.bytes(len)? }
        }
        (7, _) => SpallEventKind::Padding(u32::from_le_bytes(front.array()?)),
        (8 | 9, 3) => {
            let len = front.byte()?;
            let name = front.bytes(len)?;
            if kind == 8 { SpallEventKind::ProcessName(name) } else { SpallEventKind::ThreadName(name) }
        }
        _ => return Err(NoEvent::Unknown),
    };
    Ok(SpallEvent { what, len: bytes.len() - front.0.len() })
}

fn named<'a>(front: &mut SpallBytes<'a>, at: SpallTime) -> Result<SpallEventKind<'a>, NoEvent> {
    let (name, args) = (front.byte()?, front.byte()?);
    Ok(SpallEventKind::Begin { at, name: front.bytes(name)?, args: front.bytes(args)? })
}

//! The binary layout of Spall traces, little endian and packed: header, buffers, events.

/// First 8 bytes of the manual format, whose events are recorded by calls in the source code.
pub(super) const MAGIC: [u8; 8] = 0x0bad_f00d_u64.to_le_bytes();

/// First 8 bytes of the automatic format, whose events are recorded by compiler instrumentation.
pub(super) const MAGIC_AUTOMATIC: [u8; 8] = 0xabad_f00d_u64.to_le_bytes();

/// Versions in which each event has its thread and time. Only their numbers differ.
pub(super) const VERSION_FIRST: u64 = 0;
pub(super) const VERSION_STREAM: u64 = 1;

/// Version with buffers of one thread each, without a process.
pub(super) const VERSION_THREADS: u64 = 2;

/// Version with buffers of one thread each, with its process.
pub(super) const VERSION_BUFFERS: u64 = 3;

/// Event types, named as in `spall.h`.
mod event_type {
    pub(super) const STREAM_OVER: u8 = 2;
    pub(super) const BEGIN: u8 = 3;
    pub(super) const END: u8 = 4;
    pub(super) const INSTANT: u8 = 5;
    pub(super) const PAD_SKIP: u8 = 7;
    pub(super) const NAME_PROCESS: u8 = 8;
    pub(super) const NAME_THREAD: u8 = 9;
}

/// Magic, version, microseconds per tick, and a zero: 8 bytes each.
pub(super) const HEADER_BYTES: usize = 32;

/// Header of a buffer in version 3: length and two ids of 4 bytes each, and the first time in 8 bytes.
pub(super) const BUFFER_HEADER_BYTES: usize = 20;

/// Header of a buffer in version 2, and in version 1 of the automatic format: length and thread, 4 bytes each.
pub(super) const THREAD_BUFFER_HEADER_BYTES: usize = 8;

/// Header of the automatic format. Magic, version, nanoseconds per tick and start address of the program have 8 bytes
/// each; version 1 has the address of one of its functions instead. The length of the program's path has 2 bytes, and
/// the path follows.
pub(super) const AUTO_HEADER_BYTES: usize = 34;

/// Header of a buffer in version 3 of the automatic format: length and thread of 4 bytes each, first time in 8 bytes,
/// maximum depth in 4 bytes.
pub(super) const AUTO_BUFFER_HEADER_BYTES: usize = 20;

/// Length of the longest event: a begin in version 1 with the longest name and arguments.
pub(super) const EVENT_BYTES_MAX: usize = 20 + 255 + 255;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SpallEvent<'a> {
    pub(super) kind: SpallEventKind<'a>,
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
    StreamEnd,
}

/// The time, and in version 1 the thread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum SpallTime {
    Float { pid: u32, tid: u32, ticks: f64 },
    Ticks(u64),
}

/// The reason why bytes are not an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoEvent {
    /// The bytes end within the event.
    Incomplete,
    UnknownType,
}

/// Reads little-endian values from the front of the bytes.
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

    /// Reads a length of one byte and the text after it.
    fn short_text(&mut self) -> Result<&'a [u8], NoEvent> {
        let len = self.byte()?;
        self.bytes(len.into())
    }

    /// Reads a number; the lowest bits of `len_bits` are the binary logarithm of its length in bytes.
    fn delta(&mut self, len_bits: u8) -> Result<u64, NoEvent> {
        let len = 1 << (len_bits & auto_event::LEN_BITS);
        let mut number = [0; 8];
        number[..len].copy_from_slice(self.bytes(len)?);
        Ok(u64::from_le_bytes(number))
    }

    fn text_len(&mut self, is_long: bool) -> Result<usize, NoEvent> {
        Ok(if is_long { u16::from_le_bytes(self.array()?).into() } else { self.byte()?.into() })
    }

    fn thread_and_time(&mut self) -> Result<SpallTime, NoEvent> {
        let (pid, tid) = (u32::from_le_bytes(self.array()?), u32::from_le_bytes(self.array()?));
        Ok(SpallTime::Float { pid, tid, ticks: f64::from_le_bytes(self.array()?) })
    }

    fn ticks(&mut self) -> Result<SpallTime, NoEvent> {
        Ok(SpallTime::Ticks(u64::from_le_bytes(self.array()?)))
    }
}

/// Decodes the event at the start of `bytes`.
pub(super) fn event(version: u64, bytes: &[u8]) -> Result<SpallEvent<'_>, NoEvent> {
    let mut front = SpallBytes(bytes);
    let event_type = front.byte()?;
    let kind = match (event_type, version) {
        (event_type::STREAM_OVER, _) => SpallEventKind::StreamEnd,
        (event_type::BEGIN, VERSION_FIRST | VERSION_STREAM) => {
            front.byte()?; // the category, which no tool shows
            let at = front.thread_and_time()?;
            named(&mut front, at)?
        }
        (event_type::BEGIN, VERSION_THREADS) => {
            front.byte()?; // the category
            let at = front.ticks()?;
            named(&mut front, at)?
        }
        (event_type::BEGIN, _) => {
            let at = front.ticks()?;
            named(&mut front, at)?
        }
        (event_type::END, VERSION_FIRST | VERSION_STREAM) => SpallEventKind::End { at: front.thread_and_time()? },
        (event_type::END, _) => SpallEventKind::End { at: front.ticks()? },
        (event_type::INSTANT, VERSION_BUFFERS) => {
            let at = front.ticks()?;
            SpallEventKind::Instant { at, name: front.short_text()? }
        }
        (event_type::PAD_SKIP, _) => SpallEventKind::Padding(u32::from_le_bytes(front.array()?)),
        (event_type::NAME_PROCESS, VERSION_BUFFERS) => SpallEventKind::ProcessName(front.short_text()?),
        (event_type::NAME_THREAD, VERSION_BUFFERS) => SpallEventKind::ThreadName(front.short_text()?),
        _ => return Err(NoEvent::UnknownType),
    };
    Ok(SpallEvent { kind, len: bytes.len() - front.0.len() })
}

/// An event of the automatic format.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct AutoEvent<'a> {
    pub(super) kind: AutoEventKind<'a>,
    pub(super) len: usize,
}

/// Ticks are deltas to the previous event, except in version 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum AutoEventKind<'a> {
    /// A function is entered. Except in version 1, its address is combined by XOR with the address of the previously
    /// entered function.
    Enter {
        ticks: u64,
        address: u64,
    },
    /// A span with an explicit name begins.
    Begin {
        ticks: u64,
        name: &'a [u8],
        args: &'a [u8],
    },
    End {
        ticks: u64,
    },
}

/// First byte of an event in the automatic format: the kind in the highest bits, field lengths in the others.
mod auto_event {
    pub(super) const KIND_SHIFT: u32 = 6;
    pub(super) const ENTER: u8 = 0;
    pub(super) const END: u8 = 1;
    pub(super) const EXTENDED: u8 = 2;

    /// The kind of an extended event is in the two bits below; only begins exist.
    pub(super) const EXTENDED_SHIFT: u32 = 4;
    pub(super) const BEGIN: u8 = 1;

    /// Mask of two bits: the binary logarithm of a length in bytes, or an extended kind.
    pub(super) const LEN_BITS: u8 = 3;
    pub(super) const TICKS_SHIFT: u32 = 4;
    pub(super) const ADDRESS_SHIFT: u32 = 2;
    pub(super) const CALLER_SHIFT: u32 = 0;
    pub(super) const BEGIN_TICKS_SHIFT: u32 = 2;
    pub(super) const LONG_NAME: u8 = 2;
    pub(super) const LONG_ARGS: u8 = 1;
}

/// The first number of an event in version 1 of the automatic format: its type in the highest byte, and its time.
mod first_auto_event {
    pub(super) const TYPE_SHIFT: u32 = 56;
    pub(super) const ENTER: u64 = 1;
    pub(super) const END: u64 = 2;
}

impl<'a> AutoEvent<'a> {
    /// Length of the longest event without texts: an enter event with three fields of 8 bytes.
    pub(super) const USUAL_BYTES_MAX: usize = 1 + 3 * 8;

    /// Length of the longest event: a begin with the longest name and arguments.
    pub(super) const BYTES_MAX: usize = 1 + 8 + 2 * (2 + u16::MAX as usize);

    /// Decodes the event at the start of `bytes`.
    pub(super) fn parse(is_first_version: bool, bytes: &'a [u8]) -> Result<Self, NoEvent> {
        let mut front = SpallBytes(bytes);
        let kind = if is_first_version { Self::first_kind(&mut front) } else { Self::kind(&mut front) }?;
        Ok(Self { kind, len: bytes.len() - front.0.len() })
    }

    /// Decodes an event of version 1, whose time and address are absolute.
    fn first_kind(front: &mut SpallBytes<'a>) -> Result<AutoEventKind<'a>, NoEvent> {
        let type_and_ticks = u64::from_le_bytes(front.array()?);
        let ticks = type_and_ticks & ((1 << first_auto_event::TYPE_SHIFT) - 1);
        match type_and_ticks >> first_auto_event::TYPE_SHIFT {
            first_auto_event::ENTER => {
                let address = u64::from_le_bytes(front.array()?);
                front.array::<8>()?; // the caller
                Ok(AutoEventKind::Enter { ticks, address })
            }
            first_auto_event::END => Ok(AutoEventKind::End { ticks }),
            _ => Err(NoEvent::UnknownType),
        }
    }

    /// Decodes an event of version 3.
    fn kind(front: &mut SpallBytes<'a>) -> Result<AutoEventKind<'a>, NoEvent> {
        let tag = front.byte()?;
        Ok(match tag >> auto_event::KIND_SHIFT {
            auto_event::ENTER => {
                let ticks = front.delta(tag >> auto_event::TICKS_SHIFT)?;
                let address = front.delta(tag >> auto_event::ADDRESS_SHIFT)?;
                front.delta(tag >> auto_event::CALLER_SHIFT)?;
                AutoEventKind::Enter { ticks, address }
            }
            auto_event::END => AutoEventKind::End { ticks: front.delta(tag >> auto_event::TICKS_SHIFT)? },
            auto_event::EXTENDED if tag >> auto_event::EXTENDED_SHIFT & auto_event::LEN_BITS == auto_event::BEGIN => {
                let ticks = front.delta(tag >> auto_event::BEGIN_TICKS_SHIFT)?;
                let name = front.text_len(tag & auto_event::LONG_NAME != 0)?;
                let args = front.text_len(tag & auto_event::LONG_ARGS != 0)?;
                AutoEventKind::Begin { ticks, name: front.bytes(name)?, args: front.bytes(args)? }
            }
            _ => return Err(NoEvent::UnknownType),
        })
    }
}

fn named<'a>(front: &mut SpallBytes<'a>, at: SpallTime) -> Result<SpallEventKind<'a>, NoEvent> {
    let (name, args) = (front.byte()?.into(), front.byte()?.into());
    Ok(SpallEventKind::Begin { at, name: front.bytes(name)?, args: front.bytes(args)? })
}

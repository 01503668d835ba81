//! A small Perfetto writer for tests, independent of the reader.

/// A protobuf message being built.
#[derive(Debug, Clone, Default)]
pub(crate) struct Message(pub(super) Vec<u8>);

impl Message {
    pub(super) fn number(mut self, field: u32, value: u64) -> Self {
        self.varint(u64::from(field) << 3);
        self.varint(value);
        self
    }

    pub(super) fn fixed(mut self, field: u32, value: u64) -> Self {
        self.varint(u64::from(field) << 3 | 1);
        self.0.extend(value.to_le_bytes());
        self
    }

    pub(super) fn bytes(mut self, field: u32, bytes: impl AsRef<[u8]>) -> Self {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.as_ref().len() as u64);
        self.0.extend(bytes.as_ref());
        self
    }

    pub(super) fn message(self, field: u32, message: Message) -> Self {
        self.bytes(field, message.0)
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

pub(super) fn message() -> Message {
    Message::default()
}

/// Returns a trace of these packets.
pub(super) fn capture(packets: impl IntoIterator<Item = Message>) -> Vec<u8> {
    packets.into_iter().fold(message(), |capture, packet| capture.message(1, packet)).0
}

/// Returns a packet of sequence 1 with a time on the trace clock.
pub(super) fn packet(ts_ns: u64) -> Message {
    message().number(8, ts_ns).number(10, 1)
}

/// Returns a packet with a track event; an empty name is left out.
pub(super) fn event(ts_ns: u64, kind: u64, uuid: u64, name: &str) -> Message {
    let event = message().number(9, kind).number(11, uuid);
    packet(ts_ns).message(11, if name.is_empty() { event } else { event.bytes(23, name) })
}

/// Returns the descriptor of a thread track.
pub(super) fn thread(uuid: u64, pid: u64, tid: u64, name: &str) -> Message {
    let thread = message().number(1, pid).number(2, tid).bytes(5, name);
    message().number(10, 1).message(60, message().number(1, uuid).message(4, thread))
}

/// Returns the descriptor of a child track.
pub(super) fn child(uuid: u64, parent: u64, name: &str) -> Message {
    message().number(10, 1).message(60, message().number(1, uuid).number(5, parent).bytes(2, name))
}

/// Returns the descriptor of a process track.
pub(super) fn process(uuid: u64, pid: u64, name: &str) -> Message {
    message().number(10, 1).message(60, message().number(1, uuid).message(3, message().number(1, pid).bytes(6, name)))
}

/// Returns a clock of a snapshot.
pub(super) fn clock(id: u64, ts: u64) -> Message {
    message().number(1, id).number(2, ts)
}

pub(super) fn kernel_event(ts_ns: u64, tid: u64, number: u32, event: Message) -> Message {
    message().number(1, ts_ns).number(2, tid).message(number, event)
}

/// Returns the kernel events of CPU 3.
pub(super) fn bundle(events: impl IntoIterator<Item = Message>) -> Message {
    let bundle = message().number(1, 3);
    message().number(10, 1).message(1, events.into_iter().fold(bundle, |bundle, event| bundle.message(2, event)))
}

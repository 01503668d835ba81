//! Encodes protobuf messages, field by field.

/// The encoded fields of a message.
#[derive(Clone, Default)]
pub(crate) struct Message(pub(crate) Vec<u8>);

/// Returns a message without fields.
pub(crate) fn message() -> Message {
    Message::default()
}

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    pub(crate) fn number(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    pub(crate) fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    pub(crate) fn message(self, field: u64, Self(bytes): &Self) -> Self {
        self.bytes(field, bytes)
    }
}

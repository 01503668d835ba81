//! Message types by name -> typed arguments as JSON, nested as the messages are. The types come from the descriptor files
//! that a capture holds; of those that Perfetto itself defines and captures leave out, the table here has the usual ones.
//! Fields of track events that have no known type are counted and not shown; those of annotations are shown by their numbers.

use std::fmt::Write as _;

use rustc_hash::FxHashMap;

use crate::formats::output::args::push_quoted;
use crate::formats::protobuf::decode::{Fields, Value};
use crate::model::{Loss, Losses, SourcePos};

/// What track events are.
const TRACK_EVENT: &str = ".perfetto.protos.TrackEvent";

/// Chromium has some 3,000 fields and names of values; this is far more, and some 100 MiB.
const ROWS_MAX: usize = 1 << 20;

/// Types within types, and messages within messages: the JSON parser's own limit of 128 leaves this much.
const DEPTH_MAX: u32 = 100;

/// The kinds of fields, as descriptors number them.
mod kind {
    /// Nothing tells which it is.
    pub(super) const UNKNOWN: u64 = 0;
    pub(super) const DOUBLE: u64 = 1;
    pub(super) const FLOAT: u64 = 2;
    pub(super) const INT64: u64 = 3;
    pub(super) const UINT64: u64 = 4;
    pub(super) const INT32: u64 = 5;
    pub(super) const FIXED64: u64 = 6;
    pub(super) const FIXED32: u64 = 7;
    pub(super) const BOOL: u64 = 8;
    pub(super) const STRING: u64 = 9;
    pub(super) const MESSAGE: u64 = 11;
    pub(super) const BYTES: u64 = 12;
    pub(super) const UINT32: u64 = 13;
    pub(super) const ENUM: u64 = 14;
    pub(super) const SFIXED32: u64 = 15;
    pub(super) const SFIXED64: u64 = 16;
    pub(super) const SINT32: u64 = 17;
    pub(super) const SINT64: u64 = 18;
}

/// A message that is a field of track events: number and name, then the fields of the message.
type Known = (u32, &'static str, &'static [(u32, &'static str, u64)]);

/// What captures leave out because it is a part of the format.
const KNOWN: &[Known] = &[
    (25, "chrome_user_event", &[(1, "action", kind::STRING), (2, "action_hash", kind::UINT64)]),
    (26, "chrome_keyed_service", &[(1, "name", kind::STRING)]),
    (27, "chrome_legacy_ipc", &[(1, "message_class", kind::INT32), (2, "message_line", kind::UINT32)]),
    (
        28,
        "chrome_histogram_sample",
        &[(1, "name_hash", kind::UINT64), (2, "name", kind::STRING), (3, "sample", kind::INT64)],
    ),
    (
        35,
        "chrome_message_pump",
        &[(1, "sent_messages_in_queue", kind::BOOL), (2, "io_handler_location_iid", kind::UINT64)],
    ),
    (
        38,
        "chrome_mojo_event_info",
        &[
            (1, "watcher_notify_interface_tag", kind::STRING),
            (2, "ipc_hash", kind::UINT32),
            (3, "mojo_interface_tag", kind::STRING),
            (4, "mojo_interface_method_iid", kind::UINT64),
            (5, "is_reply", kind::BOOL),
            (6, "payload_size", kind::UINT64),
            (7, "data_num_bytes", kind::UINT64),
        ],
    ),
    (39, "chrome_application_state_info", &[(1, "application_state", kind::INT32)]),
    (
        41,
        "chrome_window_handle_event_info",
        &[(1, "dpi", kind::UINT32), (2, "message_id", kind::UINT32), (3, "hwnd_ptr", kind::FIXED64)],
    ),
    (43, "chrome_content_settings_event_info", &[(1, "number_of_exceptions", kind::UINT32)]),
    (49, "chrome_active_processes", &[(1, "pid", kind::INT32)]),
];

/// The fields of [`KNOWN`] that are repeated, by message and field.
const KNOWN_REPEATED: &[(u32, u32)] = &[(49, 1)];

/// Types of messages, and the names of the values of enumerations.
#[derive(Debug)]
pub(super) struct Schema {
    messages: FxHashMap<Box<str>, FxHashMap<u32, Field>>,
    enums: FxHashMap<Box<str>, FxHashMap<i64, Box<str>>>,
    rows: usize,
}

#[derive(Debug, Clone, Default)]
struct Field {
    name: Box<str>,
    kind: u64,
    /// Of a message or an enumeration.
    of: Box<str>,
    is_repeated: bool,
}

impl Default for Schema {
    fn default() -> Self {
        let mut schema = Self { messages: FxHashMap::default(), enums: FxHashMap::default(), rows: 0 };
        for &(number, name, fields) in KNOWN {
            let of: Box<str> = format!("known {name}").into();
            let field = Field { name: name.into(), kind: kind::MESSAGE, of: of.clone(), is_repeated: false };
            schema.messages.entry(TRACK_EVENT.into()).or_default().insert(number, field);
            let message = schema.messages.entry(of).or_default();
            for &(inner, name, kind) in fields {
                let is_repeated = KNOWN_REPEATED.contains(&(number, inner));
                message.insert(inner, Field { name: name.into(), kind, of: Box::default(), is_repeated });
            }
        }
        schema
    }
}

impl Schema {
    /// Whether a type of messages is known, by its full name with a dot before it.
    pub(super) fn knows_type(&self, name: &str) -> bool {
        self.messages.contains_key(name)
    }

    /// Whether a field of track events has a known type.
    pub(super) fn knows(&self, number: u32) -> bool {
        self.messages.get(TRACK_EVENT).is_some_and(|fields| fields.contains_key(&number))
    }

    /// Takes the descriptor files of a packet. What a capture says goes before the table here.
    pub(super) fn take(&mut self, extension: &[u8], place: SourcePos, losses: &mut Losses) {
        let sets = Fields::of(extension).filter(|field| field.number == 1);
        for file in sets.flat_map(|set| Fields::of(set.value.bytes())).filter(|field| field.number == 1) {
            let file = file.value.bytes();
            let package = text_of(file, 2);
            let scope = if package.is_empty() { String::new() } else { format!(".{package}") };
            self.take_types(file, [4, 5, 7], &scope, 0);
        }
        if self.rows >= ROWS_MAX {
            losses.add(Loss::OverLimit, place);
        }
    }

    /// Takes the messages, enumerations and extensions in a file or a message, which have these numbers in it.
    fn take_types(&mut self, bytes: &[u8], [messages, enums, extensions]: [u32; 3], scope: &str, depth: u32) {
        for field in Fields::of(bytes) {
            if depth > DEPTH_MAX || self.rows >= ROWS_MAX {
                return;
            }
            let inner = field.value.bytes();
            if field.number == extensions {
                self.take_field(inner, &text_of(inner, 2));
            } else if field.number == messages {
                let name = format!("{scope}.{}", text_of(inner, 1));
                for field in Fields::of(inner).filter(|field| field.number == 2) {
                    self.take_field(field.value.bytes(), &name);
                }
                self.take_types(inner, [3, 4, 6], &name, depth + 1);
            } else if field.number == enums {
                let name = format!("{scope}.{}", text_of(inner, 1));
                let values = self.enums.entry(name.into()).or_default();
                for value in Fields::of(inner).filter(|field| field.number == 2) {
                    let value = value.value.bytes();
                    let number = Fields::of(value).find(|field| field.number == 2);
                    values.insert(number.map_or(0, |field| field.value.signed()), text_of(value, 1).into());
                    self.rows += 1;
                }
            }
        }
    }

    fn take_field(&mut self, bytes: &[u8], message: &str) {
        let (mut number, mut field) = (0, Field::default());
        for part in Fields::of(bytes) {
            match part.number {
                1 => field.name = lossy(part.value.bytes()).into(),
                3 => number = part.value.number() as u32,
                4 => field.is_repeated = part.value.number() == 3,
                5 => field.kind = part.value.number(),
                6 => field.of = lossy(part.value.bytes()).into(),
                _ => {}
            }
        }
        self.rows += 1;
        self.messages.entry(message.into()).or_default().insert(number, field);
    }
}

/// Writes typed arguments.
pub(super) struct TypedWriter<'a> {
    pub(super) json: &'a mut String,
    pub(super) schema: &'a Schema,
    pub(super) place: SourcePos,
    pub(super) losses: &'a mut Losses,
    /// Whether fields of no known type are shown by their numbers; else they are counted.
    pub(super) shows_unknown: bool,
}

impl TypedWriter<'_> {
    /// Writes those fields of a track event that have these numbers as members of the object that is begun.
    pub(super) fn track_event(&mut self, bytes: &[u8], numbers: &[u32]) {
        let fields = Fields::of(bytes).filter(|field| numbers.contains(&field.number));
        self.members(fields.map(|field| (field.number, field.value)).collect(), TRACK_EVENT, 0);
    }

    /// Writes a message of a type as one object.
    pub(super) fn message(&mut self, bytes: &[u8], of: &str, depth: u32) {
        self.json.push('{');
        if depth > DEPTH_MAX {
            self.losses.add(Loss::DeepNesting, self.place);
        } else {
            let mut fields = Fields::of(bytes);
            let members = fields.by_ref().map(|field| (field.number, field.value)).collect();
            if fields.is_broken() {
                self.losses.add(Loss::BadRecord, self.place);
            }
            self.members(members, of, depth);
        }
        self.json.push('}');
    }

    /// Writes fields by their numbers: what is repeated stands together then. Of a field that is not, the last word counts.
    fn members(&mut self, mut fields: Vec<(u32, Value<'_>)>, of: &str, depth: u32) {
        fields.sort_by_key(|&(number, _)| number);
        let schema = self.schema;
        let types = schema.messages.get(of);
        for values in fields.chunk_by(|a, b| a.0 == b.0) {
            let number = values[0].0;
            let unknown;
            let field = if let Some(field) = types.and_then(|types| types.get(&number)) {
                field
            } else if self.shows_unknown {
                unknown = Field::unknown(number, values);
                &unknown
            } else {
                self.losses.add_many(Loss::IgnoredArguments, self.place, values.len() as u64);
                continue;
            };
            if !self.json.is_empty() && !self.json.ends_with('{') {
                self.json.push(',');
            } else if self.json.is_empty() {
                self.json.push('{');
            }
            push_quoted(self.json, &field.name);
            self.json.push(':');
            if field.is_repeated {
                self.list(field, values, depth);
            } else {
                self.value(field, values[values.len() - 1].1, depth);
            }
        }
    }

    fn list(&mut self, field: &Field, values: &[(u32, Value<'_>)], depth: u32) {
        self.json.push('[');
        let begins_at = self.json.len();
        for &(_, value) in values {
            match value {
                Value::Bytes(packed)
                    if !matches!(field.kind, kind::STRING | kind::BYTES | kind::MESSAGE | kind::UNKNOWN) =>
                {
                    for value in unpacked(packed, field.kind) {
                        self.comma(begins_at);
                        self.value(field, value, depth);
                    }
                }
                value => {
                    self.comma(begins_at);
                    self.value(field, value, depth);
                }
            }
        }
        self.json.push(']');
    }

    /// Writes a value of which only the width is known. Bytes are text if they are some, else a message if they can be one.
    fn unknown(&mut self, value: Value<'_>, depth: u32) {
        let Value::Bytes(bytes) = value else {
            let _ = write!(self.json, "{}", value.number()); // to memory
            return;
        };
        let is_text = |text: &str| !text.chars().any(|letter| letter.is_control() && !"\t\r\n".contains(letter));
        match str::from_utf8(bytes) {
            Ok(text) if is_text(text) => push_quoted(self.json, text),
            _ if is_message(bytes) => self.message(bytes, "", depth + 1),
            _ => push_base64(self.json, bytes),
        }
    }

    fn comma(&mut self, begins_at: usize) {
        if self.json.len() > begins_at {
            self.json.push(',');
        }
    }

    fn value(&mut self, field: &Field, value: Value<'_>, depth: u32) {
        let json = &mut *self.json;
        // All to memory.
        let _ = match field.kind {
            kind::MESSAGE => {
                self.message(value.bytes(), &field.of, depth + 1);
                Ok(())
            }
            kind::STRING => {
                push_quoted(json, &lossy(value.bytes()));
                Ok(())
            }
            kind::BYTES => {
                push_base64(json, value.bytes());
                Ok(())
            }
            kind::BOOL => write!(json, "{}", value.number() != 0),
            kind::ENUM => {
                let names = self.schema.enums.get(&field.of);
                match names.and_then(|names| names.get(&value.signed())) {
                    Some(name) => {
                        push_quoted(json, name);
                        Ok(())
                    }
                    None => write!(json, "{}", value.signed()),
                }
            }
            kind::DOUBLE | kind::FLOAT => {
                // The digits of the width that it has. JSON has no word for what is no number.
                let text = match value {
                    Value::Fixed32(bits) => format!("{:?}", f32::from_bits(bits)),
                    other => format!("{:?}", other.double()),
                };
                let quote = if value.double().is_finite() { "" } else { "\"" };
                write!(json, "{quote}{text}{quote}")
            }
            kind::INT64 | kind::INT32 | kind::SFIXED64 => write!(json, "{}", value.signed()),
            kind::SFIXED32 => write!(json, "{}", value.number() as u32 as i32),
            kind::SINT32 | kind::SINT64 => {
                let raw = value.number();
                write!(json, "{}", (raw >> 1) as i64 ^ -((raw & 1) as i64))
            }
            kind::UINT64 | kind::UINT32 | kind::FIXED64 | kind::FIXED32 => write!(json, "{}", value.number()),
            kind::UNKNOWN => {
                self.unknown(value, depth);
                Ok(())
            }
            // Groups, which nobody writes any more.
            _ => write!(json, "null"),
        };
    }
}

impl Field {
    /// A field that nothing describes, of which these values are there.
    fn unknown(number: u32, values: &[(u32, Value<'_>)]) -> Self {
        let is_repeated = values.len() > 1;
        Self { name: number.to_string().into(), kind: kind::UNKNOWN, of: Box::default(), is_repeated }
    }
}

/// Whether bytes are fields to their end.
fn is_message(bytes: &[u8]) -> bool {
    let mut fields = Fields::of(bytes);
    let all_numbered = fields.by_ref().all(|field| field.number > 0);
    all_numbered && !fields.is_broken()
}

/// The values that stand together in one field.
fn unpacked(packed: &[u8], kind: u64) -> Vec<Value<'_>> {
    match kind {
        kind::FLOAT | kind::FIXED32 | kind::SFIXED32 => {
            let (chunks, _) = packed.as_chunks();
            chunks.iter().map(|chunk| Value::Fixed32(u32::from_le_bytes(*chunk))).collect()
        }
        kind::DOUBLE | kind::FIXED64 | kind::SFIXED64 => {
            let (chunks, _) = packed.as_chunks();
            chunks.iter().map(|chunk| Value::Fixed64(u64::from_le_bytes(*chunk))).collect()
        }
        _ => Value::Bytes(packed).numbers(false).map(Value::Varint).collect(),
    }
}

fn text_of(bytes: &[u8], number: u32) -> String {
    let found = Fields::of(bytes).find(|field| field.number == number);
    found.map(|field| lossy(field.value.bytes())).unwrap_or_default()
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Bytes as JSON has them usually.
fn push_base64(json: &mut String, bytes: &[u8]) {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    json.push('"');
    for group in bytes.chunks(3) {
        let bits =
            group.iter().enumerate().fold(0u32, |bits, (place, &byte)| bits | u32::from(byte) << (16 - 8 * place));
        for place in 0..4 {
            let is_there = place <= group.len();
            let letter = LETTERS[(bits >> (18 - 6 * place) & 63) as usize];
            json.push(if is_there { letter as char } else { '=' });
        }
    }
    json.push('"');
}

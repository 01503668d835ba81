//! Message types by name -> typed arguments as JSON, nested as the messages are. The types come from the descriptor
//! files that a capture holds; of those that Perfetto itself defines and captures leave out, the table here has the
//! usual ones. Fields of track events that have no known type are counted and not shown; those of annotations are shown
//! by their numbers.

use std::fmt::Write as _;

use rustc_hash::FxHashMap;

use super::fields::{
    chrome_active_processes, chrome_application_state_info, chrome_content_settings_event_info,
    chrome_histogram_sample, chrome_keyed_service, chrome_legacy_ipc, chrome_message_pump, chrome_mojo_event_info,
    chrome_user_event, chrome_window_handle_event_info, enum_descriptor, enum_value_descriptor, extension_descriptor,
    field_descriptor, field_label, field_type, file_descriptor, file_descriptor_set, message_descriptor, track_event,
};
use crate::formats::output::args::push_quoted;
use crate::formats::protobuf::decode::{Fields, ProtoValue};
use crate::formats::protobuf::numbers::FieldNumber;
use crate::model::{Loss, Losses, SourcePos};

/// The message whose extensions are typed arguments.
const TRACK_EVENT: &str = ".perfetto.protos.TrackEvent";

/// Chromium has some 3,000 fields and names of values; this is far more, and some 100 MiB.
const ROWS_MAX: usize = 1 << 20;

/// Where a file has its messages, enumerations and extensions.
const OF_FILE: [FieldNumber; 3] =
    [file_descriptor::MESSAGE_TYPE, file_descriptor::ENUM_TYPE, file_descriptor::EXTENSION];

/// Where a message has those that are nested in it.
const OF_MESSAGE: [FieldNumber; 3] =
    [message_descriptor::NESTED_TYPE, message_descriptor::ENUM_TYPE, message_descriptor::EXTENSION];

/// Types within types, and messages within messages: the JSON parser's own limit of 128 leaves this much.
const DEPTH_MAX: u32 = 100;

/// The type of a field that nothing describes.
const UNKNOWN: u64 = 0;

/// A message that is a field of track events: number and name, then the fields of the message.
pub(crate) type Known = (FieldNumber, &'static str, &'static [(FieldNumber, &'static str, u64)]);

/// The messages that captures leave out because they are a part of the format.
pub(crate) const KNOWN: &[Known] = &[
    (
        track_event::CHROME_USER_EVENT,
        "chrome_user_event",
        &[
            (chrome_user_event::ACTION, "action", field_type::TYPE_STRING),
            (chrome_user_event::ACTION_HASH, "action_hash", field_type::TYPE_UINT64),
        ],
    ),
    (
        track_event::CHROME_KEYED_SERVICE,
        "chrome_keyed_service",
        &[(chrome_keyed_service::NAME, "name", field_type::TYPE_STRING)],
    ),
    (
        track_event::CHROME_LEGACY_IPC,
        "chrome_legacy_ipc",
        &[
            (chrome_legacy_ipc::MESSAGE_CLASS, "message_class", field_type::TYPE_INT32),
            (chrome_legacy_ipc::MESSAGE_LINE, "message_line", field_type::TYPE_UINT32),
        ],
    ),
    (
        track_event::CHROME_HISTOGRAM_SAMPLE,
        "chrome_histogram_sample",
        &[
            (chrome_histogram_sample::NAME_HASH, "name_hash", field_type::TYPE_UINT64),
            (chrome_histogram_sample::NAME, "name", field_type::TYPE_STRING),
            (chrome_histogram_sample::SAMPLE, "sample", field_type::TYPE_INT64),
        ],
    ),
    (
        track_event::CHROME_MESSAGE_PUMP,
        "chrome_message_pump",
        &[
            (chrome_message_pump::SENT_MESSAGES_IN_QUEUE, "sent_messages_in_queue", field_type::TYPE_BOOL),
            (chrome_message_pump::IO_HANDLER_LOCATION_IID, "io_handler_location_iid", field_type::TYPE_UINT64),
        ],
    ),
    (
        track_event::CHROME_MOJO_EVENT_INFO,
        "chrome_mojo_event_info",
        &[
            (
                chrome_mojo_event_info::WATCHER_NOTIFY_INTERFACE_TAG,
                "watcher_notify_interface_tag",
                field_type::TYPE_STRING,
            ),
            (chrome_mojo_event_info::IPC_HASH, "ipc_hash", field_type::TYPE_UINT32),
            (chrome_mojo_event_info::MOJO_INTERFACE_TAG, "mojo_interface_tag", field_type::TYPE_STRING),
            (chrome_mojo_event_info::MOJO_INTERFACE_METHOD_IID, "mojo_interface_method_iid", field_type::TYPE_UINT64),
            (chrome_mojo_event_info::IS_REPLY, "is_reply", field_type::TYPE_BOOL),
            (chrome_mojo_event_info::PAYLOAD_SIZE, "payload_size", field_type::TYPE_UINT64),
            (chrome_mojo_event_info::DATA_NUM_BYTES, "data_num_bytes", field_type::TYPE_UINT64),
        ],
    ),
    (
        track_event::CHROME_APPLICATION_STATE_INFO,
        "chrome_application_state_info",
        &[(chrome_application_state_info::APPLICATION_STATE, "application_state", field_type::TYPE_INT32)],
    ),
    (
        track_event::CHROME_WINDOW_HANDLE_EVENT_INFO,
        "chrome_window_handle_event_info",
        &[
            (chrome_window_handle_event_info::DPI, "dpi", field_type::TYPE_UINT32),
            (chrome_window_handle_event_info::MESSAGE_ID, "message_id", field_type::TYPE_UINT32),
            (chrome_window_handle_event_info::HWND_PTR, "hwnd_ptr", field_type::TYPE_FIXED64),
        ],
    ),
    (
        track_event::CHROME_CONTENT_SETTINGS_EVENT_INFO,
        "chrome_content_settings_event_info",
        &[(chrome_content_settings_event_info::NUMBER_OF_EXCEPTIONS, "number_of_exceptions", field_type::TYPE_UINT32)],
    ),
    (
        track_event::CHROME_ACTIVE_PROCESSES,
        "chrome_active_processes",
        &[(chrome_active_processes::PID, "pid", field_type::TYPE_INT32)],
    ),
];

/// The fields of [`KNOWN`] that are repeated, by message and field.
const KNOWN_REPEATED: &[(FieldNumber, FieldNumber)] =
    &[(track_event::CHROME_ACTIVE_PROCESSES, chrome_active_processes::PID)];

/// Types of messages, and the names of the values of enumerations.
#[derive(Debug)]
pub(super) struct Schema {
    messages: FxHashMap<Box<str>, FxHashMap<FieldNumber, SchemaField>>,
    enums: FxHashMap<Box<str>, FxHashMap<i64, Box<str>>>,
    rows: usize,
}

#[derive(Debug, Clone, Default)]
struct SchemaField {
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
            let field =
                SchemaField { name: name.into(), kind: field_type::TYPE_MESSAGE, of: of.clone(), is_repeated: false };
            schema.messages.entry(TRACK_EVENT.into()).or_default().insert(number, field);
            let message = schema.messages.entry(of).or_default();
            for &(inner, name, kind) in fields {
                let is_repeated = KNOWN_REPEATED.contains(&(number, inner));
                message.insert(inner, SchemaField { name: name.into(), kind, of: Box::default(), is_repeated });
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
    pub(super) fn knows(&self, number: FieldNumber) -> bool {
        self.messages.get(TRACK_EVENT).is_some_and(|fields| fields.contains_key(&number))
    }

    /// Adds the descriptor files of a packet. The types of a capture override the built-in table.
    pub(super) fn take_extension(&mut self, extension: &[u8], place: SourcePos, losses: &mut Losses) {
        let sets = Fields::new(extension).filter(|field| field.number == extension_descriptor::EXTENSION_SET);
        let files = sets.flat_map(|set| Fields::new(set.value.bytes()));
        for file in files.filter(|field| field.number == file_descriptor_set::FILE) {
            let file = file.value.bytes();
            let package = text_field(file, file_descriptor::PACKAGE);
            let scope = if package.is_empty() { String::new() } else { format!(".{package}") };
            self.take_types(file, OF_FILE, &scope, 0);
        }
        if self.rows >= ROWS_MAX {
            losses.add(Loss::OverLimit, place);
        }
    }

    /// Adds the messages, enumerations and extensions of a file or a message, which have these field numbers in it.
    fn take_types(&mut self, bytes: &[u8], [messages, enums, extensions]: [FieldNumber; 3], scope: &str, depth: u32) {
        for field in Fields::new(bytes) {
            if depth > DEPTH_MAX || self.rows >= ROWS_MAX {
                return;
            }
            let inner = field.value.bytes();
            if field.number == extensions {
                self.take_field(inner, &text_field(inner, field_descriptor::EXTENDEE));
            } else if field.number == messages {
                let name = format!("{scope}.{}", text_field(inner, message_descriptor::NAME));
                for field in Fields::new(inner).filter(|field| field.number == message_descriptor::FIELD) {
                    self.take_field(field.value.bytes(), &name);
                }
                self.take_types(inner, OF_MESSAGE, &name, depth + 1);
            } else if field.number == enums {
                let name = format!("{scope}.{}", text_field(inner, enum_descriptor::NAME));
                let values = self.enums.entry(name.into()).or_default();
                for value in Fields::new(inner).filter(|field| field.number == enum_descriptor::VALUE) {
                    let value = value.value.bytes();
                    let number = Fields::new(value).find(|field| field.number == enum_value_descriptor::NUMBER);
                    let name = text_field(value, enum_value_descriptor::NAME);
                    values.insert(number.map_or(0, |field| field.value.signed()), name.into());
                    self.rows += 1;
                }
            }
        }
    }

    fn take_field(&mut self, bytes: &[u8], message: &str) {
        let (mut number, mut field) = (FieldNumber::NONE, SchemaField::default());
        for part in Fields::new(bytes) {
            match part.number {
                field_descriptor::NAME => field.name = lossy(part.value.bytes()).into(),
                field_descriptor::NUMBER => number = part.value.field_number(),
                field_descriptor::LABEL => field.is_repeated = part.value.number() == field_label::LABEL_REPEATED,
                field_descriptor::TYPE => field.kind = part.value.number(),
                field_descriptor::TYPE_NAME => field.of = lossy(part.value.bytes()).into(),
                _ => {}
            }
        }
        self.rows += 1;
        self.messages.entry(message.into()).or_default().insert(number, field);
    }
}

/// Writes typed arguments as JSON, by the types of a schema.
pub(super) struct TypedWriter<'a> {
    pub(super) json: &'a mut String,
    pub(super) schema: &'a Schema,
    pub(super) place: SourcePos,
    pub(super) losses: &'a mut Losses,
    /// Whether fields of unknown types are shown by their numbers; else they count as losses.
    pub(super) shows_unknown: bool,
}

impl TypedWriter<'_> {
    /// Writes those fields of a track event that have these numbers as members of the object that is begun.
    pub(super) fn track_event(&mut self, bytes: &[u8], numbers: &[FieldNumber]) {
        let fields = Fields::new(bytes).filter(|field| numbers.contains(&field.number));
        self.members(fields.map(|field| (field.number, field.value)).collect(), TRACK_EVENT, 0);
    }

    /// Writes a message of a type as one object.
    pub(super) fn message(&mut self, bytes: &[u8], of: &str, depth: u32) {
        self.json.push('{');
        if depth > DEPTH_MAX {
            self.losses.add(Loss::DeepNesting, self.place);
        } else {
            let mut fields = Fields::new(bytes);
            let members = fields.by_ref().map(|field| (field.number, field.value)).collect();
            if fields.is_broken() {
                self.losses.add(Loss::BadRecord, self.place);
            }
            self.members(members, of, depth);
        }
        self.json.push('}');
    }

    /// Writes fields by their numbers, so that repeated ones become one list. Of a field that is not
    /// repeated, the last value counts.
    fn members(&mut self, mut fields: Vec<(FieldNumber, ProtoValue<'_>)>, of: &str, depth: u32) {
        fields.sort_by_key(|&(number, _)| number);
        let schema = self.schema;
        let types = schema.messages.get(of);
        for values in fields.chunk_by(|a, b| a.0 == b.0) {
            let number = values[0].0;
            let unknown;
            let field = if let Some(field) = types.and_then(|types| types.get(&number)) {
                field
            } else if self.shows_unknown {
                unknown = SchemaField::unknown(number, values);
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

    fn list(&mut self, field: &SchemaField, values: &[(FieldNumber, ProtoValue<'_>)], depth: u32) {
        self.json.push('[');
        let begins_at = self.json.len();
        for &(_, value) in values {
            match value {
                ProtoValue::Bytes(packed)
                    if !matches!(
                        field.kind,
                        field_type::TYPE_STRING | field_type::TYPE_BYTES | field_type::TYPE_MESSAGE | UNKNOWN
                    ) =>
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

    /// Writes a value of which only the width is known. Bytes are text if they are valid text, else a message
    /// if they parse as one.
    fn unknown(&mut self, value: ProtoValue<'_>, depth: u32) {
        let ProtoValue::Bytes(bytes) = value else {
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

    fn value(&mut self, field: &SchemaField, value: ProtoValue<'_>, depth: u32) {
        let json = &mut *self.json;
        // All to memory.
        let _ = match field.kind {
            field_type::TYPE_MESSAGE => {
                self.message(value.bytes(), &field.of, depth + 1);
                Ok(())
            }
            field_type::TYPE_STRING => {
                push_quoted(json, &lossy(value.bytes()));
                Ok(())
            }
            field_type::TYPE_BYTES => {
                push_base64(json, value.bytes());
                Ok(())
            }
            field_type::TYPE_BOOL => write!(json, "{}", value.number() != 0),
            field_type::TYPE_ENUM => {
                let names = self.schema.enums.get(&field.of);
                match names.and_then(|names| names.get(&value.signed())) {
                    Some(name) => {
                        push_quoted(json, name);
                        Ok(())
                    }
                    None => write!(json, "{}", value.signed()),
                }
            }
            field_type::TYPE_DOUBLE | field_type::TYPE_FLOAT => {
                // The digits of the width that it has. JSON has no word for what is no number.
                let text = match value {
                    ProtoValue::Fixed32(bits) => format!("{:?}", f32::from_bits(bits)),
                    other => format!("{:?}", other.double()),
                };
                let quote = if value.double().is_finite() { "" } else { "\"" };
                write!(json, "{quote}{text}{quote}")
            }
            field_type::TYPE_INT64 | field_type::TYPE_INT32 | field_type::TYPE_SFIXED64 => {
                write!(json, "{}", value.signed())
            }
            field_type::TYPE_SFIXED32 => write!(json, "{}", value.number() as u32 as i32),
            field_type::TYPE_SINT32 | field_type::TYPE_SINT64 => {
                let raw = value.number();
                write!(json, "{}", (raw >> 1) as i64 ^ -((raw & 1) as i64))
            }
            field_type::TYPE_UINT64 | field_type::TYPE_UINT32 | field_type::TYPE_FIXED64 | field_type::TYPE_FIXED32 => {
                write!(json, "{}", value.number())
            }
            UNKNOWN => {
                self.unknown(value, depth);
                Ok(())
            }
            // Groups, which nobody writes any more.
            _ => write!(json, "null"),
        };
    }
}

impl SchemaField {
    /// A field that nothing describes, of which these values are there.
    fn unknown(number: FieldNumber, values: &[(FieldNumber, ProtoValue<'_>)]) -> Self {
        let is_repeated = values.len() > 1;
        Self { name: number.get().to_string().into(), kind: UNKNOWN, of: Box::default(), is_repeated }
    }
}

/// Whether bytes are fields to their end.
fn is_message(bytes: &[u8]) -> bool {
    let mut fields = Fields::new(bytes);
    let all_numbered = fields.by_ref().all(|field| field.number != FieldNumber::NONE);
    all_numbered && !fields.is_broken()
}

/// The values of a packed field.
fn unpacked(packed: &[u8], kind: u64) -> Vec<ProtoValue<'_>> {
    match kind {
        field_type::TYPE_FLOAT | field_type::TYPE_FIXED32 | field_type::TYPE_SFIXED32 => {
            let (chunks, _) = packed.as_chunks();
            chunks.iter().map(|chunk| ProtoValue::Fixed32(u32::from_le_bytes(*chunk))).collect()
        }
        field_type::TYPE_DOUBLE | field_type::TYPE_FIXED64 | field_type::TYPE_SFIXED64 => {
            let (chunks, _) = packed.as_chunks();
            chunks.iter().map(|chunk| ProtoValue::Fixed64(u64::from_le_bytes(*chunk))).collect()
        }
        _ => ProtoValue::Bytes(packed).numbers(false).map(ProtoValue::Varint).collect(),
    }
}

fn text_field(bytes: &[u8], number: FieldNumber) -> String {
    let found = Fields::new(bytes).find(|field| field.number == number);
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

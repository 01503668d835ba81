//! Writes the arguments of events as a JSON object, with the keys that Perfetto shows, such as `debug.name`. The values
//! are written by [`super::values`].

use std::borrow::Cow;

use super::annotate::PLAIN_KEY;
use super::fields::{debug_annotation, log_message};
use super::sequence::Location;
use super::values::{ValueTables, annotation_name, push_location_members, write_annotation, write_location};
use crate::formats::output::args::{ArgsWriter, push_quoted};
use crate::formats::protobuf::decode::Fields;
use crate::model::{Loss, Losses, SourcePos};

/// Limit for shown frames of the call stack of an event. Recorders unwind no deeper, but every event may refer to the
/// longest stack.
const FRAMES_SHOWN_MAX: usize = 1024;

impl ArgsWriter {
    /// Adds a source location as an object of file, function and line.
    pub(super) fn location(&mut self, key: &str, location: &Location) {
        self.key("", key.as_bytes());
        write_location(&mut self.json, location);
    }

    /// Adds a log message with the source location of its call.
    pub(super) fn log_message(&mut self, bytes: &[u8], shared: &mut ValueTables<'_>) {
        let (mut message, mut location) = (None, None);
        for field in Fields::new(bytes) {
            let missing = match field.number {
                log_message::BODY_IID => {
                    message = shared.texts.messages.get(field.value.number());
                    message.is_none()
                }
                log_message::SOURCE_LOCATION_IID => {
                    location = shared.texts.locations.get(field.value.number());
                    location.is_none()
                }
                _ => false,
            };
            if missing {
                shared.lose(Loss::MissingText);
            }
        }
        if message.is_none() && location.is_none() {
            return;
        }
        self.key("", b"track_event.log_message");
        self.json.push('{');
        if let Some(message) = message {
            self.json.push_str("\"message\":");
            push_quoted(&mut self.json, &String::from_utf8_lossy(message));
        }
        if let Some(location) = location {
            self.json.push_str(if message.is_some() { "," } else { "" });
            push_location_members(&mut self.json, location);
        }
        self.json.push('}');
    }

    /// Adds the names of frames, outermost first; missing names are counted as losses.
    pub(super) fn stack<'n>(
        &mut self,
        key: &str,
        names: impl Iterator<Item = Option<Cow<'n, [u8]>>>,
        pos: SourcePos,
        losses: &mut Losses,
    ) {
        self.key("", key.as_bytes());
        self.json.push('[');
        for (position, name) in names.enumerate() {
            if position >= FRAMES_SHOWN_MAX {
                losses.add(Loss::DeepNesting, pos);
                break;
            }
            if position > 0 {
                self.json.push(',');
            }
            if name.is_none() {
                losses.add(Loss::MissingText, pos);
            }
            push_quoted(&mut self.json, &String::from_utf8_lossy(&name.unwrap_or_default()));
        }
        self.json.push(']');
    }

    /// Adds a debug annotation as a member of the object.
    pub(super) fn annotation(&mut self, bytes: &[u8], shared: &mut ValueTables<'_>) {
        let key = annotation_name(bytes, shared.texts, shared.pos, shared.losses);
        let type_name = Fields::new(bytes).find(|field| field.number == debug_annotation::PROTO_TYPE_NAME_IID);
        let is_plain = type_name.is_some_and(|field| field.value.number() == PLAIN_KEY);
        self.key(if is_plain { "" } else { "debug." }, key);
        write_annotation(&mut self.json, shared, bytes, 0);
    }
}

/// Returns the value of a numeric annotation, for legacy counters.
pub(super) fn annotation_number(bytes: &[u8]) -> Option<f64> {
    Fields::new(bytes).find_map(|field| match field.number {
        debug_annotation::BOOL_VALUE | debug_annotation::UINT_VALUE | debug_annotation::POINTER_VALUE => {
            Some(field.value.number() as f64)
        }
        debug_annotation::INT_VALUE => Some(field.value.signed() as f64),
        debug_annotation::DOUBLE_VALUE => Some(field.value.double()),
        _ => None,
    })
}

/// Returns the value of a text annotation.
pub(super) fn annotation_text(bytes: &[u8]) -> Option<&[u8]> {
    let text = Fields::new(bytes).find(|field| field.number == debug_annotation::STRING_VALUE);
    text.map(|field| field.value.bytes())
}

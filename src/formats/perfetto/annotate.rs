//! Writes the arguments of an event, a JSON object, as debug annotations. Numbers that no annotation type can hold are
//! written as JSON text.

use rustc_hash::FxHashMap;
use serde_json::Value;

use super::fields::{debug_annotation, interned_data, interned_string, nested_type, nested_value, track_event};
use crate::formats::protobuf::encode::{push_bytes, push_fixed64, push_message, push_number};

/// Limit for interned argument names; more names are written inline, so that memory stays bounded.
const KEYS_MAX: usize = 1 << 16;

/// Perfetto shows annotation keys with this prefix, so the writer strips it from keys that have it.
const PREFIX: &str = "debug.";

/// Value of `PROTO_TYPE_NAME_IID` that marks a key to be shown without the prefix. Only this program writes and reads
/// it; other readers ignore the type name of an annotation without a message.
pub(super) const PLAIN_KEY: u64 = 0;

/// Iids of interned argument names.
#[derive(Debug, Default)]
pub(super) struct AnnotationKeys(FxHashMap<Box<str>, u64>);

impl AnnotationKeys {
    /// Appends the annotations of a JSON object to a track event, and new names to `interned`. Text that is not an
    /// object becomes a single annotation.
    pub(super) fn annotate(&mut self, args_json: &str, event: &mut Vec<u8>, interned: &mut Vec<u8>) {
        if args_json.is_empty() {
            return;
        }
        match serde_json::from_str::<Value>(args_json) {
            Ok(Value::Object(members)) => {
                for (key, value) in &members {
                    push_message(event, track_event::DEBUG_ANNOTATIONS, |bytes| {
                        if !key.starts_with(PREFIX) {
                            push_number(bytes, debug_annotation::PROTO_TYPE_NAME_IID, PLAIN_KEY);
                        }
                        self.key(key.strip_prefix(PREFIX).unwrap_or(key), bytes, interned);
                        self.value(value, bytes, interned);
                    });
                }
            }
            _ => push_message(event, track_event::DEBUG_ANNOTATIONS, |bytes| {
                self.key("args", bytes, interned);
                push_bytes(bytes, debug_annotation::STRING_VALUE, args_json.as_bytes());
            }),
        }
    }

    fn key(&mut self, key: &str, bytes: &mut Vec<u8>, interned: &mut Vec<u8>) {
        let next = self.0.len() as u64 + 1;
        let iid = match self.0.get(key) {
            Some(&iid) => iid,
            None if self.0.len() >= KEYS_MAX => return push_bytes(bytes, debug_annotation::NAME, key.as_bytes()),
            None => {
                push_message(interned, interned_data::DEBUG_ANNOTATION_NAMES, |bytes| {
                    push_number(bytes, interned_string::IID, next);
                    push_bytes(bytes, interned_string::STR, key.as_bytes());
                });
                self.0.insert(key.into(), next);
                next
            }
        };
        push_number(bytes, debug_annotation::NAME_IID, iid);
    }

    fn value(&mut self, value: &Value, bytes: &mut Vec<u8>, interned: &mut Vec<u8>) {
        match value {
            Value::Bool(value) => push_number(bytes, debug_annotation::BOOL_VALUE, u64::from(*value)),
            Value::String(text) => push_bytes(bytes, debug_annotation::STRING_VALUE, text.as_bytes()),
            Value::Object(members) if !members.is_empty() => {
                for (key, value) in members {
                    push_message(bytes, debug_annotation::DICT_ENTRIES, |bytes| {
                        self.key(key, bytes, interned);
                        self.value(value, bytes, interned);
                    });
                }
            }
            Value::Array(items) if !items.is_empty() => {
                for item in items {
                    push_message(bytes, debug_annotation::ARRAY_VALUES, |bytes| self.value(item, bytes, interned));
                }
            }
            Value::Number(number) => {
                if let Some(number) = number.as_i64() {
                    push_number(bytes, debug_annotation::INT_VALUE, number.cast_unsigned());
                } else if let Some(number) = number.as_u64() {
                    push_number(bytes, debug_annotation::UINT_VALUE, number);
                } else {
                    // A number may have more digits than a double.
                    let text = number.to_string();
                    match number.as_f64().filter(|double| is_same_number(*double, &text)) {
                        Some(double) => push_fixed64(bytes, debug_annotation::DOUBLE_VALUE, double.to_bits()),
                        None => push_bytes(bytes, debug_annotation::LEGACY_JSON_VALUE, text.as_bytes()),
                    }
                }
            }
            // An annotation without a value: Perfetto rejects JSON text `null`.
            Value::Null => {}
            // Only the legacy nested form can be empty.
            Value::Object(_) => push_empty(bytes, nested_type::DICT),
            Value::Array(_) => push_empty(bytes, nested_type::ARRAY),
        }
    }
}

fn push_empty(bytes: &mut Vec<u8>, kind: u64) {
    push_message(bytes, debug_annotation::NESTED_VALUE, |bytes| push_number(bytes, nested_value::NESTED_TYPE, kind));
}

/// Returns whether a double prints the same digits as the text.
fn is_same_number(double: f64, text: &str) -> bool {
    let digits = |text: &str| {
        let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
        let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
        digits.trim_matches('0').to_owned()
    };
    double.is_finite() && digits(&format!("{double:?}")) == digits(text)
}

//! Writes the arguments of an event, a JSON object, as debug annotations. Numbers that no annotation type can hold are
//! written as JSON text.

use rustc_hash::FxHashMap;
use serde_json::Value;
use smallvec::SmallVec;

use super::fields::{debug_annotation, interned_data, interned_string, nested_type, nested_value, track_event};
use crate::formats::json::scan::{Broken, JsonValue, Quirks, Scanner, Shape, is_json_scalar};
use crate::formats::protobuf::encode::{push_bytes, push_fixed64, push_message, push_number};

/// Limit for interned argument names; more names are written inline, so that memory stays bounded.
const KEYS_MAX: usize = 1 << 16;

/// Largest number of members whose keys are compared one by one.
const PLAIN_MEMBERS_MAX: usize = 16;

/// Perfetto shows annotation keys with this prefix, so the writer strips it from keys.
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
        if let Some(members) = plain_members(args_json) {
            for (key, value) in &members {
                self.member(key, event, interned, |_, bytes, _| push_plain_value(value, bytes));
            }
        } else {
            self.annotate_parsed(args_json, event, interned);
        }
    }

    /// Does the same for any text.
    fn annotate_parsed(&mut self, args_json: &str, event: &mut Vec<u8>, interned: &mut Vec<u8>) {
        match serde_json::from_str::<Value>(args_json) {
            Ok(Value::Object(members)) => {
                for (key, value) in &members {
                    self.member(key, event, interned, |keys, bytes, interned| keys.value(value, bytes, interned));
                }
            }
            _ => push_message(event, track_event::DEBUG_ANNOTATIONS, |bytes| {
                self.key("args", bytes, interned);
                push_bytes(bytes, debug_annotation::STRING_VALUE, args_json.as_bytes());
            }),
        }
    }

    /// Appends the annotation of a member, whose value `push_value` appends.
    fn member(
        &mut self,
        key: &str,
        event: &mut Vec<u8>,
        interned: &mut Vec<u8>,
        push_value: impl FnOnce(&mut Self, &mut Vec<u8>, &mut Vec<u8>),
    ) {
        push_message(event, track_event::DEBUG_ANNOTATIONS, |bytes| {
            if !key.starts_with(PREFIX) {
                push_number(bytes, debug_annotation::PROTO_TYPE_NAME_IID, PLAIN_KEY);
            }
            self.key(key.strip_prefix(PREFIX).unwrap_or(key), bytes, interned);
            push_value(self, bytes, interned);
        });
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
            Value::Number(number) => push_json_number(number.as_str(), bytes),
            // An annotation without a value: Perfetto rejects JSON text `null`.
            Value::Null => {}
            // Only the legacy nested form can be empty.
            Value::Object(_) => push_empty(bytes, nested_type::DICT),
            Value::Array(_) => push_empty(bytes, nested_type::ARRAY),
        }
    }
}

/// The members of a small object.
type PlainMembers<'a> = SmallVec<[(&'a str, JsonValue<'a>); PLAIN_MEMBERS_MAX]>;

/// Returns the members of an object whose keys differ, and whose texts have no escapes. `None` for all else, such as
/// nested values.
///
/// Equivalent to a `serde_json::Value`, which takes an allocation per key, text and number: a third of the time of an
/// export.
fn plain_members(args_json: &str) -> Option<PlainMembers<'_>> {
    let mut scanner = Scanner::new(args_json.as_bytes(), 0);
    let mut members = PlainMembers::new();
    scanner.expect(b'{').ok()?;
    loop {
        let key = plain_text(&scanner.key().ok()?)?;
        let value = scanner.value(0).ok()?;
        let is_plain = match value.shape {
            Shape::Absent => true,
            Shape::String => plain_text(&value).is_some(),
            Shape::Scalar => is_plain_scalar(value.text),
            Shape::Object | Shape::Array => false,
        };
        if !is_plain || members.len() == PLAIN_MEMBERS_MAX || members.iter().any(|(before, _)| *before == key) {
            return None;
        }
        members.push((key, value));
        match scanner.peek().ok()? {
            b',' => scanner.pos += 1,
            b'}' => break,
            _ => return None,
        }
    }
    scanner.pos += 1;
    // Only white space follows.
    (scanner.peek() == Err(Broken::Incomplete)).then_some(members)
}

/// Returns whether a scalar is valid and keeps its digits: `serde_json` changes the signs of exponents.
fn is_plain_scalar(text: &[u8]) -> bool {
    matches!(text, b"true" | b"false") || is_json_scalar(text) && !text.iter().any(|byte| matches!(byte, b'e' | b'E'))
}

/// Returns the text of a string, if it is the same without the quotes.
fn plain_text<'a>(string: &JsonValue<'a>) -> Option<&'a str> {
    let is_changed =
        [Quirks::ESCAPE, Quirks::CONTROL, Quirks::NOT_JSON].into_iter().any(|quirk| string.quirks.has(quirk));
    std::str::from_utf8(string.text).ok().filter(|_| !is_changed)
}

/// Appends a value of [`plain_members`].
fn push_plain_value(value: &JsonValue<'_>, bytes: &mut Vec<u8>) {
    match (value.shape, value.text) {
        (Shape::String, text) => push_bytes(bytes, debug_annotation::STRING_VALUE, text),
        (_, b"true") => push_number(bytes, debug_annotation::BOOL_VALUE, 1),
        (_, b"false") => push_number(bytes, debug_annotation::BOOL_VALUE, 0),
        (Shape::Scalar, number) => push_json_number(std::str::from_utf8(number).unwrap_or_default(), bytes),
        // Null is an annotation without a value.
        _ => {}
    }
}

/// Appends a number by the digits that it has in JSON.
fn push_json_number(text: &str, bytes: &mut Vec<u8>) {
    if let Ok(number) = text.parse::<i64>() {
        push_number(bytes, debug_annotation::INT_VALUE, number.cast_unsigned());
    } else if let Ok(number) = text.parse::<u64>() {
        push_number(bytes, debug_annotation::UINT_VALUE, number);
    } else {
        // A number may have more digits than a double.
        match text.parse::<f64>().ok().filter(|double| is_same_number(*double, text)) {
            Some(double) => push_fixed64(bytes, debug_annotation::DOUBLE_VALUE, double.to_bits()),
            None => push_bytes(bytes, debug_annotation::LEGACY_JSON_VALUE, text.as_bytes()),
        }
    }
}

fn push_empty(bytes: &mut Vec<u8>, kind: u64) {
    push_message(bytes, debug_annotation::NESTED_VALUE, |bytes| push_number(bytes, nested_value::NESTED_TYPE, kind));
}

/// Returns whether a double prints the same digits as the text.
fn is_same_number(double: f64, text: &str) -> bool {
    fn digits(text: &str) -> impl Iterator<Item = u8> {
        let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
        mantissa.trim_matches(['-', '0', '.']).bytes().filter(u8::is_ascii_digit)
    }
    double.is_finite() && digits(&format!("{double:?}")).eq(digits(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the annotations and new names of an object, of `annotate` and of a parsed value.
    fn annotated(args_json: &str) -> [(Vec<u8>, Vec<u8>); 2] {
        type Annotate = fn(&mut AnnotationKeys, &str, &mut Vec<u8>, &mut Vec<u8>);
        let ways: [Annotate; 2] = [AnnotationKeys::annotate, AnnotationKeys::annotate_parsed];
        ways.map(|annotate| {
            let (mut event, mut interned) = (Vec::new(), Vec::new());
            annotate(&mut AnnotationKeys::default(), args_json, &mut event, &mut interned);
            (event, interned)
        })
    }

    proptest! {
        #[test]
        fn members_are_annotated_as_those_of_a_parsed_value(
            members in proptest::collection::vec(
                (
                    "(debug\\.)?[a-cé]{0,2}",
                    prop_oneof![
                        "\"[a-zé \\u{7f}]{0,9}\"",
                        "-?(0|[1-9][0-9]{0,24})(\\.[0-9]{1,20})?([eE][-+]?[0-9]{1,3})?",
                        prop_oneof![
                            Just("true"), Just("null"), Just("{}"), Just("[1]"), Just("01"), Just("NaN"),
                            Just("\"\\n\""), Just("\"\u{1}\""), Just("\"\\ud800\""),
                        ].prop_map(String::from),
                    ],
                ),
                0..6,
            ),
            space in "[ \n]{0,2}",
            end in prop_oneof![9 => Just("}"), 1 => Just(",}"), 1 => Just(""), 1 => Just("}x")],
        ) {
            let members: Vec<_> = members.iter().map(|(key, value)| format!("\"{key}\"{space}:{value}")).collect();
            let args_json = format!("{space}{{{}{end}{space}", members.join(","));
            let [plain, parsed] = annotated(&args_json);
            prop_assert_eq!(plain, parsed, "{}", args_json);
        }
    }

    #[test]
    fn objects_without_escapes_or_nesting_are_not_parsed() {
        let many = |count: usize| {
            format!("{{{}}}", (0..count).map(|key| format!("\"{key}\":1")).collect::<Vec<_>>().join(","))
        };
        let counted = |text: &str| plain_members(text).map(|members| members.len());
        assert_eq!(counted(r#" {"a" : "é", "b": -1.5, "c":null} "#), Some(3));
        assert_eq!([counted(&many(16)), counted(&many(17))], [Some(16), None]);
        for other in [r#"{"a":1,"a":2}"#, r#"{"a":"\n"}"#, r#"{"a":{}}"#, r#"{"a":1e5}"#, "{}", "[]", "1"] {
            assert_eq!(counted(other), None, "{other}");
        }
    }
}

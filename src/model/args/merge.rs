//! Merges the arguments of a span's begin with the arguments of its end. Values are copied as text: building trees of
//! both took a third of the import of kernel traces, where every call has arguments at both.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::fmt;

use rustc_hash::{FxBuildHasher, FxHashMap};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::JsonText;

/// Merges two JSON objects into one. A member of `ended` replaces the member of `begun` with the same key, in its
/// position. If only one text is an object, returns it; if neither is, returns `begun`.
pub(super) fn merge_objects(begun: &str, ended: &str) -> String {
    let parse = |text| serde_json::from_str::<Members<'_>>(text);
    match (parse(begun), parse(ended)) {
        (Ok(Members(mut members)), Ok(Members(ended_members))) => {
            members.extend(ended_members);
            write_object(&unique_by_key(&members), begun.len() + ended.len())
        }
        (Err(_), Ok(_)) => ended.to_owned(),
        _ => begun.to_owned(),
    }
}

/// Returns the last member of each key, in the order in which the keys first appear.
fn unique_by_key<'m, 'a>(members: &'m [Member<'a>]) -> Vec<&'m Member<'a>> {
    let mut unique = Vec::with_capacity(members.len());
    let mut position_of_key = FxHashMap::with_capacity_and_hasher(members.len(), FxBuildHasher);
    for member in members {
        match position_of_key.entry(&*member.0) {
            Entry::Occupied(position) => unique[*position.get()] = member,
            Entry::Vacant(position) => {
                position.insert(unique.len());
                unique.push(member);
            }
        }
    }
    unique
}

fn write_object(members: &[&Member<'_>], capacity: usize) -> String {
    let mut json = String::with_capacity(capacity);
    for (key, value) in members {
        json.push(if json.is_empty() { '{' } else { ',' });
        match key {
            // A key without escapes is borrowed from the text, and is written as it was.
            Cow::Borrowed(key) => {
                json.push('"');
                json.push_str(key);
                json.push('"');
            }
            Cow::Owned(key) => json.push_str(&serde_json::Value::from(&**key).to_string()),
        }
        json.push(':');
        json.push_str(value.get());
    }
    json.push_str(if json.is_empty() { "{}" } else { "}" });
    json
}

/// A key, and the text of its value.
type Member<'a> = (Cow<'a, str>, &'a RawValue);

/// The members of a JSON object, in order; a key may repeat.
struct Members<'a>(Vec<Member<'a>>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;

        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((JsonText(key), value)) = map.next_entry()? {
                    members.push((key, value));
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(MembersVisitor)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn values_of_the_end_replace_those_of_the_begin_in_their_position() {
        for (begun, ended, merged) in [
            (r#"{"a":1,"b":2}"#, r#"{"b":3.10,"c":[1, 2]}"#, r#"{"a":1,"b":3.10,"c":[1, 2]}"#),
            (r#"{"a":1}"#, r#"{"\u0061":2}"#, r#"{"a":2}"#),
            (r#"{"a\n":1}"#, r#"{"b\"":"\u00e9"}"#, r#"{"a\n":1,"b\"":"\u00e9"}"#),
            (
                r#"{"a":1,"a":2}"#,
                r#"{"b":123456789012345678901234567890}"#,
                r#"{"a":2,"b":123456789012345678901234567890}"#,
            ),
            ("{}", r#"{"a":1}"#, r#"{"a":1}"#),
            ("{}", "{}", "{}"),
            ("[1]", r#"{"a":1}"#, r#"{"a":1}"#),
            (r#"{"a":1}"#, r#"{"a":"#, r#"{"a":1}"#),
            ("null", "[1]", "null"),
        ] {
            assert_eq!(merge_objects(begun, ended), merged, "{begun} and {ended}");
        }
    }

    #[test]
    fn many_members_are_merged_in_order() {
        let object = |range: std::ops::Range<usize>| {
            let members: Vec<String> = range.map(|key| format!(r#""k{key}":{key}"#)).collect();
            format!("{{{}}}", members.join(","))
        };
        assert_eq!(merge_objects(&object(0..200_000), &object(100_000..300_000)), object(0..300_000));
    }

    /// The oracle: parses both objects and merges their trees.
    fn merged_trees(begun: &str, ended: &str) -> String {
        type Object = serde_json::Map<String, serde_json::Value>;
        let mut merged: Object = serde_json::from_str(begun).expect("an object");
        merged.extend(serde_json::from_str::<Object>(ended).expect("an object"));
        serde_json::Value::Object(merged).to_string()
    }

    fn object() -> impl Strategy<Value = String> {
        let value =
            prop_oneof![Just("1"), Just("-0.50"), Just("\"x\\n\""), Just("{\"a\":[1,{}]}"), Just("null"), Just("[]"),];
        let key = prop_oneof![Just("a"), Just("b"), Just("\\u0061"), Just("é"), Just("\\\""), Just("")];
        prop::collection::vec((key, value), 0..40).prop_map(|members| {
            let members: Vec<String> = members.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
            format!("{{{}}}", members.join(","))
        })
    }

    proptest! {
        #[test]
        fn merged_text_is_that_of_merged_trees(begun in object(), ended in object()) {
            prop_assert_eq!(merge_objects(&begun, &ended), merged_trees(&begun, &ended));
        }
    }
}

//! Deserializers for members that many tools write in other types than their format says. A record is shown without
//! such a member, or with its text. A list is shown without its elements of other types, which its reader counts.

use std::fmt;
use std::ops::Deref;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// Deserializes a value of another type as the default, like an absent member.
pub(crate) fn or_default<'de, T: Deserialize<'de> + Default, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    let value = <&RawValue>::deserialize(deserializer)?;
    Ok(serde_json::from_str(value.get()).unwrap_or_default())
}

/// Deserializes a text, a number or a flag as its text; other values are the default, like an absent member.
pub(crate) fn text<'de, T: From<String> + Default, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) => text.into(),
        Value::Number(number) => number.to_string().into(),
        Value::Bool(flag) => flag.to_string().into(),
        Value::Null | Value::Array(_) | Value::Object(_) => T::default(),
    })
}

/// A list of values of one type. Elements of other types are only counted. A value of another type is an empty list,
/// like an absent member.
#[derive(Debug)]
pub(crate) struct LenientList<T> {
    elements: Vec<T>,
    /// Number of elements of other types, which the reader adds to its losses.
    pub(crate) bad_count: u64,
}

impl<T> LenientList<T> {
    pub(crate) fn into_elements(self) -> Vec<T> {
        self.elements
    }

    pub(crate) fn extend(&mut self, elements: Vec<T>) {
        self.elements.extend(elements);
    }
}

impl<T> Default for LenientList<T> {
    fn default() -> Self {
        Self { elements: Vec::new(), bad_count: 0 }
    }
}

impl<T> Deref for LenientList<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.elements
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for LenientList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = <&RawValue>::deserialize(deserializer)?;
        let mut list = Self::default();
        // The text is valid JSON, so only a value of another type fails.
        drop(serde_json::Deserializer::from_str(value.get()).deserialize_seq(ListVisitor(&mut list)));
        Ok(list)
    }
}

/// Adds the elements of an array to a list, one at a time, since an array of bad ones may be long.
struct ListVisitor<'l, T>(&'l mut LenientList<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<'_, T> {
    type Value = ();

    fn expecting(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        while let Some(text) = elements.next_element::<&'de RawValue>()? {
            match serde_json::from_str(text.get()) {
                Ok(element) => self.0.elements.push(element),
                Err(_) => self.0.bad_count += 1,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Members {
        #[serde(default, deserialize_with = "text")]
        id: String,
        #[serde(default, deserialize_with = "text")]
        note: Option<String>,
        #[serde(default, deserialize_with = "or_default")]
        list: Vec<u8>,
    }

    #[test]
    fn members_of_other_types_are_texts_or_absent() {
        for (value, shown) in [
            (r#""a""#, Some("a")),
            (r#""\u0061\n""#, Some("a\n")),
            ("-7", Some("-7")),
            ("18446744073709551615", Some("18446744073709551615")),
            ("1.5", Some("1.5")),
            ("true", Some("true")),
            ("null", None),
            (r#"["x",{"y":1}]"#, None),
            (r#"{"x":["y"]}"#, None),
        ] {
            let json = format!(r#"{{"id":{value},"note":{value},"list":{value}}}"#);
            let expected =
                Members { id: shown.unwrap_or_default().into(), note: shown.map(Into::into), list: Vec::new() };
            assert_eq!(serde_json::from_str::<Members>(&json).expect("any type"), expected, "{value}");
        }
        let listed: Members = serde_json::from_str(r#"{"list":[1,2]}"#).expect("a list");
        assert_eq!(listed, Members { id: String::new(), note: None, list: vec![1, 2] });
    }

    #[test]
    fn elements_of_other_types_are_counted_and_the_others_kept() {
        for (json, elements, bad_count) in [
            ("[1,2]", &[1, 2][..], 0),
            (r#"[1,"x",2,null,[3],256]"#, &[1, 2], 4),
            ("[]", &[], 0),
            ("null", &[], 0),
            (r#"{"x":1}"#, &[], 0),
        ] {
            let list: LenientList<u8> = serde_json::from_str(json).expect("any type");
            assert_eq!((&*list, list.bad_count), (elements, bad_count), "{json}");
        }
    }
}

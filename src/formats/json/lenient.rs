//! Deserializers for members that many tools write in other types than their format says. A record is shown without
//! such a member, or with its text. Members that place an event in time are not deserialized by these.

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
}

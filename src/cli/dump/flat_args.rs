//! Flattens arguments to pairs of a path and a plain value, such as `args.a.b[0]`. Numbers keep their text.

use std::fmt::Write;

use serde_json::{Map, Value};

/// The prefix of every path.
const ROOT: &str = "args";

/// Returns the pairs of one JSON object, in its order; invalid text is one pair with the text itself.
pub(super) fn flat_args(args_json: &str) -> Vec<(String, Value)> {
    let mut pairs = Vec::new();
    if args_json.is_empty() {
        return pairs;
    }
    match serde_json::from_str::<Map<String, Value>>(args_json) {
        Ok(object) => {
            let mut path = ROOT.to_owned();
            members(&mut path, object, &mut pairs);
        }
        Err(_) => pairs.push((ROOT.to_owned(), Value::from(args_json))),
    }
    pairs
}

// Recursion is bounded by the parser's limit of 128.
fn flatten(path: &mut String, value: Value, pairs: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(object) if !object.is_empty() => members(path, object, pairs),
        Value::Array(items) if !items.is_empty() => {
            let length = path.len();
            for (index, item) in items.into_iter().enumerate() {
                let _ = write!(path, "[{index}]"); // writing to memory cannot fail
                flatten(path, item, pairs);
                path.truncate(length);
            }
        }
        // An empty container is still information.
        plain => pairs.push((path.clone(), plain)),
    }
}

fn members(path: &mut String, object: Map<String, Value>, pairs: &mut Vec<(String, Value)>) {
    let length = path.len();
    for (key, value) in object {
        path.push('.');
        path.push_str(&key);
        flatten(path, value, pairs);
        path.truncate(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(args_json: &str) -> String {
        let pairs = flat_args(args_json).into_iter();
        pairs.map(|(path, value)| format!("{path}={value}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn nested_arguments_become_paths_in_the_order_of_the_capture() {
        assert_eq!(
            text_of(r#"{"z":1,"a":{"b":[true,{"c":"x"}]},"n":null,"e":{}}"#),
            r#"args.z=1 args.a.b[0]=true args.a.b[1].c="x" args.n=null args.e={}"#
        );
    }

    #[test]
    fn a_number_beyond_64_bits_keeps_its_digits() {
        assert_eq!(
            text_of(r#"{"a":123456789012345678901234567890,"b":1.10}"#),
            "args.a=123456789012345678901234567890 args.b=1.10"
        );
    }

    #[test]
    fn text_that_is_not_an_object_is_not_lost() {
        assert_eq!(text_of("{\"a\":"), r#"args="{\"a\":""#);
        assert_eq!(text_of(""), "");
    }
}

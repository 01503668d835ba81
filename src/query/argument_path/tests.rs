//! Paths against a naive look-up, and the words that are written for the members of random arguments.

use proptest::prelude::*;
use serde_json::{Map, json};

use super::*;
use crate::query::filter::{Filter, Test};
use crate::query::groups::GroupBy;

/// Keys that collide when they are joined, and keys with marks of the filter language.
const KEYS: [&str; 12] = ["a", "b", "a.b", "b.a", "a.b.a", "", "a.", ".", "a b", "\"a\\", "-/x:=<", "a!"];

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        (0i64..3).prop_map(Value::from),
        prop::sample::select(vec!["", "x", "say \"x\" \\", "1", "/a b/", "~"]).prop_map(Value::from),
        prop::sample::select(vec![json!(null), json!(true), json!(1.5), json!([1, {"a": 2}])]),
    ];
    leaf.prop_recursive(4, 40, 5, |value| {
        let members = prop::collection::vec((prop::sample::select(&KEYS[..]), value), 0..5);
        members.prop_map(|members| {
            Value::Object(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>())
        })
    })
}

/// Tries each way to join neighbouring parts. Keys that join more of the first parts are tried earlier.
fn naive<'v>(root: &'v Value, parts: &[&str]) -> Option<&'v Value> {
    let gaps = parts.len() - 1;
    (0u32..1 << gaps).find_map(|separate| {
        let mut keys = vec![parts[0].to_owned()];
        for (gap, part) in parts[1..].iter().enumerate() {
            if separate & (1 << (gaps - 1 - gap)) == 0 {
                keys.last_mut().unwrap().extend([".", part]);
            } else {
                keys.push((*part).to_owned());
            }
        }
        keys.iter().try_fold(root, |value, key| value.get(key))
    })
}

/// Returns the keys of all members of objects within objects.
fn members<'v>(value: &'v Value, keys: &[&'v str]) -> Vec<Vec<&'v str>> {
    let inside = value.as_object().into_iter().flatten();
    let inside = inside.map(|(key, value)| (keys.iter().copied().chain([&**key]).collect::<Vec<_>>(), value));
    inside.flat_map(|(keys, value)| [vec![keys.clone()], members(value, &keys)].concat()).collect()
}

fn is_same(one: Option<&Value>, other: Option<&Value>) -> bool {
    one.map(std::ptr::from_ref) == other.map(std::ptr::from_ref)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_path_reads_what_a_naive_look_up_reads(
        root in values(),
        parts in prop::collection::vec(prop::sample::select(&KEYS[..]), 1..6),
    ) {
        let path = ArgumentPath::from_parts(parts.iter().copied());
        prop_assert!(path.parts().eq(parts.iter().copied()));
        prop_assert!(is_same(path.find(&root), naive(&root, &parts)));
        prop_assert_eq!(ArgumentPath::parse(&path.to_string()), Some(path));
    }

    #[test]
    fn the_words_for_a_member_read_it(root in values()) {
        for keys in members(&root, &[]) {
            let member = keys.iter().try_fold(&root, |value, key| value.get(key));
            let Some(path) = ArgumentPath::from_member(&root, &keys) else {
                let split: Vec<&str> = keys.iter().flat_map(|key| key.split('.')).collect();
                prop_assert!([split, keys].iter().all(|parts| !is_same(naive(&root, parts), member)));
                continue;
            };
            prop_assert!(is_same(path.find(&root), member));
            let text = value_text(member.unwrap());
            let word = path.filter(&text);
            let filter = Filter::parse(&word).unwrap_or_else(|error| panic!("{word}: {error}"));
            let [term] = &filter.terms[..] else { panic!("{word}: {filter:?}") };
            let Test::Argument { path: read, test } = &term.test else { panic!("{word}: {term:?}") };
            prop_assert!(!term.negated && *read == path && test.holds(&text) && !test.holds("other"), "{}", word);
            let by = GroupBy::Argument(path);
            prop_assert_eq!(by.to_string().parse(), Ok(by));
        }
    }
}

#[test]
fn both_spellings_read_both_forms_and_the_key_with_the_dot_wins() {
    let path = ArgumentPath::parse("http.status").unwrap();
    for args in [json!({"http.status": 200}), json!({"http": {"status": 200}})] {
        assert_eq!(path.find(&args), Some(&json!(200)), "{args}");
    }
    let both = json!({"http": {"status": 1}, "http.status": 2});
    assert_eq!(path.find(&both), Some(&json!(2)));
    assert_eq!(ArgumentPath::from_member(&both, &["http.status"]), Some(path));
    assert_eq!(ArgumentPath::from_member(&both, &["http", "status"]), None);
    let quoted = ArgumentPath::parse("\"http.status\"").unwrap();
    assert_eq!(quoted.find(&json!({"http": {"status": 1}})), None, "dots in quotes separate nothing");
    // A longer key that leads nowhere does not hide a shorter one.
    let path = ArgumentPath::parse("a.b.c").unwrap();
    assert_eq!(path.find(&json!({"a.b": 1, "a": {"b.c": 2, "b": 3}})), Some(&json!(2)));
}

#[test]
fn empty_parts_and_open_quotes_are_not_paths() {
    for text in ["", "a.", ".a", "a..b", "\"a", "a.\"b"] {
        assert_eq!(ArgumentPath::parse(text), None, "{text}");
    }
    let path = ArgumentPath::parse(r#"a."b \"c\".\d"x."""#).unwrap();
    assert!(path.parts().eq(["a", r#"b "c".\dx"#, ""]), "{path:?}");
    assert_eq!(path.to_string(), r#"a."b \"c\".\\dx".""#.to_owned() + "\"");
}

//! Compares documents with `serde_json`: the same values at the same offsets for any block size.

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::base::budget::Budget;
use crate::formats::ChunkLimits;
use crate::formats::testing::file_of;

fn open(bytes: &[u8], block_bytes: usize) -> Document {
    let file = file_of(bytes);
    let context = ReadContext {
        chunk_limits: ChunkLimits { block_bytes: Some(block_bytes), ..ChunkLimits::default() },
        ..ReadContext::default()
    };
    Document::open(Source::open(file.path(), &context).expect("a file"), &context).expect("a document")
}

/// Returns the element texts of the array member `a`, the number of damaged ones, and whether the file is truncated.
fn elements(bytes: &[u8], block_bytes: usize) -> (Vec<String>, u64, bool) {
    let document = open(bytes, block_bytes);
    let [array] = document.pick(document.whole(), ["a"]).expect("read");
    let (mut found, mut losses) = (Vec::new(), Losses::default());
    let mut elements = document.elements(array);
    while let Some(element) = elements.next().expect("read") {
        found.extend(element.parse::<Value>(&mut losses).map(|value| value.to_string()));
    }
    (found, losses.total(), document.is_cut.get())
}

/// Any JSON, including strings that contain JSON syntax.
fn json() -> impl Strategy<Value = Value> {
    let text = r#"[a\[\]{}",:\\ é]{0,6}"#;
    let leaf = prop_oneof![Just(Value::Null), any::<f64>().prop_map(Into::into), text.prop_map(Into::into)];
    leaf.prop_recursive(4, 30, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
            prop::collection::btree_map(text, inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn members_and_elements_are_those_of_reading_it_whole(
        members in prop::collection::btree_map("[a-c]|[a{},:]{1,3}", json(), 0..6), is_pretty in any::<bool>(), block_bytes in 1usize..40,
    ) {
        let whole = Value::Object(members.clone().into_iter().collect());
        let text = if is_pretty { serde_json::to_string_pretty(&whole) } else { serde_json::to_string(&whole) }.expect("JSON");
        let document = open(text.as_bytes(), block_bytes);
        let mut found = document.members(document.whole());
        let mut seen = std::collections::BTreeMap::new();
        while let Some((key, value)) = found.next().expect("read") {
            let parsed: Value = serde_json::from_slice(&document.text(value).expect("read")).expect("JSON");
            let items = {
                let (mut items, mut all) = (document.items(Some(value)), Vec::new());
                while let Some(item) = items.next().expect("read") {
                    all.push(serde_json::from_slice::<Value>(&document.text(item).expect("read")).expect("JSON"));
                }
                all
            };
            let mut elements = document.elements(Some(value));
            let mut all = Vec::new();
            while let Some(element) = elements.next().expect("read") {
                all.push(element.parse::<Value>(&mut Losses::default()).expect("JSON"));
            }
            prop_assert_eq!(&items[..], parsed.as_array().map_or(&[][..], |items| items));
            prop_assert_eq!(all, items);
            seen.insert(String::from_utf8(key).expect("UTF-8"), parsed);
        }
        prop_assert_eq!(seen, members);
        prop_assert!(!document.is_cut.get());
    }

    #[test]
    fn a_document_that_is_cut_has_the_elements_before_the_cut(count in 1usize..6, cut in 7usize..60, block_bytes in 1usize..40) {
        let all: Vec<String> = (0..count).map(|k| format!(r#"{{"k":[{k}]}}"#)).collect();
        let text = format!(r#"{{"a":[{}],"b":1}}"#, all.join(","));
        let cut = cut.min(text.len() - 1);
        let (found, lost, is_cut) = elements(&text.as_bytes()[..cut], block_bytes);
        prop_assert!(is_cut);
        prop_assert_eq!(lost, 0);
        prop_assert_eq!(&found[..], &all[..found.len()]);
        // Elements that are complete before the cut, each with its separator.
        prop_assert_eq!(found.len(), all.iter().scan(6, |end, text| { *end += text.len(); let fits = *end <= cut; *end += 1; Some(fits) }).filter(|&fits| fits).count());
    }
}

#[test]
fn damage_costs_the_element_that_it_is_in() {
    let good = [r#"{"k":1}"#, r#"{"k":{"x":"},{"}}"#, r#"{"k":3}"#, r#"{"k":4}"#];
    for damaged in [
        r#"{"k:2}"#,
        r#"{k":2}"#,
        r#"{"k":2"#,
        r#"{"k"2}"#,
        "{\"k\":\0\0}",
        r#"{"k":<tru>}"#,
        r#"{"k":[{"a":1},{"b":?},{"c":[{},{}]},{}]}"#,
        r#"{"k":[{"a":1} {"b":2},{"c":"]"},{}]}"#,
        r#"{"k":"a"b"}"#,
        r#"{"k":[2}"#,
    ] {
        let text = format!(r#"{{"a":[{},{},{damaged},{},{}],"b":1}}"#, good[0], good[1], good[2], good[3]);
        for block_bytes in [1, 7, 1000] {
            let (found, lost, is_cut) = elements(text.as_bytes(), block_bytes);
            // The missing bracket may belong to the array.
            let is_in_doubt = damaged == r#"{"k":[2}"#;
            assert_eq!(
                (&found[..], lost, is_cut),
                (&good.map(str::to_owned)[..], 1, is_in_doubt),
                "{damaged} {block_bytes}"
            );
            // Members after the array are still found.
            let document = open(text.as_bytes(), block_bytes);
            let [after] = document.pick(document.whole(), ["b"]).expect("read");
            assert!(after.is_some() || is_in_doubt, "{damaged}");
        }
    }
}

#[test]
fn values_that_are_not_strict_json_are_repaired_and_cost_no_other_element() {
    let element = |value: &str| format!(r#"{{"k":[{{"x":1}},{{"x":{value}}},{{"x":2}}]}}"#);
    for (written, repaired, lost) in [
        ("NaN", r#""NaN""#, None),
        ("-Infinity", r#""-Infinity""#, None),
        ("[1,]", "[1]", None),
        (r#""a\ud83d""#, "\"a\u{fffd}\"", Some(Loss::BadUtf8)),
        (r#""a\ud83d\ude00""#, r#""a😀""#, None),
        ("\"a\tb\"", r#""a\tb""#, Some(Loss::ControlCharacter)),
    ] {
        let text = format!(r#"{{"a":[{},{},{}],"b":1}}"#, element("1"), element(written), element("3"));
        for block_bytes in [1, 7, 1000] {
            let document = open(text.as_bytes(), block_bytes);
            let [array] = document.pick(document.whole(), ["a"]).expect("read");
            let (mut found, mut losses) = (Vec::new(), Losses::default());
            let mut elements = document.elements(array);
            while let Some(parsed) = elements.next().expect("read") {
                found.extend(parsed.parse::<Value>(&mut losses).map(|value| value.to_string()));
            }
            assert_eq!(found, [element("1"), element(repaired), element("3")], "{written} {block_bytes}");
            let found: Vec<_> = losses.iter().map(|entry| (entry.loss, entry.count)).collect();
            assert_eq!(found, lost.map(|loss| (loss, 1)).into_iter().collect::<Vec<_>>(), "{written}");
        }
    }
    // A byte of Latin-1.
    let expected = ["{\"k\":\"caf\u{fffd}\"}".to_owned(), r#"{"k":1}"#.to_owned()].to_vec();
    assert_eq!(elements(b"{\"a\":[{\"k\":\"caf\xe9\"},{\"k\":1}]}", 7), (expected, 1, false));
}

#[test]
fn tables_beyond_their_share_of_the_budget_are_refused_and_what_is_dropped_makes_room() {
    let file = file_of(b"{}");
    let context = ReadContext { budget: Budget::new(16 << 20), ..ReadContext::default() };
    let document = Document::open(Source::open(file.path(), &context).expect("a file"), &context).expect("a document");
    for _ in 0..3 {
        let mut charge = document.table_charge();
        for _ in 0..3 {
            charge.add(1 << 20, 7).expect("room");
        }
    }
    assert_eq!(context.budget.peak_bytes(), 3 << 20);
    let (mut one, mut other) = (document.table_charge(), document.table_charge());
    one.add(3 << 20, 7).expect("room");
    let error = other.add(2 << 20, 7).expect_err("too much").to_string();
    assert!(error.contains("byte 7: expected tables of at most 4194304 bytes"), "{error}");
}

#[test]
fn a_large_addition_is_charged_as_a_whole() {
    let file = file_of(b"{}");
    let context = ReadContext { budget: Budget::new(64 << 20), ..ReadContext::default() };
    let document = Document::open(Source::open(file.path(), &context).expect("a file"), &context).expect("a document");
    let mut charge = document.table_charge();
    charge.add(5 << 20, 7).expect("room");
    assert_eq!(context.budget.peak_bytes(), 5 << 20);
}

#[test]
fn data_after_a_document_is_another_one_or_counted_and_a_stray_brace_is_neither() {
    let lost_at = |text: &str, block_bytes: usize| {
        let document = open(text.as_bytes(), block_bytes);
        let [a] = document.pick(document.whole(), ["a"]).expect("read");
        assert!(a.is_some(), "{text}");
        let next = document.next_document().expect("read").map(|extent| extent.start);
        let mut losses = Losses::default();
        // The next document is not read here.
        document.count_rest(&mut losses).expect("read");
        (next, losses.iter().map(|lost| (lost.loss, lost.first)).collect::<Vec<_>>())
    };
    let trailing = |offset: u64| vec![(Loss::TrailingData, SourcePos::Offset(offset))];
    for block_bytes in [1, 3, 1000] {
        for (text, next, lost) in [
            (r#"{"a":[1]}"#, None, vec![]),
            ("{\"a\":{}}\r\n \t", None, vec![]),
            (r#"{"a":1},"#, None, vec![]),
            (r#"{"a":[1]}{"a":2}"#, Some(9), vec![]),
            ("{\"a\":[1]}\n, [2]", Some(12), vec![]),
            (r#"{"a":[1]} trailing"#, None, trailing(10)),
            (r#"{"a":[1]} "trailing""#, None, trailing(10)),
            (r#"{"a":[1]} garbage {"a":2}"#, None, trailing(10)),
            ("{\"a\":1}\0\0", None, trailing(7)),
            (r#"{"x":{}},"a":1}"#, None, vec![]),
            (r#"{"x":1}}"a":1}"#, None, vec![]),
            (r#"{"a":[1]"#, None, vec![(Loss::Truncated, SourcePos::Offset(8))]),
        ] {
            assert_eq!(lost_at(text, block_bytes), (next, lost), "{text} {block_bytes}");
        }
    }
}

#[test]
fn an_element_beyond_the_limit_is_read_without_unused_members_or_counted_as_over_it() {
    let long = "],{\\\"".repeat(VALUE_BYTES_MAX / 5 + 1);
    let text = format!(r#"{{"a":[{{"k":0}},{{"k":1,"body":[{{"k":"{long}"}}]}},{{"k":2}}],"b":3}}"#);
    let document = open(text.as_bytes(), 1 << 20);
    let [array, after] = document.pick(document.whole(), ["a", "b"]).expect("read");
    assert!(after.is_some());
    for (used_keys, kept, over_limit) in [(&[][..], &[0, 2][..], 1), (&["k"], &[0, 1, 2], 0)] {
        let (mut elements, mut losses) = (document.elements(array).with_used_keys(used_keys), Losses::default());
        let mut found = Vec::new();
        while let Some(element) = elements.next().expect("read") {
            found.extend(element.parse::<Value>(&mut losses).map(|value| value["k"].as_i64().expect("a number")));
        }
        assert_eq!((&found[..], losses.count(Loss::OverLimit), losses.total()), (kept, over_limit, over_limit));
    }
    let [array] = document.pick(document.whole(), ["a"]).expect("read");
    assert_eq!(document.value::<Value>(array, &mut Losses::default()).expect("read"), None);
}

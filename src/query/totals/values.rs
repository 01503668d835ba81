//! Assigns indices to the values of an argument, to sum spans by them. Equal numbers are one value however they are
//! written, as in a filter.
//!
//! Memory is bounded: values beyond the first 65,536, or beyond 16 MiB of text, are merged into one group.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde_json::Value;

use crate::model::args::Detail;
use crate::query::argument_path::{ArgumentPath, group_text};
use crate::query::groups::SpanGroup;
use crate::query::snapshot::Snapshot;
use crate::store::DetailRef;
use crate::store::details::DetailReader;

/// Limit for the number of separate values.
pub(crate) const VALUES_MAX: usize = 1 << 16;

/// Limit for the text bytes of separate values.
pub(crate) const VALUE_TEXT_BYTES_MAX: usize = 16 << 20;

/// The group of spans without the argument.
const MISSING: u32 = 0;

/// The group of spans with values beyond the limit.
const OTHERS: u32 = 1;

/// The group of the first value.
const FIRST: u32 = 2;

/// The argument value of a group of spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum GroupValue<'a> {
    /// Text verbatim, anything else as JSON.
    Text(&'a str),
    /// The spans have no such argument.
    Missing,
    /// Any of the values beyond the limits, merged into one group.
    Others,
}

impl<'a> GroupValue<'a> {
    /// Returns the value of a group, given the texts of all.
    pub(super) fn new(group: SpanGroup, texts: &'a [Arc<str>]) -> Self {
        match group.name.0 {
            MISSING => Self::Missing,
            number => match number.checked_sub(FIRST).and_then(|number| texts.get(number as usize)) {
                Some(text) => Self::Text(text),
                None => Self::Others,
            },
        }
    }
}

/// The values of an argument, by their text.
#[derive(Debug)]
pub(super) struct ValueTable<'a> {
    path: &'a ArgumentPath,
    numbers: FxHashMap<Arc<str>, u32>,
    /// Text of each value, in order of first appearance.
    pub(super) texts: Vec<Arc<str>>,
    bytes: usize,
}

impl<'a> ValueTable<'a> {
    pub(super) fn new(path: &'a ArgumentPath) -> Self {
        Self { path, numbers: FxHashMap::default(), texts: Vec::new(), bytes: 0 }
    }

    /// Returns the index of a row's value.
    pub(super) fn number(&mut self, snapshot: &Snapshot, detail: DetailRef, reader: &mut DetailReader) -> u32 {
        if detail == DetailRef::default() {
            return MISSING;
        }
        let blob = snapshot.store().detail(detail, reader);
        let Ok(args) = serde_json::from_str(Detail::decode(blob).args_json) else { return MISSING };
        self.path.find(&args).map_or(MISSING, |value| self.number_of_value(value))
    }

    fn number_of_value(&mut self, value: &Value) -> u32 {
        self.number_of(&group_text(value))
    }

    fn number_of(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        if self.texts.len() >= VALUES_MAX || self.bytes + text.len() > VALUE_TEXT_BYTES_MAX {
            return OTHERS;
        }
        let (text, number) = (Arc::<str>::from(text), FIRST + self.texts.len() as u32);
        self.bytes += text.len();
        self.numbers.insert(Arc::clone(&text), number);
        self.texts.push(text);
        number
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::model::NameIdx;
    use crate::query::filter::{Filter, Test};

    #[test]
    fn equal_numbers_are_one_value_however_they_are_written() {
        let path = ArgumentPath::default();
        let mut values = ValueTable::new(&path);
        let mut number = |json: &str| values.number_of_value(&serde_json::from_str(json).expect("JSON"));
        let one = number("1.0");
        assert_eq!([number("1"), number("1e0"), number("10e-1")], [one; 3]);
        // Texts are equal by their letters only, and large numbers are not rounded.
        assert_eq!(number("\"1\""), one);
        assert_ne!(number("\"1.0\""), one);
        assert_ne!(number("9007199254740993"), number("9007199254740992"));
        assert_eq!(&*values.texts[0], "1");
    }

    #[test]
    fn the_rows_of_values_are_the_same_in_any_order_and_have_what_their_filter_finds() {
        let all = ["1", "1.0", "\"1\"", "100000", "1E5", "\"1E5\"", "\"100000\"", "\"a\"", "0.50", "\"0.5\""];
        let json: Vec<Value> = all.iter().map(|json| serde_json::from_str(json).expect("JSON")).collect();
        let path = ArgumentPath::default();
        let rows_of = |values: &[Value]| {
            let mut table = ValueTable::new(&path);
            let mut rows = BTreeMap::new();
            for value in values {
                let number = table.number_of_value(value);
                *rows.entry(table.texts[(number - FIRST) as usize].to_string()).or_insert(0) += 1;
            }
            rows
        };
        let rows = rows_of(&json);
        for first in 0..json.len() {
            let mut other = json.clone();
            other.rotate_left(first);
            assert_eq!(rows_of(&other), rows);
        }
        let expected = [("0.5", 2), ("1", 3), ("100000", 3), ("1E5", 1), ("a", 1)];
        assert_eq!(rows, expected.map(|(text, count)| (text.to_owned(), count)).into());
        for (text, count) in rows.into_iter().filter(|(text, _)| text != "1E5") {
            let filter = Filter::parse(&format!("arg.k={text}")).expect("a filter");
            let Test::Argument { test, .. } = &filter.terms[0].test else { panic!("{text}") };
            assert_eq!(json.iter().filter(|value| test.holds_value(value)).count(), count, "{text}");
        }
    }

    #[test]
    fn values_beyond_the_bounds_are_one_group() {
        let path = ArgumentPath::default();
        let mut values = ValueTable::new(&path);
        let long = "x".repeat(VALUE_TEXT_BYTES_MAX);
        let first = values.number_of("a");
        assert_eq!((values.number_of("a"), values.number_of(&long)), (first, OTHERS));
        for number in 0..VALUES_MAX {
            values.number_of(&number.to_string());
        }
        assert_eq!(values.number_of("one more"), OTHERS);
        assert_eq!(values.number_of("7"), values.numbers["7"], "values that are told apart stay so");
        let value = |number| GroupValue::new(SpanGroup::from_name(NameIdx(number)), &values.texts);
        assert_eq!(
            [value(MISSING), value(OTHERS), value(first)],
            [GroupValue::Missing, GroupValue::Others, GroupValue::Text("a")]
        );
    }
}

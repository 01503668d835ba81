//! Finds the known fields of a record of the event array, without decoding them.

use std::ops::Index;

use super::fields::RecordField;
use super::leads::{LeadIdx, Leads, LeadsTo};
use crate::formats::json::scan::{Broken, JsonValue, Scanner, Shape, plain_number, plain_text};

/// The members of one record. Absent and `null` members are [`Shape::Absent`]; of duplicates the last counts.
#[derive(Debug, Clone, Default)]
pub(super) struct ChromeRecord<'a> {
    /// By [`RecordField`]; entries of fields without a single value are unused.
    values: [JsonValue<'a>; RecordField::COUNT],
    /// Members that the format does not define.
    pub(super) others: Vec<(JsonValue<'a>, JsonValue<'a>)>,
    /// Rare members: stacks, sample fields, and extensions of this program's exports. These are the depth of a flow
    /// point, the CPU of a run, unfinished runs and states, global async spans, and samples without times.
    pub(super) rare: Vec<(JsonValue<'a>, JsonValue<'a>)>,
    /// Whether the record has no members.
    pub(super) is_empty: bool,
}

impl<'a> Index<RecordField> for ChromeRecord<'a> {
    type Output = JsonValue<'a>;

    #[inline]
    fn index(&self, field: RecordField) -> &JsonValue<'a> {
        &self.values[field as usize]
    }
}

/// Reads the record whose opening brace is at `start` into `record`, and returns the position after its closing brace.
/// The record is reused because it has 600 bytes, and moving it costs as much as filling it.
pub(super) fn read_record<'a>(
    record: &mut ChromeRecord<'a>,
    leads: &mut Leads,
    bytes: &'a [u8],
    start: usize,
) -> Result<usize, Broken> {
    record.clear();
    let mut scanner = Scanner::new(bytes, start);
    let mut before = LeadIdx::START;
    loop {
        if read_predicted(record, leads, &mut before, &mut scanner) {
            return Ok(scanner.pos);
        }
        let lead = leads.read(before, &mut scanner)?;
        let Some(field) = lead.field else {
            record.is_empty = before == LeadIdx::START;
            return Ok(scanner.pos);
        };
        record.set(field, || lead.key, scanner.value(1)?);
        before = lead.row;
    }
}

/// Reads members as long as their leads are predicted and their values are plain. Returns whether the record ended.
#[inline]
fn read_predicted<'a>(
    record: &mut ChromeRecord<'a>,
    leads: &mut Leads,
    before: &mut LeadIdx,
    scanner: &mut Scanner<'a>,
) -> bool {
    let mut rest = &scanner.bytes[scanner.pos..];
    let has_ended = loop {
        let Some((row, lead)) = leads.predicted(*before, rest) else { break false };
        let after = &rest[usize::from(lead.len)..];
        let read = match lead.to {
            LeadsTo::Text => plain_text(after),
            LeadsTo::Scalar => plain_number(after),
            LeadsTo::Nested => {
                let mut nested = Scanner::new(after, 0);
                nested.value(1).ok().map(|value| (value, &after[nested.pos..]))
            }
            LeadsTo::End => {
                rest = after;
                break true;
            }
        };
        let Some((value, after)) = read else { break false };
        record.set(lead.field, || lead.key(rest), value);
        (rest, *before) = (after, row);
    };
    scanner.pos = scanner.bytes.len() - rest.len();
    has_ended
}

impl<'a> ChromeRecord<'a> {
    /// Sets the value of a member. Also stores the key of a rare or undefined member.
    #[inline]
    fn set(&mut self, field: RecordField, key: impl FnOnce() -> JsonValue<'a>, value: JsonValue<'a>) {
        self.values[field as usize] = value;
        match field {
            RecordField::Rare => self.rare.push((key(), value)),
            RecordField::Other => self.others.push((key(), value)),
            _ => {}
        }
    }

    fn clear(&mut self) {
        self.values = [JsonValue::ABSENT; RecordField::COUNT];
        self.others.clear();
        self.rare.clear();
        self.is_empty = false;
    }
}

impl ChromeRecord<'_> {
    /// Returns whether this looks like an event, not an object in arguments.
    pub(super) fn is_event(&self) -> bool {
        self[RecordField::Ph].shape == Shape::String && self[RecordField::Ph].text.len() == 1
    }
}

impl<'a> ChromeRecord<'a> {
    /// Returns a rare member; the last of duplicates counts.
    pub(super) fn rare(&self, name: &[u8]) -> JsonValue<'a> {
        let member = self.rare.iter().rev().find(|(key, _)| key.text == name);
        member.map(|&(_, value)| value).unwrap_or_default()
    }

    /// Returns whether this is a record of `samples`.
    pub(super) fn is_bare_sample(&self) -> bool {
        self[RecordField::Ph].is_absent() && !self.rare(b"sf").is_absent() && !self[RecordField::Ts].is_absent()
    }
}

/// Iterates over the members of an object that the scanner has validated.
pub(super) fn members<'a>(object: &JsonValue<'a>) -> impl Iterator<Item = (JsonValue<'a>, JsonValue<'a>)> + use<'a> {
    let mut scanner = Scanner::new(object.text, 0);
    let is_object = object.shape == Shape::Object;
    std::iter::from_fn(move || {
        if !is_object {
            return None;
        }
        scanner.peek().ok()?;
        scanner.pos += 1; // the opening brace, a comma, or the closing brace
        let key = scanner.key().ok()?;
        Some((key, scanner.value(0).ok()?))
    })
}

/// Returns the last member of an object with this key.
pub(super) fn member<'a>(object: &JsonValue<'a>, key: &[u8]) -> JsonValue<'a> {
    members(object).filter(|(name, _)| name.text == key).last().map(|(_, value)| value).unwrap_or_default()
}

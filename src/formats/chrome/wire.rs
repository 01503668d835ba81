//! Finds the known fields of a record of the event array, without decoding them.

use crate::formats::json::scan::{Broken, JsonValue, Scanner, Shape};

/// The fields of a record. Missing and `null` fields are [`Shape::Absent`]; the last of duplicates counts.
#[derive(Debug, Clone, Default)]
pub(super) struct ChromeRecord<'a> {
    pub(super) ph: JsonValue<'a>,
    pub(super) name: JsonValue<'a>,
    pub(super) cat: JsonValue<'a>,
    pub(super) ts: JsonValue<'a>,
    pub(super) dur: JsonValue<'a>,
    pub(super) pid: JsonValue<'a>,
    pub(super) tid: JsonValue<'a>,
    pub(super) tts: JsonValue<'a>,
    pub(super) tdur: JsonValue<'a>,
    pub(super) args: JsonValue<'a>,
    pub(super) id: JsonValue<'a>,
    pub(super) id2: JsonValue<'a>,
    pub(super) scope: JsonValue<'a>,
    /// `s`: the scope of an instant.
    pub(super) s: JsonValue<'a>,
    /// `bp`: the binding point of a flow.
    pub(super) bp: JsonValue<'a>,
    pub(super) bind_id: JsonValue<'a>,
    pub(super) flow_in: JsonValue<'a>,
    pub(super) flow_out: JsonValue<'a>,
    /// Keys with a leading dot, such as `.file` and `.line` of tracing-chrome, which become arguments.
    pub(super) dotted: Vec<(JsonValue<'a>, JsonValue<'a>)>,
    /// Rare members: stacks, sample fields, and extensions of this program's exports. These are the depth of a flow
    /// point, the CPU of a run, unfinished runs and states, and global async spans.
    pub(super) rare: Vec<(JsonValue<'a>, JsonValue<'a>)>,
    /// Whether the record has no members.
    pub(super) is_empty: bool,
}

/// Parses the record whose opening brace is at `start`, and returns the position after its closing brace. Fills an
/// existing record: it has 480 bytes, and moving it costs as much as filling it.
pub(super) fn read_record<'a>(record: &mut ChromeRecord<'a>, bytes: &'a [u8], start: usize) -> Result<usize, Broken> {
    let mut scanner = Scanner::new(bytes, start);
    *record = ChromeRecord::default();
    scanner.expect(b'{')?;
    if scanner.peek()? == b'}' {
        record.is_empty = true;
        return Ok(scanner.pos + 1);
    }
    loop {
        let key = scanner.key()?;
        let value = scanner.value(1)?;
        match key.text {
            b"ph" => record.ph = value,
            b"name" => record.name = value,
            b"cat" => record.cat = value,
            b"ts" => record.ts = value,
            b"dur" => record.dur = value,
            b"pid" => record.pid = value,
            b"tid" => record.tid = value,
            b"tts" => record.tts = value,
            b"tdur" => record.tdur = value,
            b"args" => record.args = value,
            b"id" => record.id = value,
            b"id2" => record.id2 = value,
            b"scope" => record.scope = value,
            b"s" => record.s = value,
            b"bp" => record.bp = value,
            b"bind_id" => record.bind_id = value,
            b"flow_in" => record.flow_in = value,
            b"flow_out" => record.flow_out = value,
            b"sf" | b"stack" | b"esf" | b"estack" | b"weight" | b"cpu" | b"place" | b"unfinished" | b"global" => {
                record.rare.push((key, value));
            }
            [b'.', ..] => record.dotted.push((key, value)),
            _ => {}
        }
        match scanner.peek()? {
            b',' => {
                scanner.pos += 1;
                // A trailing comma is accepted without a loss.
                if scanner.peek()? == b'}' {
                    return Ok(scanner.pos + 1);
                }
            }
            b'}' => return Ok(scanner.pos + 1),
            _ => return Err(Broken::Malformed(scanner.pos)),
        }
    }
}

impl ChromeRecord<'_> {
    /// Returns whether this looks like an event, not an object in arguments.
    pub(super) fn is_event(&self) -> bool {
        self.ph.shape == Shape::String && self.ph.text.len() == 1
    }
}

impl<'a> ChromeRecord<'a> {
    /// Returns a rare member; the last of duplicates counts.
    pub(super) fn rare(&self, name: &[u8]) -> JsonValue<'a> {
        let found = self.rare.iter().rev().find(|(key, _)| key.text == name);
        found.map(|&(_, value)| value).unwrap_or_default()
    }

    /// Returns whether this is a record of `samples`.
    pub(super) fn is_bare_sample(&self) -> bool {
        self.ph.is_absent() && !self.rare(b"sf").is_absent() && !self.ts.is_absent()
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

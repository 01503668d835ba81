//! Chrome JSON: the checks of any reader, and a comparison. For valid JSON, spans and instants equal the output of a
//! slow reader, which parses the text with `serde_json` and supports plain records only.

use longspan::facade::model::{EventFlags, EventKind, Id, TrackKind};
use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

use super::reading::{Seen, check_reading};

/// The fields of an event that the slow reader compares.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Plain {
    ts_ns: i64,
    phase: char,
    dur_ns: u64,
    name: String,
    category: Option<String>,
    pid: i64,
    tid: i64,
}

/// The members of an object as written, including duplicates.
#[derive(Debug)]
struct Members(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;
        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(MembersVisitor)
    }
}

impl Members {
    /// Returns the only member of this name; an error if there are several.
    fn only(&self, name: &str) -> Result<Option<&RawValue>, Odd> {
        let mut all = self.0.iter().filter(|(key, _)| key == name);
        let first = all.next().map(|(_, value)| &**value);
        if all.next().is_some() { Err(Odd) } else { Ok(first) }
    }

    /// Returns a member that must be text of a usual length.
    fn text(&self, name: &str) -> Result<Option<String>, Odd> {
        let Some(value) = self.only(name)? else { return Ok(None) };
        let text: String = serde_json::from_str(value.get()).map_err(|_| Odd)?;
        if text.len() > 1000 { Err(Odd) } else { Ok(Some(text)) }
    }

    /// Returns a member that must be a 64-bit integer.
    fn integer(&self, name: &str) -> Result<Option<i64>, Odd> {
        let Some(value) = self.only(name)? else { return Ok(None) };
        // Readers may differ in -0.
        value.get().parse().ok().filter(|_| value.get() != "-0").map(Some).ok_or(Odd)
    }

    /// Converts a member from microseconds to nanoseconds: exactly, with halves rounded away from zero.
    fn nanos(&self, name: &str) -> Result<Option<i64>, Odd> {
        let Some(value) = self.only(name)? else { return Ok(None) };
        let (sign, digits) = value.get().strip_prefix('-').map_or((1, value.get()), |digits| (-1, digits));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if whole.len() > 12 || !(whole.to_owned() + fraction).bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Odd);
        }
        let fraction = format!("{fraction:0<4}");
        let tenths: i64 = format!("{whole}{}", &fraction[..4]).parse().map_err(|_| Odd)?;
        Ok(Some(sign * ((tenths + 5) / 10)))
    }
}

/// A record that the slow reader does not support, so that nothing is compared.
#[derive(Debug)]
struct Odd;

/// Returns the spans and instants of a trace, or `Odd` if the slow reader is not certain.
fn slowly(bytes: &[u8]) -> Result<Vec<Plain>, Odd> {
    let text = str::from_utf8(bytes).map_err(|_| Odd)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let records: Vec<Members> = match serde_json::from_str::<Members>(text) {
        // The slow reader does not support the kernel trace.
        Ok(envelope) if envelope.only("systemTraceEvents")?.is_some() => return Err(Odd),
        Ok(envelope) => serde_json::from_str(envelope.only("traceEvents")?.ok_or(Odd)?.get()),
        Err(_) => serde_json::from_str(text),
    }
    .map_err(|_| Odd)?;
    let mut found = Vec::new();
    for record in &records {
        let phase = record.text("ph")?.ok_or(Odd)?;
        let phase = match phase.as_str() {
            "X" | "B" | "E" => phase.chars().next().ok_or(Odd)?,
            "i" | "I" if record.only("s")?.is_none() => 'i',
            "i" | "I" if record.text("s")?.as_deref() == Some("t") => 'i',
            "C" | "M" | "i" | "I" => continue,
            _ => return Err(Odd),
        };
        let pid = record.integer("pid")?.ok_or(Odd)?;
        let dur_ns = if phase == 'X' { record.nanos("dur")?.ok_or(Odd)? } else { 0 };
        found.push(Plain {
            ts_ns: record.nanos("ts")?.ok_or(Odd)?,
            phase,
            dur_ns: dur_ns.max(0).unsigned_abs(),
            name: record.text("name")?.unwrap_or_default(),
            category: record.text("cat")?,
            pid,
            tid: record.integer("tid")?.unwrap_or(pid),
        });
        if record.only("bind_id")?.is_some() {
            return Err(Odd);
        }
    }
    Ok(found)
}

/// Converts an event of the tested reader to the same form.
fn plain(event: &Seen) -> Option<Plain> {
    let phase = match event.kind {
        EventKind::Complete => 'X',
        EventKind::Begin => 'B',
        EventKind::End => 'E',
        EventKind::Instant if event.track.kind == TrackKind::Thread => 'i',
        _ => return None,
    };
    let number = |id: &Id| match id {
        Id::Number(number) => *number,
        id => panic!("{id:?} is no number: {event:?}"),
    };
    assert!(!event.flags.has(EventFlags::UNFINISHED), "{event:?}");
    Some(Plain {
        ts_ns: event.ts_ns,
        phase,
        dur_ns: event.value,
        name: event.name.clone(),
        category: event.category.clone(),
        pid: number(&event.track.pid),
        tid: number(&event.track.tid),
    })
}

pub(super) fn check(bytes: &[u8]) {
    let reading = check_reading("Chrome JSON", bytes);
    let Ok(mut expected) = slowly(bytes) else { return };
    let reading = reading.expect("valid JSON with a list of events is a trace");
    let mut found: Vec<Plain> = reading.events.iter().filter_map(plain).collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

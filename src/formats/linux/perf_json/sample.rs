//! A sample of the JSON of perf. The keys of tracepoint fields follow the stack, and may repeat keys of the sample,
//! such as `pid` and `comm`. Numbers may be in quotes.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::base::hex::hex_number;
use crate::formats::input::decimal::nanos_from_nanos;
use crate::formats::input::text::parsed;
use crate::formats::json::lenient::LenientList;
use crate::model::args::JsonText;

/// The members of an object in order, also those whose key repeats.
#[derive(Debug)]
pub(super) struct SampleMembers<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for SampleMembers<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(SampleVisitor).map(SampleMembers)
    }
}

struct SampleVisitor;

impl<'de> Visitor<'de> for SampleVisitor {
    type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

    fn expecting(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some((JsonText(key), value)) = map.next_entry::<JsonText<'de>, &'de RawValue>()? {
            members.push((key, value));
        }
        Ok(members)
    }
}

/// A function of a stack.
#[derive(Debug, Deserialize)]
pub(super) struct SampleFrame<'a> {
    #[serde(borrow)]
    pub(super) ip: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) symbol: Option<Cow<'a, str>>,
    /// Name of its file, without the folder.
    #[serde(borrow)]
    pub(super) dso: Option<Cow<'a, str>>,
}

impl SampleFrame<'_> {
    /// Returns the function, or the file in brackets, or the address if no file is known.
    pub(super) fn name(&self) -> Cow<'_, str> {
        let text = |text: &'_ Option<Cow<'_, str>>| text.as_deref().filter(|text| !text.is_empty()).map(str::to_owned);
        if let Some(symbol) = self.symbol.as_deref().filter(|symbol| !symbol.is_empty()) {
            return with_bytes(symbol.into());
        }
        if let Some(dso) = self.module() {
            return format!("[{}]", dso.trim_start_matches('[').trim_end_matches(']')).into();
        }
        text(&self.ip).map_or("[unknown]".into(), Cow::from)
    }

    /// Returns the name of the file.
    pub(super) fn module(&self) -> Option<Cow<'_, str>> {
        self.dso.as_deref().filter(|dso| !dso.is_empty()).map(|dso| with_bytes(dso.into()))
    }
}

/// A sample, with the fields of its tracepoint.
#[derive(Debug, Default)]
pub(super) struct JsonSample<'a> {
    pub(super) ts_ns: Option<i64>,
    pub(super) pid: Option<i64>,
    pub(super) tid: Option<i64>,
    pub(super) cpu: Option<u64>,
    pub(super) comm: Option<Cow<'a, str>>,
    pub(super) event: Option<Cow<'a, str>>,
    pub(super) frames: Vec<SampleFrame<'a>>,
    /// Members that follow the stack.
    pub(super) fields: Vec<(&'a str, &'a RawValue)>,
    /// Number of members and frames of other types than expected.
    pub(super) bad_count: u64,
}

impl<'a> JsonSample<'a> {
    /// Decodes the members of a sample.
    pub(super) fn from_members(members: &'a SampleMembers<'a>) -> Self {
        let mut sample = Self::default();
        let mut has_stack = false;
        for (key, value) in &members.0 {
            if has_stack {
                sample.fields.push((key, value));
                continue;
            }
            let text = value.get();
            let is_read = match &**key {
                "timestamp" => {
                    sample.ts_ns = nanos_from_nanos(unquoted(text)).ok();
                    // The sample is counted as lost instead.
                    true
                }
                "pid" => set(&mut sample.pid, parsed(unquoted(text))),
                "tid" => set(&mut sample.tid, parsed(unquoted(text))),
                "cpu" => set(&mut sample.cpu, parsed(unquoted(text))),
                "comm" => set(&mut sample.comm, string(value)),
                "event" => set(&mut sample.event, string(value)),
                "callchain" => {
                    has_stack = true;
                    sample.bad_count += sample.add_frames(text);
                    true
                }
                _ => {
                    sample.fields.push((key, value));
                    true
                }
            };
            sample.bad_count += u64::from(!is_read);
        }
        sample
    }

    /// Decodes the frames of a stack, and returns the number of bad ones.
    fn add_frames(&mut self, text: &'a str) -> u64 {
        if let Ok(frames) = serde_json::from_str(text) {
            self.frames = frames;
            return 0;
        }
        match serde_json::from_str::<LenientList<SampleFrame<'a>>>(text) {
            Ok(list) => {
                let bad_count = list.bad_count;
                self.frames = list.into_elements();
                // A value of another type has no frames.
                bad_count.max(1)
            }
            Err(_) => 1,
        }
    }
}

/// Sets a value, and returns whether there is one.
fn set<T>(place: &mut Option<T>, value: Option<T>) -> bool {
    *place = value;
    place.is_some()
}

/// Returns the text of a number, which may be in quotes.
fn unquoted(text: &str) -> &[u8] {
    text.strip_prefix('"').and_then(|inner| inner.strip_suffix('"')).unwrap_or(text).as_bytes()
}

/// Decodes a string, which is borrowed unless it has escapes.
pub(super) fn string(value: &RawValue) -> Option<Cow<'_, str>> {
    serde_json::from_str::<JsonText<'_>>(value.get()).ok().map(|JsonText(text)| with_bytes(text))
}

/// The begin of a byte beyond ASCII in a string.
pub(super) const BYTE_BEYOND_ASCII: &str = r"\uffffff";

/// Returns a text with the bytes that perf writes as negative numbers: `\\uffffffc3` is the byte `c3`.
fn with_bytes(text: Cow<'_, str>) -> Cow<'_, str> {
    const MARK: char = '\u{ffff}';
    if !text.contains(MARK) {
        return text;
    }
    let mut bytes = Vec::with_capacity(text.len());
    for (number, part) in text.split(MARK).enumerate() {
        let digits = part.strip_prefix("ff").and_then(|part| part.get(..2)).filter(|_| number > 0);
        match digits.and_then(|digits| u8::try_from(hex_number(digits)?).ok()) {
            Some(byte) => {
                bytes.push(byte);
                bytes.extend_from_slice(&part.as_bytes()[b"ffc3".len()..]);
            }
            None if number > 0 => bytes.extend_from_slice([MARK.encode_utf8(&mut [0; 4]), part].concat().as_bytes()),
            None => bytes.extend_from_slice(part.as_bytes()),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned().into()
}

//! Translation tables for shortened or obfuscated names of spans and process tracks, and for hashed names of triggers.
//! They apply to the events after them.

use rustc_hash::FxHashMap;

use super::fields::{slice_names, track_names, translation, translation_table};
use super::limits;
use super::packet_fields::{trigger_name, trigger_names};
use crate::formats::protobuf::decode::Fields;
use crate::formats::protobuf::message::ProtoMessage as _;
use crate::formats::protobuf::numbers::FieldNumber;

/// Limit for names; a program has about 100,000 functions.
const NAMES_MAX: usize = 1 << 20;

/// Replacements of names, from the translation tables of the trace.
#[derive(Debug, Default)]
pub(super) struct Translations {
    spans: NameMap,
    tracks: NameMap,
    /// Names of Chromium's triggers by hash.
    triggers: FxHashMap<u64, Box<[u8]>>,
}

type NameMap = FxHashMap<Box<[u8]>, Box<[u8]>>;

impl Translations {
    /// Adds a table; returns false if the limit was reached.
    pub(super) fn add_table(&mut self, bytes: &[u8]) -> bool {
        let mut has_room = true;
        for table in Fields::new(bytes) {
            if table.number == translation_table::CHROME_STUDY {
                has_room &= self.add_triggers(table.value.bytes());
                continue;
            }
            let (names, number) = match table.number {
                translation_table::SLICE_NAME => (&mut self.spans, slice_names::RAW_TO_DEOBFUSCATED_NAME),
                translation_table::PROCESS_TRACK_NAME => (&mut self.tracks, track_names::RAW_TO_DEOBFUSCATED_NAME),
                _ => continue,
            };
            for entry in table.value.bytes().repeated(number) {
                let field_bytes = |number: FieldNumber| {
                    let part = Fields::new(entry).find(|field| field.number == number);
                    part.map_or(&b""[..], |field| field.value.bytes())
                };
                let key = field_bytes(translation::KEY);
                if limits::has_room(names, key, NAMES_MAX) {
                    names.insert(key.into(), field_bytes(translation::VALUE).into());
                } else {
                    has_room = false;
                }
            }
        }
        has_room
    }

    fn add_triggers(&mut self, table: &[u8]) -> bool {
        let mut has_room = true;
        for entry in table.repeated(trigger_names::HASH_TO_NAME) {
            let (mut hash, mut name) = (0, &b""[..]);
            for field in Fields::new(entry) {
                match field.number {
                    trigger_name::KEY => hash = field.value.number(),
                    trigger_name::VALUE => name = field.value.bytes(),
                    _ => {}
                }
            }
            if limits::has_room(&self.triggers, &hash, NAMES_MAX) {
                self.triggers.insert(hash, name.into());
            } else {
                has_room = false;
            }
        }
        has_room
    }

    /// Returns the name of a trigger by its hash.
    pub(super) fn trigger(&self, hash: u64) -> Option<&[u8]> {
        self.triggers.get(&hash).map(|name| &**name)
    }

    /// Returns whether no span name is replaced, as in nearly all traces.
    #[inline]
    pub(super) fn keeps_spans(&self) -> bool {
        self.spans.is_empty()
    }

    /// Returns the name shown for a span.
    pub(super) fn span<'n>(&'n self, name: &'n [u8]) -> &'n [u8] {
        self.spans.get(name).map_or(name, |name| name)
    }

    /// Returns the replacement of a track name.
    pub(super) fn track(&self, name: &str) -> Option<Box<str>> {
        let name = self.tracks.get(name.as_bytes())?;
        Some(String::from_utf8_lossy(name).into())
    }
}

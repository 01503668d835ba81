//! Tables that a trace holds for names which its writer shortened or obscured: those of spans, and of tracks in a
//! process. They hold for what follows them.

use rustc_hash::FxHashMap;

use super::fields::{slice_names, track_names, translation, translation_table};
use crate::formats::protobuf::decode::Fields;
use crate::formats::protobuf::numbers::FieldNumber;

/// Names of a program's functions are some 100,000.
const NAMES_MAX: usize = 1 << 20;

/// The names that are shown instead of others.
#[derive(Debug, Default)]
pub(super) struct Translations {
    spans: NameMap,
    tracks: NameMap,
}

type NameMap = FxHashMap<Box<[u8]>, Box<[u8]>>;

impl Translations {
    /// Adds a table; false if there is no room for all of it.
    pub(super) fn take(&mut self, bytes: &[u8]) -> bool {
        let mut has_room = true;
        for table in Fields::new(bytes) {
            let (names, number) = match table.number {
                translation_table::SLICE_NAME => (&mut self.spans, slice_names::RAW_TO_DEOBFUSCATED_NAME),
                translation_table::PROCESS_TRACK_NAME => (&mut self.tracks, track_names::RAW_TO_DEOBFUSCATED_NAME),
                _ => continue,
            };
            for entry in Fields::new(table.value.bytes()).filter(|field| field.number == number) {
                let of = |number: FieldNumber| {
                    let part = Fields::new(entry.value.bytes()).find(|field| field.number == number);
                    part.map_or(&b""[..], |field| field.value.bytes())
                };
                if names.len() < NAMES_MAX {
                    names.insert(of(translation::KEY).into(), of(translation::VALUE).into());
                } else {
                    has_room = false;
                }
            }
        }
        has_room
    }

    /// Whether no name of a span is to be replaced, as in nearly all traces.
    #[inline]
    pub(super) fn keeps_spans(&self) -> bool {
        self.spans.is_empty()
    }

    /// The name of a span that is shown instead of a name.
    pub(super) fn span<'n>(&'n self, name: &'n [u8]) -> &'n [u8] {
        self.spans.get(name).map_or(name, |name| name)
    }

    /// The name of a track that is shown instead of a name.
    pub(super) fn track(&self, name: &str) -> Option<Box<str>> {
        let name = self.tracks.get(name.as_bytes())?;
        Some(String::from_utf8_lossy(name).into())
    }
}

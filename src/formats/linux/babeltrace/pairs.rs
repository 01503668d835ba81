//! Pairs of events that begin and end a span, by the ends of their names: `x_entry` and `x_exit`, `x:begin` and
//! `x:end`. A begin waits for its end, since events with such names may have none. An end belongs to the innermost
//! begin of its name and row, unless both have the same first field with different values.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use xxhash_rust::xxh3::xxh3_64;

use super::value::LttngFields;
use crate::model::{SourcePos, TrackKey};

/// Ends of names that pair events.
const SUFFIXES: [(&str, &str); 8] = [
    ("_entry", "_exit"),
    (":entry", ":exit"),
    ("_enter", "_exit"),
    (":enter", ":exit"),
    ("_begin", "_end"),
    (":begin", ":end"),
    ("_start", "_end"),
    (":start", ":end"),
];

/// Begins of one name without any end, after which events of this name are instants.
const UNPAIRED_MAX: usize = 1 << 12;

/// Limit for the bytes of begins that wait; programs nest far fewer.
const WAITING_BYTES_MAX: usize = 16 << 20;

/// Bytes that the tables take for a begin that is alone in its row.
const TABLE_BYTES: usize = 800;

/// Limit for remembered names of pairs; programs have a few hundred.
const NAMES_MAX: usize = 1 << 16;

/// Limit for the length of a name; an event with a longer one is an instant.
const NAME_BYTES_MAX: usize = 512;

/// The side of a pair that an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PairSide {
    Begin,
    End,
}

/// Returns the common name of a pair and the side of an event.
pub(super) fn pair_of(name: &[u8]) -> Option<(&[u8], PairSide)> {
    if name.len() > NAME_BYTES_MAX {
        return None;
    }
    SUFFIXES.iter().find_map(|(begin, end)| {
        let side = |suffix: &str, side| Some((name.strip_suffix(suffix.as_bytes())?, side));
        side(begin, PairSide::Begin).or_else(|| side(end, PairSide::End)).filter(|(base, _)| !base.is_empty())
    })
}

/// An event that may begin a span.
#[derive(Debug)]
pub(super) struct UnpairedBegin {
    pub(super) ts_ns: i64,
    pub(super) track: TrackKey,
    pub(super) base: Box<[u8]>,
    pub(super) name: Box<[u8]>,
    pub(super) fields: LttngFields,
    pub(super) pos: SourcePos,
}

impl UnpairedBegin {
    /// Returns its bytes in memory, including its table entries.
    fn bytes(&self) -> usize {
        let fields: usize = self.fields.0.iter().map(|(key, json)| size_of_val(key) * 2 + key.len() + json.len()).sum();
        TABLE_BYTES + size_of::<Self>() + 2 * self.base.len() + self.name.len() + fields
    }
}

/// The begins of one name and row that wait for their ends.
#[derive(Debug, Default)]
struct WaitingBegins {
    /// By number, innermost last.
    begins: BTreeMap<u64, Box<UnpairedBegin>>,
    /// Numbers by the hash of their first field.
    by_field: FxHashMap<u64, Vec<u64>>,
    next: u64,
}

impl WaitingBegins {
    fn push(&mut self, begin: UnpairedBegin) {
        self.by_field.entry(first_field_hash(&begin.fields)).or_default().push(self.next);
        self.begins.insert(self.next, Box::new(begin));
        self.next += 1;
    }

    /// Removes the innermost begin that may belong to an end with these fields. All begins of a name have the same
    /// fields in a sound trace, so the key of the innermost begin decides.
    fn pop(&mut self, end: &LttngFields) -> Option<UnpairedBegin> {
        let (&innermost, begin) = self.begins.last_key_value()?;
        let has_same_key = begin.fields.0.first().map(|first| &first.0) == end.0.first().map(|first| &first.0);
        let hash = first_field_hash(if has_same_key { end } else { &begin.fields });
        let numbers = self.by_field.get_mut(&hash)?;
        let number = numbers.pop()?;
        debug_assert!(has_same_key || number == innermost);
        if numbers.is_empty() {
            self.by_field.remove(&hash);
        }
        self.begins.remove(&number).map(|begin| *begin)
    }
}

/// Returns a hash of the name and the value of the first field.
fn first_field_hash(fields: &LttngFields) -> u64 {
    fields.0.first().map_or(0, |(key, json)| xxh3_64(format!("{key}={json}").as_bytes()))
}

/// The begins that wait for their ends.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    waiting: FxHashMap<(TrackKey, Box<[u8]>), WaitingBegins>,
    bytes: usize,
    /// Names of pairs that have ended at least once.
    paired: FxHashSet<Box<[u8]>>,
    /// Number of begins by the name of a pair without an end so far.
    unpaired: FxHashMap<Box<[u8]>, usize>,
}

impl Pairs {
    /// Lets a begin wait; returns it if events of its name are instants, or if too many wait.
    pub(super) fn begin(&mut self, begin: UnpairedBegin) -> Option<UnpairedBegin> {
        let bytes = begin.bytes();
        if self.bytes + bytes > WAITING_BYTES_MAX {
            return Some(begin);
        }
        if !self.paired.contains(&begin.base) {
            let unpaired = self.unpaired.entry(begin.base.clone()).or_default();
            if *unpaired >= UNPAIRED_MAX {
                return Some(begin);
            }
            *unpaired += 1;
        }
        self.bytes += bytes;
        self.waiting.entry((begin.track.clone(), begin.base.clone())).or_default().push(begin);
        None
    }

    /// Returns the begin of an end, if any waits.
    pub(super) fn end(&mut self, track: &TrackKey, base: &[u8], fields: &LttngFields) -> Option<UnpairedBegin> {
        let key = (track.clone(), base.into());
        let waiting = self.waiting.get_mut(&key)?;
        let begin = waiting.pop(fields)?;
        if waiting.begins.is_empty() {
            self.waiting.remove(&key);
        }
        self.bytes -= begin.bytes();
        if !self.paired.contains(base) {
            if self.paired.len() < NAMES_MAX {
                self.paired.insert(base.into());
            }
            self.unpaired.remove(base);
        }
        Some(begin)
    }

    /// Returns the begins that still wait in the order of the trace, each with whether other begins of its name had
    /// ends.
    pub(super) fn finish(&mut self) -> Vec<(UnpairedBegin, bool)> {
        let waiting = std::mem::take(&mut self.waiting).into_values();
        let mut rest: Vec<UnpairedBegin> =
            waiting.flat_map(|waiting| waiting.begins.into_values()).map(|begin| *begin).collect();
        rest.sort_by_key(|begin| begin.pos);
        self.bytes = 0;
        rest.into_iter()
            .map(|begin| (self.paired.contains(&begin.base), begin))
            .map(|(had, begin)| (begin, had))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Id;

    fn begin(base: &str, id: u32, at: u64) -> UnpairedBegin {
        let track = TrackKey::thread(Id::None, Id::None);
        let fields = LttngFields(vec![("id".into(), id.to_string().into())]);
        let (base, name) = (base.as_bytes().into(), format!("{base}_entry").into_bytes().into());
        UnpairedBegin { ts_ns: 0, track, base, name, fields, pos: SourcePos::Offset(at) }
    }

    #[test]
    fn names_are_paired_by_their_ends() {
        for (name, expected) in [
            ("page_fault_entry", Some(("page_fault", PairSide::Begin))),
            ("page_fault_exit", Some(("page_fault", PairSide::End))),
            ("app:load:begin", Some(("app:load", PairSide::Begin))),
            ("app:load_end", Some(("app:load", PairSide::End))),
            ("_entry", None),
            ("exit", None),
            ("reentry", None),
        ] {
            let expected = expected.map(|(base, side): (&str, PairSide)| (base.as_bytes(), side));
            assert_eq!(pair_of(name.as_bytes()), expected, "{name}");
        }
    }

    #[test]
    fn an_end_takes_the_innermost_begin_that_its_first_field_allows() {
        let (track, mut pairs) = (TrackKey::thread(Id::None, Id::None), Pairs::default());
        for (at, id) in [(0, 1), (1, 2), (2, 2), (3, 3)] {
            assert!(pairs.begin(begin("x", id, at)).is_none());
        }
        let fields = |key: &str, id: u32| LttngFields(vec![(key.into(), id.to_string().into())]);
        let mut end = |fields| pairs.end(&track, b"x", &fields).map(|begin| begin.pos);
        assert_eq!(end(fields("id", 2)), Some(SourcePos::Offset(2)));
        assert_eq!(end(fields("ret", 2)), Some(SourcePos::Offset(3)));
        assert_eq!(end(fields("id", 9)), None);
        assert_eq!(end(LttngFields::default()), Some(SourcePos::Offset(1)));
        let rest: Vec<_> = pairs.finish().into_iter().map(|(begin, had_ends)| (begin.pos, had_ends)).collect();
        assert_eq!(rest, [(SourcePos::Offset(0), true)]);
    }

    #[test]
    fn few_bytes_wait_however_long_fields_are() {
        let mut pairs = Pairs::default();
        let long = |at| UnpairedBegin { name: vec![b'n'; 1 << 20].into(), ..begin(&format!("b{at}"), 1, at) };
        let waits = (0..100).filter(|&at| pairs.begin(long(at)).is_none()).count();
        assert_eq!(waits, (WAITING_BYTES_MAX >> 20) - 1);
        let track = TrackKey::thread(Id::None, Id::None);
        assert!(pairs.end(&track, b"b0", &LttngFields::default()).is_some());
        assert!(pairs.begin(long(7)).is_none(), "in its place");
        assert!(pair_of(&[&[b'n'; NAME_BYTES_MAX][..], b"_entry"].concat()).is_none());
    }

    #[test]
    fn names_without_any_end_stop_waiting() {
        let mut pairs = Pairs::default();
        let waits = (0..10_000).filter(|&at| pairs.begin(begin("log", 1, at)).is_none()).count();
        assert_eq!(waits, UNPAIRED_MAX);
        assert!(pairs.finish().iter().all(|(_, had_ends)| !had_ends));
    }
}

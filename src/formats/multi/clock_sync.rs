//! Aligns the clocks of several files: by clock syncs, which mark the same moment if they have the same id, else by
//! their offsets from UTC. The first of several syncs with an id counts. Reads no files.
//!
//! In Chrome traces a sync has two records. The receiver records when it arrived. The issuer records when it was sent
//! and when the reply arrived, and the sync is halfway between.

use rustc_hash::FxHashMap;
use serde_json::value::RawValue;

use crate::formats::input::decimal::nanos_from_micros;
use crate::model::args::Detail;
use crate::model::{Batch, EventKind, NameIdx};

/// Name of clock sync instants.
const NAME: &str = "clock_sync";

/// Limit for the clock syncs of a file; a recording has a few.
const SYNCS_MAX: usize = 1000;

/// Limit for the bytes of a sync id, which is a UUID or a name.
const ID_BYTES_MAX: usize = 200;

/// Arguments of a clock sync.
#[derive(serde::Deserialize)]
struct Args<'a> {
    /// A text or a number.
    #[serde(borrow)]
    sync_id: &'a RawValue,
    /// Time in microseconds on the clock of the file.
    #[serde(borrow)]
    issue_ts: Option<&'a RawValue>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Sync {
    /// Position of its batch in the sink.
    position: usize,
    id: Box<str>,
    at_ns: i64,
}

/// Files whose offsets from UTC differ by less than this have the same clock: the time of day was read imprecisely.
const SAME_CLOCK_NS: u64 = 1_000_000;

/// The clock syncs of one file.
#[derive(Debug, Default)]
pub(crate) struct ClockSyncs {
    all: Vec<Sync>,
    /// Offset from times of the file to UTC.
    utc_offset_ns: Option<i64>,
    /// Rows of the clock sync name in the current name table.
    names: Vec<NameIdx>,
}

/// The clock syncs of earlier files.
#[derive(Debug, Default)]
pub(crate) struct KnownSyncs {
    at_ns: FxHashMap<Box<str>, i64>,
    /// Offset from times of the earlier files to UTC.
    utc_offset_ns: Option<i64>,
}

/// The common moment by which a file is moved to the clock of earlier files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Alignment {
    /// A clock sync with this id.
    Sync(Box<str>),
    Utc,
}

impl ClockSyncs {
    /// Collects the clock syncs of a batch at `position` of its sink.
    pub(crate) fn observe(&mut self, batch: &Batch, position: usize) {
        self.names.retain(|name| name.0 < batch.names_before);
        let named = (batch.names_before..).zip(&batch.names).filter(|(_, row)| &*row.text == NAME);
        self.names.extend(named.map(|(name, _)| NameIdx(name)));
        if self.names.is_empty() {
            return;
        }
        for event in &batch.chunk.events {
            if event.kind != EventKind::Instant || !self.names.contains(&event.name) || self.all.len() == SYNCS_MAX {
                continue;
            }
            let detail = Detail::decode(batch.chunk.details.blob(event.detail));
            let Ok(args) = serde_json::from_str::<Args<'_>>(detail.args_json) else { continue };
            if args.sync_id.get().len() > ID_BYTES_MAX {
                continue;
            }
            let issued_ns = args.issue_ts.and_then(|us| nanos_from_micros(us.get().as_bytes()).ok());
            let at_ns = issued_ns.map_or(event.ts_ns, |issued_ns| i64::midpoint(issued_ns, event.ts_ns));
            self.all.push(Sync { position, id: args.sync_id.get().into(), at_ns });
        }
    }

    /// Takes what was collected since the last call; `None` if that is nothing.
    pub(crate) fn take_new(&mut self) -> Option<Self> {
        if self.all.is_empty() && self.utc_offset_ns.is_none() {
            return None;
        }
        let (all, utc_offset_ns) = (std::mem::take(&mut self.all), self.utc_offset_ns.take());
        Some(Self { all, utc_offset_ns, names: Vec::new() })
    }

    /// Adds the offset from times of the file to UTC; the first one counts.
    pub(crate) fn add_utc(&mut self, offset_ns: i64) {
        self.utc_offset_ns.get_or_insert(offset_ns);
    }

    pub(crate) fn utc_offset_ns(&self) -> Option<i64> {
        self.utc_offset_ns
    }

    /// Shifts the syncs of all batches from `position`.
    pub(crate) fn move_from(&mut self, position: usize, by_ns: i64) {
        for sync in self.all.iter_mut().filter(|sync| sync.position >= position) {
            sync.at_ns = sync.at_ns.saturating_add(by_ns);
        }
    }
}

impl KnownSyncs {
    /// Returns the offset from a file's clock to the clock of the earlier files, and how it is known. Returns `None` if
    /// they have nothing in common.
    pub(crate) fn offset_ns(&self, syncs: &ClockSyncs) -> Option<(i64, Alignment)> {
        let offset_ns = |sync: &Sync| self.at_ns.get(&sync.id)?.checked_sub(sync.at_ns);
        let by_sync = |sync: &Sync| Some((offset_ns(sync)?, Alignment::Sync(sync.id.clone())));
        syncs.all.iter().find_map(by_sync).or_else(|| {
            let offset_ns = syncs.utc_offset_ns?.checked_sub(self.utc_offset_ns?)?;
            (offset_ns.unsigned_abs() >= SAME_CLOCK_NS).then_some((offset_ns, Alignment::Utc))
        })
    }

    /// Adds the clock syncs of a file, shifted by `by_ns`.
    pub(crate) fn add_file(&mut self, syncs: ClockSyncs, by_ns: i64) {
        if let Some(offset_ns) = syncs.utc_offset_ns {
            self.utc_offset_ns.get_or_insert(offset_ns.saturating_sub(by_ns));
        }
        for Sync { id, at_ns, .. } in syncs.all {
            self.at_ns.entry(id).or_insert(at_ns.saturating_add(by_ns));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Event, NameRow, TrackIdx};

    fn batch(names_before: u32, names: &[&str], instants: &[(i64, u32, &str)]) -> Batch {
        let names = names.iter().map(|&text| NameRow::new(text.into(), None)).collect();
        let mut batch = Batch { names, names_before, ..Batch::default() };
        for &(ts_ns, name, args_json) in instants {
            let detail = batch.chunk.details.push(&Detail { args_json, ..Detail::default() });
            let instant = Event::new(ts_ns, EventKind::Instant, TrackIdx(0), NameIdx(name));
            batch.chunk.events.push(crate::model::Event { detail, ..instant });
        }
        batch
    }

    fn known(syncs: ClockSyncs) -> Vec<(String, i64)> {
        let mut known = KnownSyncs::default();
        known.add_file(syncs, 0);
        let mut all: Vec<_> = known.at_ns.into_iter().map(|(id, at_ns)| (id.into(), at_ns)).collect();
        all.sort();
        all
    }

    #[test]
    fn names_last_until_a_batch_starts_another_table() {
        let mut syncs = ClockSyncs::default();
        let sync = |ts_ns, name| (ts_ns, name, r#"{"sync_id":1}"#);
        syncs.observe(&batch(0, &["", "clock_sync"], &[sync(5, 0)]), 0);
        syncs.observe(&batch(2, &["other"], &[sync(6, 2), sync(7, 1)]), 1);
        assert_eq!(known(std::mem::take(&mut syncs)), [("1".to_owned(), 7)]);
        syncs.observe(&batch(0, &["", "other"], &[sync(8, 1)]), 2);
        assert_eq!(known(syncs), []);
    }

    #[test]
    fn syncs_without_an_id_with_a_long_one_or_beyond_the_limit_are_ignored() {
        let mut syncs = ClockSyncs::default();
        let long = format!(r#"{{"sync_id":"{}"}}"#, "x".repeat(ID_BYTES_MAX));
        let odd =
            [(1, 1, ""), (1, 1, "{}"), (1, 1, "[1]"), (1, 1, &*long), (9, 1, r#"{"sync_id":"a","issue_ts":"b"}"#)];
        syncs.observe(&batch(0, &["", "clock_sync"], &odd), 0);
        let many: Vec<String> = (0..2 * SYNCS_MAX).map(|id| format!(r#"{{"sync_id":{id}}}"#)).collect();
        let many: Vec<_> = many.iter().map(|args| (2, 1, &**args)).collect();
        syncs.observe(&batch(0, &["", "clock_sync"], &many), 1);
        let known = known(syncs);
        assert_eq!((known.len(), known.last()), (SYNCS_MAX, Some(&("998".to_owned(), 2))));
        assert!(known.contains(&("\"a\"".to_owned(), 9)), "a time that is none is left out");
    }
}

//! How the clocks of several files relate, where the files say so: a clock sync is the same moment in each file that has one
//! of its id. Of two that are said to be one moment at different times, the first counts. Reads no files.
//!
//! In Chrome's traces it is told twice: whoever received it says when; whoever issued it says when that was and when the
//! answer came, and it happened halfway.

use rustc_hash::FxHashMap;
use serde_json::value::RawValue;

use super::decimal::nanos_from_micros;
use crate::model::args::Detail;
use crate::model::{Batch, EventKind, NameIdx};

/// What the instants are called that are clock syncs.
const NAME: &str = "clock_sync";

/// Clock syncs of a file that are kept: a recording has some.
const SYNCS_MAX: usize = 1000;

/// What an instant says of a clock sync, beside its time.
#[derive(serde::Deserialize)]
struct Args<'a> {
    /// Text, or a number.
    #[serde(borrow)]
    sync_id: &'a RawValue,
    /// In microseconds, by the clock of the file.
    #[serde(borrow)]
    issue_ts: Option<&'a RawValue>,
}

/// A clock sync of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Sync {
    /// Where in the sink the batch went that it is of.
    position: usize,
    id: Box<str>,
    at_ns: i64,
}

/// The clock syncs of one file.
#[derive(Debug, Default)]
pub(super) struct ClockSyncs {
    all: Vec<Sync>,
    /// Names of clock syncs, of all that the batches so far have told.
    names: Vec<NameIdx>,
}

/// What the files before say.
#[derive(Debug, Default)]
pub(super) struct KnownSyncs {
    at_ns: FxHashMap<Box<str>, i64>,
}

impl ClockSyncs {
    /// Takes note of the clock syncs in a batch, which goes to `position` of its sink.
    pub(super) fn look_at(&mut self, batch: &Batch, position: usize) {
        self.names.retain(|name| name.0 < batch.names_before);
        let told = (batch.names_before..).zip(&batch.names).filter(|(_, row)| &*row.text == NAME);
        self.names.extend(told.map(|(name, _)| NameIdx(name)));
        if self.names.is_empty() {
            return;
        }
        for event in &batch.chunk.events {
            if event.kind != EventKind::Instant || !self.names.contains(&event.name) || self.all.len() == SYNCS_MAX {
                continue;
            }
            let detail = Detail::decode(batch.chunk.details.blob(event.detail));
            let Ok(args) = serde_json::from_str::<Args<'_>>(detail.args_json) else { continue };
            let issued_ns = args.issue_ts.and_then(|us| nanos_from_micros(us.get().as_bytes()).ok());
            let at_ns = issued_ns.map_or(event.ts_ns, |issued_ns| i64::midpoint(issued_ns, event.ts_ns));
            self.all.push(Sync { position, id: args.sync_id.get().into(), at_ns });
        }
    }

    /// Takes note of a move of all that went to the sink from `position` on.
    pub(super) fn move_from(&mut self, position: usize, by_ns: i64) {
        for sync in self.all.iter_mut().filter(|sync| sync.position >= position) {
            sync.at_ns = sync.at_ns.saturating_add(by_ns);
        }
    }
}

impl KnownSyncs {
    /// By how much the clock of one more file is behind that of the files before, and the id that says so, if it shares one
    /// with them.
    pub(super) fn behind(&self, syncs: &ClockSyncs) -> Option<(i64, Box<str>)> {
        let behind = |sync: &Sync| self.at_ns.get(&sync.id)?.checked_sub(sync.at_ns);
        syncs.all.iter().find_map(|sync| Some((behind(sync)?, sync.id.clone())))
    }

    /// Takes what one more file says, which was moved by `by_ns`.
    pub(super) fn take(&mut self, syncs: ClockSyncs, by_ns: i64) {
        for Sync { id, at_ns, .. } in syncs.all {
            self.at_ns.entry(id).or_insert(at_ns.saturating_add(by_ns));
        }
    }
}

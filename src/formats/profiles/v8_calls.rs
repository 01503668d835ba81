//! The call tree of V8 CPU profiles, whose nodes are in any order, with the stacks of its nodes. A sample weighs the
//! time to the next one.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use serde::Deserialize;

use super::frames::FrameTable;
use super::weighed::WeighedRow;
use crate::formats::json::lenient::or_default;
use crate::formats::output::args::SampleArgsWriter;
use crate::formats::output::batch::BatchBuilder;
use crate::formats::{BatchSink, ReadContext, ReadError};
use crate::model::sample_measure::{IDLE_GAPS, NANOSECONDS, SAMPLES};
use crate::model::{Id, Loss, Metadata, SourcePos, TrackKey};

/// Default sampling interval of V8.
const USUAL_INTERVAL_NS: i64 = 1_000_000;

/// Number of intervals whose median is the usual one.
const WINDOW: usize = 64;

/// A node of the call tree. A profile has either `parent` or `children`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct V8CallNode {
    pub(crate) id: u64,
    pub(crate) call_frame: CallFrame,
    pub(crate) parent: Option<u64>,
    #[serde(default)]
    pub(crate) children: Vec<u64>,
    /// Number of samples that end in this node.
    #[serde(default)]
    pub(crate) hit_count: u64,
}

/// A function with its position in a script. Lines count from 0.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CallFrame {
    #[serde(default)]
    pub(crate) function_name: String,
    #[serde(default)]
    pub(crate) url: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) line_number: i64,
}

impl CallFrame {
    /// Returns the name in stacks.
    pub(crate) fn title(&self) -> String {
        let name = if self.function_name.is_empty() { "(anonymous)" } else { &self.function_name };
        match self.url.rsplit('/').next() {
            Some(file) if !file.is_empty() => format!("{name} ({file}:{})", self.line_number.saturating_add(1)),
            _ => name.to_owned(),
        }
    }
}

/// The call tree, by node id.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    frames: FrameTable,
    /// By id: the row of the frame; `None` for the root.
    rows: FxHashMap<u64, Option<u32>>,
    /// By child: its caller, while one of the two nodes is missing.
    callers: FxHashMap<u64, u64>,
    /// By missing caller: its children.
    waiting: FxHashMap<u64, Vec<u64>>,
    /// Nodes to join with their callers: those that were added since the last join, and their children.
    joinable: Vec<u64>,
    /// Nodes with hits, and their counts.
    hits: Vec<(u64, u64)>,
}

impl Calls {
    /// Bytes of a node in memory, without its title: hash tables are at least half full.
    pub(super) const NODE_BYTES: usize = FrameTable::ROW_BYTES
        + FrameTable::TITLE_BYTES
        + 2 * size_of::<(u64, Option<u32>)>()
        + 2 * size_of::<(u64, u64)>();

    /// Bytes of a link between two nodes, while one of them is missing.
    pub(super) const CALL_BYTES: usize = 2 * size_of::<(u64, u64)>() + 4 * size_of::<u64>();

    pub(crate) fn add(&mut self, node: &V8CallNode) {
        let is_root = node.call_frame.function_name == "(root)" && node.parent.is_none();
        let row = if is_root {
            None
        } else {
            self.frames.push(node.call_frame.title().as_bytes());
            u32::try_from(self.frames.len() - 1).ok()
        };
        self.rows.insert(node.id, row);
        if node.hit_count > 0 {
            self.hits.push((node.id, node.hit_count));
        }
        self.callers.extend(node.parent.map(|parent| (node.id, parent)));
        self.callers.extend(node.children.iter().map(|&child| (child, node.id)));
        self.joinable.push(node.id);
        self.joinable.extend(&node.children);
        self.joinable.extend(self.waiting.remove(&node.id).into_iter().flatten());
    }

    /// Joins new nodes with their callers. Returns the number of nodes that cannot be joined because they would form a
    /// cycle.
    pub(crate) fn join(&mut self) -> u64 {
        let mut refused = 0;
        for child in self.joinable.drain(..) {
            let Some(&caller) = self.callers.get(&child) else { continue };
            match (self.rows.get(&child), self.rows.get(&caller)) {
                (Some(&child_row), Some(&caller_row)) => {
                    self.callers.remove(&child);
                    if let (Some(child), Some(caller)) = (child_row, caller_row) {
                        refused += u64::from(!self.frames.set_caller(child, caller));
                    }
                }
                (Some(_), None) => self.waiting.entry(caller).or_default().push(child),
                // It is added again with its own node.
                (None, _) => {}
            }
        }
        refused
    }

    /// Emits a sample per node with hits, weighted by its hits.
    pub(super) fn emit_hits(
        &mut self,
        batch: &mut BatchBuilder,
        sink: &mut dyn BatchSink,
        context: &ReadContext,
    ) -> Result<(), ReadError> {
        let mut row = WeighedRow::new("hits", SAMPLES, -1, batch);
        for (node, hits) in std::mem::take(&mut self.hits) {
            let stack = self.stack(node, batch, row.pos()).unwrap_or_default();
            row.push(hits, stack, batch);
            batch.flush_if_full(sink, context)?;
        }
        batch.flush(sink)
    }

    /// Returns the stack that ends with a node; `None` if the node does not exist.
    pub(crate) fn stack(
        &mut self,
        node: u64,
        batch: &mut BatchBuilder,
        pos: SourcePos,
    ) -> Option<crate::model::StackIdx> {
        let row = *self.rows.get(&node)?;
        Some(row.map_or_else(Default::default, |row| self.frames.stack(row, batch, pos)))
    }
}

/// Names the thread of the samples, which a profile does not name. Returns the key of its track. Without a start, the
/// times between samples are known, but not when they were taken.
pub(super) fn name_track(has_start: bool, batch: &mut BatchBuilder) -> TrackKey {
    let (pid, tid) = (Id::None, Id::Number(1));
    let named = Metadata::ThreadName { pid: pid.clone(), tid: tid.clone(), name: "JavaScript".into() };
    batch.add_metadata(named);
    if has_start { TrackKey::thread(pid, tid) } else { TrackKey::untimed_thread(pid, tid) }
}

/// The samples of a profile, whose weights are the times between them.
#[derive(Debug)]
pub(crate) struct TimedSamples {
    pub(crate) calls: Calls,
    key: TrackKey,
    args: SampleArgsWriter,
    /// Time and node of the last sample, which lasts until the next one.
    last: Option<(i64, u64)>,
    /// Latest time so far. Samples may go back in time, and share the time until the next that does not.
    newest_ns: i64,
    interval_ns: i64,
    /// The last times between two samples.
    gaps_ns: VecDeque<i64>,
}

impl TimedSamples {
    pub(crate) fn new(calls: Calls, key: TrackKey, start_ns: i64) -> Self {
        let (last, args) = (None, SampleArgsWriter::new("time", NANOSECONDS));
        let (newest_ns, interval_ns) = (start_ns, USUAL_INTERVAL_NS);
        Self { calls, key, args, last, newest_ns, interval_ns, gaps_ns: VecDeque::new() }
    }

    /// Returns the last time between two samples.
    pub(crate) fn interval_ns(&self) -> i64 {
        self.interval_ns
    }

    /// Begins a sample, unless its node is unknown, and adds the previous sample to the batch.
    pub(crate) fn push(&mut self, ts_ns: i64, node: Option<u64>, batch: &mut BatchBuilder) {
        let period_ns = ts_ns.saturating_sub(self.newest_ns).max(0);
        self.newest_ns = self.newest_ns.max(ts_ns);
        if period_ns > 0 {
            self.interval_ns = period_ns;
        }
        let Some((last_ns, last_node)) = std::mem::replace(&mut self.last, node.map(|node| (ts_ns, node))) else {
            return;
        };
        if period_ns > 0 {
            self.gaps_ns.truncate(WINDOW - 1);
            self.gaps_ns.push_front(period_ns);
        }
        let pos = SourcePos::Time(last_ns);
        let Some(stack) = self.calls.stack(last_node, batch, pos) else { return batch.lose(Loss::MissingText, pos) };
        let args_json = self.args.with_weight(period_ns.cast_unsigned());
        let detail = batch.args(args_json);
        let track = batch.track_with(&self.key);
        batch.push_sample(last_ns, track, stack, detail);
    }

    /// Adds the last sample, which lasts until the end of the profile. It lasts for the usual interval if that end is
    /// unknown, or so late that nothing was sampled before it.
    pub(crate) fn finish(&mut self, end_ns: Option<i64>, batch: &mut BatchBuilder) {
        let usual_ns = self.usual_ns();
        let after_ns = |ns: u64| self.newest_ns.saturating_add_unsigned(ns);
        let latest_ns = after_ns(usual_ns.saturating_mul(IDLE_GAPS));
        let end_ns = end_ns.filter(|&end_ns| end_ns > self.newest_ns && end_ns <= latest_ns);
        self.push(end_ns.unwrap_or(after_ns(usual_ns)), None, batch);
    }

    /// Returns the median of the last times between two samples, the lower of the two in the middle.
    fn usual_ns(&self) -> u64 {
        let mut sorted_ns: Vec<i64> = self.gaps_ns.iter().copied().collect();
        sorted_ns.sort_unstable();
        let middle_ns = sorted_ns.get(sorted_ns.len().saturating_sub(1) / 2);
        middle_ns.unwrap_or(&self.interval_ns).unsigned_abs()
    }
}

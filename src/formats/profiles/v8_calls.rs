//! The call tree of V8 CPU profiles, whose nodes are in any order, with the stacks of its nodes. A sample weighs the
//! time to the next sample.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use serde::Deserialize;

use super::frames::{FilePaths, FrameTable};
use super::weighed::WeighedRow;
use crate::formats::json::lenient::or_default;
use crate::formats::output::args::SampleArgsWriter;
use crate::formats::output::batch::BatchBuilder;
use crate::formats::output::modules::ModuleFrame;
use crate::formats::{BatchSink, ReadContext, ReadError};
use crate::model::sample_measure::{IDLE_GAPS, NANOSECONDS, SAMPLES};
use crate::model::{Id, Loss, Metadata, SourcePos, TrackKey};

/// Default sampling interval of V8.
const USUAL_INTERVAL_NS: i64 = 1_000_000;

/// Number of intervals whose median is the usual interval.
const WINDOW: usize = 64;

/// Limit for samples that wait for earlier samples. V8 lists a sample late if another sample interrupts it.
const WAITING_MAX: usize = 16;

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
    files: FilePaths,
    /// By id: the row of the frame; `None` for the root.
    rows: FxHashMap<u64, Option<u32>>,
    /// By child: its caller, while one of the two nodes is missing.
    callers: FxHashMap<u64, u64>,
    /// By missing caller: its children.
    waiting: FxHashMap<u64, Vec<u64>>,
    /// Nodes to join with their callers: the nodes added since the last join, and their children.
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

    /// Adds a node. Returns the bytes of memory of its title, and of the path of its file if that is new.
    pub(crate) fn add(&mut self, node: &V8CallNode) -> usize {
        let is_root = node.call_frame.function_name == "(root)" && node.parent.is_none();
        let (mut row, mut bytes) = (None, 0);
        if !is_root {
            let (category, path_bytes) = self.files.add(node.call_frame.url.as_bytes());
            let text = node.call_frame.title().into_bytes();
            bytes = text.len() + path_bytes;
            let title = self.frames.push_frame(ModuleFrame { text, category });
            self.frames.push_titled(None, title);
            row = u32::try_from(self.frames.len() - 1).ok();
        }
        self.rows.insert(node.id, row);
        if node.hit_count > 0 {
            self.hits.push((node.id, node.hit_count));
        }
        self.callers.extend(node.parent.map(|parent| (node.id, parent)));
        self.callers.extend(node.children.iter().map(|&child| (child, node.id)));
        self.joinable.push(node.id);
        self.joinable.extend(&node.children);
        self.joinable.extend(self.waiting.remove(&node.id).into_iter().flatten());
        bytes
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
    /// The last samples in time order: their times, and their nodes if these are known. Each lasts until the next.
    waiting: VecDeque<(i64, Option<u64>)>,
    /// The time that is covered by samples so far. A very late sample has no share in it.
    covered_to_ns: i64,
    newest_ns: i64,
    interval_ns: i64,
    /// The last times between two samples.
    gaps_ns: VecDeque<i64>,
}

impl TimedSamples {
    pub(crate) fn new(calls: Calls, key: TrackKey, start_ns: i64) -> Self {
        Self {
            calls,
            key,
            args: SampleArgsWriter::new("time", NANOSECONDS),
            waiting: VecDeque::new(),
            covered_to_ns: i64::MIN,
            newest_ns: start_ns,
            interval_ns: USUAL_INTERVAL_NS,
            gaps_ns: VecDeque::new(),
        }
    }

    /// Returns the last time between two samples.
    pub(crate) fn interval_ns(&self) -> i64 {
        self.interval_ns
    }

    /// Adds a sample, whose node may be unknown. It is in the batch once enough later samples have been added.
    pub(crate) fn push(&mut self, ts_ns: i64, node: Option<u64>, batch: &mut BatchBuilder) {
        if ts_ns > self.newest_ns {
            self.interval_ns = ts_ns.saturating_sub(self.newest_ns);
            self.newest_ns = ts_ns;
        }
        // Nearly all samples are in order.
        let at = self.waiting.iter().rposition(|&(before_ns, _)| before_ns <= ts_ns).map_or(0, |before| before + 1);
        self.waiting.insert(at, (ts_ns, node));
        if self.waiting.len() > WAITING_MAX {
            self.add_first(batch);
        }
    }

    /// Adds the earliest waiting sample to the batch. It lasts until the next.
    fn add_first(&mut self, batch: &mut BatchBuilder) {
        let Some((ts_ns, node)) = self.waiting.pop_front() else { return };
        let Some(&(next_ns, _)) = self.waiting.front() else { return };
        let period_ns = next_ns.saturating_sub(ts_ns.max(self.covered_to_ns)).max(0);
        self.covered_to_ns = self.covered_to_ns.max(next_ns);
        if period_ns > 0 {
            self.gaps_ns.truncate(WINDOW - 1);
            self.gaps_ns.push_front(period_ns);
        }
        let (Some(node), pos) = (node, SourcePos::Time(ts_ns)) else { return };
        let Some(stack) = self.calls.stack(node, batch, pos) else { return batch.lose(Loss::MissingText, pos) };
        let detail = batch.args(self.args.with_weight(period_ns.cast_unsigned()));
        let track = batch.track_with(&self.key);
        batch.push_sample(ts_ns, track, stack, detail);
    }

    /// Adds all samples. The last sample lasts until the end of the profile. It lasts for the usual interval if the end
    /// is unknown, or so late that nothing was sampled before it.
    pub(crate) fn finish(&mut self, end_ns: Option<i64>, batch: &mut BatchBuilder) {
        while self.waiting.len() > 1 {
            self.add_first(batch);
        }
        let usual_ns = self.usual_ns();
        let after_ns = |ns: u64| self.newest_ns.saturating_add_unsigned(ns);
        let latest_ns = after_ns(usual_ns.saturating_mul(IDLE_GAPS));
        let end_ns = end_ns.filter(|&end_ns| end_ns > self.newest_ns && end_ns <= latest_ns);
        self.waiting.push_back((end_ns.unwrap_or(after_ns(usual_ns)), None));
        self.add_first(batch);
        self.waiting.clear();
    }

    /// Returns the median of the last times between two samples, the lower of the two in the middle.
    fn usual_ns(&self) -> u64 {
        let mut sorted_ns: Vec<i64> = self.gaps_ns.iter().copied().collect();
        sorted_ns.sort_unstable();
        let middle_ns = sorted_ns.get(sorted_ns.len().saturating_sub(1) / 2);
        middle_ns.unwrap_or(&self.interval_ns).unsigned_abs()
    }
}

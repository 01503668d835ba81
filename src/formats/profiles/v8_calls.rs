//! The call tree of V8 CPU profiles, whose nodes are in any order, and the stacks of its nodes.

use rustc_hash::FxHashMap;
use serde::Deserialize;

use super::frames::FrameTable;
use super::weighed::WeighedRow;
use crate::formats::output::batch::BatchBuilder;
use crate::formats::{BatchSink, ReadContext, ReadError};
use crate::model::SourcePos;
use crate::model::sample_measure::SAMPLES;

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
    #[serde(default)]
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
        place: SourcePos,
    ) -> Option<crate::model::StackIdx> {
        let row = *self.rows.get(&node)?;
        Some(row.map_or_else(Default::default, |row| self.frames.stack(row, batch, place)))
    }
}

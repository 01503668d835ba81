//! V8's CPU profiles (`.cpuprofile`): a tree of calls, the node that was seen at each sample, and the time between them in
//! microseconds. Node's `(root)` is left out of stacks: it is in all of them.

use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::batch::{BatchBuilder, bare};
use super::document::{Document, Unit};
use super::frames::Frames;
use super::source::Source;
use super::{BatchSink, ReadContext, ReadError, Reader, StreamReader};
use crate::model::{Event, EventKind, Id, Loss, Metadata, NameIdx, Place, TrackKey, TrackKind};

/// Whether this is JSON with the nodes of a profile.
#[must_use]
pub fn looks_like_cpuprofile(head: &[u8]) -> bool {
    let has = |text: &str| memchr::memmem::find(head, text.as_bytes()).is_some();
    let is_profile = has("\"nodes\"") && has("\"callFrame\"") && has("\"functionName\"");
    super::detect::looks_like_json(head) && is_profile && !has("\"traceEvents\"") && !has("\"ph\"")
}

/// Makes a reader of a profile.
#[must_use]
pub fn open(source: Source) -> Reader {
    Reader::Stream(Box::new(CpuProfile { source: Some(source) }))
}

struct CpuProfile {
    source: Option<Source>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File<'a> {
    nodes: Vec<Node>,
    #[serde(borrow)]
    start_time: &'a RawValue,
    #[serde(default)]
    samples: Vec<u64>,
    #[serde(borrow, default)]
    time_deltas: Vec<&'a RawValue>,
}

/// A node of the tree of calls. Of `parent` and `children` a profile has one.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Node {
    pub(super) id: u64,
    pub(super) call_frame: CallFrame,
    pub(super) parent: Option<u64>,
    #[serde(default)]
    pub(super) children: Vec<u64>,
}

/// A function, with its place in a script. Lines count from 0.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallFrame {
    #[serde(default)]
    pub(super) function_name: String,
    #[serde(default)]
    pub(super) url: String,
    #[serde(default)]
    pub(super) line_number: i64,
}

impl CallFrame {
    /// As stacks show it.
    pub(super) fn title(&self) -> String {
        let name = if self.function_name.is_empty() { "(anonymous)" } else { &self.function_name };
        match self.url.rsplit('/').next() {
            Some(file) if !file.is_empty() => format!("{name} ({file}:{})", self.line_number.saturating_add(1)),
            _ => name.to_owned(),
        }
    }
}

/// The tree of calls, by the ids of its nodes.
#[derive(Debug, Default)]
pub(super) struct Calls {
    frames: Frames,
    /// By id: the row of the frame, none for the root.
    rows: FxHashMap<u64, Option<u32>>,
    /// Callers whose own node has not come.
    callers: FxHashMap<u64, u64>,
}

impl Calls {
    /// Adds a node.
    pub(super) fn add(&mut self, node: &Node) {
        let is_root = node.call_frame.function_name == "(root)" && node.parent.is_none();
        let row = if is_root {
            None
        } else {
            self.frames.push(None, node.call_frame.title().as_bytes());
            u32::try_from(self.frames.len() - 1).ok()
        };
        self.rows.insert(node.id, row);
        self.callers.extend(node.parent.map(|parent| (node.id, parent)));
        self.callers.extend(node.children.iter().map(|&child| (child, node.id)));
    }

    /// Joins nodes that came since with their callers.
    pub(super) fn join(&mut self) {
        let rows = &self.rows;
        let frames = &mut self.frames;
        // Kept are those one of whose ends has not come.
        self.callers.retain(|child, caller| match (rows.get(child), rows.get(caller)) {
            (Some(&child), Some(&caller)) => {
                if let (Some(child), Some(caller)) = (child, caller) {
                    frames.set_caller(child, caller);
                }
                false
            }
            _ => true,
        });
    }

    /// The stack that ends with a node; `None` for a node that does not exist.
    pub(super) fn stack(
        &mut self,
        node: u64,
        batch: &mut BatchBuilder,
        place: Place,
    ) -> Option<crate::model::StackIdx> {
        let row = *self.rows.get(&node)?;
        Some(row.map_or_else(Default::default, |row| self.frames.stack(row, batch, place)))
    }
}

impl StreamReader for CpuProfile {
    fn read(&mut self, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError> {
        let Some(source) = self.source.take() else { return Ok(()) };
        let document = Document::read(source, context)?;
        let file: File<'_> = document.parse()?;
        let mut calls = Calls::default();
        file.nodes.iter().for_each(|node| calls.add(node));
        calls.join();
        let mut batch = BatchBuilder::new(context.grain);
        let (pid, tid) = (Id::None, Id::Number(1));
        let (name, same_tid) = ("JavaScript".into(), tid.clone());
        batch.batch.metadata.push(Metadata::ThreadName { pid: pid.clone(), tid: same_tid, name });
        let key = TrackKey { kind: TrackKind::Thread, pid, tid, name: Box::default(), slot: 0 };
        let mut now_ns = Unit::Microseconds.nanos(file.start_time).unwrap_or_else(|_| {
            batch.lose(Loss::BadTime, Place::Time(0));
            0
        });
        let unequal = file.samples.len().abs_diff(file.time_deltas.len()) as u64;
        batch.batch.losses.add_many(Loss::BadRecord, Place::Time(now_ns), unequal);
        for (&node, delta) in file.samples.iter().zip(&file.time_deltas) {
            let next_ns = Unit::Microseconds.nanos(delta).ok().and_then(|delta| now_ns.checked_add(delta));
            match next_ns {
                Some(next_ns) => now_ns = next_ns,
                None => batch.lose(Loss::BadTime, Place::Time(now_ns)),
            }
            let place = Place::Time(now_ns);
            let Some(stack) = calls.stack(node, &mut batch, place) else {
                batch.lose(Loss::MissingText, place);
                continue;
            };
            let track = batch.track_with(&key);
            let value = u64::from(stack.0);
            batch.push(Event { value, ..bare(now_ns, EventKind::Sample, track, NameIdx::EMPTY) });
            batch.flush_if_full(sink, context)?;
        }
        batch.flush(sink)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::testing::{read, read_bytes};

    const PROFILE: &str = r#"{"nodes":[
        {"id":1,"callFrame":{"functionName":"(root)","scriptId":"0","url":"","lineNumber":-1,"columnNumber":-1},"children":[2,4]},
        {"id":2,"callFrame":{"functionName":"main","url":"file:///x/a.js","lineNumber":9},"children":[3]},
        {"id":3,"callFrame":{"functionName":"","url":"","lineNumber":0}},
        {"id":4,"callFrame":{"functionName":"(idle)"}}],
        "startTime":100,"endTime":200,"samples":[2,3,4,1,9],"timeDeltas":[5,10,-5,20,1]}"#;

    #[test]
    fn samples_have_their_stacks_and_their_own_times_also_backwards() {
        let reading = read(PROFILE);
        let found: Vec<(i64, Vec<&str>)> = reading
            .events
            .iter()
            .map(|event| (event.ts_ns, event.stack.iter().map(String::as_str).collect()))
            .collect();
        let main = "main (a.js:10)";
        let expected =
            [(105_000, vec![main]), (110_000, vec!["(idle)"]), (115_000, vec![main, "(anonymous)"]), (130_000, vec![])];
        assert_eq!(found, expected);
        assert_eq!(reading.lost(), [(Loss::MissingText, 1)]);
    }

    #[test]
    fn nodes_that_tell_their_parents_make_the_same_stacks() {
        let by_parents = PROFILE
            .replace(r#","children":[2,4]"#, "")
            .replace(r#","children":[3]"#, r#","parent":1"#)
            .replace(r#""lineNumber":0}"#, r#""lineNumber":0},"parent":2"#)
            .replace(r#"{"functionName":"(idle)"}"#, r#"{"functionName":"(idle)"},"parent":1"#);
        assert_eq!(read(&by_parents), read(PROFILE));
    }

    #[test]
    fn a_profile_that_is_cut_anywhere_is_refused_with_the_place() {
        for len in 200..PROFILE.len() {
            let error = read_bytes(&PROFILE.as_bytes()[..len]).expect_err("refused").to_string();
            assert!(error.contains("expected the JSON of a profile, found the end"), "{error}");
        }
    }
}

//! V8 sampling heap profiles (`.heapprofile`): a call tree with the bytes that each node allocated and that are still
//! in use. The `(root)` node is omitted from stacks. Buffers the whole document, since a tree cannot be split; refuses
//! a document that exceeds a share of the memory budget.

use std::sync::Arc;

use super::frames::{FilePaths, FrameTable};
use super::pprof::tables::{ProfileMemory, read_message};
use super::v8_calls::CallFrame;
use super::v8_tree::{ReadStop, V8TreeBuilder, number, read_document, read_object, read_tree};
use super::weighed::WeighedRow;
use crate::formats::format::{DataKind, Format, Opener};
use crate::formats::input::source::Source;
use crate::formats::json::outline::Outline;
use crate::formats::json::scan::Scanner;
use crate::formats::json::sniff::looks_like_json;
use crate::formats::json::text::parse;
use crate::formats::output::batch::BatchBuilder;
use crate::formats::output::modules::ModuleFrame;
use crate::formats::{BatchSink, ReadContext, ReadError, Reader, StreamReader};
use crate::model::sample_measure::BYTES;
use crate::model::{Loss, SourcePos};

/// V8 heap profiles, as saved by Chrome and Node.js.
pub(crate) const FORMAT: Format = Format {
    name: "V8 heap profile",
    record: "An allocation is a node with selfSize and a callFrame, below head.",
    sniff: looks_like_heap_profile,
    is_event: None,
    live: None,
    shows: &[DataKind::Arguments, DataKind::Samples],
    opener: Opener::Trace(|source, _| Ok(Reader::stream(HeapProfile { source }))),
};

/// Paths of the first call frame: in a saved profile, and in responses of the debugger protocol around a profile.
const FRAME_PATHS: [&str; 3] = ["head.callFrame", "profile.head.callFrame", "result.profile.head.callFrame"];

/// Objects around the profile in a response of the debugger protocol.
const WRAPPERS_MAX: usize = 2;

fn looks_like_heap_profile(head: &[u8]) -> bool {
    looks_like_json(head) && Outline::from_head(head).count_of(&FRAME_PATHS) > 0
}

struct HeapProfile {
    source: Source,
}

/// A node of the tree, which follows its caller.
#[derive(Debug, Default)]
struct HeapNode {
    caller: Option<u32>,
    /// Name shown in stacks; `None` for the root.
    title: Option<Box<str>>,
    /// Path of its file.
    file: Option<Arc<str>>,
    self_bytes: u64,
}

impl StreamReader for HeapProfile {
    fn read(self: Box<Self>, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError> {
        let mut source = self.source;
        let path = source.path().to_owned();
        let mut memory = ProfileMemory::new(&path, context);
        let (text, cut_at) = read_message(&mut source, &mut memory)?;
        let mut batch = BatchBuilder::new(context.chunk_limits);
        let mut tree = HeapTree { nodes: Vec::new(), files: FilePaths::default(), memory };
        read_document(&text, cut_at, &mut batch, |key, scanner, batch| read_member(key, 0, &mut tree, scanner, batch))?;
        tree.emit(&mut batch, sink, context)?;
        batch.flush(sink)
    }
}

/// Reads the value of a member of the profile, or of an object around it.
fn read_member(
    key: &[u8],
    wrappers: usize,
    tree: &mut HeapTree<'_>,
    scanner: &mut Scanner<'_>,
    batch: &mut BatchBuilder,
) -> Result<(), ReadStop> {
    match key {
        b"head" => read_tree(scanner, tree, batch),
        b"profile" | b"result" if wrappers < WRAPPERS_MAX && scanner.peek()? == b'{' => {
            read_object(scanner, batch, |key, scanner, batch| read_member(key, wrappers + 1, tree, scanner, batch))
        }
        _ => {
            scanner.value(0)?;
            Ok(())
        }
    }
}

/// Nodes so far, callers before callees.
struct HeapTree<'c> {
    nodes: Vec<HeapNode>,
    files: FilePaths,
    memory: ProfileMemory<'c>,
}

impl V8TreeBuilder for HeapTree<'_> {
    fn open(&mut self, caller: Option<u32>, offset: u64) -> Result<u32, ReadError> {
        // Memory bounds the text, and a node takes at least two bytes of it.
        let node = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        self.memory.add(size_of::<HeapNode>() + FrameTable::ROW_BYTES + FrameTable::TITLE_BYTES, offset)?;
        self.nodes.push(HeapNode { caller, ..HeapNode::default() });
        Ok(node)
    }

    fn member(
        &mut self,
        node: u32,
        (key, pos): (&[u8], SourcePos),
        scanner: &mut Scanner<'_>,
        batch: &mut BatchBuilder,
    ) -> Result<(), ReadStop> {
        let (value, node) = (scanner.value(0)?, &mut self.nodes[node as usize]);
        match key {
            b"callFrame" => {
                let mut copy = String::new();
                let frame = parse::<CallFrame>(value.text, &mut copy, pos, batch.losses());
                let Some(frame) = frame else {
                    batch.lose(Loss::BadRecord, pos);
                    return Ok(());
                };
                let is_root = frame.function_name == "(root)" && node.caller.is_none();
                if is_root {
                    return Ok(());
                }
                let (title, (file, path_bytes)) = (frame.title(), self.files.add(frame.url.as_bytes()));
                self.memory.add(title.len() + path_bytes, scanner.pos as u64)?;
                (node.title, node.file) = (Some(title.into()), file);
            }
            b"selfSize" => match number(&value) {
                Some(bytes) => node.self_bytes = bytes,
                None => batch.lose(Loss::BadNumber, pos),
            },
            _ => {}
        }
        Ok(())
    }
}

impl HeapTree<'_> {
    /// Emits a sample for each node with bytes of its own, in tree order.
    fn emit(self, batch: &mut BatchBuilder, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError> {
        let mut frames = FrameTable::default();
        // Row of each node, or of its nearest caller with a row.
        let mut rows: Vec<Option<u32>> = Vec::with_capacity(self.nodes.len());
        let mut row = WeighedRow::new("allocated", BYTES, -1, batch);
        for node in &self.nodes {
            let caller = node.caller.and_then(|caller| rows.get(caller as usize).copied().flatten());
            let is_root = node.title.is_none() && node.caller.is_none();
            if is_root {
                rows.push(None);
            } else {
                let text = node.title.as_deref().unwrap_or("(anonymous)").into();
                let title = frames.push_frame(ModuleFrame { text, category: node.file.clone() });
                if !frames.push_titled(caller, title) {
                    batch.lose(Loss::DeepNesting, row.pos());
                }
                rows.push(u32::try_from(frames.len() - 1).ok());
            }
            if node.self_bytes > 0 {
                let frame = rows.last().copied().flatten();
                let stack = frame.map_or_else(Default::default, |frame| frames.stack(frame, batch, row.pos()));
                row.push(node.self_bytes, stack, batch);
                batch.flush_if_full(sink, context)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::testing::{Reading, data, read, read_bytes, read_path, unpacked};
    use crate::model::SampleMeasure;
    use proptest::prelude::*;

    fn found(reading: &Reading) -> Vec<(Vec<String>, u64)> {
        let weight = |args: &str| SampleMeasure::from_args(args).weight;
        reading.events.iter().map(|event| (event.stack.clone(), weight(&event.args))).collect()
    }

    /// Writes a tree as JSON, and collects the expected samples: each node with bytes, in tree order.
    fn written(node: &Tree, path: &mut Vec<String>, expected: &mut Vec<(Vec<String>, u64)>) -> String {
        path.push(node.name.clone());
        if node.bytes > 0 {
            expected.push((path.clone(), node.bytes));
        }
        let children: Vec<String> = node.children.iter().map(|child| written(child, path, expected)).collect();
        path.pop();
        format!(
            r#"{{"callFrame":{{"functionName":"{}","url":"","lineNumber":1}},"selfSize":{},"id":1,"children":[{}]}}"#,
            node.name,
            node.bytes,
            children.join(",")
        )
    }

    #[derive(Debug, Clone)]
    struct Tree {
        name: String,
        bytes: u64,
        children: Vec<Tree>,
    }

    fn trees() -> impl Strategy<Value = Tree> {
        let leaf = ("[a-z]{1,5}", 0..1000u64).prop_map(|(name, bytes)| Tree { name, bytes, children: Vec::new() });
        leaf.prop_recursive(6, 40, 4, |inner| {
            ("[a-z]{1,5}", 0..1000u64, prop::collection::vec(inner, 0..4)).prop_map(|(name, bytes, children)| Tree {
                name,
                bytes,
                children,
            })
        })
    }

    proptest! {
        #[test]
        fn any_tree_reads_as_its_nodes_and_any_cut_of_it_as_the_first_of_them(tree in trees(), cut in 0.0..1.0f64) {
            let mut expected = Vec::new();
            let text = format!(r#"{{"head":{},"samples":[]}}"#, written(&tree, &mut Vec::new(), &mut expected));
            let reading = read(&text);
            prop_assert_eq!(found(&reading), expected.clone());
            prop_assert_eq!(reading.losses.total(), 0);
            let len = 40 + ((text.len() - 40) as f64 * cut) as usize;
            let part = read_bytes(&text.as_bytes()[..len]).expect("a part");
            prop_assert!(expected.starts_with(&found(&part)), "{:?} of {expected:?}", found(&part));
            prop_assert_eq!(part.losses.count(Loss::Truncated), 1);
        }
    }

    #[test]
    fn a_tree_of_any_depth_is_read_and_its_root_is_not_a_frame() {
        let node = |name: &str, bytes: u64| {
            format!(r#"{{"callFrame":{{"functionName":"{name}"}},"selfSize":{bytes},"children":["#)
        };
        let depth = 3000;
        let text = format!(
            r#"{{"head":{}{}{}}}"#,
            node("(root)", 5),
            node("f", 0).repeat(depth - 1) + &node("g", 7),
            "]}".repeat(depth + 1)
        );
        let reading = read(&text);
        let found = found(&reading);
        assert_eq!(found.iter().map(|(stack, bytes)| (stack.len(), *bytes)).collect::<Vec<_>>(), [(0, 5), (depth, 7)]);
        assert_eq!(reading.lost(), []);
        let bad = r#"{"head":{"callFrame":7,"selfSize":"x","children":[{"selfSize":3},{]}}"#;
        assert_eq!(read(bad).lost(), [(Loss::BadNumber, 1), (Loss::BadRecord, 2)]);
    }

    #[test]
    fn functions_in_files_of_the_same_name_differ_in_the_paths_of_these() {
        let node = |folder: &str| {
            let frame = format!(r#"{{"functionName":"f","url":"file:///{folder}/index.js","lineNumber":0}}"#);
            format!(r#"{{"callFrame":{frame},"selfSize":5,"children":[]}}"#)
        };
        let root = r#"{"callFrame":{"functionName":"(root)"},"selfSize":0,"children":["#;
        let reading = read(&format!(r#"{{"head":{root}{},{}]}}}}"#, node("a"), node("b")));
        let paths: Vec<_> =
            reading.events.iter().map(|event| (&*event.stack[0], event.modules[0].as_deref())).collect();
        let expected = ["file:///a/index.js", "file:///b/index.js"].map(|path| ("f (index.js:1)", Some(path)));
        assert_eq!(paths, expected);
    }

    #[test]
    fn responses_of_the_debugger_protocol_are_profiles_too() {
        let one = r#"{"head":{"callFrame":{"functionName":"f"},"selfSize":5,"children":[]},"samples":[]}"#;
        let whole = read(one);
        for text in [
            format!(r#"{{"profile":{one}}}"#),
            format!(r#"{{"id":7,"result":{{"profile":{one}}}}}"#),
            format!(r#"{{"result":{{"profile":{one},"x":{{"profile":1}}}},"id":7}}"#),
        ] {
            let reading = read(&text);
            assert_eq!((found(&reading), reading.lost()), (found(&whole), vec![]), "{text}");
        }
    }

    #[test]
    fn data_after_a_profile_is_counted() {
        let one = r#"{"head":{"callFrame":{"functionName":"f"},"selfSize":5,"children":[]}}"#;
        for (rest, lost) in
            [("\n \n", vec![]), (one, vec![(Loss::TrailingData, 1)]), (" x", vec![(Loss::TrailingData, 1)])]
        {
            let reading = read(&format!("{one}{rest}"));
            assert_eq!((reading.events.len(), reading.lost()), (1, lost), "{rest}");
        }
    }

    #[test]
    fn a_real_profile_weighs_what_its_nodes_weigh() {
        let reading = read_path(&data("people/node-heap-prof.heapprofile.gz")).expect("a capture");
        let text = unpacked("people/node-heap-prof.heapprofile.gz");
        let json: serde_json::Value = serde_json::from_str(&text).expect("the document");
        let mut waiting = vec![&json["head"]];
        let mut sum = 0;
        while let Some(node) = waiting.pop() {
            sum += node["selfSize"].as_u64().expect("bytes");
            waiting.extend(node["children"].as_array().into_iter().flatten());
        }
        assert_eq!(found(&reading).iter().map(|(_, bytes)| bytes).sum::<u64>(), sum);
        assert!(sum > 0 && reading.losses.is_empty());
    }
}

//! V8 CPU profiles in the form before 2016, which tools for Node.js wrote for longer. They have a nested call tree
//! under `head`, then the sampled node ids and their times. A sample weighs the time to the next sample, as in
//! `cpuprofile`. Buffers the whole document, since a tree cannot be split. Refuses a document that exceeds a share of
//! the memory budget.

use std::path::PathBuf;

use super::pprof::tables::{ProfileMemory, read_message};
use super::v8_calls::{CallFrame, Calls, TimedSamples, V8CallNode, name_track};
use super::v8_tree::{ReadStop, V8TreeBuilder, number, read_document, read_tree};
use crate::formats::input::source::Source;
use crate::formats::json::document::TimeUnit;
use crate::formats::json::outline::Outline;
use crate::formats::json::scan::{Broken, JsonValue, Scanner};
use crate::formats::json::text::{Repairs, decode};
use crate::formats::output::batch::BatchBuilder;
use crate::formats::{BatchSink, ReadContext, ReadError, Reader, StreamReader};
use crate::model::{Loss, SourcePos};

/// Returns whether this is JSON with such a tree.
pub(super) fn has_tree(head: &[u8]) -> bool {
    Outline::from_head(head).has_all(&["head.functionName"])
}

/// Creates a reader of a profile.
pub(super) fn open(source: Source) -> Reader {
    Reader::stream(HeadProfile { source })
}

struct HeadProfile {
    source: Source,
}

/// A node of the tree; its caller has a lower index.
#[derive(Debug, Default)]
struct HeadNode {
    caller: Option<u32>,
    id: Option<u64>,
    frame: CallFrame,
    hits: u64,
}

/// The parts of a document that were read.
struct HeadDocument<'c> {
    nodes: Vec<HeadNode>,
    /// Sampled node ids; `None` for an invalid id.
    samples: Option<Vec<Option<u64>>>,
    times_ns: Vec<Option<i64>>,
    start_ns: Option<i64>,
    end_ns: Option<i64>,
    memory: ProfileMemory<'c>,
}

impl StreamReader for HeadProfile {
    fn read(self: Box<Self>, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError> {
        let mut source = self.source;
        let path: PathBuf = source.path().to_owned();
        let mut memory = ProfileMemory::new(&path, context);
        let (text, cut_at) = read_message(&mut source, &mut memory)?;
        let mut batch = BatchBuilder::new(context.chunk_limits);
        let (nodes, samples, times_ns) = (Vec::new(), None, Vec::new());
        let mut document = HeadDocument { nodes, samples, times_ns, start_ns: None, end_ns: None, memory };
        let is_cut =
            read_document(&text, cut_at, &mut batch, |key, scanner, batch| document.read_member(key, scanner, batch))?;
        let mut calls = document.take_calls(&mut batch);
        if document.samples.is_none() && !is_cut {
            return calls.emit_hits(&mut batch, sink, context);
        }
        document.emit_samples(calls, &mut batch, sink, context)?;
        batch.flush(sink)
    }
}

impl HeadDocument<'_> {
    /// Reads a member of the document.
    fn read_member(&mut self, key: &[u8], scanner: &mut Scanner<'_>, batch: &mut BatchBuilder) -> Result<(), ReadStop> {
        let pos = SourcePos::Offset(scanner.pos as u64);
        match key {
            b"head" => read_tree(scanner, self, batch)?,
            b"samples" => {
                let (samples, memory) = (self.samples.get_or_insert_default(), &mut self.memory);
                read_array(scanner, |value, offset| {
                    memory.add(size_of::<Option<u64>>(), offset)?;
                    samples.push(number(value));
                    Ok(())
                })?;
            }
            b"timestamps" => {
                let (times_ns, memory) = (&mut self.times_ns, &mut self.memory);
                read_array(scanner, |value, offset| {
                    memory.add(size_of::<Option<i64>>(), offset)?;
                    times_ns.push(TimeUnit::Microseconds.parse_nanos(value.text).ok());
                    Ok(())
                })?;
            }
            b"startTime" | b"endTime" => {
                let time_ns = TimeUnit::Seconds.parse_nanos(scanner.value(0)?.text).ok();
                if time_ns.is_none() {
                    batch.lose(Loss::BadTime, pos);
                }
                *(if key == b"startTime" { &mut self.start_ns } else { &mut self.end_ns }) = time_ns;
            }
            _ => _ = scanner.value(0)?,
        }
        Ok(())
    }

    /// Builds the call tree from the nodes.
    fn take_calls(&mut self, batch: &mut BatchBuilder) -> Calls {
        let mut calls = Calls::default();
        // A node without an id gets a unique one; no sample refers to it.
        let id = |node: &HeadNode, number: u32| node.id.unwrap_or(u64::MAX - u64::from(number));
        for (number, node) in (0..).zip(&self.nodes) {
            let parent = node.caller.and_then(|caller| Some(id(self.nodes.get(caller as usize)?, caller)));
            let HeadNode { frame, hits, .. } = node;
            let call_frame = CallFrame { function_name: frame.function_name.clone(), url: frame.url.clone(), ..*frame };
            let (children, hit_count) = (Vec::new(), *hits);
            calls.add(&V8CallNode { id: id(node, number), call_frame, parent, children, hit_count });
        }
        batch.losses().add_many(Loss::BadRecord, SourcePos::Offset(0), calls.join());
        calls
    }

    /// Emits the samples. A sample without a time follows the previous sample after the last interval. Without any
    /// times, all samples share the duration of the profile.
    fn emit_samples(
        &self,
        calls: Calls,
        batch: &mut BatchBuilder,
        sink: &mut dyn BatchSink,
        context: &ReadContext,
    ) -> Result<(), ReadError> {
        let samples = self.samples.as_deref().unwrap_or_default();
        // The time before the first sample is not an interval.
        let first_ns = self.times_ns.iter().flatten().next().copied();
        let start_ns = first_ns.or(self.start_ns);
        let key = name_track(start_ns.is_some(), batch);
        let start_ns = start_ns.unwrap_or(0);
        let whole_ns = self.end_ns.and_then(|end_ns| end_ns.checked_sub(start_ns)).filter(|&ns| ns > 0);
        let shared_ns = whole_ns.filter(|_| self.times_ns.is_empty()).map(|ns| ns / samples.len().max(1) as i64);
        let mut timed = TimedSamples::new(calls, key, start_ns);
        let mut now_ns = start_ns;
        for (index, &sample) in samples.iter().enumerate() {
            let pos = SourcePos::Time(now_ns);
            let then_ns = match (self.times_ns.get(index), shared_ns) {
                (Some(&time_ns), _) => time_ns,
                (None, Some(shared_ns)) => Some(start_ns + shared_ns * index as i64),
                (None, None) => {
                    batch.lose(Loss::MissingWeight, pos);
                    now_ns.checked_add(timed.interval_ns())
                }
            };
            let Some(then_ns) = then_ns else {
                batch.lose(Loss::BadTime, pos);
                continue;
            };
            now_ns = then_ns;
            if sample.is_none() {
                batch.lose(Loss::BadNumber, SourcePos::Time(now_ns));
            }
            timed.push(now_ns, sample, batch);
            batch.flush_if_full(sink, context)?;
        }
        timed.finish(self.end_ns, batch);
        Ok(())
    }
}

impl V8TreeBuilder for HeadDocument<'_> {
    fn open(&mut self, caller: Option<u32>, offset: u64) -> Result<u32, ReadError> {
        // Memory bounds the text, and a node takes at least two bytes of it.
        let node = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        self.memory.add(size_of::<HeadNode>() + Calls::NODE_BYTES, offset)?;
        self.nodes.push(HeadNode { caller, ..HeadNode::default() });
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
        let mut repairs = Repairs::default();
        let mut text = || decode(&value, &mut repairs).into_owned();
        let is_number = match key {
            b"functionName" => {
                node.frame.function_name = text();
                true
            }
            b"url" => {
                node.frame.url = text();
                true
            }
            // Lines count from 1 here.
            b"lineNumber" => number(&value).map(|line| node.frame.line_number = line as i64 - 1).is_some(),
            b"id" => number(&value).map(|id| node.id = Some(id)).is_some(),
            b"hitCount" => number(&value).map(|hits| node.hits = hits).is_some(),
            _ => return Ok(()),
        };
        if !is_number {
            batch.lose(Loss::BadNumber, pos);
        }
        repairs.count(batch.losses(), pos);
        self.memory.add(value.text.len(), scanner.pos as u64)?;
        Ok(())
    }
}

/// Reads the elements of the array at the scanner, each with its offset.
fn read_array(
    scanner: &mut Scanner<'_>,
    mut element: impl FnMut(&JsonValue<'_>, u64) -> Result<(), ReadError>,
) -> Result<(), ReadStop> {
    scanner.expect(b'[')?;
    loop {
        match scanner.peek()? {
            b']' => {
                scanner.pos += 1;
                return Ok(());
            }
            b',' => scanner.pos += 1,
            _ => {
                let offset = scanner.pos as u64;
                let value = scanner.value(0)?;
                // The text may end within a number.
                if scanner.pos == scanner.bytes.len() {
                    return Err(Broken::Incomplete.into());
                }
                element(&value, offset)?;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::testing::{read, read_bytes, read_cut};

    const PROFILE: &str = r#"{"typeId":"CPU","uid":"1","title":"x","head":{"functionName":"(root)","url":"","lineNumber":0,
        "callUID":1,"bailoutReason":"","id":1,"scriptId":0,"hitCount":0,"children":[
            {"functionName":"main","url":"/x/a.js","lineNumber":10,"id":2,"hitCount":1,"children":[
                {"functionName":"say \"hi\"","url":"","lineNumber":0,"id":3,"hitCount":3,"children":[]}]},
            {"functionName":"(idle)","url":"","lineNumber":0,"id":4,"hitCount":2,"children":[]}]},
        "startTime":1.5,"endTime":1.9,"samples":[2,3,4,1,9],"timestamps":[1500100,1500200,1500150,1500300,1500400]}"#;

    #[test]
    fn samples_have_the_stacks_of_the_tree_and_their_own_times() {
        let reading = read(PROFILE);
        let found: Vec<(i64, Vec<&str>)> = reading
            .events
            .iter()
            .map(|event| (event.ts_ns, event.stack.iter().map(String::as_str).collect()))
            .collect();
        let main = "main (a.js:10)";
        let expected = [
            (1_500_100_000, vec![main]),
            (1_500_150_000, vec!["(idle)"]),
            (1_500_200_000, vec![main, "say \"hi\""]),
            (1_500_300_000, vec![]),
        ];
        assert_eq!(found, expected);
        // The third one went back, to before the second one.
        assert_eq!(reading.sampled_times(), [50_000, 50_000, 100_000, 100_000]);
        assert_eq!(reading.lost(), [(Loss::MissingText, 1)]);
        for block_bytes in [1, 7, 1000] {
            assert_eq!(read_cut(PROFILE.as_bytes(), block_bytes, 2).expect("a profile"), reading);
        }
    }

    #[test]
    fn a_sample_weighs_the_time_to_the_next_one_or_to_the_end_of_the_profile() {
        let times = |start: &str, end: &str, times: &str| {
            let head = r#""head":{"functionName":"(root)","id":1,"children":[{"functionName":"f","id":2}]}"#;
            let reading = read(&format!(r#"{{{head},{start}{end}"samples":[2,2,null,2],"timestamps":[{times}]}}"#));
            assert!(reading.events.iter().all(|event| !event.track.is_untimed()));
            assert_eq!(reading.losses.count(Loss::BadNumber), 1);
            reading.sampled_times()
        };
        let (start, end) = (r#""startTime":1,"#, r#""endTime":2,"#);
        let stamps = "1000100,1000300,1000400,1000900";
        assert_eq!(times(start, r#""endTime":1.0012,"#, stamps), [200_000, 100_000, 300_000]);
        // Without an end, or if nothing was sampled for long before it, the usual interval is repeated.
        assert_eq!(times(start, end, stamps), [200_000, 100_000, 200_000]);
        assert_eq!(times("", "", stamps), [200_000, 100_000, 200_000]);
        // Without times, each has an equal share.
        assert_eq!(times(start, end, ""), [250_000_000; 3]);
    }

    #[test]
    fn samples_without_times_share_that_of_the_profile_and_nodes_without_samples_have_hits() {
        let untimed = PROFILE.replace(",\"timestamps\":[1500100,1500200,1500150,1500300,1500400]", "");
        let times: Vec<i64> = read(&untimed).events.iter().map(|event| event.ts_ns).collect();
        assert_eq!(times, [1_500_000_000, 1_580_000_000, 1_660_000_000, 1_740_000_000]);
        let unstarted = untimed.replace("\"startTime\":1.5,\"endTime\":1.9,", "");
        assert!(read(&unstarted).events.iter().all(|event| event.track.is_untimed()));
        let hits = untimed.replace("\"samples\":[2,3,4,1,9]", "\"x\":1");
        let reading = read(&hits);
        assert!(reading.events.iter().all(|event| event.track.is_untimed()));
        let weights: Vec<_> =
            reading.events.iter().map(|event| (event.stack.len(), event.args.contains('3'))).collect();
        assert_eq!(weights, [(1, false), (2, true), (1, false)], "{:?}", reading.events);
        assert_eq!(reading.lost(), []);
    }

    #[test]
    fn a_profile_that_is_cut_anywhere_keeps_the_samples_before_the_cut() {
        let all = read(PROFILE).events.len();
        let mut most = 0;
        for len in 70..PROFILE.len() - 1 {
            let reading = read_bytes(&PROFILE.as_bytes()[..len]).expect("a part");
            assert_eq!(reading.losses.count(Loss::Truncated), 1, "{len}");
            assert!((most..=all).contains(&reading.events.len()), "{len}");
            most = reading.events.len();
        }
        assert_eq!(most, all);
    }

    #[test]
    fn damage_costs_what_it_hits() {
        let bad = PROFILE.replace("\"id\":4", "\"id\":\"x\"").replace("[2,3,4,1,9]", "[2,null,4,1,2]");
        let reading = read(&bad);
        assert_eq!(reading.events.len(), 3);
        assert_eq!(reading.lost(), [(Loss::BadNumber, 2), (Loss::MissingText, 1)]);
        let twice = read(&format!("{PROFILE}\n{PROFILE}"));
        assert_eq!(twice.events, read(PROFILE).events);
        assert_eq!(twice.lost(), [(Loss::MissingText, 1), (Loss::TrailingData, 1)]);
    }
}

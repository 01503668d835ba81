//! Collapsed stacks, the input of flame graphs: one line per stack, `outer;inner;innermost weight`. There is no
//! time: equal beginnings of stacks are drawn together, in order of their first appearance, and a weight of 1
//! is drawn 1 ms wide.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::formats::format::{Format, Opener, Shown};
use crate::formats::input::decimal::nanos_from_millis;
use crate::formats::input::lines::{LineParser, Output, TextLine, head_lines};
use crate::formats::input::source::Source;
use crate::formats::output::batch::{BatchBuilder, bare};
use crate::formats::{ReadError, Reader};
use crate::model::{Event, EventKind, Id, Loss, Metadata, SourcePos, TrackKey, TrackKind};

/// The most frames in memory, about 100 bytes each; real graphs have some thousand.
const FRAMES_MAX: usize = 1 << 22;

/// Stacks with weights, one a line, as flame graph tools exchange them.
pub(crate) const FORMAT: Format = Format {
    name: "Collapsed stacks",
    sniff: looks_like_collapsed,
    shows: &[Shown::Spans],
    opener: Opener::Capture(|source, _| Ok(open(source))),
};

/// Whether the first lines are stacks with weights.
fn looks_like_collapsed(head: &[u8]) -> bool {
    let mut deep = 0;
    // Austin's lines look alike; their frames and weights mean other things.
    if head.starts_with(b"# austin") {
        return false;
    }
    let mut lines = head_lines(head).filter(|line| !is_blank(line)).peekable();
    let is_empty = lines.peek().is_none();
    let all = lines.all(|line| {
        deep += usize::from(line.contains(&b';'));
        split(line).is_some() && !line.iter().any(|&byte| byte < b' ' && byte != b'\t')
    });
    all && deep > 0 && !is_empty
}

/// Makes a reader of collapsed stacks.
fn open(source: Source) -> Reader {
    crate::formats::input::lines::open(source, Collapsed::default())
}

/// The name of a stack without frames: py-spy sees some while Python starts.
const NO_FRAMES: &[u8] = b"[no frames]";

/// Whether a line is empty or a comment.
fn is_blank(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line.is_empty() || line == b"#" || line.starts_with(b"# ")
}

/// Splits a line into a stack and its weight, which is the text after the last space.
fn split(line: &[u8]) -> Option<(&[u8], i64)> {
    let line = line.trim_ascii_end();
    let space = line.iter().rposition(|&byte| byte == b' ' || byte == b'\t')?;
    let weight_ns = nanos_from_millis(&line[space + 1..]).ok()?;
    let stack = line[..space].trim_ascii_end();
    Some((if stack.is_empty() { NO_FRAMES } else { stack }, weight_ns))
}

#[derive(Debug, Default)]
struct Collapsed {
    names: Vec<Box<[u8]>>,
    name_index: FxHashMap<Box<[u8]>, u32>,
    /// The frames, each after its caller.
    frames: Vec<CollapsedFrame>,
    /// By caller, 0 for none and else 1 + its place, and name.
    frame_index: FxHashMap<(u32, u32), u32>,
}

#[derive(Debug)]
struct CollapsedFrame {
    caller: Option<u32>,
    name: u32,
    /// Its own weight, and then that of all it calls too.
    weight_ns: i64,
    first: SourcePos,
}

impl LineParser for Collapsed {
    fn line(&mut self, line: TextLine<'_>, batch: &mut BatchBuilder) {
        if is_blank(line.bytes) {
            return;
        }
        let Some((stack, weight_ns)) = split(line.bytes) else { return batch.lose(line.loss(), line.place()) };
        if weight_ns < 0 {
            return batch.lose(Loss::BadNumber, line.place());
        }
        // Some tools write a semicolon before the first frame or after the last: there is no frame without a name.
        let mut names = stack.split(|&byte| byte == b';').filter(|name| !name.trim_ascii().is_empty()).peekable();
        let no_frames = names.peek().is_none().then_some(NO_FRAMES);
        let mut caller = None;
        for name in names.chain(no_frames) {
            match self.frame(caller, name, line.place()) {
                Some(frame) => caller = Some(frame),
                None => return batch.lose(Loss::OverLimit, line.place()),
            }
        }
        let Some(innermost) = caller.and_then(|frame| self.frames.get_mut(frame as usize)) else { return };
        match innermost.weight_ns.checked_add(weight_ns) {
            Some(sum) => innermost.weight_ns = sum,
            None => batch.lose(Loss::BadNumber, line.place()),
        }
    }

    fn finish(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        for position in (0..self.frames.len()).rev() {
            let CollapsedFrame { caller, weight_ns, first, .. } = self.frames[position];
            if let Some(caller) = caller {
                let sum = &mut self.frames[caller as usize].weight_ns;
                *sum = sum.checked_add(weight_ns).unwrap_or_else(|| {
                    out.batch.lose(Loss::BadNumber, first);
                    i64::MAX
                });
            }
        }
        let key = TrackKey {
            kind: TrackKind::Thread,
            pid: Id::None,
            tid: Id::Text("stacks".into()),
            name: Arc::default(),
            slot: 0,
        };
        let (pid, tid, name) = (Id::None, key.tid.clone(), "Stacks by weight, 1 ms each".into());
        out.batch.batch.metadata.push(Metadata::ThreadName { pid, tid, name });
        // Where the next frame of the same caller begins, by caller; the last is for those without.
        let mut next_ns = vec![0i64; self.frames.len() + 1];
        for (position, frame) in self.frames.iter().enumerate() {
            let caller = frame.caller.map_or(self.frames.len(), |caller| caller as usize);
            let start_ns = next_ns[caller];
            let Some(end_ns) = start_ns.checked_add(frame.weight_ns) else {
                out.batch.lose(Loss::BadTime, frame.first);
                continue;
            };
            (next_ns[position], next_ns[caller]) = (start_ns, end_ns);
            let name = out.batch.name(&self.names[frame.name as usize], None, frame.first);
            let track = out.batch.track_with(&key);
            let value = frame.weight_ns.unsigned_abs();
            out.batch.push(Event { value, ..bare(start_ns, EventKind::Complete, track, name) });
            out.flush_if_full()?;
        }
        Ok(())
    }
}

impl Collapsed {
    /// The frame of this name that `caller` calls, new or known; `None` if there are too many.
    fn frame(&mut self, caller: Option<u32>, name: &[u8], first: SourcePos) -> Option<u32> {
        let name = if let Some(&known) = self.name_index.get(name) {
            known
        } else {
            let index = u32::try_from(self.names.len()).ok().filter(|&index| (index as usize) < FRAMES_MAX)?;
            self.names.push(name.into());
            self.name_index.insert(name.into(), index);
            index
        };
        let key = (caller.map_or(0, |caller| caller + 1), name);
        if let Some(&known) = self.frame_index.get(&key) {
            return Some(known);
        }
        let index = u32::try_from(self.frames.len()).ok().filter(|&index| (index as usize) < FRAMES_MAX)?;
        self.frames.push(CollapsedFrame { caller, name, weight_ns: 0, first });
        self.frame_index.insert(key, index);
        Some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::testing::{data, read, read_bytes, read_path};
    use proptest::prelude::*;

    /// The weight of each stack and of each of its beginnings, summed plainly over all lines.
    fn weights(text: &str) -> std::collections::BTreeMap<Vec<String>, i64> {
        let mut weights = std::collections::BTreeMap::new();
        for line in text.lines() {
            let (stack, weight) = line.rsplit_once(' ').expect("a weight");
            let frames: Vec<String> = stack.split(';').map(str::to_owned).collect();
            for len in 1..=frames.len() {
                *weights.entry(frames[..len].to_vec()).or_default() += weight.parse::<i64>().expect("whole");
            }
        }
        weights
    }

    /// The same from the spans: the stack of a span is the spans around it.
    fn weights_of_spans(text: &[u8]) -> Vec<(Vec<String>, i64)> {
        let reading = read_bytes(text).expect("a capture");
        assert_eq!(reading.lost(), []);
        let mut spans: Vec<(i64, i64, String)> =
            reading.events.iter().map(|event| (event.ts_ns, event.value as i64, event.name.clone())).collect();
        spans.sort_by_key(|&(start, dur, _)| (start, std::cmp::Reverse(dur)));
        let mut open: Vec<(i64, String)> = Vec::new();
        let mut found = Vec::new();
        for (start, dur, name) in spans {
            open.retain(|&(end, _)| end > start);
            assert!(open.iter().all(|&(end, _)| start + dur <= end), "spans nest");
            open.push((start + dur, name));
            found.push((open.iter().map(|(_, name)| name.clone()).collect(), dur / 1_000_000));
        }
        found.sort();
        found
    }

    proptest! {
        #[test]
        fn every_beginning_of_a_stack_is_one_span_as_wide_as_all_lines_that_have_it(
            lines in proptest::collection::vec(("[ab](;[ab]){1,4}", 1i64..50), 1..20),
        ) {
            let lines: Vec<String> = lines.iter().map(|(stack, weight)| format!("{stack} {weight}")).collect();
            let text = lines.join("\n");
            let expected: Vec<_> = weights(&text).into_iter().collect();
            let found = weights_of_spans(text.as_bytes());
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_real_capture_weighs_what_its_lines_weigh() {
        let reading = read_path(&data("pyspy_collapsed.txt")).expect("a capture");
        let text = std::fs::read_to_string(data("pyspy_collapsed.txt")).expect("text");
        let weights = weights(&text);
        assert_eq!(reading.events.len(), weights.len());
        let sum: i64 = reading.events.iter().map(|event| event.value as i64 / 1_000_000).sum();
        assert_eq!(sum, weights.values().sum::<i64>());
        assert_eq!(reading.lost(), []);
    }

    #[test]
    fn weights_may_be_decimal_and_frames_may_have_spaces_and_no_line_needs_an_end() {
        let reading = read("main;f (a.py:1) 1.5\r\nmain;g 2\r\n\r\nmain 0.25");
        let expected = [(0, 3_750_000, "main"), (0, 1_500_000, "f (a.py:1)"), (1_500_000, 2_000_000, "g")];
        assert_eq!(reading.short(), expected);
        assert_eq!(reading.lost(), []);
    }

    #[test]
    fn a_stack_without_frames_is_shown_as_that_and_hides_no_capture() {
        // As py-spy writes it.
        let reading = read("main;f 1\n 3\nmain;g 2\n");
        let expected = [(0, 3_000_000, "main"), (0, 1_000_000, "f"), (1_000_000, 2_000_000, "g")];
        assert_eq!(reading.short(), [&expected[..], &[(3_000_000, 3_000_000, "[no frames]")]].concat());
        assert_eq!(reading.lost(), []);
    }

    #[test]
    fn comments_are_no_stacks_and_semicolons_at_the_ends_no_frames() {
        // As Excimer and heaptrack write them.
        let reading = read("# by a tool\n;main;f 1\n#\nmain;f; 2\n; 3\nmain;;g 4\n# 5\n");
        let expected = [(0, 7_000_000, "main"), (0, 3_000_000, "f"), (3_000_000, 4_000_000, "g")];
        assert_eq!(reading.short(), [&expected[..], &[(7_000_000, 3_000_000, "[no frames]")]].concat());
        assert_eq!(reading.lost(), []);
        assert!(!looks_like_collapsed(b"# austin: 3.7.0\n\nP1;T1;main 5\n"), "times in microseconds");
    }

    #[test]
    fn text_in_16_bits_with_lines_of_windows_reads_the_same() {
        let text = "main;f 1\r\nmain;g 2\r\n";
        let wide: Vec<u8> = std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
        assert_eq!(read_bytes(&wide).expect("a capture"), read(text));
    }

    #[test]
    fn lines_without_a_weight_are_counted_and_the_rest_is_shown() {
        let stacks = "a;b 1\n".repeat(1000);
        let reading = read(&format!("{stacks}no weight\na;b -1\na;b 99999999999999999999\n{stacks}a;b 1"));
        assert_eq!(reading.short(), [(0, 2_001_000_000, "a"), (0, 2_001_000_000, "b")]);
        assert_eq!(reading.lost(), [(Loss::BadNumber, 1), (Loss::BadRecord, 2)]);
    }
}

//! Collapsed stacks, the input of flame graph tools: a line per stack, `outer;inner;innermost weight`. There are no
//! times and no units. Each stack is a sample with the weight of its lines, in samples or in the unit that the user
//! sets. Stacks with a common prefix are drawn together, in order of first appearance. Lines with two weights, as
//! written by `difffolded.pl`, become two rows: before and after.
//!
//! If any weight has decimals, as for tools that write milliseconds, all weights are shown in millionths. Decimals that
//! the unit of the user cannot hold are cut off and counted as a loss.

use rustc_hash::FxHashMap;

use super::frames::FrameTable;
use super::weighed::WeighedRow;
use crate::formats::format::{DataKind, Format, Opener};
use crate::formats::input::decimal::nanos_from_millis;
use crate::formats::input::lines::{LineParser, Output, TextLine, head_lines};
use crate::formats::input::source::Source;
use crate::formats::output::batch::{BatchBuilder, text};
use crate::formats::{ReadError, Reader, unsupported};
use crate::model::sample_measure::SAMPLES;
use crate::model::{Loss, Losses, NameIdx, Names, SourcePos, WeightUnit};

/// Limit for frames and for names, about 100 bytes each; real graphs have a few thousand.
const FRAMES_MAX: u32 = 1 << 22;

/// Fixed-point factor of weights; exact for six decimals.
const MILLIONTHS: u128 = 1_000_000;

/// Message of the loss of decimals.
const CUT_DECIMALS: &str = "A weight has decimals that the unit given by --unit cannot hold; they were cut off. Without --unit, weights are shown in millionths.";

pub(crate) const FORMAT: Format = Format {
    name: "Collapsed stacks",
    record: "A stack is a line of frames and a number: \"main;f;g 12\".",
    sniff: looks_like_collapsed,
    shows: &[DataKind::Samples, DataKind::Arguments],
    opener: Opener::Trace(|source, context| Ok(open(source, context.weight_unit, context.no_names()))),
};

/// Returns whether at least four fifths of the first lines are stacks with weights, since profilers may print messages
/// among them. One of the stacks must have several frames, or all must look like functions.
fn looks_like_collapsed(head: &[u8]) -> bool {
    let (mut stacks, mut others, mut deep) = (0, 0, 0);
    // Austin's lines look similar, but have different frames and weights.
    if head.trim_ascii_start().starts_with(b"# austin") {
        return false;
    }
    for line in head_lines(head).filter(|line| !is_blank(line)) {
        if line.iter().any(|&byte| byte < b' ' && byte != b'\t') {
            return false;
        }
        let is_stack = split(line).is_some();
        (stacks, others) = (stacks + usize::from(is_stack), others + usize::from(!is_stack));
        deep += usize::from(is_stack && line.contains(&b';'));
    }
    if deep > 0 { 4 * others <= stacks } else { others == 0 && are_functions(head) }
}

/// Returns whether each of several lines is a function with a whole weight, without comments. Texts that other tools
/// print are none.
fn are_functions(head: &[u8]) -> bool {
    let is_function = |line: &[u8]| {
        let Some((name, LineWeight::Millionths(weight))) = split(line) else { return false };
        let is_first = |byte: &u8| byte.is_ascii_alphabetic() || !byte.is_ascii() || b"_[<(".contains(byte);
        // Statistics of systems have colons and equals signs before their numbers.
        let is_name = line.first().is_some_and(is_first) && !name.ends_with(b":") && !name.contains(&b'=');
        is_name && weight > 0 && weight.is_multiple_of(MILLIONTHS)
    };
    let mut lines = head_lines(head).filter(|line| !line.trim_ascii().is_empty()).peekable();
    lines.next().is_some_and(is_function)
        && lines.peek().is_some()
        && lines.all(is_function)
        && !unsupported::is_late(head)
}

/// Creates a reader of collapsed stacks.
fn open(source: Source, unit: Option<WeightUnit>, no_names: Names) -> Reader {
    let is_pair = |line: &[u8]| split(line).is_some_and(|(stack, _)| is_of_pair(stack) && is_of_pair(line));
    let is_difference = {
        let is_stack = |line: &&[u8]| !is_blank(line) && split(line).is_some();
        let mut lines = head_lines(source.head()).filter(is_stack).peekable();
        lines.peek().is_some() && lines.all(is_pair)
    };
    let names = no_names.limited(FRAMES_MAX);
    let parser = Collapsed { names, unit, is_difference, ..Collapsed::default() };
    crate::formats::input::lines::open(source, parser)
}

/// Returns whether a text ends with an integer after a space that is not its first byte.
fn is_of_pair(text: &[u8]) -> bool {
    let space = memchr::memrchr(b' ', text.trim_ascii_end());
    space.is_some_and(|space| space > 0 && text[space + 1..].trim_ascii_end().iter().all(u8::is_ascii_digit))
}

/// Name of a stack without frames, as py-spy records some while Python starts.
const NO_FRAMES: &[u8] = b"[no frames]";

/// Returns whether a line is empty or a comment.
fn is_blank(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line.is_empty() || line == b"#" || line.starts_with(b"# ")
}

/// Splits a line into the stack and its weight after the last space.
fn split(line: &[u8]) -> Option<(&[u8], LineWeight)> {
    let line = line.trim_ascii_end();
    let space = line.iter().rposition(|&byte| byte == b' ' || byte == b'\t')?;
    let weight = LineWeight::parse(&line[space + 1..])?;
    let stack = line[..space].trim_ascii_end();
    Some((if stack.is_empty() { NO_FRAMES } else { stack }, weight))
}

enum LineWeight {
    Negative,
    Millionths(u128),
}

impl LineWeight {
    fn parse(text: &[u8]) -> Option<Self> {
        if let Some(whole) = std::str::from_utf8(text).ok().and_then(|text| text.parse::<u64>().ok()) {
            return Some(Self::Millionths(u128::from(whole) * MILLIONTHS));
        }
        let millionths = nanos_from_millis(text).ok()?;
        Some(u128::try_from(millionths).map_or(Self::Negative, Self::Millionths))
    }
}

#[derive(Debug, Default)]
struct Collapsed {
    /// Callers of frames, with the same rows as `rows`. Their titles are rows of `names`.
    frames: FrameTable,
    rows: Vec<CollapsedRow>,
    names: Names,
    /// Row by caller (0 for none, else its row + 1) and name.
    row_index: FxHashMap<(u32, NameIdx), u32>,
    unit: Option<WeightUnit>,
    /// Whether lines have two weights, before and after.
    is_difference: bool,
}

#[derive(Debug)]
struct CollapsedRow {
    caller: Option<u32>,
    /// Weight of the stacks that end here, in millionths; `None` if there are none. Cannot overflow: fewer than 2^40
    /// lines weigh less than 2^84 each.
    millionths: Option<u128>,
    /// Weight before, for lines with two weights.
    before_millionths: Option<u128>,
}

impl LineParser for Collapsed {
    fn line(&mut self, line: TextLine<'_>, batch: &mut BatchBuilder) {
        if is_blank(line.bytes) {
            return;
        }
        let Some((stack, weight)) = split(line.bytes) else { return batch.lose(line.loss(), line.pos()) };
        let LineWeight::Millionths(millionths) = weight else { return batch.lose(Loss::BadNumber, line.pos()) };
        let (stack, before) = match split(stack).filter(|_| self.is_difference) {
            Some((stack, LineWeight::Millionths(before))) => (stack, Some(before)),
            _ => (stack, None),
        };
        // Some tools write a semicolon before the first or after the last frame; empty names are not frames.
        let mut names = stack.split(|&byte| byte == b';').filter(|name| !name.trim_ascii().is_empty()).peekable();
        let no_frames = names.peek().is_none().then_some(NO_FRAMES);
        let mut caller = None;
        for name in names.chain(no_frames) {
            match self.row(caller, name, line.pos(), &mut batch.batch.losses) {
                Ok(row) => caller = Some(row),
                Err(loss) => return batch.lose(loss, line.pos()),
            }
        }
        if let Some(innermost) = caller.and_then(|row| self.rows.get_mut(row as usize)) {
            *innermost.millionths.get_or_insert(0) += millionths;
            if let Some(before) = before {
                *innermost.before_millionths.get_or_insert(0) += before;
            }
        }
    }

    fn finish(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        if !self.is_difference {
            return self.emit("stacks", -1, |row| row.millionths, out);
        }
        self.emit("before", -2, |row| row.before_millionths, out)?;
        self.emit("after", -1, |row| row.millionths, out)
    }
}

impl Collapsed {
    /// Emits a row of the stacks that have a weight.
    fn emit(
        &mut self,
        event: &str,
        sort_index: i64,
        weight_of: fn(&CollapsedRow) -> Option<u128>,
        out: &mut Output<'_>,
    ) -> Result<(), ReadError> {
        let is_whole = self.rows.iter().filter_map(weight_of).all(|weight| weight.is_multiple_of(MILLIONTHS));
        let (unit, factor, divisor) = match self.unit.map(WeightUnit::shown) {
            Some((unit, factor)) => (unit, u128::from(factor), MILLIONTHS),
            None if is_whole => (SAMPLES, 1, MILLIONTHS),
            None => ("millionths", 1, 1),
        };
        let mut stacks = WeighedRow::new(event, unit, sort_index, out.batch);
        for row in depth_first(&self.rows) {
            let Some(weight) = weight_of(&self.rows[row as usize]) else { continue };
            let weight = weight.saturating_mul(factor);
            if !weight.is_multiple_of(divisor) {
                out.batch.batch.losses.add_because(CUT_DECIMALS, Loss::BadNumber, stacks.pos());
            }
            let weight = u64::try_from(weight / divisor).unwrap_or_else(|_| {
                out.batch.lose(Loss::BadNumber, stacks.pos());
                u64::MAX
            });
            let title_of = |title| Some((self.names.get(NameIdx(title)).text.as_bytes(), None));
            let stack = self.frames.stack_with(row, out.batch, stacks.pos(), title_of);
            stacks.push(weight, stack, out.batch);
            out.flush_if_full()?;
        }
        Ok(())
    }

    /// Returns the frame with this name and caller, adding it if needed. Fails if there are too many, or if the stack
    /// is too deep.
    fn row(&mut self, caller: Option<u32>, name: &[u8], pos: SourcePos, losses: &mut Losses) -> Result<u32, Loss> {
        let name = match str::from_utf8(name) {
            Ok(name) if name.len() <= Names::TEXT_BYTES_MAX => self.names.intern(name, None),
            _ => {
                let (known, mut found) = (self.names.len(), Losses::default());
                let name = self.names.intern(&text(name, pos, &mut found), None);
                if self.names.len() > known {
                    losses.merge(&found);
                }
                name
            }
        };
        if name == NameIdx::EMPTY {
            return Err(Loss::OverLimit);
        }
        let key = (caller.map_or(0, |caller| caller + 1), name);
        if let Some(&row) = self.row_index.get(&key) {
            return Ok(row);
        }
        let row = u32::try_from(self.rows.len()).ok().filter(|&row| row < FRAMES_MAX);
        let row = row.ok_or(Loss::OverLimit)?;
        if !self.frames.push_titled(caller, name.0) {
            // The row exists without its caller, and no line ends in it.
            self.rows.push(CollapsedRow { caller: None, millionths: None, before_millionths: None });
            return Err(Loss::DeepNesting);
        }
        self.rows.push(CollapsedRow { caller, millionths: None, before_millionths: None });
        self.row_index.insert(key, row);
        Ok(row)
    }
}

/// Returns the rows in drawing order: callees before their callers, siblings in order of first appearance.
fn depth_first(rows: &[CollapsedRow]) -> Vec<u32> {
    /// No row has this index, since there are at most 2^22.
    const NONE: u32 = u32::MAX;
    let root = rows.len();
    let (mut first_callee, mut next_sibling) = (vec![NONE; rows.len() + 1], vec![NONE; rows.len()]);
    for (index, row) in rows.iter().enumerate().rev() {
        let first = &mut first_callee[row.caller.map_or(root, |caller| caller as usize)];
        next_sibling[index] = std::mem::replace(first, index as u32);
    }
    let (mut order, mut callers) = (Vec::with_capacity(rows.len()), Vec::new());
    let mut next = first_callee[root];
    loop {
        while next != NONE {
            callers.push(next);
            next = first_callee[next as usize];
        }
        let Some(row) = callers.pop() else { return order };
        order.push(row);
        next = next_sibling[row as usize];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::testing::{Reading, data, read, read_bytes, read_path};
    use crate::model::SampleMeasure;
    use proptest::prelude::*;

    /// Naive sum of the weights of each stack over all lines.
    fn weights(text: &str) -> std::collections::BTreeMap<String, u64> {
        let mut weights = std::collections::BTreeMap::new();
        for line in text.lines() {
            let (stack, weight) = line.rsplit_once(' ').expect("a weight");
            *weights.entry(stack.to_owned()).or_default() += weight.parse::<u64>().expect("whole");
        }
        weights
    }

    /// Returns the samples as lines, in the order of the row.
    fn samples(reading: &Reading) -> Vec<(String, u64)> {
        let weight = |args: &str| SampleMeasure::from_args(args).weight;
        reading.events.iter().map(|event| (event.stack.join(";"), weight(&event.args))).collect()
    }

    fn seen(text: &str) -> Vec<(String, u64)> {
        let reading = read(text);
        assert_eq!(reading.lost(), []);
        samples(&reading)
    }

    fn lines(expected: &[(&str, u64)]) -> Vec<(String, u64)> {
        expected.iter().map(|&(stack, weight)| (stack.to_owned(), weight)).collect()
    }

    proptest! {
        #[test]
        fn each_stack_is_one_sample_with_the_weight_of_its_lines_and_common_prefixes_are_adjacent(
            lines in proptest::collection::vec(("[ab](;[ab]){0,4}", 0u64..50), 1..20),
        ) {
            let lines: Vec<String> = lines.iter().map(|(stack, weight)| format!("{stack} {weight}")).collect();
            let text = format!("x;y 1\n{}", lines.join("\n"));
            let found = seen(&text);
            prop_assert_eq!(found.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(), weights(&text));
            for depth in 1..5 {
                let beginning = |stack: &str| stack.split(';').take(depth).collect::<Vec<_>>().join(";");
                let mut runs: Vec<String> = found.iter().map(|(stack, _)| beginning(stack)).collect();
                runs.dedup();
                // A stack that ends before this depth interrupts the run of longer stacks.
                runs.retain(|run| run.split(';').count() == depth);
                let count = runs.len();
                runs.sort();
                runs.dedup();
                prop_assert_eq!(runs.len(), count, "depth {} of {:?}", depth, found);
            }
        }
    }

    #[test]
    fn a_real_capture_weighs_what_its_lines_weigh() {
        let reading = read_path(&data("pyspy_collapsed.txt")).expect("a capture");
        let text = std::fs::read_to_string(data("pyspy_collapsed.txt")).expect("text");
        assert_eq!(samples(&reading).into_iter().collect::<std::collections::BTreeMap<_, _>>(), weights(&text));
        assert!(reading.events.iter().all(|event| event.args.contains(r#""unit":"samples""#)));
        assert_eq!(reading.lost(), []);
    }

    #[test]
    fn one_decimal_weight_makes_all_of_them_millionths_and_no_line_needs_an_end() {
        let found = seen("main;f (a.py:1) 1.5\r\nmain;g 2\r\n\r\nmain 0.25");
        let expected = [("main;f (a.py:1)", 1_500_000), ("main;g", 2_000_000), ("main", 250_000)];
        assert_eq!(found, lines(&expected));
        let whole = read("main;f 1.0\nmain;g 2.00");
        assert_eq!(samples(&whole), lines(&[("main;f", 1), ("main;g", 2)]), "these are whole");
    }

    #[test]
    fn weights_of_any_size_are_whole_and_their_sums_do_not_overflow() {
        // At a microsecond each, a thousand of them would exceed the time range.
        let most = 9_000_000_000_000_000;
        assert_eq!(seen(&format!("main;f {most}\nmain;g 1")), lines(&[("main;f", most), ("main;g", 1)]));
        let reading = read(&format!("main;f {0}\nmain;f {0}", u64::MAX));
        assert_eq!(samples(&reading), lines(&[("main;f", u64::MAX)]));
        assert_eq!(reading.lost(), [(Loss::BadNumber, 2)], "neither the sum nor its end is a number");
    }

    #[test]
    fn a_stack_without_frames_has_a_name_and_does_not_prevent_detection() {
        // The format of py-spy.
        let found = seen("main;f 1\n 3\nmain;g 2\n");
        assert_eq!(found, lines(&[("main;f", 1), ("main;g", 2), ("[no frames]", 3)]));
    }

    #[test]
    fn comments_are_no_stacks_and_semicolons_at_the_ends_no_frames() {
        // The format of Excimer and heaptrack.
        let found = seen("# by a tool\n;main;f 1\n#\nmain;f; 2\n; 3\nmain;;g 4\n# 5\n");
        assert_eq!(found, lines(&[("main;f", 3), ("main;g", 4), ("[no frames]", 3)]));
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
        assert_eq!(samples(&reading), lines(&[("a;b", 2001)]));
        assert_eq!(reading.lost(), [(Loss::BadNumber, 1), (Loss::BadRecord, 2)]);
    }

    #[test]
    fn a_first_line_that_exceeds_the_head_is_recognised() {
        let deep = vec!["f"; 65_000].join(";");
        for text in [format!("{deep} 3"), format!("{deep} 3\r\nmain;g 1\n"), format!("# by a tool\n{deep} 3\nmain;g 1")]
        {
            let reading = read(&text);
            let weights: Vec<u64> = samples(&reading).iter().map(|(_, weight)| *weight).collect();
            let expected = if text.contains("main") { &[3, 1][..] } else { &[3] };
            assert_eq!((weights.as_slice(), reading.events[0].stack.len()), (expected, 65_000));
            assert_eq!(reading.lost(), []);
        }
        let packed = crate::formats::testing::gzip(format!("{deep} 3\n").as_bytes());
        assert_eq!(read_bytes(&packed).expect("stacks").events.len(), 1);
        for text in [deep, format!("{} 3", "x".repeat(1 << 20)), format!("\x01;{} 3", "x;".repeat(5000))] {
            assert!(read_bytes(text.as_bytes()).is_err());
        }
    }

    #[test]
    fn a_few_lines_of_other_text_do_not_hide_a_trace() {
        let reading = read("WARNING: 3 samples lost!\na;b 10 12\na;c 5 3\na 1 2\nb 1 2\n");
        assert_eq!(reading.lost(), [(Loss::BadRecord, 1)]);
        assert_eq!(reading.events.len(), 4 + 4, "before and after");
        for text in ["a;b 1\nx = y;\n", "x = 1;\ny = 2;\nreturn x; 3\n", "a;b 1\nc;d 2\n\x01;a\ne;f 3\ng;h 1\n"] {
            assert!(!looks_like_collapsed(text.as_bytes()), "{text:?}");
        }
    }

    #[test]
    fn stacks_of_one_frame_each_are_recognised_if_every_line_is_one() {
        let found = seen("main 12\nfoo(int, char) 3\nvec![] (a.rs:7) 1\n_start 2");
        let expected = [("main", 12), ("foo(int, char)", 3), ("vec![] (a.rs:7)", 1), ("_start", 2)];
        assert_eq!(found, lines(&expected));
        for text in [
            "main 12\n",
            "main 12\nno weight\nf 1\ng 1\nh 1\ni 1\n",
            "# HELP go_threads Number of threads\ngo_threads 8\ngo_info 1\n",
            "MemTotal: 12\nMemFree: 13\n",
            "nr_free = 12\nnr_used = 13\n",
            "main 1\nf 0\n",
            "main 1.5\nf 2\n",
            "12 main 3\n4 f 3\n",
            "name,count\na 1\n",
        ] {
            assert!(!looks_like_collapsed(text.as_bytes()), "{text:?}");
        }
    }

    #[test]
    fn a_stack_deeper_than_any_thread_is_counted_and_its_neighbours_are_shown() {
        let deep = vec!["f"; 70_000].join(";");
        let reading = read(&format!("main;g 1\n{deep} 1\n{deep} 1\nmain;h 2"));
        assert_eq!(reading.lost(), [(Loss::DeepNesting, 2)]);
        assert_eq!(samples(&reading), lines(&[("main;g", 1), ("main;h", 2)]));
    }

    #[test]
    fn weights_are_in_the_unit_that_the_user_names() {
        let file = crate::formats::testing::file_of(b"main;f 1500\nmain;g 2.5\n");
        for (unit, shown, weights) in [
            (WeightUnit::Nanoseconds, "ns", [1500, 2]),
            (WeightUnit::Microseconds, "ns", [1_500_000, 2500]),
            (WeightUnit::Milliseconds, "ns", [1_500_000_000, 2_500_000]),
            (WeightUnit::Seconds, "ns", [1_500_000_000_000, 2_500_000_000]),
            (WeightUnit::Bytes, "bytes", [1500, 2]),
            (WeightUnit::Count, "count", [1500, 2]),
        ] {
            let context =
                crate::formats::ReadContext { weight_unit: Some(unit), ..crate::formats::ReadContext::default() };
            let reading = crate::formats::testing::read_with(file.path(), &context).expect("stacks");
            assert_eq!(samples(&reading), lines(&[("main;f", weights[0]), ("main;g", weights[1])]));
            let measure = SampleMeasure::from_args(&reading.events[0].args);
            assert_eq!(measure.unit, shown, "{unit:?}");
        }
    }

    #[test]
    fn decimals_that_the_unit_cannot_hold_are_counted() {
        let file = crate::formats::testing::file_of(b"a;b 3\na;c 2.5\na;d 0.25\na;e 1.0\na;f 0.5\na;f 0.5\n");
        for (unit, weights, lost) in [
            (WeightUnit::Count, [3, 2, 0, 1, 1], 2),
            (WeightUnit::Bytes, [3, 2, 0, 1, 1], 2),
            (WeightUnit::Nanoseconds, [3, 2, 0, 1, 1], 2),
            (WeightUnit::Microseconds, [3000, 2500, 250, 1000, 1000], 0),
        ] {
            let context =
                crate::formats::ReadContext { weight_unit: Some(unit), ..crate::formats::ReadContext::default() };
            let reading = crate::formats::testing::read_with(file.path(), &context).expect("stacks");
            let expected: Vec<_> = ["a;b", "a;c", "a;d", "a;e", "a;f"].into_iter().zip(weights).collect();
            assert_eq!(samples(&reading), lines(&expected));
            assert_eq!(reading.losses.count(Loss::BadNumber), lost, "{unit:?}");
            assert!(reading.losses.iter().all(|lost| lost.advice.contains("--unit")), "{unit:?}");
        }
    }

    #[test]
    fn lines_with_two_weights_are_before_and_after() {
        let reading = read("a;b 10 12\na;c d 5 3\n");
        let event = |args: &str| SampleMeasure::from_args(args).event.into_owned();
        let of = |name: &str| {
            let own = reading.events.iter().filter(|seen| event(&seen.args) == name);
            own.map(|seen| (seen.stack.join(";"), SampleMeasure::from_args(&seen.args).weight)).collect::<Vec<_>>()
        };
        assert_eq!(
            (of("before"), of("after")),
            (lines(&[("a;b", 10), ("a;c d", 5)]), lines(&[("a;b", 12), ("a;c d", 3)]))
        );
        // A line with one weight makes the other numbers parts of names.
        assert_eq!(seen("a;b 10 12\na;c 3\n"), lines(&[("a;b 10", 12), ("a;c", 3)]));
    }
}

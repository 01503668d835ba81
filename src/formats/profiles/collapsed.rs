//! Collapsed stacks, the input of flame graph tools: a line per stack, `outer;inner;innermost weight`. There are no
//! times and no units. Each stack is a sample with the weight of its lines, in samples or in the unit that the user
//! sets. Stacks with a common prefix are drawn together, in order of first appearance. Lines with two weights, as
//! written by `difffolded.pl`, become two rows: before and after. Such lines have each stack once, unlike the stacks of
//! threads with numbers at the ends of their names. A few lines prove nothing.
//!
//! If any weight has decimals, as for tools that write milliseconds, all weights are shown in millionths, so that sums
//! are exact. Decimals that the unit of the user cannot hold are cut off and counted as a loss. Negative weights, as of
//! differences, are a row of decreases.

use rustc_hash::{FxHashMap, FxHashSet};

use super::austin;
use super::frames::FrameTable;
use super::weighed::WeighedRow;
use crate::formats::format::{DataKind, Format, Opener};
use crate::formats::input::decimal::nanos_from_millis;
use crate::formats::input::lines::{LineParser, Output, TextLine, head_lines};
use crate::formats::input::source::Source;
use crate::formats::output::batch::{BatchBuilder, text};
use crate::formats::{ReadError, Reader, unsupported};
use crate::model::names::NO_FRAMES;
use crate::model::sample_measure::SAMPLES;
use crate::model::{Loss, Losses, NameIdx, Names, SourcePos, WeightUnit};

/// Limit for frames and for names, about 100 bytes each; real graphs have a few thousand.
const FRAMES_MAX: u32 = 1 << 22;

/// Fixed-point factor of weights; exact for six decimals.
const MILLIONTHS: u128 = 1_000_000;

/// Number of stacks that make two weights likely. In fewer lines, the first number may belong to a name.
const DIFFERENCE_LINES_MIN: usize = 3;

/// Message of the loss of decimals.
const CUT_DECIMALS: &str = "A weight has decimals that the unit given by --unit cannot represent; they were cut off. Without --unit, weights are shown in millionths.";

pub(crate) const FORMAT: Format = Format {
    name: "Collapsed stacks",
    record: "A stack is a line of frames and a number: \"main;f;g 12\".",
    sniff: looks_like_collapsed,
    is_event: None,
    live: None,
    shows: &[DataKind::Samples, DataKind::Arguments],
    opener: Opener::Trace(|source, context| Ok(open(source, context.weight_unit, context.no_names()))),
};

/// Returns whether at least four fifths of the first lines are stacks with weights, since profilers may print messages
/// among them. One of the stacks must have several frames, or all must look like functions. A single line may be a
/// sentence with a semicolon, after which a space follows.
fn looks_like_collapsed(head: &[u8]) -> bool {
    let (mut stacks, mut others, mut deep, mut spaced) = (0, 0, 0, 0);
    for line in head_lines(head).filter(|line| !is_blank(line)) {
        // Austin's lines look similar, but have different frames and weights.
        if line.iter().any(|&byte| byte < b' ' && byte != b'\t') || austin::is_sample(line) {
            return false;
        }
        let is_stack = split(line).is_some();
        (stacks, others) = (stacks + usize::from(is_stack), others + usize::from(!is_stack));
        deep += usize::from(is_stack && line.contains(&b';'));
        spaced += usize::from(is_stack && memchr::memmem::find(line, b"; ").is_some());
    }
    if stacks == 1 && spaced == 1 {
        return false;
    }
    if deep > 0 { 4 * others <= stacks } else { others == 0 && are_functions(head) }
}

/// Returns whether each of several lines is a function with a whole weight, without comments. Reports of other tools
/// fail this test.
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
        let mut lines = head_lines(source.head()).filter(is_stack);
        let mut stacks = FxHashSet::default();
        let mut is_new = |line| {
            let stack = split(line).and_then(|(stack, _)| split(stack));
            stack.is_some_and(|(stack, _)| stacks.insert(stack))
        };
        let is_difference = lines.all(|line| is_pair(line) && is_new(line));
        is_difference && stacks.len() >= DIFFERENCE_LINES_MIN
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

/// Returns whether a line is empty or a comment.
fn is_blank(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line.is_empty() || line == b"#" || line.starts_with(b"# ") || line.starts_with(b"// ")
}

/// Splits a line into the stack and its weight after the last space.
fn split(line: &[u8]) -> Option<(&[u8], LineWeight)> {
    let line = line.trim_ascii_end();
    let space = line.iter().rposition(|&byte| byte == b' ' || byte == b'\t')?;
    let weight = LineWeight::parse(&line[space + 1..])?;
    let stack = line[..space].trim_ascii_end();
    Some((if stack.is_empty() { NO_FRAMES.as_bytes() } else { stack }, weight))
}

/// The weight of a line, in millionths.
enum LineWeight {
    /// Amount of a negative weight.
    Decrease(u128),
    Millionths(u128),
}

impl LineWeight {
    fn parse(text: &[u8]) -> Option<Self> {
        if let Some(whole) = std::str::from_utf8(text).ok().and_then(|text| text.parse::<u64>().ok()) {
            return Some(Self::Millionths(u128::from(whole) * MILLIONTHS));
        }
        let millionths = nanos_from_millis(text).ok()?;
        let amount = u128::from(millionths.unsigned_abs());
        Some(if millionths < 0 { Self::Decrease(amount) } else { Self::Millionths(amount) })
    }
}

#[derive(Debug, Default)]
struct Collapsed {
    /// Frames with their callers. Their titles are rows of `names`.
    frames: FrameTable,
    /// Weights of the stacks that end with each frame.
    weights: StackWeights,
    /// Weights before, for lines with two weights.
    before: StackWeights,
    /// Amounts of the negative weights.
    decreases: StackWeights,
    names: Names,
    /// Row by caller (0 for none, else its row + 1) and name.
    row_index: FxHashMap<(u32, NameIdx), u32>,
    unit: Option<WeightUnit>,
    /// Whether lines have two weights, before and after.
    is_difference: bool,
}

/// Sums of weights by the innermost frame of their stacks. Most frames have none.
#[derive(Debug, Default)]
struct StackWeights {
    /// By row of a frame: position in `millionths` + 1, or 0 without a sum. Later rows have none.
    positions: Vec<u32>,
    /// The sums, which cannot overflow: fewer than 2^40 lines weigh less than 2^84 each.
    millionths: Vec<u128>,
}

impl StackWeights {
    fn add(&mut self, row: u32, millionths: u128) {
        let row = row as usize;
        if self.positions.len() <= row {
            self.positions.resize(row + 1, 0);
        }
        let position = &mut self.positions[row];
        if *position == 0 {
            self.millionths.push(0);
            *position = self.millionths.len() as u32; // there are fewer than 2^32 rows
        }
        self.millionths[*position as usize - 1] += millionths;
    }

    /// Returns the sum of the stacks that end with a frame; `None` if there are none.
    fn get(&self, row: u32) -> Option<u128> {
        let position = self.positions.get(row as usize)?.checked_sub(1)?;
        self.millionths.get(position as usize).copied()
    }
}

impl LineParser for Collapsed {
    fn line(&mut self, line: TextLine<'_>, batch: &mut BatchBuilder) {
        if is_blank(line.bytes) {
            return;
        }
        let Some((stack, weight)) = split(line.bytes) else { return batch.lose(line.loss(), line.pos()) };
        if self.is_difference && matches!(weight, LineWeight::Decrease(_)) {
            return batch.lose(Loss::BadNumber, line.pos());
        }
        let (stack, before) = match split(stack).filter(|_| self.is_difference) {
            Some((stack, LineWeight::Millionths(before))) => (stack, Some(before)),
            _ => (stack, None),
        };
        // Some tools write a semicolon before the first or after the last frame; empty names are not frames.
        let mut names = stack.split(|&byte| byte == b';').filter(|name| !name.trim_ascii().is_empty()).peekable();
        let no_frames = names.peek().is_none().then_some(NO_FRAMES.as_bytes());
        let mut caller = None;
        for name in names.chain(no_frames) {
            match self.row(caller, name, line.pos(), batch.losses()) {
                Ok(row) => caller = Some(row),
                Err(loss) => return batch.lose(loss, line.pos()),
            }
        }
        let Some(innermost) = caller else { return };
        match weight {
            LineWeight::Millionths(amount) => self.weights.add(innermost, amount),
            LineWeight::Decrease(amount) => self.decreases.add(innermost, amount),
        }
        if let Some(before) = before {
            self.before.add(innermost, before);
        }
    }

    fn finish(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        self.row_index = FxHashMap::default();
        let order = depth_first(&self.frames);
        // All rows have the same unit, so that decreases can be compared.
        let all = [&self.weights, &self.before, &self.decreases];
        let is_whole = all.iter().flat_map(|it| &it.millionths).all(|weight| weight.is_multiple_of(MILLIONTHS));
        let [weights, before, decreases] =
            [&mut self.weights, &mut self.before, &mut self.decreases].map(std::mem::take);
        let rows = if self.is_difference {
            [("before", -2, before), ("after", -1, weights)]
        } else {
            [("stacks", -1, weights), ("stacks decrease", 0, decreases)]
        };
        for (event, sort_index, weights) in rows {
            if sort_index < 0 || !weights.millionths.is_empty() {
                self.emit(event, sort_index, (&order, &weights, is_whole), out)?;
            }
        }
        Ok(())
    }
}

impl Collapsed {
    /// Emits a row of the stacks that have a weight.
    fn emit(
        &mut self,
        event: &str,
        sort_index: i64,
        (order, weights, is_whole): (&[u32], &StackWeights, bool),
        out: &mut Output<'_>,
    ) -> Result<(), ReadError> {
        let (unit, factor, divisor) = match self.unit.map(WeightUnit::shown) {
            Some((unit, factor)) => (unit, u128::from(factor), MILLIONTHS),
            None if is_whole => (SAMPLES, 1, MILLIONTHS),
            None => ("millionths", 1, 1),
        };
        let mut stacks = WeighedRow::new(event, unit, sort_index, out.batch);
        for &row in order {
            let Some(weight) = weights.get(row) else { continue };
            let weight = weight.saturating_mul(factor);
            if !weight.is_multiple_of(divisor) {
                out.batch.losses().add_because(CUT_DECIMALS, Loss::BadNumber, stacks.pos());
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
        let row = u32::try_from(self.frames.len()).ok().filter(|&row| row < FRAMES_MAX);
        let row = row.ok_or(Loss::OverLimit)?;
        if !self.frames.push_titled(caller, name.0) {
            return Err(Loss::DeepNesting); // the row exists without its caller, and no line ends in it
        }
        self.row_index.insert(key, row);
        Ok(row)
    }
}

/// Returns the rows in drawing order: callees before their callers, siblings in order of first appearance.
fn depth_first(frames: &FrameTable) -> Vec<u32> {
    /// No row has this index, since there are at most 2^22.
    const NONE: u32 = u32::MAX;
    let root = frames.len();
    let (mut first_callee, mut next_sibling) = (vec![NONE; root + 1], vec![NONE; root]);
    for row in (0..root as u32).rev() {
        let first = &mut first_callee[frames.caller(row).map_or(root, |caller| caller as usize)];
        next_sibling[row as usize] = std::mem::replace(first, row);
    }
    let (mut order, mut callers) = (Vec::with_capacity(root), Vec::new());
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
mod tests;

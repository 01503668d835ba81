//! Maps the frames of a profile to stacks of a batch. Each frame is resolved once per batch. Refuses callers that would
//! form a cycle or too deep a stack; this does not depend on batch boundaries.

use std::hash::BuildHasher;
use std::sync::Arc;

use rustc_hash::{FxBuildHasher, FxHashSet};

use crate::formats::output::batch::{BatchBuilder, STACK_FRAMES_MAX, text};
use crate::formats::output::modules::{ModuleFrame, file_name, path_text};
use crate::formats::output::row_index::next_row;
use crate::model::{Loss, Losses, NameIdx, SourcePos, StackIdx};

/// Limit for frames of a stack; no thread nests as deep.
const FRAMES_MAX: u32 = STACK_FRAMES_MAX as u32;

/// Position of losses in titles: the start of the profile. Samples depend on the batches.
const TITLES_POS: SourcePos = SourcePos::Offset(0);

/// Frames with their callers, numbered from 0.
#[derive(Debug, Default)]
pub(crate) struct FrameTable {
    rows: Vec<FrameRow>,
    titles: Vec<FrameTitle>,
    /// Losses in titles that no batch has yet.
    losses: Losses,
    /// Hashes of the titles with losses, which count once.
    damaged: FxHashSet<u64>,
    path: Vec<u32>,
}

/// The paths of files of functions. Titles have file names alone, so each path is the category of its functions.
#[derive(Debug, Default)]
pub(crate) struct FilePaths(FxHashSet<Arc<str>>);

impl FilePaths {
    /// Returns a path to be shared, and the bytes of memory added if it is new; `None` for a file name alone.
    pub(crate) fn add(&mut self, path: &[u8]) -> (Option<Arc<str>>, usize) {
        if file_name(path).len() == path.len() {
            return (None, 0);
        }
        let path = path_text(path);
        if let Some(known) = self.0.get(&*path) {
            return (Some(Arc::clone(known)), 0);
        }
        let new: Arc<str> = (&*path).into();
        self.0.insert(Arc::clone(&new));
        (Some(new), path.len() + 4 * size_of::<Arc<str>>())
    }
}

/// A name, with the path of its file or module as its category.
#[derive(Debug)]
struct FrameTitle {
    text: Box<str>,
    category: Option<Arc<str>>,
}

#[derive(Debug)]
struct FrameRow {
    /// The caller; callers form no cycle.
    caller: Option<u32>,
    /// Depth of its stack when its caller was set.
    depth: u32,
    /// Index of its title; an index beyond the table means an empty name.
    title: u32,
    /// Its stack in the batch of this number.
    stack_in_batch: (u32, StackIdx),
    /// An ancestor and the distance to it, or the frame itself for a root. Look-ups move it towards the root (path
    /// compression).
    above: (u32, u32),
}

impl FrameTable {
    /// Bytes of a row in memory.
    pub(crate) const ROW_BYTES: usize = size_of::<FrameRow>();

    /// Bytes of a title in memory, without its text.
    pub(crate) const TITLE_BYTES: usize = size_of::<FrameTitle>();

    /// Adds a title that many rows may share.
    pub(crate) fn push_title(&mut self, name: &[u8]) -> u32 {
        self.push_text(name, None)
    }

    /// Adds a title with the path of its file or module.
    pub(crate) fn push_frame(&mut self, frame: ModuleFrame) -> u32 {
        self.push_text(&frame.text, frame.category)
    }

    /// Adds a title. Repairs its text here, since each batch repeats the names that it needs.
    fn push_text(&mut self, name: &[u8], category: Option<Arc<str>>) -> u32 {
        // An index beyond the table means an empty name.
        let title = next_row(self.titles.len()).unwrap_or(u32::MAX);
        let mut losses = Losses::default();
        self.titles.push(FrameTitle { text: text(name, TITLES_POS, &mut losses), category });
        if !losses.is_empty() && self.damaged.insert(FxBuildHasher.hash_one(name)) {
            self.losses.merge(&losses);
        }
        title
    }

    /// Adds a row with a title. Returns `false` and leaves it without a caller if the caller is not an earlier row, or
    /// if the stack is too deep.
    pub(crate) fn push_titled(&mut self, caller: Option<u32>, title: u32) -> bool {
        let below = caller.and_then(|caller| self.rows.get(caller as usize)).map(|caller| caller.depth + 1);
        let depth = below.filter(|&depth| depth < FRAMES_MAX);
        let is_taken = depth.is_some() || caller.is_none();
        let caller = caller.filter(|_| depth.is_some());
        let Some(row) = next_row(self.rows.len()) else { return false };
        let above = caller.map_or((row, 0), |caller| (caller, 1));
        self.rows.push(FrameRow {
            caller,
            depth: depth.unwrap_or(0),
            title,
            stack_in_batch: (0, StackIdx::EMPTY),
            above,
        });
        is_taken
    }

    /// Sets the caller of a frame later. Returns `false` and changes nothing for a cycle, for too deep a stack, and for
    /// a frame with a different caller.
    pub(crate) fn set_caller(&mut self, frame: u32, caller: u32) -> bool {
        let is_row = |row: u32| (row as usize) < self.rows.len();
        if !is_row(frame) || !is_row(caller) {
            return false;
        }
        let (outermost, below) = self.outermost(caller);
        let row = &mut self.rows[frame as usize];
        let is_taken = row.caller.is_none() && outermost != frame && below + 1 < FRAMES_MAX;
        if is_taken {
            (row.caller, row.depth, row.above) = (Some(caller), below + 1, (caller, 1));
        }
        is_taken || row.caller == Some(caller)
    }

    /// Returns the root of a frame and its distance. Each call halves the distance for the next.
    fn outermost(&mut self, mut frame: u32) -> (u32, u32) {
        let mut below = 0;
        loop {
            let (above, by) = self.rows[frame as usize].above;
            if above == frame {
                return (frame, below);
            }
            let (further, by_more) = self.rows[above as usize].above;
            let step = by.saturating_add(by_more);
            self.rows[frame as usize].above = (further, step);
            (frame, below) = (further, below.saturating_add(step));
        }
    }

    /// Returns the number of rows.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the caller of a row.
    pub(crate) fn caller(&self, row: u32) -> Option<u32> {
        self.rows.get(row as usize)?.caller
    }

    /// Returns the stack with this innermost row; empty, with a counted loss, for an unknown row.
    pub(crate) fn stack(&mut self, frame: u32, batch: &mut BatchBuilder, pos: SourcePos) -> StackIdx {
        batch.losses().merge(&std::mem::take(&mut self.losses));
        let titles = std::mem::take(&mut self.titles);
        let stack = self.stack_with(frame, batch, pos, |title| {
            let title = titles.get(title as usize)?;
            Some((title.text.as_bytes(), title.category.as_ref().map(|category| category.as_bytes())))
        });
        self.titles = titles;
        stack
    }

    /// Like [`Self::stack`], with the titles of another table: each a text and a category.
    pub(crate) fn stack_with<'t>(
        &mut self,
        frame: u32,
        batch: &mut BatchBuilder,
        pos: SourcePos,
        title_of: impl Fn(u32) -> Option<(&'t [u8], Option<&'t [u8]>)>,
    ) -> StackIdx {
        self.path.clear();
        let mut next = Some(frame);
        let mut stack = StackIdx::EMPTY;
        while let Some(frame) = next {
            let Some(row) = self.rows.get(frame as usize) else {
                batch.lose(Loss::MissingText, pos);
                break;
            };
            if row.stack_in_batch.0 == batch.number {
                stack = row.stack_in_batch.1;
                break;
            }
            self.path.push(frame);
            next = row.caller;
        }
        while let Some(frame) = self.path.pop() {
            let row = &mut self.rows[frame as usize];
            let (text, category) = title_of(row.title).unwrap_or_default();
            let name: NameIdx = batch.name(text, category, pos);
            stack = batch.frame(stack, name);
            row.stack_in_batch = (batch.number, stack);
        }
        stack
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_share_their_callers_and_no_caller_makes_a_cycle() {
        let mut frames = FrameTable::default();
        let titles = [&b"main"[..], b"f", b"g", b"later"].map(|name| frames.push_title(name));
        assert!(frames.push_titled(None, titles[0]) && frames.push_titled(Some(0), titles[1]));
        assert!(frames.push_titled(Some(0), titles[2]));
        assert!(!frames.push_titled(Some(4), titles[3]) && !frames.push_titled(Some(4), titles[3]));
        assert!(frames.set_caller(3, 4) && !frames.set_caller(4, 3) && !frames.set_caller(4, 4));
        let pos = SourcePos::Offset(0);
        // A batch for each gives the same result as one for all.
        let mut batch = BatchBuilder::new(crate::formats::ChunkLimits::default());
        let found = [1, 2, 1, 0, 3].map(|frame| frames.stack(frame, &mut batch, pos));
        assert_eq!(found[0], found[2]);
        let stacks = &batch.batch().stacks;
        assert_eq!((stacks.len(), stacks.get(found[1]).parent, stacks.get(found[0]).parent), (6, found[3], found[3]));
        assert_eq!(stacks.frames(found[4]).count(), 2);
        for frame in [4, 3] {
            let mut alone = BatchBuilder::new(crate::formats::ChunkLimits::default());
            alone.number = batch.number + 1 + frame;
            let stack = frames.stack(frame, &mut alone, pos);
            assert_eq!(alone.batch().stacks.frames(stack).count(), 5 - frame as usize);
            assert!(alone.batch().losses.is_empty());
        }
        frames.stack(9, &mut batch, pos);
        assert_eq!(batch.batch().losses.count(Loss::MissingText), 1);
    }

    #[test]
    fn a_title_is_repaired_once_for_all_batches() {
        let mut frames = FrameTable::default();
        for _ in 0..2 {
            let title = frames.push_title(b"caf\xe9");
            frames.push_titled(None, title);
        }
        let mut losses = Losses::default();
        for number in 1..4 {
            let mut batch = BatchBuilder::new(crate::formats::ChunkLimits::default());
            batch.number = number;
            let stack = frames.stack(0, &mut batch, SourcePos::Time(number.into()));
            let name = batch.batch().stacks.get(stack).name;
            assert_eq!(batch.name_row(name).map(|row| &*row.text), Some("caf\u{fffd}"));
            losses.merge(&batch.batch().losses);
        }
        let found: Vec<_> = losses.iter().map(|lost| (lost.loss, lost.count, lost.first)).collect();
        assert_eq!(found, [(Loss::BadUtf8, 1, TITLES_POS)]);
    }

    /// Naive version: walks to the root for each.
    fn set_caller_slowly(callers: &mut [Option<u32>], frame: u32, caller: u32) -> bool {
        let mut next = Some(caller);
        while let Some(above) = next {
            if above == frame {
                return false;
            }
            next = callers[above as usize];
        }
        let is_other = callers[frame as usize].is_some_and(|known| known != caller);
        if !is_other {
            callers[frame as usize] = Some(caller);
        }
        !is_other
    }

    proptest::proptest! {
        #[test]
        fn callers_in_any_order_are_accepted_as_by_walking_to_the_root(
            told in proptest::collection::vec((0..24u32, 0..24u32), 0..120),
            first in proptest::collection::vec(proptest::option::of(0..24u32), 24),
        ) {
            let mut frames = FrameTable::default();
            let title = frames.push_title(b"f");
            let mut callers = Vec::new();
            for (row, caller) in (0..24).zip(first) {
                let caller = caller.filter(|&caller| caller < row);
                frames.push_titled(caller, title);
                callers.push(caller);
            }
            for (frame, caller) in told {
                let expected = set_caller_slowly(&mut callers, frame, caller);
                proptest::prop_assert_eq!(frames.set_caller(frame, caller), expected);
            }
            for (row, caller) in callers.iter().enumerate() {
                proptest::prop_assert_eq!(frames.rows[row].caller, *caller);
                let ways: Vec<u32> = std::iter::successors(Some(row as u32), |&at| callers[at as usize]).collect();
                proptest::prop_assert_eq!(frames.outermost(row as u32), (ways[ways.len() - 1], ways.len() as u32 - 1));
            }
        }
    }

    #[test]
    fn a_deep_stack_is_joined_without_walking_to_the_root_each_time() {
        let mut frames = FrameTable::default();
        let title = frames.push_title(b"f");
        let count = 4 * FRAMES_MAX;
        for _ in 0..count {
            frames.push_titled(None, title);
        }
        // Walking from each frame to the root would take about ten billion steps.
        let refused = (1..count).filter(|&frame| !frames.set_caller(frame, frame - 1)).count();
        assert_eq!(refused, 3);
        assert!(!frames.set_caller(9, count) && !frames.set_caller(count, 9));
    }

    #[test]
    fn a_stack_that_is_too_deep_restarts() {
        let mut frames = FrameTable::default();
        let title = frames.push_title(b"f");
        let refused = (0..FRAMES_MAX + 2).filter(|&row| !frames.push_titled(row.checked_sub(1), title)).count();
        assert_eq!(refused, 1);
        let mut batch = BatchBuilder::new(crate::formats::ChunkLimits::default());
        let stack = frames.stack(FRAMES_MAX + 1, &mut batch, SourcePos::Offset(0));
        assert_eq!(batch.batch().stacks.frames(stack).count(), 2);
    }
}

//! The stacks of a profile as it numbers them -> rows of a batch's own table. Each is walked once a batch. Refuses callers that
//! would make a circle, or a stack that is too deep: which those are must not depend on how batches are cut.

use super::batch::BatchBuilder;
use crate::model::{Loss, NameIdx, Place, StackIdx};

/// No thread has so many frames.
const FRAMES_MAX: u32 = 1 << 16;

/// Frames below other frames, numbered from 0.
#[derive(Debug, Default)]
pub(super) struct Frames {
    rows: Vec<Frame>,
    titles: Vec<Box<[u8]>>,
    path: Vec<u32>,
}

#[derive(Debug)]
struct Frame {
    /// In no circle.
    caller: Option<u32>,
    /// How many frames its stack had when its caller was told.
    depth: u32,
    /// Which of the titles is its name; the empty one beyond them.
    title: u32,
    /// The row in the batch of this number.
    found: (u32, StackIdx),
}

impl Frames {
    /// Bytes of a row in memory.
    pub(super) const ROW_BYTES: usize = size_of::<Frame>();

    /// Bytes of a title in memory, beside its text.
    pub(super) const TITLE_BYTES: usize = size_of::<Box<[u8]>>();

    /// Adds the next row, which nothing is known to have called.
    pub(super) fn push(&mut self, name: &[u8]) {
        let title = self.push_title(name);
        self.push_titled(None, title);
    }

    /// Adds a title that many rows share.
    pub(super) fn push_title(&mut self, name: &[u8]) -> u32 {
        self.titles.push(name.into());
        u32::try_from(self.titles.len() - 1).unwrap_or(u32::MAX)
    }

    /// Adds the next row, with one of the titles. `false`, and it has no caller, if that is no earlier row or is too deep.
    pub(super) fn push_titled(&mut self, caller: Option<u32>, title: u32) -> bool {
        let below = caller.and_then(|caller| self.rows.get(caller as usize)).map(|caller| caller.depth + 1);
        let depth = below.filter(|&depth| depth < FRAMES_MAX);
        let is_taken = depth.is_some() || caller.is_none();
        let caller = caller.filter(|_| depth.is_some());
        self.rows.push(Frame { caller, depth: depth.unwrap_or(0), title, found: (0, StackIdx::EMPTY) });
        is_taken
    }

    /// Says what called a frame, where that is known later. `false`, and nothing is changed, for a circle and for what is too
    /// deep.
    pub(super) fn set_caller(&mut self, frame: u32, caller: u32) -> bool {
        let mut depth = 0;
        let mut next = Some(caller);
        while let Some(above) = next {
            depth += 1;
            if above == frame || depth >= FRAMES_MAX {
                return false;
            }
            next = self.rows.get(above as usize).and_then(|row| row.caller);
        }
        if let Some(row) = self.rows.get_mut(frame as usize) {
            (row.caller, row.depth) = (Some(caller), depth);
        }
        true
    }

    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The stack that ends with a row; the empty one, counted, for a row that does not exist.
    pub(super) fn stack(&mut self, frame: u32, batch: &mut BatchBuilder, place: Place) -> StackIdx {
        self.path.clear();
        let mut next = Some(frame);
        let mut stack = StackIdx::EMPTY;
        while let Some(frame) = next {
            let Some(row) = self.rows.get(frame as usize) else {
                batch.lose(Loss::MissingText, place);
                break;
            };
            if row.found.0 == batch.number {
                stack = row.found.1;
                break;
            }
            self.path.push(frame);
            next = row.caller;
        }
        while let Some(frame) = self.path.pop() {
            let row = &mut self.rows[frame as usize];
            let title = self.titles.get(row.title as usize).map_or(&b""[..], |title| title);
            let name: NameIdx = batch.name(title, None, place);
            stack = batch.batch.stacks.intern(stack, name);
            row.found = (batch.number, stack);
        }
        stack
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_share_their_callers_and_no_caller_makes_a_circle() {
        let mut frames = Frames::default();
        let titles = [&b"main"[..], b"f", b"g", b"later"].map(|name| frames.push_title(name));
        assert!(frames.push_titled(None, titles[0]) && frames.push_titled(Some(0), titles[1]));
        assert!(frames.push_titled(Some(0), titles[2]));
        assert!(!frames.push_titled(Some(4), titles[3]) && !frames.push_titled(Some(4), titles[3]));
        assert!(frames.set_caller(3, 4) && !frames.set_caller(4, 3) && !frames.set_caller(4, 4));
        let place = Place::Offset(0);
        // With a batch for each as with one for all.
        let mut batch = BatchBuilder::new(crate::formats::Grain::default());
        let found = [1, 2, 1, 0, 3].map(|frame| frames.stack(frame, &mut batch, place));
        assert_eq!(found[0], found[2]);
        let stacks = &batch.batch.stacks;
        assert_eq!((stacks.len(), stacks.get(found[1]).parent, stacks.get(found[0]).parent), (6, found[3], found[3]));
        assert_eq!(stacks.frames(found[4]).count(), 2);
        for frame in [4, 3] {
            let mut alone = BatchBuilder::new(crate::formats::Grain::default());
            alone.number = batch.number + 1 + frame;
            let stack = frames.stack(frame, &mut alone, place);
            assert_eq!(alone.batch.stacks.frames(stack).count(), 5 - frame as usize);
            assert!(alone.batch.losses.is_empty());
        }
        frames.stack(9, &mut batch, place);
        assert_eq!(batch.batch.losses.count(Loss::MissingText), 1);
    }

    #[test]
    fn a_stack_that_is_too_deep_begins_anew() {
        let mut frames = Frames::default();
        let title = frames.push_title(b"f");
        let refused = (0..FRAMES_MAX + 2).filter(|&row| !frames.push_titled(row.checked_sub(1), title)).count();
        assert_eq!(refused, 1);
        let mut batch = BatchBuilder::new(crate::formats::Grain::default());
        let stack = frames.stack(FRAMES_MAX + 1, &mut batch, Place::Offset(0));
        assert_eq!(batch.batch.stacks.frames(stack).count(), 2);
    }
}

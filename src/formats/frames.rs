//! The stacks of a profile as it numbers them -> rows of a batch's own table. Each is walked once a batch.

use super::batch::BatchBuilder;
use crate::model::{Loss, NameIdx, Place, StackIdx};

/// Deeper stacks are cut at their outer end: no thread has so many frames, a circle has any number.
const FRAMES_MAX: usize = 1 << 16;

/// Frames below other frames, numbered from 0.
#[derive(Debug, Default)]
pub(super) struct Frames {
    rows: Vec<Frame>,
    titles: Vec<Box<[u8]>>,
    path: Vec<u32>,
}

#[derive(Debug)]
struct Frame {
    caller: Option<u32>,
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

    /// Adds the next row.
    pub(super) fn push(&mut self, caller: Option<u32>, name: &[u8]) {
        let title = self.push_title(name);
        self.push_titled(caller, title);
    }

    /// Adds a title that many rows share.
    pub(super) fn push_title(&mut self, name: &[u8]) -> u32 {
        self.titles.push(name.into());
        u32::try_from(self.titles.len() - 1).unwrap_or(u32::MAX)
    }

    /// Adds the next row, with one of the titles.
    pub(super) fn push_titled(&mut self, caller: Option<u32>, title: u32) {
        self.rows.push(Frame { caller, title, found: (0, StackIdx::EMPTY) });
    }

    /// Says what called a frame, where that is known later.
    pub(super) fn set_caller(&mut self, frame: u32, caller: u32) {
        if let Some(row) = self.rows.get_mut(frame as usize) {
            row.caller = Some(caller);
        }
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
            if self.path.len() >= FRAMES_MAX {
                batch.lose(Loss::DeepNesting, place);
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
    fn stacks_share_their_callers_and_a_circle_ends() {
        let mut frames = Frames::default();
        frames.push(None, b"main");
        frames.push(Some(0), b"f");
        frames.push(Some(0), b"g");
        frames.push(Some(4), b"in a circle");
        frames.push(Some(3), b"of two");
        let mut batch = BatchBuilder::new(crate::formats::Grain::default());
        let place = Place::Offset(0);
        let found = [1, 2, 1, 0].map(|frame| frames.stack(frame, &mut batch, place));
        assert_eq!(found[0], found[2]);
        let stacks = &batch.batch.stacks;
        assert_eq!((stacks.len(), stacks.get(found[1]).parent), (4, found[3]));
        assert!(batch.batch.losses.is_empty());
        frames.stack(3, &mut batch, place);
        frames.stack(9, &mut batch, place);
        assert_eq!((batch.batch.losses.count(Loss::DeepNesting), batch.batch.losses.count(Loss::MissingText)), (1, 1));
    }
}

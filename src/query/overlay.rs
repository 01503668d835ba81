//! Symbol names resolved after the import, shown instead of those of the store: other texts for frames, and stacks with
//! inlined functions. The store does not change.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::model::{NameIdx, Names, StackIdx, Stacks};

/// Names and stacks that replace those of the store.
#[derive(Debug, Default)]
pub(crate) struct NameOverlay {
    /// The names of the store, with resolved functions as the texts of frames, followed by more functions.
    pub(crate) names: Arc<Names>,
    pub(crate) stacks: Stacks,
    /// The replacement of each stack of the store.
    pub(crate) stack_of: Vec<StackIdx>,
    pub(crate) lines: FrameLines,
}

/// The source lines of frames.
#[derive(Debug, Default)]
pub(crate) struct FrameLines {
    /// Functions at an address, innermost first, by the name of the frame in the store.
    frames: FxHashMap<NameIdx, Box<[FrameLine]>>,
    files: Vec<Box<str>>,
    rows: FxHashMap<Box<str>, u32>,
}

/// A function at the address of a frame, with its source line there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameLine {
    pub(crate) function: NameIdx,
    file: u32,
    /// Source line; 0 if unknown.
    pub(crate) line: u32,
}

impl NameOverlay {
    /// Returns the replacement of a stack of the store.
    pub(crate) fn stack(&self, stack: StackIdx) -> StackIdx {
        self.stack_of.get(stack.index()).copied().unwrap_or_default()
    }
}

impl FrameLines {
    /// Creates a source line of a function; `file` may be empty.
    pub(crate) fn line(&mut self, function: NameIdx, file: &str, line: u32) -> FrameLine {
        let row = self.rows.get(file).copied();
        let file = row.unwrap_or_else(|| {
            let row = self.files.len() as u32;
            self.files.push(file.into());
            self.rows.insert(file.into(), row);
            row
        });
        FrameLine { function, file, line }
    }

    pub(crate) fn insert(&mut self, frame: NameIdx, lines: Box<[FrameLine]>) {
        self.frames.insert(frame, lines);
    }

    /// Returns the file of a line; empty if unknown.
    pub(crate) fn file(&self, line: FrameLine) -> &str {
        self.files.get(line.file as usize).map_or("", |file| file)
    }

    /// Iterates over all frames with functions, in no order.
    pub(crate) fn frames(&self) -> impl Iterator<Item = (NameIdx, &[FrameLine])> {
        self.frames.iter().map(|(&frame, lines)| (frame, &**lines))
    }

    /// Returns the functions at the address of a frame, innermost first; empty for an unresolved frame.
    pub(crate) fn lines(&self, frame: NameIdx) -> &[FrameLine] {
        self.frames.get(&frame).map_or(&[], |lines| lines)
    }
}

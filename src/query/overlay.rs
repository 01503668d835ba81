//! Names that were looked up after a load, over those of the store: other texts for names of frames, and stacks with
//! the functions that were inlined. The store stays as it is.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::model::{NameIdx, Names, StackIdx, Stacks};

/// Names and stacks that are shown instead of those of the store.
#[derive(Debug, Default)]
pub(crate) struct NameOverlay {
    /// The names of the store, those of frames with functions as their texts, and functions after them.
    pub(crate) names: Arc<Names>,
    pub(crate) stacks: Stacks,
    /// The stack to show for each of the store.
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

/// A function at the address of a frame, with the line that ran or called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameLine {
    pub(crate) function: NameIdx,
    file: u32,
    /// The line in the source; 0 if unknown.
    pub(crate) line: u32,
}

impl NameOverlay {
    /// The stack to show for one of the store.
    pub(crate) fn stack(&self, stack: StackIdx) -> StackIdx {
        self.stack_of.get(stack.index()).copied().unwrap_or_default()
    }
}

impl FrameLines {
    /// A line of a file, which may be empty.
    pub(crate) fn line(&mut self, function: NameIdx, file: &str, line: u32) -> FrameLine {
        let known = self.rows.get(file).copied();
        let file = known.unwrap_or_else(|| {
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

    /// The file of a line; empty if unknown.
    pub(crate) fn file(&self, line: FrameLine) -> &str {
        self.files.get(line.file as usize).map_or("", |file| file)
    }

    /// The functions at the address of a frame, innermost first; none for a frame without a name.
    pub(crate) fn of(&self, frame: NameIdx) -> &[FrameLine] {
        self.frames.get(&frame).map_or(&[], |lines| lines)
    }
}

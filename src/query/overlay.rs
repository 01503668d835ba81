//! Symbol names resolved after the import, shown instead of the names in the store: other texts for frames, and stacks
//! with inlined functions. The store does not change.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::model::{NameIdx, Names, StackIdx, Stacks};

/// Names and stacks that replace the names and stacks of the store.
#[derive(Debug, Default)]
pub(crate) struct NameOverlay {
    /// The names of the store, with resolved functions as the texts of frames, followed by more functions.
    pub(crate) names: Arc<Names>,
    pub(crate) stacks: Stacks,
    /// The replacement of each stack of the store.
    pub(crate) stack_of: Vec<StackIdx>,
    /// The stacks of the store whose innermost frame is the kernel's, which interrupted its caller.
    pub(crate) interrupts: FxHashSet<StackIdx>,
    pub(crate) lines: FrameLines,
}

/// The source lines of frames.
#[derive(Debug, Default)]
pub(crate) struct FrameLines {
    /// Functions at an address, innermost first, by the name of the frame in the store and whether it is a caller.
    frames: FxHashMap<(NameIdx, bool), Box<[FrameLine]>>,
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

/// A frame of a stack of the store, with the functions at the address where it ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ResolvedFrame<'a> {
    pub(crate) name: NameIdx,
    /// Whether the address is a return address, so that the functions belong to the call before it.
    pub(crate) is_call: bool,
    /// Innermost first; empty if unresolved.
    pub(crate) functions: &'a [FrameLine],
}

impl NameOverlay {
    /// Returns the replacement of a stack of the store.
    pub(crate) fn stack(&self, stack: StackIdx) -> StackIdx {
        self.stack_of.get(stack.index()).copied().unwrap_or_default()
    }

    /// Iterates over the frames of a stack of the store, innermost first.
    pub(crate) fn frames<'a>(
        &'a self,
        raw_stacks: &'a Stacks,
        stack: StackIdx,
    ) -> impl Iterator<Item = ResolvedFrame<'a>> {
        let mut has_called = false;
        raw_stacks.path(stack).map(move |stack| {
            let frame = self.lines.frame(raw_stacks.get(stack).name, has_called);
            has_called = !self.interrupts.contains(&stack);
            frame
        })
    }
}

impl FrameLine {
    /// Returns the index of the file, and the line.
    pub(crate) fn position(self) -> (u32, u32) {
        (self.file, self.line)
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

    /// Adds the functions of a frame, as a caller or as the innermost frame; may be empty.
    pub(crate) fn insert(&mut self, frame: NameIdx, is_call: bool, lines: Box<[FrameLine]>) {
        self.frames.insert((frame, is_call), lines);
    }

    /// The position of a frame without a source line.
    pub(crate) const NO_POSITION: (u32, u32) = (u32::MAX, 0);

    /// Returns all files, by the indices of [`FrameLine::position`].
    pub(crate) fn files(&self) -> &[Box<str>] {
        &self.files
    }

    /// Returns the file of a line; empty if unknown.
    pub(crate) fn file(&self, line: FrameLine) -> &str {
        self.files.get(line.file as usize).map_or("", |file| file)
    }

    /// Iterates over all frames with functions, in no order.
    pub(crate) fn frames(&self) -> impl Iterator<Item = (NameIdx, &[FrameLine])> {
        let is_shown = |&(frame, is_call): &(NameIdx, bool)| is_call || !self.frames.contains_key(&(frame, true));
        self.frames.iter().filter(move |(key, _)| is_shown(key)).map(|(&(frame, _), lines)| (frame, &**lines))
    }

    /// Returns the functions at the address of a frame, innermost first; empty for an unresolved frame. If a frame both
    /// calls and is sampled, returns the functions of the call, which is more frequent.
    pub(crate) fn lines(&self, frame: NameIdx) -> &[FrameLine] {
        self.frame(frame, true).functions
    }

    /// Returns a frame with the functions of its call if it has called, or else with the functions at its address.
    pub(crate) fn frame(&self, name: NameIdx, has_called: bool) -> ResolvedFrame<'_> {
        let call = self.frames.get(&(name, true)).filter(|_| has_called);
        let functions = call.or_else(|| self.frames.get(&(name, false))).map_or(&[][..], |lines| lines);
        ResolvedFrame { name, is_call: call.is_some(), functions }
    }
}

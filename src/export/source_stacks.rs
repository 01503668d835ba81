//! The call stacks of an export. The overlay of symbols merges the lines of a function, as flame graphs do; formats
//! with source lines have a frame per line.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::model::frame_sources::FrameSources;
use crate::model::{Event, EventKind, NameIdx, StackIdx, Stacks};
use crate::query::Snapshot;
use crate::query::overlay::{FrameLines, NameOverlay, ResolvedFrame};

/// Stacks by their rows in the output, with names of the overlay.
pub(super) struct ExportedStacks<'a> {
    pub(super) stacks: Cow<'a, Stacks>,
    pub(super) sources: FrameSources<'a>,
    /// The output row of each stack of the store; `None` if they are equal.
    stack_of: Option<Cow<'a, [StackIdx]>>,
}

impl<'a> ExportedStacks<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, has_lines: bool) -> Self {
        let Some(overlay) = snapshot.overlay().filter(|_| has_lines) else {
            let stack_of = snapshot.overlay().map(|overlay| Cow::Borrowed(&*overlay.stack_of));
            return Self { stacks: Cow::Borrowed(snapshot.stacks()), sources: FrameSources::default(), stack_of };
        };
        let mut lined = LinedStacks::new(&overlay.lines);
        let stack_of = lined.push_all(overlay, snapshot.raw_stacks());
        let LinedStacks { stacks, positions: lines, .. } = lined;
        let sources = FrameSources { files: overlay.lines.files(), lines };
        Self { stacks: Cow::Owned(stacks), sources, stack_of: Some(Cow::Owned(stack_of)) }
    }

    /// Replaces the stacks of the store in samples by their output rows.
    pub(super) fn map_samples(&self, events: &mut [Event]) {
        let Some(stack_of) = &self.stack_of else { return };
        for event in events.iter_mut().filter(|event| event.kind == EventKind::Sample) {
            let stack = stack_of.get(StackIdx::from_value(event.value).index()).copied().unwrap_or_default();
            event.value = stack.0.into();
        }
    }
}

/// A table of stacks in which each line of a function is a frame.
struct LinedStacks<'a> {
    lines: &'a FrameLines,
    stacks: Stacks,
    /// File and line by stack row.
    positions: Vec<(u32, u32)>,
    rows: FxHashMap<(StackIdx, NameIdx, (u32, u32)), StackIdx>,
}

impl<'a> LinedStacks<'a> {
    fn new(lines: &'a FrameLines) -> Self {
        Self { lines, stacks: Stacks::default(), positions: vec![FrameLines::NO_POSITION], rows: FxHashMap::default() }
    }

    /// Adds all stacks of a store, and returns their rows.
    fn push_all(&mut self, overlay: &NameOverlay, raw_stacks: &Stacks) -> Vec<StackIdx> {
        // For each stack, its row as the innermost frame, and as a caller.
        let mut ends = vec![StackIdx::EMPTY];
        let mut calls = vec![StackIdx::EMPTY];
        for row in raw_stacks.rows() {
            let stack = StackIdx::from_value(ends.len() as u64);
            let callers = if overlay.interrupts.contains(&stack) { &ends } else { &calls };
            let caller = callers.get(row.parent.index()).copied().unwrap_or_default();
            let end = self.push(caller, self.lines.frame(row.name, false));
            ends.push(end);
            let call = self.lines.frame(row.name, true);
            calls.push(if call.is_call { self.push(caller, call) } else { end });
        }
        ends
    }

    /// Returns the row of a frame with its inlined functions.
    fn push(&mut self, caller: StackIdx, frame: ResolvedFrame<'_>) -> StackIdx {
        if frame.functions.is_empty() {
            return self.intern(caller, frame.name, FrameLines::NO_POSITION);
        }
        let outermost_first = frame.functions.iter().rev();
        outermost_first.fold(caller, |caller, line| self.intern(caller, line.function, line.position()))
    }

    fn intern(&mut self, caller: StackIdx, name: NameIdx, position: (u32, u32)) -> StackIdx {
        let Self { stacks, positions, rows, .. } = self;
        *rows.entry((caller, name, position)).or_insert_with(|| {
            let Some(row) = stacks.push(caller, name) else { return caller };
            positions.push(position);
            row
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::TrackIdx;
    use crate::query::overlay::FrameLine;
    use crate::scene::tests::snapshot;

    /// A function, and its position.
    type Shown = (String, Option<(String, u32)>);

    /// Returns the frames of a stack of the store one by one, innermost first.
    fn naive(snapshot: &Snapshot, overlay: &NameOverlay, stack: StackIdx) -> Vec<Shown> {
        let mut shown = Vec::new();
        for frame in overlay.frames(snapshot.raw_stacks(), stack) {
            if frame.functions.is_empty() {
                shown.push((overlay.names.get(frame.name).text.to_owned(), None));
            }
            for &line in frame.functions {
                let file = overlay.lines.file(line);
                let position = (!file.is_empty()).then(|| (file.to_owned(), line.line));
                shown.push((overlay.names.get(line.function).text.to_owned(), position));
            }
        }
        shown
    }

    #[test]
    fn stacks_have_the_line_of_each_frame_and_the_functions_of_the_overlay() {
        let frames = r#"{"1":{"name":"w+0x10"},"2":{"name":"w+0x20","parent":"1"},"3":{"name":"w+0x30","parent":"1"},
            "4":{"name":"w+0x20","parent":"3"},"5":{"name":"w+0x50","parent":"2"},"6":{"name":"w+0x60","parent":"5"}}"#;
        let samples: Vec<_> = (1..7)
            .map(|frame| format!(r#"{{"ph":"P","name":"s","pid":1,"tid":1,"ts":{frame},"sf":{frame}}}"#))
            .collect();
        let mut snapshot = snapshot(&format!(r#"{{"stackFrames":{frames},"traceEvents":[{}]}}"#, samples.join(",")));
        let mut names = snapshot.raw_names().clone();
        let mut overlay = NameOverlay::default();
        let functions = ["main", "work", "inlined"].map(|name| names.intern(name, None));
        let [main, work, inlined] = functions;
        let of = |text: &str| (0..names.len() as u32).map(NameIdx).find(|&name| names.get(name).text == text).unwrap();
        // A call is at another line than a sample of the same frame; `w+0x50` is unknown, and `w+0x60` has no file.
        let mut insert = |frame: &str, is_call, lines: &[(NameIdx, &str, u32)]| {
            let lines: Vec<FrameLine> =
                lines.iter().map(|&(name, file, line)| overlay.lines.line(name, file, line)).collect();
            overlay.lines.insert(of(frame), is_call, lines.into());
        };
        insert("w+0x10", true, &[(main, "m.c", 7)]);
        insert("w+0x10", false, &[(main, "m.c", 8)]);
        insert("w+0x30", true, &[(main, "m.c", 9)]);
        insert("w+0x20", false, &[(inlined, "i.h", 3), (work, "m.c", 0)]);
        insert("w+0x20", true, &[(inlined, "i.h", 3), (work, "m.c", 0)]);
        insert("w+0x60", false, &[(work, "", 5)]);
        overlay.names = Arc::new(names);
        // The kernel interrupted the caller of the fifth stack.
        overlay.interrupts.insert(StackIdx(5));
        overlay.stack_of = (0..snapshot.raw_stacks().len() as u32).map(StackIdx).collect();
        snapshot = snapshot.with_overlay(Some(Arc::new(overlay)));
        let overlay = snapshot.overlay().unwrap();
        let exported = ExportedStacks::new(&snapshot, true);
        for stack in (0..snapshot.raw_stacks().len() as u32).map(StackIdx) {
            let mut samples = [Event::at(0, TrackIdx(0), NameIdx::EMPTY).sample(stack)];
            exported.map_samples(&mut samples);
            let row = StackIdx::from_value(samples[0].value);
            let shown: Vec<Shown> = exported
                .stacks
                .path(row)
                .map(|row| {
                    let source = exported.sources.get(row).map(|source| (source.file.to_owned(), source.line));
                    (overlay.names.get(exported.stacks.get(row).name).text.to_owned(), source)
                })
                .collect();
            assert_eq!(shown, naive(&snapshot, overlay, stack), "{stack:?}");
        }
    }
}

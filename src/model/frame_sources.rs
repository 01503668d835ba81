//! The source lines of the frames in a table of stacks, for formats that write them.

use super::StackIdx;

/// Source lines by stack row. Without symbols it is empty.
#[derive(Debug, Clone, Default)]
pub(crate) struct FrameSources<'a> {
    pub(crate) files: &'a [Box<str>],
    /// Index in `files` and line, by stack row; a row without a file has an index beyond `files`.
    pub(crate) lines: Vec<(u32, u32)>,
}

/// A line of a source file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameSource<'a> {
    /// Index of the file in [`FrameSources::files`].
    pub(crate) file_row: u32,
    pub(crate) file: &'a str,
    /// 0 if unknown.
    pub(crate) line: u32,
}

impl<'a> FrameSources<'a> {
    pub(crate) const NONE: &'static FrameSources<'static> = &FrameSources { files: &[], lines: Vec::new() };

    /// Returns the source line of the innermost frame of a stack; `None` if its file is unknown.
    pub(crate) fn get(&self, stack: StackIdx) -> Option<FrameSource<'a>> {
        let &(file_row, line) = self.lines.get(stack.index())?;
        let file = self.files.get(file_row as usize).filter(|file| !file.is_empty())?;
        Some(FrameSource { file_row, file, line })
    }
}

//! The line table of a unit: finds file and line of each wanted address in one pass.

use gimli::UnitRef;

use super::sections::{CodeRanges, SectionReader};

/// The longest path of Linux.
const PATH_BYTES_MAX: usize = 4096;

/// A file by its index in the unit's table, and a line, 0 if unknown.
pub(super) type FileLine = (u64, u32);

type Unit<'u, 'a, 'f> = UnitRef<'u, SectionReader<'a, 'f>>;

/// Calls a closure for each sequence of the line table, except sequences dropped by the linker.
pub(super) fn each_sequence(
    unit: &Unit<'_, '_, '_>,
    code: &CodeRanges,
    mut with: impl FnMut(u64, u64) -> gimli::Result<()>,
) -> gimli::Result<()> {
    let Some(program) = unit.line_program.clone() else { return Ok(()) };
    let mut rows = program.rows();
    let mut start = None;
    while let Some((_, row)) = rows.next_row()? {
        let begin = *start.get_or_insert(row.address());
        if row.end_sequence() {
            if begin < row.address() && code.has(begin) {
                with(begin, row.address())?;
            }
            start = None;
        }
    }
    Ok(())
}

/// Returns file and line of each of some sorted addresses, up to damage.
pub(super) fn lines_of(unit: &Unit<'_, '_, '_>, code: &CodeRanges, wanted: &[u64]) -> Vec<Option<FileLine>> {
    let mut lines = vec![None; wanted.len()];
    let Some(program) = unit.line_program.clone() else { return lines };
    let mut rows = program.rows();
    let mut before: Option<(u64, FileLine)> = None;
    // First wanted address at or after the previous row; none in a sequence dropped by the linker.
    let mut next = 0;
    while let Ok(Some((_, row))) = rows.next_row() {
        let address = row.address();
        match before {
            Some((start, line)) if start <= address => {
                while wanted.get(next).is_some_and(|&it| it < address) {
                    lines[next].get_or_insert(line);
                    next += 1;
                }
            }
            // A sequence starts, or goes back.
            _ if code.has(address) => next = wanted.partition_point(|&it| it < address),
            _ => next = wanted.len(),
        }
        let line = row.line().map_or(0, |line| u32::try_from(line.get()).unwrap_or(0));
        before = (!row.end_sequence()).then_some((address, (row.file_index(), line)));
    }
    lines
}

/// Returns the path of a file in a unit's table; empty if it has none.
pub(super) fn path_of(unit: &Unit<'_, '_, '_>, file: u64) -> String {
    let Some(header) = unit.line_program.as_ref().map(gimli::IncompleteLineProgram::header) else {
        return String::new();
    };
    let Some(file) = header.file(file) else { return String::new() };
    let text = |value| unit.attr_string(value).map(|text| String::from_utf8_lossy(text.bytes()).into_owned());
    let mut path =
        unit.comp_dir.map_or_else(String::new, |folder| String::from_utf8_lossy(folder.bytes()).into_owned());
    // Directory 0 is the directory of the unit.
    let folder = file.directory(header).filter(|_| file.directory_index() != 0);
    let parts = folder.map(text).into_iter().chain([text(file.path_name())]);
    for part in parts {
        let Ok(part) = part else { return String::new() };
        if is_absolute(&part) {
            path = part;
        } else {
            let separator = if is_of_windows(&path) { '\\' } else { '/' };
            if !path.is_empty() && !path.ends_with(separator) {
                path.push(separator);
            }
            path.push_str(&part);
        }
    }
    path.truncate(path.floor_char_boundary(PATH_BYTES_MAX));
    path
}

fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || path.get(1..3) == Some(":/") || is_of_windows(path)
}

fn is_of_windows(path: &str) -> bool {
    path.starts_with('\\') || path.get(1..3) == Some(":\\")
}

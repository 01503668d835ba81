//! One cell of comma-separated text: quoted as in RFC 4180, and on request harmless to a spreadsheet or to a terminal.
//! Knows no columns and no rows.

use std::borrow::Cow;
use std::io::{self, Write};

use super::escape::escaped;

/// How the text in cells is written. By default a reader gets back the same bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cells {
    /// An apostrophe comes before text that a spreadsheet would take for a formula.
    pub(crate) spreadsheet_safe: bool,
    /// Control characters are escapes, because a terminal would obey them.
    pub(crate) escaped: bool,
}

/// The first letters by which spreadsheets recognise formulas, also after an import that drops white space.
const FORMULA_STARTS: [char; 7] = ['=', '+', '-', '@', '\t', '\r', '\n'];

impl Cells {
    /// Text as it is: a reader gets back the same bytes.
    pub(crate) const PLAIN: Self = Self { spreadsheet_safe: false, escaped: false };

    /// Writes `text` as one cell, in quotes if a reader would else split or join it. Numbers need none of this. Fails
    /// with the I/O error of `out`.
    pub(crate) fn write(self, out: &mut dyn Write, text: &str) -> io::Result<()> {
        // Before the escapes: they would hide a tab at the start.
        let is_formula = self.spreadsheet_safe && text.starts_with(FORMULA_STARTS);
        let text = if self.escaped { escaped(text) } else { Cow::Borrowed(text) };
        let mark = if is_formula { "'" } else { "" };
        if !text.contains([',', '"', '\n', '\r']) {
            out.write_all(mark.as_bytes())?;
            return out.write_all(text.as_bytes());
        }
        write!(out, "\"{mark}")?;
        for (count, part) in text.split('"').enumerate() {
            if count > 0 {
                out.write_all(b"\"\"")?;
            }
            out.write_all(part.as_bytes())?;
        }
        out.write_all(b"\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(cells: Cells, text: &str) -> String {
        let mut out = Vec::new();
        cells.write(&mut out, text).expect("memory takes it");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn a_cell_keeps_its_bytes_unless_protection_is_asked_for() {
        for text in ["=1+1", "@SUM(1)", "-2+3", "\tx", "\u{1b}[31m", "plain"] {
            assert_eq!(written(Cells::default(), text), text);
        }
        assert_eq!(written(Cells::default(), "a,\"b\"\n"), "\"a,\"\"b\"\"\n\"");
    }

    #[test]
    fn no_cell_is_a_formula_when_protection_is_asked_for() {
        let safe = Cells { spreadsheet_safe: true, ..Cells::default() };
        for text in ["=1+1", "+1", "-2+3", "@SUM(1)", "\tx", "\r=1", "\n=1", "=cmd|'/c calc'!A0", "=\"a\",1"] {
            let cell = written(safe, text);
            assert!(cell.starts_with('\'') || cell.starts_with("\"'"), "{cell}");
        }
        assert_eq!(written(safe, "=\"a\",1"), "\"'=\"\"a\"\",1\"");
        for text in ["", "a=1", "1-2", "'=1"] {
            assert_eq!(written(safe, text), text);
        }
    }

    #[test]
    fn a_cell_for_a_terminal_stays_on_its_line_and_is_still_protected() {
        let cells = Cells { spreadsheet_safe: true, escaped: true };
        assert_eq!(written(cells, "\t\u{1b}[2J\nfake,line"), "\"'\\t\\u{1b}[2J\\nfake,line\"");
    }
}

//! Writes one CSV cell: quoted as in RFC 4180, and optionally safe for a spreadsheet or a terminal.

use std::borrow::Cow;
use std::io::{self, Write};

use super::escape::escaped;

/// How text in cells is written. By default a reader gets back the same bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cells {
    /// Adds an apostrophe before text that a spreadsheet would take for a formula.
    pub(crate) spreadsheet_safe: bool,
    /// Escapes control characters, which a terminal would interpret.
    pub(crate) escaped: bool,
}

/// First characters by which spreadsheets recognise a formula, also in the full width of East Asian text. They trim the
/// white space among them.
const FORMULA_STARTS: [char; 11] =
    ['=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}', '\t', '\r', '\n'];

impl Cells {
    /// Writes text verbatim: a reader gets back the same bytes.
    pub(crate) const PLAIN: Self = Self { spreadsheet_safe: false, escaped: false };

    /// Writes `text` as one cell, quoted if a reader would otherwise split or join it. Returns the I/O error of `out`.
    pub(crate) fn write<W: Write + ?Sized>(self, out: &mut W, text: &str) -> io::Result<()> {
        self.write_indented(out, 0, text)
    }

    /// Like [`Self::write`], with spaces before the text in the cell.
    pub(crate) fn write_indented<W: Write + ?Sized>(self, out: &mut W, spaces: usize, text: &str) -> io::Result<()> {
        // Tested before escaping, which would hide a tab at the start.
        let is_formula = self.spreadsheet_safe && text.starts_with(FORMULA_STARTS);
        let text = if self.escaped { escaped(text) } else { Cow::Borrowed(text) };
        let is_quoted = has_separator(&text);
        if is_quoted {
            out.write_all(b"\"")?;
        }
        if is_formula {
            out.write_all(b"'")?;
        }
        (0..spaces).try_for_each(|_| out.write_all(b" "))?;
        if !is_quoted {
            return out.write_all(text.as_bytes());
        }
        for (count, part) in text.split('"').enumerate() {
            if count > 0 {
                out.write_all(b"\"\"")?;
            }
            out.write_all(part.as_bytes())?;
        }
        out.write_all(b"\"")
    }
}

/// Returns whether a text has a character for which it is quoted. It has no early exit, so that it takes several bytes
/// at once: nearly all texts have none.
fn has_separator(text: &str) -> bool {
    text.bytes().fold(false, |found, byte| found | matches!(byte, b',' | b'"' | b'\n' | b'\r'))
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
    fn an_indentation_is_within_the_quotes_and_hides_no_formula() {
        let safe = Cells { spreadsheet_safe: true, ..Cells::default() };
        for (text, expected) in
            [("f", "  f"), ("map<int, char>", "\"  map<int, char>\""), ("=1", "'  =1"), ("=1,2", "\"'  =1,2\"")]
        {
            let mut out = Vec::new();
            safe.write_indented(&mut out, 2, text).expect("memory takes it");
            assert_eq!(String::from_utf8(out).expect("text"), expected);
        }
    }

    #[test]
    fn no_cell_is_a_formula_when_protection_is_asked_for() {
        let safe = Cells { spreadsheet_safe: true, ..Cells::default() };
        for text in [
            "=1+1",
            "+1",
            "-2+3",
            "@SUM(1)",
            "\tx",
            "\r=1",
            "\n=1",
            "=cmd|'/c calc'!A0",
            "=\"a\",1",
            "＝1+1",
            "＋1",
            "－2",
            "＠SUM(1)",
        ] {
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

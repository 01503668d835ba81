//! Nested V8 call trees in JSON: each node contains its children. Parsed without recursion, since the depth is only
//! limited by the text.

use crate::formats::ReadError;
use crate::formats::json::scan::{Broken, JsonValue, Scanner};
use crate::formats::output::batch::BatchBuilder;
use crate::model::{Loss, SourcePos};

/// The reason for an early end of a document.
pub(super) enum ReadStop {
    Broken(Broken),
    Read(ReadError),
}

impl From<Broken> for ReadStop {
    fn from(broken: Broken) -> Self {
        Self::Broken(broken)
    }
}

impl From<ReadError> for ReadStop {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

/// Receives the nodes of a tree, callers before callees.
pub(super) trait V8TreeBuilder {
    /// Opens a node below its caller, at an offset of the text, and returns its index.
    fn open(&mut self, caller: Option<u32>, offset: u64) -> Result<u32, ReadError>;

    /// Reads the value of a member of a node, except its children. `key` has the position of the key.
    fn member(
        &mut self,
        node: u32,
        key: (&[u8], SourcePos),
        scanner: &mut Scanner<'_>,
        batch: &mut BatchBuilder,
    ) -> Result<(), ReadStop>;
}

/// Reads the members of the object that a document is; `member` reads each value. Counts an early end, damage, and
/// data after the object. `cut_at` is the offset of the cut in a truncated file. Returns whether the text ends early.
pub(super) fn read_document(
    text: &[u8],
    cut_at: Option<u64>,
    batch: &mut BatchBuilder,
    member: impl FnMut(&[u8], &mut Scanner<'_>, &mut BatchBuilder) -> Result<(), ReadStop>,
) -> Result<bool, ReadError> {
    let mut scanner = Scanner::new(text, 0);
    scanner.skip_mark();
    let (loss, offset) = match read_object(&mut scanner, batch, member) {
        Ok(()) if scanner.peek().is_err() => return Ok(false),
        Ok(()) => (Loss::TrailingData, scanner.pos as u64),
        Err(ReadStop::Read(error)) => return Err(error),
        Err(ReadStop::Broken(Broken::Incomplete)) => (Loss::Truncated, cut_at.unwrap_or(text.len() as u64)),
        Err(ReadStop::Broken(_)) => (Loss::BadRecord, scanner.pos as u64),
    };
    batch.lose(loss, SourcePos::Offset(offset));
    Ok(loss == Loss::Truncated)
}

/// Parses an integer within the exact range of JavaScript numbers.
pub(super) fn number(value: &JsonValue<'_>) -> Option<u64> {
    let number: f64 = std::str::from_utf8(value.text).ok()?.parse().ok()?;
    (0.0..9e15).contains(&number).then_some(number as u64)
}

/// Reads the members of the object at the scanner. `member` reads each value.
pub(super) fn read_object(
    scanner: &mut Scanner<'_>,
    batch: &mut BatchBuilder,
    mut member: impl FnMut(&[u8], &mut Scanner<'_>, &mut BatchBuilder) -> Result<(), ReadStop>,
) -> Result<(), ReadStop> {
    scanner.expect(b'{')?;
    loop {
        match scanner.peek()? {
            b'}' => break,
            b',' => scanner.pos += 1,
            _ => {
                let key = scanner.key()?;
                member(key.text, scanner, batch)?;
            }
        }
    }
    scanner.pos += 1;
    Ok(())
}

/// Reads the node at the scanner with all its descendants.
pub(super) fn read_tree(
    scanner: &mut Scanner<'_>,
    builder: &mut impl V8TreeBuilder,
    batch: &mut BatchBuilder,
) -> Result<(), ReadStop> {
    let mut open = Vec::new();
    begin_node(scanner, builder, &mut open)?;
    while let Some(&node) = open.last() {
        match scanner.peek()? {
            b',' => scanner.pos += 1,
            b'}' => {
                scanner.pos += 1;
                open.pop();
                if open.is_empty() {
                    return Ok(());
                }
                // Within the children of the caller: the next child, or the end of the array.
                match scanner.peek()? {
                    b',' => {
                        scanner.pos += 1;
                        begin_node(scanner, builder, &mut open)?;
                    }
                    _ => scanner.expect(b']')?,
                }
            }
            _ => {
                let pos = SourcePos::Offset(scanner.pos as u64);
                match scanner.key()?.text {
                    b"children" => {
                        scanner.expect(b'[')?;
                        if scanner.peek()? == b']' {
                            scanner.pos += 1;
                        } else {
                            begin_node(scanner, builder, &mut open)?;
                        }
                    }
                    key => builder.member(node, (key, pos), scanner, batch)?,
                }
            }
        }
    }
    Ok(())
}

/// Opens the node at the scanner, below the innermost open node.
fn begin_node(
    scanner: &mut Scanner<'_>,
    builder: &mut impl V8TreeBuilder,
    open: &mut Vec<u32>,
) -> Result<(), ReadStop> {
    scanner.expect(b'{')?;
    open.push(builder.open(open.last().copied(), scanner.pos as u64)?);
    Ok(())
}

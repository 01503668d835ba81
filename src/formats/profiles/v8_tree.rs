//! Nested V8 call trees in JSON: each node contains its children. Parsed without recursion, since the depth is only
//! limited by the text.

use crate::formats::ReadError;
use crate::formats::json::scan::{Broken, Scanner};
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

/// Reads the members of the object that a document is, and counts what follows it. `member` reads each value.
pub(super) fn read_members(
    scanner: &mut Scanner<'_>,
    batch: &mut BatchBuilder,
    member: impl FnMut(&[u8], &mut Scanner<'_>, &mut BatchBuilder) -> Result<(), ReadStop>,
) -> Result<(), ReadStop> {
    scanner.skip_mark();
    read_object(scanner, batch, member)?;
    if scanner.peek().is_ok() {
        batch.lose(Loss::TrailingData, SourcePos::Offset(scanner.pos as u64));
    }
    Ok(())
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

/// Opens the node at the scanner, below the innermost open one.
fn begin_node(
    scanner: &mut Scanner<'_>,
    builder: &mut impl V8TreeBuilder,
    open: &mut Vec<u32>,
) -> Result<(), ReadStop> {
    scanner.expect(b'{')?;
    open.push(builder.open(open.last().copied(), scanner.pos as u64)?);
    Ok(())
}

//! Trees of calls as V8 nests them in JSON: each node has its children in it. Read without recursion, since such a tree
//! may be as deep as its text allows.

use crate::formats::ReadError;
use crate::formats::json::scan::{Broken, Scanner};
use crate::formats::output::batch::BatchBuilder;
use crate::model::SourcePos;

/// Why a document ends early.
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

/// Receives the nodes of a tree, callers before what they call.
pub(super) trait V8TreeBuilder {
    /// Begins a node below its caller, at an offset of the text, and returns its number.
    fn open(&mut self, caller: Option<u32>, offset: u64) -> Result<u32, ReadError>;

    /// Reads the value of a member of a node other than its children, by its key and the place of that.
    fn member(
        &mut self,
        node: u32,
        key: (&[u8], SourcePos),
        scanner: &mut Scanner<'_>,
        batch: &mut BatchBuilder,
    ) -> Result<(), ReadStop>;
}

/// Reads the members of the object at the scanner, each by `member`, which reads its value.
pub(super) fn read_members(
    scanner: &mut Scanner<'_>,
    mut member: impl FnMut(&[u8], &mut Scanner<'_>) -> Result<(), ReadStop>,
) -> Result<(), ReadStop> {
    scanner.expect(b'{')?;
    loop {
        match scanner.peek()? {
            b'}' => return Ok(()),
            b',' => scanner.pos += 1,
            _ => {
                let key = scanner.key()?;
                member(key.text, scanner)?;
            }
        }
    }
}

/// Reads the node at the scanner with all below it.
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
                // Inside of the children of the caller: the next of them, or their end.
                match scanner.peek()? {
                    b',' => {
                        scanner.pos += 1;
                        begin_node(scanner, builder, &mut open)?;
                    }
                    _ => scanner.expect(b']')?,
                }
            }
            _ => {
                let place = SourcePos::Offset(scanner.pos as u64);
                match scanner.key()?.text {
                    b"children" => {
                        scanner.expect(b'[')?;
                        if scanner.peek()? == b']' {
                            scanner.pos += 1;
                        } else {
                            begin_node(scanner, builder, &mut open)?;
                        }
                    }
                    key => builder.member(node, (key, place), scanner, batch)?,
                }
            }
        }
    }
    Ok(())
}

/// Begins the node at the scanner, below the innermost open one.
fn begin_node(
    scanner: &mut Scanner<'_>,
    builder: &mut impl V8TreeBuilder,
    open: &mut Vec<u32>,
) -> Result<(), ReadStop> {
    scanner.expect(b'{')?;
    open.push(builder.open(open.last().copied(), scanner.pos as u64)?);
    Ok(())
}

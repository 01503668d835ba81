//! Files of an archive that belong to a trace in it: pictures and sources of a Playwright trace, bodies of the requests
//! of a HAR. They are not traces, and leaving them out is not a loss.

use std::io::Read;

use rustc_hash::FxHashSet;
use xxhash_rust::xxh3::xxh3_64;

use super::members::MEMBERS_MAX;
use crate::base::cancel::Cancel;
use crate::formats::ReadError;
use crate::model::{Loss, Losses, SourcePos};

/// The formats of the traces that have attachments.
const PLAYWRIGHT: &str = "Playwright trace";
const HAR: &str = "HAR";

/// Limit for the bytes of a member that is named like a body: a hash and an extension.
const BODY_BYTES_MAX: usize = 1 << 10;

const READ_BYTES: u64 = 256 << 10;

/// The traces in an archive that have attachments.
#[derive(Default)]
pub(super) struct Attachments {
    has_playwright: bool,
    /// Hashes of the paths of bodies, at most as many as an archive has files.
    bodies: FxHashSet<u64>,
}

impl Attachments {
    /// Takes note of a trace with this path in the archive. `text` opens it.
    pub(super) fn add<R: Read>(
        &mut self,
        path: &str,
        format: &str,
        text: impl FnOnce() -> Result<R, ReadError>,
        cancel: &Cancel,
    ) -> Result<(), ReadError> {
        self.has_playwright |= format == PLAYWRIGHT;
        if format != HAR {
            return Ok(());
        }
        let folder = path.rfind('/').map_or("", |slash| &path[..=slash]);
        body_names(text()?, cancel, &mut |name| {
            if self.bodies.len() < MEMBERS_MAX {
                self.bodies.insert(xxh3_64(format!("{folder}{name}").as_bytes()));
            }
        })
    }

    /// Returns whether the archive has a Playwright trace.
    pub(super) fn has_playwright(&self) -> bool {
        self.has_playwright
    }

    /// Returns whether the archive has a trace to which this file belongs.
    pub(super) fn has(&self, path: &str) -> bool {
        self.has_playwright && is_of_playwright(path) || self.bodies.contains(&xxh3_64(path.as_bytes()))
    }

    /// Counts the losses of attachments as one kind of information, and leaves the others. The reading of an archive
    /// stops at a limit, so this is also a loss of the files after an attachment.
    pub(super) fn count_as_information(&self, losses: &mut Losses) {
        let attached = losses.take_of_files(|path, loss| loss != Loss::OverLimit && self.has(path));
        losses.add_many(Loss::IgnoredMetadata, SourcePos::Offset(0), attached.total());
    }
}

/// Returns whether a file is the network log of a Playwright trace without requests.
pub(super) fn is_empty_log(path: &str, bytes: u64) -> bool {
    bytes == 0 && path.ends_with(".network")
}

/// Returns whether a file is part of a Playwright archive: a page, a picture, a source, an attachment of the test.
pub(super) fn is_of_playwright(path: &str) -> bool {
    let folders = ["resources/", "src/", "screencast/", "attachments/"];
    folders.iter().any(|folder| path.starts_with(folder)) || path.ends_with(".stacks")
}

/// Calls `each` with the value of each member `_file` of a HAR. The reader of the HAR reports damage.
fn body_names(mut text: impl Read, cancel: &Cancel, each: &mut dyn FnMut(&str)) -> Result<(), ReadError> {
    const KEY: &[u8] = b"\"_file\"";
    let mut buffer = Vec::new();
    while text.by_ref().take(READ_BYTES).read_to_end(&mut buffer).is_ok_and(|read_bytes| read_bytes > 0) {
        cancel.check()?;
        for at in memchr::memmem::find_iter(&buffer, KEY) {
            let value = &buffer[at + KEY.len()..buffer.len().min(at + BODY_BYTES_MAX)];
            let Some(value) = value.trim_ascii_start().strip_prefix(b":") else { continue };
            if let Some(Ok(name)) = serde_json::Deserializer::from_slice(value).into_iter::<String>().next() {
                each(&name);
            }
        }
        // A member at the end may be incomplete, so it is searched again.
        buffer.drain(..buffer.len().saturating_sub(BODY_BYTES_MAX));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_an_attachment_reaches_stays_a_loss() {
        let attachments = Attachments { has_playwright: true, ..Attachments::default() };
        let mut losses = Losses::default();
        for loss in [Loss::UnknownMember, Loss::OverLimit] {
            losses.add_in(Some(&"resources/a.png".into()), loss, SourcePos::Offset(7));
        }
        attachments.count_as_information(&mut losses);
        let lost: Vec<_> = losses.iter().map(|lost| (lost.loss, lost.count)).collect();
        assert_eq!(lost, [(Loss::IgnoredMetadata, 1), (Loss::OverLimit, 1)]);
    }

    #[test]
    fn names_of_bodies_are_found_at_any_block_boundary_and_similar_texts_are_none() {
        let har = |fill: usize| {
            format!(
                r#"{{"x":"{}","_file":"a\u002eb","_file" : null,"t":"\"_file\":\"no\"","p":{{"_file" :
                "c d.png"}},"_file":"{}","y":1}}"#,
                "-".repeat(fill),
                "z".repeat(2 * BODY_BYTES_MAX)
            )
        };
        let near = usize::try_from(READ_BYTES).expect("small") - 150;
        for fill in (near..near + 200).chain([0, 10 * near]) {
            let mut names = std::collections::BTreeSet::new();
            let found = &mut |name: &str| _ = names.insert(name.to_owned());
            body_names(har(fill).as_bytes(), &Cancel::default(), found).expect("not cancelled");
            assert_eq!(names.into_iter().collect::<Vec<_>>(), ["a.b", "c d.png"], "{fill}");
        }
    }
}

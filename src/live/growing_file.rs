//! Reads a file while it is written: to its end, and again after it has grown, until the session ends. Another file at
//! its path is another trace, and so is a truncated or rewritten file. The closing brackets of a JSON document are held
//! back until something follows them, because some writers overwrite them with the next record.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::lag::REST_BYTES;
use super::reading_thread::{ArrivalError, BLOCK_BYTES, LOOK_EVERY, Pace, ReadingThread};
use super::source_note::SourceNote;
use crate::base::files;

/// Bytes remembered from the last reads. The second half may change, except at the start of a JSON document: some
/// writers overwrite more than closing brackets.
const SEEN_BYTES: usize = 128;

/// Limit for the end that is held back: closing brackets, and the keys of an object after its records.
const HELD_BYTES_MAX: usize = 4096;

/// Length of the prefix that detection reads.
const HEAD_BYTES: usize = 64 << 10;

/// Time for which a file is read after another file took its place. Its last bytes come soon; a writer that goes on for
/// longer must not hide the new file.
const REPLACED_TIME: Duration = Duration::from_secs(2);

/// The form of a file, by which its closing brackets are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DocumentForm {
    /// A JSON array of records.
    Array,
    /// A JSON object with an array of records.
    Object,
    /// Anything else, such as lines of JSON. Its end is never overwritten.
    Other,
}

/// The state of reading a file.
struct GrowingFile {
    file: File,
    /// Position after the bytes that were returned.
    offset: u64,
    /// The last bytes that were returned.
    seen: Vec<u8>,
    /// The closing brackets at `offset`, which are not returned yet.
    held: Vec<u8>,
    /// `None` until enough of the file is there.
    form: Option<DocumentForm>,
    /// Kernel files have no length, but can be read.
    has_length: bool,
    modified: Option<SystemTime>,
    /// When another file was first seen at its path.
    replaced: Option<Instant>,
    /// Whether zero bytes are skipped, because nothing else has arrived yet. A program that does not append continues
    /// at its old position in a truncated file, after a hole.
    skips_hole: bool,
}

impl GrowingFile {
    fn new(file: File, skips_hole: bool) -> Self {
        let (seen, held) = Default::default();
        let (form, modified, replaced) = Default::default();
        Self { file, offset: 0, seen, held, form, has_length: false, modified, replaced, skips_hole }
    }

    /// Returns the position up to which the file can be read now; the largest for kernel files.
    fn end(&mut self) -> u64 {
        let len = self.file.metadata().map_or(0, |metadata| metadata.len());
        self.has_length |= len > 0;
        if self.has_length { len } else { u64::MAX }
    }

    /// Returns the next bytes; empty at the end.
    fn read(&mut self) -> io::Result<Vec<u8>> {
        if !self.held.is_empty() {
            self.file.seek(SeekFrom::Start(self.offset))?;
        }
        let mut block = vec![0; BLOCK_BYTES];
        let mut len = self.file.read(&mut block)?;
        block.truncate(len);
        while self.skips_hole && len > 0 {
            let hole_len = block.iter().take_while(|&&byte| byte == 0).count();
            self.offset += hole_len as u64;
            block.drain(..hole_len);
            self.skips_hole = block.is_empty();
            if self.skips_hole {
                block.resize(BLOCK_BYTES, 0);
                len = self.file.read(&mut block)?;
                block.truncate(len);
            }
        }
        if !block.is_empty() {
            self.has_length = self.has_length || self.file.metadata()?.len() > 0;
            let handed_len = block.len() - self.held_len(&block)?;
            self.held = block.split_off(handed_len);
        }
        if block.is_empty() && self.modified.is_none() {
            self.modified = self.file.metadata()?.modified().ok();
        }
        self.offset += block.len() as u64;
        self.seen.extend_from_slice(&block[block.len().saturating_sub(SEEN_BYTES)..]);
        self.seen.drain(..self.seen.len().saturating_sub(SEEN_BYTES));
        Ok(block)
    }

    /// Returns the length of the end of a block that is held back.
    fn held_len(&mut self, block: &[u8]) -> io::Result<usize> {
        // A kernel file cannot be read again from a position.
        if !self.has_length || !matches!(block.last(), Some(byte) if byte.is_ascii_whitespace() || b"]}".contains(byte))
        {
            return Ok(0);
        }
        let len = closing_len(block, self.form()?);
        Ok(if len < HELD_BYTES_MAX { len } else { 0 })
    }

    fn form(&mut self) -> io::Result<DocumentForm> {
        if let Some(form) = self.form {
            return Ok(form);
        }
        let mut head = vec![0; HEAD_BYTES];
        let len = files::read_at(&self.file, &mut head, 0)?;
        let form = form_of(&head[..len]);
        // The key of the records may come later.
        if form != DocumentForm::Other || len == HEAD_BYTES {
            self.form = Some(form);
        }
        Ok(form)
    }

    /// Takes the closing brackets that were held back, because the trace ends with them.
    fn take_held(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }

    /// Returns whether bytes that were already returned have changed.
    fn is_rewritten(&self) -> bool {
        let is_short =
            self.offset == self.seen.len() as u64 && self.form.is_some_and(|form| form != DocumentForm::Other);
        let before = &self.seen[..if is_short { self.seen.len() } else { self.seen.len() / 2 }];
        let mut now = vec![0; before.len()];
        let at = self.offset - self.seen.len() as u64;
        self.has_length && files::read_exact_at(&self.file, &mut now, at).is_ok() && now != before
    }

    /// Returns why the file at the path is another trace, if it is.
    fn why_replaced(&mut self, here: &Metadata) -> Option<&'static str> {
        if let Ok(open) = self.file.metadata()
            && files::identity(here) != files::identity(&open)
        {
            // The last bytes of the old file come first.
            let read_to = self.offset + self.held.len() as u64;
            let has_rest = open.len() > read_to;
            if !has_rest {
                self.replaced = None;
            }
            let mut is_late = || self.replaced.get_or_insert_with(Instant::now).elapsed() >= REPLACED_TIME;
            return (!has_rest || is_late()).then_some("was replaced; the new file is another trace");
        }
        self.replaced = None;
        if self.has_length && here.len() < self.offset {
            return Some("was truncated; the new data is another trace");
        }
        self.has_length |= here.len() > 0;
        let modified = here.modified().ok();
        let has_changed = self.modified.is_some() && self.modified != modified;
        self.modified = modified;
        let is_rewritten = has_changed && self.is_rewritten();
        is_rewritten.then_some("was rewritten from its beginning; the new data is another trace")
    }
}

/// Returns the form of the file that begins with `head`.
fn form_of(head: &[u8]) -> DocumentForm {
    let head = head.strip_prefix("\u{feff}".as_bytes()).unwrap_or(head).trim_ascii_start();
    match head.first() {
        Some(b'[') => DocumentForm::Array,
        Some(b'{') if memchr::memmem::find(head, b"\"traceEvents\"").is_some() => DocumentForm::Object,
        _ => DocumentForm::Other,
    }
}

/// Returns the length of the end of a document at the end of a block, with the white space before it. This includes the
/// closing brackets, an empty last record, and keys after the array of records.
fn closing_len(block: &[u8], form: DocumentForm) -> usize {
    let window = &block[block.len().saturating_sub(HELD_BYTES_MAX)..];
    let before_end = match form {
        DocumentForm::Array => {
            let records = window.trim_ascii_end().strip_suffix(b"]").map(<[u8]>::trim_ascii_end);
            records.map(|records| records.strip_suffix(b"{}").map_or(records, <[u8]>::trim_ascii_end))
        }
        // The array may be complete and the object not yet.
        DocumentForm::Object => {
            let unclosed = window.trim_ascii_end().strip_suffix(b"]").map(<[u8]>::trim_ascii_end);
            let mut brackets = memchr::memchr_iter(b']', window);
            let array_end = brackets.find(|&at| ends_document(&window[at..]));
            array_end.map(|at| window[..at].trim_ascii_end()).or(unclosed)
        }
        DocumentForm::Other => return 0,
    };
    before_end.map_or_else(|| window.len() - window.trim_ascii_end().len(), |before| window.len() - before.len())
}

/// Returns whether a text closes an array that is a member of an object, and then the object.
fn ends_document(text: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(&[b"{\"records\":[", text].concat()).is_ok()
}

impl ReadingThread {
    /// Reads a file, and continues when it has grown, until cancelled. Then reads all that the file has at that time.
    pub(super) fn follow(&mut self, file: File, pace: Pace) {
        self.follow_all(file, pace);
        self.end_lag();
    }

    fn follow_all(&mut self, file: File, pace: Pace) {
        let mut file = GrowingFile::new(file, false);
        let (mut is_deleted, mut failed) = (false, None);
        loop {
            if self.stop.is_cancelled() {
                return self.read_rest(&mut file, pace);
            }
            match file.read() {
                Ok(block) if block.is_empty() => {}
                Ok(block) => {
                    self.ends_itself.store(file.has_length, Ordering::Relaxed);
                    if !self.receive(block, pace) {
                        return;
                    }
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(source) => return self.fail(ArrivalError::Read { path: self.path.clone(), source }),
            }
            thread::sleep(LOOK_EVERY);
            let name = self.path.display();
            let Ok(here) = fs::metadata(&self.path) else {
                if !std::mem::replace(&mut is_deleted, true) {
                    let text = format!("{name}: was deleted or moved; waiting for a new file of that name");
                    (self.say)(SourceNote::passing(text));
                }
                continue;
            };
            is_deleted = false;
            let Some(reason) = file.why_replaced(&here) else { continue };
            // Opening a FIFO would wait for a writer.
            let opened =
                if here.is_file() { File::open(&self.path) } else { Err(io::Error::other("it is not a regular file")) };
            let new = match opened {
                Ok(new) => new,
                Err(error) => {
                    // The file may be gone again, or belong to another user.
                    if failed.replace(error.kind()) != Some(error.kind()) {
                        let text = format!("{name}: {reason}, which cannot be opened: {error}");
                        (self.say)(SourceNote::lasting(text));
                    }
                    continue;
                }
            };
            let mut text = format!("{name}: {reason}");
            failed = None;
            if file.replaced.is_some() {
                text.push_str("; what is still written to the old one is not read");
                let end = file.end();
                if !self.read_to(&mut file, end, |thread, block| thread.receive(block, pace)) {
                    return;
                }
            }
            (self.say)(SourceNote::lasting(text));
            if !self.send_held(&mut file, pace) || !self.begin_trace() {
                return;
            }
            file = GrowingFile::new(new, true);
        }
    }

    /// Reads a file up to a position, or to its end. Returns false once the receiver is gone, or after an error.
    fn read_to(&mut self, file: &mut GrowingFile, end: u64, takes: impl Fn(&mut Self, Vec<u8>) -> bool) -> bool {
        while file.offset < end {
            match file.read() {
                Ok(block) if block.is_empty() => break,
                Ok(block) => {
                    if !takes(self, block) {
                        return false;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    self.fail(ArrivalError::Read { path: self.path.clone(), source });
                    return false;
                }
            }
        }
        true
    }

    /// Sends the closing brackets that were held back. Returns false once the receiver is gone.
    fn send_held(&mut self, file: &mut GrowingFile, pace: Pace) -> bool {
        let held = file.take_held();
        held.is_empty() || self.receive(held, pace)
    }

    /// Reads the rest of a file at a request to stop. If that is much, it is only spooled, because parsing takes
    /// longer, and the final sort parses it anyway.
    fn read_rest(&mut self, file: &mut GrowingFile, pace: Pace) {
        let end = file.end();
        // The session waits for this thread, though perhaps no byte of the file has been read yet.
        self.ends_itself.store(file.has_length, Ordering::Relaxed);
        let left_bytes = if file.has_length { end.saturating_sub(file.offset) } else { 0 };
        let is_long = left_bytes > REST_BYTES;
        if is_long && !self.is_spooled() {
            let text = format!("{}: its last {left_bytes} bytes were not read", self.path.display());
            return (self.say)(SourceNote::lasting(text));
        }
        let takes = |thread: &mut Self, block: Vec<u8>| {
            if is_long { thread.keep(&block) } else { thread.receive(block, pace) }
        };
        if !self.read_to(file, end, takes) {
            return;
        }
        let held = file.take_held();
        if !held.is_empty() {
            takes(self, held);
        }
    }
}

#[cfg(test)]
mod tests;

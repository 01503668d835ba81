//! Reads a file while it is written: to its end, and again after it has grown, until the session ends. Another file at
//! its path is another trace, and so is one that was truncated or rewritten.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::thread;
use std::time::SystemTime;

use super::arrivals::{ArrivalError, BLOCK_BYTES, LOOK_EVERY, ReadingThread};
use crate::base::files;

/// Bytes remembered from the last reads. The second half may change: some writers keep a document valid by an end that
/// the next record overwrites.
const SEEN_BYTES: usize = 128;

/// The state of reading a file.
struct GrowingFile {
    file: File,
    offset: u64,
    /// The last bytes read.
    seen: Vec<u8>,
    /// Kernel files have no length, but can be read.
    has_length: bool,
    modified: Option<SystemTime>,
}

impl GrowingFile {
    fn new(file: File) -> Self {
        Self { file, offset: 0, seen: Vec::new(), has_length: false, modified: None }
    }

    /// Reads the next bytes; empty at the end.
    fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut block = vec![0; BLOCK_BYTES];
        let len = self.file.read(&mut block)?;
        block.truncate(len);
        if len == 0 && self.modified.is_none() {
            self.modified = self.file.metadata()?.modified().ok();
        }
        self.offset += len as u64;
        self.seen.extend_from_slice(&block[len.saturating_sub(SEEN_BYTES)..]);
        self.seen.drain(..self.seen.len().saturating_sub(SEEN_BYTES));
        Ok(block)
    }

    /// Returns whether bytes that were read have changed.
    fn is_rewritten(&self) -> bool {
        let before = &self.seen[..self.seen.len() / 2];
        let mut now = vec![0; before.len()];
        let at = self.offset - self.seen.len() as u64;
        self.has_length && files::read_exact_at(&self.file, &mut now, at).is_ok() && now != before
    }

    /// Returns why the file at the path is another trace, if it is.
    fn news(&mut self, here: &Metadata) -> Option<&'static str> {
        if let Ok(open) = self.file.metadata()
            && files::identity(here) != files::identity(&open)
        {
            // The last bytes of the old file come first.
            return (open.len() <= self.offset).then_some("was replaced; the new file is another trace");
        }
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

impl ReadingThread {
    /// Reads a file, and continues when it has grown, until cancelled.
    pub(super) fn follow(&mut self, file: File) {
        let mut file = GrowingFile::new(file);
        let mut is_deleted = false;
        loop {
            match file.read() {
                Ok(block) if block.is_empty() => {}
                Ok(block) => {
                    if !self.hand_on(block) {
                        return;
                    }
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(source) => return self.fail(ArrivalError::Read { path: self.path.clone(), source }),
            }
            if self.stop.is_cancelled() {
                return;
            }
            thread::sleep(LOOK_EVERY);
            let name = self.path.display();
            let Ok(here) = fs::metadata(&self.path) else {
                if !std::mem::replace(&mut is_deleted, true) {
                    (self.say)(format!("{name}: was deleted or moved; waiting for a new file of that name"));
                }
                continue;
            };
            let Some(news) = file.news(&here) else { continue };
            (self.say)(format!("{name}: {news}"));
            match File::open(&self.path) {
                Ok(new) => file = GrowingFile::new(new),
                Err(_) => continue, // it may be gone again
            }
            is_deleted = false;
            if !self.begin_trace() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Seek as _, SeekFrom, Write as _};
    use std::time::Duration;

    use super::*;

    fn read_to_end(file: &mut GrowingFile) {
        while !file.read().unwrap().is_empty() {}
    }

    #[test]
    fn a_file_of_the_same_length_is_another_trace_and_an_end_that_is_written_over_is_not() {
        let mut written = tempfile::NamedTempFile::new().unwrap();
        let mut file = GrowingFile::new(File::open(written.path()).unwrap());
        let path = written.path().to_owned();
        let news = |file: &mut GrowingFile| file.news(&fs::metadata(&path).unwrap());
        assert_eq!(news(&mut file), None, "it is empty");
        written.write_all(b"[\n{\"name\":\"first\"}\n]").unwrap();
        read_to_end(&mut file);
        assert_eq!(news(&mut file), None);
        // The next record overwrites the end.
        std::thread::sleep(Duration::from_millis(20));
        written.seek(SeekFrom::End(-2)).unwrap();
        written.write_all(b",\n{\"name\":\"second\"}\n]").unwrap();
        assert_eq!(news(&mut file), None);
        read_to_end(&mut file);
        std::thread::sleep(Duration::from_millis(20));
        written.as_file().set_len(0).unwrap();
        written.rewind().unwrap();
        written.write_all(b"[\n{\"name\":\"other\"},\n{\"name\":\"second\"},\n{\"name\":\"third\"}\n]").unwrap();
        assert!(news(&mut file).is_some_and(|news| news.contains("from its beginning")));
        written.as_file().set_len(3).unwrap();
        assert!(news(&mut file).is_some_and(|news| news.contains("was truncated")));
    }
}

//! Arguments of open begins: in memory up to a limit, in the spill file beyond it. A million spans may be open at once,
//! each with megabytes of arguments.

use std::io;

use smallvec::SmallVec;

use crate::ingest::spill::SpillFile;

/// Encoded arguments. Most have fewer than 64 bytes and are stored in the allocation of their [`OpenBlob`].
pub(super) type Blob = SmallVec<[u8; 64]>;

/// Stores arguments until their spans end.
#[derive(Debug, Default)]
pub(super) struct OpenBlobs<'a> {
    /// The spill file, and the bytes in memory above which arguments go there.
    spill: Option<(&'a SpillFile, u64)>,
    held_bytes: u64,
}

/// Handle of the arguments of a begin: one word, since most begins have none.
#[derive(Debug, Default)]
pub(super) struct OpenBlob(Option<Box<Kept>>);

#[derive(Debug)]
enum Kept {
    Held(Blob),
    Spilled { offset: u64, bytes: usize },
}

impl<'a> OpenBlobs<'a> {
    pub(super) fn spilling(file: &'a SpillFile, held_bytes_max: u64) -> Self {
        Self { spill: Some((file, held_bytes_max)), held_bytes: 0 }
    }

    /// Stores the arguments of a begin. Returns the I/O error of the spill file.
    #[inline]
    pub(super) fn keep(&mut self, blob: &[u8]) -> io::Result<OpenBlob> {
        if blob.is_empty() { Ok(OpenBlob(None)) } else { self.keep_some(blob) }
    }

    fn keep_some(&mut self, blob: &[u8]) -> io::Result<OpenBlob> {
        let bytes = blob.len();
        let is_over = |&(_, held_bytes_max): &(_, u64)| self.held_bytes + bytes as u64 > held_bytes_max;
        let kept = if let Some((file, _)) = self.spill.filter(is_over) {
            Kept::Spilled { offset: file.write_bytes(blob)?, bytes }
        } else {
            self.held_bytes += bytes as u64;
            Kept::Held(Blob::from_slice(blob))
        };
        Ok(OpenBlob(Some(Box::new(kept))))
    }

    /// Returns the arguments of a span that ends, or the I/O error of the spill file.
    #[inline]
    pub(super) fn take(&mut self, blob: OpenBlob) -> io::Result<Blob> {
        match blob.0 {
            None => Ok(Blob::new()),
            Some(kept) => self.take_kept(*kept),
        }
    }

    fn take_kept(&mut self, kept: Kept) -> io::Result<Blob> {
        match kept {
            Kept::Held(blob) => {
                self.held_bytes -= blob.len() as u64;
                Ok(blob)
            }
            Kept::Spilled { offset, bytes } => {
                let (file, _) = self.spill.ok_or(io::ErrorKind::NotFound)?;
                let mut blob = Blob::from_elem(0, bytes);
                file.read_bytes(&mut blob, offset)?;
                Ok(blob)
            }
        }
    }
}

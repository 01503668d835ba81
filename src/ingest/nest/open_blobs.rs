//! Arguments of open begins: in memory up to a limit, in the spill file beyond it. A million spans may be open at once,
//! each with megabytes of arguments.

use std::io;

use smallvec::SmallVec;

use crate::ingest::spill::SpillFile;

/// Encoded arguments. Most have fewer than 64 bytes and need no allocation of their own.
pub(super) type Blob = SmallVec<[u8; 64]>;

/// Stores arguments until their spans end.
#[derive(Debug, Default)]
pub(super) struct OpenBlobs<'a> {
    /// The spill file, and the bytes in memory above which arguments go there.
    spill: Option<(&'a SpillFile, u64)>,
    blobs: Vec<Blob>,
    /// Positions in `blobs` that are free.
    free: Vec<u32>,
    held_bytes: u64,
    /// A blob after its length, as it is spilled; reused to save allocations.
    spilled: Vec<u8>,
}

/// Handle of the arguments of a begin, in one word. It is 0 for none, odd for a position in memory, and even for an
/// offset in the spill file. In the file, their length precedes them.
#[derive(Debug, Default)]
pub(super) struct OpenBlob(u64);

impl<'a> OpenBlobs<'a> {
    pub(super) fn spilling(file: &'a SpillFile, held_bytes_max: u64) -> Self {
        Self { spill: Some((file, held_bytes_max)), ..Self::default() }
    }

    /// Stores the arguments of a begin. Returns the I/O error of the spill file.
    #[inline]
    pub(super) fn keep(&mut self, blob: &[u8]) -> io::Result<OpenBlob> {
        if blob.is_empty() { Ok(OpenBlob(0)) } else { self.keep_some(blob) }
    }

    fn keep_some(&mut self, blob: &[u8]) -> io::Result<OpenBlob> {
        let bytes = bytes_in_memory(blob.len());
        if let Some((file, held_bytes_max)) = self.spill
            && self.held_bytes + bytes > held_bytes_max
        {
            self.spilled.clear();
            self.spilled.extend_from_slice(&(blob.len() as u64).to_ne_bytes());
            self.spilled.extend_from_slice(blob);
            return Ok(OpenBlob(2 * file.write_bytes(&self.spilled)? + 2));
        }
        self.held_bytes += bytes;
        let blob = Blob::from_slice(blob);
        let position = if let Some(free) = self.free.pop() {
            self.blobs[free as usize] = blob;
            free
        } else {
            self.blobs.push(blob);
            self.blobs.len() as u32 - 1
        };
        Ok(OpenBlob(2 * u64::from(position) + 1))
    }

    /// Removes and returns the arguments of a span that ends. Returns the I/O error of the spill file.
    #[inline]
    pub(super) fn remove(&mut self, OpenBlob(word): OpenBlob) -> io::Result<Blob> {
        match word {
            0 => Ok(Blob::new()),
            1.. if word % 2 == 1 => Ok(self.remove_held((word / 2) as u32)),
            _ => self.read(word / 2 - 1),
        }
    }

    fn remove_held(&mut self, position: u32) -> Blob {
        let blob = std::mem::take(&mut self.blobs[position as usize]);
        self.held_bytes -= bytes_in_memory(blob.len());
        self.free.push(position);
        blob
    }

    #[cold]
    fn read(&mut self, offset: u64) -> io::Result<Blob> {
        let (file, _) = self.spill.ok_or(io::ErrorKind::NotFound)?;
        let mut length = [0; size_of::<u64>()];
        file.read_bytes(&mut length, offset)?;
        let bytes = usize::try_from(u64::from_ne_bytes(length)).map_err(io::Error::other)?;
        let mut blob = Blob::from_elem(0, bytes);
        file.read_bytes(&mut blob, offset + length.len() as u64)?;
        Ok(blob)
    }
}

/// Returns the memory of arguments, including their later entry in the list of free positions.
fn bytes_in_memory(blob_bytes: usize) -> u64 {
    let allocated = if blob_bytes > Blob::new().inline_size() { blob_bytes } else { 0 };
    (size_of::<Blob>() + size_of::<u32>() + allocated) as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn arguments_come_back_from_memory_and_from_the_file(
            steps in proptest::collection::vec((0usize..200, any::<u8>(), any::<prop::sample::Index>()), 0..200),
            held_bytes_max in 0u64..2000,
        ) {
            let file = SpillFile::create(&std::env::temp_dir()).unwrap();
            let (mut blobs, mut open) = (OpenBlobs::spilling(&file, held_bytes_max), Vec::new());
            for (bytes, byte, taken) in steps {
                if bytes % 3 == 0 && !open.is_empty() {
                    let (blob, expected): (OpenBlob, Vec<u8>) = open.swap_remove(taken.index(open.len()));
                    prop_assert_eq!(&blobs.remove(blob).unwrap()[..], expected);
                } else {
                    let blob = vec![byte; bytes];
                    open.push((blobs.keep(&blob).unwrap(), blob));
                }
                prop_assert!(blobs.held_bytes <= held_bytes_max);
            }
            for (blob, expected) in open {
                prop_assert_eq!(&blobs.remove(blob).unwrap()[..], expected);
            }
            prop_assert_eq!(blobs.held_bytes, 0);
        }
    }
}

//! Unpacks gzip: one member after the other, as `cat`, `bgzip` and `pigz` write them. Zeros after the last one are
//! padding, as `gzip` has it, and other data there is reported.

use std::io::{self, BufRead, Chain, Cursor, Read};

use flate2::bufread::GzDecoder;

use super::trailing::{TrailingData, TrailingSlot};

/// The first bytes of a member.
const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Reader of all members.
pub(super) struct GzMembers {
    /// `None` after the last one.
    member: Option<GzDecoder<Chain<Cursor<Vec<u8>>, CountedBytes>>>,
    unpacked_bytes: u64,
    trailing: TrailingSlot,
}

impl GzMembers {
    /// Creates a reader, which stores the data after the last member in `trailing`.
    pub(super) fn new(packed: Box<dyn BufRead + Send>, trailing: TrailingSlot) -> Self {
        let packed = CountedBytes { packed, offset: 0 };
        let member = Some(GzDecoder::new(Cursor::new(Vec::new()).chain(packed)));
        Self { member, unpacked_bytes: 0, trailing }
    }

    /// Begins the next member, if there is one.
    fn next_member(&mut self) -> io::Result<()> {
        let Some(member) = self.member.take() else { return Ok(()) };
        let (_, mut packed) = member.into_inner().into_inner();
        packed.skip_zeros()?;
        let packed_offset = packed.offset;
        let mut magic = Vec::new();
        packed.by_ref().take(MAGIC.len() as u64).read_to_end(&mut magic)?;
        if magic.is_empty() {
            return Ok(());
        }
        // A single byte at the end may be a truncated member.
        if MAGIC.starts_with(&magic) {
            self.member = Some(GzDecoder::new(Cursor::new(magic).chain(packed)));
        } else {
            self.trailing.set(TrailingData { offset: self.unpacked_bytes, packed_offset });
        }
        Ok(())
    }
}

impl Read for GzMembers {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = self.member.as_mut().filter(|_| !buffer.is_empty()) {
            let len = member.read(buffer)?;
            if len > 0 {
                self.unpacked_bytes += len as u64;
                return Ok(len);
            }
            self.next_member()?;
        }
        Ok(0)
    }
}

/// Packed bytes with the offset of the next one.
struct CountedBytes {
    packed: Box<dyn BufRead + Send>,
    offset: u64,
}

impl CountedBytes {
    fn skip_zeros(&mut self) -> io::Result<()> {
        loop {
            let bytes = match self.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                bytes => bytes?,
            };
            let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
            let is_over = bytes.is_empty() || zeros < bytes.len();
            self.consume(zeros);
            if is_over {
                return Ok(());
            }
        }
    }
}

impl Read for CountedBytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.packed.read(buffer)?;
        self.offset += len as u64;
        Ok(len)
    }
}

impl BufRead for CountedBytes {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.packed.fill_buf()
    }

    fn consume(&mut self, len: usize) {
        self.packed.consume(len);
        self.offset += len as u64;
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::bufread::MultiGzDecoder;
    use flate2::read::GzEncoder;
    use proptest::prelude::*;

    use super::*;
    use crate::formats::testing::{read_bytes, read_cut};
    use crate::model::{Loss, SourcePos};

    const TRACE: &[u8] = br#"[{"ph":"X","name":"a","ts":1,"dur":2,"pid":1,"tid":1},{"ph":"i","ts":3}]"#;

    fn packed(text: &[u8]) -> Vec<u8> {
        let mut packed = Vec::new();
        GzEncoder::new(text, Compression::default()).read_to_end(&mut packed).expect("in memory");
        packed
    }

    /// Unpacks with a buffer of `block_bytes`; returns `None` for damage.
    fn unpacked(packed: &[u8], block_bytes: usize) -> (Option<Vec<u8>>, Option<TrailingData>) {
        let (trailing, mut text) = (TrailingSlot::default(), Vec::new());
        let packed = io::BufReader::with_capacity(block_bytes, Cursor::new(packed.to_vec()));
        let read = GzMembers::new(Box::new(packed), trailing.clone()).read_to_end(&mut text);
        (read.is_ok().then_some(text), trailing.get())
    }

    proptest! {
        /// An empty member is the end of BGZF.
        #[test]
        fn members_are_those_of_the_package_and_zeros_after_them_nothing(
            texts in prop::collection::vec("[a-z]{0,200}", 1..6),
            zeros in 0..600usize,
            other in prop::collection::vec(any::<u8>(), 0..9),
            block_bytes in 1..80usize,
        ) {
            let members = texts.iter().flat_map(|text| packed(text.as_bytes())).collect::<Vec<_>>();
            let mut text = Vec::new();
            MultiGzDecoder::new(&members[..]).read_to_end(&mut text).expect("members");
            prop_assert_eq!(text, texts.concat().into_bytes());
            let text = Some(texts.concat().into_bytes());
            let padded = [&members[..], &vec![0; zeros]].concat();
            prop_assert_eq!(unpacked(&padded, block_bytes), (text.clone(), None));
            let other = [b"x", &other[..]].concat();
            let at = TrailingData { offset: texts.concat().len() as u64, packed_offset: padded.len() as u64 };
            prop_assert_eq!(unpacked(&[padded, other].concat(), block_bytes), (text, Some(at)));
        }

        #[test]
        fn a_cut_within_a_member_is_damage(text in "[a-z]{1,200}", block_bytes in 1..80usize) {
            let member = packed(text.as_bytes());
            for len in 1..member.len() {
                let cut = [&member, &member[..len]].concat();
                prop_assert_eq!(unpacked(&cut, block_bytes), (None, None), "{} bytes", len);
            }
        }
    }

    #[test]
    fn padding_is_no_loss_and_other_data_after_the_end_is_not_a_truncation() {
        let events = read_bytes(TRACE).expect("a trace").events;
        let member = packed(TRACE);
        let padded = [&member[..], &[0; 512]].concat();
        for block_bytes in [1, 7, 4096] {
            let reading = read_cut(&padded, block_bytes, 100).expect("a trace");
            assert_eq!((&reading.events, reading.lost()), (&events, vec![]), "{block_bytes}");
            let reading = read_cut(&[&padded[..], b"garbage"].concat(), block_bytes, 100).expect("a trace");
            assert_eq!((&reading.events, reading.lost()), (&events, vec![(Loss::TrailingData, 1)]), "{block_bytes}");
            let lost = reading.losses.iter().next().expect("a loss");
            assert_eq!(lost.first, SourcePos::Offset(TRACE.len() as u64));
            let expected = format!("from its byte {} on", padded.len());
            assert!(lost.advice.contains(&expected), "{}", lost.advice);
        }
        // A second recording in the same file is data of the trace.
        let two = read_bytes(&[member.clone(), member].concat()).expect("traces");
        assert_eq!((two.events.len(), two.lost()), (2 * events.len(), vec![]));
    }
}

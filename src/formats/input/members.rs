//! Unpacks gzip, zstd and bzip2: one member, frame or stream after the other, as `cat`, `bgzip`, `pigz`, `pzstd` and
//! `pbzip2` write them. Zeros after the last one are padding, as for `gzip`, and other data there is reported.

use std::io::{self, BufRead, Chain, Cursor, Read};

use bzip2::{Decompress, Status};
use flate2::bufread::GzDecoder;

use super::lengths::saturating_len;
use super::packed_end::{EndSlot, PackedEnd, TrailingData};

/// A compression whose data is a sequence of members.
#[derive(Debug, Clone, Copy)]
pub(super) enum MemberKind {
    Gzip,
    Zstd,
    Bzip2,
}

/// First bytes of a zstd frame.
pub(crate) const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

impl MemberKind {
    /// Number of bytes that identify a member.
    fn magic_len(self) -> usize {
        match self {
            Self::Gzip => 2,
            Self::Zstd | Self::Bzip2 => 4,
        }
    }

    /// Returns whether a member starts with these bytes, [`Self::magic_len`] at most.
    pub(super) fn begins_with(self, bytes: &[u8]) -> bool {
        match (self, bytes) {
            (Self::Gzip, bytes) => [0x1f, 0x8b].starts_with(bytes),
            // Skippable frames, with the lengths of the frames that follow or an index.
            (Self::Zstd, [0x50..=0x5f, rest @ ..]) => [0x2a, 0x4d, 0x18].starts_with(rest),
            (Self::Zstd, bytes) => ZSTD_MAGIC.starts_with(bytes),
            (Self::Bzip2, [b'B', b'Z', b'h', b'1'..=b'9']) => true,
            (Self::Bzip2, bytes) => b"BZh".starts_with(bytes),
        }
    }
}

type MemberBytes = Chain<Cursor<Vec<u8>>, CountedBytes>;

enum MemberDecoder {
    Gzip(Box<GzDecoder<MemberBytes>>),
    Zstd(zstd::Decoder<'static, MemberBytes>),
    Bzip2(Box<Bzip2Stream>),
}

impl MemberDecoder {
    fn new(kind: MemberKind, packed: MemberBytes) -> io::Result<Self> {
        Ok(match kind {
            MemberKind::Gzip => Self::Gzip(Box::new(GzDecoder::new(packed))),
            MemberKind::Zstd => Self::Zstd(zstd::Decoder::with_buffer(packed)?.single_frame()),
            MemberKind::Bzip2 => Self::Bzip2(Box::new(Bzip2Stream::new(packed))),
        })
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Gzip(decoder) => decoder.read(buffer),
            Self::Zstd(decoder) => decoder.read(buffer),
            Self::Bzip2(decoder) => decoder.read(buffer),
        }
    }

    /// Returns what follows the member.
    fn into_rest(self) -> CountedBytes {
        let packed = match self {
            Self::Gzip(decoder) => decoder.into_inner(),
            Self::Zstd(decoder) => decoder.finish(),
            Self::Bzip2(stream) => stream.packed,
        };
        packed.into_inner().1
    }
}

/// A stream of bzip2. Unlike the decoder of the package, it keeps the output of the step that finds damage: a checksum
/// follows up to 900 KB of data.
struct Bzip2Stream {
    packed: MemberBytes,
    decoder: Decompress,
    has_ended: bool,
    damage: Option<io::Error>,
}

impl Bzip2Stream {
    fn new(packed: MemberBytes) -> Self {
        Self { packed, decoder: Decompress::new(false), has_ended: false, damage: None }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.has_ended && !buffer.is_empty() && self.damage.is_none() {
            let input = self.packed.fill_buf()?;
            let is_cut = input.is_empty();
            let (read_before, written_before) = (self.decoder.total_in(), self.decoder.total_out());
            let status = self.decoder.decompress(input, buffer);
            let (read, written) = (self.decoder.total_in() - read_before, self.decoder.total_out() - written_before);
            self.packed.consume(saturating_len(read));
            match status {
                Ok(Status::StreamEnd) => self.has_ended = true,
                Ok(_) if is_cut && written == 0 => self.damage = Some(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(error) => self.damage = Some(io::Error::new(io::ErrorKind::InvalidData, error)),
            }
            if written > 0 {
                return Ok(saturating_len(written));
            }
        }
        self.damage.take().map_or(Ok(0), Err)
    }
}

/// Decompresses all members of a file, one after the other.
pub(super) struct MemberReader {
    kind: MemberKind,
    /// `None` after the last one.
    member: Option<MemberDecoder>,
    unpacked_bytes: u64,
    end: EndSlot,
}

impl MemberReader {
    /// Creates a reader, which stores the position of other data after the last member in `end`.
    pub(super) fn new(kind: MemberKind, packed: Box<dyn BufRead + Send>, end: EndSlot) -> io::Result<Self> {
        let packed = CountedBytes { packed, offset: 0 };
        let member = Some(MemberDecoder::new(kind, Cursor::new(Vec::new()).chain(packed))?);
        Ok(Self { kind, member, unpacked_bytes: 0, end })
    }

    /// Begins the next member, if there is one.
    fn next_member(&mut self) -> io::Result<()> {
        let Some(member) = self.member.take() else { return Ok(()) };
        let mut packed = member.into_rest();
        packed.skip_zeros()?;
        let packed_offset = packed.offset;
        let mut magic = Vec::new();
        packed.by_ref().take(self.kind.magic_len() as u64).read_to_end(&mut magic)?;
        if magic.is_empty() {
            return Ok(());
        }
        // Fewer bytes at the end may be a truncated member.
        if self.kind.begins_with(&magic) {
            self.member = Some(MemberDecoder::new(self.kind, Cursor::new(magic).chain(packed))?);
        } else {
            self.end.set(PackedEnd::Trailing(TrailingData { offset: self.unpacked_bytes, packed_offset }));
        }
        Ok(())
    }
}

impl Read for MemberReader {
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
    use flate2::bufread::MultiGzDecoder;
    use proptest::prelude::*;

    use super::*;
    use crate::formats::testing::{gzip, read_bytes, read_cut};
    use crate::model::{Loss, SourcePos};

    const TRACE: &[u8] = br#"[{"ph":"X","name":"a","ts":1,"dur":2,"pid":1,"tid":1},{"ph":"i","ts":3}]"#;

    /// Unpacks with a buffer of `block_bytes`; returns `None` for damage.
    fn unpacked(packed: &[u8], block_bytes: usize) -> (Option<Vec<u8>>, Option<PackedEnd>) {
        let kinds = [MemberKind::Gzip, MemberKind::Zstd, MemberKind::Bzip2];
        let kind = kinds.into_iter().find(|kind| kind.begins_with(&packed[..1])).expect("packed");
        let (end, mut text) = (EndSlot::default(), Vec::new());
        let packed = io::BufReader::with_capacity(block_bytes, Cursor::new(packed.to_vec()));
        let mut members = MemberReader::new(kind, Box::new(packed), end.clone()).expect("a decoder");
        let read = members.read_to_end(&mut text);
        (read.is_ok().then_some(text), end.get().cloned())
    }

    fn zstd_packed(text: &[u8]) -> Vec<u8> {
        zstd::encode_all(text, 0).expect("in memory")
    }

    fn bzip2_packed(text: &[u8]) -> Vec<u8> {
        let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        io::Write::write_all(&mut encoder, text).expect("in memory");
        encoder.finish().expect("in memory")
    }

    proptest! {
        /// An empty member is the end of BGZF.
        #[test]
        fn members_are_those_of_flate2_and_zeros_after_them_are_padding(
            texts in prop::collection::vec("[a-z]{0,200}", 1..6),
            zeros in 0..600usize,
            other in prop::collection::vec(any::<u8>(), 0..9),
            block_bytes in 1..80usize,
        ) {
            let members = texts.iter().flat_map(|text| gzip(text.as_bytes())).collect::<Vec<_>>();
            let mut text = Vec::new();
            MultiGzDecoder::new(&members[..]).read_to_end(&mut text).expect("members");
            prop_assert_eq!(text, texts.concat().into_bytes());
            let text = Some(texts.concat().into_bytes());
            let padded = [&members[..], &vec![0; zeros]].concat();
            prop_assert_eq!(unpacked(&padded, block_bytes), (text.clone(), None));
            let other = [b"x", &other[..]].concat();
            let at = |padded: &[u8]| {
                let (offset, packed_offset) = (texts.concat().len() as u64, padded.len() as u64);
                Some(PackedEnd::Trailing(TrailingData { offset, packed_offset }))
            };
            let end = at(&padded);
            prop_assert_eq!(unpacked(&[&padded[..], &other].concat(), block_bytes), (text.clone(), end));
            for pack in [zstd_packed, bzip2_packed] {
                let frames = texts.iter().flat_map(|text| pack(text.as_bytes())).collect::<Vec<_>>();
                let padded = [&frames[..], &vec![0; zeros]].concat();
                prop_assert_eq!(unpacked(&padded, block_bytes), (text.clone(), None));
                let end = at(&padded);
                prop_assert_eq!(unpacked(&[&padded[..], &other].concat(), block_bytes), (text.clone(), end));
            }
        }

        #[test]
        fn a_cut_within_a_member_is_damage(text in "[a-z]{1,200}", block_bytes in 1..80usize) {
            for member in [gzip, zstd_packed, bzip2_packed].map(|pack: fn(&[u8]) -> Vec<u8>| pack(text.as_bytes())) {
                for len in 1..member.len() {
                    let cut = [&member, &member[..len]].concat();
                    prop_assert_eq!(unpacked(&cut, block_bytes), (None, None), "{} bytes", len);
                }
            }
        }
    }

    /// The form of `pzstd`: each frame follows one with its length.
    #[test]
    fn skippable_frames_hold_no_data() {
        let frame = zstd_packed(TRACE);
        let mut one = vec![0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0];
        one.extend(u32::try_from(frame.len()).expect("short").to_le_bytes());
        one.extend(&frame);
        let twice = one.repeat(2);
        let expected = read_bytes(&gzip(TRACE).repeat(2)).expect("a trace").events;
        for block_bytes in [1, 7, 4096] {
            assert_eq!(unpacked(&twice, block_bytes), (Some(TRACE.repeat(2)), None), "{block_bytes}");
        }
        let reading = read_bytes(&twice).expect("a trace");
        assert_eq!((reading.events, reading.losses.total()), (expected, 0));
    }

    /// Returns the losses of a trace with their messages.
    fn lost(packed: &[u8]) -> Vec<(Loss, String)> {
        let reading = read_bytes(packed).expect("a trace");
        assert_eq!(reading.events.len(), 2);
        reading.losses.iter().map(|lost| (lost.loss, lost.advice.into_owned())).collect()
    }

    #[test]
    fn damage_is_reported_with_its_reason() {
        let zstd_checked = {
            let mut encoder = zstd::Encoder::new(Vec::new(), 0).expect("an encoder");
            encoder.include_checksum(true).expect("an option");
            io::Write::write_all(&mut encoder, TRACE).expect("in memory");
            encoder.finish().expect("in memory")
        };
        for (mut member, checksum_from_end) in [(gzip(TRACE), 8), (zstd_checked, 4)] {
            assert_eq!(lost(&member), []);
            let len = member.len();
            let [(Loss::Truncated, advice)] = &lost(&member[..len - 2])[..] else { panic!("one loss") };
            assert!(advice.contains("it ends early"), "{advice}");
            member[len - checksum_from_end] ^= 1;
            let [(Loss::Truncated, advice)] = &lost(&member)[..] else { panic!("one loss") };
            assert!(advice.contains("checksum"), "{advice}");
        }
        let [(Loss::TrailingData, advice)] = &lost(&[&zstd_packed(TRACE)[..], b"garbage"].concat())[..] else {
            panic!("one loss")
        };
        assert!(advice.contains("end of the compressed data"), "{advice}");
        // A window of 2 GiB.
        let frame = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa8, 1, 0, 0];
        let error = read_bytes(&frame).expect_err("too large").to_string();
        assert!(error.contains("--long=31"), "{error}");
    }

    #[test]
    fn bzip2_is_read_like_gzip_also_around_archives_and_with_damage() {
        let packed = bzip2_packed(TRACE);
        let reading = read_bytes(&packed).expect("a trace");
        assert_eq!((reading.events, reading.losses.total()), (read_bytes(TRACE).expect("a trace").events, 0));
        for len in (0..packed.len()).rev() {
            // The only block has no data before its end, which is followed by the end of the stream.
            let cut = read_bytes(&packed[..len]).map(|reading| reading.lost());
            assert!(cut.as_ref().is_err() || cut.is_ok_and(|lost| lost == [(Loss::Truncated, 1)]), "{len}");
        }
        // The last bytes are the checksum of all blocks.
        let mut damaged = bzip2_packed(TRACE);
        let last = damaged.len() - 3;
        damaged[last] ^= 0x10;
        assert_eq!(lost(&damaged).iter().map(|lost| lost.0).collect::<Vec<_>>(), [Loss::Truncated]);
        assert_eq!(lost(&[&packed[..], b"garbage"].concat())[0].0, Loss::TrailingData);
        // Two layers of compression.
        assert_eq!(read_bytes(&gzip(&packed)).expect("a trace").events.len(), 2);
        assert!(read_bytes(b"BZh9 is a level\n").is_err() && read_bytes(b"BZh01AY&SY").is_err());
    }

    /// The layer inside is recognised by its first bytes.
    #[test]
    fn short_data_before_damage_is_read() {
        let text = br#"[{"ph":"X","name":"a","ts":1,"dur":2},{"ph":"i"}]"#;
        let member = gzip(text);
        let reading = read_bytes(&member[..member.len() - 4]).expect("a trace");
        assert_eq!((reading.events.len(), reading.losses.count(Loss::Truncated)), (1, 1));
    }

    #[test]
    fn padding_is_not_a_loss_and_other_data_after_the_end_is_not_a_truncation() {
        let events = read_bytes(TRACE).expect("a trace").events;
        let member = gzip(TRACE);
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

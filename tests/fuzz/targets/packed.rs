//! Compressed traces: packed bytes are restored, and damaged ones yield the bytes before the damage, with reads of any
//! size. The reference is the library that unpacks all at once.

use std::io::{Read as _, Write as _};

use longspan::facade::formats::source::Source;
use longspan::facade::formats::{ChunkLimits, ReadContext};

use super::reading::file_of;

/// Maximum number of unpacked bytes per check. A few bytes of input can expand to more, which would take too long.
const UNPACKED_BYTES_MAX: u64 = 8 << 20;

/// Returns the bytes of a file as passed to readers, and the offset of a truncation. `None` if the file does not open.
fn bytes_of(packed: &[u8], block_bytes: Option<usize>) -> Option<(Vec<u8>, Option<u64>)> {
    let file = file_of(packed);
    let chunk_limits = ChunkLimits { block_bytes, ..ChunkLimits::default() };
    let mut source = Source::open(file.path(), &ReadContext { chunk_limits, ..ReadContext::default() }).ok()?;
    let head = source.head().to_vec();
    let mut bytes = Vec::new();
    source.by_ref().take(UNPACKED_BYTES_MAX).read_to_end(&mut bytes).expect("a file in memory");
    let unmarked = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes);
    assert!(unmarked.starts_with(&head), "the head is read again");
    Some((bytes, source.cut_at()))
}

/// Requires the same bytes. There may be fewer before damage, since a decoder drops the output of the step that detects
/// it.
#[track_caller]
fn assert_alike(one: Option<&(Vec<u8>, Option<u64>)>, other: Option<&(Vec<u8>, Option<u64>)>) {
    let empty = (Vec::new(), Some(0));
    let ((one, one_cut), (other, other_cut)) = (one.unwrap_or(&empty), other.unwrap_or(&empty));
    assert_eq!(one_cut.is_some(), other_cut.is_some());
    if one_cut.is_some() {
        assert!(one.starts_with(other) || other.starts_with(one), "{one:?} and {other:?}");
    } else {
        assert_eq!(one, other);
    }
}

/// Returns whether bytes would be unpacked, or unpacked once more.
fn is_packed(bytes: &[u8]) -> bool {
    let is_skippable = matches!(bytes, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]);
    let magics = [&b"\x1f\x8b\x08"[..], b"\x28\xb5\x2f\xfd", b"BZh", b"TRACE:\nx", b"\xff\xfe", b"\xfe\xff"];
    is_skippable || magics.iter().any(|magic| bytes.starts_with(magic))
}

/// Returns the bytes up to the first damage, unpacked at once by the library, and whether there is damage. Data after
/// the members is not damage: it is another import issue.
fn gunzip(packed: &[u8]) -> (Vec<u8>, bool) {
    let (mut bytes, mut rest) = (Vec::new(), packed);
    loop {
        let mut member = flate2::bufread::GzDecoder::new(rest);
        let left = UNPACKED_BYTES_MAX - bytes.len() as u64;
        if member.by_ref().take(left).read_to_end(&mut bytes).is_err() {
            return (bytes, true);
        }
        rest = member.into_inner();
        // Zeros are padding, and a single byte of a member's first two may be a truncated one.
        rest = &rest[rest.iter().take_while(|&&byte| byte == 0).count()..];
        let is_member = !rest.is_empty() && b"\x1f\x8b".starts_with(&rest[..rest.len().min(2)]);
        if !is_member || bytes.len() as u64 == UNPACKED_BYTES_MAX {
            return (bytes, false);
        }
    }
}

pub(super) fn check(bytes: &[u8]) {
    let usual = bytes_of(bytes, None);
    for block_bytes in [1, 61] {
        assert_alike(usual.as_ref(), bytes_of(bytes, Some(block_bytes)).as_ref());
    }
    if bytes.starts_with(b"\x1f\x8b\x08") {
        let (plain, is_damaged) = gunzip(bytes);
        let (found, cut_at) = usual.unwrap_or((Vec::new(), Some(0)));
        if !is_packed(&plain) && (plain.len() as u64) < UNPACKED_BYTES_MAX {
            let cut_by_package = is_damaged.then_some(plain.len() as u64);
            assert_alike(Some(&(found, cut_at)), Some(&(plain, cut_by_package)));
        }
    }
    if bytes.is_empty() || is_packed(bytes) {
        return;
    }
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(bytes).expect("into memory");
    let zstd = zstd::encode_all(bytes, 1).expect("into memory");
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bzip2.write_all(bytes).expect("into memory");
    for packed in [gzip.finish().expect("into memory"), zstd, bzip2.finish().expect("into memory")] {
        assert_eq!(bytes_of(&packed, None), Some((bytes.to_vec(), None)));
        let half = bytes_of(&packed[..packed.len() / 2], Some(3));
        assert!(half.is_none_or(|(half, cut_at)| bytes.starts_with(&half) && cut_at == Some(half.len() as u64)));
    }
    let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    let text = String::from_utf16_lossy(&units);
    for (mark, to_bytes) in [(b"\xff\xfe", u16::to_le_bytes as fn(u16) -> [u8; 2]), (b"\xfe\xff", u16::to_be_bytes)] {
        if text.is_empty() {
            break;
        }
        let packed: Vec<u8> = mark.iter().copied().chain(units.iter().copied().flat_map(to_bytes)).collect();
        for block_bytes in [None, Some(2), Some(6)] {
            let (found, cut_at) = bytes_of(&packed, block_bytes).expect("text");
            let found = String::from_utf8(found).expect("UTF-8");
            assert_eq!((found.trim_start_matches('\u{feff}'), cut_at), (text.trim_start_matches('\u{feff}'), None));
        }
    }
}

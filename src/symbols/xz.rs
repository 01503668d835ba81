//! Decodes the xz container as used by `MiniDebugInfo`: one stream of blocks, compressed by LZMA2 without other
//! filters. Output and dictionary are bounded. Rejects other filters, and content with a wrong CRC.

use std::io::Read as _;

use flate2::Crc;
use lzma_rust2::Lzma2Reader;

const MAGIC: &[u8] = b"\xfd7zXZ\0";

/// Magic, flags and their checksum.
const HEADER_BYTES: usize = 12;

/// Filter id of LZMA2 and the size of its properties, and their value for a dictionary of 4 GiB.
const LZMA2: [u8; 2] = [0x21, 1];
const LARGEST_DICTIONARY: u8 = 40;

/// Flags of a block: presence of the compressed and uncompressed sizes, and the number of additional filters.
const HAS_PACKED_SIZE: u8 = 0x40;
const HAS_SIZE: u8 = 0x80;
const MORE_FILTERS: u8 = 3;

/// Sizes of checksums by type. Only the CRCs, of types 1 and 4, are verified.
const SUM_BYTES: [usize; 16] = [0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64];
const SUM_32: u8 = 1;
const SUM_64: u8 = 4;

/// Decompresses a stream; `None` if it is damaged, or if the output exceeds `max`.
pub(super) fn unpack(packed: &[u8], max: u64) -> Option<Vec<u8>> {
    let header = packed.get(..HEADER_BYTES)?.strip_prefix(MAGIC)?;
    let kind = *header.get(1)? & 15;
    let mut rest = &packed[HEADER_BYTES..];
    let mut all = Vec::new();
    // An index without blocks starts with 0.
    while *rest.first()? != 0 {
        let dictionary = dictionary_of(&mut rest)?;
        let start = all.len();
        let room = max.checked_sub(start as u64)?;
        // The dictionary never needs to exceed the output.
        let dictionary = u64::from(dictionary).min(room.next_power_of_two()) as u32;
        let before = rest.len();
        let mut reader = Lzma2Reader::new(&mut rest, dictionary, None);
        reader.by_ref().take(room.saturating_add(1)).read_to_end(&mut all).ok()?;
        drop(reader);
        if all.len() as u64 > max {
            return None;
        }
        let packed_bytes = before - rest.len();
        rest = rest.get(packed_bytes.next_multiple_of(4) - packed_bytes..)?;
        let (sum, after) = rest.split_at_checked(SUM_BYTES[usize::from(kind)])?;
        if !is_sum(kind, sum, &all[start..]) {
            return None;
        }
        rest = after;
    }
    Some(all)
}

/// Reads the header of a block, and returns the size of its dictionary.
fn dictionary_of(rest: &mut &[u8]) -> Option<u32> {
    let bytes = (usize::from(*rest.first()?) + 1) * 4;
    let (header, after) = rest.split_at_checked(bytes)?;
    *rest = after;
    let (header, sum) = header.split_at(bytes - 4);
    if !is_sum(SUM_32, sum, header) {
        return None;
    }
    let flags = *header.get(1)?;
    let mut fields = header.get(2..)?;
    for size in [HAS_PACKED_SIZE, HAS_SIZE] {
        if flags & size != 0 {
            let last = fields.iter().position(|byte| byte & 0x80 == 0)?;
            fields = &fields[last + 1..];
        }
    }
    let property = *fields.strip_prefix(&LZMA2)?.first().filter(|_| flags & MORE_FILTERS == 0)?;
    match property {
        LARGEST_DICTIONARY => Some(u32::MAX),
        0..LARGEST_DICTIONARY => Some((2 | u32::from(property & 1)) << (property / 2 + 11)),
        _ => None,
    }
}

fn is_sum(kind: u8, sum: &[u8], content: &[u8]) -> bool {
    match kind {
        SUM_32 => {
            let mut crc = Crc::new();
            crc.update(content);
            sum == crc.sum().to_le_bytes()
        }
        SUM_64 => sum == crc_64(content).to_le_bytes(),
        _ => true,
    }
}

/// Computes the CRC-64 of ECMA-182, reflected, as used by xz.
fn crc_64(content: &[u8]) -> u64 {
    const POLYNOMIAL: u64 = 0xc96c_5795_d787_0f42;
    const TABLE: [u64; 256] = {
        let mut table = [0; 256];
        let mut byte = 0;
        while byte < 256 {
            let (mut sum, mut bit) = (byte as u64, 0);
            while bit < 8 {
                sum = sum >> 1 ^ if sum & 1 == 1 { POLYNOMIAL } else { 0 };
                bit += 1;
            }
            table[byte] = sum;
            byte += 1;
        }
        table
    };
    !content.iter().fold(!0u64, |sum, &byte| sum >> 8 ^ TABLE[usize::from(sum as u8 ^ byte)])
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::*;

    /// Returns the output of the program for some bytes.
    fn packed(content: &[u8], arguments: &[&str]) -> Vec<u8> {
        let mut command = Command::new("xz");
        let mut child = command.args(arguments).arg("-c").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (mut input, content) = (child.stdin.take().unwrap(), content.to_vec());
        let writer = std::thread::spawn(move || input.write_all(&content));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap().unwrap();
        output.stdout
    }

    fn content() -> Vec<u8> {
        (0..70_000u32).flat_map(|number| (number.wrapping_mul(number) / 7).to_le_bytes()).collect()
    }

    #[test]
    fn streams_that_xz_writes_come_out_as_they_went_in() {
        let content = content();
        for arguments in
            [&["-6"][..], &["-0"], &["-Ccrc32"], &["-Cnone"], &["-Csha256"], &["--block-size=65536", "-T2"]]
        {
            let packed = packed(&content, arguments);
            assert_eq!(unpack(&packed, 1 << 20).as_ref(), Some(&content), "{arguments:?}");
            assert_eq!(unpack(&packed, content.len() as u64 - 1), None);
        }
        assert_eq!(unpack(&packed(b"", &[]), 0), Some(Vec::new()));
        // Filters for code are not part of `MiniDebugInfo`.
        assert_eq!(unpack(&packed(&content, &["--x86", "--lzma2"]), 1 << 20), None);
    }

    #[test]
    fn damage_is_found_and_a_small_stream_of_much_is_refused() {
        let whole = packed(&content(), &["-Ccrc64"]);
        for at in (HEADER_BYTES..whole.len() - 64).step_by(whole.len() / 60) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            assert_eq!(unpack(&bytes, 1 << 20), None, "byte {at}");
            assert_eq!(unpack(&whole[..at], 1 << 20), None, "cut at {at}");
        }
        let bomb = packed(&vec![0; 16 << 20], &["-9"]);
        assert!(bomb.len() < 16 << 10);
        assert_eq!(unpack(&bomb, 1 << 20), None);
    }
}

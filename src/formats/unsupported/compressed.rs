//! Compressions that are not unpacked, and the commands that unpack them. A text may begin like a zlib header, so trace
//! formats are tried first.

use super::table::{LZ4_FRAME, UnsupportedFormat, head};

pub(super) const COMPRESSED: &[UnsupportedFormat] = &[
    head(
        |head| head.starts_with(b"\xfd7zXZ\0"),
        "a file compressed by xz",
        "unpack it with `xz -dk FILE`, or with `xz -d` in a pipe",
    ),
    head(is_lzma, "a file compressed by lzma", "unpack it with `xz -dk FILE`, or with `xz -d` in a pipe"),
    head(
        // The magic numbers of frames and of the older format, which the kernel uses.
        |head| head.starts_with(LZ4_FRAME) || head.starts_with(b"\x02\x21\x4c\x18"),
        "a file compressed by lz4",
        "unpack it with `lz4 -dk FILE`, or with `lz4 -d` in a pipe",
    ),
    head(
        |head| matches!(head, [b'L', b'Z', b'I', b'P', 0 | 1, ..]),
        "a file compressed by lzip",
        "unpack it with `lzip -dk FILE`, or with `lzip -d` in a pipe",
    ),
    head(
        |head| head.starts_with(b"\x89LZO\0\r\n\x1a\n"),
        "a file compressed by lzop",
        "unpack it with `lzop -d FILE`, or with `lzop -d` in a pipe",
    ),
    head(
        // The low bits of the third byte are the length of the longest code.
        |head| matches!(head, [0x1f, 0x9d, flags, ..] if (9..=16).contains(&(flags & 0x1f))),
        "a file compressed by compress (.Z)",
        "unpack it with `gzip -dk FILE`, or with `gzip -d` in a pipe",
    ),
    head(
        |head| head.starts_with(b"\xff\x06\0\0sNaPpY"),
        "a file compressed by Snappy",
        "unpack it with `snzip -dk FILE`, or with `snzip -d` in a pipe",
    ),
    head(|head| head.starts_with(b"7z\xbc\xaf\x27\x1c"), "an archive of 7-Zip", "unpack it with `7z x FILE`"),
    head(|head| head.starts_with(b"Rar!\x1a\x07"), "an archive of RAR", "unpack it with `unrar x FILE`"),
    head(is_zlib, "a file compressed by zlib", "unpack it with `pigz -dk FILE`, or with `pigz -d` in a pipe"),
];

/// Returns whether this is a header of lzma, which has no magic number. It has the usual properties, then the sizes of
/// the dictionary and of the data; an unknown size has all bits set.
fn is_lzma(head: &[u8]) -> bool {
    /// Sizes of data from 256 GiB on are implausible, as for `xz`.
    const BYTES_MAX: u64 = 1 << 38;
    let Some((&[0x5d, a, b, c, d], rest)) = head.split_first_chunk() else { return false };
    let dictionary_bytes = u32::from_le_bytes([a, b, c, d]);
    let Some(bytes) = rest.first_chunk().map(|bytes| u64::from_le_bytes(*bytes)) else { return false };
    // Encoders write a power of two, or the sum of two neighbouring powers.
    let is_usual = dictionary_bytes.is_power_of_two()
        || dictionary_bytes.is_multiple_of(3) && (dictionary_bytes / 3).is_power_of_two();
    is_usual && dictionary_bytes >= 1 << 12 && (bytes == u64::MAX || bytes < BYTES_MAX)
}

/// Returns whether this is a zlib header with the largest window, followed by bytes that no text has.
fn is_zlib(head: &[u8]) -> bool {
    let [0x78, 0x01 | 0x5e | 0x9c | 0xda, data @ ..] = head else { return false };
    // A character may be cut at the end.
    let is_text = |error: std::str::Utf8Error| error.error_len().is_none();
    let is_valid = std::str::from_utf8(data).map_or_else(is_text, |_| true);
    !data.is_empty() && (!is_valid || data.contains(&0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::testing::{format_of, read_bytes};
    use crate::formats::unsupported::is_compressed;
    use crate::formats::unsupported::table::Sniff::Head;
    use crate::formats::{ReadContext, ReadError, sniff};

    const BEGINNINGS: &[(&[u8], &str)] = &[
        (b"\xfd7zXZ\0\0\x04", "by xz, which Longspan does not read: unpack it with `xz -dk FILE`"),
        (b"\x5d\0\0\x80\0\xff\xff\xff\xff\xff\xff\xff\xff\0", "by lzma"),
        (b"\x5d\0\0\0\x03\x10\x27\0\0\0\0\0\0\0", "by lzma"),
        (b"\x5d\0\0\xc0\0\x10\x27\0\0\0\0\0\0\0", "by lzma"),
        (b"\x04\x22\x4d\x18\x64\x40", "lz4 -dk FILE"),
        (b"\x02\x21\x4c\x18\x64\x40", "lz4 -dk FILE"),
        (b"LZIP\x01\x0c", "lzip -dk FILE"),
        (b"\x89LZO\0\r\n\x1a\n\x10\x40", "lzop -d FILE"),
        (b"\x1f\x9d\x90", "gzip -dk FILE"),
        (b"\xff\x06\0\0sNaPpY", "by Snappy"),
        (b"7z\xbc\xaf\x27\x1c\0\x04", "7z x FILE"),
        (b"Rar!\x1a\x07\x01\0", "unrar x FILE"),
        (b"\x78\x9c\xed\xcb\x31", "by zlib"),
        (b"\x78\x5e\xed\x8a\x01", "by zlib"),
        (b"\x78\x01\x01\0\0", "by zlib"),
    ];

    #[test]
    fn a_compressed_file_is_refused_with_what_unpacks_it_whatever_follows() {
        for (head, advice) in BEGINNINGS {
            for rest in [&b""[..], b"\n", &[b'\n'; 100], &[0xff; 5000]] {
                let error = read_bytes(&[head, rest].concat()).expect_err("refused");
                assert!(matches!(error, ReadError::Unsupported { .. }), "{error}");
                assert!(error.to_string().contains(advice), "{error}");
            }
        }
        for format in COMPRESSED {
            let is_here = |head| matches!(format.sniff, Head(sniff) if sniff(head));
            assert!(BEGINNINGS.iter().any(|(head, _)| is_here(head)), "{}", format.refused.name);
        }
    }

    #[test]
    fn similar_files_are_not_taken_for_compressed() {
        let texts: [&[u8]; 14] = [
            b"BZh9 is a level\n",
            b"BZh01AY&SY",
            b"LZIP is a tool\n",
            b"7z and Rar!\n",
            b"]\n",
            b"\x5d\0\0\x81\0\xff\xff\xff\xff\xff\xff\xff\xff\0",
            b"\x5d\0\0\x80\0\xff\xff\xff\xff\xff\xff\xff\x7f\0",
            b"\x5d\0\0\x80",
            b"x^2 is x times x\n",
            "x^2 \u{e9}".as_bytes().split_last().map_or(b"", |(_, cut)| cut),
            b"x\x01",
            b"x\x9b\xed\x8a",
            b"\x1f\x9d\x08",
            b"",
        ];
        for text in texts {
            assert!(!is_compressed(text), "{text:?}");
        }
        assert_eq!(format_of(b"x^2;y 1\nx^2;z 2\n"), Some("Collapsed stacks"));
    }

    #[test]
    fn a_brotli_file_is_known_by_its_name_unless_its_content_is_a_trace() {
        let folder = tempfile::tempdir().expect("a folder");
        let open = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).expect("written");
            sniff::open(&path, &ReadContext::default()).map(|_| ())
        };
        let error = open("trace.json.BR", b"\x1b\x05\x02\x03").expect_err("refused").to_string();
        assert!(error.contains("by Brotli") && error.contains("brotli -dk FILE"), "{error}");
        assert!(open("trace.br", b"[{\"ph\":\"i\",\"ts\":1}]").is_ok());
        assert!(matches!(open("br", b"\x1b\x05\x02\x03"), Err(ReadError::Unrecognised { .. })));
    }
}

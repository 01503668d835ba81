//! Compressed bodies, whole and damaged.

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Returns the decompressed bytes, or the status and the sentence of the refusal.
fn unpacked(bytes: Vec<u8>, memory: &BodyMemory) -> Result<Vec<u8>, (u16, &'static str)> {
    let body = Body { bytes, reserved: 0, memory: memory.clone() };
    match body.unpacked() {
        Ok(body) => {
            assert_eq!(memory.used.load(Ordering::SeqCst), body.bytes.len() as u64);
            Ok(body.bytes.clone())
        }
        Err(NoRequest::Refused(status, why)) => Err((status, why)),
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn all_members_of_a_compressed_body_are_read_and_nothing_else_may_follow_them() {
    let memory = BodyMemory::new(1 << 20);
    let text: Vec<u8> = (0..10_000_u32).flat_map(u32::to_le_bytes).collect();
    for cuts in [vec![], vec![1], vec![0, 100, 100, 9000], vec![39_999]] {
        let ends = cuts.iter().copied().chain([text.len()]);
        let starts = [0].into_iter().chain(cuts.iter().copied());
        let members: Vec<Vec<u8>> = starts.zip(ends).map(|(start, end)| gzip(&text[start..end])).collect();
        let body = members.concat();
        assert_eq!(unpacked(body.clone(), &memory), Ok(text.clone()), "{cuts:?}");
        let damaged = Err((400, "the body is not whole gzip data"));
        for garbage in [&b"x"[..], &[0; 9], b"{\"resourceSpans\":[]}", &[0x1f, 0x8b], &gzip(b"more")[..15]] {
            assert_eq!(unpacked([&body[..], garbage].concat(), &memory), damaged, "{cuts:?} {garbage:?}");
        }
        assert_eq!(unpacked(body[..body.len() - 1].to_vec(), &memory), damaged, "{cuts:?}");
    }
    assert_eq!(unpacked(gzip(b""), &memory), Ok(Vec::new()));
    assert_eq!(unpacked(Vec::new(), &memory).map_err(|(status, _)| status), Err(400));
    assert_eq!(memory.used.load(Ordering::SeqCst), 0);
}

#[test]
fn the_members_of_a_body_share_one_limit() {
    let memory = BodyMemory::new(100_000);
    let member = gzip(&vec![7; 20_000]);
    assert_eq!(unpacked(member.repeat(2), &memory), Ok(vec![7; 40_000]));
    assert_eq!(unpacked(member.repeat(3), &memory).map_err(|(status, _)| status), Err(413));
    // Bodies of other requests, each within half of the limit.
    let mut others = [memory.body(), memory.body()];
    others.iter_mut().for_each(|body| body.grow(35_000).unwrap());
    assert_eq!(unpacked(member.repeat(2), &memory).map_err(|(status, _)| status), Err(429));
}

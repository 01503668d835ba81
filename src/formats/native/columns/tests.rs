//! Tests of columns against the encoded events, and against arbitrary bytes.

use proptest::prelude::*;

use super::*;
use crate::model::args::Detail;
use crate::model::{EventFlags, EventKind, NameIdx, TrackIdx};

prop_compose! {
    fn any_event()(
        ts_ns in prop_oneof![any::<i64>(), -100i64..100, Just(i64::MIN), Just(i64::MAX)],
        value in prop_oneof![any::<u64>(), 0u64..1000],
        track in prop_oneof![any::<u32>(), 0u32..4],
        name in prop_oneof![any::<u32>(), 0u32..300],
        detail in prop_oneof![any::<u32>(), 0u32..5],
        depth in prop_oneof![any::<u16>(), 0u16..4],
        kind in 0..EventKind::ALL.len(),
        flags: u8,
    ) -> Event {
        let (track, name, flags) = (TrackIdx(track), NameIdx(name), EventFlags(flags));
        Event { ts_ns, value, track, name, detail, depth, kind: EventKind::ALL[kind], flags }
    }
}

prop_compose! {
    fn any_chunk()(
        events in prop::collection::vec(any_event(), 0..600),
        blobs in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..20),
        bad_end in prop::option::of(any::<u32>()),
    ) -> Chunk {
        let mut details = Details::default();
        for blob in &blobs {
            details.push_blob(blob);
        }
        details.ends.extend(bad_end);
        Chunk { events, details, ..Chunk::default() }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 128 } else { 512 }))]

    #[test]
    fn any_chunk_is_decoded_as_it_was_encoded(chunk in any_chunk()) {
        prop_assert_eq!(decode(&encode(&chunk).unwrap()), Ok(chunk));
    }

    #[test]
    fn no_bytes_make_the_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        decode(&bytes).ok();
    }

    /// Damage that keeps most of the payload reaches deeper into the decoder than random bytes.
    #[test]
    fn no_damaged_byte_makes_the_decoder_panic(chunk in any_chunk(), at: prop::sample::Index, byte: u8) {
        let mut bytes = encode(&chunk).unwrap();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        decode(&bytes).ok();
        decode(&bytes[..at]).ok();
    }
}

#[test]
fn details_that_repeat_or_skip_keep_their_rows() {
    let rows = [1, 1, 0, 3, 3, 2, 0, u32::MAX, u32::MAX, 1, 0];
    let mut chunk = Chunk::default();
    for detail in rows {
        chunk.events.push(Event { detail, ..blank() });
    }
    assert_eq!(decode(&encode(&chunk).unwrap()), Ok(chunk));
}

#[test]
fn equal_columns_take_no_bytes() {
    let chunk = Chunk { events: vec![blank(); 100_000], ..Chunk::default() };
    assert_eq!(encode(&chunk).unwrap().len(), PREFIX_BYTES);
}

#[test]
fn arguments_come_back_with_their_events() {
    let mut chunk = Chunk::default();
    for row in 0..1000 {
        let args_json = format!(r#"{{"row":{row},"text":"{}"}}"#, "x".repeat(row));
        let detail = chunk.details.push(&Detail { args_json: &args_json, ..Detail::default() });
        chunk.events.push(Event { detail, ..blank() });
    }
    let back = decode(&encode(&chunk).unwrap()).unwrap();
    assert_eq!(back, chunk);
    assert!(Detail::decode(back.details.blob(500)).args_json.starts_with(r#"{"row":499,"#));
}

#[test]
fn a_chunk_above_the_limit_is_refused_by_both_sides() {
    let details = Details { ends: Vec::new(), bytes: vec![0; DECODED_BYTES_MAX as usize + 1], ..Details::default() };
    let error = ColumnsError::TooLarge { bytes: DECODED_BYTES_MAX + 1, limit: DECODED_BYTES_MAX };
    assert_eq!(encode(&Chunk { details, ..Chunk::default() }), Err(error));

    // Three million events without a stored plane, in 64 bytes.
    let mut prefix = Prefix::zeroed();
    prefix.event_count = 3_000_000;
    let bytes = bytemuck::bytes_of(&prefix);
    assert_eq!(decode(bytes), Err(ColumnsError::TooLarge { bytes: 96_000_000, limit: DECODED_BYTES_MAX }));
    prefix.event_count = u32::MAX;
    prefix.detail_count = u32::MAX;
    prefix.stored = u32::MAX;
    assert!(matches!(decode(bytemuck::bytes_of(&prefix)), Err(ColumnsError::TooLarge { .. })));
}

#[test]
fn each_contradiction_has_an_error_of_its_own() {
    let chunk = Chunk { events: vec![blank()], ..Chunk::default() };
    let bytes = encode(&chunk).unwrap();
    let with = |change: fn(&mut Prefix)| {
        let mut prefix: Prefix = bytemuck::pod_read_unaligned(&bytes);
        change(&mut prefix);
        decode(bytemuck::bytes_of(&prefix))
    };
    assert_eq!(decode(&bytes[..63]), Err(ColumnsError::TooShort { need: 64, have: 63 }));
    assert_eq!(with(|prefix| prefix.constants[30] = 200), Err(ColumnsError::UnknownKind(200)));
    assert_eq!(with(|prefix| prefix.stored = 1), Err(ColumnsError::TooShort { need: 68, have: 64 }));
    let mut prefix: Prefix = bytemuck::pod_read_unaligned(&bytes);
    prefix.stored = 1;
    let bytes = |section: &[u8], length: u32| [bytemuck::bytes_of(&prefix), &length.to_le_bytes(), section].concat();
    assert_eq!(decode(&bytes(b"no frame", 9)), Err(ColumnsError::Length { need: 9, have: 8 }));
    assert_eq!(decode(&bytes(b"no frame", 8)), Err(ColumnsError::Damaged { section: 0, need: 1 }));
    assert!(decode(&bytes(b"1", 1)).is_ok());
}

fn blank() -> Event {
    Event {
        ts_ns: 7,
        value: 0,
        track: TrackIdx(3),
        name: NameIdx(1),
        detail: 0,
        depth: 0,
        kind: EventKind::Complete,
        flags: EventFlags::NONE,
    }
}

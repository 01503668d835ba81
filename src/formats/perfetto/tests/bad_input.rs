//! Damage is counted, and everything around it is shown.

use super::encode::{Message, capture, event, message, packet, thread};
use super::*;
use crate::base::budget::Budget;
use crate::formats::ReadContext;
use crate::formats::perfetto::interned::InternRoom;
use crate::formats::perfetto::sequence::Sequence;
use crate::formats::perfetto::sniff::looks_like_perfetto;

fn small() -> Vec<u8> {
    capture([
        thread(7, 100, 101, "worker"),
        event(10, 1, 7, "first"),
        event(20, 3, 7, "second"),
        event(30, 3, 7, "third"),
        event(40, 2, 7, ""),
    ])
}

#[test]
fn a_capture_that_is_cut_anywhere_keeps_all_packets_before_the_cut() {
    let whole = small();
    let packets = read_bytes(&whole).expect("a capture").events;
    // The packets are shorter than 128 bytes, so their lengths take one byte.
    let boundaries: Vec<usize> =
        std::iter::successors(Some(0), |&start| Some(start + 2 + usize::from(*whole.get(start + 1)?))).collect();
    for len in 1..whole.len() {
        let Ok(reading) = read_bytes(&whole[..len]) else {
            // Too few bytes to recognise the format.
            assert!(len < 4, "{len} bytes");
            continue;
        };
        assert_eq!(reading.events, packets[..reading.events.len()], "{len} bytes");
        let expected = if boundaries.contains(&len) { vec![] } else { vec![(Loss::Truncated, 1)] };
        assert_eq!(reading.lost(), expected, "{len} bytes");
    }
}

#[test]
fn bytes_between_packets_are_stepped_over_and_counted_once() {
    let first = capture([thread(7, 1, 2, "t"), event(10, 1, 7, "before")]);
    let last = capture([event(20, 2, 7, "after"), event(30, 3, 7, "later")]);
    for garbage in [&b"\xff\xff\xff"[..], b"\x0a\x0a\x0a\x0a\x0a", b"\x0a\xff\xff\xff\x7f", &[0; 5000]] {
        let bytes = [&first[..], garbage, &last].concat();
        let reading = read_bytes(&bytes).expect("a capture");
        let names: Vec<&str> = reading.events.iter().map(|event| event.name.as_str()).collect();
        assert_eq!(names, ["before", "after", "later"], "{garbage:?}");
        assert!(reading.losses.total() <= 2, "{:?}", reading.lost());
        assert!(reading.losses.total() > 0);
    }
}

/// The byte after a packet, which may be in the next block, confirms its length.
#[test]
fn damage_at_the_border_of_two_blocks_reads_like_damage_inside_one() {
    for at in 0..small().len() {
        for wrong in [0, 0x0a, 0xff] {
            let mut bytes = small();
            bytes[at] = wrong;
            let Ok(whole) = read_bytes(&bytes) else { continue };
            for block_bytes in [1, 2, 7, 61] {
                assert_eq!(read_cut(&bytes, block_bytes, 1).expect("a capture"), whole, "{at}, {wrong}, {block_bytes}");
            }
        }
    }
}

#[test]
fn a_category_of_iid_0_is_missing_in_every_event() {
    let of_category = |ts: u64, iid: Option<u64>| {
        let event = message().number(9, 3).number(10, 1).number(11, 7);
        packet(ts).message(11, iid.into_iter().fold(event, |event, iid| event.number(3, iid)))
    };
    let interned = of_category(10, None).message(12, message().message(2, message().number(1, 1).bytes(2, "name")));
    let reading = read([thread(7, 1, 2, "t"), interned, of_category(20, Some(0)), of_category(30, Some(0))]);
    assert_eq!((reading.short().len(), reading.lost()), (3, vec![(Loss::MissingText, 2)]));
}

#[test]
fn a_wrong_length_costs_its_own_packet_only() {
    let first = capture([thread(7, 1, 2, "t")]);
    let mut damaged = capture([event(10, 3, 7, "damaged")]);
    damaged[1] += 9;
    let last = capture([event(20, 3, 7, "after"), event(30, 3, 7, "later"), event(40, 3, 7, "last")]);
    let reading = read_bytes(&[first, damaged, last].concat()).expect("a capture");
    let names: Vec<&str> = reading.events.iter().map(|event| event.name.as_str()).collect();
    assert!(names.ends_with(&["later", "last"]), "{names:?}");
    assert!(reading.losses.total() > 0);
}

#[test]
fn a_malformed_event_is_counted_and_the_next_is_shown() {
    let reading = read([packet(1).bytes(11, b"\x48\x03\xba\x01\x7f"), event(2, 3, 0, "whole")]);
    assert_eq!(reading.events.last().map(|event| event.name.as_str()), Some("whole"));
    assert_eq!(reading.losses.count(Loss::BadRecord), 1);
}

#[test]
fn packets_and_events_of_unknown_kinds_are_counted_by_kind() {
    let reading = read([
        packet(1).message(11, message().bytes(23, "no type")),
        packet(2).message(900, message()),
        message().number(10, 1).message(11, message().number(9, 3)),
        packet(u64::MAX).message(11, message().number(9, 3)),
    ]);
    assert_eq!(reading.events, []);
    assert_eq!(reading.lost(), [(Loss::BadTime, 2), (Loss::UnknownPhase, 1), (Loss::IgnoredPacket, 1)]);
}

#[test]
fn deep_annotations_end_at_the_limit() {
    let deep = (0..2000).fold(message().number(3, 1), |inner, _| message().message(12, inner));
    let reading = read([packet(1).message(11, message().number(9, 3).message(4, deep.bytes(10, "deep")))]);
    assert_eq!(reading.losses.count(Loss::DeepNesting), 1);
    assert_eq!(reading.events.len(), 1);
}

#[test]
fn an_event_that_repeats_a_long_text_is_not_expanded_beyond_what_can_be_shown() {
    let texts = message().message(29, message().number(1, 1).bytes(2, "v".repeat(60_000)));
    let value = || message().bytes(10, "k").number(17, 1);
    let flat = (0..20_000).fold(message().number(9, 3), |event, _| event.message(4, value()));
    let array = (0..20_000).fold(message().bytes(10, "a"), |array, _| array.message(12, value()));
    let nested = message().number(9, 3).message(4, array);
    // 1.2 GB each, if they were expanded.
    let reading = read([packet(1).message(12, texts).message(11, flat), packet(2).message(11, nested)]);
    assert_eq!((reading.events.len(), reading.lost()), (2, vec![]));
    assert!(reading.events.iter().all(|event| event.args.is_empty()));
}

#[test]
fn a_profile_of_pprof_is_not_taken() {
    // sample_type { type: 1 unit: 2 }, then a sample
    let pprof = [0x0a, 4, 0x08, 1, 0x10, 2, 0x12, 4, 0x0a, 1, 1, 0x10];
    assert!(!looks_like_perfetto(&pprof));
    assert!(looks_like_perfetto(&small()));
    assert!(!looks_like_perfetto(b"\nplain text that begins with a line break"));
    assert!(!looks_like_perfetto(b"\n\nreal\t0m1.234s\nuser\t0m1.0s\n"));
}

#[test]
fn a_first_packet_that_is_longer_than_the_head_is_recognised_by_the_fields_at_hand() {
    let head = |packet: Vec<u8>| message().bytes(1, packet).0[..4096].to_vec();
    let event = |text: &str| message().number(1, 5).number(2, 7).message(3, message().bytes(2, text));
    let many = (0..700).fold(message().number(1, 0), |bundle, _| bundle.message(2, event("I|1|n")));
    let long = message().number(1, 0).message(2, event(&"x".repeat(8000)));
    let interned = message().message(2, message().number(1, 1).bytes(2, "n".repeat(9000)));
    let zlib = [&[0x78, 0x9c][..], &[0xed; 9000]].concat();
    let whole = [
        message().message(1, many).0,
        message().message(1, long).0,
        message().message(12, interned).0,
        message().bytes(50, zlib).0,
    ];
    for packet in whole {
        assert!(looks_like_perfetto(&head(packet)));
    }
    // Not the kind of a packet, a field that is longer than its message, and content that is neither fields nor zlib.
    let other = message().bytes(3, message().number(1, 5).bytes(2, "n".repeat(9000)).0).0;
    let too_long = [&[0x0a, 0xff, 0x7f][..], &[b'n'; 9000]].concat();
    for packet in [other, message().bytes(1, too_long).0, message().bytes(50, "n".repeat(9000)).0] {
        assert!(!looks_like_perfetto(&head(packet)));
    }
    let text = "\n\u{e9}\nplain text that begins with a line break\n".repeat(200);
    assert!(!looks_like_perfetto(&text.as_bytes()[..4096]));
}

#[test]
fn interned_strings_have_a_limit_and_cleared_ones_make_room() {
    let text = |iid: u64| format!("{iid} {}", "n".repeat(50_000));
    let mut room = InternRoom::new(&Budget::new(8 << 20));
    let mut sequence = Sequence::default();
    let mut intern = |sequence: &mut Sequence, iids: std::ops::Range<u64>| {
        let losses = iids.filter_map(|iid| {
            let name = message().number(1, iid).bytes(2, text(iid));
            sequence.intern(&message().message(2, name).0, &mut room)
        });
        losses.collect::<Vec<_>>()
    };
    // 25 MB, again, and 25 MB more than the 32 MiB have room for.
    assert_eq!(intern(&mut sequence, 1..500), []);
    assert_eq!(intern(&mut sequence, 1..500), []);
    let over = intern(&mut sequence, 500..1000);
    assert!(over.len() > 300 && over.iter().all(|loss| *loss == Loss::OverLimit), "{}", over.len());
    assert_eq!(sequence.texts.names.get(1).map(|name| &**name), Some(text(1).as_bytes()));
    assert_eq!(sequence.texts.names.get(999), None);
    // A longer text than before has no room, but no event gets the earlier text.
    let longer = message().number(1, 1).bytes(2, text(1).repeat(2));
    assert_eq!(sequence.intern(&message().message(2, longer).0, &mut room), Some(Loss::OverLimit));
    assert_eq!(sequence.texts.names.get(1).map(|name| &**name), Some(&b""[..]));
    sequence.clear(&mut room);
    let name = message().number(1, 999).bytes(2, text(999));
    assert_eq!(sequence.intern(&message().message(2, name).0, &mut room), None);
}

#[test]
fn interned_entries_of_each_kind_count_against_the_limit() {
    fn interned(count: u64, kind: u32, content: impl Fn(Message) -> Message) -> Vec<u8> {
        let entry = |iid| content(message().number(1, iid));
        (0..count).fold(message(), |interned, iid| interned.message(kind, entry(iid))).0
    }
    let intern = |bytes: &[u8]| {
        let mut room = InternRoom::new(&Budget::new(8 << 20));
        let mut sequence = Sequence::default();
        let lost = sequence.intern(bytes, &mut room);
        sequence.clear(&mut room);
        assert_eq!(room.used(), 0);
        (lost, sequence.intern(&message().message(2, message().number(1, 1).bytes(2, "name")).0, &mut room))
    };
    let long = vec![1; 600 << 10];
    // Categories, locations, functions, stacks, paths, network packets, wakelocks and counters.
    for kind in [1, 4, 5, 7, 17, 30, 42, 47] {
        let bytes = interned(70, kind, |entry| entry.bytes(2, &long));
        assert_eq!(intern(&bytes), (Some(Loss::OverLimit), None), "{kind}");
        assert_eq!(intern(&interned(20, kind, |entry| entry.bytes(2, &long[..1 << 10]))), (None, None), "{kind}");
    }
    // Frames, contexts and names without a text take memory too.
    for kind in [2, 6, 23] {
        assert_eq!(intern(&interned(600_000, kind, |entry| entry)), (Some(Loss::OverLimit), None), "{kind}");
    }
}

/// A search that moved the rest of the trace for each candidate would take minutes.
#[test]
fn a_megabyte_of_candidates_at_the_end_is_searched_once() {
    for garbage in [vec![0x0a; 1 << 20], b"log line\n".repeat(1 << 17)] {
        let bytes = [&small()[..], &[8], &garbage].concat();
        let reading = read_bytes(&bytes).expect("a capture");
        assert_eq!(reading.events.len(), 4);
        assert!(reading.losses.total() > 0);
    }
}

#[test]
fn a_cancelled_search_ends() {
    use crate::base::cancel::Cancel;
    use crate::formats::input::source::Source;
    use crate::formats::perfetto::packets::{PacketBlock, Packets};
    let file = crate::formats::testing::file_of(&[&[8][..], &vec![0x0a; 1 << 20]].concat());
    let cancel = Cancel::default();
    let mut packets = Packets::new(Source::open(file.path(), &ReadContext::default()).expect("a file"), &cancel);
    cancel.cancel();
    assert!(matches!(packets.next(PacketBlock::default()), Err(crate::formats::ReadError::Cancelled(_))));
}

#[test]
fn packets_of_a_second_machine_are_noted_once() {
    let on = |machine: u64, packet: Message| packet.number(98, machine);
    let packets = |machine| {
        [
            thread(7, 1, 2, "t"),
            event(10, 3, 7, "a"),
            on(machine, event(20, 3, 7, "b")),
            on(machine, event(30, 3, 7, "c")),
        ]
    };
    let reading = read(packets(5));
    assert_eq!((reading.events.len(), reading.lost()), (3, vec![(Loss::IgnoredMetadata, 1)]));
    assert_eq!(read(packets(0)).lost(), []);
}

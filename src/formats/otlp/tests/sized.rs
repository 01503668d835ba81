//! Tests of requests with their sizes, against the same requests without.

use proptest::prelude::*;

use super::{Plain, field, fixed, json, protobuf, sorted_spans};
use crate::formats::input::source::HEAD_BYTES;
use crate::formats::testing::{Reading, data, format_of, read, read_bytes, read_cut, read_path};
use crate::model::Loss;

const SPANS: [Plain; 4] = [(10, 50, 1, 0, 0), (20, 40, 2, 1, 0), (30, 45, 3, 1, 1), (60, 70, 4, 0, 0)];

fn four_bytes(message: &[u8]) -> Vec<u8> {
    [&u32::try_from(message.len()).expect("short").to_be_bytes()[..], message].concat()
}

/// A field without its tag is a message after its size as a varint.
fn varint(message: &[u8]) -> Vec<u8> {
    field(1, message)[1..].to_vec()
}

fn zstd(message: &[u8]) -> Vec<u8> {
    zstd::encode_all(message, 3).expect("in memory")
}

/// Returns a request per span, as protobuf.
fn requests() -> Vec<Vec<u8>> {
    SPANS.iter().map(|&span| protobuf(&[span])).collect()
}

fn read_all(messages: impl IntoIterator<Item = Vec<u8>>) -> Reading {
    let bytes = messages.into_iter().collect::<Vec<_>>().concat();
    assert_eq!(format_of(&bytes[..bytes.len().min(HEAD_BYTES)]), Some("OpenTelemetry protobuf"));
    read_bytes(&bytes).expect("a trace")
}

#[test]
fn requests_with_sizes_read_like_those_without() {
    let expected = read_bytes(&requests().concat()).expect("a trace");
    assert_eq!((sorted_spans(&expected).len(), expected.lost()), (4, vec![]));
    let packed = |request: &Vec<u8>| four_bytes(&zstd(request));
    for reading in [
        read_all(requests().iter().map(|request| four_bytes(request))),
        read_all(requests().iter().map(|request| varint(request))),
        read_all(requests().iter().map(packed)),
        // The encoding of each message is its own.
        read_all(
            requests()
                .iter()
                .enumerate()
                .map(|(i, request)| if i == 0 { packed(request) } else { four_bytes(request) }),
        ),
    ] {
        assert_eq!((reading.events, reading.losses), (expected.events.clone(), expected.losses.clone()));
    }
    let lines = json(&SPANS);
    let expected = read(&lines);
    let reading = read_all(lines.lines().map(|line| four_bytes(&zstd(line.as_bytes()))));
    assert_eq!((&reading.events, reading.lost()), (&expected.events, vec![]));
    let bytes: Vec<u8> = requests().iter().flat_map(packed).collect();
    assert_eq!(read_cut(&bytes, 7, 3).expect("a trace"), read_bytes(&bytes).expect("a trace"));
}

#[test]
fn a_real_request_reads_like_itself_with_its_size() {
    let path = data("otlp_python.binpb");
    let (expected, request) = (read_path(&path).expect("a trace"), std::fs::read(path).expect("a file"));
    for message in [four_bytes(&request), varint(&request), four_bytes(&zstd(&request))] {
        assert_eq!(read_all([message.clone()]), expected);
        let two = read_all([message.clone(), message]);
        assert_eq!((sorted_spans(&two).len(), two.lost()), (2 * sorted_spans(&expected).len(), vec![]));
    }
}

#[test]
fn compressed_lines_of_a_real_file_read_like_the_lines() {
    let path = data("otlp.jsonl.gz");
    let mut text = String::new();
    let file = std::fs::File::open(&path).expect("a file");
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(file), &mut text).expect("text");
    let messages: Vec<_> = text.lines().map(|line| four_bytes(&zstd(line.as_bytes()))).collect();
    assert!(messages[0].len() > HEAD_BYTES, "the format is detected by a part of the first frame");
    let (expected, reading) = (read_path(&path).expect("a trace"), read_all(messages));
    assert_eq!((reading.events, reading.losses), (expected.events, expected.losses));
}

#[test]
fn a_cut_costs_the_last_request() {
    for prefix in [four_bytes, varint, |request: &[u8]| four_bytes(&zstd(request))] {
        let messages: Vec<_> = requests().iter().map(|request| prefix(request)).collect();
        let ends: Vec<usize> = (1..=messages.len()).map(|count| messages[..count].concat().len()).collect();
        let bytes = messages.concat();
        for len in ends[0]..bytes.len() {
            let reading = read_bytes(&bytes[..len]).expect("a trace");
            let whole = ends.iter().filter(|end| **end <= len).count();
            let lost = if ends.contains(&len) { vec![] } else { vec![(Loss::Truncated, 1)] };
            assert_eq!(reading.lost(), lost, "{len}");
            // The request that is cut may have a resource before the cut.
            assert!((whole..=whole + 1).contains(&sorted_spans(&reading).len()), "{len}");
        }
    }
}

#[test]
fn a_damaged_request_costs_itself() {
    let mut messages = requests();
    messages[1] = b"no request".to_vec();
    let mut packed = zstd(&requests()[2]);
    packed[6..].fill(0xff);
    messages[2] = packed;
    let reading = read_all(messages.iter().map(|request| four_bytes(request)));
    assert_eq!((sorted_spans(&reading).len(), reading.lost()), (2, vec![(Loss::BadRecord, 2)]));
}

#[test]
fn a_size_beyond_the_limit_is_an_error_at_its_position() {
    let first = four_bytes(&requests()[0]);
    let bomb = four_bytes(&zstd(&vec![0; (64 << 20) + 1]));
    for (second, found) in [
        (&[4, 0, 0, 1, 0x0a][..], "the size 67108865"),
        (&[0xff; 9], "the size 4294967295"),
        (&bomb, "one that is larger when it is unpacked"),
    ] {
        let error = read_bytes(&[&first[..], second].concat()).expect_err("too large").to_string();
        let expected = format!("byte {}: expected a request of at most 67108864 bytes, found {found}", first.len());
        assert!(error.ends_with(&expected), "{error}");
    }
    let error =
        read_bytes(&[varint(&requests()[0]), vec![0x80, 0x80, 0x80, 0x80, 0x10]].concat()).expect_err("too large");
    assert!(error.to_string().ends_with("found the size 4294967296"), "{error}");
    let reading = read_bytes(&[varint(&requests()[0]), vec![0x80; 10]].concat()).expect("a trace");
    assert_eq!((sorted_spans(&reading).len(), reading.lost()), (1, vec![(Loss::BadRecord, 1)]), "not a number");
}

/// Returns requests with metrics and log records: three kinds of metrics, and records with and without their own time.
fn others() -> Vec<Vec<u8>> {
    let attribute = field(1, &[field(1, b"service.name"), field(2, &field(1, b"v"))].concat());
    let request = |items: Vec<u8>| field(1, &[field(1, &attribute), field(2, &items)].concat());
    let metric = |name: &str, kind: u32| {
        field(2, &[field(1, name.as_bytes()), field(2, b"requests"), field(kind, b"")].concat())
    };
    let metrics = [metric("up", 5), metric("http.server", 7), metric("http.server.duration", 9)];
    let body = field(5, &field(1, b"text"));
    let records = [
        field(2, &[fixed(1, 5), body.clone()].concat()),
        field(2, &[vec![2 << 3, 9], body.clone()].concat()),
        field(2, &[body, fixed(11, 5)].concat()),
    ];
    metrics.into_iter().chain(records).map(request).collect()
}

#[test]
fn metrics_and_logs_are_skipped_and_a_file_of_nothing_else_is_refused() {
    for prefix in [<[u8]>::to_vec, four_bytes, varint] {
        let all: Vec<_> = others().into_iter().chain(requests()).map(|request| prefix(&request)).collect();
        let reading = read_all(all);
        assert_eq!((sorted_spans(&reading).len(), reading.lost()), (4, vec![]));
        for alone in others() {
            let error = read_bytes(&prefix(&alone)).expect_err("no spans").to_string();
            assert!(
                error.ends_with("expected a trace, found metrics or logs of OpenTelemetry without spans"),
                "{error}"
            );
        }
    }
    // A span without a start is damaged.
    let ids = [field(1, b"0123456789abcdef"), field(2, b"01234567"), field(5, b"name")].concat();
    let span = field(1, &field(2, &field(2, &ids)));
    let reading = read_bytes(&[requests()[0].clone(), span].concat()).expect("a trace");
    assert_eq!(reading.lost(), [(Loss::BadTime, 1)]);
}

#[test]
fn other_files_with_sizes_are_not_taken_for_requests() {
    let sound = four_bytes(&requests()[0]);
    assert_eq!(format_of(&sound), Some("OpenTelemetry protobuf"));
    let len = u32::try_from(sound.len() - 4).expect("short");
    let with_size = |size: u32| [&size.to_be_bytes()[..], &sound[4..]].concat();
    for wrong in [
        // Less than the resource takes, and more than the limit.
        with_size(20),
        with_size((64 << 20) + 1),
        [&len.to_le_bytes()[..], &sound[4..]].concat(),
        four_bytes(b"{\"a\":1}"),
        four_bytes(&field(1, &field(1, &field(1, &field(1, b"no value"))))),
        varint(&field(1, &field(1, &field(1, &field(1, b"no value"))))),
        four_bytes(&zstd(b"text")),
        four_bytes(&zstd(b"text")[..9]),
        b"9\n7\n5\n3\n1abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz".to_vec(),
    ] {
        assert_eq!(format_of(&wrong), None, "{wrong:x?}");
    }
}

proptest! {
    #[test]
    fn random_bytes_are_not_requests(mut bytes in prop::collection::vec(any::<u8>(), 40..400), size in 0u32..400) {
        prop_assert_ne!(format_of(&bytes), Some("OpenTelemetry protobuf"));
        bytes[..4].copy_from_slice(&size.to_be_bytes());
        prop_assert_ne!(format_of(&bytes), Some("OpenTelemetry protobuf"));
    }
}

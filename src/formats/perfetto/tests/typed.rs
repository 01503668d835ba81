//! Tests of typed arguments that are described by descriptors in the trace.

use super::encode::{Message, message, packet, thread};
use super::*;

const STRING: u64 = 9;
const MESSAGE: u64 = 11;
const ENUM: u64 = 14;

/// Returns the descriptor of an optional field; `of` is its message or enum.
fn field(name: &str, number: u64, kind: u64, of: &str) -> Message {
    message().bytes(1, name).number(3, number).number(4, 1).number(5, kind).bytes(6, of)
}

fn repeated(name: &str, number: u64, kind: u64, of: &str) -> Message {
    message().bytes(1, name).number(3, number).number(4, 3).number(5, kind).bytes(6, of)
}

fn extension(field: Message) -> Message {
    field.bytes(2, ".perfetto.protos.TrackEvent")
}

/// Returns a message with fields of all types, a recursive field, a nested enum, and extensions inside and outside of
/// messages.
fn described() -> Message {
    let names = [(1, "double"), (2, "float"), (3, "int64"), (4, "uint64"), (5, "int32"), (6, "fixed64")];
    let more = [(7, "fixed32"), (8, "bool"), (9, "string"), (12, "bytes"), (13, "uint32"), (15, "sfixed32")];
    let last = [(16, "sfixed64"), (17, "sint32"), (18, "sint64"), (10, "group")];
    let all = names.into_iter().chain(more).chain(last);
    let fields = all.fold(message().bytes(1, "All"), |all, (kind, name)| all.message(2, field(name, kind, kind, "")));
    let level = message()
        .bytes(1, "Level")
        .message(2, message().bytes(1, "LOW").number(2, 0))
        .message(2, message().bytes(1, "HIGH").number(2, u64::MAX));
    let fields = fields
        .message(2, field("level", 20, ENUM, ".test.All.Level"))
        .message(2, field("again", 21, MESSAGE, ".test.All"))
        .message(2, repeated("packed", 22, 17, ""))
        .message(2, repeated("floats", 23, 2, ""))
        .message(2, repeated("each", 24, MESSAGE, ".test.All"))
        .message(2, field("odd", 25, MESSAGE, ".test.Nothing"))
        .message(4, level)
        .message(6, extension(field("test_all", 2000, MESSAGE, ".test.All")));
    let file = message().bytes(1, "x.proto").bytes(2, "test").message(4, fields);
    let file = file.message(7, extension(repeated("words", 2001, STRING, "")));
    message().number(10, 1).message(72, message().message(1, message().message(1, file)))
}

fn spans(all: Message) -> Message {
    packet(5).message(11, message().number(9, 3).number(11, 7).bytes(2001, "a\"").message(2000, all).bytes(2001, "b"))
}

fn args(reading: &Reading) -> serde_json::Value {
    serde_json::from_str(&reading.events[0].args).expect("JSON")
}

#[test]
fn every_kind_of_field_is_shown_wherever_the_capture_describes_it() {
    let fixed32 = |message: Message, number: u64, value: u32| {
        let mut message = message;
        message.0.extend([(number << 3 | 5) as u8 | 0x80, (number >> 4) as u8]);
        message.0.extend(value.to_le_bytes());
        message
    };
    let all = message().fixed(1, 1.5f64.to_bits());
    let all = fixed32(all, 2, 0.1f32.to_bits()).number(3, u64::MAX).number(4, u64::MAX).number(5, 7).fixed(6, 8);
    let all = fixed32(all, 7, u32::MAX).number(8, 1).bytes(9, "t\u{e9}\n").bytes(12, [0, 255, 7, 9]).number(13, 3);
    let all = fixed32(all, 15, u32::MAX).fixed(16, u64::MAX).number(17, 3).number(18, 4).number(20, u64::MAX);
    let all = all
        .message(21, message().number(20, 9).number(99, 1))
        .bytes(22, [1, 2])
        .number(22, 3)
        .bytes(23, f32::INFINITY.to_le_bytes())
        .message(24, message().number(5, 1))
        .message(24, message())
        .message(25, message().number(1, 1));
    let expected = serde_json::json!({
        "test_all": {
            "double": 1.5, "float": 0.1, "int64": -1, "uint64": u64::MAX, "int32": 7, "fixed64": 8,
            "fixed32": u32::MAX, "bool": true, "string": "té\n", "bytes": "AP8HCQ==", "uint32": 3,
            "sfixed32": -1, "sfixed64": -1, "sint32": -2, "sint64": 2, "level": "HIGH",
            "again": {"level": 9}, "packed": [-1, 1, -2], "floats": ["inf"], "each": [{"int32": 1}, {}], "odd": {},
        },
        "words": ["a\"", "b"],
    });
    let event = || spans(all.clone());
    for packets in [[described(), thread(7, 1, 2, "t"), event()], [thread(7, 1, 2, "t"), event(), described()]] {
        let reading = read(packets);
        assert_eq!(args(&reading), expected);
        // A field and a message without a descriptor.
        assert_eq!(reading.lost(), [(Loss::IgnoredArguments, 2)]);
    }
}

#[test]
fn an_annotation_that_is_a_message_is_shown_by_its_type_and_unknown_fields_by_their_numbers() {
    let types = message().message(27, message().number(1, 3).bytes(2, ".test.All"));
    let named = |name: &str, value: Message| message().bytes(10, name).message(14, value);
    let inner = message().number(1, 7).bytes(2, "x");
    let odd = message()
        .bytes(1, "text")
        .message(2, inner)
        .bytes(3, [0xff, 0x80])
        .number(4, 5)
        .number(4, 6)
        .fixed(5, 9)
        .number(4, 7)
        .bytes(6, "");
    let event = message()
        .number(9, 3)
        .number(11, 7)
        .message(4, named("typed", message().number(5, 7).number(20, 0).number(99, 8)).bytes(16, ".test.All"))
        .message(4, message().bytes(16, "test.All").bytes(10, "no dot").message(14, message().bytes(9, "s")))
        .message(4, named("interned", message().message(21, message().number(5, 1))).number(13, 3))
        .message(4, named("unknown", odd).bytes(16, "no.such.Type"))
        .message(4, message().bytes(10, "list").message(12, message().message(14, message().number(1, 1))))
        .message(4, named("lost", message().number(1, 2)).number(13, 4));
    let event = || packet(5).number(13, 1).message(12, types.clone()).message(11, event.clone());
    let expected = serde_json::json!({
        "debug.typed": {"int32": 7, "level": "LOW", "99": 8},
        "debug.no dot": {"string": "s"},
        "debug.interned": {"again": {"int32": 1}},
        "debug.unknown": {"1": "text", "2": {"1": 7, "2": "x"}, "3": "/4A=", "4": [5, 6, 7], "5": 9, "6": ""},
        "debug.list": [{"1": 1}],
        "debug.lost": {"1": 2},
    });
    for packets in [[described(), thread(7, 1, 2, "t"), event()], [thread(7, 1, 2, "t"), event(), described()]] {
        let reading = read(packets);
        assert_eq!(args(&reading), expected);
        // The name of a type.
        assert_eq!(reading.lost(), [(Loss::MissingText, 1)]);
    }
}

#[test]
fn messages_of_unknown_type_end_at_the_depth_limit() {
    let deep = (0..200).fold(message().number(1, 1), |inner, _| message().message(1, inner));
    let annotation = message().bytes(10, "deep").message(14, deep);
    let reading = read([packet(5).message(11, message().number(9, 3).message(4, annotation))]);
    assert!(args(&reading)["debug.deep"]["1"]["1"].is_object());
    assert_eq!(reading.lost(), [(Loss::DeepNesting, 1)]);
}

#[test]
fn without_a_descriptor_only_types_of_the_format_are_shown() {
    let mojo = message().bytes(3, "viz").number(2, 5).number(60, 1);
    let event = message().number(9, 3).number(11, 7).message(38, mojo).message(2000, message()).bytes(49, [8, 1, 8, 2]);
    let reading = read([thread(7, 1, 2, "t"), packet(5).message(11, event)]);
    let expected = serde_json::json!({
        "chrome_mojo_event_info": {"mojo_interface_tag": "viz", "ipc_hash": 5},
        "chrome_active_processes": {"pid": [1, 2]},
    });
    assert_eq!(args(&reading), expected);
    assert_eq!(reading.lost(), [(Loss::IgnoredArguments, 2)]);
}

#[test]
fn nested_messages_end_at_the_depth_limit_and_damage_costs_itself() {
    let deep = (0..200).fold(message(), |inner, _| message().message(21, inner));
    let reading = read([described(), thread(7, 1, 2, "t"), spans(deep)]);
    assert_eq!(reading.lost(), [(Loss::DeepNesting, 1)]);
    let cut = message().bytes(2000, [40, 7, 72]).number(9, 3).number(11, 7);
    let reading = read([described(), thread(7, 1, 2, "t"), packet(5).message(11, cut)]);
    assert_eq!(args(&reading), serde_json::json!({"test_all": {"int32": 7}}));
    assert_eq!(reading.lost(), [(Loss::BadRecord, 1)]);
    // Truncated descriptors describe less, and cause no other damage.
    let whole = described();
    let set = whole.0[2..].to_vec();
    for len in 0..set.len() {
        let cut = message().number(10, 1).bytes(72, &set[..len]);
        let reading = read([cut, thread(7, 1, 2, "t"), spans(message().number(5, 7))]);
        assert_eq!(reading.events.len(), 1, "{len}");
    }
}

#[test]
fn annotations_within_a_message_have_their_own_names() {
    let child = message().bytes(1, "Child").message(2, field("text", 1, STRING, ""));
    let child = child.message(2, repeated("debug_annotations", 99, MESSAGE, ".perfetto.protos.DebugAnnotation"));
    let child = child.message(6, extension(field("nested", 2000, MESSAGE, ".x.Child")));
    let file = message().bytes(2, "x").message(4, child);
    let described = message().number(10, 1).message(72, message().message(1, message().message(1, file)));
    let entry = message().bytes(10, "key").bytes(6, "value");
    let nested = message()
        .bytes(1, "shown")
        .message(99, message().bytes(10, "arg1").number(4, 7))
        .message(99, message().bytes(10, "arg2").message(11, entry));
    let event = packet(5).message(11, message().number(9, 3).number(11, 7).message(2000, nested));
    let reading = read([described, event, thread(7, 1, 2, "t")]);
    let expected = serde_json::json!({"nested": {"text": "shown", "arg1": 7, "arg2": {"key": "value"}}});
    assert_eq!((args(&reading), reading.lost()), (expected, vec![]));
}

#[test]
fn messages_of_the_format_need_no_descriptor_and_show_what_they_refer_to() {
    let interned = message()
        .message(4, message().number(1, 3).bytes(2, "f.cc").bytes(3, "main").number(4, 12))
        .message(20, message().number(1, 1).bytes(2, "hello"))
        .message(25, message().number(1, 4).bytes(2, "Page.Load"));
    let latency = message().number(1, 7).message(4, message().number(1, 3).number(2, 9)).number(5, 1);
    let of = |number: u32, inner: Message| message().number(9, 3).number(11, 7).message(number, inner);
    let events = [
        of(29, latency),
        of(28, message().number(3, 5).number(4, 4)),
        of(28, message().bytes(2, "own").number(4, 4)),
        of(35, message().number(2, 3)),
        of(21, message().number(1, 3).number(2, 1)),
        of(27, message().number(1, 1)),
    ];
    let mut packets = vec![thread(7, 1, 2, "t"), message().number(10, 1).message(12, interned)];
    packets.extend(events.into_iter().map(|event| packet(5).message(11, event)));
    let reading = read(packets);
    let position = serde_json::json!({"file_name": "f.cc", "function_name": "main", "line_number": 12});
    let component = "COMPONENT_INPUT_EVENT_LATENCY_FIRST_SCROLL_UPDATE_ORIGINAL";
    let expected = [
        serde_json::json!({"chrome_latency_info":
            {"trace_id": 7, "component_info": [{"component_type": component, "time_us": 9}], "is_coalesced": true}}),
        serde_json::json!({"chrome_histogram_sample": {"sample": 5, "name": "Page.Load", "name_iid": 4}}),
        serde_json::json!({"chrome_histogram_sample": {"name": "own", "name_iid": 4}}),
        serde_json::json!({"chrome_message_pump": {"io_handler_location": position, "io_handler_location_iid": 3}}),
        serde_json::json!({"track_event.log_message":
            {"message": "hello", "file_name": "f.cc", "function_name": "main", "line_number": 12}}),
        serde_json::json!({"chrome_legacy_ipc": {"message_class": "CLASS_AUTOMATION"}}),
    ];
    let found: Vec<serde_json::Value> =
        reading.events.iter().map(|event| serde_json::from_str(&event.args).expect("JSON")).collect();
    assert_eq!((found.as_slice(), reading.lost()), (&expected[..], vec![]));
}

#[test]
fn a_descriptor_of_an_impossible_number_describes_no_other_field() {
    let fields = message()
        .bytes(1, "All")
        .message(2, field("int32", 5, 5, ""))
        .message(2, field("alias", (1 << 32) + 5, STRING, ""))
        .message(6, extension(field("test_all", 2000, MESSAGE, ".test.All")));
    let file = message().bytes(1, "x.proto").bytes(2, "test").message(4, fields);
    let described = message().number(10, 1).message(72, message().message(1, message().message(1, file)));
    let event = message().number(9, 3).number(11, 7).message(2000, message().number(5, 7));
    let reading = read([described, thread(7, 1, 2, "t"), packet(5).message(11, event)]);
    assert_eq!(args(&reading), serde_json::json!({"test_all": {"int32": 7}}));
    assert_eq!(reading.lost(), [(Loss::BadRecord, 1)]);
}

//! Tests of pprof profiles: a recording of Go against the output of `go tool pprof`, and small generated profiles.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::fields::{mapping, profile};
use super::write::{PprofFrame, PprofLabel, PprofWriter};
use crate::formats::protobuf::decode::{Fields, ProtoValue};
use crate::formats::testing::{ReadEvent, Reading, data, file_of, format_of, gzip, read_bytes, read_cut, read_path};
use crate::formats::{BatchSink, ReadContext, ReadError, Reader, sniff};
use crate::model::{Batch, BuildId, Id, Loss, Metadata, Module, ModuleKind, SampleMeasure, StackIdx};

/// A message builder, independent of the writer.
#[derive(Clone, Default)]
struct PprofMessage(Vec<u8>);

impl PprofMessage {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(mut self, field: u32, value: u64) -> Self {
        self.varint(u64::from(field) << 3);
        self.varint(value);
        self
    }

    fn bytes(mut self, field: u32, bytes: &[u8]) -> Self {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    fn message(self, field: u32, Self(bytes): Self) -> Self {
        self.bytes(field, &bytes)
    }
}

fn message() -> PprofMessage {
    PprofMessage::default()
}

/// Returns row, stack, weight and labels of samples.
fn samples(reading: &Reading) -> Vec<(String, String, u64, String)> {
    let seen = |event: &ReadEvent| {
        let args: serde_json::Value = serde_json::from_str(&event.args).expect("JSON");
        let labels = args.get("labels").map(ToString::to_string).unwrap_or_default();
        let weight = SampleMeasure::from_args(&event.args).weight;
        (event.track.tid.to_string(), event.stack.join(";"), weight, labels)
    };
    reading.events.iter().map(seen).collect()
}

const TEXTS: [&str; 17] = [
    "",
    "alloc_space",
    "bytes",
    "inuse_objects",
    "count",
    "main",
    "parse",
    "inlined",
    "/bin/prog",
    "request",
    "/a \"b\"",
    "size",
    "kilobytes",
    "cpu",
    "nanoseconds",
    "system_only",
    "/lib/libc.so",
];

/// Two types. Stack 1 is main, parse with an inlined function; stack 2 is main, an address in libc.so.
fn small() -> PprofMessage {
    let function = |id: u64, name: u64| message().number(1, id).number(2, name);
    let line = |function: u64| message().number(1, function).number(2, 30);
    let profile = message()
        .message(1, message().number(1, 1).number(2, 2))
        .message(1, message().number(1, 3).number(2, 4))
        .message(
            2,
            message()
                .bytes(1, &[2, 1])
                .bytes(2, &[100, 2])
                .message(3, message().number(1, 9).number(2, 10))
                .message(3, message().number(1, 11).number(3, 64).number(4, 12)),
        )
        .message(2, message().number(1, 3).number(1, 1).number(2, 50).number(2, 0))
        .message(2, message().bytes(1, &[2, 1]).bytes(2, &[7, 0]).message(3, message().number(1, 11).number(3, 5)))
        .message(2, message().bytes(1, &[4]).bytes(2, &[0, 1]))
        .message(3, message().number(1, 1).number(2, 0x1000).number(3, 0x3000).number(5, 8))
        .message(3, message().number(1, 2).number(2, 0x7000).number(4, 0x400).number(5, 16))
        .message(4, message().number(1, 1).number(2, 1).message(4, line(1)))
        .message(4, message().number(1, 2).number(2, 1).message(4, line(3)).message(4, line(2)))
        .message(4, message().number(1, 3).number(2, 2).number(3, 0x7100))
        .message(4, message().number(1, 4).message(4, line(4)))
        .message(5, function(1, 5))
        .message(5, function(2, 6))
        .message(5, function(3, 7))
        .message(5, message().number(1, 4).number(3, 15));
    TEXTS
        .iter()
        .fold(profile, |profile, text| profile.bytes(6, text.as_bytes()))
        .message(11, message().number(1, 13).number(2, 14))
        .number(12, 512)
        .number(14, 3)
}

#[test]
fn a_profile_has_a_row_for_each_type_with_inlined_frames_labels_and_addresses() {
    let reading = read_bytes(&small().0).expect("a profile");
    assert_eq!(read_bytes(&gzip(&small().0)).expect("a profile"), reading);
    let (space, objects) = ("alloc_space (bytes)", "inuse_objects (count)");
    let labels = r#"{"request":"/a \"b\"","size":{"num":64,"unit":"kilobytes"}}"#;
    let expected = [
        (space, "main;parse;inlined", 100, labels),
        (objects, "main;parse;inlined", 2, labels),
        (space, "main;parse;inlined", 7, r#"{"size":5}"#),
        (space, "main;libc.so+0x500", 50, ""),
        (objects, "system_only", 1, ""),
    ];
    let expected = expected.map(|(row, stack, weight, labels)| (row.into(), stack.into(), weight, labels.to_owned()));
    assert_eq!(samples(&reading), expected);
    // Bytes are drawn as nanoseconds, counts as microseconds.
    let times: Vec<i64> = reading.events.iter().map(|event| event.ts_ns).collect();
    assert_eq!(times, [0, 0, 100, 107, 2_000]);
    assert_eq!(reading.lost(), []);
    let named = |metadata: &Metadata| match metadata {
        Metadata::ProcessName { name, .. } => Some(name.to_string()),
        Metadata::ProcessLabels { labels, .. } => Some(labels.to_string()),
        Metadata::ThreadSortIndex { tid, sort_index, .. } => Some(format!("{tid} at {sort_index}")),
        _ => None,
    };
    let found: Vec<String> = reading.metadata.iter().filter_map(named).collect();
    let period = "one sample every 512 ns of cpu";
    assert_eq!(found, ["prog", period, "alloc_space (bytes) at 0", "inuse_objects (count) at -1"]);
}

#[test]
fn each_value_of_a_repeated_label_is_kept() {
    let text = |key: u64, value: u64| message().number(1, key).number(2, value);
    let size = |bytes: u64| message().number(1, 11).number(3, bytes).number(4, 2);
    let sample = message().bytes(1, &[1]).bytes(2, &[0, 9]);
    let labels = [text(9, 5), size(7), text(9, 6), message().number(1, 11).number(3, 8)];
    let sample = labels.into_iter().fold(sample, |sample, label| sample.message(3, label));
    let reading = read_bytes(&small().message(2, sample).0).expect("a profile");
    let labels = r#"{"request":["main","parse"],"size":[{"num":7,"unit":"bytes"},8]}"#;
    assert!(samples(&reading).iter().any(|(.., weight, found)| (*weight, &**found) == (9, labels)), "{reading:?}");
    assert_eq!(reading.lost(), []);
}

#[test]
fn frames_that_the_profile_asks_to_drop_cost_their_callers() {
    // Row 17 is the expression, and row 18 its exceptions.
    let profile = |drop: &str, keep: &str| {
        small().bytes(6, drop.as_bytes()).bytes(6, keep.as_bytes()).number(7, 17).number(8, 18)
    };
    let stacks = |drop: &str, keep: &str| {
        let reading = read_bytes(&profile(drop, keep).0).expect("a profile");
        let space = samples(&reading).into_iter().filter(|(row, ..)| row.starts_with("alloc_space"));
        (space.map(|(_, stack, weight, _)| (stack, weight)).collect::<Vec<_>>(), reading.lost())
    };
    let of = |stack: &str, weight: u64| (stack.to_owned(), weight);
    let whole = vec![of("main;parse;inlined", 100), of("main;parse;inlined", 7), of("main;libc.so+0x500", 50)];
    assert_eq!(stacks("", ""), (whole.clone(), vec![]));
    assert_eq!(stacks("pars", ""), (whole.clone(), vec![]), "only whole names match");
    let cut = vec![of("main", 100), of("main", 7), of("main;libc.so+0x500", 50)];
    assert_eq!(stacks("parse|malloc", ""), (cut, vec![(Loss::IgnoredMetadata, 2)]));
    assert_eq!(stacks(".*", "parse|inlined"), (whole.clone(), vec![]), "a stack is not dropped from its beginning");
    assert_eq!(stacks("(", ""), (whole, vec![(Loss::BadRecord, 1)]));
}

/// Returns the flat and cumulative weight of each function.
fn flat_and_cumulated(reading: &Reading, row: &str) -> BTreeMap<String, (u64, u64)> {
    let mut sums: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for event in reading.events.iter().filter(|event| event.track.tid == Id::Text(row.into())) {
        let weight = SampleMeasure::from_args(&event.args).weight;
        sums.entry(event.stack.last().cloned().unwrap_or_default()).or_default().0 += weight;
        let functions: std::collections::BTreeSet<&String> = event.stack.iter().collect();
        functions.into_iter().for_each(|name| sums.entry(name.clone()).or_default().1 += weight);
    }
    sums
}

#[test]
fn sums_of_a_profile_of_go_are_those_of_go_tool_pprof_top() {
    // Output of `go tool pprof -top go_cpu.pprof` (1.19.8): flat and cumulative, in tens of milliseconds.
    const TOP: [(&str, u64, u64); 22] = [
        ("sort.partition", 60, 73),
        ("sort.IntSlice.Less", 14, 14),
        ("main.fib", 8, 8),
        ("math/rand.(*lockedSource).Int63", 8, 13),
        ("sort.insertionSort", 7, 10),
        ("sort.median", 4, 7),
        ("sort.IntSlice.Swap", 3, 3),
        ("sync.(*Mutex).Unlock", 3, 3),
        ("main.srt", 2, 105),
        ("math/rand.(*rngSource).Uint64", 2, 2),
        ("runtime.asyncPreempt", 1, 1),
        ("sort.order2", 1, 3),
        ("main.main.func1", 0, 113),
        ("math/rand.(*Rand).Int", 0, 13),
        ("math/rand.(*Rand).Int63", 0, 13),
        ("math/rand.(*rngSource).Int63", 0, 2),
        ("math/rand.Int", 0, 13),
        ("sort.Ints", 0, 90),
        ("sort.Sort", 0, 90),
        ("sort.choosePivot", 0, 7),
        ("sort.medianAdjacent", 0, 6),
        ("sort.pdqsort", 0, 90),
    ];
    let reading = read_path(&data("go_cpu.pprof")).expect("a profile");
    assert_eq!(reading.lost(), []);
    for (row, unit) in [("cpu (ns)", 10_000_000), ("samples (count)", 1)] {
        let found = flat_and_cumulated(&reading, row);
        let expected = TOP.map(|(name, flat, sum)| (name.to_owned(), (flat * unit, sum * unit)));
        assert_eq!(found, expected.into_iter().collect(), "{row}");
    }
    // The samples of a row are adjacent, as wide as they weigh.
    let cpu = reading.events.iter().filter(|event| event.track.tid == Id::Text("cpu (ns)".into()));
    let mut end_ns = 0;
    for event in cpu {
        assert_eq!(event.ts_ns, end_ns);
        end_ns += SampleMeasure::from_args(&event.args).drawn_ns() as i64;
    }
    assert_eq!(end_ns, 1_130_000_000);
}

#[test]
fn negative_values_have_a_track_of_their_own() {
    let negative = message().bytes(1, &[1]).number(2, (-4i64).cast_unsigned()).number(2, 3);
    let least = message().bytes(1, &[1]).number(2, i64::MIN.cast_unsigned()).number(2, 0);
    let reading = read_bytes(&small().message(2, negative).message(2, least).0).expect("a profile");
    let less: Vec<_> = samples(&reading).into_iter().filter(|(row, ..)| row.contains("decrease")).collect();
    let row = |weight: u64| ("alloc_space decrease (bytes)".to_owned(), "main".to_owned(), weight, String::new());
    assert_eq!(less, [row(4), row(1 << 63)]);
    let plain = samples(&read_bytes(&small().0).expect("a profile")).len();
    assert_eq!(reading.events.len(), plain + less.len() + 1, "the other value of the first is above zero");
    assert_eq!(reading.losses.count(Loss::Overlap), 1, "the bar of no time is as long as that");
}

#[test]
fn the_losses_of_names_do_not_depend_on_the_batches() {
    let mut bytes = small().0;
    let name = memchr::memmem::find(&bytes, b"parse").expect("a name");
    bytes[name] = 0xff;
    let reading = read_bytes(&bytes).expect("a profile");
    assert_eq!(reading.events[0].stack, ["main", "\u{fffd}arse", "inlined"]);
    assert_eq!(reading.lost(), [(Loss::BadUtf8, 1)]);
    for batch_events in 1..4 {
        assert_eq!(read_cut(&bytes, 1 << 10, batch_events).expect("a profile"), reading, "{batch_events}");
    }
}

#[test]
fn damage_costs_what_it_hits() {
    let lost = |profile: PprofMessage| read_bytes(&profile.0).expect("a profile").lost();
    assert_eq!(lost(small().message(2, message().bytes(1, &[99]).bytes(2, &[1, 1]))), [(Loss::MissingText, 1)]);
    assert_eq!(lost(small().message(2, message().bytes(1, &[1]).bytes(2, &[1]))), [(Loss::BadRecord, 1)]);
    assert_eq!(lost(small().message(2, message().bytes(1, &[1]).bytes(2, &[1, 2, 3]))), [(Loss::BadRecord, 1)]);
}

/// Returns number and end of each field of a message, whose fields are numbers or bytes.
fn field_ends(bytes: &[u8]) -> Vec<(u64, usize)> {
    let varint = |at: &mut usize| {
        let len = bytes[*at..].iter().position(|byte| *byte < 0x80).expect("the last byte") + 1;
        let digits = &bytes[*at..*at + len];
        *at += len;
        digits.iter().rev().fold(0, |number, byte| number << 7 | u64::from(byte & 0x7f))
    };
    let (mut at, mut ends) = (0, Vec::new());
    while at < bytes.len() {
        let (tag, value) = (varint(&mut at), varint(&mut at));
        at += if tag & 7 == 2 { value as usize } else { 0 };
        ends.push((tag >> 3, at));
    }
    ends
}

#[test]
fn a_cut_costs_the_samples_after_it_and_is_counted() {
    let whole = small().0;
    let ends = field_ends(&whole);
    let sample_ends: Vec<usize> = ends.iter().filter(|(field, _)| *field == 2).map(|&(_, end)| end).collect();
    // The weights of each sample that are not 0.
    let weights = [2, 1, 1, 1];
    // The types and the first sample suffice for detection.
    for len in 36..whole.len() {
        let reading = read_bytes(&whole[..len]).expect("a profile");
        let complete = sample_ends.iter().filter(|&&end| end <= len).count();
        assert_eq!(reading.events.len(), weights[..complete].iter().sum::<usize>(), "{len}");
        // A cut between two fields looks like the end.
        let is_between = ends.iter().any(|&(_, end)| end == len);
        assert_eq!(reading.losses.count(Loss::Truncated), u64::from(!is_between), "{len}");
    }
    let packed = gzip(&whole);
    let readings: Vec<_> = (40..packed.len()).filter_map(|len| read_bytes(&packed[..len]).ok()).collect();
    assert!(!readings.is_empty());
    for reading in readings {
        assert_eq!(reading.losses.count(Loss::Truncated), 1);
    }
}

#[test]
fn a_sample_that_repeats_a_long_label_is_not_expanded_beyond_what_can_be_shown() {
    let label = || message().number(1, 4).number(2, 5);
    let sample = message().bytes(1, &[1]).bytes(2, &[7]);
    // 1.2 GB, if they were expanded.
    let sample = (0..20_000).fold(sample, |sample, _| sample.message(3, label()));
    let profile = message()
        .message(1, message().number(1, 1).number(2, 2))
        .message(2, sample)
        .message(4, message().number(1, 1).message(4, message().number(1, 1)))
        .message(5, message().number(1, 1).number(2, 3));
    let long = "v".repeat(60_000);
    let texts = ["", "cpu", "nanoseconds", "f", "key", &long];
    let profile = texts.iter().fold(profile, |profile, text| profile.bytes(6, text.as_bytes()));
    let reading = read_bytes(&profile.0).expect("a profile");
    assert_eq!((reading.events.len(), reading.lost()), (1, vec![]));
    assert_eq!(reading.events[0].args, "");
}

#[test]
fn a_profile_beyond_its_share_of_the_budget_is_refused_with_the_limit() {
    use crate::base::budget::Budget;
    use crate::formats::{BatchSink, ReadContext, ReadError, Reader};
    struct Nothing;
    impl BatchSink for Nothing {
        fn accept(&mut self, _: crate::model::Batch) -> Result<(), ReadError> {
            Ok(())
        }
    }
    // Locations of two bytes take the most memory relative to their length.
    let profile = (0..200_000u64).fold(small(), |profile, id| profile.message(4, message().number(1, id)));
    let file = crate::formats::testing::file_of(&profile.0);
    let context = ReadContext { budget: Budget::new(16 << 20), ..ReadContext::default() };
    let Ok(Reader::Stream(reader)) = crate::formats::sniff::open(file.path(), &context) else { panic!("a profile") };
    let error = reader.read(&mut Nothing, &context).expect_err("too large").to_string();
    assert!(error.contains("a profile of at most 4194304 bytes"), "{error}");
}

#[test]
fn a_profile_is_distinguished_from_formats_that_begin_with_the_same_byte() {
    assert_eq!(format_of(&small().0), Some("pprof"));
    assert_eq!(format_of(&gzip(&small().0)), Some("pprof"));
    // A type without a unit, in a profile with samples only.
    assert_eq!(format_of(&message().message(1, message().number(1, 1)).bytes(6, b"").0), Some("pprof"));
    // A first sample that is longer than the head.
    let long = message().message(1, message().number(1, 1).number(2, 2)).message(2, message().bytes(1, &[1; 9000]));
    assert_eq!(format_of(&long.0), Some("pprof"));
    let none = [
        message().message(1, message().number(1, 1).number(2, 2)).bytes(15, &[1; 9000]),
        message().message(1, message().bytes(1, b"text")).bytes(6, b""),
        message().message(1, message().number(1, 1)).number(2, 5),
        message().message(1, message().number(1, 1)).bytes(17, b""),
        message().message(1, message().number(1, 1)),
    ];
    for profile in none {
        assert_ne!(format_of(&profile.0), Some("pprof"), "{:?}", profile.0);
    }
}

/// A sample to write: frames, innermost first, two values, a label.
type Written = (Vec<String>, [u64; 2], Option<i64>);

fn written(samples: &[Written]) -> Vec<u8> {
    let mut writer = PprofWriter::new([("cpu", "nanoseconds"), ("hits", "count")], &[]);
    for (frames, values, label) in samples {
        let text = PprofLabel::Text { key: "k".into(), value: "v".into() };
        let label = label.map(|value| PprofLabel::Number { key: "n".into(), value, unit: "bytes".into() });
        let frames = frames.iter().map(|text| PprofFrame { text, ..PprofFrame::default() });
        writer.add(frames, values, &[Some(text), label].map(Vec::from_iter).concat());
    }
    writer.finish(0, 0)
}

#[test]
fn units_are_converted_to_nanoseconds_and_bytes() {
    let profile = |types: [(&str, &str); 2], values: &[[u64; 2]]| {
        let mut writer = PprofWriter::new(types, &[]);
        for values in values {
            writer.add([PprofFrame { text: "f", ..PprofFrame::default() }], values, &[]);
        }
        read_bytes(&writer.finish(0, 0)).expect("a profile")
    };
    let reading = profile([("wall", "ms"), ("space", "kb")], &[[3, 2]]);
    let measures = reading.events.iter().map(|event| {
        let SampleMeasure { event, unit, weight } = SampleMeasure::from_args(&event.args);
        (event.into_owned(), unit.into_owned(), weight)
    });
    let expected = [("wall", "ns", 3_000_000), ("space", "bytes", 2048)];
    assert_eq!(measures.collect::<Vec<_>>(), expected.map(|(event, unit, weight)| (event.into(), unit.into(), weight)));
    // Types whose units are the same after the conversion are rows of their own.
    let reading = profile([("wall", "ms"), ("wall", "ns")], &[[3, 2]]);
    let rows: Vec<String> = reading.events.iter().map(|event| event.track.tid.to_string()).collect();
    assert_eq!(rows, ["wall (ns)", "wall (ns) #2"]);
    let reading = profile([("wall", "seconds"), ("hits", "count")], &[[1 << 40, 0], [1, 0]]);
    assert_eq!((reading.events.len(), reading.lost()), (1, vec![(Loss::BadNumber, 1)]));
}

#[test]
fn addresses_in_files_come_back_as_they_went_in() {
    let names = ["libc.so+0x1f", "main", "a+0x", "f(+0x10)", "[kernel.kallsyms]+0xffffffff81000000", "+0x12", "a+0x01"];
    let stack: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let reading = read_bytes(&written(&[(stack.clone(), [5, 0], None)])).expect("a profile");
    assert_eq!(reading.events[0].stack.iter().rev().collect::<Vec<_>>(), stack.iter().collect::<Vec<_>>());
}

#[test]
fn modules_come_back_with_their_build_ids_and_only_functions_that_are_unknown_are_looked_up() {
    let module = |category: &str, path: &str, byte: u8, kind| Module {
        category: category.into(),
        path: path.into(),
        build_id: BuildId::new(&[byte; 20]),
        kind,
        ..Module::default()
    };
    let [first, second, library] =
        ["/bin/work", "/bin/work (build 0202020202020202020202020202020202020202)", "/l/c.so"];
    let modules = [
        module(library, library, 0, ModuleKind::Linked),
        module(first, "/bin/work", 1, ModuleKind::File),
        module(second, "/bin/work", 2, ModuleKind::Jit(7)),
    ];
    let stack = [
        ("c.so+0x12", Some(library)),
        ("sin", Some(library)),
        ("main", Some(second)),
        // The outermost function of a path is read first.
        ("main", Some(first)),
        ("main", None),
        ("f", Some("unlisted")),
        // Not the file of the module, so it is the name of a function, which would read as an address.
        ("main+0x12", Some(first)),
    ];
    let mut writer = PprofWriter::new([("cpu", "nanoseconds")], &modules);
    writer.add(stack.map(|(text, module)| PprofFrame { text, module, ..PprofFrame::default() }), &[5], &[]);
    let bytes = writer.finish(0, 0);
    let reading = read_bytes(&bytes).expect("a profile");
    let sample = &reading.events[0];
    let found: Vec<_> = sample.stack.iter().cloned().zip(sample.modules.iter().cloned()).rev().collect();
    let mut expected = stack.map(|(text, module)| (text.to_owned(), module.map(str::to_owned)));
    expected[6].1 = None;
    assert_eq!(found, expected);
    let read = |category: &str| {
        reading.metadata.iter().find_map(|it| match it {
            Metadata::Module { module } if *module.category == *category => Some((**module).clone()),
            _ => None,
        })
    };
    assert_eq!([library, first, second].map(read), modules.map(Some));
    assert_eq!(read("unlisted").map(|module| module.kind), Some(ModuleKind::Unknown));
    // The program is the first mapping, as readers expect.
    let mappings = Fields::new(&bytes).filter(|field| field.number == profile::MAPPING);
    let flags = mappings.map(|field| {
        let ProtoValue::Bytes(bytes) = field.value else { panic!("a message") };
        let number = |of| Fields::new(bytes).find(|part| part.number == of).map_or(0, |part| part.value.number());
        (number(mapping::ID), number(mapping::HAS_FUNCTIONS))
    });
    assert_eq!(flags.collect::<Vec<_>>(), [(2, 1), (3, 1), (4, 1), (1, 0)]);
}

#[test]
fn a_function_without_a_name_and_an_address_is_not_read_back_as_address_0() {
    let stack = ["", "main", ""].map(str::to_owned).to_vec();
    let reading = read_bytes(&written(&[(stack.clone(), [5, 0], None)])).expect("a profile");
    assert_eq!((reading.lost(), &reading.events[0].stack), (vec![], &stack));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn written_samples_are_read_back_for_any_block_size(
        meant in prop::collection::vec(
            (prop::collection::vec("[a-z]{1,2}(\\+0x[1-9a-f]{1,3})?", 0..6), [0u64..3, 0..1 << 40], prop::option::of(any::<i64>())),
            1..20,
        ),
        block_bytes in 1usize..200,
    ) {
        let bytes = written(&meant);
        let reading = read_bytes(&bytes).expect("a profile");
        prop_assert_eq!(reading.lost(), []);
        let mut expected = Vec::new();
        for (frames, values, label) in &meant {
            let stack: Vec<&str> = frames.iter().rev().map(String::as_str).collect();
            let number = label.map(|value| format!(r#","n":{{"num":{value},"unit":"bytes"}}"#)).unwrap_or_default();
            let labels = format!(r#"{{"k":"v"{number}}}"#);
            for (row, value) in ["cpu (ns)", "hits (count)"].iter().zip(values) {
                if *value > 0 {
                    expected.push((row.to_string(), stack.join(";"), *value, labels.clone()));
                }
            }
        }
        expected.sort();
        let mut found = samples(&reading);
        found.sort();
        prop_assert_eq!(found, expected);
        // Stacks with a common prefix are adjacent on each row.
        for row in ["cpu (ns)", "hits (count)"] {
            let of_row = reading.events.iter().filter(|event| event.track.tid == Id::Text(row.into()));
            let mut firsts: Vec<Option<&String>> = of_row.map(|event| event.stack.first()).collect();
            firsts.dedup();
            let count = firsts.len();
            firsts.sort();
            firsts.dedup();
            prop_assert_eq!(firsts.len(), count);
        }
        prop_assert_eq!(read_cut(&bytes, block_bytes, 2).expect("a profile"), reading);
    }
}

/// Returns the number of samples and the depths of their stacks.
fn counts(bytes: &[u8]) -> (usize, BTreeSet<usize>) {
    #[derive(Default)]
    struct CountingSink(usize, BTreeSet<usize>);

    impl BatchSink for CountingSink {
        fn accept(&mut self, batch: Batch) -> Result<(), ReadError> {
            self.0 += batch.chunk.events.len();
            let stacks: BTreeSet<_> = batch.chunk.events.iter().map(|event| event.value).collect();
            let depth = |value| batch.stacks.frames(StackIdx::from_value(value)).count();
            self.1.extend(stacks.into_iter().map(depth));
            Ok(())
        }
    }

    let (file, context, mut sink) = (file_of(bytes), ReadContext::default(), CountingSink::default());
    let Reader::Stream(reader) = sniff::open(file.path(), &context).expect("a profile") else { panic!("chunks") };
    reader.read(&mut sink, &context).expect("a profile");
    (sink.0, sink.1)
}

#[test]
fn locations_with_many_inlined_functions_are_read_once_for_each_caller() {
    // Reading each frame of each sample would take a billion steps.
    const COUNT: u64 = 20_000;
    let line = |function: u64| message().number(1, function);
    let function = |id: u64, name: u64| message().number(1, id).number(2, name);
    let long = (0..20_000).fold(message().number(1, 1), |location, _| location.message(4, line(1)));
    let mut profile = message()
        .message(1, message().number(1, 1).number(2, 2))
        .message(5, function(1, 3))
        .message(5, function(2, 4))
        .message(4, message().number(1, 2).message(4, line(2)))
        .message(4, long);
    for text in ["", "samples", "count", "f", "main"] {
        profile = profile.bytes(6, text.as_bytes());
    }
    for number in 0..COUNT {
        let path: &[u8] = if number.is_multiple_of(2) { &[1, 2] } else { &[1, 1] };
        profile = profile.message(2, message().bytes(1, path).number(2, 1));
    }
    assert_eq!(counts(&profile.0), (COUNT as usize, BTreeSet::from([20_001, 40_000])));
}

#[test]
fn only_a_stack_that_is_cut_is_too_deep() {
    let lost = |frames: usize| {
        let sample = message().bytes(1, &vec![1; frames]).number(2, 1).number(2, 0);
        read_bytes(&small().message(2, sample).0).expect("a profile").losses.count(Loss::DeepNesting)
    };
    assert_eq!([1 << 16, (1 << 16) + 1].map(lost), [0, 1]);
}

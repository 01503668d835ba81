//! Source lines of frames in symbolized exports, read back by naive readers of each format.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use serde_json::Value;

use crate::harness::{folder, longspan, text};
use crate::recording::{program, recording};

/// A function with its file and line.
type Frame = (String, Option<(String, u64)>);

/// Follows a stack through its frames with callers, innermost first.
fn path<I: Copy + Ord>(frames: &BTreeMap<I, (Frame, Option<I>)>, innermost: I) -> Vec<Frame> {
    let next = |&id: &I| frames[&id].1;
    std::iter::successors(Some(innermost), next).map(|id| frames[&id].0.clone()).collect()
}

fn stacks_of_json(output: &Path) -> Vec<Vec<Frame>> {
    let document: Value = serde_json::from_slice(&fs::read(output).expect("there")).expect("JSON");
    let frames = document["stackFrames"].as_object().expect("frames").iter();
    let frame = |(id, frame): (&String, &Value)| {
        let source = frame["file"].as_str().map(|file| (file.to_owned(), frame["line"].as_u64().unwrap_or(0)));
        let name = frame["name"].as_str().expect("a name").to_owned();
        (id.parse::<u64>().expect("a number"), ((name, source), frame["parent"].as_u64()))
    };
    let frames = frames.map(frame).collect();
    let events = document["traceEvents"].as_array().expect("events").iter();
    events
        .filter(|event| event["ph"] == "P")
        .map(|event| path(&frames, event["sf"].as_u64().expect("a stack")))
        .collect()
}

fn stacks_of_parquet(output: &Path) -> Vec<Vec<Frame>> {
    let rows = |name: &str| -> Vec<BTreeMap<String, Field>> {
        let file = SerializedFileReader::new(File::open(output.join(name)).expect("there")).expect("a table");
        let rows = file.get_row_iter(None).expect("rows").map(|row| row.expect("a row"));
        rows.map(|row| row.get_column_iter().map(|(name, field)| (name.clone(), field.clone())).collect()).collect()
    };
    let number = |field: &Field| match field {
        Field::Int(number) => Some(u64::try_from(*number).expect("positive")),
        Field::Long(number) => Some(u64::try_from(*number).expect("positive")),
        _ => None,
    };
    let text = |field: &Field| if let Field::Str(text) = field { Some(text.clone()) } else { None };
    let frame = |row: &BTreeMap<String, Field>| {
        let source = text(&row["file"]).map(|file| (file, number(&row["line"]).unwrap_or(0)));
        let name = text(&row["name"]).expect("a name");
        (number(&row["stack_id"]).expect("an id"), ((name, source), number(&row["parent_id"])))
    };
    let frames = rows("stacks.parquet").iter().map(frame).collect();
    rows("samples.parquet").iter().map(|row| path(&frames, number(&row["stack_id"]).expect("a stack"))).collect()
}

/// A field of a message.
enum ProtoField<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let len = 1 + bytes.iter().position(|byte| byte & 0x80 == 0).expect("an end");
    let (number, rest) = bytes.split_at(len);
    *bytes = rest;
    number.iter().rev().fold(0, |value, byte| value << 7 | u64::from(byte & 0x7f))
}

fn fields(mut bytes: &[u8]) -> Vec<(u64, ProtoField<'_>)> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let head = varint(&mut bytes);
        let field = match head & 7 {
            0 => ProtoField::Number(varint(&mut bytes)),
            kind => {
                let len = match kind {
                    1 => 8,
                    5 => 4,
                    _ => usize::try_from(varint(&mut bytes)).expect("short"),
                };
                let (field, rest) = bytes.split_at(len);
                bytes = rest;
                ProtoField::Bytes(field)
            }
        };
        fields.push((head >> 3, field));
    }
    fields
}

fn messages<'a>(bytes: &'a [u8], field: u64) -> Vec<&'a [u8]> {
    let is_wanted = |(number, value): (u64, ProtoField<'a>)| match value {
        ProtoField::Bytes(bytes) if number == field => Some(bytes),
        _ => None,
    };
    fields(bytes).into_iter().filter_map(is_wanted).collect()
}

fn numbers(bytes: &[u8], field: u64) -> Vec<u64> {
    let is_wanted = |(number, value): (u64, ProtoField<'_>)| match value {
        ProtoField::Number(value) if number == field => Some(value),
        _ => None,
    };
    fields(bytes).into_iter().filter_map(is_wanted).collect()
}

/// The field numbers are those of Perfetto's `interned_data.proto`, `profile_common.proto` and `profile_packet.proto`.
fn stacks_of_perfetto(output: &Path) -> Vec<Vec<Frame>> {
    let trace = fs::read(output).expect("there");
    let (mut functions, mut sources) = (BTreeMap::new(), BTreeMap::new());
    let (mut frames, mut callstacks, mut samples) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
    for packet in messages(&trace, 1) {
        for interned in messages(packet, 12) {
            for (field, texts) in [(5, &mut functions), (18, &mut sources)] {
                for message in messages(interned, field) {
                    let text = String::from_utf8_lossy(messages(message, 2)[0]).into_owned();
                    assert!(texts.insert(numbers(message, 1)[0], text).is_none(), "interned once");
                }
            }
            for frame in messages(interned, 6) {
                let line = numbers(frame, 6).first().copied().unwrap_or(0);
                let source = numbers(frame, 5).first().map(|path| (sources[path].clone(), line));
                let shown: Frame = (functions[&numbers(frame, 2)[0]].clone(), source);
                assert!(frames.insert(numbers(frame, 1)[0], shown).is_none(), "interned once");
            }
            for callstack in messages(interned, 7) {
                let path: Vec<Frame> = numbers(callstack, 2).iter().rev().map(|frame| frames[frame].clone()).collect();
                callstacks.insert(numbers(callstack, 1)[0], path);
            }
        }
        samples.extend(messages(packet, 66).into_iter().map(|sample| callstacks[&numbers(sample, 4)[0]].clone()));
    }
    samples
}

/// Reads the stacks of all samples of an export.
type Reader = fn(&Path) -> Vec<Vec<Frame>>;

#[test]
fn symbolized_exports_have_the_source_line_of_each_frame() {
    let folder = folder();
    let program = program(folder.path(), "");
    let file = recording(folder.path(), &program);
    let source = text(&folder.path().join("work.c")).to_owned();
    let at = |function: &str, line| (function.to_owned(), Some((source.clone(), line)));
    let whole = vec![at("inner", 2), at("outer", 3), at("main", 4)];
    let expected = [whole.clone(), whole, vec![("libmissing.so+0x40".to_owned(), None), at("main", 4)]];
    let readers: [(&str, Reader); 3] =
        [("out.json", stacks_of_json), ("out.pftrace", stacks_of_perfetto), ("out.parquet", stacks_of_parquet)];
    for (output, stacks_of) in readers {
        for (args, has_sources) in [(&["--symbolized"][..], true), (&[], false)] {
            let output = folder.path().join(format!("{has_sources}_{output}"));
            longspan(&[&["export", "--no-cache", text(&file), "-o", text(&output)], args].concat()).done();
            let stacks = stacks_of(&output);
            if has_sources {
                assert_eq!(stacks, expected, "{}", output.display());
            } else {
                assert!(stacks.iter().flatten().all(|(_, source)| source.is_none()), "{stacks:?}");
            }
        }
    }
}

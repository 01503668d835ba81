//! All events in any style are read back, however the bytes are split.

use proptest::prelude::*;

use super::*;

/// A record, independent of its style.
#[derive(Debug, Clone)]
struct MeantRecord {
    ph: char,
    name: String,
    category: Option<String>,
    ts_ns: i32,
    dur_ns: u32,
    pid: u8,
    tid: Option<u8>,
    args: Option<String>,
}

/// The style in which a record is written.
#[derive(Debug, Clone)]
struct RecordStyle {
    rotation: usize,
    space: String,
    escape_all: bool,
    time_as_text: bool,
    extra: bool,
}

fn meant() -> impl Strategy<Value = MeantRecord> {
    let ph = prop::sample::select(vec!['X', 'B', 'E', 'i']);
    let args = prop::option::of("[a-z{}\\[\\],:\"\\\\é\n]{0,12}");
    (ph, "\\PC{0,8}", prop::option::of("[a-z,\"{}]{0,4}"), any::<(i32, u32, u8, Option<u8>)>(), args).prop_map(
        |(ph, name, category, (ts_ns, dur_ns, pid, tid), args)| MeantRecord {
            ph,
            name,
            category,
            ts_ns,
            dur_ns,
            pid,
            tid,
            args,
        },
    )
}

fn style() -> impl Strategy<Value = RecordStyle> {
    (any::<usize>(), "[ \t\r\n]{0,2}", any::<(bool, bool, bool)>()).prop_map(
        |(rotation, space, (escape_all, time_as_text, extra))| RecordStyle {
            rotation,
            space,
            escape_all,
            time_as_text,
            extra,
        },
    )
}

fn micros(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    format!("{sign}{}.{:03}", ns.unsigned_abs() / 1000, ns.unsigned_abs() % 1000)
}

/// Value of a member that the format does not define.
const EXTRA: &str = r#"[{"},{":"ph"},null]"#;

impl RecordStyle {
    fn text(&self, text: &str) -> String {
        if self.escape_all {
            let units = text.encode_utf16().map(|unit| format!("\\u{unit:04x}"));
            format!("\"{}\"", units.collect::<String>())
        } else {
            serde_json::to_string(text).expect("text")
        }
    }

    fn write(&self, meant: &MeantRecord) -> String {
        let time = |ns| if self.time_as_text { format!("\"{}\"", micros(ns)) } else { micros(ns) };
        let mut fields = vec![
            ("ph", self.text(&meant.ph.to_string()).replace("\\u0058", "X")),
            ("name", self.text(&meant.name)),
            ("ts", time(i64::from(meant.ts_ns))),
            ("pid", meant.pid.to_string()),
        ];
        // No tracer escapes phase letters.
        fields[0].1 = format!("\"{}\"", meant.ph);
        if meant.ph == 'X' {
            fields.push(("dur", time(i64::from(meant.dur_ns))));
        }
        fields.extend(meant.category.as_ref().map(|category| ("cat", self.text(category))));
        fields.extend(meant.tid.map(|tid| ("tid", tid.to_string())));
        fields.extend(meant.args.as_ref().map(|args| ("args", meant_args(args))));
        if self.extra {
            fields.push(("extra", EXTRA.to_owned()));
        }
        let rotation = self.rotation % fields.len();
        fields.rotate_left(rotation);
        let space = &self.space;
        let fields: Vec<_> =
            fields.iter().map(|(key, value)| format!("{space}\"{key}\"{space}:{space}{value}{space}")).collect();
        format!("{{{}}}{space}", fields.join(","))
    }
}

fn meant_args(text: &str) -> String {
    serde_json::json!({ "k": text, "list": [{"a": text}, 1.5] }).to_string()
}

fn expected(meant: &MeantRecord, style: &RecordStyle) -> ReadEvent {
    let kind = match meant.ph {
        'X' => EventKind::Complete,
        'B' => EventKind::Begin,
        'E' => EventKind::End,
        _ => EventKind::Instant,
    };
    let mut args = meant.args.as_deref().map(meant_args).unwrap_or_default();
    if style.extra {
        let before = args.strip_suffix('}').map_or("{".to_owned(), |members| format!("{members},"));
        args = format!("{before}\"extra\":{EXTRA}}}");
    }
    ReadEvent {
        ts_ns: i64::from(meant.ts_ns),
        kind,
        name: meant.name.clone(),
        category: meant.category.clone().filter(|category| !category.is_empty()),
        track: thread(meant.pid.into(), meant.tid.unwrap_or(meant.pid).into()),
        value: if kind == EventKind::Complete { meant.dur_ns.into() } else { 0 },
        depth: 0,
        flags: EventFlags::NONE,
        thread_ts_ns: None,
        thread_dur_ns: None,
        args,
        stack: Vec::new(),
        modules: Vec::new(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_events_in_any_spelling_read_as_they_are_meant(
        records in prop::collection::vec((meant(), style()), 0..20), object_form: bool, piece_bytes in 1usize..2000,
    ) {
        let written: Vec<_> = records.iter().map(|(meant, style)| style.write(meant)).collect();
        let array = format!("[{}]", written.join(","));
        let text = if object_form { format!("{{\"a\":{{}},\"traceEvents\":{array},\"b\":\"]\"}}") } else { array };
        let mut events: Vec<_> = records.iter().map(|(meant, style)| expected(meant, style)).collect();
        events.sort_by_key(|event| event.ts_ns);
        let meant = Reading { events, ..Reading::default() };
        prop_assert_eq!(&read(&text), &meant);
        prop_assert_eq!(&read_in_pieces(text.as_bytes(), piece_bytes).expect("a capture"), &meant);
    }

    #[test]
    fn any_damage_reads_the_same_in_pieces_and_never_panics(
        records in prop::collection::vec((meant(), style()), 1..12), edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), any::<bool>()), 1..6),
        piece_bytes in 1usize..500,
    ) {
        let written: Vec<_> = records.iter().map(|(meant, style)| style.write(meant)).collect();
        let mut bytes = format!("[{}]", written.join(",")).into_bytes();
        for (index, byte, removes) in edits {
            let at = index.index(bytes.len() - 1) + 1;
            if removes { bytes.truncate(at.max(bytes.len() / 2)); } else { bytes[at] = b"{}[],:\"\\ x\n"[usize::from(byte) % 11]; }
            if bytes.len() < 2 { break; }
        }
        let whole = read_bytes(&bytes);
        let pieces = read_in_pieces(&bytes, piece_bytes);
        prop_assert_eq!(format!("{:?}", whole.ok()), format!("{:?}", pieces.ok()));
    }
}

#[test]
fn every_piece_size_gives_the_same_reading() {
    let records: Vec<_> = (0..16)
        .map(|k| {
            let args = format!(r#"{{"s":"}},{{\"{k}","l":[{{"ph":"X","ts":{k}}},{{}}]}}"#);
            format!(
                r#"{{"name":"n{}","ph":"X","ts":{},"dur":{k},"pid":1,"tid":{},"args":{args}}}"#,
                k % 7,
                1000 - k,
                k % 3
            )
        })
        .collect();
    let text = format!(r#"{{"x":[{{"ph":"X"}}],"traceEvents":[{}],"y":{{"z":[1,2]}}}}"#, records.join(",\n"));
    let reading = read(&text);
    assert_eq!((reading.events.len(), reading.lost()), (16, vec![]));
    for piece_bytes in 1..=text.len() + 1 {
        assert_eq!(read_in_pieces(text.as_bytes(), piece_bytes).expect("a capture"), reading, "{piece_bytes}");
    }
}

#[test]
fn a_capture_cut_at_any_byte_keeps_what_came_before() {
    let records: Vec<_> = (0..12)
        .map(|k| {
            format!(r#"{{"name":"n\u00e9{k}\\","ph":"X","ts":{k}.5,"dur":1e0,"args":{{"a":[{{"b":"}},{{"}},{k}]}}}}"#)
        })
        .collect();
    for (before, after) in [("[", "]"), (r#"{"m":{"a":["x"]},"traceEvents":["#, r#"],"n":null}"#)] {
        let text = format!("{before}{}{after}", records.join(","));
        let whole = read(&text);
        for len in 0..text.len() {
            let Ok(cut) = read_bytes(&text.as_bytes()[..len]) else {
                assert!(len <= before.len(), "cut at {len}");
                continue;
            };
            assert!(whole.events.starts_with(&cut.events), "cut at {len}");
            let text = &text[..len];
            let complete = text.matches("]}}").count();
            assert_eq!(cut.events.len(), complete, "cut at {len}");
            assert!(cut.lost().iter().all(|(loss, count)| (*loss, *count) == (Loss::Truncated, 1)), "cut at {len}");
        }
    }
}

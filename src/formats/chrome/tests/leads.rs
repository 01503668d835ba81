//! Records with predicted leads equal those that are read byte by byte, and most leads are predicted.

use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};

use super::*;
use crate::formats::chrome::leads::Leads;
use crate::formats::chrome::records::{ArrayPosition, parse_with};
use crate::formats::chrome::write::ChromeJsonWriter;
use crate::model::frame_sources::FrameSources;
use crate::model::{Event, Names, Registry, Stacks};

const KEYS: &str = r#"ph name cat ts dur pid tid tts tdur args id id2 scope s bp bind_id flow_in flow_out sf stack cpu
place .file .line x na\u006de é a\"b thread_name a_key_that_is_longer_than_a_lead"#;

const SPACES: &[&str] = &["", "", "", " ", "\n", "\t \r", "\n        "];

fn value() -> impl Strategy<Value = String> {
    let phases = ["\"X\"", "\"B\"", "\"E\"", "\"i\"", "\"C\"", "\"M\"", "\"b\"", "\"s\"", "\"Xy\"", "\"\""];
    let odd =
        ["null", "true", "NaN", "-Infinity", "01", "-0", "1e5", "1.5E-3", "-12.5", "0x1f", "18446744073709551616"];
    let nested =
        ["{}", "[]", "{\"a\":1}", "{ \"a\" : [1, {\"b\":\"}\"}] }", "[1,]", "{\"name\":\"n\",\"cpu\":2,}", "[[[]]]"];
    prop_oneof![
        select(phases.to_vec()).prop_map(str::to_owned),
        "[0-9]{1,18}(\\.[0-9]{1,12})?",
        "\"[a-z:_ ]{0,24}\"",
        "\"([a-zé]|\\\\[\"\\\\nq]|\\\\u00e9|\u{1}|😀){0,8}\"",
        select(odd.to_vec()).prop_map(str::to_owned),
        select(nested.to_vec()).prop_map(str::to_owned),
    ]
}

/// Generates records of several shapes, each a list of keys, with one style of white space and commas, and some damage.
fn document() -> impl Strategy<Value = Vec<u8>> {
    let shapes =
        prop::collection::vec(subsequence(KEYS.split_whitespace().collect::<Vec<_>>(), 0..12).prop_shuffle(), 1..4);
    let records = prop::collection::vec((any::<Index>(), prop::collection::vec(value(), 12)), 1..12);
    let space = || select(SPACES);
    let spaces = (space(), space(), space(), space());
    let between = select(&[",", ",", ",\n", " , ", "", ",,"][..]);
    let last_comma = prop::bool::weighted(0.1);
    let edits = prop::collection::vec((any::<Index>(), select(&b"{}[],:\"\\ x\n"[..])), 0..2);
    (shapes, records, spaces, between, last_comma, edits).prop_map(
        |(shapes, records, (before, after_key, after_colon, after), between, last_comma, edits)| {
            let record = |(shape, values): &(Index, Vec<String>)| {
                let keys = shape.get(&shapes).iter().zip(values);
                let members =
                    keys.map(|(key, value)| format!("{before}\"{key}\"{after_key}:{after_colon}{value}{after}"));
                let members = members.collect::<Vec<_>>().join(",");
                format!("{{{members}{}}}", if last_comma { "," } else { "" })
            };
            let mut bytes = records.iter().map(record).collect::<Vec<_>>().join(between).into_bytes();
            bytes.push(b']');
            for (at, byte) in edits {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            bytes
        },
    )
}

/// Returns the result of a parse with `leads`, and the number of leads that were read byte by byte.
fn parsed(bytes: &[u8], mut leads: Leads, at_end: bool) -> (String, u64) {
    let begins = ArrayPosition::Between { comma_due: false };
    let parsed = parse_with(&mut leads, bytes, 7, begins, at_end, None);
    (format!("{:?} {:?} {}", parsed.events, parsed.position, parsed.consumed), leads.read_bytewise)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 50, ..ProptestConfig::default() })]

    #[test]
    fn predictions_change_nothing_wherever_the_bytes_end(bytes in document(), at_end: bool) {
        for len in 0..=bytes.len() {
            let bytes = &bytes[..len];
            let (predicted, _) = parsed(bytes, Leads::default(), at_end);
            let (bytewise, _) = parsed(bytes, Leads::unpredictable(), at_end);
            prop_assert_eq!(predicted, bytewise, "{}", String::from_utf8_lossy(bytes));
        }
    }
}

/// Returns the percentage of predicted leads in a document.
fn predicted_percent(bytes: &[u8]) -> u64 {
    let array = memchr::memmem::find(bytes, b"\"traceEvents\"").unwrap_or(0);
    let first = array + memchr::memchr(b'[', &bytes[array..]).expect("an array") + 1;
    let (predicted, read) = parsed(&bytes[first..], Leads::default(), true);
    let (bytewise, all) = parsed(&bytes[first..], Leads::unpredictable(), true);
    assert_eq!(predicted, bytewise);
    100 * (all - read) / all
}

/// Writes spans of a thread like the exports of this program.
fn exported() -> Vec<u8> {
    let (mut names, mut registry) = (Names::default(), Registry::default());
    let name = |k: u64| names.intern(&format!("module::function_{k}"), Some("module"));
    let names_of_spans: Vec<_> = (0..40).map(name).collect();
    let track = registry.track(&thread(1000, 1003)).expect("a track");
    let stacks = Stacks::default();
    let mut writer =
        ChromeJsonWriter::new(Vec::new(), &names, (&stacks, FrameSources::NONE), registry.tables()).expect("memory");
    for k in 0..2000u64 {
        let name = names_of_spans[k as usize % 40];
        let event = Event::new(k as i64 * 7919, EventKind::Complete, track, name);
        writer.event(&Event { value: k * 31 % 9973, ..event }, &[]).expect("memory");
    }
    writer.finish().expect("memory")
}

#[test]
fn the_leads_of_captures_are_predicted() {
    assert_eq!(predicted_percent(&exported()), 99);
    for (file, percent) in [
        ("go_trace.json", 99),
        ("pyspy_chrome.json", 99),
        ("tracing_chrome_async.json.gz", 99),
        ("tracing_chrome_threads.json.gz", 99),
        ("viztracer_ring.json.gz", 99),
        // One number in ten has an exponent.
        ("jax.trace.json.gz", 93),
        ("people/devtools-user-timing.json.gz", 99),
    ] {
        let mut bytes = Vec::new();
        let mut source = Source::open(&data(file), &context(1)).expect("a file");
        std::io::Read::read_to_end(&mut source, &mut bytes).expect("read");
        let predicted = predicted_percent(&bytes);
        assert!(predicted >= percent, "{file}: {predicted} %");
    }
}

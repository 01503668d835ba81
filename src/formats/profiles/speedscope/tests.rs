//! Tests of both kinds of profiles, on a trace of py-spy and on generated documents.

use super::*;
use crate::formats::testing::{Reading, data, read, read_bytes, read_path};
use proptest::prelude::*;

fn file(profiles: &str) -> String {
    format!(
        r#"{{"$schema":"https://www.speedscope.app/file-format-schema.json","profiles":[{profiles}],
        "shared":{{"frames":[{{"name":"a"}},{{"name":"b","file":"/x/b.rs","line":7}},{{"name":"c","col":null}}]}}}}"#
    )
}

/// Returns time, weight and frames of each sample.
fn samples(reading: &Reading) -> Vec<(i64, u64, Vec<String>)> {
    let weight = |args: &str| SampleMeasure::from_args(args).weight;
    reading.events.iter().map(|event| (event.ts_ns, weight(&event.args), event.stack.clone())).collect()
}

#[test]
fn a_real_capture_has_the_samples_of_its_profiles_in_nanoseconds() {
    let reading = read_path(&data("pyspy.speedscope.json")).expect("a capture");
    assert_eq!(reading.lost(), []);
    let text = std::fs::read(data("pyspy.speedscope.json")).expect("a file");
    let json: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    for (number, profile) in (1i64..).zip(json["profiles"].as_array().expect("profiles")) {
        let stacks = profile["samples"].as_array().expect("samples");
        let own: Vec<_> = reading.events.iter().filter(|event| event.track.tid == Id::Number(number)).collect();
        assert_eq!(own.len(), stacks.len(), "profile {number}");
        for (at, (event, stack)) in own.iter().zip(stacks).enumerate() {
            // Every sample of this py-spy profile weighs 2 ms.
            assert_eq!(event.args, r#"{"event":"time","unit":"ns","period":2000000}"#);
            assert_eq!(event.ts_ns - own[0].ts_ns, 2_000_000 * at as i64);
            assert_eq!(event.stack.len(), stack.as_array().expect("frames").len());
        }
    }
}

proptest! {
    #[test]
    fn samples_follow_each_other_by_their_weights(
        meant in proptest::collection::vec((proptest::collection::vec(0u32..3, 0..5), 0u64..9), 1..20),
        unit in 0usize..4,
    ) {
        let (unit, read_as, step) = [
            ("nanoseconds", "ns", 1), ("milliseconds", "ns", 1_000_000), ("bytes", "bytes", 1), ("none", "count", 1),
        ][unit];
        let stacks: Vec<&Vec<u32>> = meant.iter().map(|(stack, _)| stack).collect();
        let weights: Vec<u64> = meant.iter().map(|&(_, weight)| weight).collect();
        let profile = format!(
            r#"{{"type":"sampled","name":"p","unit":"{unit}","startValue":5,"samples":{stacks:?},"weights":{weights:?}}}"#
        );
        let reading = read(&file(&profile));
        prop_assert_eq!(reading.lost(), []);
        // Counts are drawn a microsecond each, and start at 0 like bytes.
        let drawn = if read_as == "count" { 1000 } else { step };
        let mut now = if read_as == "ns" { 5 * step as i64 } else { 0 };
        let mut expected = Vec::new();
        for (stack, weight) in &meant {
            let names = stack.iter().map(|&frame| ["a", "b (b.rs:7)", "c"][frame as usize].to_owned()).collect();
            expected.push((now, weight * step, names));
            now += (weight * drawn) as i64;
        }
        prop_assert_eq!(samples(&reading), expected);
        let unit_of = |args: &str| SampleMeasure::from_args(args).unit.into_owned();
        prop_assert!(reading.events.iter().all(|event| unit_of(&event.args) == read_as));
    }
}

#[test]
fn profiles_without_weights_count_and_those_without_a_schema_are_read() {
    let profile = r#"{"type":"sampled","name":"p","unit":"none","startValue":0,"samples":[[0],[0,1],[9]]}"#;
    let reading = read(&file(profile));
    let weights: Vec<_> = samples(&reading).into_iter().map(|(ts, weight, _)| (ts, weight)).collect();
    assert_eq!(weights, [(0, 1), (1000, 1), (2000, 1)]);
    assert_eq!(reading.lost(), [(Loss::MissingText, 1)], "a frame that is not there");
    let bare = format!(r#"{{"exporter":"rbspy","profiles":[{profile}],"shared":{{"frames":[{{"name":"a"}}]}}}}"#);
    assert_eq!(read(&bare).events.len(), 3);
    assert!(!looks_like_speedscope(br#"{"profiles":[{"type":"sampled"}],"unit":1}"#));
}

#[test]
fn fractional_weights_are_kept_in_millionths_and_those_that_no_unit_holds_are_counted() {
    let weighed = |unit: &str, weights: &str| {
        let profile = format!(
            r#"{{"type":"sampled","name":"p","unit":"{unit}","startValue":0,"samples":[[0],[0,1],[2]],"weights":[{weights}]}}"#
        );
        let reading = read(&file(&profile));
        let unit_of = |args: &str| SampleMeasure::from_args(args).unit.into_owned();
        assert!(reading.events.iter().all(|event| unit_of(&event.args) == unit_of(&reading.events[0].args)));
        let weights: Vec<_> = samples(&reading).into_iter().map(|(_, weight, _)| weight).collect();
        (unit_of(&reading.events[0].args), weights, reading.lost())
    };
    let millionths = "millionths".to_owned();
    assert_eq!(weighed("none", "0.25,0.4,0.25"), (millionths.clone(), vec![250_000, 400_000, 250_000], vec![]));
    assert_eq!(weighed("none", "1,2.5,3"), (millionths.clone(), vec![1_000_000, 2_500_000, 3_000_000], vec![]));
    assert_eq!(weighed("none", "1.0,2e0,\"3\""), ("count".to_owned(), vec![1, 2, 3], vec![]), "these are whole");
    let missing = vec![(Loss::MissingWeight, 2)];
    assert_eq!(weighed("none", "0.5"), (millionths.clone(), vec![500_000; 3], missing));
    let rounded = vec![(Loss::RoundedWeight, 1)];
    assert_eq!(weighed("none", "1e-9,1,1"), (millionths, vec![0, 1_000_000, 1_000_000], rounded.clone()));
    assert_eq!(weighed("bytes", "0.25,4,5"), ("bytes".to_owned(), vec![0, 4, 5], rounded.clone()));
    assert_eq!(weighed("nanoseconds", "0.25,4.4,5"), ("ns".to_owned(), vec![0, 4, 5], rounded.clone()));
    let events = r#"[{"type":"O","frame":0,"at":0.5},{"type":"C","frame":0,"at":4}]"#;
    let evented = |unit: &str| {
        read(&file(&format!(r#"{{"type":"evented","name":"p","unit":"{unit}","events":{events}}}"#))).lost()
    };
    assert_eq!((evented("bytes"), evented("none"), evented("nanoseconds")), (rounded, vec![], vec![]));
    let bad = vec![(Loss::BadNumber, 2)];
    assert_eq!(weighed("none", "-0.5,null,1"), ("millionths".to_owned(), vec![0, 0, 1_000_000], bad));
}

#[test]
fn a_second_file_after_the_first_is_counted() {
    let one = file(r#"{"type":"sampled","name":"p","unit":"none","samples":[[0]],"weights":[1]}"#);
    for rest in [&*one, "garbage", "{}"] {
        let reading = read(&format!("{one}\n{rest}"));
        assert_eq!((reading.events.len(), reading.lost()), (1, vec![(Loss::TrailingData, 1)]), "{rest}");
    }
}

#[test]
fn evented_profiles_of_times_are_begins_and_ends_in_their_unit() {
    let reading = read(&file(
        r#"{"type":"evented","name":"main","unit":"milliseconds","startValue":0,"endValue":2,
        "events":[{"type":"O","frame":0,"at":0.5},{"type":"O","frame":9,"at":1},{"type":"C","frame":9,"at":1.25},
        {"type":"C","frame":0,"at":2e0},{"type":"Q","frame":0,"at":2},{"type":"C","frame":0,"at":"x"}]}"#,
    ));
    let found: Vec<_> = reading.events.iter().map(|event| (event.ts_ns, event.kind, &*event.name)).collect();
    let (begin, end) = (EventKind::Begin, EventKind::End);
    assert_eq!(found, [(500_000, begin, "a"), (1_000_000, begin, ""), (1_250_000, end, ""), (2_000_000, end, "a")]);
    assert_eq!(reading.lost(), [(Loss::BadTime, 1), (Loss::UnknownPhase, 1), (Loss::MissingText, 2)]);
}

#[test]
fn samples_whose_weights_were_cut_off_are_shown_and_counted() {
    let profile = r#"{"type":"sampled","name":"p","unit":"nanoseconds","samples":[[0],[0,1],[2]],"weights":[5,70,9]}"#;
    let shared = r#""shared":{"frames":[{"name":"a"},{"name":"b"},{"name":"c"}]}"#;
    let schema = r#""$schema":"https://www.speedscope.app/file-format-schema.json""#;
    let text = format!("{{{schema},{shared},\"profiles\":[{profile}]}}");
    let cut = |before: &str| {
        let reading = read_bytes(&text.as_bytes()[..text.find(before).expect("there")]).expect("a part");
        let weights: Vec<_> = samples(&reading).into_iter().map(|(_, weight, _)| weight).collect();
        (weights, reading.losses.count(Loss::MissingWeight))
    };
    // A number at the end of the file may have had more digits.
    assert_eq!(cut(",\"weights"), (vec![1_000_000; 3], 3));
    assert_eq!(cut("70,9"), (vec![5; 3], 2));
    assert_eq!(cut("9]"), (vec![5, 70, 70], 1));
    // Also in a complete file.
    let reading = read(&file(&profile.replace(r#","weights":[5,70,9]"#, "")));
    assert_eq!(reading.lost(), [(Loss::MissingWeight, 3)]);
    assert_eq!(reading.events.len(), 3);
}

/// Naive reading of evented profiles from the whole document: time, kind and frame name of each event.
fn naive(text: &str) -> Vec<(i64, EventKind, String)> {
    let json: serde_json::Value = serde_json::from_str(text).expect("JSON");
    let mut all = Vec::new();
    for profile in json["profiles"].as_array().expect("profiles") {
        for event in profile["events"].as_array().expect("events") {
            let kind = if event["type"] == "O" { EventKind::Begin } else { EventKind::End };
            let ts_ns = (event["at"].as_f64().expect("a time") * 1000.0) as i64;
            let name = &json["shared"]["frames"][event["frame"].as_u64().expect("a frame") as usize]["name"];
            all.push((ts_ns, kind, name.as_str().expect("a name").to_owned()));
        }
    }
    all.sort_by_key(|event| event.0);
    all
}

fn evented(events: &[(bool, u8, u16)], is_shared_first: bool) -> String {
    let events: Vec<String> = events
        .iter()
        .map(|(is_open, frame, at)| {
            format!(r#"{{"type":"{}","frame":{},"at":{at}}}"#, if *is_open { "O" } else { "C" }, frame % 3)
        })
        .collect();
    let profile = |part: &[String]| {
        format!(
            r#"{{"type":"evented","name":"p","unit":"microseconds","startValue":0,"endValue":9,"events":[{}]}}"#,
            part.join(",")
        )
    };
    let (one, two) = events.split_at(events.len() / 2);
    let shared = r#""shared":{"frames":[{"name":"a"},{"name":"b{}[]"},{"name":"\"c\","}]}"#;
    let profiles = format!(r#""profiles":[{},{}]"#, profile(one), profile(two));
    let (first, second) = if is_shared_first { (shared, &*profiles) } else { (&*profiles, shared) };
    format!(r#"{{"$schema":"https://www.speedscope.app/file-format-schema.json",{first},{second},"exporter":"x"}}"#)
}

proptest! {
    #[test]
    fn events_are_those_of_the_document_read_whole_wherever_its_frames_are(
        events in proptest::collection::vec((any::<bool>(), 0u8..3, 0u16..2000), 0..30),
        is_shared_first in any::<bool>(), block_bytes in 1usize..300,
    ) {
        let text = evented(&events, is_shared_first);
        let reading = crate::formats::testing::read_cut(text.as_bytes(), block_bytes, 3).expect("a capture");
        prop_assert_eq!(reading.lost(), []);
        let found: Vec<_> = reading.events.iter().map(|event| (event.ts_ns, event.kind, event.name.clone())).collect();
        prop_assert_eq!(found, naive(&text));
    }
}

#[test]
fn a_file_that_is_cut_anywhere_keeps_the_events_before_the_cut() {
    let events: Vec<_> = (0..8).map(|k| (k % 2 == 0, k as u8 / 2, k)).collect();
    let text = evented(&events, true);
    let whole = naive(&text);
    for len in text.find("profiles").expect("there") + 10..text.len() {
        let reading = read_bytes(&text.as_bytes()[..len]).expect("a part");
        assert_eq!(reading.lost(), [(Loss::Truncated, 1)], "{len}");
        let found: Vec<_> = reading.events.iter().map(|event| (event.ts_ns, event.kind, event.name.clone())).collect();
        let ends = text[..len].matches("},{").count() + text[..len].matches("}]}").count();
        assert!(whole.starts_with(&found) && found.len() + 2 >= ends.saturating_sub(4), "{len}: {found:?}");
    }
    let error = read_bytes(&text.as_bytes()[..90]).expect_err("refused").to_string();
    assert!(error.contains("byte 90: expected the JSON of profiles, found the end of the file"), "{error}");
}

#[test]
fn losses_have_the_offset_of_their_element() {
    let evented =
        r#"{"type":"evented","unit":"none","events":[{"type":"O","frame":0,"at":1},{"type":"Q","frame":0,"at":2}]}"#;
    let sampled = r#"{"type":"sampled","unit":"none","samples":[[0],[9]],"weights":[1,1]}"#;
    for (profile, element) in [(evented, r#"{"type":"Q""#), (sampled, "[9]")] {
        let text = file(profile);
        let reading = read(&text);
        let firsts: Vec<_> = reading.losses.iter().map(|lost| lost.first).collect();
        assert_eq!(firsts, [SourcePos::Offset(text.find(element).expect("there") as u64)], "{profile}");
    }
}

#[test]
fn frames_beyond_the_limit_are_counted() {
    let frames = vec!["0"; STACK_FRAMES_MAX + 3].join(",");
    let reading = read(&file(&format!(r#"{{"type":"sampled","unit":"none","samples":[[{frames}]],"weights":[1]}}"#)));
    assert_eq!(reading.events[0].stack.len(), STACK_FRAMES_MAX);
    assert_eq!(reading.lost(), [(Loss::DeepNesting, 3)]);
}

#[test]
fn damage_in_the_middle_is_counted_and_all_around_it_is_kept() {
    let events: Vec<_> = (0..8).map(|k| (k % 2 == 0, k as u8 / 2, k)).collect();
    for is_shared_first in [true, false] {
        let text = evented(&events, is_shared_first);
        let whole = naive(&text);
        let victim = r#"{"type":"C","frame":0,"at":1}"#;
        let at = text.find(victim).expect("there");
        for offset in 0..victim.len() {
            for byte in [b'\0', b'"', b'x', b'}', b'{', b','] {
                let mut bytes = text.clone().into_bytes();
                bytes[at + offset] = byte;
                let reading = read_bytes(&bytes).expect("most of it");
                let kept = whole.iter().filter(|event| reading.kinds().contains(&(event.0, event.1, &event.2))).count();
                let is_same = text.as_bytes()[at + offset] == byte;
                // A brace in place of another may end the following element, and the profile.
                let spared =
                    if matches!(byte, b'{' | b'}') || offset == 0 || offset + 1 == victim.len() { 4 } else { 7 };
                assert!(kept >= spared, "{offset} {}: {kept} {:?}", byte as char, reading.kinds());
                assert!(is_same || kept == 8 || reading.losses.total() > 0, "{offset} {}", byte as char);
            }
        }
    }
}

#[test]
fn functions_in_files_of_the_same_name_differ_in_the_paths_of_these() {
    let frames = r#"[{"name":"m","file":"/a/__init__.py","line":1},{"name":"m","file":"/b/__init__.py","line":1}]"#;
    let profile = |kind: &str, unit: &str, data: &str| {
        read(&format!(
            r#"{{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{{"frames":{frames}}},
            "profiles":[{{"type":"{kind}","name":"p","unit":"{unit}","startValue":0,"endValue":9,{data}}}]}}"#
        ))
    };
    let (title, paths) = ("m (__init__.py:1)", ["/a/__init__.py", "/b/__init__.py"]);
    let events = r#""events":[{"type":"O","frame":0,"at":0},{"type":"O","frame":1,"at":1},{"type":"C","frame":1,"at":2},{"type":"C","frame":0,"at":3}]"#;
    let weighed = profile("evented", "bytes", events);
    for stack in [&profile("sampled", "none", r#""samples":[[0,1]],"weights":[1]"#).events[0], &weighed.events[1]] {
        assert_eq!(stack.stack, [title; 2]);
        assert_eq!(stack.modules, paths.map(|path| Some(path.to_owned())));
    }
    let spans = profile("evented", "milliseconds", events).events;
    let categories: Vec<_> = spans.iter().map(|span| (&*span.name, span.category.as_deref())).collect();
    assert_eq!(categories, [paths[0], paths[1], paths[1], paths[0]].map(|path| (title, Some(path))));
}

//! Tests of both forms, on a samply profile and on generated profiles.

use crate::formats::testing::{Reading, data, format_of, read, read_bytes, read_path};
use crate::model::{EventFlags, EventKind, Id, Loss, Metadata, ModuleKind, SampleMeasure};

const GECKO: &str = r#"{"meta":{"version":24,"interval":1,"startTime":1000.5,"categories":[{"name":"Other"},{"name":"JS"}]},
"libs":[],"threads":[{"name":"GeckoMain","processName":"Parent","pid":"7","tid":8,
 "samples":{"schema":{"stack":0,"time":1},"data":[[1,10.5],[null,11.25],[0,"x"],[9,12]]},
 "markers":{"schema":{"name":0,"startTime":1,"endTime":2,"phase":3,"category":4,"data":5},"data":[
   [2,1,2.5,1,1,{"type":"x","n":[1,2]}],[3,1.5,null,0,0],[2,3,null,2],[2,null,4,3]]},
 "stackTable":{"schema":{"prefix":0,"frame":1},"data":[[null,0],[0,1]]},
 "frameTable":{"schema":{"location":0,"line":1},"data":[[0],[1,5]]},
 "stringTable":["main","f (a.js)","Reflow","Tick"]}],
"processes":[{"meta":{"startTime":1003},"threads":[{"name":"Child","pid":9,"tid":10,
 "samples":{"schema":{"time":0,"stack":1},"data":[[1,0]]},
 "stackTable":{"schema":{"prefix":0,"frame":1},"data":[[null,0]]},
 "frameTable":{"schema":{"location":0},"data":[[0]]},"stringTable":["child"]}]}]}"#;

const PROCESSED: &str = r#"{"meta":{"interval":1,"startTime":1000,"preprocessedProfileVersion":49,"categories":[]},
"libs":[{"name":"libc.so.6"}],"threads":[{"name":"main","pid":7,"tid":7,
 "samples":{"length":3,"stack":[1,0,null],"timeDeltas":[1.5,1,1]},"markers":{"length":0},
 "stackTable":{"length":2,"prefix":[null,0],"frame":[0,1]},
 "frameTable":{"length":2,"func":[0,1],"line":[null,12]},
 "funcTable":{"length":2,"name":[0,1],"fileName":[null,2],"resource":[0,-1],"lineNumber":[null,9]},
 "resourceTable":{"length":1,"lib":[0],"name":[0]},
 "stringArray":["0x1234","g","/src/g.c"]}],
"counters":[{"name":"malloc","category":"Memory","pid":"7","samples":{"time":[1,2,3],"count":[5,-2,"x"]}}]}"#;

fn samples(reading: &Reading) -> Vec<(i64, &Id, Vec<&str>)> {
    let samples = reading.events.iter().filter(|event| event.kind == EventKind::Sample);
    samples.map(|event| (event.ts_ns, &event.track.tid, event.stack.iter().map(String::as_str).collect())).collect()
}

#[test]
fn long_lists_before_the_interval_are_those_of_a_profile() {
    let lib =
        r#"{"start":0,"end":100,"offset":0,"name":"libxul.so","path":"/usr/lib/libxul.so","breakpadId":"B5A80C40"}"#;
    let libs = format!(r#"{{"libs":[{}],"#, vec![lib; 1000].join(","));
    let schema = r#"{"name":"tracing","chartLabel":"{marker.data.x}","display":["marker-chart","timeline-overview"]}"#;
    let meta = format!(
        r#"{{"meta":{{"version":24,"startTime":1000.5,"categories":[{{"name":"Other"}},{{"name":"JS"}}],"markerSchema":[{}],"#,
        vec![schema; 1000].join(",")
    );
    let events = read(GECKO).events;
    let with_libs = GECKO.replacen('{', &libs, 1).replace("\n\"libs\":[],", "");
    let with_schema = GECKO.replacen(&GECKO[..GECKO.find("\"interval\"").expect("the interval")], &meta, 1);
    // The order of `jq -S`.
    let counters = r#"{"counters":[{"category":"Memory","description":"heap","mainThreadIndex":0}],"#;
    let with_counters = GECKO.replacen('{', counters, 1);
    for text in [with_libs, with_schema, with_counters] {
        assert_eq!(format_of(&text.as_bytes()[..text.len().min(4096)]), Some("Firefox profile"));
        assert_eq!(read(&text).events, events);
    }
}

#[test]
fn functions_in_files_of_the_same_name_differ_in_the_paths_of_these() {
    let text = PROCESSED
        .replace(
            r#""name":[0,1],"fileName":[null,2],"resource":[0,-1],"lineNumber":[null,9]"#,
            r#""name":[1,1],"fileName":[3,2],"resource":[-1,-1],"lineNumber":[9,9]"#,
        )
        .replace(r#""/src/g.c"]"#, r#""/src/g.c","/lib/g.c"]"#);
    let reading = read(&text);
    let sample = reading.events.iter().find(|event| event.stack.len() == 2).expect("a sample");
    assert_eq!(sample.stack, ["g (g.c:9)", "g (g.c:9)"]);
    assert_eq!(sample.modules, ["/lib/g.c", "/src/g.c"].map(|path| Some(path.to_owned())));
}

#[test]
fn the_gecko_form_has_its_samples_and_markers_and_processes_start_when_they_did() {
    let reading = read(GECKO);
    let (main, child) = (Id::Number(8), Id::Number(10));
    let expected = [
        (3_500_000, &child, vec!["child"]),
        (10_500_000, &main, vec!["main", "f (a.js)"]),
        (11_250_000, &main, vec![]),
        (12_000_000, &main, vec![]),
    ];
    assert_eq!(samples(&reading), expected);
    let markers: Vec<_> = reading
        .events
        .iter()
        .filter(|event| event.kind != EventKind::Sample)
        .map(|event| (event.ts_ns, event.kind, &*event.name, event.category.as_deref()))
        .collect();
    let expected = [
        (1_000_000, EventKind::Complete, "Reflow", Some("JS")),
        (1_500_000, EventKind::Instant, "Tick", Some("Other")),
        (3_000_000, EventKind::AsyncBegin, "Reflow", None),
        (4_000_000, EventKind::AsyncEnd, "Reflow", None),
    ];
    assert_eq!(markers, expected);
    let reflow = &reading.events[0];
    assert!(reflow.flags.has(EventFlags::MAY_OVERLAP), "markers of a thread are of many kinds");
    assert_eq!((reflow.value, &*reflow.args), (1_500_000, r#"{"type":"x","n":[1,2]}"#));
    assert_eq!(reading.lost(), [(Loss::BadTime, 1), (Loss::MissingText, 1)]);
}

#[test]
fn early_profiles_have_markers_of_one_time_and_libraries_as_a_text() {
    let text = r#"{"meta":{"version":3,"interval":1,"startTime":1000,"stackwalk":1},
"libs":"[{\"start\":4096,\"end\":8192,\"name\":\"/usr/lib/libxul.so\",\"breakpadId\":\"0403020106050807090A0B0C0D0E0F100\"},{\"start\":8192,\"end\":9000,\"name\":\"xul.dll\",\"pdbName\":\"xul.pdb\",\"pdbSignature\":\"{04030201-0605-0807-090A-0B0C0D0E0F10}\",\"pdbAge\":0}]",
"threads":[{"name":"GeckoMain","tid":8,
 "samples":{"schema":{"stack":0,"time":1},"data":[[0,1]]},
 "markers":{"schema":{"name":0,"time":1,"data":2},"data":[
   [2,2],[3,3,{"type":"tracing","category":"Paint","interval":"start"}],[3,4,{"type":"tracing","interval":"end"}],
   [4,9,{"type":"GCMajor","startTime":5,"endTime":7.5}],[4,8,{"startTime":6,"endTime":6}],[2,"x"],[2,10,7]]},
 "stackTable":{"schema":{"prefix":0,"frame":1},"data":[[null,0],[0,1]]},
 "frameTable":{"schema":{"location":0},"data":[[0],[1]]},
 "stringTable":["0x1010","0x2010","Tick","Rasterize","GC"]}]}"#;
    let reading = read(text);
    let found: Vec<_> = reading.events.iter().map(|event| (event.ts_ns / 1000, event.kind, &*event.name)).collect();
    let expected = [
        (1000, EventKind::Sample, ""),
        (2000, EventKind::Instant, "Tick"),
        (3000, EventKind::AsyncBegin, "Rasterize"),
        (4000, EventKind::AsyncEnd, "Rasterize"),
        (5000, EventKind::Complete, "GC"),
        (8000, EventKind::Instant, "GC"),
        (10000, EventKind::Instant, "Tick"),
    ];
    assert_eq!(found, expected);
    assert_eq!((reading.events[4].value, &*reading.events[0].stack), (2_500_000, &["libxul.so+0x10".to_owned()][..]));
    assert_eq!(reading.lost(), [(Loss::BadTime, 1)]);
    let modules: Vec<_> = reading
        .metadata
        .iter()
        .filter_map(|said| match said {
            Metadata::Module { module } => Some((&*module.path, module.build_id.is_some())),
            _ => None,
        })
        .collect();
    assert_eq!(modules, [("/usr/lib/libxul.so", true), ("xul.dll", true)]);
    let damaged = text.replace("[{\\\"start", "{\\\"start");
    assert_eq!(read(&damaged).lost(), [(Loss::BadTime, 1), (Loss::BadRecord, 1)]);
}

#[test]
fn a_function_is_one_frame_whatever_lines_of_it_ran() {
    let two_lines = PROCESSED
        .replace(r#""stack":[1,0,null]"#, r#""stack":[1,2,null]"#)
        .replace(r#""length":2,"prefix":[null,0],"frame":[0,1]"#, r#""length":3,"prefix":[null,0,0],"frame":[0,1,2]"#)
        .replace(r#""length":2,"func":[0,1],"line":[null,12]"#, r#""length":3,"func":[0,1,1],"line":[null,12,13]"#);
    let outer = "libc.so.6+0x1234";
    let reading = read(&two_lines);
    let stacks: Vec<Vec<&str>> = samples(&reading).into_iter().map(|(.., stack)| stack).collect();
    assert_eq!(stacks, [vec![outer, "g (g.c:9)"], vec![outer, "g (g.c:9)"], vec![]]);
    let without_definitions = two_lines.replace(r#","lineNumber":[null,9]"#, "");
    assert_eq!(samples(&read(&without_definitions))[1].2, [outer, "g (g.c)"]);
}

#[test]
fn the_processed_form_names_frames_by_file_or_library_and_sums_memory_up() {
    let reading = read(PROCESSED);
    let main = Id::Number(7);
    let outer = "libc.so.6+0x1234";
    let expected =
        [(1_500_000, &main, vec![outer, "g (g.c:9)"]), (2_500_000, &main, vec![outer]), (3_500_000, &main, vec![])];
    assert_eq!(samples(&reading), expected);
    let counters = reading.events.iter().filter(|event| event.kind == EventKind::Counter);
    let counters: Vec<_> =
        counters.map(|event| (event.ts_ns, f64::from_bits(event.value), &*event.track.name)).collect();
    assert_eq!(counters, [(1_000_000, 5.0, "Memory malloc"), (2_000_000, 3.0, "Memory malloc")]);
    assert_eq!(reading.lost(), [(Loss::BadCounter, 1)]);
}

#[test]
fn tables_that_all_threads_share_are_found() {
    let tables = [r#""stackTable":"#, r#""stringArray":"#];
    let (start, end) = (PROCESSED.find(tables[0]).expect("there"), PROCESSED.find("}],\n\"counters\"").expect("there"));
    let shared = format!("\"shared\":{{{}}},", &PROCESSED[start..end]);
    let without = [&PROCESSED[..start], "\"x\":0", &PROCESSED[end..]].concat();
    let moved = without.replacen("\"libs\"", &format!("{shared}\"libs\""), 1);
    assert_eq!(read(&moved), read(PROCESSED));
}

#[test]
fn a_real_profile_has_all_samples_and_markers_of_its_threads() {
    let path = data("samply.json.gz");
    let reading = read_path(&path).expect("a capture");
    let mut text = String::new();
    let file = std::fs::File::open(path).expect("a file");
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(file), &mut text).expect("text");
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    for thread in json["threads"].as_array().expect("threads") {
        let tid = Id::Number(thread["tid"].as_str().and_then(|tid| tid.parse().ok()).unwrap_or(-1));
        let is_of = |kinds: &[EventKind]| {
            let of_thread = |event: &&crate::formats::testing::ReadEvent| {
                kinds.contains(&event.kind)
                    && (event.track.tid == tid || tid == Id::Number(-1) && matches!(event.track.tid, Id::Text(_)))
            };
            reading.events.iter().filter(of_thread).count() as u64
        };
        assert_eq!(is_of(&[EventKind::Sample]), thread["samples"]["length"].as_u64().expect("a count"), "{tid}");
        let markers = is_of(&[EventKind::Instant, EventKind::Complete, EventKind::AsyncBegin, EventKind::AsyncEnd]);
        assert_eq!(markers, thread["markers"]["length"].as_u64().expect("a count"), "{tid}");
        // Naive look-up of the outermost and innermost frame of each sample.
        let text = |index: &serde_json::Value| thread["stringArray"][index.as_u64().unwrap_or(0) as usize].clone();
        let found = reading.events.iter().filter(|event| event.kind == EventKind::Sample && event.track.tid == tid);
        for (position, sample) in found.enumerate() {
            let stack = thread["samples"]["stack"][position].as_u64().expect("a stack") as usize;
            let frame = thread["stackTable"]["frame"][stack].as_u64().expect("a frame") as usize;
            let function = thread["frameTable"]["func"][frame].as_u64().expect("a function") as usize;
            let name = text(&thread["funcTable"]["name"][function]);
            let innermost = sample.stack.last().expect("a frame");
            let name = name.as_str().expect("text");
            let is_address = name.starts_with("0x") && innermost.ends_with(&format!("+{name}"));
            assert!(is_address || innermost.starts_with(name), "{innermost} {name}");
        }
    }
    // The libraries of these frames, with the ids in the profile.
    let modules = reading.metadata.iter().filter_map(|metadata| match metadata {
        Metadata::Module { module } => Some(module),
        _ => None,
    });
    let libc = modules.clone().find(|module| module.path.ends_with("/libc.so.6")).expect("it is sampled");
    let identity = "93ac61ec5a8eb1396f9fbd350e3169a558528a40";
    assert_eq!(libc.build_id.as_ref().map(ToString::to_string).as_deref(), Some(identity));
    assert!(modules.clone().count() > 3 && modules.clone().all(|module| module.kind == ModuleKind::Image));
    assert_eq!(reading.lost(), []);
    assert!(reading.events.iter().all(|event| !event.flags.has(EventFlags::UNFINISHED)));
}

#[test]
fn a_profile_that_is_cut_anywhere_keeps_what_is_before_the_cut() {
    for text in [GECKO, PROCESSED] {
        let whole = read(text);
        let is_of = |event: &crate::formats::testing::ReadEvent| (event.ts_ns, event.kind, event.track.tid.clone());
        let all: Vec<_> = whole.events.iter().map(is_of).collect();
        let mut events = 0;
        for len in text.find("stack\"").expect("there") + 7..text.len() - 1 {
            let reading = read_bytes(&text.as_bytes()[..len]).expect("a part");
            assert_eq!(reading.losses.count(Loss::Truncated), 1, "{len}");
            assert!(reading.events.iter().all(|event| all.contains(&is_of(event))), "{len}");
            assert!(reading.events.len() >= events, "{len}: {events} events before one more byte");
            events = reading.events.len();
        }
        assert_eq!(events, all.len());
    }
    let error = read_bytes(&GECKO.as_bytes()[..60]).expect_err("refused").to_string();
    assert!(
        error.contains("byte 60: expected the JSON of a profile with threads, found the end of the file"),
        "{error}"
    );
}

#[test]
fn odd_tables_cost_their_stacks_and_nothing_else() {
    let odd = GECKO.replace(r#""data":[[null,0],[0,1]]"#, r#""data":[7]"#);
    let (odd, whole) = (read(&odd), read(GECKO));
    assert_eq!(odd.events.len(), whole.events.len());
    assert_eq!(odd.losses.count(Loss::BadRecord), 1);
}

#[test]
fn older_counters_in_groups_and_those_of_the_gecko_form_are_of_their_process() {
    let counter = r#","counters":[{"name":"RSS","category":"","sample_groups":[{"id":0,
        "samples":{"schema":{"time":0,"count":1},"data":[[1.5,7],[2,8]]}}]}],"processes""#;
    let reading = read(&GECKO.replacen(",\n\"processes\"", counter, 1));
    let counters = reading.events.iter().filter(|event| event.kind == EventKind::Counter);
    let counters: Vec<_> = counters.map(|event| (event.ts_ns, f64::from_bits(event.value), &event.track.pid)).collect();
    assert_eq!(counters, [(1_500_000, 7.0, &Id::Number(7)), (2_000_000, 8.0, &Id::Number(7))]);
}

#[test]
fn files_since_version_58_are_in_a_table_of_sources_and_libraries_before_41_in_their_thread() {
    let sources = r#""libs":[],"shared":{"sources":{"length":2,"id":[null,null],"filename":[0,2]}}"#;
    let late = PROCESSED
        .replace(r#""libs":[{"name":"libc.so.6"}]"#, sources)
        .replace(r#""fileName":[null,2]"#, r#""source":[null,1]"#)
        .replace(r#""name":"main","pid":7"#, r#""name":"main","libs":[{"name":"libc.so.6"}],"pid":7"#);
    assert_eq!(read(&late), read(PROCESSED));
}

#[test]
fn data_of_markers_that_are_numbers_of_texts_are_shown_as_these() {
    let schema = r#""markerSchema":[{"name":"Text","fields":[{"key":"name","format":"unique-string"},{"key":"n","format":"integer"}]},
        {"name":"old","data":[{"label":"no key"},{"key":"f","format":"flow-id"},{"key":"t","format":{"type":"table"}}]}],"#;
    let markers = r#""markers":{"length":4,"name":[1,1,1,1],"startTime":[1,2,3,4],"endTime":[null,null,null,null],"phase":[0,0,0,0],
        "data":[{"type":"Text","name":1,"n":1},{"type":"old","f":2},{"type":"Text","name":99},{"type":"other","name":1}]}"#;
    let text =
        PROCESSED.replace("\"meta\":{", &format!("\"meta\":{{{schema}")).replace(r#""markers":{"length":0}"#, markers);
    let reading = read(&text);
    let args: Vec<&str> =
        reading.events.iter().filter(|event| event.kind == EventKind::Instant).map(|event| &*event.args).collect();
    let expected = [
        r#"{"type":"Text","name":"g","n":1}"#,
        r#"{"type":"old","f":"/src/g.c"}"#,
        r#"{"type":"Text","name":99}"#,
        r#"{"type":"other","name":1}"#,
    ];
    assert_eq!(args, expected);
    assert_eq!(reading.losses.count(Loss::MissingText), 1);
}

#[test]
fn the_data_of_a_marker_beyond_the_limit_is_counted() {
    let markers = format!(
        r#""markers":{{"length":2,"name":[1,1],"startTime":[1,2],"endTime":[null,null],"phase":[0,0],
        "data":[{{"x":"{}"}},{{"n":1}}]}}"#,
        "x".repeat(17 << 20)
    );
    let reading = read(&PROCESSED.replace(r#""markers":{"length":0}"#, &markers));
    let instants = reading.events.iter().filter(|event| event.kind == EventKind::Instant);
    let args: Vec<&str> = instants.map(|event| &*event.args).collect();
    assert_eq!((args, reading.losses.count(Loss::OverLimit)), (vec!["", r#"{"n":1}"#], 1));
}

#[test]
fn profiles_of_sizes_draw_a_byte_as_a_nanosecond() {
    let sizes = PROCESSED
        .replace("\"meta\":{", r#""meta":{"sampleUnits":{"time":"bytes"},"#)
        .replace("[1.5,1,1]", "[100,20,3]");
    let times: Vec<i64> = samples(&read(&sizes)).iter().map(|sample| sample.0).collect();
    assert_eq!(times, [100, 120, 123]);
}

/// Returns event, unit and weight of each sample, in order of their times.
fn measures(reading: &Reading) -> Vec<(String, String, u64)> {
    let samples = reading.events.iter().filter(|event| event.kind == EventKind::Sample);
    let measures = samples.map(|event| SampleMeasure::from_args(&event.args));
    measures.map(|measure| (measure.event.into_owned(), measure.unit.into_owned(), measure.weight)).collect()
}

fn owned(expected: &[(&str, &str, u64)]) -> Vec<(String, String, u64)> {
    expected.iter().map(|&(event, unit, weight)| (event.to_owned(), unit.to_owned(), weight)).collect()
}

#[test]
fn samples_weigh_what_their_table_says_in_its_unit_in_both_forms() {
    const COUNTED: (&str, &str, u64) = ("", "samples", 1);
    let (rounded, bad) = (Loss::RoundedWeight, Loss::BadNumber);
    for (kind, weights, expected, lost) in [
        (r#""samples""#, "[1,99,-2]", [COUNTED, ("", "samples", 99), ("decrease", "samples", 2)], vec![]),
        (r#""samples""#, "[null,0.5,3]", [COUNTED, COUNTED, ("", "samples", 3)], vec![(rounded, 1)]),
        (
            r#""bytes""#,
            "[4096,-100,null]",
            [("weight", "bytes", 4096), ("weight decrease", "bytes", 100), ("weight", "bytes", 0)],
            vec![(bad, 1)],
        ),
        (
            r#""tracing-ms""#,
            "[9.5,\"x\",0]",
            [("time", "ns", 9_500_000), ("time", "ns", 0), ("time", "ns", 0)],
            vec![(bad, 1)],
        ),
        (r#""bytes""#, "null", [("weight", "samples", 1); 3], vec![]),
        ("null", "[2,3,4]", [("", "samples", 2), ("", "samples", 3), ("", "samples", 4)], vec![]),
    ] {
        let columns = format!(r#""timeDeltas":[1.5,1,1],"weight":{weights},"weightType":{kind}"#);
        let processed = read(&PROCESSED.replace(r#""timeDeltas":[1.5,1,1]"#, &columns));
        assert_eq!(measures(&processed), owned(&expected), "{kind} {weights}");
        let lost_of = |reading: &Reading| {
            let mut lost = reading.lost();
            lost.retain(|(loss, _)| *loss == rounded || *loss == bad);
            lost
        };
        assert_eq!(lost_of(&processed), lost, "{kind} {weights}");
        // The other form has rows with a schema.
        let Ok(values) = serde_json::from_str::<Vec<serde_json::Value>>(weights) else { continue };
        let rows: Vec<String> = (0..).zip(&values).map(|(at, weight)| format!("[1,{},{weight}]", 10 + at)).collect();
        let table = format!(
            r#"{{"schema":{{"stack":0,"time":1,"weight":2}},"weightType":{kind},"data":[{}]}}"#,
            rows.join(",")
        );
        let old = r#"{"schema":{"stack":0,"time":1},"data":[[1,10.5],[null,11.25],[0,"x"],[9,12]]}"#;
        let gecko = read(&GECKO.replacen(old, &table, 1));
        assert_eq!(measures(&gecko)[1..], owned(&expected)[..], "{kind} {weights}");
        assert_eq!(lost_of(&gecko), lost, "{kind} {weights}");
    }
}

#[test]
fn allocations_are_samples_of_their_own_events_with_their_types() {
    let allocations = r#""native":0,"nativeAllocations":{"length":3,"time":[4,5,null],"stack":[1,null,0],"weight":[100,-40,1],
        "weightType":"bytes","memoryAddress":[1,2,3],"threadId":[7,7,7]},"jsAllocations":{"length":1,"time":[6],
        "className":["Object \"x\""],"typeName":["JSObject"],"coarseType":["Object"],"weight":[64],"weightType":"bytes",
        "inNursery":[true],"stack":[0]},"stackTable""#;
    let reading = read(&PROCESSED.replacen(r#""stackTable""#, allocations, 1));
    let expected = [
        ("", "samples", 1),
        ("", "samples", 1),
        ("", "samples", 1),
        ("native allocations", "bytes", 100),
        ("native deallocations", "bytes", 40),
        ("JavaScript allocations", "bytes", 64),
    ];
    assert_eq!(measures(&reading), owned(&expected));
    let of_events = samples(&reading).split_off(3);
    let stacks: Vec<_> = of_events.iter().map(|(ts_ns, _, stack)| (ts_ns / 1_000_000, stack.len())).collect();
    assert_eq!(stacks, [(4, 2), (5, 0), (6, 1)]);
    let last = reading.events.iter().rfind(|event| event.kind == EventKind::Sample).expect("an allocation");
    let args = r#"{"event":"JavaScript allocations","unit":"bytes","period":64,"className":"Object \"x\"","typeName":"JSObject","coarseType":"Object","inNursery":true}"#;
    assert_eq!(last.args, args);
    assert_eq!(reading.lost(), [(Loss::BadTime, 1), (Loss::BadCounter, 1)]);
}

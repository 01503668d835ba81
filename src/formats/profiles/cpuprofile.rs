//! V8 CPU profiles (`.cpuprofile`): a call tree, the node of each sample, and the times between samples in
//! microseconds, or timestamps. A sample weighs the time to the next sample, as in Chrome, and the last sample the time
//! to the end of the profile. The `(root)` node is omitted from stacks, since all have it. Without samples, the hit
//! counts of nodes are weights.

use super::v8_calls::{Calls, TimedSamples, V8CallNode, name_track};
use super::v8_head;
use crate::formats::format::{DataKind, Format, Opener};
use crate::formats::input::source::Source;
use crate::formats::json::document::{Document, Element, JsonExtent, TableCharge, TimeUnit};
use crate::formats::json::sniff::{has_key, looks_like_json};
use crate::formats::output::batch::BatchBuilder;
use crate::formats::{BatchSink, ReadContext, ReadError, Reader, StreamReader};
use crate::model::{Loss, SourcePos};

/// V8 CPU profiles, as saved by Chrome and Node.js.
pub(crate) const FORMAT: Format = Format {
    name: "V8 CPU profile",
    record: "A sample is a number of a node in samples, with its time in timeDeltas.",
    sniff: looks_like_cpuprofile,
    is_event: None,
    live: None,
    shows: &[DataKind::Arguments, DataKind::Samples],
    opener: Opener::Trace(|source, _| Ok(open(source))),
};

/// Returns whether this is JSON with the nodes of a profile.
fn looks_like_cpuprofile(head: &[u8]) -> bool {
    let has = |key| has_key(head, key);
    let is_profile = has("nodes") && has("callFrame") && has("functionName");
    looks_like_json(head) && (is_profile && !has("traceEvents") && !has("ph") || v8_head::has_tree(head))
}

/// Creates a reader of a profile.
fn open(source: Source) -> Reader {
    if v8_head::has_tree(source.head()) {
        return v8_head::open(source);
    }
    Reader::stream(CpuProfile { source })
}

struct CpuProfile {
    source: Source,
}

impl StreamReader for CpuProfile {
    fn read(self: Box<Self>, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError> {
        let document = Document::open(self.source, context)?;
        let keys = ["nodes", "startTime", "endTime", "samples", "timeDeltas", "timestamps"];
        let [nodes, start, end, samples, deltas, times] = document.pick(profile_extent(&document)?, keys)?;
        if nodes.is_none() {
            return Err(document.without("the JSON of a profile with nodes"));
        }
        let mut batch = BatchBuilder::new(context.chunk_limits);
        let mut charge = document.table_charge();
        let mut calls = calls(&document, nodes, &mut charge, &mut batch)?;
        let micros = |extent: Option<JsonExtent>| -> Result<Option<i64>, ReadError> {
            let text = extent.map_or(Ok(Vec::new()), |extent| document.text(extent))?;
            Ok(TimeUnit::Microseconds.parse_nanos(&text).ok())
        };
        let end_ns = micros(end)?;
        let start_ns = micros(start)?;
        if start_ns.is_none() {
            batch.lose(Loss::BadTime, SourcePos::Time(0));
        }
        let mut now_ns = start_ns.unwrap_or(0);
        if samples.is_none() && !document.is_cut() {
            document.count_rest(batch.losses())?;
            return calls.emit_hits(&mut batch, sink, context);
        }
        let has_times = deltas.is_none() && times.is_some();
        let (has_any_times, samples_extent) = (deltas.is_some() || times.is_some() || document.is_cut(), samples);
        let key = name_track(has_times || start_ns.is_some(), &mut batch);
        let (mut samples, mut deltas) = (document.elements(samples), document.elements(deltas.or(times)));
        // Without any times, all samples share the duration of the profile.
        let shared_ns = if has_any_times { None } else { shared_ns(&document, samples_extent, now_ns, end_ns)? };
        let mut timed = TimedSamples::new(calls, key, now_ns);
        let mut is_first = true;
        loop {
            let (sample, delta) = match (samples.next()?, deltas.next()?) {
                (Some(sample), delta) => (sample, delta),
                (None, None) => break,
                (None, Some(Element { offset, .. })) => {
                    batch.lose(Loss::BadRecord, SourcePos::Offset(offset));
                    continue;
                }
            };
            let later_ns = if let Some(delta) = delta {
                let micros = TimeUnit::Microseconds.parse_nanos(delta.text).ok();
                if has_times { micros.and_then(|ts_ns| ts_ns.checked_sub(now_ns)) } else { micros }
            } else if let Some(shared_ns) = shared_ns {
                Some(if is_first { 0 } else { shared_ns })
            } else {
                // Times follow the samples, so a truncated file may lack them.
                batch.lose(Loss::MissingWeight, SourcePos::Offset(sample.offset));
                Some(timed.interval_ns())
            };
            is_first = false;
            match later_ns.and_then(|later_ns| now_ns.checked_add(later_ns)) {
                Some(next_ns) => now_ns = next_ns,
                None => batch.lose(Loss::BadTime, SourcePos::Time(now_ns)),
            }
            let node = sample.parse(batch.losses());
            timed.push(now_ns, node, &mut batch);
            batch.flush_if_full(sink, context)?;
        }
        timed.finish(end_ns, &mut batch);
        document.count_rest(batch.losses())?;
        batch.flush(sink)
    }
}

/// Returns the share of each sample in the duration of a profile; `None` without a duration.
fn shared_ns(
    document: &Document,
    samples: Option<JsonExtent>,
    start_ns: i64,
    end_ns: Option<i64>,
) -> Result<Option<i64>, ReadError> {
    let whole_ns = end_ns.and_then(|end_ns| end_ns.checked_sub(start_ns)).filter(|&ns| ns > 0);
    let Some(whole_ns) = whole_ns else { return Ok(None) };
    let (mut samples, mut count) = (document.elements(samples), 0);
    while samples.next()?.is_some() {
        count += 1;
    }
    Ok(Some(whole_ns / count.max(1)))
}

/// Returns the object that contains the nodes. A response of the debugger protocol wraps it.
fn profile_extent(document: &Document) -> Result<JsonExtent, ReadError> {
    let whole = document.whole();
    let [nodes, profile, result] = document.pick(whole, ["nodes", "profile", "result"])?;
    let result = result.map_or(Ok([None]), |result| document.pick(result, ["profile"]))?[0];
    Ok(if nodes.is_some() { whole } else { profile.or(result).unwrap_or(whole) })
}

fn calls(
    document: &Document,
    nodes: Option<JsonExtent>,
    charge: &mut TableCharge<'_>,
    batch: &mut BatchBuilder,
) -> Result<Calls, ReadError> {
    let mut calls = Calls::default();
    let pos = nodes.map_or(SourcePos::Offset(0), JsonExtent::pos);
    let mut nodes = document.elements(nodes);
    while let Some(element) = nodes.next()? {
        let Some(node) = element.parse::<V8CallNode>(batch.losses()) else { continue };
        let kept_bytes = Calls::NODE_BYTES + Calls::CALL_BYTES * node.children.len() + calls.add(&node);
        charge.add(kept_bytes, element.offset)?;
    }
    batch.losses().add_many(Loss::BadRecord, pos, calls.join());
    Ok(calls)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::testing::{read, read_bytes};

    const PROFILE: &str = r#"{"nodes":[
        {"id":1,"callFrame":{"functionName":"(root)","scriptId":"0","url":"","lineNumber":-1,"columnNumber":-1},"children":[2,4]},
        {"id":2,"callFrame":{"functionName":"main","url":"file:///x/a.js","lineNumber":9},"children":[3]},
        {"id":3,"callFrame":{"functionName":"","url":"","lineNumber":0}},
        {"id":4,"callFrame":{"functionName":"(idle)"}}],
        "startTime":100,"endTime":200,"samples":[2,3,4,1,9],"timeDeltas":[5,10,-5,20,1]}"#;

    #[test]
    fn samples_have_their_stacks_and_their_own_times_also_backwards() {
        let reading = read(PROFILE);
        let found: Vec<(i64, Vec<&str>)> = reading
            .events
            .iter()
            .map(|event| (event.ts_ns, event.stack.iter().map(String::as_str).collect()))
            .collect();
        let main = "main (a.js:10)";
        let expected =
            [(105_000, vec![main]), (110_000, vec!["(idle)"]), (115_000, vec![main, "(anonymous)"]), (130_000, vec![])];
        assert_eq!(found, expected);
        // The last sample, at 131, has no node.
        assert_eq!(reading.sampled_times(), [5_000, 5_000, 15_000, 1000]);
        assert_eq!(reading.lost(), [(Loss::MissingText, 1)]);
    }

    #[test]
    fn functions_in_files_of_the_same_name_differ_in_the_paths_of_these() {
        let node = |id: u32, url: &str| {
            format!(r#"{{"id":{id},"callFrame":{{"functionName":"f","url":"{url}","lineNumber":0}}}}"#)
        };
        let nodes = [node(1, "file:///a/index.js"), node(2, "file:///b/index.js"), node(3, "index.js")].join(",");
        let reading = read(&format!(r#"{{"nodes":[{nodes}],"startTime":0,"samples":[1,2,3],"timeDeltas":[0,9,9]}}"#));
        assert!(reading.events.iter().all(|event| event.stack == ["f (index.js:1)"]));
        let paths: Vec<_> = reading.events.iter().map(|event| event.modules[0].as_deref()).collect();
        assert_eq!(paths, [Some("file:///a/index.js"), Some("file:///b/index.js"), None]);
    }

    #[test]
    fn samples_are_not_moved_to_other_files_unless_the_start_is_unknown_or_they_are_hits() {
        let untimed = |text: &str| {
            let events = read(text).events;
            assert!(!events.is_empty(), "{text}");
            events.iter().filter(|event| event.track.is_untimed()).count()
        };
        assert_eq!(untimed(PROFILE), 0);
        assert_eq!(untimed(&PROFILE.replace("\"timeDeltas\"", "\"timestamps\"")), 0);
        assert_eq!(untimed(&PROFILE.replace("\"startTime\":100,", "")), 4);
        let hits = PROFILE.replace("{\"id\":2,", "{\"id\":2,\"hitCount\":7,").replace("\"samples\"", "\"x\"");
        assert_eq!(untimed(&hits), 1);
    }

    #[test]
    fn a_sample_weighs_the_time_to_the_next_one_or_to_the_end_of_the_profile() {
        let nodes = r#""nodes":[{"id":1,"callFrame":{"functionName":"f"}},{"id":2,"callFrame":{"functionName":"g"}}]"#;
        for (end, expected) in [
            (r#""endTime":55,"#, [10_000, 45_000]),
            // Without an end, or if nothing was sampled for long before it, the usual interval is repeated.
            (r#""endTime":1000,"#, [10_000, 10_000]),
            ("", [10_000, 10_000]),
            (r#""endTime":5,"#, [10_000, 10_000]),
        ] {
            let reading = read(&format!(r#"{{{nodes},"startTime":0,{end}"samples":[1,2],"timeDeltas":[0,10]}}"#));
            assert_eq!((reading.sampled_times(), reading.lost()), (expected.to_vec(), vec![]), "{end}");
        }
    }

    #[test]
    fn a_sample_that_is_listed_late_weighs_the_time_to_the_next_one_in_time() {
        let nodes = r#""nodes":[{"id":1,"callFrame":{"functionName":"f"}},{"id":2,"callFrame":{"functionName":"g"}}]"#;
        let profile = |samples: &str, deltas: &str| {
            let ends = r#""startTime":1000,"endTime":6000"#;
            read(&format!(r#"{{{nodes},{ends},"samples":[{samples}],"timeDeltas":[{deltas}]}}"#))
        };
        let reading = profile("1,1,2,1", "0,1000,-200,2000");
        let found: Vec<_> = reading.events.iter().map(|event| (event.ts_ns / 1000, &*event.stack[0])).collect();
        assert_eq!(found, [(1000, "f"), (1800, "g"), (2000, "f"), (3800, "f")]);
        assert_eq!(reading.sampled_times(), [800_000, 200_000, 1_800_000, 2_200_000]);
        // A much later sample moves no further back than the samples that already have times.
        let (ones, tens) = (["1"; 30].join(","), ["10"; 30].join(","));
        let late = profile(&format!("{ones},2"), &format!("{tens},-295")).sampled_times();
        assert_eq!((late.len(), late[0], late.iter().sum::<u64>()), (31, 0, 300_000));
    }

    #[test]
    fn nodes_with_parents_make_the_same_stacks() {
        let by_parents = PROFILE
            .replace(r#","children":[2,4]"#, "")
            .replace(r#","children":[3]"#, r#","parent":1"#)
            .replace(r#""lineNumber":0}"#, r#""lineNumber":0},"parent":2"#)
            .replace(r#"{"functionName":"(idle)"}"#, r#"{"functionName":"(idle)"},"parent":1"#);
        assert_eq!(read(&by_parents), read(PROFILE));
    }

    #[test]
    fn a_profile_that_is_cut_anywhere_keeps_the_samples_before_the_cut() {
        for len in 200..PROFILE.len() {
            let reading = read_bytes(&PROFILE.as_bytes()[..len]).expect("a part");
            assert_eq!(reading.losses.count(Loss::Truncated), 1, "{len}");
            // All complete samples; a sample without a time repeats the last interval.
            let whole = |key: &str| match PROFILE[..len].split_once(key) {
                Some((_, rest)) => {
                    rest.split(']').next().unwrap_or_default().matches(',').count() + usize::from(rest.contains(']'))
                }
                None => 0,
            };
            let (samples, deltas) = (whole("\"samples\":["), whole("\"timeDeltas\":["));
            let (mut now_us, mut last_us, mut expected) = (100, 1000, Vec::new());
            for sample in 0..samples {
                let later_us = if sample < deltas { [5, 10, -5, 20, 1][sample] } else { last_us };
                last_us = if later_us > 0 { later_us } else { last_us };
                now_us += later_us;
                // The node of the fifth sample is missing.
                expected.extend((sample < 4).then_some(now_us * 1000));
            }
            expected.sort_unstable();
            let times = reading.events.iter().map(|event| event.ts_ns).collect::<Vec<_>>();
            assert_eq!(times, expected, "{len}");
            assert_eq!(reading.losses.count(Loss::MissingWeight), samples.saturating_sub(deltas) as u64, "{len}");
        }
    }

    #[test]
    fn times_instead_of_distances_wrapped_profiles_and_hits_alone_are_read() {
        let nodes = r#""nodes":[{"id":1,"callFrame":{"functionName":"(root)"},"children":[2]},{"id":2,"hitCount":7,"callFrame":{"functionName":"f","url":"a.js","lineNumber":4}}]"#;
        let timed = format!(r#"{{{nodes},"startTime":1000,"endTime":5000,"samples":[2,2],"timestamps":[1500,2000]}}"#);
        let expected = [(1_500_000, 0, ""), (2_000_000, 0, "")];
        let result = format!(r#"{{"id":5,"result":{{"profile":{timed}}}}}"#);
        let deltas = timed.replace(r#""timestamps":[1500,2000]"#, r#""timeDeltas":[500,500]"#);
        for text in [timed.clone(), format!(r#"{{"profile":{timed}}}"#), result, deltas] {
            let reading = read(&text);
            assert_eq!((reading.short(), reading.lost()), (expected.to_vec(), vec![]), "{text}");
            assert_eq!(reading.events[0].stack, ["f (a.js:5)"]);
        }
        let hits = read(&format!(r#"{{{nodes},"startTime":1000,"endTime":5000}}"#));
        assert_eq!(
            (hits.events.len(), &*hits.events[0].stack, hits.lost()),
            (1, &["f (a.js:5)".to_owned()][..], vec![])
        );
        assert_eq!(hits.events[0].args, r#"{"event":"hits","unit":"samples","period":7}"#);
    }

    #[test]
    fn samples_without_any_times_share_the_duration_of_the_profile() {
        let nodes = r#""nodes":[{"id":1,"callFrame":{"functionName":"f"}}],"startTime":1000"#;
        let times = |rest: &str| {
            let reading = read(&format!("{{{nodes},{rest}}}"));
            let times: Vec<i64> = reading.events.iter().map(|event| event.ts_ns / 1000).collect();
            (times, reading.sampled_times(), reading.lost())
        };
        let shared = times(r#""endTime":2000,"samples":[1,1,1,1]"#);
        assert_eq!(shared, (vec![1000, 1250, 1500, 1750], vec![250_000; 4], vec![]));
        // Without a duration to share, the usual interval is assumed and counted.
        for end in ["", r#""endTime":1000,"#, r#""endTime":900,"#] {
            let (times, _, lost) = times(&format!(r#"{end}"samples":[1,1]"#));
            assert_eq!((times, lost), (vec![2000, 3000], vec![(Loss::MissingWeight, 2)]), "{end}");
        }
        assert!(times(r#""endTime":2000,"samples":[]"#).0.is_empty());
    }

    #[test]
    fn data_after_a_profile_is_counted_with_its_position() {
        let start = r#"{"nodes":[{"id":1,"hitCount":2,"callFrame":{"functionName":"f"}}],"startTime":0"#;
        let hits = format!("{start}}}");
        for one in [format!(r#"{start},"samples":[1],"timeDeltas":[5]}}"#), hits, format!(r#"{{"profile":{start}}}}}"#)]
        {
            assert_eq!(read(&format!("{one}\n")).lost(), [], "{one}");
            for rest in [&*one, "garbage", "[]", "7"] {
                let reading = read(&format!("{one}\n {rest}"));
                let lost: Vec<_> = reading.losses.iter().map(|lost| (lost.loss, lost.first)).collect();
                let pos = SourcePos::Offset(one.len() as u64 + 2);
                assert_eq!((reading.events.len(), lost), (1, vec![(Loss::TrailingData, pos)]), "{one} {rest}");
            }
        }
    }
}

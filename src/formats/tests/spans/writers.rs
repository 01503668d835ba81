//! Naive writers, independent of the readers.

use std::fmt::Write as _;

use super::{MeantSpan, NEXT_JS_EPOCH_S, STRACE_EPOCH_S};

pub(super) fn fxt(spans: &[MeantSpan]) -> Vec<u8> {
    let mut words = vec![0x0016_5478_4604_0010u64];
    for thread in 0..4 {
        words.extend([3 | 3 << 4 | (thread + 1) << 16, 100, 101 + thread]);
    }
    for span in spans {
        let mut name = span.name.clone().into_bytes();
        let inline = 0x8000 | name.len() as u64;
        name.resize(name.len().next_multiple_of(8), 0);
        // The header, two times, and the name.
        let len = 3 + name.len() as u64 / 8;
        words.extend([4 | len << 4 | 4 << 16 | (u64::from(span.thread) + 1) << 24 | inline << 48, span.start.into()]);
        words.extend(name.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes"))));
        words.push(u64::from(span.start) + u64::from(span.dur));
    }
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

pub(super) fn tracy(spans: &[MeantSpan]) -> Vec<u8> {
    let mut text = "name,src_file,src_line,ns_since_start,exec_time_ns,thread,value\n".to_owned();
    for MeantSpan { start, dur, thread, name } in spans {
        writeln!(text, "{name},a.cpp,7,{start},{dur},{thread},").expect("into memory");
    }
    text.into_bytes()
}

/// Writes a line for each command at its end; the hash identifies the command.
pub(super) fn ninja(spans: &[MeantSpan]) -> Vec<u8> {
    let mut text = "# ninja log v5\n".to_owned();
    for (number, MeantSpan { start, dur, name, .. }) in spans.iter().enumerate() {
        let end = u64::from(*start) + u64::from(*dur);
        writeln!(text, "{start}\t{end}\t1\t{name}\t{number:x}").expect("into memory");
    }
    text.into_bytes()
}

pub(super) fn cargo_timings(spans: &[MeantSpan]) -> Vec<u8> {
    let units = spans.iter().enumerate().map(|(number, MeantSpan { start, dur, name, .. })| {
        let seconds = |ms: &u32| format!("{}.{:03}", ms / 1000, ms % 1000);
        let (start, dur) = (seconds(start), seconds(dur));
        format!(r#"{{"i":{number},"name":"{name}","target":"","start":{start},"duration":{dur},"sections":null}}"#)
    });
    let units = in_array(units);
    format!("\n<html><title>Cargo Build Timings</title><script>\nconst UNIT_DATA = {units};\n</script></html>\n")
        .into_bytes()
}

pub(super) fn strace(spans: &[MeantSpan]) -> Vec<u8> {
    let mut text = String::new();
    for MeantSpan { start, dur, thread, name } in spans {
        let (start, dur) = (seconds(STRACE_EPOCH_S, (*start).into()), seconds(0, (*dur).into()));
        writeln!(text, "{} {start} {name}(3, \"x\") = 0 <{dur}>", 100 + u32::from(*thread)).expect("into memory");
    }
    text.into_bytes()
}

/// Formats microseconds after a second as seconds with six digits.
pub(super) fn seconds(from_s: u64, us: u64) -> String {
    format!("{}.{:06}", from_s + us / 1_000_000, us % 1_000_000)
}

/// Returns begins and ends of the spans with their times and span numbers, sorted by time.
fn begins_and_ends(spans: &[MeantSpan]) -> Vec<(u64, bool, usize)> {
    let mut points = Vec::new();
    for (number, span) in spans.iter().enumerate() {
        let start = u64::from(span.start);
        points.extend([(start, true, number), (start + u64::from(span.dur), false, number)]);
    }
    points.sort_by_key(|&(time, ..)| time);
    points
}

/// Writes markers of async spans, each with its own cookie, since thread spans could not overlap.
pub(super) fn ftrace(spans: &[MeantSpan]) -> Vec<u8> {
    let mut text = "# tracer: nop\n".to_owned();
    for (us, is_begin, number) in begins_and_ends(spans) {
        let (MeantSpan { thread, name, .. }, letter) = (&spans[number], if is_begin { 'S' } else { 'F' });
        let (tid, time) = (100 + u32::from(*thread), seconds(0, us));
        writeln!(
            text,
            "prog-{tid} (  100) [00{thread}] .... {time}: tracing_mark_write: {letter}|100|{name}|{number:04}"
        )
        .expect("into memory");
    }
    text.into_bytes()
}

/// Writes a pair of events for each span, whose field is the number of the span.
pub(super) fn babeltrace(spans: &[MeantSpan]) -> Vec<u8> {
    let mut text = String::new();
    for (us, is_begin, number) in begins_and_ends(spans) {
        let (MeantSpan { thread, name, .. }, side) = (&spans[number], if is_begin { "begin" } else { "end" });
        let (hours, minutes, tid) = (us / 3_600_000_000, us / 60_000_000 % 60, 100 + u32::from(*thread));
        let time = format!("{hours:02}:{minutes:02}:{:02}.{:06}000", us / 1_000_000 % 60, us % 1_000_000);
        writeln!(text, "[{time}] (+?.?????????) vm {name}:{side}: {{ cpu_id = 1 }}, {{ vpid = 7, vtid = {tid} }}, {{ id = {number} }}")
            .expect("into memory");
    }
    text.into_bytes()
}

/// Writes a function graph with times and tasks: leaf functions only.
pub(super) fn function_graph(spans: &[MeantSpan]) -> Vec<u8> {
    let mut text = "# tracer: function_graph\n".to_owned();
    for MeantSpan { start, dur, thread, name } in spans {
        let (time, task) = (seconds(0, (*start).into()), 100 + u32::from(*thread));
        writeln!(text, " {time} |   0)   a b-{task}   | {dur} us |  {name}();").expect("into memory");
    }
    text.into_bytes()
}

pub(super) fn perf_script(spans: &[MeantSpan]) -> Vec<u8> {
    let mut text = String::new();
    for (us, is_begin, number) in begins_and_ends(spans) {
        let (MeantSpan { thread, name, .. }, time) = (&spans[number], seconds(0, us));
        let (kind, fields) = if is_begin { ("enter", "fd: 0x00000003") } else { ("exit", "0x0") };
        writeln!(text, "prog 100/{} [00{thread}] {time}: syscalls:sys_{kind}_{name}: {fields}", 1000 + number)
            .expect("into memory");
    }
    text.into_bytes()
}

/// Writes markers as columns; the strings of a thread follow all that refers to them.
pub(super) fn firefox(spans: &[MeantSpan]) -> Vec<u8> {
    let millis = |us: u64| format!("{}.{:03}", us / 1000, us % 1000);
    let threads = (0..4u8).map(|thread| {
        let own: Vec<&MeantSpan> = spans.iter().filter(|span| span.thread == thread).collect();
        let column =
            |value: &dyn Fn(&MeantSpan) -> String| own.iter().map(|span| value(span)).collect::<Vec<_>>().join(",");
        let names = (0..own.len()).map(|number| number.to_string()).collect::<Vec<_>>().join(",");
        let starts = column(&|span| millis(span.start.into()));
        let ends = column(&|span| millis(u64::from(span.start) + u64::from(span.dur)));
        let (phases, texts) = (column(&|_| "1".to_owned()), column(&|span| format!("{:?}", span.name)));
        format!(
            r#"{{"name":"t","pid":1,"tid":{thread},"markers":{{"length":{},"name":[{names}],"startTime":[{starts}],
            "endTime":[{ends}],"phase":[{phases}]}},"stringArray":[{texts}]}}"#,
            own.len()
        )
    });
    let threads = threads.collect::<Vec<_>>().join(",");
    format!(
        r#"{{"meta":{{"interval":1,"startTime":0,"preprocessedProfileVersion":49}},"libs":[],"threads":[{threads}]}}"#
    )
    .into_bytes()
}

/// Writes an evented profile for each span, since spans of one profile must nest.
pub(super) fn speedscope(spans: &[MeantSpan]) -> Vec<u8> {
    let profiles = spans.iter().enumerate().map(|(frame, span)| {
        let (start, end) = (span.start, u64::from(span.start) + u64::from(span.dur));
        format!(
            r#"{{"type":"evented","name":"p","unit":"microseconds","startValue":{start},"endValue":{end},"events":[
            {{"type":"O","frame":{frame},"at":{start}}},{{"type":"C","frame":{frame},"at":{end}}}]}}"#
        )
    });
    let frames = spans.iter().map(|span| format!(r#"{{"name":{:?}}}"#, span.name));
    let (profiles, frames) = (profiles.collect::<Vec<_>>().join(","), frames.collect::<Vec<_>>().join(","));
    format!(
        r#"{{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{{"frames":[{frames}]}},
        "profiles":[{profiles}]}}"#
    )
    .into_bytes()
}

/// Encodes a field of bytes in protobuf.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut field = vec![number << 3 | 2];
    let mut len = bytes.len();
    while len >= 128 {
        field.push(len as u8 | 128);
        len >>= 7;
    }
    field.push(len as u8);
    field.extend_from_slice(bytes);
    field
}

/// Writes a time as a fixed64 field.
fn time_field(number: u8, ns: u64) -> Vec<u8> {
    [&[number << 3 | 1][..], &ns.to_le_bytes()].concat()
}

/// Writes a resource for each span, with a service for each thread.
pub(super) fn otlp_proto(spans: &[MeantSpan]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (number, span) in spans.iter().enumerate() {
        let service = field(1, format!("service {}", span.thread).as_bytes());
        let attribute = [field(1, b"service.name"), field(2, &service)].concat();
        let (start, id) = (u64::from(span.start), number as u64 + 1);
        let span = [
            field(1, &[7; 16]),
            field(2, &id.to_be_bytes()),
            field(5, span.name.as_bytes()),
            time_field(7, start),
            time_field(8, start + u64::from(span.dur)),
        ];
        let scope_spans = field(2, &field(2, &span.concat()));
        bytes.extend(field(1, &[field(1, &field(1, &attribute)), scope_spans].concat()));
    }
    bytes
}

/// Writes a line for each span.
pub(super) fn otlp_json(spans: &[MeantSpan]) -> Vec<u8> {
    let mut text = String::new();
    for (number, MeantSpan { start, dur, thread, name }) in spans.iter().enumerate() {
        let end = u64::from(*start) + u64::from(*dur);
        writeln!(
            text,
            r#"{{"resourceSpans":[{{"resource":{{"attributes":[{{"key":"service.name","value":{{"stringValue":"{thread}"}}}}]}},"scopeSpans":[{{"spans":[{{"traceId":"0{number:031x}","spanId":"{number:016x}","name":"{name}","startTimeUnixNano":"{start}","endTimeUnixNano":"{end}"}}]}}]}}]}}"#
        )
        .expect("into memory");
    }
    text.into_bytes()
}

fn in_array(objects: impl Iterator<Item = String>) -> String {
    format!("[{}]", objects.collect::<Vec<_>>().join(",\n"))
}

pub(super) fn zipkin(spans: &[MeantSpan]) -> Vec<u8> {
    let objects = spans.iter().enumerate().map(|(number, MeantSpan { start, dur, thread, name })| {
        format!(
            r#"{{"traceId":"{number:x}","id":"1","name":"{name}","timestamp":{start},"duration":{dur},"localEndpoint":{{"serviceName":"s{thread}"}}}}"#
        )
    });
    in_array(objects).into_bytes()
}

/// Writes a trace for each span, whose process follows it.
pub(super) fn jaeger(spans: &[MeantSpan]) -> Vec<u8> {
    let objects = spans.iter().enumerate().map(|(number, MeantSpan { start, dur, thread, name })| {
        let span = format!(
            r#"{{"traceID":"{number:x}","spanID":"1","operationName":"{name}","startTime":{start},"duration":{dur},"processID":"p"}}"#
        );
        format!(r#"{{"traceID":"{number:x}","spans":[{span}],"processes":{{"p":{{"serviceName":"s{thread}"}}}}}}"#)
    });
    format!(r#"{{"data":{},"total":0}}"#, in_array(objects)).into_bytes()
}

/// Writes three spans per line. The difference of their two starts is the start of the clock for all of them.
pub(super) fn next_js(spans: &[MeantSpan]) -> Vec<u8> {
    let objects: Vec<String> = spans
        .iter()
        .enumerate()
        .map(|(number, MeantSpan { start, dur, name, .. })| {
            let start_ms = format!("{}.{:03}", NEXT_JS_EPOCH_S * 1000 + u64::from(start / 1000), start % 1000);
            format!(
                r#"{{"name":"{name}","duration":{dur},"timestamp":{start},"id":{number},"tags":{{}},"startTime":{start_ms},"traceId":"a"}}"#
            )
        })
        .collect();
    let mut text = String::new();
    for line in objects.chunks(3) {
        writeln!(text, "[{}]", line.join(",")).expect("into memory");
    }
    text.into_bytes()
}

/// Writes requests without phases, which would become child spans.
pub(super) fn har(spans: &[MeantSpan]) -> Vec<u8> {
    let objects = spans.iter().map(|MeantSpan { start, dur, name, .. }| {
        let (minutes, seconds) = (start / 60_000_000, f64::from(start % 60_000_000) / 1e6);
        format!(
            r#"{{"startedDateTime":"1970-01-01T00:{minutes:02}:{seconds:09.6}Z","time":{}.{:03},"request":{{"method":"","url":"{name}"}}}}"#,
            dur / 1000,
            dur % 1000
        )
    });
    format!(r#"{{"log":{{"version":"1.2","creator":{{}},"entries":{}}}}}"#, in_array(objects)).into_bytes()
}

/// Writes a line for each call and its end, sorted by time; the number of a call is that of its span.
pub(super) fn xdebug(spans: &[MeantSpan]) -> Vec<u8> {
    let mut text = "Version: 3.2.0\nFile format: 4\nTRACE START [2026-11-22 10:51:11.903167]\n".to_owned();
    for (us, is_begin, number) in begins_and_ends(spans) {
        let time = seconds(0, us);
        if is_begin {
            let name = &spans[number].name;
            writeln!(text, "1\t{number}\t0\t{time}\t4096\t{name}\t1\t\t/w.php\t7\t0").expect("into memory");
        } else {
            writeln!(text, "1\t{number}\t1\t{time}\t4096").expect("into memory");
        }
    }
    text.into_bytes()
}

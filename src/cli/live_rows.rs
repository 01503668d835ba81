//! Writes rows of live traces as lines: human-readable, or one JSON object each with the keys of `spans` and `dump`.

use std::io::{self, Write};

use serde_json::Value;

use crate::base::escape::{escaped, write_json};
use crate::export::table::{json_id, json_text};
use crate::live::pairs::{LiveNames, LiveRow, RowValue};
use crate::live::session::SourceRow;
use crate::live::source_names::SourceNames;
use crate::model::{Id, TrackKey, TrackKind};

/// Kind of the runs on a CPU.
const SCHED: &str = "sched";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LiveRowFormat {
    Text,
    JsonLines,
}

/// Writes a row as one line. Returns the I/O error of `out`.
pub(super) fn write(
    out: &mut dyn Write,
    format: LiveRowFormat,
    row: &SourceRow<'_>,
    sources: &SourceNames,
) -> io::Result<()> {
    let pid = sources.process_id(row.source, &row.row.track.pid);
    match format {
        LiveRowFormat::Text => writeln!(out, "{}", escaped(&text(row, &pid))),
        LiveRowFormat::JsonLines => json(out, row, &pid, sources),
    }
}

/// Returns the name of a track outside threads.
fn track_name(track: &TrackKey) -> &str {
    if track.kind == TrackKind::Thread { "" } else { &track.name }
}

/// Formats `seconds  duration  process[pid]/thread[tid]  name  arguments`
fn text(&SourceRow { row, names, late_ns, .. }: &SourceRow<'_>, pid: &Id) -> String {
    let LiveRow { ts_ns, name, track, args, .. } = row;
    let sign = if *ts_ns < 0 { "-" } else { "" };
    let (seconds, nanos) = (ts_ns.unsigned_abs() / 1_000_000_000, ts_ns.unsigned_abs() % 1_000_000_000);
    let what = match &row.value {
        RowValue::Span { dur_ns: Some(ns) } | RowValue::Scheduling { dur_ns: Some(ns) } => duration(*ns),
        RowValue::Span { dur_ns: None } | RowValue::Scheduling { dur_ns: None } => "unfinished".to_owned(),
        RowValue::Instant => "instant".to_owned(),
        RowValue::Counter(value) => format!("= {}", counter_text(*value)),
        RowValue::Sample(_) => "sample".to_owned(),
        RowValue::Flow(_) => "flow".to_owned(),
    };
    let owner = owner(names, track, pid);
    // The series of a counter share its name, and differ by their tracks.
    let is_of_track =
        name.text.is_empty() || matches!(row.value, RowValue::Counter(_)) && !track_name(track).is_empty();
    let shown = if is_of_track { track_name(track) } else { &name.text };
    let mut line = format!("{sign}{seconds}.{nanos:09} {what:>12}  {owner}  {shown}");
    if let RowValue::Sample(stack) = &row.value {
        for caller in stack.iter().skip(1) {
            line.push_str(" < ");
            line.push_str(&caller.text);
        }
    }
    if !args.is_empty() {
        line.push(' ');
        line.push_str(args);
    }
    if late_ns > 0 {
        line.push_str("  (late by ");
        line.push_str(&duration(late_ns));
        line.push(')');
    }
    line
}

/// Formats a counter value in full, or with an exponent where it would have very many digits, as the window does.
fn counter_text(value: f64) -> String {
    let size = value.abs();
    if size >= 1e16 || size > 0.0 && size < 1e-4 { format!("{value:e}") } else { value.to_string() }
}

/// Formats process and thread with the ids that are known.
fn owner(names: &LiveNames, track: &TrackKey, pid: &Id) -> String {
    let part = |name: &str, id: &Id| match (name, id) {
        (name, Id::None) => name.to_owned(),
        ("", id) => id.to_string(),
        (name, id) => format!("{name}[{id}]"),
    };
    let process = part(names.process(track), pid);
    let thread = part(names.thread(track), &track.tid);
    match (&*process, &*thread) {
        ("", "") => track_name(track).to_owned(),
        ("", thread) => thread.to_owned(),
        (process, "") => process.to_owned(),
        (process, thread) => format!("{process}/{thread}"),
    }
}

/// Formats a duration with three decimals, in a suitable unit. Further digits are truncated, as in the window. All
/// decimals are kept, so that they line up.
pub(super) fn duration(ns: u64) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    match units.into_iter().find(|(unit_ns, _)| ns >= *unit_ns) {
        // The remainder times a thousand fits: it is below 10^12.
        Some((unit_ns, unit)) => format!("{}.{:03} {unit}", ns / unit_ns, ns % unit_ns * 1000 / unit_ns),
        None => format!("{ns} ns"),
    }
}

/// Returns the kind of a row, as in `dump`.
fn kind_of(row: &LiveRow) -> &'static str {
    match &row.value {
        RowValue::Span { .. } | RowValue::Instant => "slice",
        RowValue::Scheduling { .. } if row.track.kind == TrackKind::Cpu => SCHED,
        RowValue::Scheduling { .. } => "thread_state",
        RowValue::Counter(_) => "counter",
        RowValue::Sample(_) => "sample",
        RowValue::Flow(_) => "flow",
    }
}

fn json(
    out: &mut dyn Write,
    &SourceRow { row, names, late_ns, source, .. }: &SourceRow<'_>,
    pid: &Id,
    sources: &SourceNames,
) -> io::Result<()> {
    let LiveRow { ts_ns, name, track, args, .. } = row;
    let kind = kind_of(row);
    write!(out, "{{\"t\":\"{kind}\",\"ts\":{ts_ns}")?;
    json_value(out, &row.value)?;
    out.write_all(b",\"name\":")?;
    json_text(out, &name.text)?;
    out.write_all(b",\"category\":")?;
    match &name.category {
        Some(category) => json_text(out, category)?,
        None => out.write_all(b"null")?,
    }
    let args = (!args.is_empty()).then(|| serde_json::from_str::<Value>(args).map_err(|_| args));
    if kind == SCHED {
        // The track of a run is a CPU; the arguments of the run have the ids of the thread.
        let id = |key: &str| match &args {
            Some(Ok(args)) => args[key].as_i64(),
            _ => None,
        };
        let [thread_pid, cpu] = [id("pid"), track.tid.number()].map(|number| {
            number.map_or(Id::None, |number| sources.process_id(source, &track.id_beside(number)).into_owned())
        });
        for (key, id) in [("pid", thread_pid), ("tid", id("tid").map_or(Id::None, Id::Number)), ("cpu", cpu)] {
            write!(out, ",\"{key}\":")?;
            json_id(out, &id)?;
        }
    } else {
        for (key, id) in [("pid", pid), ("tid", &track.tid)] {
            write!(out, ",\"{key}\":")?;
            json_id(out, id)?;
        }
    }
    for (key, text) in
        [("process", names.process(track)), ("thread", names.thread(track)), ("track", track_name(track))]
    {
        write!(out, ",\"{key}\":")?;
        json_text(out, text)?;
    }
    if let Some(args) = args {
        // The arguments are parsed, because the trace may have formatted them in lines, and names in them must not
        // control a terminal.
        out.write_all(b",\"args\":")?;
        match args {
            Ok(value) => write_json(&mut *out, &value)?,
            Err(text) => json_text(out, text)?,
        }
    }
    if late_ns > 0 {
        write!(out, ",\"late\":{late_ns}")?;
    }
    out.write_all(b"}\n")
}

/// Writes the keys that depend on the kind of a row.
fn json_value(out: &mut dyn Write, value: &RowValue) -> io::Result<()> {
    match value {
        RowValue::Span { dur_ns } | RowValue::Scheduling { dur_ns } => {
            write!(out, ",\"dur\":{}", dur_ns.map_or(-1, i128::from))
        }
        RowValue::Instant => out.write_all(b",\"dur\":0"),
        RowValue::Flow(flow) => write!(out, ",\"id\":{}", flow.id),
        RowValue::Counter(value) => {
            out.write_all(b",\"value\":")?;
            write_json(out, value)
        }
        RowValue::Sample(stack) => {
            out.write_all(b",\"stack\":[")?;
            for (position, frame) in stack.iter().enumerate() {
                if position > 0 {
                    out.write_all(b",")?;
                }
                json_text(out, &frame.text)?;
            }
            out.write_all(b"]")
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Instant;

    use super::*;
    use crate::live::feed::LiveName;
    use crate::live::pairs::RowOrder;

    /// Writes a row without its line feed.
    fn written(format: LiveRowFormat, name: &str, track: TrackKey, value: RowValue, args: &str) -> String {
        written_from(0, format, name, track, value, args)
    }

    /// Writes a row of a source, of two sources, without its line feed.
    fn written_from(
        source: usize,
        format: LiveRowFormat,
        name: &str,
        track: TrackKey,
        value: RowValue,
        args: &str,
    ) -> String {
        let name = Arc::new(LiveName::new(name.into(), None));
        let (track, order) = (Arc::new(track), RowOrder::default());
        let row = LiveRow { ts_ns: 5, value, name, track, args: args.into(), order };
        let (names, came) = (LiveNames::default(), Instant::now());
        let row = SourceRow { row: &row, names: &names, late_ns: 0, source, now_ns: 5, came };
        let mut out = Vec::new();
        write(&mut out, format, &row, &SourceNames(vec!["a.txt".into(), "b.txt".into()])).unwrap();
        String::from_utf8(out).unwrap().trim_end_matches('\n').to_owned()
    }

    fn line(name: &str, track: (TrackKind, &str), value: RowValue) -> String {
        let track = TrackKey { kind: track.0, pid: Id::Number(1), tid: Id::None, name: track.1.into(), slot: 0 };
        written(LiveRowFormat::Text, name, track, value, "")
    }

    #[test]
    fn a_duration_is_never_longer_than_it_is() {
        let texts = [0, 999, 1000, 1_999, 999_999_999, u64::MAX].map(duration);
        assert_eq!(texts, ["0 ns", "999 ns", "1.000 us", "1.999 us", "999.999 ms", "18446744073.709 s"]);
    }

    #[test]
    fn a_run_on_a_cpu_has_the_ids_of_its_thread_and_states_have_the_kind_of_dump() {
        let json_from = |source, kind, pid, tid, args| {
            let track = TrackKey { kind, pid, tid: Id::Number(tid), name: "".into(), slot: 0 };
            let value = RowValue::Scheduling { dur_ns: Some(7) };
            let line = written_from(source, LiveRowFormat::JsonLines, "app", track, value, args);
            let line: Value = serde_json::from_str(&line).unwrap();
            ["t", "pid", "tid", "cpu"].map(|key| line.get(key).map(ToString::to_string).unwrap_or_default())
        };
        let json = |kind, pid, tid, args| json_from(0, kind, pid, tid, args);
        let args = r#"{"pid":12,"tid":34,"end_state":"S"}"#;
        assert_eq!(json(TrackKind::Cpu, Id::None, 3, args), [r#""sched""#, "12", "34", "3"]);
        assert_eq!(json(TrackKind::Cpu, Id::None, 3, ""), [r#""sched""#, "null", "null", "3"]);
        assert_eq!(json(TrackKind::State, Id::Number(12), 34, ""), [r#""thread_state""#, "12", "34", ""]);
        // Threads and CPUs of the second source are different ones.
        let run = json_from(1, TrackKind::Cpu, Id::None, 3, args);
        assert_eq!(run, [r#""sched""#, r#""12 in b.txt""#, "34", r#""3 in b.txt""#]);
        let state = json_from(1, TrackKind::State, Id::Number(12), 34, "");
        assert_eq!(state, [r#""thread_state""#, r#""12 in b.txt""#, "34", ""]);
    }

    #[test]
    fn a_counter_value_has_an_exponent_instead_of_hundreds_of_digits() {
        let values = [f64::MAX, -1e16, 123_456_789.25, 0.0, 1e-4, -9.5e-5, 1e-300, f64::INFINITY];
        let texts = ["1.7976931348623157e308", "-1e16", "123456789.25", "0", "0.0001", "-9.5e-5", "1e-300", "inf"];
        assert_eq!(values.map(counter_text), texts);
    }

    #[test]
    fn two_series_of_a_counter_are_two_lines() {
        let counter = |name: &str, track: &str| line(name, (TrackKind::Counter, track), RowValue::Counter(30.0));
        assert_eq!(counter("mem", "mem a"), "0.000000005         = 30  1  mem a");
        assert_eq!(counter("mem", "mem b"), "0.000000005         = 30  1  mem b");
        assert_eq!(counter("mem", ""), "0.000000005         = 30  1  mem");
        assert_eq!(counter("", "mem"), "0.000000005         = 30  1  mem");
        // The tracks of spans have separate names.
        let span = |name: &str| line(name, (TrackKind::Async, "group"), RowValue::Instant);
        assert_eq!((span("a"), span("")), (span("a"), span("group")));
        assert!(span("a").ends_with("1  a"));
    }
}

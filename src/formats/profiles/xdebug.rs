//! Xdebug function traces of PHP in the computer-readable format (`.xt`, `xdebug.trace_format=1`). Each call has a line
//! of tab-separated fields, and another for its end, with times in seconds since the start. Calls become spans of one
//! thread with file, line and arguments; memory use becomes a counter. `xdebug_text` reads the human-readable format;
//! the HTML format is refused.

use super::xdebug_calls::{RUN_START, XdebugCall, XdebugCalls, XdebugFormat, XdebugLines, memory_in_use};
use super::xdebug_text::{XdebugText, looks_like_text};
use crate::formats::format::{DataKind, Format, Opener};
use crate::formats::input::decimal::nanos_from_seconds;
use crate::formats::input::lines::{TextLine, head_lines};
use crate::formats::input::source::Source;
use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::BatchBuilder;
use crate::formats::{Reader, input};
use crate::model::Loss;

pub(crate) const FORMAT: Format = Format {
    name: "Xdebug trace",
    record: "A call is a line of depth, number, 0, time, memory and function, with tabs between them.",
    sniff: looks_like_xdebug,
    is_event: None,
    live: None,
    shows: &[DataKind::Spans, DataKind::Counters, DataKind::Arguments],
    opener: Opener::Trace(|source, _| Ok(open(source))),
};

/// Returns whether the heading belongs to a function trace.
fn looks_like_xdebug(head: &[u8]) -> bool {
    head_lines(head).take(3).any(|line| line.starts_with(b"File format: ")) && head.starts_with(b"Version: ")
        || head.starts_with(RUN_START) && head_lines(head).nth(1).is_some_and(|line| line.contains(&b'\t'))
        || looks_like_text(head)
}

/// Creates a reader of a trace.
fn open(source: Source) -> Reader {
    if looks_like_text(source.head()) {
        return input::lines::open(source, XdebugLines::<XdebugText>::default());
    }
    input::lines::open(source, XdebugLines::<Xdebug>::default())
}

#[derive(Debug, Default)]
struct Xdebug {
    calls: XdebugCalls,
    args: ArgsWriter,
}

fn number(text: Option<&[u8]>) -> Option<u64> {
    std::str::from_utf8(text?).ok()?.parse().ok()
}

impl XdebugFormat for Xdebug {
    fn calls(&mut self) -> &mut XdebugCalls {
        &mut self.calls
    }

    fn time(line: TextLine<'_>, batch: &mut BatchBuilder) -> Option<i64> {
        let mut fields = line.bytes.split(|&byte| byte == b'\t');
        let (level, call, kind) = (fields.next(), number(fields.next()), fields.next().unwrap_or_default());
        let (time, memory) = (fields.next().unwrap_or_default(), fields.next());
        // The last line has the final time and memory, and no call.
        let is_last = level == Some(b"") && call.is_none() && kind.is_empty();
        // Return values and assigned values have neither a time nor memory.
        if kind == b"R" && call.is_some() || kind == b"A" {
            return None;
        }
        // A truncated line may lack digits of its time.
        let time = nanos_from_seconds(time).ok().filter(|_| memory.is_some());
        let is_call = call.is_some() && matches!(kind, b"0" | b"1");
        let time = time.filter(|_| is_call || is_last);
        if time.is_none() {
            batch.lose(line.loss(), line.pos());
        }
        time
    }

    fn timed_line(&mut self, line: TextLine<'_>, ts_ns: i64, batch: &mut BatchBuilder) {
        let mut fields = line.bytes.split(|&byte| byte == b'\t');
        let (level, call, kind) = (fields.next(), number(fields.next()), fields.next().unwrap_or_default());
        // The time comes before the memory.
        let memory = fields.nth(1);
        match (kind, call) {
            (b"0", Some(call)) => self.begin((number(level), call), ts_ns, fields, line, batch),
            (b"1", Some(call)) => self.calls.end(call, ts_ns, line.pos(), batch),
            _ => {}
        }
        // The last field of a cut line may lack digits.
        let is_whole = line.has_end || line.bytes.split(|&byte| byte == b'\t').nth(5).is_some();
        match number(memory) {
            Some(bytes) if is_whole => memory_in_use(ts_ns, bytes, batch),
            Some(_) => {}
            None => batch.lose(if line.has_end { Loss::BadCounter } else { Loss::Truncated }, line.pos()),
        }
    }
}

impl Xdebug {
    /// Parses the fields after the memory: `name user-defined include file line count argument..`.
    fn begin<'f>(
        &mut self,
        (level, number): (Option<u64>, u64),
        start_ns: i64,
        mut fields: impl Iterator<Item = &'f [u8]>,
        line: TextLine<'_>,
        batch: &mut BatchBuilder,
    ) {
        let pos = line.pos();
        let Some(name) = fields.next().filter(|name| !name.is_empty()) else { return batch.lose(line.loss(), pos) };
        let (is_user, include) = (fields.next(), fields.next());
        let (file, line_number) = (fields.next(), fields.next());
        // The last field may be truncated.
        if !line.has_end && line_number.is_none() {
            return batch.lose(Loss::Truncated, pos);
        }
        self.args.clear();
        let mut text = |key: &str, value: Option<&[u8]>| {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                self.args.text(key, value);
            }
        };
        text("file", file);
        text("include", include);
        if let Some(line_number) = self::number(line_number) {
            self.args.number("line", line_number);
        }
        if is_user == Some(b"0") {
            self.args.key("", b"internal");
            self.args.json.push_str("true");
        }
        let count = self::number(fields.next()).unwrap_or(0);
        for (position, argument) in (0..count).zip(fields) {
            self.args.text(&format!("argument {position}"), argument);
        }
        let Some(level) = level else { return batch.lose(Loss::BadRecord, pos) };
        let call = XdebugCall { number, level, name, args_json: self.args.finish() };
        self.calls.begin(&call, start_ns, pos, batch);
    }
}

#[cfg(test)]
mod tests {
    use crate::formats::profiles::xdebug_calls::tests::spans;
    use crate::formats::testing::{read, read_path, unpacked};
    use crate::model::{EventKind, Loss};

    const HEAD: &str = "Version: 3.2.0\nFile format: 4\nTRACE START [2026-11-22 10:51:11.903167]\n";

    #[test]
    fn calls_have_their_location_and_arguments_and_memory_is_a_counter() {
        let reading = read(&format!(
            "{HEAD}1\t0\t0\t0.000279\t396840\t{{main}}\t1\t\t/w.php\t0\t0\n2\t1\t0\t0.0003\t396900\tstrlen\t0\t\t/w.php\t2\t2\t'a'\t7\n\
             2\t1\t1\t0.0004\t396872\n2\t1\tR\t\t\t1\n2\t\tA\t\t\t\t/w.php\t3\t$a\t5\n2\t9\t1\t0.0005\t5\nnonsense\n\t\t\t0.0006\t360\nTRACE END   [x]\n"
        ));
        // The first has no end.
        assert_eq!(spans(&reading), [(279, None, 0, "{main}"), (300, Some(100), 1, "strlen")]);
        let begins: Vec<_> = reading.events.iter().filter(|event| event.kind == EventKind::Begin).collect();
        assert_eq!(begins[0].args, r#"{"file":"/w.php","line":0}"#);
        let expected = r#"{"file":"/w.php","line":2,"internal":true,"argument 0":"'a'","argument 1":"7"}"#;
        assert_eq!(begins[1].args, expected);
        let counters = reading.events.iter().filter(|event| event.kind == EventKind::Counter);
        let values: Vec<_> = counters.map(|event| f64::from_bits(event.value)).collect();
        assert_eq!(values, [396_840.0, 396_900.0, 396_872.0, 5.0, 360.0]);
        assert_eq!(reading.lost(), [(Loss::UnmatchedEnd, 1), (Loss::BadRecord, 1)]);
    }

    /// Returns the line of a call.
    fn call(level: u64, number: u64, us: u64, name: &str) -> String {
        format!("{level}\t{number}\t0\t0.{us:06}\t400100\t{name}\t1\t\t/a.php\t3\t0\n")
    }

    /// Returns the line of the end of a call.
    fn end(level: u64, number: u64, us: u64) -> String {
        format!("{level}\t{number}\t1\t0.{us:06}\t400100\n")
    }

    #[test]
    fn calls_that_begin_or_end_at_one_time_nest_as_recorded() {
        let lines = [call(1, 0, 1, "outer"), call(2, 1, 1, "inner"), end(2, 1, 3), end(1, 0, 3)];
        assert_eq!(
            spans(&read(&(HEAD.to_owned() + &lines.concat()))),
            [(1, Some(2), 0, "outer"), (1, Some(2), 1, "inner")]
        );
    }

    #[test]
    fn calls_of_a_fiber_overlap_those_of_the_program_without_a_loss() {
        let lines = [
            call(1, 0, 1, "{main}"),
            call(2, 1, 2, "Fiber->start"),
            call(1, 2, 3, "of_fiber"),
            call(2, 3, 4, "Fiber::suspend"),
            end(2, 1, 5),
            call(2, 4, 6, "meanwhile"),
            end(2, 4, 7),
            call(2, 5, 8, "Fiber->resume"),
            end(2, 3, 9),
            call(2, 6, 10, "resumed"),
            end(2, 6, 11),
            end(1, 2, 12),
            end(2, 5, 13),
            end(1, 0, 14),
        ];
        let reading = read(&(HEAD.to_owned() + &lines.concat()));
        let expected = [
            (1, Some(13), 0, "{main}"),
            (2, Some(3), 1, "Fiber->start"),
            (3, Some(9), 0, "of_fiber"),
            (4, Some(5), 1, "Fiber::suspend"),
            (6, Some(1), 1, "meanwhile"),
            (8, Some(5), 1, "Fiber->resume"),
            (10, Some(1), 1, "resumed"),
        ];
        assert_eq!((spans(&reading), reading.lost()), (expected.to_vec(), vec![]));
        let of =
            |name: &str| reading.events.iter().find(|event| event.name == name).map(|event| event.track.tid.clone());
        assert_eq!((of("meanwhile"), of("resumed")), (of("{main}"), of("of_fiber")));
        assert_ne!(of("meanwhile"), of("resumed"));
    }

    #[test]
    fn a_fiber_whose_levels_count_from_2_has_a_thread_of_its_own() {
        let lines = [
            call(1, 0, 1, "{main}"),
            call(2, 1, 2, "Fiber->start"),
            call(2, 2, 3, "of_fiber"),
            call(3, 3, 4, "Fiber::suspend"),
            end(2, 1, 5),
            call(2, 4, 6, "meanwhile"),
            call(3, 5, 7, "Fiber->resume"),
            end(3, 3, 8),
            end(2, 2, 9),
            end(3, 5, 10),
            end(2, 4, 11),
            end(1, 0, 12),
        ];
        let reading = read(&(HEAD.to_owned() + &lines.concat()));
        let expected = [
            (1, Some(11), 0, "{main}"),
            (2, Some(3), 1, "Fiber->start"),
            (3, Some(6), 0, "of_fiber"),
            (4, Some(4), 1, "Fiber::suspend"),
            (6, Some(5), 1, "meanwhile"),
            (7, Some(3), 2, "Fiber->resume"),
        ];
        assert_eq!((spans(&reading), reading.lost()), (expected.to_vec(), vec![]));
    }

    #[test]
    fn a_missing_end_costs_one_call_and_starts_no_fiber() {
        let lines = [
            call(1, 0, 1, "{main}"),
            // The ends of this call and its callee are missing.
            call(2, 1, 2, "first"),
            call(3, 2, 3, "inside"),
            call(2, 3, 4, "second"),
            call(3, 4, 5, "inner"),
            end(3, 4, 6),
            end(2, 3, 7),
            call(2, 5, 8, "third"),
            end(2, 5, 9),
            end(1, 0, 10),
        ];
        let reading = read(&(HEAD.to_owned() + &lines.concat()));
        let expected = [
            (1, Some(9), 0, "{main}"),
            (2, Some(2), 1, "first"),
            (3, Some(1), 2, "inside"),
            (4, Some(3), 1, "second"),
            (5, Some(1), 2, "inner"),
            (8, Some(1), 1, "third"),
        ];
        assert_eq!((spans(&reading), reading.lost()), (expected.to_vec(), vec![(Loss::TruncatedSpan, 2)]));
    }

    #[test]
    fn a_wrong_time_costs_its_own_line() {
        let text = |[main, foo, end, bar]: [&str; 4]| {
            format!(
                "{HEAD}1\t0\t0\t{main}\t40\t{{main}}\t1\t\t/b.php\t0\t0\n2\t1\t0\t{foo}\t40\tfoo\t1\t\t/b.php\t3\t0\n\
                 2\t1\t1\t{end}\t41\n2\t2\t0\t{bar}\t40\tbar\t1\t\t/b.php\t4\t0\n2\t2\t1\t0.0006\t40\n\
                 1\t0\t1\t0.0007\t40\n"
            )
        };
        for (times, main, foo, bar) in [
            (["0.0001", "9.0003", "0.0004", "0.0005"], (100, 700), (400, 400), (500, 600)),
            (["9.0001", "0.0003", "0.0004", "0.0005"], (300, 700), (300, 400), (500, 600)),
            // The next line may have the time of the previous one.
            (["0.0001", "0.0003", "9.0003", "0.0003"], (100, 700), (300, 300), (300, 600)),
            // A time that is too early.
            (["0.0001", "0.0003", "0.0004", "0.0002"], (100, 700), (300, 400), (400, 600)),
        ] {
            let reading = read(&text(times));
            let span = |(start, end): (i64, i64), depth: usize, name| (start, Some(end - start), depth, name);
            let expected = vec![span(main, 0, "{main}"), span(foo, 1, "foo"), span(bar, 1, "bar")];
            assert_eq!((spans(&reading), reading.lost()), (expected, vec![(Loss::NegativeDuration, 1)]), "{times:?}");
        }
    }

    #[test]
    fn runs_without_dates_follow_each_other_directly() {
        let run = "Version: 3.1.6\nFile format: 4\nTRACE START [?]\n\
                   1\t0\t0\t0.0001\t40\t{main}\t1\t\t/b.php\t0\t0\n1\t0\t1\t0.0005\t40\nTRACE END   [?]\n\n";
        let reading = read(&run.repeat(2));
        let expected = vec![(100, Some(400), 0, "{main}"), (500, Some(400), 0, "{main}")];
        assert_eq!((spans(&reading), reading.lost()), (expected, vec![]));
    }

    #[test]
    fn runs_that_are_appended_follow_each_other_by_their_dates() {
        let run = |date: &str, end: &str| {
            format!(
                "Version: 3.1.6\nFile format: 4\nTRACE START [{date}]\n\
                 1\t0\t0\t0.0001\t40\t{{main}}\t1\t\t/b.php\t0\t0\n2\t1\t0\t0.0002\t40\tfoo\t1\t\t/b.php\t3\t0\n{end}\
                 TRACE END   [{date}]\n\n"
            )
        };
        let whole = "2\t1\t1\t0.0004\t41\n1\t0\t1\t0.0005\t40\n\t\t\t0.0006\t30\n";
        let text = [
            run("2023-03-10 12:00:00.100000", whole),
            // Two calls of this run have no end. Its date is the start of the run.
            run("2023-03-10 12:00:00.200000", ""),
            // A date without fractions is before the end of the previous run.
            run("2023-03-10 12:00:00", whole),
        ]
        .concat();
        let reading = read(&text);
        let expected = [
            (100, Some(400), 0, "{main}"),
            (200, Some(200), 1, "foo"),
            (100_100, Some(100), 0, "{main}"),
            (100_200, Some(0), 1, "foo"),
            (100_200, Some(400), 0, "{main}"),
            (100_300, Some(200), 1, "foo"),
        ];
        assert_eq!((spans(&reading), reading.lost()), (expected.to_vec(), vec![(Loss::UnmatchedBegin, 2)]));
        let mut memory = reading.events.iter().filter(|event| event.kind == EventKind::Counter);
        assert_eq!(memory.next_back().map(|event| event.ts_ns), Some(100_700_000));
    }

    #[test]
    fn a_call_whose_end_is_missing_ends_with_its_caller() {
        let head = format!("{HEAD}1\t0\t0\t0.1\t40\tf\t1\t\t/b.php\t0\t0\n2\t1\t0\t0.2\t40\tg\t1\t\t/b.php\t3\t0\n");
        let reading = read(&(head + "1\t0\t1\t0.3\t40\n1\t2\t0\t0.1\t40\th\t1\t\t/b.php\t0\t0\n1\t2\t1\t0.4\t40\n"));
        let expected =
            [(100_000, Some(200_000), 0, "f"), (200_000, Some(100_000), 1, "g"), (300_000, Some(100_000), 0, "h")];
        // The third call begins before the second.
        let lost = vec![(Loss::TruncatedSpan, 1), (Loss::NegativeDuration, 1)];
        assert_eq!((spans(&reading), reading.lost()), (expected.to_vec(), lost));
    }

    #[test]
    fn a_real_trace_has_a_span_for_each_call() {
        let text = unpacked("people/xdebug-trace.xt.gz");
        let reading = read_path(&crate::formats::testing::data("people/xdebug-trace.xt.gz")).expect("a trace");
        let calls = text.lines().filter(|line| line.split('\t').nth(2) == Some("0")).count();
        // The level of a line is the depth of its call.
        let levels: Vec<usize> = text
            .lines()
            .filter(|line| line.split('\t').nth(2) == Some("0"))
            .map(|line| line.split('\t').next().and_then(|level| level.parse().ok()).expect("a level"))
            .collect();
        let depths: Vec<usize> = spans(&reading).iter().map(|&(_, _, depth, _)| depth + 1).collect();
        assert_eq!(depths, levels[..calls - 1]);
        // The file ends in the middle of its last line, which is a call.
        assert_eq!(reading.lost(), [(Loss::Truncated, 1)]);
    }
}

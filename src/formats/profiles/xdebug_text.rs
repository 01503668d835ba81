//! Xdebug function traces of PHP in the human-readable format (`xdebug.trace_format=0`, the default): a line for each
//! call, `seconds memory -> function(arguments) file:line`, indented by depth. Ends are recorded only with return
//! values (`>=> value`); otherwise a call lasts until the next call that is not nested in it. Variable values are
//! ignored.

use super::xdebug_calls::{RUN_START, XdebugCall, XdebugCalls, XdebugFormat, memory_in_use};
use crate::formats::input::decimal::nanos_from_seconds;
use crate::formats::input::lines::{TextLine, head_lines};
use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::BatchBuilder;

/// Returns whether the heading is followed by a call in this format.
pub(super) fn looks_like_text(head: &[u8]) -> bool {
    let mut lines = head_lines(head);
    lines.next().is_some_and(|line| line.starts_with(RUN_START))
        && lines.next().and_then(TextRecord::from_line).is_some_and(|record| record.kind == TextKind::Call)
}

/// A line, indented by its depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TextRecord<'a> {
    ts_ns: i64,
    memory: u64,
    kind: TextKind,
    level: u64,
    /// Text after the arrow.
    text: &'a [u8],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextKind {
    Call,
    Return,
    /// The final time and memory.
    End,
}

impl<'a> TextRecord<'a> {
    fn from_line(line: &'a [u8]) -> Option<Self> {
        let (time, rest) = word(line.trim_ascii_start());
        let (memory, rest) = word(rest.trim_ascii_start());
        let ts_ns = time.contains(&b'.').then(|| nanos_from_seconds(time).ok())??;
        let memory = std::str::from_utf8(memory).ok()?.parse().ok()?;
        let text = rest.trim_ascii_start();
        let (indent, text) = (rest.len() - text.len(), text.trim_ascii_end());
        if text.is_empty() {
            return Some(Self { ts_ns, memory, kind: TextKind::End, level: 0, text });
        }
        // Two spaces per level, after one for a call and two for a return.
        let (kind, before, text) = match text.strip_prefix(b"-> ") {
            Some(call) => (TextKind::Call, 1, call),
            None => (TextKind::Return, 2, text.strip_prefix(b">=>")?),
        };
        Some(Self { ts_ns, memory, kind, level: (indent.saturating_sub(before) / 2) as u64, text })
    }
}

fn word(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(memchr::memchr(b' ', text).unwrap_or(text.len()))
}

#[derive(Debug, Default)]
pub(super) struct XdebugText {
    calls: XdebugCalls,
    args: ArgsWriter,
}

impl XdebugFormat for XdebugText {
    fn calls(&mut self) -> &mut XdebugCalls {
        &mut self.calls
    }

    fn time(line: TextLine<'_>, batch: &mut BatchBuilder) -> Option<i64> {
        // The value of a variable, or before version 2.3 of a return: neither a time nor a call.
        if [&b"=> "[..], b">=> "].iter().any(|value| line.bytes.trim_ascii_start().starts_with(value)) {
            return None;
        }
        // A truncated file may cut a number or a name.
        let record = TextRecord::from_line(line.bytes).filter(|_| line.has_end);
        if record.is_none() {
            batch.lose(line.loss(), line.pos());
        }
        Some(record?.ts_ns)
    }

    fn timed_line(&mut self, line: TextLine<'_>, ts_ns: i64, batch: &mut BatchBuilder) {
        let Some(TextRecord { memory, kind, level, text, .. }) = TextRecord::from_line(line.bytes) else { return };
        memory_in_use(ts_ns, memory, batch);
        self.calls.end_from_level(level, ts_ns, batch);
        if kind == TextKind::Call {
            self.begin(level, ts_ns, text, line, batch);
        }
    }
}

impl XdebugText {
    /// Begins a call `function($a = 1) /file.php:3`.
    fn begin(&mut self, level: u64, start_ns: i64, text: &[u8], line: TextLine<'_>, batch: &mut BatchBuilder) {
        let open = memchr::memchr(b'(', text).unwrap_or(text.len());
        let close = memchr::memmem::rfind(text, b") ").unwrap_or(text.len()).max(open);
        let (file, line_number) = text.get(close + 2..).map_or((&b""[..], None), |location| {
            let colon = memchr::memrchr(b':', location).unwrap_or(location.len());
            let line_number =
                location.get(colon + 1..).and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
            (&location[..colon], line_number)
        });
        self.args.clear();
        if !file.is_empty() {
            self.args.text("file", file);
        }
        if let Some(line_number) = line_number {
            self.args.number("line", line_number);
        }
        if let Some(arguments) = text.get(open + 1..close).filter(|arguments| !arguments.is_empty()) {
            self.args.text("arguments", arguments);
        }
        // Calls have no numbers; the offset of a line is unique.
        let call = XdebugCall { number: line.offset, level, name: &text[..open], args_json: self.args.finish() };
        self.calls.begin(&call, start_ns, line.pos(), batch);
    }
}

#[cfg(test)]
mod tests {
    use crate::formats::profiles::xdebug_calls::tests::spans;
    use crate::formats::testing::read;
    use crate::model::EventKind;
    use proptest::prelude::*;

    /// Returns a line as Xdebug prints it.
    fn line(millis: usize, level: usize, arrow: &str, text: &str) -> String {
        format!("{:>10} {:>10} {}{arrow} {text}\n", format!("0.{millis:04}"), 397_456, "  ".repeat(level))
    }

    #[test]
    fn calls_last_until_the_next_that_is_not_below_them_or_to_their_return() {
        let head = "TRACE START [2024-01-02 03:04:05.678901]\n";
        let text = [
            head,
            &line(3, 1, "->", "{main}() /tmp/a.php:0"),
            &line(4, 2, "->", "foo($a = 'x) y', $b = 1) /tmp/my a.php:4"),
            "                         => $c = 5 /tmp/a.php:3\n",
            &line(6, 3, "->", "strlen('abc') /tmp/a.php:5"),
            &line(7, 3, " >=>", "3"),
            &line(10, 2, "->", "Bar->baz() /tmp/a.php:9"),
            "    0.0012     340000\nTRACE END   [2024-01-02 03:04:05.680101]\n\n",
        ]
        .concat();
        let reading = read(&text);
        let expected = [
            (300, Some(900), 0, "{main}"),
            (400, Some(600), 1, "foo"),
            (600, Some(100), 2, "strlen"),
            (1000, Some(200), 1, "Bar->baz"),
        ];
        assert_eq!(spans(&reading), expected);
        let foo = reading.events.iter().find(|event| event.name == "foo").expect("a call");
        assert_eq!(foo.args, r#"{"file":"/tmp/my a.php","line":4,"arguments":"$a = 'x) y', $b = 1"}"#);
        let memory = reading.events.iter().filter(|event| event.kind == EventKind::Counter).count();
        assert_eq!((memory, reading.lost()), (6, vec![]));
        for len in text.find("foo").expect("there")..text.len() {
            let cut = read(&text[..len]);
            assert!(cut.events.len() >= 2 && cut.losses.total() <= 1, "{len} bytes: {:?}", cut.lost());
        }
    }

    #[test]
    fn a_returned_value_without_a_time_as_before_version_2_3_is_not_a_loss() {
        let text = [
            "TRACE START [2012-01-02 03:04:05]\n",
            &line(3, 1, "->", "{main}() /a.php:0"),
            &line(4, 2, "->", "strlen('abc') /a.php:5"),
            "                           >=> 3\n",
            &line(6, 2, "->", "rand() /a.php:6"),
            "    0.0012     340000\nTRACE END   [2012-01-02 03:04:05]\n",
        ]
        .concat();
        let reading = read(&text);
        let expected = [(300, Some(900), 0, "{main}"), (400, Some(200), 1, "strlen"), (600, Some(600), 1, "rand")];
        assert_eq!((spans(&reading), reading.lost()), (expected.to_vec(), vec![]));
    }

    #[test]
    fn runs_that_are_appended_follow_each_other() {
        let run = [
            "TRACE START [2024-01-02 03:04:05.678901]\n",
            &line(3, 1, "->", "f() /a.php:0"),
            "    0.0005     34\nTRACE END   [2024-01-02 03:04:05.680101]\n\n",
        ]
        .concat();
        let reading = read(&run.repeat(2));
        assert_eq!(spans(&reading), [(300, Some(200), 0, "f"), (500, Some(200), 0, "f")]);
        assert_eq!(reading.lost(), []);
    }

    #[test]
    fn lines_of_one_written_time_follow_each_other_so_that_calls_have_their_own_parents() {
        let calls =
            [(1, "{main}"), (2, "top"), (3, "mid"), (4, "leaf"), (4, "leaf"), (3, "mid"), (4, "leaf"), (2, "end")];
        let lines = calls.map(|(level, name)| line(9, level, "->", &format!("{name}() /a.php:2")));
        let reading = read(&format!("TRACE START [?]\n{}    0.0009     34\nTRACE END   [?]\n", lines.concat()));
        let mut spans = Vec::new();
        let mut open = Vec::new();
        for event in &reading.events {
            if event.kind == EventKind::Begin {
                open.push((event.ts_ns, event.name.clone()));
            } else if event.kind == EventKind::End {
                let (start_ns, name) = open.pop().expect("a begin");
                spans.push((start_ns - 900_000, event.ts_ns - 900_000, name));
            }
        }
        spans.sort();
        let expected = [(0, 8), (1, 7), (2, 5), (3, 4), (4, 5), (5, 7), (6, 7), (7, 8)];
        let expected: Vec<_> =
            expected.into_iter().zip(calls).map(|((start, end), (_, name))| (start, end, name.to_owned())).collect();
        assert_eq!((spans, reading.lost()), (expected, vec![]));
    }

    proptest! {
        #[test]
        fn each_call_ends_where_the_next_line_that_is_not_deeper_begins(
            steps in proptest::collection::vec((0usize..4, 0usize..2), 1..30),
        ) {
            // Depths of a real program: at most one more than the previous line. Some lines have the time of the
            // previous one.
            let mut rows = vec![(1usize, 0usize)];
            for (step, later) in steps {
                let (time, depth) = rows[rows.len() - 1];
                rows.push((time + later, (depth + 1).saturating_sub(step).max(1)));
            }
            let mut text = "TRACE START [2024-01-02 03:04:05.678901]\n".to_owned();
            for (at, (time, depth)) in rows.iter().enumerate() {
                text += &line(*time, depth + 1, "->", &format!("f{at}() /a.php:1"));
            }
            let last = rows[rows.len() - 1].0 + 1;
            text.extend([format!("    0.{last:04}     340000\n")]);
            // Naive oracle: searches the later lines for the end.
            let names: Vec<String> = (0..rows.len()).map(|at| format!("f{at}")).collect();
            let expected: Vec<_> = rows
                .iter()
                .enumerate()
                .map(|(at, &(time, depth))| {
                    let end = rows[at + 1..].iter().find(|later| later.1 <= depth).map_or(last, |later| later.0);
                    (100 * time as i64, Some(100 * (end - time) as i64), depth, &*names[at])
                })
                .collect();
            let reading = read(&text);
            prop_assert_eq!(spans(&reading), expected);
            prop_assert_eq!(reading.lost(), []);
        }
    }
}

//! Logs of the Ninja build tool: a line per output, `start end mtime output hash`, with times in milliseconds since the
//! start of the build. A log has no threads, so parallel commands are arranged in rows. Each build is a process.

use super::input::decimal::nanos_from_millis;
use super::input::lines::{LineParser, Output, TextLine, head_lines};
use super::input::source::Source;
use super::output::args::{ArgsWriter, push_quoted};
use super::output::batch::BatchBuilder;
use super::output::pack::PackedRows;
use super::{ReadError, Reader};
use crate::formats::format::{ArrivalKey, DataKind, Format, Opener};
use crate::model::{Event, EventKind, Id, Loss, Metadata, SourcePos, TrackKey};

const HEADER: &[u8] = b"# ninja log v";

/// Limit for the commands of one layout, which are in memory. Larger builds are laid out in parts, which may take more
/// rows.
const COMMANDS_MAX: usize = 1 << 17;

/// Limit for the bytes of the commands that are laid out together; a large build has a tenth of it.
const COMMAND_BYTES_MAX: usize = 16 << 20;

pub(crate) const FORMAT: Format = Format {
    name: "Ninja log",
    record: "A command is a line of start, end, time of change, output and hash, with tabs between them.",
    sniff: looks_like_ninja_log,
    is_event: None,
    live: Some(ArrivalKey::End),
    shows: &[DataKind::Spans, DataKind::Arguments],
    opener: Opener::Trace(|source, _| Ok(open(source))),
};

/// Returns whether a file starts like a Ninja log.
fn looks_like_ninja_log(head: &[u8]) -> bool {
    head.starts_with(HEADER)
}

/// Creates a reader of a log.
fn open(source: Source) -> Reader {
    let is_recompacted = is_recompacted(source.head());
    super::input::lines::open(source, NinjaLog { is_recompacted, ..NinjaLog::default() })
}

/// Returns whether Ninja has rewritten the log, which puts its commands into the order of a hash table. Otherwise, a
/// build begins at each end that is earlier than the previous end.
fn is_recompacted(head: &[u8]) -> bool {
    /// Least average of commands per build, unless all builds are tiny.
    const COMMANDS_PER_BUILD: usize = 4;
    /// Fewer commands may be single builds of one command each.
    const COMMANDS_MIN: usize = 32;
    let end_ns = |line: &[u8]| nanos_from_millis(line.split(|&byte| byte == b'\t').nth(1)?).ok();
    let ends: Vec<i64> = head_lines(head).filter_map(end_ns).collect();
    let falls = ends.windows(2).filter(|pair| pair[1] < pair[0]).count();
    ends.len() >= COMMANDS_MIN && falls * COMMANDS_PER_BUILD > ends.len()
}

#[derive(Debug, Default)]
struct NinjaLog {
    build: i64,
    rows: PackedRows,
    rows_named: usize,
    commands: Vec<NinjaCommand>,
    /// Bytes of the lines of `commands`.
    text_bytes: usize,
    /// End of the last command of the build. Ends grow within a build, since Ninja logs commands at their end.
    last_end_ns: i64,
    /// Whether the log has the commands of several builds in no order; these are shown as one build.
    is_recompacted: bool,
    /// Whether commands have their text instead of a hash, as in version 4.
    has_texts: bool,
    args: ArgsWriter,
}

#[derive(Debug)]
struct NinjaCommand {
    start_ns: i64,
    end_ns: i64,
    /// Hash of the command, or its text.
    hash: Box<[u8]>,
    modified: Box<[u8]>,
    /// Outputs, at least one.
    outputs: Vec<Box<[u8]>>,
    pos: SourcePos,
}

impl LineParser for NinjaLog {
    fn line(&mut self, line: TextLine<'_>, batch: &mut BatchBuilder) {
        if line.bytes.is_empty() || line.bytes.starts_with(b"#") {
            if let Some(version) = line.bytes.strip_prefix(HEADER) {
                self.has_texts = version.trim_ascii() == b"4";
            }
            return;
        }
        let Some(command) = NinjaCommand::from_line(line) else { return batch.lose(line.loss(), line.pos()) };
        line.count_missing_end(batch);
        if (command.end_ns < self.last_end_ns && !self.is_recompacted) || self.build == 0 {
            self.lay_out(batch);
            self.build += 1;
            (self.rows, self.rows_named) = (PackedRows::default(), 0);
            let pid = Id::Number(self.build);
            batch.add_metadata(Metadata::ProcessName { pid, name: "Build".into() });
        }
        self.last_end_ns = command.end_ns;
        // A command with several outputs has a line for each.
        self.text_bytes += line.bytes.len();
        match self.commands.last_mut() {
            Some(last) if last.is_same_as(&command) => last.outputs.extend(command.outputs),
            _ => self.commands.push(command),
        }
        if self.commands.len() >= COMMANDS_MAX || self.text_bytes >= COMMAND_BYTES_MAX {
            self.lay_out(batch);
        }
    }

    fn pause(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        // The next line may be another output of the last command.
        let last = self.commands.pop();
        self.lay_out(out.batch);
        self.commands.extend(last);
        Ok(())
    }

    fn finish(&mut self, out: &mut Output<'_>) -> Result<(), ReadError> {
        self.lay_out(out.batch);
        out.flush_if_full()
    }
}

impl NinjaCommand {
    fn from_line(line: TextLine<'_>) -> Option<Self> {
        let mut columns = line.bytes.split(|&byte| byte == b'\t');
        let mut column = || columns.next();
        let (start_ns, end_ns) = (nanos_from_millis(column()?).ok()?, nanos_from_millis(column()?).ok()?);
        let (modified, output, hash) = (column()?, column()?, column()?);
        let is_whole = !output.is_empty() && (line.has_end || !hash.is_empty());
        is_whole.then(|| Self {
            start_ns,
            end_ns,
            hash: hash.into(),
            modified: modified.into(),
            outputs: vec![output.into()],
            pos: line.pos(),
        })
    }

    fn is_same_as(&self, other: &Self) -> bool {
        self.order() == other.order()
    }

    /// Returns the sort key that puts the outputs of a command next to each other.
    fn order(&self) -> (i64, i64, &[u8]) {
        (self.start_ns, self.end_ns, &self.hash)
    }

    fn args<'a>(&self, has_text: bool, args: &'a mut ArgsWriter) -> &'a str {
        args.clear();
        args.text(if has_text { "command" } else { "hash" }, &self.hash);
        args.text("mtime", &self.modified);
        if self.outputs.len() > 1 {
            args.key("", b"outputs");
            for (position, output) in self.outputs.iter().enumerate() {
                args.json.push(if position == 0 { '[' } else { ',' });
                push_quoted(&mut args.json, &String::from_utf8_lossy(output));
            }
            args.json.push(']');
        }
        args.finish()
    }
}

impl NinjaLog {
    /// Assigns commands to rows, and adds them as events.
    fn lay_out(&mut self, batch: &mut BatchBuilder) {
        self.text_bytes = 0;
        let mut commands = std::mem::take(&mut self.commands);
        if self.is_recompacted {
            // The outputs of a command are apart.
            commands.sort_by(|one, other| one.order().cmp(&other.order()));
            commands.dedup_by(|next, first| {
                let is_same = first.is_same_as(next);
                if is_same {
                    first.outputs.append(&mut next.outputs);
                }
                is_same
            });
        } else {
            commands.sort_by_key(|command| command.start_ns);
        }
        self.rows.start_part();
        for command in commands.drain(..) {
            let end_ns = command.end_ns.max(command.start_ns);
            if end_ns > command.end_ns {
                batch.lose(Loss::NegativeDuration, command.pos);
            }
            let row = self.rows.place(command.start_ns, end_ns);
            let (pid, tid) = (Id::Number(self.build), Id::Number(row as i64 + 1));
            if row >= self.rows_named {
                self.rows_named = row + 1;
                let (pid, tid, name) = (pid.clone(), tid.clone(), format!("Worker {}", row + 1).into());
                batch.add_metadata(Metadata::ThreadName { pid: pid.clone(), tid: tid.clone(), name });
                batch.add_metadata(Metadata::ThreadSortIndex { pid, tid, sort_index: row as i64 });
            }
            let key = TrackKey::thread(pid, tid);
            let (track, name) = (batch.track_with(&key), batch.name(&command.outputs[0], None, command.pos));
            let args_json = command.args(self.has_texts, &mut self.args);
            let detail = batch.args(args_json);
            let value = end_ns.abs_diff(command.start_ns);
            batch.push(Event { value, detail, ..Event::new(command.start_ns, EventKind::Complete, track, name) });
        }
        self.commands = commands;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::testing::{Reading, read, read_bytes};

    fn rows(reading: &Reading) -> Vec<(i64, i64, &str, &Id, &Id)> {
        let row =
            |event: &'_ crate::formats::testing::ReadEvent| (event.ts_ns / 1_000_000, event.value as i64 / 1_000_000);
        let events = reading.events.iter();
        events.map(|event| (row(event).0, row(event).1, &*event.name, &event.track.pid, &event.track.tid)).collect()
    }

    #[test]
    fn a_recompacted_log_is_one_build_with_all_outputs_of_a_command() {
        let line = |number: usize, output: &str| {
            // Each of 40 commands once, far from those before and after it.
            let at = number * 17 % 40;
            format!("{}\t{}\t1\t{output}{at}\tf{at}\n", at * 10, at * 10 + 15)
        };
        let lines: String = ["a", "b"].iter().flat_map(|output| (0..40).map(move |at| line(at, output))).collect();
        let reading = read(&format!("# ninja log v5\n{lines}"));
        let found = rows(&reading);
        assert_eq!((found.len(), reading.lost()), (40, vec![]));
        assert!(found.iter().all(|row| *row.3 == Id::Number(1)), "one build");
        let workers: std::collections::BTreeSet<_> = found.iter().map(|row| format!("{:?}", row.4)).collect();
        assert_eq!(workers.len(), 2, "each overlaps the next alone");
        assert!(reading.events[0].args.contains(r#""outputs":["a0","b0"]"#), "{}", reading.events[0].args);
        // Builds of a few commands each are in order.
        let builds: String = (0..40).map(|at| format!("0\t{}\t1\to\tf\n", 9 - at % 10)).rev().collect();
        let found = read(&format!("# ninja log v5\n{builds}"));
        assert_eq!(rows(&found).iter().map(|row| row.3.clone()).max(), Some(Id::Number(4)));
    }

    #[test]
    fn version_4_has_the_text_of_commands_instead_of_hashes() {
        let reading = read("# ninja log v4\n0\t9\t1\ta.o\tcc -c a.c -o a.o\n");
        assert_eq!(reading.events[0].args, r#"{"command":"cc -c a.c -o a.o","mtime":"1"}"#);
        assert_eq!(reading.lost(), []);
    }

    #[test]
    fn an_earlier_end_begins_another_build_and_outputs_of_one_command_are_one_span() {
        let reading = read(
            "# ninja log v5\n0\t9\t1\ta.o\tf1\n0\t9\t1\ta.d\tf1\n2\t9\t1\tb.o\tf2\n9\t12\t1\tapp\tf3\r\n3\t4\t1\tc.o\tf4\n",
        );
        let (one, two) = (Id::Number(1), Id::Number(2));
        let expected = [
            (0, 9, "a.o", &one, &one),
            (2, 7, "b.o", &one, &two),
            (3, 1, "c.o", &two, &one),
            (9, 3, "app", &one, &one),
        ];
        assert_eq!(rows(&reading), expected);
        assert_eq!(reading.events[0].args, r#"{"hash":"f1","mtime":"1","outputs":["a.o","a.d"]}"#);
        assert_eq!(reading.lost(), []);
    }

    #[test]
    fn a_damaged_line_is_counted_and_costs_itself_only() {
        let reading = read("# ninja log v5\n0\t9\t1\ta.o\tf1\n0\tx\t1\tb.o\tf2\nplain text\n9\t5\t1\tc.o\tf3\n");
        assert_eq!(rows(&reading).iter().map(|row| (row.1, row.2)).collect::<Vec<_>>(), [(9, "a.o"), (0, "c.o")]);
        assert_eq!(reading.lost(), [(Loss::NegativeDuration, 1), (Loss::BadRecord, 2)]);
    }

    #[test]
    fn a_log_that_is_cut_anywhere_keeps_all_lines_before_the_cut() {
        let whole = b"# ninja log v5\n0\t9\t1\ta.o\tf1\n2\t9\t1\tb.o\tf2\n9\t12\t1\tapp\tf3\n";
        let events = read_bytes(whole).expect("a capture").events;
        for len in HEADER.len()..whole.len() {
            let reading = read_bytes(&whole[..len]).expect("a capture");
            let lines = whole[..len].split(|&byte| byte == b'\n').count();
            // The last line may be whole, except for its line break or a part of its hash.
            let last = whole[..len].rsplit(|&byte| byte == b'\n').next().unwrap_or_default();
            let may_be_whole =
                lines > 1 && last.split(|&byte| byte == b'\t').nth(4).is_some_and(|hash| !hash.is_empty());
            assert_eq!(reading.events.len(), lines.saturating_sub(2) + usize::from(may_be_whole), "{len} bytes");
            let times = |events: &[crate::formats::testing::ReadEvent]| -> Vec<_> {
                events.iter().map(|event| (event.ts_ns, event.value, event.name.clone())).collect()
            };
            assert_eq!(times(&reading.events), times(&events[..reading.events.len()]), "{len} bytes");
            let is_between = lines == 1 || last.is_empty();
            assert_eq!(reading.losses.count(Loss::UnendedLine), u64::from(may_be_whole), "{len} bytes");
            let is_cut = !is_between && !may_be_whole;
            assert_eq!(reading.losses.count(Loss::Truncated), u64::from(is_cut), "{len} bytes");
        }
    }
}

//! The table of all kinds of loss: everything in a trace that could not be imported as recorded. A loss has a count, a
//! position and advice; it never aborts a load.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};

mod values;

pub(crate) use values::LossValue;
use values::LossValues;

/// The position of the first loss of a kind in the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SourcePos {
    /// A byte offset in the (decompressed) trace.
    Offset(u64),
    /// A time in nanoseconds, by the trace's clock.
    Time(i64),
}

impl std::fmt::Display for SourcePos {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Offset(offset) => write!(f, "byte {offset}"),
            Self::Time(ts_ns) => write!(f, "{ts_ns} ns"),
        }
    }
}

macro_rules! losses {
    ($($(#[$doc:meta])* $kind:ident = $severity:ident, $name:literal, $advice:literal;)*) => {
        /// A kind of loss: a row of the table.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Loss {
            $($(#[$doc])* $kind,)*
        }

        impl Loss {
            /// All kinds, in table order.
            #[cfg(test)]
            pub(crate) const ALL: &[Self] = &[$(Self::$kind,)*];

            /// Returns the name for scripts.
            #[must_use]
            pub(crate) fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }

            #[must_use]
            pub(crate) fn advice(self) -> &'static str {
                match self { $(Self::$kind => $advice,)* }
            }

            #[must_use]
            pub(crate) fn severity(self) -> Severity {
                match self { $(Self::$kind => Severity::$severity,)* }
            }
        }
    };
}

/// Importance of a loss for users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    /// Data of the trace is not shown.
    Lost,
    /// All data is shown, but differs from the recording.
    Changed,
    /// Normal in traces of healthy tools: nothing is damaged, missing or wrong, and no action is needed.
    Information,
}

impl Severity {
    /// All severities, in display order.
    pub(crate) const ALL: [Self; 3] = [Self::Lost, Self::Changed, Self::Information];
}

impl Loss {
    /// Returns whether users are not warned about it.
    #[must_use]
    pub(crate) fn is_note(self) -> bool {
        self.severity() == Severity::Information
    }

    /// Returns whether a record of the trace, or one of several files, was not read. Partly read records and losses of
    /// the recorder do not count.
    #[must_use]
    pub(crate) fn is_of_record(self) -> bool {
        let is_of_part = matches!(self, Self::LongText | Self::IgnoredArguments | Self::LongArgs | Self::RawStack);
        self.severity() == Severity::Lost && !is_of_part && !matches!(self, Self::RecorderLost | Self::NoEvents)
    }
}

losses! {
    /// A begin without an end.
    UnmatchedBegin = Information, "unmatched_begin", "A span has no end in the trace; it is shown unfinished, up to the last event of its track, and pale from there to the end of the trace.";
    /// An end without a begin.
    UnmatchedEnd = Lost, "unmatched_end", "An end has no begin in the trace, usually because recording began inside the span; it is not shown.";
    /// An end that names an outer span, while spans inside it are open.
    MismatchedEnd = Changed, "mismatched_end", "An end names a span that has others open inside it; they are shown up to that end.";
    /// A span that was cut at the end of its parent.
    TruncatedSpan = Changed, "truncated_span", "An outer span ended first; the span is shown up to that end.";
    /// Spans of one thread that overlap without nesting.
    Overlap = Changed, "overlap", "Spans of one thread overlap without nesting; the later one is shown whole on the next free lane.";
    /// A number that is malformed or out of range.
    BadNumber = Lost, "bad_number", "A number could not be read or is out of range; the event is shown without it where that is possible.";
    /// A time that does not fit 64-bit nanoseconds.
    BadTime = Lost, "bad_time", "An event has no time, or one outside of 64-bit nanoseconds; it cannot be placed and is not shown.";
    /// A duration below 0, or an end before its begin.
    NegativeDuration = Changed, "negative_duration", "A duration is negative; the span is shown with no duration.";
    /// Bytes that are not UTF-8.
    BadUtf8 = Changed, "bad_utf8", "Text is not valid UTF-8; each bad part is shown as a replacement character.";
    /// A raw control character in JSON text.
    ControlCharacter = Changed, "control_character", "Text contains raw control characters; they are shown as escapes.";
    /// A text that was cut at its maximum length.
    LongText = Lost, "long_text", "A name is longer than 64 KiB, or that of a process or a thread longer than 1 KiB, and was cut.";
    /// A record that could not be parsed.
    BadRecord = Lost, "bad_record", "A record is malformed and is not shown; everything before and after it is.";
    /// A missing separator between records.
    MissingComma = Changed, "missing_comma", "A separator between records is missing; both records are shown.";
    /// A trace that ends inside a record or a container.
    Truncated = Lost, "truncated", "The trace ends early, usually because recording was interrupted; everything before the end is shown.";
    /// An event of an unknown kind.
    UnknownPhase = Lost, "unknown_phase", "An event has a phase that Longspan does not know; it is not shown.";
    /// An event of a known kind that is not shown.
    IgnoredPhase = Information, "ignored_phase", "Memory dumps, contexts and links between ids are counted and not shown.";
    /// A metadata record of an unknown kind.
    IgnoredMetadata = Information, "ignored_metadata", "A metadata record of an unknown kind; it changes nothing on the timeline.";
    /// A counter value that is not a number.
    BadCounter = Lost, "bad_counter", "A counter value is not a number; that point is not shown.";
    /// A flow event without a valid id.
    BadFlow = Lost, "bad_flow", "A flow event has no id; it cannot be connected and is not shown.";
    /// An async event without a valid id.
    BadAsync = Changed, "bad_async", "An asynchronous event has no id; it is shown on its own.";
    /// Nesting deeper than the limit.
    DeepNesting = Lost, "deep_nesting", "A record, a span or a frame is nested deeper than can be shown; it is not shown, but everything around it is.";
    /// A damaged chunk of a native trace.
    BadChunk = Lost, "bad_chunk", "A chunk of the trace is damaged; its events are lost, all others are shown.";
    /// An event earlier than the minimum time in its chunk's header.
    LyingHeader = Changed, "lying_header", "A chunk contains events earlier than its header says; they are shown at their own times.";
    /// Events that the recorder lost.
    RecorderLost = Lost, "recorder_lost", "The recorder reports that it lost events here; enlarge its buffer to keep them.";
    /// A trace in a known format that has no event.
    NoEvents = Lost, "no_events", "The trace is in a known format and contains no events.";
    /// Data beyond a limit that bounds memory, such as a record, a row of a table, or decompressed bytes.
    OverLimit = Lost, "over_limit", "A record, a table or decompressed data exceeds a memory limit; the rest is not shown.";
    /// A packet or an event of a kind that is not shown.
    IgnoredPacket = Information, "ignored_packet", "A packet or kernel event is of a kind that Longspan does not show; it is counted only.";
    /// Typed arguments without a descriptor.
    IgnoredArguments = Lost, "ignored_arguments", "The trace has no descriptor for these typed arguments; the event is shown without them.";
    /// A packet that depends on missing packets.
    MissingState = Lost, "missing_state", "A packet builds on earlier ones that the recorder lost; it cannot be read and is not shown.";
    /// A reference to a missing text.
    MissingText = Lost, "missing_text", "A name or an argument refers to a text that the trace does not contain; it is shown without it.";
    /// A clock that cannot be converted to the trace's clock.
    UnknownClock = Changed, "unknown_clock", "No clock snapshot relates an event's clock to the trace's; it is shown at its own clock's time.";
    /// Events that have a duration but no time.
    NoTimes = Changed, "no_times", "The trace has no times, so its events are shown one after the other.";
    /// Samples without a time or a weight.
    MissingWeight = Changed, "missing_weight", "The weight or time of a sample is not in the trace; it is shown as long as the one before, or for 1 ms.";
    /// A file of an archive in an unknown format.
    UnknownMember = Information, "unknown_member", "Files in the archive are in no known format; they are not shown.";
    /// A file of an archive that cannot be read.
    UnreadableMember = Lost, "unreadable_member", "A file in the archive cannot be read; unpack it and open it alone to see why.";
    /// One of several files, which cannot be read.
    UnreadableFile = Lost, "unreadable_file", "A file cannot be read and is not shown; the others are. Open it alone to see why.";
    /// A user stack that was recorded as bytes.
    RawStack = Lost, "raw_stack", "The stack of a program was recorded as bytes (--call-graph dwarf), and callers are missing where the file of a module is: longspan symbols names those modules, and --symbols adds a folder with their files. Stacks of other machines than x86-64 have their innermost frame; the text that perf script prints has them whole.";
    /// Arguments longer than the limit of an event.
    LongArgs = Lost, "long_args", "The arguments of an event are longer than 16 MiB; the event is shown without them.";
    /// Data after the end of a JSON document.
    TrailingData = Lost, "trailing_data", "More data follows the end of the JSON document, as in files joined by `cat` or `>>`; it is not shown. Save each document in its own file, and open them together.";
    /// The end of an async span without a begin.
    UnmatchedAsyncEnd = Changed, "unmatched_async_end", "The end of an asynchronous span has no begin in the trace, usually because recording began inside the span; it is shown as an instant.";
    /// A weight that is not a whole number of its unit.
    RoundedWeight = Changed, "rounded_weight", "The weight of a sample has a fraction that its unit cannot represent; it is shown rounded.";
    /// A last line without a line break.
    UnendedLine = Changed, "unended_line", "The last line has no line break; it is shown as it is. Some tools never write one; if recording was interrupted, the end of the line may be missing.";
    /// A packet with recorded data of a known kind that is not read.
    UnreadPacket = Lost, "unread_packet", "A packet has recorded data of a kind that Longspan does not read; it is not shown. Perfetto shows it, at https://ui.perfetto.dev.";
    /// A run on a CPU whose end is not recorded.
    LostSwitch = Changed, "lost_switch", "The recording lacks the switch at the end of a run: the recorder lost it, or recorded only some threads. On its CPU, the run is shown up to the next switch. `perf record -a` records all threads.";
    /// A run of a thread that was not recorded.
    UnrecordedRun = Information, "unrecorded_run", "Only the threads of one command were recorded, so the runs of others have no end and are not shown. `perf record -a` records all threads.";
    /// An event that two sources of the recorder wrote.
    RepeatedEvent = Information, "repeated_event", "Two tracepoints recorded the same entry or exit of a system call; it is shown once.";
    /// A row of a live trace that came later than its timeline can show.
    LateRow = Lost, "late_row", "An event came so late that the live trace could not insert it; it is not shown. A longer --delay waits for it, and a recording without --keep has it.";
}

/// The stored count of one kind in one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LossEntry {
    pub(crate) count: u64,
    /// Position of the first loss.
    pub(crate) first: SourcePos,
    /// Message of the first loss, if any.
    pub(crate) reason: Option<Box<str>>,
    /// Values that were not understood. They are appended to the reason when the losses are written.
    #[serde(skip)]
    values: LossValues,
}

impl LossEntry {
    fn new(first: SourcePos, count: u64) -> Self {
        Self { count, first, reason: None, values: LossValues::default() }
    }

    /// Returns the message of the first loss, or else the generic text of its kind, with the values.
    fn advice(&self, loss: Loss) -> Cow<'_, str> {
        let advice = self.reason.as_deref().unwrap_or_else(|| loss.advice());
        if self.values.is_empty() {
            return Cow::Borrowed(advice);
        }
        Cow::Owned(format!("{advice} Seen: {}.", self.values.shares(self.count)))
    }
}

/// A row of [`Losses::iter`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost<'a> {
    /// Determines the name, the severity and the advice.
    pub loss: Loss,
    /// File of the loss, for a trace of several files.
    pub file: Option<&'a str>,
    /// Number of losses of this kind in the file.
    pub count: u64,
    /// Position of the first loss.
    pub first: SourcePos,
    /// Message of the first loss, or else the generic text of its kind; with the values that were not understood.
    pub advice: Cow<'a, str>,
}

/// Losses by file and kind.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct Losses(BTreeMap<(Option<Arc<str>>, Loss), LossEntry>);

impl Losses {
    /// Maximum number of (file, kind) entries; losses of other files are counted without a file.
    const ENTRIES_MAX: usize = 1 << 16;

    /// Maximum length of a stored file name or reason: the longest path of common systems.
    const TEXT_BYTES_MAX: usize = 4096;

    /// Number of entries that have counts by value: an archive with very many files must take little memory.
    const VALUED_ENTRIES_MAX: usize = 256;

    pub(crate) fn add(&mut self, loss: Loss, pos: SourcePos) {
        self.add_many(loss, pos, 1);
    }

    /// Adds `count` losses, the first of them at `pos`.
    #[inline]
    pub(crate) fn add_many(&mut self, loss: Loss, pos: SourcePos, count: u64) {
        if count > 0 {
            self.count_in(None, loss, &LossEntry::new(pos, count));
        }
    }

    /// Adds a loss of a value that was not understood.
    pub(crate) fn add_value(&mut self, loss: Loss, value: LossValue, pos: SourcePos) {
        self.add(loss, pos);
        if self.0.len() <= Self::VALUED_ENTRIES_MAX
            && let Some(entry) = self.0.get_mut(&(None, loss))
        {
            entry.values.add(value, 1);
        }
    }

    /// Adds a loss in one of several files.
    pub(crate) fn add_in(&mut self, file: Option<&Arc<str>>, loss: Loss, pos: SourcePos) {
        self.add_many_in(file, loss, pos, 1);
    }

    /// Like [`Self::add_many`], for one file of a trace that has several.
    pub(crate) fn add_many_in(&mut self, file: Option<&Arc<str>>, loss: Loss, pos: SourcePos, count: u64) {
        self.count_in(file.cloned(), loss, &LossEntry::new(pos, count));
    }

    /// Adds a loss with a message.
    pub(crate) fn add_because(&mut self, reason: &str, loss: Loss, pos: SourcePos) {
        self.add_many_because(reason, loss, pos, 1);
    }

    /// Adds `count` losses with a message.
    pub(crate) fn add_many_because(&mut self, reason: &str, loss: Loss, pos: SourcePos, count: u64) {
        self.count_in(None, loss, &LossEntry { reason: Some(cut(reason).into()), ..LossEntry::new(pos, count) });
    }

    fn count_in(&mut self, file: Option<Arc<str>>, loss: Loss, more: &LossEntry) {
        if more.count == 0 {
            return;
        }
        let mut key = (file, loss);
        let is_known = self.0.contains_key(&key);
        // An archive of a million files that are not traces must not create a million entries.
        if !is_known && self.0.len() >= Self::ENTRIES_MAX {
            key.0 = None;
        }
        let none_yet = || LossEntry { reason: more.reason.clone(), ..LossEntry::new(more.first, 0) };
        let has_values = self.0.len() < Self::VALUED_ENTRIES_MAX;
        let entry = self.0.entry(key).or_insert_with(none_yet);
        entry.count = entry.count.saturating_add(more.count);
        // Spans without an end are counted track by track, and not in order of time.
        if let (SourcePos::Time(first_ns), SourcePos::Time(more_ns)) = (&mut entry.first, more.first) {
            *first_ns = more_ns.min(*first_ns);
        }
        if has_values {
            entry.values.merge(&more.values);
        }
    }

    /// Adds the losses of a later part of the same trace.
    pub fn merge(&mut self, later: &Self) {
        for ((file, loss), entry) in &later.0 {
            self.count_in(file.clone(), *loss, entry);
        }
    }

    /// Removes the losses of a kind that turn out to be none.
    pub(crate) fn remove(&mut self, loss: Loss) {
        self.0.retain(|(_, kind), _| *kind != loss);
    }

    /// Adds a message to losses of a kind that have none.
    pub(crate) fn explain(&mut self, loss: Loss, reason: &str) {
        for ((_, kind), entry) in &mut self.0 {
            if *kind == loss && entry.reason.is_none() {
                entry.reason = Some(cut(reason).into());
            }
        }
    }

    /// Returns the losses with `file` prepended to their file, and their times moved by `offset_ns`.
    #[must_use]
    pub(crate) fn in_file(self, file: Option<&Arc<str>>, offset_ns: i64) -> Self {
        let mut named = Self::default();
        for ((inner, loss), mut entry) in self.0 {
            if let SourcePos::Time(ts_ns) = &mut entry.first {
                *ts_ns = ts_ns.saturating_add(offset_ns);
            }
            let file = match (file, inner) {
                (Some(file), Some(inner)) => Some(cut(&format!("{file}/{inner}")).into()),
                (file, inner) => file.map(|file| cut(file).into()).or(inner),
            };
            named.count_in(file, loss, &entry);
        }
        named
    }

    /// Takes these losses of files out.
    pub(crate) fn take_of_files(&mut self, is_taken: impl Fn(&str, Loss) -> bool) -> Self {
        let all = std::mem::take(&mut self.0).into_iter();
        let (taken, left) =
            all.partition(|((file, loss), _)| file.as_deref().is_some_and(|file| is_taken(file, *loss)));
        self.0 = left;
        Self(taken)
    }

    /// Counts the losses of a kind in all files as one entry without a file.
    pub(crate) fn merge_files(&mut self, loss: Loss) {
        let all = std::mem::take(&mut self.0).into_iter();
        let (merged, left): (BTreeMap<_, _>, _) = all.partition(|((_, kind), _)| *kind == loss);
        self.0 = left;
        for (_, entry) in merged {
            self.count_in(None, loss, &entry);
        }
    }

    /// Returns the losses, by file and in table order.
    pub fn iter(&self) -> impl Iterator<Item = Lost<'_>> + '_ {
        self.0.iter().map(|((file, loss), entry)| Lost {
            loss: *loss,
            file: file.as_deref(),
            count: entry.count,
            first: entry.first,
            advice: entry.advice(*loss),
        })
    }

    /// Returns the number of losses of a kind, over all files.
    #[must_use]
    pub fn count(&self, loss: Loss) -> u64 {
        self.sum(|kind| kind == loss)
    }

    /// Returns the number of losses of a severity.
    #[must_use]
    pub(crate) fn count_of(&self, severity: Severity) -> u64 {
        self.sum(|loss| loss.severity() == severity)
    }

    /// Returns the number of all losses, over all kinds and files.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.sum(|_| true)
    }

    /// Sums the counts of some kinds. Saturates, since a recorder may report any count.
    fn sum(&self, is_counted: impl Fn(Loss) -> bool) -> u64 {
        let counted = self.0.iter().filter(|((_, loss), _)| is_counted(*loss));
        counted.fold(0, |sum: u64, (_, entry)| sum.saturating_add(entry.count))
    }

    /// Returns whether nothing was lost.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Values are written as part of the reason, because the format of native traces has no field for them.
impl Serialize for Losses {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, entry)| {
            let reason = match entry.advice(key.1) {
                Cow::Owned(advice) => Some(cut(&advice).into()),
                Cow::Borrowed(_) => entry.reason.clone(),
            };
            (key, LossEntry { reason, ..LossEntry::new(entry.first, entry.count) })
        }))
    }
}

/// Truncates a text to [`Losses::TEXT_BYTES_MAX`]: archives and errors may contain very long ones.
fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(Losses::TEXT_BYTES_MAX)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_of_very_many_files_are_all_counted_in_bounded_memory() {
        let mut losses = Losses::default();
        let files = Losses::ENTRIES_MAX as u64 + 100;
        for number in 0..files {
            losses.add_in(Some(&number.to_string().into()), Loss::UnknownMember, SourcePos::Offset(number));
        }
        assert_eq!((losses.total(), losses.count(Loss::UnknownMember)), (files, files));
        assert_eq!(losses.iter().count(), Losses::ENTRIES_MAX + 1);
        let long: Arc<str> = "é".repeat(40_000).as_str().into();
        let mut member = Losses::default();
        member.add_because(&long, Loss::UnreadableMember, SourcePos::Offset(0));
        let named = member.in_file(Some(&long), 0).in_file(Some(&long), 0);
        let lost = named.iter().next().expect("one");
        assert_eq!((lost.file.map(str::len), lost.advice.len()), (Some(4096), 4096));
    }

    #[test]
    fn the_first_of_several_times_is_the_earliest() {
        let mut losses = Losses::default();
        for ts_ns in [7, -3, 5] {
            losses.add(Loss::UnmatchedBegin, SourcePos::Time(ts_ns));
        }
        let mut others = Losses::default();
        others.add(Loss::UnmatchedBegin, SourcePos::Time(-9));
        losses.merge(&others);
        assert_eq!(losses.iter().map(|lost| lost.first).collect::<Vec<_>>(), [SourcePos::Time(-9)]);
    }

    #[test]
    fn forged_counts_saturate() {
        let mut losses = Losses::default();
        for loss in [Loss::Overlap, Loss::Overlap, Loss::Truncated] {
            losses.add_many(loss, SourcePos::Offset(0), u64::MAX);
        }
        losses.add_in(Some(&"a".into()), Loss::Overlap, SourcePos::Offset(0));
        losses.merge(&losses.clone());
        assert_eq!((losses.total(), losses.count(Loss::Overlap)), (u64::MAX, u64::MAX));
        assert_eq!(losses.count_of(Loss::Overlap.severity()), u64::MAX);
    }

    #[test]
    fn the_first_position_of_a_loss_is_kept() {
        let mut losses = Losses::default();
        losses.add(Loss::Overlap, SourcePos::Offset(5));
        let mut later = Losses::default();
        later.add(Loss::Overlap, SourcePos::Offset(1));
        later.add(Loss::Truncated, SourcePos::Offset(9));
        losses.merge(&later);
        assert_eq!(losses.count(Loss::Overlap), 2);
        assert_eq!(losses.iter().next().map(|lost| lost.first), Some(SourcePos::Offset(5)));
        assert_eq!(losses.total(), 3);
    }

    #[test]
    fn losses_of_two_files_are_told_apart_and_moved_with_their_file() {
        let mut member = Losses::default();
        member.add(Loss::Overlap, SourcePos::Time(5));
        member.add_because("no digits", Loss::BadNumber, SourcePos::Offset(7));
        let mut losses = member.in_file(Some(&"m.json".into()), 0).in_file(Some(&"a.zip".into()), 100);
        losses.add(Loss::Overlap, SourcePos::Time(1));
        let rows: Vec<_> = losses.iter().map(|lost| (lost.file, lost.loss, lost.first, lost.advice)).collect();
        let overlap = Cow::Borrowed(Loss::Overlap.advice());
        let inner = Some("a.zip/m.json");
        assert_eq!(
            rows,
            [
                (None, Loss::Overlap, SourcePos::Time(1), overlap.clone()),
                (inner, Loss::Overlap, SourcePos::Time(105), overlap),
                (inner, Loss::BadNumber, SourcePos::Offset(7), "no digits".into()),
            ]
        );
        assert_eq!((losses.count(Loss::Overlap), losses.total()), (2, 3));
    }

    #[test]
    fn values_are_counted_and_stay_when_losses_are_written_and_read() {
        let mut losses = Losses::default();
        for (phase, times) in [("q", 2), ("Z", 3)] {
            (0..times).for_each(|at| {
                losses.add_value(Loss::UnknownPhase, LossValue::text(phase.as_bytes()), SourcePos::Offset(at));
            });
        }
        let advice = "An event has a phase that Longspan does not know; it is not shown. Seen: \"Z\" × 3, \"q\" × 2.";
        let written = postcard::to_stdvec(&losses).expect("plain data");
        let read: Losses = postcard::from_bytes(&written).expect("as written");
        for losses in [&losses, &read] {
            let rows: Vec<_> = losses.iter().map(|lost| (lost.count, lost.first, lost.advice)).collect();
            assert_eq!(rows, [(5, SourcePos::Offset(0), advice.into())]);
        }
    }

    #[test]
    fn every_kind_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<_> = Loss::ALL.iter().map(|loss| loss.name()).collect();
        assert_eq!(names.len(), Loss::ALL.len());
    }
}

//! States of threads and runs on CPUs, which never nest.

use super::{ChromeEvents, EventSite, is_set, number_text};
use crate::formats::chrome::fields::RecordField;
use crate::formats::chrome::wire::ChromeRecord;
use crate::formats::json::scan::{JsonValue, Shape};
use crate::formats::linux::scheduler::TaskState;
use crate::model::{Event, EventFlags, EventKind, SourcePos, TrackKind};

impl<'a> ChromeEvents<'a> {
    /// Adds a thread state with its duration. The name is the letters of the kernel, or another name.
    pub(super) fn add_state(&mut self, record: &ChromeRecord<'a>, pos: SourcePos, ts_ns: i64) {
        let words = match record[RecordField::Name].text {
            b"Running" => "Running",
            letters => TaskState::from_letters(letters).map_or("", TaskState::name),
        };
        let shape = Shape::String;
        let name = if words.is_empty() {
            record[RecordField::Name]
        } else {
            JsonValue { text: words.as_bytes(), shape, ..JsonValue::default() }
        };
        // An unknown state has no letters; its name is written instead.
        let letters = if name.is_text(b"Unknown") { &JsonValue::ABSENT } else { &record[RecordField::Name] };
        let name = self.tables.name(&name, letters);
        let site = EventSite { pos, ts_ns, name: self.count_repairs(name, pos) };
        // Registers the thread, even if it has no spans of its own.
        self.thread(record, pos);
        let tid =
            if record[RecordField::Tid].is_absent() { record[RecordField::Pid] } else { record[RecordField::Tid] };
        let track = self.track(TrackKind::State, &record[RecordField::Pid], &tid, &[], pos);
        let mut event = Event { track, ..self.event(record, site, EventKind::Complete) };
        self.set_task_duration(record, &mut event, pos);
        self.chunk.events.push(event);
    }

    /// Adds a run of a thread on a CPU, as exported by this program. Only the CPUs of several files have a process.
    /// Returns false for other records.
    pub(super) fn add_run(&mut self, record: &ChromeRecord<'a>, site: EventSite) -> bool {
        let cpu = std::str::from_utf8(number_text(&record.rare(b"cpu"))).ok().and_then(|cpu| cpu.parse().ok());
        let Some(cpu) = cpu else { return false };
        let pid = &record[RecordField::Pid];
        if !pid.is_absent() && !record[RecordField::Tid].is_text(format!("CPU {cpu}").as_bytes()) {
            return false;
        }
        let track = self.tables.cpu_track(pid, cpu);
        let mut event = Event { track, ..self.event(record, site, EventKind::Complete) };
        self.set_task_duration(record, &mut event, site.pos);
        self.chunk.events.push(event);
        true
    }

    /// Sets the duration of a run or a state. Each has a single lane, so it is placed already.
    fn set_task_duration(&mut self, record: &ChromeRecord<'a>, event: &mut Event, pos: SourcePos) {
        self.set_duration(record, event, pos);
        event.flags = EventFlags::PLACED;
        if is_set(&record.rare(b"unfinished")) {
            event.flags = event.flags.with(EventFlags::UNFINISHED);
        }
    }
}

//! The tracepoint of a sample, which perf does not name: its fields show it. Fields are texts as the trace library of
//! the kernel prints them, such as `12`, `0x1f` or `ARRAY[01, 02]`.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::sample::{BYTE_BEYOND_ASCII, string};
use crate::base::hex::hex_number;
use crate::formats::linux::scheduler::{SchedulerTask, Switch, TaskState};
use crate::formats::linux::syscalls::SystemCall;
use crate::formats::output::args::{ArgsWriter, push_quoted};

/// Name of a tracepoint that its fields do not identify.
const UNNAMED: &[u8] = b"(unnamed event)";

/// The fields of a tracepoint, in order.
#[derive(Debug)]
pub(super) struct TracepointFields<'s, 'a>(pub(super) &'s [(&'a str, &'a RawValue)]);

/// A tracepoint by its fields.
#[derive(Debug)]
pub(super) enum JsonTracepoint<'a> {
    Switch(SwitchFields<'a>),
    Wakeup(TaskFields<'a>),
    Call(SystemCall<'a>),
    Other(Cow<'a, [u8]>),
}

/// A thread in the fields of a tracepoint.
#[derive(Debug)]
pub(super) struct TaskFields<'a> {
    tid: i64,
    name: Cow<'a, str>,
    priority: Option<i64>,
}

#[derive(Debug)]
pub(super) struct SwitchFields<'a> {
    previous: TaskFields<'a>,
    previous_state: Option<TaskState>,
    next: TaskFields<'a>,
}

impl TaskFields<'_> {
    pub(super) fn task(&self) -> SchedulerTask<'_> {
        SchedulerTask { tid: self.tid, name: self.name.as_bytes(), priority: self.priority }
    }
}

impl SwitchFields<'_> {
    pub(super) fn on_cpu(&self, ts_ns: i64, cpu: u64) -> Switch<'_> {
        let previous = Some(self.previous.task());
        Switch { ts_ns, cpu, previous, previous_state: self.previous_state, next: self.next.task() }
    }
}

impl JsonTracepoint<'_> {
    /// Returns the name of the tracepoint.
    pub(super) fn name(&self) -> &[u8] {
        match self {
            Self::Switch(_) => b"sched:sched_switch",
            Self::Wakeup(_) => b"sched:sched_wakeup",
            Self::Call(call) => &call.name,
            Self::Other(name) => name,
        }
    }
}

impl<'a> TracepointFields<'_, 'a> {
    /// Returns the tracepoint, by its name if the sample has one; `None` for a sample without fields.
    pub(super) fn tracepoint(&self, event: Option<&'a str>, machine: &str) -> Option<JsonTracepoint<'a>> {
        if self.0.is_empty() {
            return None;
        }
        let is_other = |names: [&str; 2]| event.is_some_and(|event| !names.iter().any(|name| event.contains(name)));
        if let Some(switch) = self.switch().filter(|_| !is_other(["sched_switch"; 2])) {
            return Some(JsonTracepoint::Switch(switch));
        }
        if self.text("target_cpu").is_some()
            && let Some(task) =
                self.task(["comm", "pid", "prio"]).filter(|_| !is_other(["sched_wakeup", "sched_waking"]))
        {
            return Some(JsonTracepoint::Wakeup(task));
        }
        let name = event.map_or(Cow::Borrowed(UNNAMED), |event| Cow::Borrowed(event.as_bytes()));
        Some(self.call(event, machine).map_or(JsonTracepoint::Other(name), JsonTracepoint::Call))
    }

    /// Writes the fields as arguments. Whole numbers are numbers, all other fields are texts.
    pub(super) fn write(&self, args: &mut ArgsWriter) {
        let mut members: Vec<(&str, &RawValue)> = self.0.to_vec();
        // The CPU of the sample has its own argument.
        members.retain(|(key, _)| *key != "cpu");
        args.members(&members, |value, json| {
            let text = value.get();
            if text.contains(BYTE_BEYOND_ASCII) {
                return push_quoted(json, &string(value).unwrap_or_default());
            }
            let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
            // Other spellings, such as `+1` or `007`, are not JSON.
            let number = inner.parse::<i128>().ok().filter(|number| number.to_string() == inner);
            json.push_str(if number.is_some() { inner } else { text });
        });
    }

    fn switch(&self) -> Option<SwitchFields<'a>> {
        let previous = self.task(["prev_comm", "prev_pid", "prev_prio"])?;
        let next = self.task(["next_comm", "next_pid", "next_prio"])?;
        let state = self.number("prev_state").map(i64::cast_unsigned);
        Some(SwitchFields { previous, previous_state: state.map(|state| TaskState::from_bits(state, false)), next })
    }

    fn task(&self, [name, tid, priority]: [&str; 3]) -> Option<TaskFields<'a>> {
        let tid = self.number(tid)?;
        Some(TaskFields { tid, name: self.text(name).unwrap_or_default(), priority: self.number(priority) })
    }

    /// Returns the system call of a tracepoint with the number of a call.
    fn call(&self, event: Option<&'a str>, machine: &str) -> Option<SystemCall<'a>> {
        if let Some(call) = event.and_then(|event| SystemCall::from_tracepoint(event.as_bytes())) {
            return Some(call);
        }
        let is_exit = self.text("ret").is_some();
        let is_of_all = self.text("id").is_some() && (is_exit || self.text("args").is_some());
        let number = match self.number("__syscall_nr") {
            Some(number) => number,
            None if is_of_all && self.0.len() == 2 => self.number("id")?,
            None => return None,
        };
        SystemCall::from_number(if is_exit { b"sys_exit" } else { b"sys_enter" }, number, machine)
    }

    /// Returns the text of a field, which may be a bare number.
    fn text(&self, key: &str) -> Option<Cow<'a, str>> {
        let value = self.0.iter().find(|(field, _)| *field == key)?.1;
        Some(string(value).unwrap_or(Cow::Borrowed(value.get())))
    }

    fn number(&self, key: &str) -> Option<i64> {
        let text = self.text(key)?;
        match text.strip_prefix("0x") {
            Some(digits) => hex_number(digits).map(u64::cast_signed),
            None => text.trim().parse().ok(),
        }
    }
}

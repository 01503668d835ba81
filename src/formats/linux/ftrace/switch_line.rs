//! Parses the switches and wakeups that the tracers `wakeup`, `wakeup_rt` and `wakeup_dl` print without an event name:
//! `7:120:S ==> [001] 9: 94:R sh` switches from thread 7 to thread 9, and `7:120:R + [001] 9: 94:R sh` wakes thread 9.

use crate::formats::input::text::parsed;
use crate::formats::linux::scheduler::{SchedulerTask, TaskState};

/// A switch, or a wakeup by the previous thread.
#[derive(Debug)]
pub(super) struct SwitchLine<'a> {
    pub(super) is_wakeup: bool,
    /// The previous thread, whose name the line lacks.
    pub(super) previous: SchedulerTask<'a>,
    pub(super) previous_state: Option<TaskState>,
    pub(super) next: SchedulerTask<'a>,
}

impl<'a> SwitchLine<'a> {
    pub(super) fn parse(text: &'a [u8]) -> Option<Self> {
        let (previous, state, rest) = parse_task(text)?;
        let rest = rest.trim_ascii_start();
        let (is_wakeup, rest) = match rest.strip_prefix(b"==>") {
            Some(rest) => (false, rest),
            None => (true, rest.strip_prefix(b"+")?),
        };
        let target = rest.trim_ascii_start().strip_prefix(b"[")?;
        let close = memchr::memchr(b']', target)?;
        parsed::<i64>(&target[..close])?;
        let (next, _, name) = parse_task(&target[close + 1..])?;
        let next = SchedulerTask { name: name.trim_ascii(), ..next };
        Some(Self { is_wakeup, previous, previous_state: TaskState::from_letters(state), next })
    }
}

/// Parses `tid:priority:state`, where numbers may be padded. Returns the task, its state and the rest.
fn parse_task(text: &[u8]) -> Option<(SchedulerTask<'_>, &[u8], &[u8])> {
    let (tid, rest) = text.split_at(memchr::memchr(b':', text)?);
    let rest = &rest[1..];
    let (priority, rest) = rest.split_at(memchr::memchr(b':', rest)?);
    let tid = parsed(tid.trim_ascii()).filter(|&tid| tid >= 0)?;
    let priority = Some(parsed(priority.trim_ascii())?);
    let (state, rest) = rest[1..].split_at_checked(1)?;
    (rest.is_empty() || rest.starts_with(b" ")).then_some((SchedulerTask { tid, name: b"", priority }, state, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_and_wakeups_have_both_threads_and_other_texts_are_neither() {
        let line = SwitchLine::parse(b"     2389: 94:S ==> [000]       0:120:R <idle>").expect("a switch");
        assert_eq!((line.is_wakeup, line.previous.tid, line.previous.priority), (false, 2389, Some(94)));
        assert_eq!((line.next.tid, line.next.priority, line.next.name), (0, Some(120), &b"<idle>"[..]));
        let line = SwitchLine::parse(b"0:120:R   + [003]    2389: 94:R a b:1").expect("a wakeup");
        assert_eq!((line.is_wakeup, line.next.tid, line.next.name), (true, 2389, &b"a b:1"[..]));
        for text in [
            "sched_switch: 0:120:R ==> [000] 1:120:R a",
            "0:120:R ==> [000] 1:120",
            "0:120:R => [000] 1:120:R a",
            "0:120:RS ==> [000] 1:120:R a",
            "-1:120:R ==> [000] 1:120:R a",
            "0:120:R + [x] 1:120:R a",
            "0:120:",
            "",
        ] {
            assert!(SwitchLine::parse(text.as_bytes()).is_none(), "{text}");
        }
    }
}

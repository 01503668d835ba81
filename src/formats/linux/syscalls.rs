//! System calls as kernel tracers record them: a tracepoint for each call with its name, or one for all calls with a
//! number. Call numbers depend on the machine; on an unknown machine, the number is the name.

use std::borrow::Cow;

use crate::model::EventKind;

/// The entry or exit of a system call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SystemCall<'a> {
    pub(crate) kind: EventKind,
    pub(crate) name: Cow<'a, [u8]>,
}

impl<'a> SystemCall<'a> {
    /// Parses a tracepoint of a single call, with or without its group.
    pub(crate) fn from_tracepoint(name: &'a [u8]) -> Option<Self> {
        let name = name.strip_prefix(b"syscalls:").unwrap_or(name);
        // The entry of `exit_group`, not the exit of a call named `group`.
        if name == b"sys_exit_group" {
            return None;
        }
        let of = |kind, before: &[u8]| Some(Self { kind, name: Cow::Borrowed(name.strip_prefix(before)?) });
        of(EventKind::Begin, b"sys_enter_").or_else(|| of(EventKind::End, b"sys_exit_"))
    }

    /// Looks up the call of a tracepoint for all calls by its number.
    pub(crate) fn from_number(name: &[u8], number: i64, machine: &str) -> Option<Self> {
        Some(Self { kind: kind_from_name(name)?, name: name_from_number(number, machine).into() })
    }

    /// Parses the call of a text line, and its arguments or its result.
    pub(crate) fn from_text(name: &'a [u8], fields: &'a [u8], machine: &str) -> Option<(Self, &'a [u8])> {
        if let Some(call) = Self::from_tracepoint(name) {
            return Some((call, fields));
        }
        if let Some(kind) = kind_from_name(name) {
            // `NR 1 (3, 7ffd31a171fc, ..)` and `NR 1 = 16`
            let numbered = fields.strip_prefix(b"NR ")?;
            let (number, detail) = numbered.split_at(memchr::memchr(b' ', numbered)?);
            let number = std::str::from_utf8(number).ok()?.parse().ok()?;
            let detail = detail.trim_ascii();
            let detail = match kind {
                EventKind::End => detail.strip_prefix(b"= ").unwrap_or(detail),
                _ => detail.strip_prefix(b"(").and_then(|detail| detail.strip_suffix(b")")).unwrap_or(detail),
            };
            return Some((Self { kind, name: name_from_number(number, machine).into() }, detail));
        }
        // `sys_read(fd: 3, ..)` and `sys_read -> 0x10`
        let is_named = name.starts_with(b"sys_");
        let (kind, detail) = match fields.strip_prefix(b"-> ") {
            Some(result) => (EventKind::End, result),
            None => (EventKind::Begin, fields),
        };
        is_named.then_some((Self { kind, name: Cow::Borrowed(name) }, detail))
    }
}

/// Returns the event kind of a tracepoint for all calls.
fn kind_from_name(name: &[u8]) -> Option<EventKind> {
    match name.strip_prefix(b"raw_syscalls:").unwrap_or(name) {
        b"sys_enter" => Some(EventKind::Begin),
        b"sys_exit" => Some(EventKind::End),
        _ => None,
    }
}

/// Returns the name of a call number on a machine type as in `uname -m`.
fn name_from_number(number: i64, machine: &str) -> Vec<u8> {
    use syscalls::{aarch64, arm, riscv64, x86, x86_64};
    let known = usize::try_from(number).ok().and_then(|number| match machine {
        "x86_64" => x86_64::Sysno::new(number).map(|call| call.name()),
        "aarch64" | "arm64" => aarch64::Sysno::new(number).map(|call| call.name()),
        "riscv64" => riscv64::Sysno::new(number).map(|call| call.name()),
        "i386" | "i486" | "i586" | "i686" => x86::Sysno::new(number).map(|call| call.name()),
        _ if machine.starts_with("arm") => arm::Sysno::new(number).map(|call| call.name()),
        _ => None,
    });
    known.map_or_else(|| format!("syscall {number}"), str::to_owned).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_their_names_or_else_their_numbers() {
        for (machine, number, expected) in [
            ("x86_64", 1, "write"),
            ("aarch64", 64, "write"),
            ("armv7l", 4, "write"),
            ("i686", 4, "write"),
            ("riscv64", 64, "write"),
            ("", 1, "syscall 1"),
            ("x86_64", -1, "syscall -1"),
            ("x86_64", 1 << 40, "syscall 1099511627776"),
        ] {
            let call = SystemCall::from_number(b"raw_syscalls:sys_enter", number, machine).expect("a call");
            assert_eq!((call.kind, String::from_utf8_lossy(&call.name).as_ref()), (EventKind::Begin, expected));
        }
        assert_eq!(SystemCall::from_number(b"raw_syscalls:other", 1, "x86_64"), None);
    }

    #[test]
    fn lines_tell_calls_in_each_form_with_their_arguments_or_their_result() {
        let (begin, end) = (EventKind::Begin, EventKind::End);
        for (name, fields, expected) in [
            ("sys_read", "fd: 3, count: 2", Some((begin, "sys_read", "fd: 3, count: 2"))),
            ("sys_read", "-> 0x10", Some((end, "sys_read", "0x10"))),
            ("syscalls:sys_enter_read", "fd: 0x3", Some((begin, "read", "fd: 0x3"))),
            ("syscalls:sys_exit_read", "0x3", Some((end, "read", "0x3"))),
            // The format of ftrace.
            ("sys_enter_write", "fd: 0x3", Some((begin, "write", "fd: 0x3"))),
            ("sys_exit_write", "0x10", Some((end, "write", "0x10"))),
            ("sys_exit_group", "error_code: 0", Some((begin, "sys_exit_group", "error_code: 0"))),
            ("sys_enter", "NR 0 (3, 7ffd, 0)", Some((begin, "read", "3, 7ffd, 0"))),
            ("raw_syscalls:sys_exit", "NR 0 = -11", Some((end, "read", "-11"))),
            // The call number is missing: no span, since nothing would end it.
            ("sys_enter", "id: 0", None),
            ("sys_exit", "", None),
            ("sched_stat_runtime", "comm=x", None),
        ] {
            let found = SystemCall::from_text(name.as_bytes(), fields.as_bytes(), "x86_64");
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let found = found.map(|(call, detail)| (call.kind, text(&call.name), text(detail)));
            assert_eq!(
                found,
                expected.map(|(kind, name, detail)| (kind, name.to_owned(), detail.to_owned())),
                "{name}"
            );
        }
    }
}

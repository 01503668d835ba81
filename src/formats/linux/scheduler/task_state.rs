//! States of threads: as events of kernels name them, and as they are shown.

use std::borrow::Cow;

use crate::model::EventFlags;

/// The state that a thread changes to, for any kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskChange {
    Unknown,
    Created,
    Runnable,
    Running,
    Sleeping,
    Uninterruptible,
    Stopped,
    Dead,
    Destroyed,
    /// A state of Linux that other kernels lack.
    Linux(TaskState),
}

impl TaskChange {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Unknown => "Unknown",
            Self::Created => "Created",
            Self::Runnable => "Runnable",
            Self::Running => "Running",
            Self::Sleeping => "Sleeping",
            Self::Uninterruptible => "Uninterruptible sleep",
            Self::Stopped => "Stopped",
            Self::Dead => "Zombie",
            Self::Destroyed => "Exited",
            Self::Linux(state) => state.name(),
        }
    }

    pub(super) fn flags(self) -> EventFlags {
        match self {
            Self::Running | Self::Runnable => EventFlags::AWAKE,
            Self::Linux(state) => state.flags(),
            Self::Unknown
            | Self::Created
            | Self::Sleeping
            | Self::Uninterruptible
            | Self::Stopped
            | Self::Dead
            | Self::Destroyed => EventFlags::NONE,
        }
    }

    /// Returns the letters of Linux, or a word if there is none.
    pub(crate) fn letters(self) -> Cow<'static, str> {
        let letters = match self {
            Self::Unknown => "",
            Self::Created => "Created",
            Self::Runnable => "R",
            Self::Running => "Running",
            Self::Sleeping => "S",
            Self::Uninterruptible => "D",
            Self::Stopped => "T",
            Self::Dead => "Z",
            Self::Destroyed => "X",
            Self::Linux(state) => return state.letters().into(),
        };
        letters.into()
    }
}

/// State of a thread after its switch-out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TaskState(u16);

/// State bits since Linux 4.14, then the bits of older kernels only.
const STATES: [(u16, char, &str); 12] = [
    (0x01, 'S', "Sleeping"),
    (0x02, 'D', "Uninterruptible sleep"),
    (0x04, 'T', "Stopped"),
    (0x08, 't', "Traced"),
    (0x10, 'X', ""),
    (0x20, 'Z', ""),
    (0x40, 'P', "Parked"),
    (0x80, 'I', "Idle"),
    (0x100, 'x', ""),
    (0x200, 'K', "Wake to kill"),
    (0x400, 'W', "Waking"),
    (0x800, 'N', "No load"),
];
const PREEMPTED: u16 = 0x1000;

/// State bits before Linux 4.14, mapped to the bits above.
const OLD_BITS: [(u64, u16); 13] = [
    (0x01, 0x01),
    (0x02, 0x02),
    (0x04, 0x04),
    (0x08, 0x08),
    (0x10, 0x10),
    (0x20, 0x20),
    (0x40, 0x100),
    (0x80, 0x200),
    (0x100, 0x400),
    (0x200, 0x40),
    (0x400, 0x800),
    (0x800, PREEMPTED),
    (0x1000, PREEMPTED),
];

impl TaskState {
    pub(crate) const RUNNABLE: Self = Self(0);

    /// Parses the letters of a text trace, such as `S`, `R+` or `D|K`.
    pub(crate) fn from_letters(letters: &[u8]) -> Option<Self> {
        let mut bits = 0;
        for &letter in letters {
            bits |= match letter {
                b'R' | b'|' => 0,
                b'+' => PREEMPTED,
                _ => STATES.iter().find(|&&(_, state_letter, _)| state_letter == char::from(letter))?.0,
            };
        }
        (!letters.is_empty()).then_some(Self(bits))
    }

    /// Converts the raw value of the kernel: a bit for each state, and one for preemption.
    pub(crate) fn from_bits(raw: u64, is_before_4_14: bool) -> Self {
        if !is_before_4_14 {
            let preempted = if raw & 0x100 != 0 { PREEMPTED } else { 0 };
            return Self((raw & 0xff) as u16 | preempted);
        }
        Self(OLD_BITS.iter().filter(|(old, _)| raw & old != 0).fold(0, |bits, (_, bit)| bits | bit))
    }

    /// Returns the kernel's letters, such as `S`, `R+` or `DK`.
    pub(crate) fn letters(self) -> String {
        let mut letters: String = STATES.iter().filter(|state| self.0 & state.0 != 0).map(|state| state.1).collect();
        if letters.is_empty() {
            letters.push('R');
        }
        if self.0 & PREEMPTED != 0 {
            letters.push('+');
        }
        letters
    }

    /// Returns the name of the state; empty for an exited thread.
    pub(crate) fn name(self) -> &'static str {
        let first = STATES.iter().find(|state| self.0 & state.0 != 0);
        match first {
            Some(state) => state.2,
            None if self.0 & PREEMPTED != 0 => "Runnable (preempted)",
            None => "Runnable",
        }
    }

    /// Returns whether the thread exits.
    pub(super) fn is_exit(self) -> bool {
        self.name().is_empty()
    }

    pub(super) fn flags(self) -> EventFlags {
        if self.0 & !PREEMPTED == 0 { EventFlags::AWAKE } else { EventFlags::NONE }
    }
}

//! Ids of processes and threads.

use serde::{Deserialize, Serialize};

use super::key_texts::IdText;

/// A process or thread id as in the trace. It is never truncated to 32 bits, which could merge two threads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub enum Id {
    /// The trace has no id.
    #[default]
    None,
    /// A number of up to 64 bits.
    Number(i64),
    /// Any other text, or a number beyond 64 bits.
    Text(IdText),
}

impl Id {
    /// Returns its number, even if the name of a file follows it.
    #[must_use]
    pub(crate) fn number(&self) -> Option<i64> {
        match self {
            Self::None => None,
            Self::Number(number) => Some(*number),
            Self::Text(text) => text.split_once(" in ").and_then(|(number, _)| number.parse().ok()),
        }
    }

    /// Returns whether it is this number, even if the name of a file follows it.
    #[must_use]
    pub(crate) fn is_number(&self, number: i64) -> bool {
        self.number() == Some(number)
    }
}

const _: () = assert!(size_of::<Id>() == 16);

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

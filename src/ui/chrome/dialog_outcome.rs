//! The state of a dialog that gives one command.

use crate::ui::command::Command;

/// The state of a dialog after a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DialogOutcome {
    Open,
    Closed,
    Given(Command),
}

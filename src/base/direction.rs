//! The direction of a step through an order, such as that of time, of rows or of tabs.

/// The direction of a step. In lists, forward is down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Backward,
    Forward,
}

impl Direction {
    pub(crate) fn is_forward(self) -> bool {
        self == Self::Forward
    }
}

//! The direction of a step through an order, such as the order of times, rows or tabs.

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

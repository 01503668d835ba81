//! The following state of a growing timeline.

use crate::scene::viewport::Viewport;

/// How the view changes while the trace grows.
#[derive(Debug, Clone, Copy)]
pub(super) enum LiveView {
    /// The view stays at the right edge. It was moved to this position last; the user has set any other position.
    Following(Option<Viewport>),
    /// The user has moved the view.
    Free,
    /// The view stays although the bounds of the trace change: it was paused when the sources ended.
    Held,
}

impl LiveView {
    /// Stops following, so that the view stays where it is.
    pub(super) fn release(&mut self) {
        if let Self::Following(_) = self {
            *self = Self::Free;
        }
    }
}

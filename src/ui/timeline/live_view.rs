//! The following state of a growing timeline.

use crate::scene::viewport::Viewport;

/// Whether the view follows, and where it was moved to.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LiveView {
    pub(super) follows: bool,
    /// The view that it was moved to last; a different one was set by the user.
    pub(super) followed: Option<Viewport>,
    /// Whether it stays although the bounds of the trace change: it was paused when the sources ended.
    pub(super) is_held: bool,
}

//! How the view of a timeline that grows moves.

use crate::scene::viewport::Viewport;

/// Whether the view follows, and where it was moved to.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LiveView {
    pub(super) follows: bool,
    /// The view that it was moved to last; another one is the user's.
    pub(super) followed: Option<Viewport>,
}

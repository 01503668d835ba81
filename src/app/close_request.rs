//! A request to close something that would be lost.

use crate::app::event::TabId;
use crate::ui::chrome::close_dialog::CloseQuestion;

/// The target of a request to close.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CloseTarget {
    Window,
    Tab(TabId),
}

/// A request to close something that would be lost, until the user decides.
#[derive(Debug)]
pub(super) struct CloseRequest {
    pub(super) target: CloseTarget,
    /// The tab whose data would be lost. Another tab may be shown meanwhile.
    pub(super) asked: TabId,
    pub(super) question: CloseQuestion,
}

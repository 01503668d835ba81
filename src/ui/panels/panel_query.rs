//! The last query of a panel: whether its answer has arrived, and why it never will.

use super::renewal::Renewal;
use crate::base::progress::Progress;

/// The last query of a panel.
#[derive(Debug)]
pub(super) struct PanelQuery<Q> {
    /// The query; `None` before the first one.
    last: Option<Q>,
    renewal: Renewal,
    /// The message of its failure; empty if it was stopped.
    stopped: Option<String>,
}

impl<Q> Default for PanelQuery<Q> {
    fn default() -> Self {
        Self { last: None, renewal: Renewal::default(), stopped: None }
    }
}

impl<Q: Clone + PartialEq> PanelQuery<Q> {
    /// Records that the trace has grown since the last query.
    pub(super) fn renew(&mut self) {
        self.renewal.request();
    }

    /// Returns whether the query must begin now: it differs from the last query, or the trace has grown since.
    pub(super) fn must_begin(&self, query: &Q) -> bool {
        self.renewal.is_due() || self.last.as_ref() != Some(query)
    }

    /// Returns whether the next query begins, whichever it is.
    pub(super) fn begins_any(&self) -> bool {
        self.renewal.is_due() || self.last.is_none()
    }

    /// Begins a query, if it must begin now. Returns whether it does.
    pub(super) fn begin(&mut self, query: &Q) -> bool {
        let begins = self.renewal.begin(self.last.as_ref() == Some(query));
        if begins {
            (self.last, self.stopped) = (Some(query.clone()), None);
        }
        begins
    }

    /// Begins the query again in the next frame.
    pub(super) fn repeat(&mut self) {
        self.last = None;
    }

    /// Records that the answer has arrived.
    pub(super) fn end(&mut self) {
        self.renewal.end();
    }

    /// Records that the query was stopped.
    pub(super) fn stop(&mut self) {
        self.fail("");
    }

    /// Records that the query has failed; the message is empty if it was cancelled.
    pub(super) fn fail(&mut self, message: &str) {
        self.stopped = Some(message.to_owned());
    }

    pub(super) fn last(&self) -> Option<&Q> {
        self.last.as_ref()
    }

    /// Returns whether the answer to the same query stays until the next one arrives.
    pub(super) fn keeps_answer(&self) -> bool {
        self.renewal.keeps_answer()
    }

    /// Returns why no answer arrives: the message of a failure, or nothing if the query was stopped.
    pub(super) fn stopped(&self) -> Option<&str> {
        self.stopped.as_deref()
    }

    /// Returns the progress to show.
    pub(super) fn progress<'a>(&self, progress: Option<&'a Progress>) -> Option<&'a Progress> {
        self.renewal.progress(progress)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_that_has_failed_begins_again_when_it_is_repeated() {
        let mut query = PanelQuery::default();
        assert!(query.begin(&1) && !query.begin(&1) && query.stopped().is_none());
        query.fail("the disk is gone");
        assert_eq!((query.begin(&1), query.stopped()), (false, Some("the disk is gone")));
        query.repeat();
        assert_eq!((query.begin(&1), query.stopped()), (true, None));
        query.stop();
        assert_eq!(query.stopped(), Some(""));
        assert!(query.begin(&2) && query.stopped().is_none());
    }
}

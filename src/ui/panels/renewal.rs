//! When a panel queries again. While a trace grows, an answer stays until the next answer to the same question arrives,
//! and progress is not shown. The answer to another question is out of date at once: it is neither called exact nor
//! copied.

use crate::base::progress::Progress;

/// Whether a panel must query again, and whether its answer is of an earlier part of the trace.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Renewal {
    is_due: bool,
    keeps_answer: bool,
    /// Whether there is an answer to the last query, perhaps of an earlier part of the trace.
    is_answered: bool,
}

impl Renewal {
    /// Records that the trace has grown since the last query.
    pub(super) fn request(&mut self) {
        self.is_due = true;
    }

    /// Returns whether the trace has grown since the last query.
    pub(super) fn is_due(self) -> bool {
        self.is_due
    }

    /// Returns whether to query now. `is_asked` is whether the last query was the same.
    pub(super) fn begin(&mut self, is_asked: bool) -> bool {
        let is_due = std::mem::take(&mut self.is_due);
        if is_due || !is_asked {
            self.keeps_answer = is_due && is_asked && self.is_answered;
            self.is_answered = self.keeps_answer;
        }
        is_due || !is_asked
    }

    /// Records that the answer has arrived.
    pub(super) fn end(&mut self) {
        (self.keeps_answer, self.is_answered) = (false, true);
    }

    /// Returns whether there is an answer to the last query.
    #[cfg(test)]
    pub(super) fn is_answered(self) -> bool {
        self.is_answered
    }

    /// Returns whether the answer to the same question stays until the next one arrives.
    pub(super) fn keeps_answer(self) -> bool {
        self.keeps_answer
    }

    /// Returns the progress to show.
    pub(super) fn progress(self, progress: Option<&Progress>) -> Option<&Progress> {
        progress.filter(|_| !self.keeps_answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_stays_only_while_the_same_question_is_renewed() {
        let (mut renewal, progress) = (Renewal::default(), Progress::default());
        assert!(renewal.begin(false) && !renewal.keeps_answer(), "nothing was asked before");
        assert!(!renewal.begin(true) && !renewal.is_answered(), "the trace has not grown");
        renewal.request();
        assert!(renewal.begin(true) && !renewal.keeps_answer(), "the answer still belongs to another question");
        renewal.end();
        assert!(renewal.is_answered());
        renewal.request();
        assert!(renewal.is_due() && renewal.begin(true) && !renewal.is_due());
        assert!(renewal.keeps_answer() && renewal.progress(Some(&progress)).is_none());
        assert!(!renewal.begin(true) && renewal.keeps_answer(), "the query runs");
        assert!(renewal.begin(false), "another scope");
        assert!(!renewal.keeps_answer() && renewal.progress(Some(&progress)).is_some());
        assert!(!renewal.is_answered());
        renewal.request();
        assert!(renewal.begin(false) && !renewal.keeps_answer(), "another scope of a trace that has grown");
        renewal.request();
        renewal.begin(true);
        renewal.end();
        assert!(!renewal.keeps_answer());
    }
}

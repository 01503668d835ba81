//! The steps from the selected row to other rows of its name.

use std::time::{Duration, Instant};

use crate::base::direction::Direction;
use crate::query::Snapshot;
use crate::query::search::Hit;
use crate::scene::labels::{shorten_middle, shown};
use crate::store::lane::RowIdx;
use crate::store::live_lanes::LaneMoves;
use crate::ui::questions::Question;

/// Steps that may wait for an answer: a held key must not go on for seconds.
const WAITING_MAX: i64 = 20;

/// Duration after which a search says that it is running.
const PATIENCE: Duration = Duration::from_millis(100);

/// The search for a row of the same name, and the result of the last search.
#[derive(Debug, Default)]
pub(super) struct SameNameSteps {
    running: Option<SameNameStep>,
    /// Steps after the running one; negative ones go back.
    waiting: i64,
    /// A row, and why the last step did not leave it.
    stayed: Option<(RowIdx, String)>,
}

#[derive(Debug)]
struct SameNameStep {
    from: RowIdx,
    direction: Direction,
    begun: Instant,
}

impl SameNameSteps {
    /// Steps from the selected row. Returns a question, unless a step from this row is still running.
    pub(super) fn step(&mut self, from: RowIdx, direction: Direction) -> Option<Question> {
        if self.running.as_ref().is_some_and(|running| running.from == from) {
            let waiting = self.waiting + if direction.is_forward() { 1 } else { -1 };
            self.waiting = waiting.clamp(-WAITING_MAX, WAITING_MAX);
            return None;
        }
        self.waiting = 0;
        Some(self.ask(from, direction))
    }

    /// Accepts an answer. Returns the row to go to, and the question of another step.
    pub(super) fn accept_answer(
        &mut self,
        found: Option<Hit>,
        (selected, snapshot): (Option<RowIdx>, &Snapshot),
    ) -> (Option<RowIdx>, Option<Question>) {
        // Another row may have been selected meanwhile.
        let Some(step) = self.running.take().filter(|step| selected == Some(step.from)) else { return (None, None) };
        let waiting = std::mem::take(&mut self.waiting);
        let Some(hit) = found else {
            let which = if step.direction.is_forward() { "last" } else { "first" };
            self.stayed = Some((step.from, format!("This is the {which} {}.", name_of(step.from, snapshot))));
            return (None, None);
        };
        let direction = if waiting > 0 { Direction::Forward } else { Direction::Backward };
        let further = (waiting != 0).then(|| self.ask(hit.row, direction));
        self.waiting = waiting - waiting.signum();
        (Some(hit.row), further)
    }

    /// Takes the reason for a missing answer; it is empty if the search was cancelled.
    pub(super) fn fail(&mut self, message: &str) {
        let step = self.running.take().filter(|_| !message.is_empty());
        self.stayed = step.map(|step| (step.from, message.to_owned()));
        self.waiting = 0;
    }

    /// Maps the rows that steps start from, because lanes have moved.
    pub(super) fn move_rows(&mut self, moves: &LaneMoves) {
        let moved = |step: SameNameStep| Some(SameNameStep { from: moves.row(step.from)?, ..step });
        self.running = self.running.take().and_then(moved);
        self.stayed = self.stayed.take().and_then(|(row, text)| Some((moves.row(row)?, text)));
    }

    /// Drops the running step if another row is selected. Returns whether there was one.
    pub(super) fn leave(&mut self, selected: Option<RowIdx>) -> bool {
        self.running.take_if(|step| selected != Some(step.from)).is_some()
    }

    /// Returns a text about the selected row for the status bar: a slow search, or why the last step stayed here.
    pub(super) fn note(&self, selected: Option<RowIdx>, snapshot: &Snapshot) -> Option<String> {
        let row = selected?;
        if let Some(step) = self.running.as_ref().filter(|step| step.from == row) {
            let which = if step.direction.is_forward() { "next" } else { "previous" };
            let is_slow = step.begun.elapsed() > PATIENCE;
            return is_slow.then(|| format!("Searching for the {which} {}", name_of(row, snapshot)));
        }
        self.stayed.as_ref().filter(|(stayed, _)| *stayed == row).map(|(_, text)| text.clone())
    }

    fn ask(&mut self, from: RowIdx, direction: Direction) -> Question {
        self.stayed = None;
        self.running = Some(SameNameStep { from, direction, begun: Instant::now() });
        Question::SameName { from, direction }
    }
}

/// Returns the name of a row in quotes, shortened for a line.
fn name_of(row: RowIdx, snapshot: &Snapshot) -> String {
    const LETTERS_MAX: f32 = 40.0;
    let shown = shown(snapshot.names().get(snapshot.row(row).name).text);
    format!("\"{}\"", shorten_middle(&shown, LETTERS_MAX, |_| 1.0).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::Direction::{Backward, Forward};
    use super::*;
    use crate::app::tests::{TWO_SPANS, snapshot};
    use crate::model::NameIdx;
    use crate::store::LaneIdx;

    fn row(row: u64) -> RowIdx {
        RowIdx { lane: LaneIdx(0), row }
    }

    fn hit(number: u64) -> Hit {
        Hit { start_ns: 0, row: row(number), dur_ns: 1, name: NameIdx::EMPTY }
    }

    fn question(from: u64, direction: Direction) -> Question {
        Question::SameName { from: row(from), direction }
    }

    #[test]
    fn keys_pressed_before_an_answer_are_further_steps() {
        let snapshot = snapshot(TWO_SPANS);
        let mut steps = SameNameSteps::default();
        assert_eq!(steps.step(row(3), Forward), Some(question(3, Forward)));
        assert_eq!([steps.step(row(3), Forward), steps.step(row(3), Forward)], [None, None]);
        let mut take = |from, to| steps.accept_answer(Some(hit(to)), (Some(row(from)), &snapshot));
        assert_eq!(take(3, 4), (Some(row(4)), Some(question(4, Forward))));
        assert_eq!(take(4, 5), (Some(row(5)), Some(question(5, Forward))));
        assert_eq!(take(5, 6), (Some(row(6)), None));
        // One step forward and two back.
        assert_eq!(steps.step(row(6), Forward), Some(question(6, Forward)));
        assert_eq!([steps.step(row(6), Backward), steps.step(row(6), Backward)], [None, None]);
        let mut take = |from, to| steps.accept_answer(Some(hit(to)), (Some(row(from)), &snapshot));
        assert_eq!(take(6, 7), (Some(row(7)), Some(question(7, Backward))));
        assert_eq!(take(7, 6), (Some(row(6)), Some(question(6, Backward))));
        assert_eq!(take(6, 5), (Some(row(5)), None));
    }

    #[test]
    fn an_answer_about_a_row_that_is_no_longer_selected_moves_nothing() {
        let snapshot = snapshot(TWO_SPANS);
        let mut steps = SameNameSteps::default();
        assert_eq!(steps.step(row(0), Forward), Some(question(0, Forward)));
        assert_eq!(steps.accept_answer(Some(hit(1)), (Some(row(9)), &snapshot)), (None, None));
        assert_eq!(steps.step(row(0), Forward), Some(question(0, Forward)));
        assert!(!steps.leave(Some(row(0))) && steps.leave(None));
        assert_eq!(steps.accept_answer(Some(hit(1)), (None, &snapshot)), (None, None));
    }

    #[test]
    fn the_note_is_shown_only_for_the_row_of_the_last_step() {
        let snapshot = snapshot(TWO_SPANS);
        let mut steps = SameNameSteps::default();
        assert_eq!(steps.step(row(0), Forward), Some(question(0, Forward)));
        assert_eq!(steps.accept_answer(None, (Some(row(0)), &snapshot)), (None, None));
        assert_eq!(steps.note(Some(row(0)), &snapshot).as_deref(), Some("This is the last \"alpha\"."));
        assert_eq!([steps.note(None, &snapshot), steps.note(Some(row(1)), &snapshot)], [None, None]);
        assert_eq!(steps.step(row(0), Backward), Some(question(0, Backward)));
        assert_eq!(steps.note(Some(row(0)), &snapshot), None, "not before it has taken some time");
        steps.fail("The trace is damaged.");
        assert_eq!(steps.note(Some(row(0)), &snapshot).as_deref(), Some("The trace is damaged."));
    }
}

//! Undoes and redoes edits of the state that is saved with a trace: markers, saved scopes, derived tracks, groups of
//! the user, hidden, pinned, moved and ordered tracks, and how counters are drawn. The view and the selection have a
//! separate history.

use super::edit_history::{Edit, Part, PartKind, Step};
use super::state::Timeline;
use crate::scene::custom_groups::CustomGroupId;
use crate::ui::command::TimelineCommand;

impl Timeline {
    /// Returns what the next undo takes back.
    #[must_use]
    pub(crate) fn undoable(&self) -> Option<&'static str> {
        self.edits.done.back().map(|step| step.edit.title)
    }

    /// Returns what the next redo does again.
    #[must_use]
    pub(crate) fn redoable(&self) -> Option<&'static str> {
        self.edits.undone.last().map(|step| step.edit.title)
    }

    /// Runs a command, and records its edit, so that it can be undone.
    pub(super) fn run_undoable(&mut self, command: TimelineCommand) {
        if Edit::starts_name(&command) {
            self.edits.end_name();
        }
        let Some(edit) = Edit::from_command(&command) else { return self.run(command) };
        let before = self.part(edit.kind);
        self.run(command);
        let now = self.part(edit.kind);
        // A command may have no effect.
        if now.is_edited_since(&before) {
            self.edits.record(edit, before, &now);
        }
    }

    pub(super) fn undo_edit(&mut self) {
        self.edits.end_name();
        let Some(Step { edit, part }) = self.edits.done.pop_back() else { return };
        let now = self.part(edit.kind);
        self.edits.undone.push(Step { edit, part: now });
        self.note = Some(format!("Undone: {}.", edit.title).into());
        self.set_part(part);
    }

    pub(super) fn redo_edit(&mut self) {
        self.edits.end_name();
        let Some(Step { edit, part }) = self.edits.undone.pop() else { return };
        let now = self.part(edit.kind);
        self.edits.done.push_back(Step { edit, part: now });
        self.note = Some(format!("Redone: {}.", edit.title).into());
        self.set_part(part);
    }

    fn part(&self, kind: PartKind) -> Part {
        let arrangement = self.tracks.arrangement();
        match kind {
            PartKind::Bookmarks => Part::Bookmarks(self.overlays.bookmarks().clone()),
            PartKind::Scopes => Part::Scopes(self.selection.saved().to_vec()),
            PartKind::Derived => Part::Derived(self.derived.definitions()),
            PartKind::Groups => {
                Part::Groups(arrangement.custom_groups.clone(), arrangement.folded.custom_groups.clone())
            }
            PartKind::Hidden => Part::Hidden(arrangement.folded.hidden.clone()),
            PartKind::Pinned => Part::Pinned(arrangement.pinned.clone()),
            PartKind::Order => Part::Order(arrangement.order),
            PartKind::Moves => Part::Moves(arrangement.moves.clone(), arrangement.pinned.clone()),
            PartKind::Counters => Part::Counters(self.tracks.counter_rows()),
        }
    }

    /// Replaces a part.
    fn set_part(&mut self, part: Part) {
        match part {
            Part::Bookmarks(bookmarks) => {
                *self.overlays.bookmarks_mut() = bookmarks;
                return;
            }
            Part::Scopes(scopes) => {
                *self.selection.saved_mut() = scopes;
                return;
            }
            Part::Derived(definitions) => {
                self.derived.set_definitions(definitions);
                return self.derived_pane.redraw();
            }
            Part::Groups(groups, folded) => {
                self.tracks.edit_name(None);
                // Folding is not an edit, so remaining groups keep their state.
                let now = self.tracks.arrangement();
                let remains = |group: &CustomGroupId| now.custom_groups.get(*group).is_some();
                let mut folded: Vec<_> = folded.into_iter().filter(|group| !remains(group)).collect();
                folded.extend(now.folded.custom_groups.iter().filter(|group| groups.get(**group).is_some()));
                self.tracks.set_groups(groups, folded);
            }
            Part::Hidden(hidden) => self.tracks.arrangement_mut().folded.hidden = hidden,
            Part::Pinned(pinned) => self.tracks.arrangement_mut().pinned = pinned,
            Part::Order(order) => {
                self.tracks.arrangement_mut().order = order;
                self.show_first_or_selected();
            }
            Part::Moves(moves, pinned) => {
                self.tracks.arrangement_mut().moves = moves;
                self.tracks.arrangement_mut().pinned = pinned;
            }
            Part::Counters(counters) => self.tracks.set_counter_rows(counters),
        }
        self.arrange();
    }
}

#[cfg(test)]
mod tests;

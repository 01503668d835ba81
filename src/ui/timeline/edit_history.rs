//! The edits of a timeline that can be undone and redone.
//!
//! A step keeps the part of the saved state that its edit has changed, as it was before. Other parts stay as they are
//! when the step is undone, such as a track that a jump has unhidden since. The letters of a name are one step, which
//! ends with another edit, an undo, or when a field for a name gets the focus.

use std::collections::VecDeque;

use rustc_hash::FxHashSet;

use super::derived::DerivedDefinition;
use super::named_scopes::NamedScope;
use super::tracks::CounterRowState;
use crate::model::TrackIdx;
use crate::scene::arrange::TrackOrder;
use crate::scene::arrange::moves::RowMoves;
use crate::scene::bookmarks::{BookmarkId, Bookmarks};
use crate::scene::custom_groups::{CustomGroupId, CustomGroups};
use crate::scene::rows::GroupKind;
use crate::ui::command::{
    BookmarkCommand, CustomGroupCommand, DerivedCommand, DerivedId, RowCommand, ScopeCommand, TimelineCommand,
};

/// Limit for the steps that can be undone.
pub(super) const STEPS_MAX: usize = 100;

/// Limit for the hidden tracks in all steps that can be undone: some 20 MiB. A step stores all hidden tracks, and a
/// trace may have a million.
pub(super) const HIDDEN_MAX: usize = if cfg!(test) { 16 } else { 2 << 20 };

/// The edit of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) kind: PartKind,
    /// Its description in menus, such as "removal of the marker".
    pub(super) title: &'static str,
    /// The renamed item: the letters typed into its field are one step.
    renamed: Option<Renamed>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Renamed {
    Bookmark(BookmarkId),
    Derived(DerivedId),
    Group(CustomGroupId),
}

/// A part of the saved state that an edit changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartKind {
    Bookmarks,
    Scopes,
    Derived,
    Groups,
    Hidden,
    Pinned,
    Order,
    Moves,
    Counters,
}

/// The content of a part.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Part {
    Bookmarks(Bookmarks),
    Scopes(Vec<NamedScope>),
    Derived(Vec<DerivedDefinition>),
    /// The groups, and which are folded.
    Groups(CustomGroups, FxHashSet<CustomGroupId>),
    Hidden(FxHashSet<TrackIdx>),
    Pinned(Vec<TrackIdx>),
    Order(TrackOrder),
    /// The moved rows, and the pinned tracks in their order.
    Moves(RowMoves, Vec<TrackIdx>),
    Counters(CounterRowState),
}

impl Part {
    /// Returns whether an edit has changed the part since `before`. Selecting a marker is not an edit.
    pub(super) fn is_edited_since(&self, before: &Self) -> bool {
        if let (Self::Bookmarks(before), Self::Bookmarks(now)) = (before, self) {
            return before.all() != now.all();
        }
        self != before
    }

    /// Returns the number of hidden tracks.
    fn hidden(&self) -> usize {
        if let Self::Hidden(tracks) = self { tracks.len() } else { 0 }
    }
}

#[derive(Debug)]
pub(super) struct Step {
    pub(super) edit: Edit,
    pub(super) part: Part,
}

/// The edits that can be undone and redone, newest last.
#[derive(Debug, Default)]
pub(super) struct EditHistory {
    pub(super) done: VecDeque<Step>,
    pub(super) undone: Vec<Step>,
    /// The name that is being typed, whose first letter is the last step.
    typed: Option<Renamed>,
}

impl EditHistory {
    /// Adds an edit that has changed a part from `before` to `now`.
    pub(super) fn record(&mut self, edit: Edit, before: Part, now: &Part) {
        self.undone.clear();
        if self.typed.is_some() && self.typed == edit.renamed {
            // The name is the original one again.
            if self.done.back().is_some_and(|last| last.part == *now) {
                self.done.pop_back();
                self.typed = None;
            }
            return;
        }
        self.typed = edit.renamed;
        self.done.push_back(Step { edit: edit.titled(&before, now), part: before });
        let hidden = |done: &VecDeque<Step>| done.iter().map(|step| step.part.hidden()).sum::<usize>();
        while self.done.len() > STEPS_MAX || self.done.len() > 1 && hidden(&self.done) > HIDDEN_MAX {
            self.done.pop_front();
        }
    }

    /// Ends the step of a name, if one is being typed.
    pub(super) fn end_name(&mut self) {
        self.typed = None;
    }
}

impl Edit {
    /// Returns the edit of a command; `None` if it changes at most the view, the selection, folds or filters.
    pub(super) fn from_command(command: &TimelineCommand) -> Option<Self> {
        match command {
            TimelineCommand::Bookmark(command) => Self::from_bookmark(command),
            TimelineCommand::Rows(command) => Self::from_rows(command),
            TimelineCommand::Scope(command) => Self::from_scope(command),
            TimelineCommand::Derived(command) => Self::from_derived(command),
            TimelineCommand::ShowFileMoved(_)
            | TimelineCommand::Select(_)
            | TimelineCommand::Reveal(_)
            | TimelineCommand::ZoomToSpan
            | TimelineCommand::ShowTime(_)
            | TimelineCommand::Center(_)
            | TimelineCommand::ShowTrack(..)
            | TimelineCommand::ShowSlice(..)
            | TimelineCommand::Step(_)
            | TimelineCommand::UndoEdit
            | TimelineCommand::RedoEdit => None,
        }
    }

    fn new(kind: PartKind, title: &'static str) -> Self {
        Self { kind, title, renamed: None }
    }

    /// Returns the edit with the title of its effect, which may be a toggle.
    fn titled(self, before: &Part, now: &Part) -> Self {
        match (before, now) {
            (Part::Pinned(before), Part::Pinned(now)) if now.len() < before.len() => {
                Self { title: "unpinning of the track", ..self }
            }
            _ => self,
        }
    }

    /// Returns whether a command begins a name.
    pub(super) fn starts_name(command: &TimelineCommand) -> bool {
        matches!(
            command,
            TimelineCommand::Bookmark(BookmarkCommand::StartNaming)
                | TimelineCommand::Derived(DerivedCommand::StartNaming)
                | TimelineCommand::Rows(RowCommand::Group(CustomGroupCommand::StartNaming(_)))
        )
    }

    fn renaming(kind: PartKind, title: &'static str, renamed: Renamed) -> Self {
        Self { kind, title, renamed: Some(renamed) }
    }

    fn from_bookmark(command: &BookmarkCommand) -> Option<Self> {
        Some(match command {
            BookmarkCommand::Add | BookmarkCommand::AddAt(_) => {
                Self::new(PartKind::Bookmarks, "addition of the marker")
            }
            BookmarkCommand::Rename(id, _) => {
                Self::renaming(PartKind::Bookmarks, "renaming of the marker", Renamed::Bookmark(*id))
            }
            BookmarkCommand::Remove(_) => Self::new(PartKind::Bookmarks, "removal of the marker"),
            BookmarkCommand::StartNaming
            | BookmarkCommand::Choose(_)
            | BookmarkCommand::Go(_)
            | BookmarkCommand::Measure
            | BookmarkCommand::MeasureTo(_)
            | BookmarkCommand::Next(_)
            | BookmarkCommand::Origin(_) => return None,
        })
    }

    fn from_rows(command: &RowCommand) -> Option<Self> {
        Some(match command {
            RowCommand::TogglePin(_) | RowCommand::TogglePinOfSelected => {
                Self::new(PartKind::Pinned, "pinning of the track")
            }
            RowCommand::Hide(_) => Self::new(PartKind::Hidden, "hiding of tracks"),
            RowCommand::ShowOnlyScope => Self::new(PartKind::Hidden, "hiding of the other tracks"),
            RowCommand::ShowHidden => Self::new(PartKind::Hidden, "showing of the hidden tracks"),
            RowCommand::ShowCounterAs(..) | RowCommand::ShowCountersAs(_) => {
                Self::new(PartKind::Counters, "form of counters")
            }
            RowCommand::OverlayCounters { .. } => Self::new(PartKind::Counters, "overlay of counters"),
            RowCommand::SeparateCounters(_) => Self::new(PartKind::Counters, "separation of counters"),
            RowCommand::Group(command) => return Self::from_group(command),
            RowCommand::Order(_) => Self::new(PartKind::Order, "order of the tracks"),
            RowCommand::Step(GroupKind::Custom(_), _) => Self::new(PartKind::Groups, "move of the group"),
            RowCommand::Move(_)
            | RowCommand::MovePinned { .. }
            | RowCommand::Step(..)
            | RowCommand::StepOfSelected(_) => Self::new(PartKind::Moves, "move of the track"),
            RowCommand::ForgetMoves => Self::new(PartKind::Moves, "reset of the moved tracks"),
            RowCommand::ToggleFold(_)
            | RowCommand::ToggleFoldOfSelected
            | RowCommand::FoldAll(_)
            | RowCommand::Filter(_)
            | RowCommand::FocusFilter => return None,
        })
    }

    fn from_group(command: &CustomGroupCommand) -> Option<Self> {
        Some(match command {
            CustomGroupCommand::GroupScope => Self::new(PartKind::Groups, "grouping of the tracks"),
            CustomGroupCommand::AddScope(_) => Self::new(PartKind::Groups, "addition to the group"),
            CustomGroupCommand::UngroupScope | CustomGroupCommand::Leave(_) => {
                Self::new(PartKind::Groups, "removal from the group")
            }
            CustomGroupCommand::Ungroup(_) => Self::new(PartKind::Groups, "removal of the group"),
            CustomGroupCommand::Move { .. } => Self::new(PartKind::Groups, "move of the group"),
            CustomGroupCommand::Rename(id, _) => {
                Self::renaming(PartKind::Groups, "renaming of the group", Renamed::Group(*id))
            }
            CustomGroupCommand::StartNaming(_) | CustomGroupCommand::EndNaming => return None,
        })
    }

    fn from_scope(command: &ScopeCommand) -> Option<Self> {
        Some(match command {
            ScopeCommand::Save(_) => Self::new(PartKind::Scopes, "saving of the scope"),
            ScopeCommand::Delete(_) => Self::new(PartKind::Scopes, "deletion of the saved scope"),
            ScopeCommand::ClearTime
            | ScopeCommand::ClearTracks
            | ScopeCommand::Set(_)
            | ScopeCommand::Filter(_)
            | ScopeCommand::AddFilter(_)
            | ScopeCommand::Only(_)
            | ScopeCommand::Toggle(_)
            | ScopeCommand::Inside(_)
            | ScopeCommand::Recall(_) => return None,
        })
    }

    fn from_derived(command: &DerivedCommand) -> Option<Self> {
        Some(match command {
            DerivedCommand::Add(..) | DerivedCommand::AddOfScope(_) | DerivedCommand::AddScheduling(_) => {
                Self::new(PartKind::Derived, "addition of the derived track")
            }
            DerivedCommand::Rename(id, _) => {
                Self::renaming(PartKind::Derived, "renaming of the derived track", Renamed::Derived(*id))
            }
            DerivedCommand::SetLogarithmic(..) => Self::new(PartKind::Derived, "scale of the derived track"),
            DerivedCommand::Remove(_) => Self::new(PartKind::Derived, "removal of the derived track"),
            DerivedCommand::StartNaming
            | DerivedCommand::Stop(_)
            | DerivedCommand::Compute(_)
            | DerivedCommand::Export(_) => return None,
        })
    }
}

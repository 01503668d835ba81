//! The keyboard on the names of the tracks. Tab stops at one of them. Up, Down and the keys of pages go from name to
//! name, and Left and Right fold and unfold, as in the trees of desktops.

use egui::{Context, FocusDirection, Id, Key, Modifiers, Popup, Ui};

use super::layout::TimelineLayout;
use super::state::Timeline;
use crate::base::direction::Direction;
use crate::scene::rows::{GroupKind, RowLayout};
use crate::ui::command::{Command, RowCommand, TimelineCommand};
use crate::ui::panels::table_keys::{RowMove, hold, release, take_steps};

/// A name: a row among the pinned ones, or among the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HeadKey {
    pub(super) kind: GroupKind,
    pub(super) is_pinned: bool,
}

/// The name that has the keyboard, or had it last.
#[derive(Clone, Copy)]
struct LastHead(Id, HeadKey);

impl HeadKey {
    pub(super) fn id(self, ui: &Ui) -> Id {
        ui.scope_id().with((self.kind, self.is_pinned, "name"))
    }
}

/// Returns the name in view at which Tab stops: the one with the keyboard, or that had it last, or the first.
pub(super) fn tab_stop(ui: &Ui, in_view: &[Id]) -> Option<Id> {
    let focused = ui.memory(egui::Memory::focused);
    let last = last_head(ui.ctx()).map(|LastHead(id, _)| id);
    [focused, last].into_iter().flatten().find(|id| in_view.contains(id)).or(in_view.first().copied())
}

/// Reserves the keys for a name that has the focus, unless a menu is open.
pub(super) fn hold_keyboard(ui: &Ui, id: Id, key: HeadKey) {
    ui.data_mut(|data| data.insert_temp(last_head_id(), LastHead(id, key)));
    if Popup::is_any_open(ui.ctx()) { release(ui, id) } else { hold(ui, id, true) }
}

fn last_head(ctx: &Context) -> Option<LastHead> {
    ctx.data(|data| data.get_temp(last_head_id()))
}

fn last_head_id() -> Id {
    Id::unique("name of a track with the keyboard")
}

impl Timeline {
    /// Moves by the keys of the name that has the keyboard, or folds it.
    pub(super) fn step_heads(&mut self, ui: &Ui, layout: &TimelineLayout, commands: &mut Vec<Command>) {
        let focused = ui.memory(egui::Memory::focused);
        let Some(LastHead(_, now)) = last_head(ui.ctx()).filter(|LastHead(id, _)| Some(*id) == focused) else {
            return;
        };
        if Popup::is_any_open(ui.ctx()) {
            return;
        }
        let mut steps = take_steps(ui);
        let mut to = now;
        let is_folded = self.is_folded(now.kind);
        let fold = Command::Timeline(TimelineCommand::Rows(RowCommand::ToggleFold(now.kind)));
        // Alt + Left leads back in the view history, and matches a plain Left.
        let has_modifiers = ui.input(|input| input.modifiers.any());
        let pressed = |key| !has_modifiers && ui.input_mut(|input| input.consume_key(Modifiers::NONE, key));
        let (left, right) = (pressed(Key::ArrowLeft), pressed(Key::ArrowRight));
        let is_pressed = left || right || !steps.is_empty();
        match now.kind {
            _ if left && !is_folded || right && is_folded => commands.push(fold),
            GroupKind::Track(_) if right => {}
            _ if right => steps.push(RowMove::By(1)),
            _ if left && !now.is_pinned => {
                to.kind = self.groups_around(now.kind).next().unwrap_or_else(|| self.header_of(now.kind));
            }
            _ => {}
        }
        to = steps.into_iter().fold(to, |from, step| self.head_after(layout, from, step).unwrap_or(from));
        if to != now && self.bring_head_into_view(layout, to) {
            let id = to.id(ui);
            ui.memory_mut(|memory| memory.request_focus(id));
            hold_keyboard(ui, id, to);
        }
        if is_pressed {
            // In the first frame with the focus, egui would move it to another widget.
            ui.memory_mut(|memory| memory.move_focus(FocusDirection::None));
        }
    }

    /// Returns the name that a step leads to; `None` at the ends.
    fn head_after(&self, layout: &TimelineLayout, from: HeadKey, step: RowMove) -> Option<HeadKey> {
        let rows = self.rows_of_heads(from.is_pinned);
        let last_px = rows.height_px().saturating_sub(1);
        match step {
            RowMove::By(count) => {
                let direction = if count < 0 { Direction::Backward } else { Direction::Forward };
                let steps = 0..count.unsigned_abs();
                steps.fold(None, |at, _| self.next_head(at.unwrap_or(from), direction).or(at))
            }
            RowMove::Pages(pages) => {
                let page = if from.is_pinned { layout.pinned } else { layout.canvas };
                let by_px = pages.saturating_mul((page.height() * self.scale()) as i64);
                let top_px = rows.group_of(from.kind)?.top_px;
                self.head_at_px(from.is_pinned, top_px.saturating_add_signed(by_px).min(last_px))
            }
            RowMove::First => self.head_at_px(from.is_pinned, 0),
            RowMove::Last => self.head_at_px(from.is_pinned, last_px),
        }
    }

    /// Returns the name below or above another. The pinned ones are above the others.
    fn next_head(&self, from: HeadKey, direction: Direction) -> Option<HeadKey> {
        let group = self.rows_of_heads(from.is_pinned).group_of(from.kind)?;
        match direction {
            Direction::Forward => {
                let below = self.head_at_px(from.is_pinned, group.top_px + u64::from(group.height_px));
                below.or_else(|| from.is_pinned.then(|| self.head_at_px(false, 0)).flatten())
            }
            Direction::Backward => match group.top_px.checked_sub(1) {
                Some(above_px) => self.head_at_px(from.is_pinned, above_px),
                None if from.is_pinned => None,
                None => self.head_at_px(true, self.pinned.layout.height_px().checked_sub(1)?),
            },
        }
    }

    fn head_at_px(&self, is_pinned: bool, y_px: u64) -> Option<HeadKey> {
        let groups = self.rows_of_heads(is_pinned).groups_within(y_px, y_px + 1);
        groups.first().map(|group| HeadKey { kind: group.kind, is_pinned })
    }

    fn rows_of_heads(&self, is_pinned: bool) -> &RowLayout {
        if is_pinned { &self.pinned.layout } else { &self.rows.layout }
    }

    /// Scrolls no further than needed to show a row, below the headers that stick above it. Returns whether it is laid
    /// out.
    fn bring_head_into_view(&mut self, layout: &TimelineLayout, head: HeadKey) -> bool {
        let Some(group) = self.rows_of_heads(head.is_pinned).group_of(head.kind) else { return false };
        let view = if head.is_pinned { self.pinned_view(layout) } else { *self.view.now() };
        let headers = self.groups_around(head.kind).take(1).chain([self.header_of(head.kind)]);
        let above = headers.filter(|header| *header != head.kind && !head.is_pinned);
        let above = above.filter_map(|header| self.rows.layout.group_of(header));
        let above_px: f64 = above.map(|header| f64::from(header.height_px)).sum();
        let (top_px, height_px) = (group.top_px as f64, f64::from(group.height_px));
        let lowest_px = top_px - above_px;
        let to_px = view.scroll_px().max(top_px + height_px - view.height_px()).min(lowest_px);
        if head.is_pinned {
            self.pinned_scroll_px = to_px;
        } else if to_px != view.scroll_px() {
            self.view.stop_glide();
            self.scroll_to(to_px);
        }
        true
    }
}

//! The keys of a focused table row or cell grid, which are not commands of the timeline meanwhile.

use egui::{Context, Event, EventFilter, Id, Key, Modifiers, Ui};

/// A step through the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowMove {
    By(i64),
    Pages(i64),
    First,
    Last,
}

/// Keys of a table. Enter is not listed: egui turns it into a click on the focused row.
const KEYS: [Key; 6] = [Key::ArrowUp, Key::ArrowDown, Key::PageUp, Key::PageDown, Key::Home, Key::End];

/// Further keys of a grid and of a tree.
const GRID_KEYS: [Key; 2] = [Key::ArrowLeft, Key::ArrowRight];

/// Returns whether a table row has the focus.
#[must_use]
pub(crate) fn has_keyboard(ctx: &Context) -> bool {
    let focused = ctx.memory(egui::Memory::focused);
    focused.is_some() && ctx.data(|data| data.get_temp::<Id>(focused_row_id())) == focused
}

/// Returns whether a key without modifiers belongs to a table.
#[must_use]
pub(crate) fn is_of_table(key: Key, modifiers: Modifiers) -> bool {
    modifiers.is_none() && KEYS.contains(&key)
}

/// Returns whether a grid or a row of a tree has the focus.
#[must_use]
pub(crate) fn grid_has_keyboard(ctx: &Context) -> bool {
    let focused = ctx.memory(egui::Memory::focused);
    focused.is_some() && ctx.data(|data| data.get_temp::<Id>(focused_grid_id())) == focused
}

/// Returns whether a key without modifiers belongs to a grid or a tree.
#[must_use]
pub(crate) fn is_of_grid(key: Key, modifiers: Modifiers) -> bool {
    is_of_table(key, modifiers) || modifiers.is_none() && GRID_KEYS.contains(&key)
}

/// Reserves the arrow keys for the focused grid.
pub(crate) fn hold_grid(ui: &Ui, grid: Id) {
    let filter = EventFilter { vertical_arrows: true, horizontal_arrows: true, ..EventFilter::default() };
    ui.memory_mut(|memory| memory.set_focus_lock_filter(grid, filter));
    ui.data_mut(|data| data.insert_temp(focused_grid_id(), grid));
}

/// Reserves the arrow keys up and down for the focused row, and for a tree row also left and right.
pub(crate) fn hold(ui: &Ui, row: Id, is_tree: bool) {
    let filter = EventFilter { vertical_arrows: true, horizontal_arrows: is_tree, ..EventFilter::default() };
    ui.memory_mut(|memory| memory.set_focus_lock_filter(row, filter));
    ui.data_mut(|data| {
        data.insert_temp(focused_row_id(), row);
        if is_tree {
            data.insert_temp(focused_grid_id(), row);
        }
    });
}

/// Leaves the arrow keys of a focused row to the menu that is open.
pub(crate) fn release(ui: &Ui, row: Id) {
    ui.memory_mut(|memory| memory.set_focus_lock_filter(row, EventFilter::default()));
}

/// Returns the steps whose keys were pressed, in no order: a frame has several only if it was slow.
pub(crate) fn take_steps(ui: &Ui) -> Vec<RowMove> {
    let mut steps = Vec::new();
    ui.input_mut(|input| {
        let mut presses = |key| input.count_and_consume_key(Modifiers::NONE, key) as i64;
        let rows = presses(Key::ArrowDown) - presses(Key::ArrowUp);
        let pages = presses(Key::PageDown) - presses(Key::PageUp);
        steps.extend((presses(Key::Home) > 0).then_some(RowMove::First));
        steps.extend((presses(Key::End) > 0).then_some(RowMove::Last));
        steps.extend((rows != 0).then_some(RowMove::By(rows)));
        steps.extend((pages != 0).then_some(RowMove::Pages(pages)));
    });
    steps
}

/// Returns whether an event types the star that expands a row of a tree. egui has no key for it.
pub(crate) fn types_star(event: &Event) -> bool {
    matches!(event, Event::Text(text) if text == "*")
}

/// Returns whether the copy shortcut was pressed.
pub(super) fn copies(ui: &Ui) -> bool {
    ui.input(|input| input.events.contains(&Event::Copy))
}

/// Offers the keyboard to the content of a panel that is shown next.
pub(super) fn offer_keyboard(ctx: &Context) {
    ctx.data_mut(|data| data.insert_temp(offer_id(), true));
}

/// Returns whether the keyboard is offered, which ends the offer.
#[must_use]
pub(super) fn take_keyboard(ctx: &Context) -> bool {
    ctx.data_mut(|data| data.remove_temp(offer_id())).unwrap_or(false)
}

fn offer_id() -> Id {
    Id::unique("keyboard for the content of a panel")
}

fn focused_grid_id() -> Id {
    Id::unique("grid of cells with the keyboard")
}

fn focused_row_id() -> Id {
    Id::unique("row of a table with the keyboard")
}

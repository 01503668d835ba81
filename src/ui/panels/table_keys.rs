//! The keys of a table whose row has the keyboard, and of a grid of cells. While one has it, these keys are no commands
//! of the timeline.

use egui::{Context, Event, EventFilter, Id, Key, Modifiers, Ui};

/// A step through the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowMove {
    By(i64),
    Pages(i64),
    First,
    Last,
}

/// Keys of a table. Enter needs no entry: a row that has the keyboard takes it for a click.
const KEYS: [Key; 6] = [Key::ArrowUp, Key::ArrowDown, Key::PageUp, Key::PageDown, Key::Home, Key::End];

/// Keys of a grid, beside those of a table.
const GRID_KEYS: [Key; 2] = [Key::ArrowLeft, Key::ArrowRight];

/// Whether a row of a table has the keyboard.
#[must_use]
pub(crate) fn has_keyboard(ctx: &Context) -> bool {
    let focused = ctx.memory(egui::Memory::focused);
    focused.is_some() && ctx.data(|data| data.get_temp::<Id>(focused_row_id())) == focused
}

/// Whether a key without modifiers is one of a table.
#[must_use]
pub(crate) fn is_of_table(key: Key, modifiers: Modifiers) -> bool {
    modifiers.is_none() && KEYS.contains(&key)
}

/// Whether a grid of cells has the keyboard.
#[must_use]
pub(crate) fn grid_has_keyboard(ctx: &Context) -> bool {
    let focused = ctx.memory(egui::Memory::focused);
    focused.is_some() && ctx.data(|data| data.get_temp::<Id>(focused_grid_id())) == focused
}

/// Whether a key without modifiers is one of a grid.
#[must_use]
pub(crate) fn is_of_grid(key: Key, modifiers: Modifiers) -> bool {
    is_of_table(key, modifiers) || modifiers.is_none() && GRID_KEYS.contains(&key)
}

/// Keeps the arrows for the grid that has the keyboard.
pub(super) fn hold_grid(ui: &Ui, grid: Id) {
    let filter = EventFilter { vertical_arrows: true, horizontal_arrows: true, ..EventFilter::default() };
    ui.memory_mut(|memory| memory.set_focus_lock_filter(grid, filter));
    ui.data_mut(|data| data.insert_temp(focused_grid_id(), grid));
}

/// Keeps the arrows for the row that has the keyboard.
pub(super) fn hold(ui: &Ui, row: Id) {
    let filter = EventFilter { vertical_arrows: true, ..EventFilter::default() };
    ui.memory_mut(|memory| memory.set_focus_lock_filter(row, filter));
    ui.data_mut(|data| data.insert_temp(focused_row_id(), row));
}

/// The steps whose keys were pressed, in no order: a frame has more than one only where it took long.
pub(super) fn take_steps(ui: &Ui) -> Vec<RowMove> {
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

/// Whether the key to copy was pressed.
pub(super) fn copies(ui: &Ui) -> bool {
    ui.input(|input| input.events.contains(&Event::Copy))
}

fn focused_grid_id() -> Id {
    Id::unique("grid of cells with the keyboard")
}

fn focused_row_id() -> Id {
    Id::unique("row of a table with the keyboard")
}

//! Keys typed right after the key that opens a text field: handed on once the field has the keyboard. The field comes
//! two frames later. In slow frames letters would be lost or taken for commands, and Escape would clear the selection
//! below the field. Knows no commands: the caller says which event opens a field.

use egui::{Context, Event, Id, Key, Modifiers, RawInput};

/// A field that has not come by then never will: it takes two passes, and each may be made twice.
const PASSES_MAX: u32 = 8;

/// Waits for a field, and keeps what is typed until it has the keyboard.
#[derive(Debug, Default)]
pub(super) struct TypedAhead {
    kept: Vec<Event>,
    /// The key that opens the field.
    opened_by: Option<(Key, Modifiers)>,
    passes_left: u32,
    /// The owner of the keyboard when the last pass began.
    focused: Option<Id>,
}

impl egui::Plugin for TypedAhead {
    fn debug_name(&self) -> &'static str {
        "typed ahead"
    }

    fn input_hook(&mut self, ctx: &Context, input: &mut RawInput) {
        if self.passes_left == 0 {
            return;
        }
        self.passes_left -= 1;
        input.events.extract_if(.., |event| is_of_keyboard(event)).for_each(|event| self.keep(event));
        // For a whole pass, so that the field has said which keys are its own: Escape takes the keyboard from those
        // that have not.
        let focused = ctx.memory(egui::Memory::focused).filter(|_| ctx.text_edit_focused());
        if self.passes_left == 0 || (focused.is_some() && focused == self.focused) {
            self.passes_left = 0;
            input.events.append(&mut self.kept);
        }
        self.focused = focused;
        ctx.request_repaint();
    }
}

impl TypedAhead {
    /// A key that is held opens its field once, however long that takes.
    fn keep(&mut self, event: Event) {
        let is_held = self.kept.is_empty() && press(&event).is_some_and(|press| self.opened_by == Some(press));
        if !is_held {
            self.kept.push(event);
        }
    }
}

/// Keeps this frame's keys that follow the event of this number, until a field has the keyboard.
pub(super) fn keep_behind(ctx: &Context, number: usize) {
    let mut typed = TypedAhead { passes_left: PASSES_MAX, ..TypedAhead::default() };
    ctx.input_mut(|input| {
        typed.opened_by = input.events.get(number).and_then(press);
        for event in input.events.extract_if(number + 1.., |event| is_of_keyboard(event)) {
            // Not yet: what is held moves the view.
            if let Some((key, _)) = press(&event) {
                input.keys_down.remove(&key);
            }
            typed.keep(event);
        }
    });
    *ctx.plugin_or_default::<TypedAhead>().lock() = typed;
    ctx.request_repaint();
}

fn press(event: &Event) -> Option<(Key, Modifiers)> {
    match event {
        Event::Key { key, modifiers, pressed: true, .. } => Some((*key, *modifiers)),
        _ => None,
    }
}

fn is_of_keyboard(event: &Event) -> bool {
    matches!(event, Event::Key { .. } | Event::Text(_) | Event::Ime(_) | Event::Copy | Event::Cut | Event::Paste(_))
}

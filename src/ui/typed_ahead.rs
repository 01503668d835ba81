//! Buffers keys typed right after the key that opens a text field, and replays them once the field has the focus, two
//! frames later. Otherwise slow frames would lose letters or take them for commands, and Escape would clear the
//! selection below the field. The caller determines which event opens a field.

use egui::{Context, Event, Id, Key, Modifiers, RawInput};

/// Passes after which a field will not appear: it needs two, and each may be repeated.
const PASSES_MAX: u32 = 8;

/// Buffers keys until a field has the focus.
#[derive(Debug, Default)]
pub(super) struct TypedAhead {
    kept: Vec<Event>,
    /// The key that opens the field.
    opened_by: Option<(Key, Modifiers)>,
    passes_left: u32,
    /// The focused widget when the last pass started.
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
        // For a whole pass, so that the field has registered its own keys: Escape takes the focus from a field that has
        // not registered them.
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
    /// Buffers an event. A held key opens its field once, however long that takes.
    fn keep(&mut self, event: Event) {
        let is_held = self.kept.is_empty() && press(&event).is_some_and(|press| self.opened_by == Some(press));
        if !is_held {
            self.kept.push(event);
        }
    }
}

/// Buffers this frame's keys after the event with this index, until a field has the focus.
pub(super) fn keep_behind(ctx: &Context, number: usize) {
    let mut typed = TypedAhead { passes_left: PASSES_MAX, ..TypedAhead::default() };
    ctx.input_mut(|input| {
        typed.opened_by = input.events.get(number).and_then(press);
        for event in input.events.extract_if(number + 1.., |event| is_of_keyboard(event)) {
            // Drops the held state too, so that these keys do not move the view.
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

//! The keys of the keyboard that are down. egui knows them by their signs: if Shift is released first, the release of
//! `?` is reported as a release of `/`. The next `?` would be taken for a repeat.

use egui::{Context, Event, Id, Key};
use rustc_hash::FxHashSet;

/// Sets which presses of this frame are repeats. Must run before anything reads the repeats, but after keys are
/// buffered: buffered keys are pressed in a later frame.
pub(crate) fn correct_repeats(ctx: &Context) {
    let id = Id::unique("held keys");
    let mut held: FxHashSet<Key> = ctx.data_mut(|data| data.remove_temp(id)).unwrap_or_default();
    ctx.input_mut(|input| {
        for event in &mut input.events {
            match event {
                Event::Key { physical_key: Some(key), pressed: true, repeat, .. } => *repeat = !held.insert(*key),
                Event::Key { physical_key: Some(key), pressed: false, .. } => drop(held.remove(key)),
                // The releases go to another window.
                Event::WindowFocused(false) => held.clear(),
                _ => {}
            }
        }
    });
    ctx.data_mut(|data| data.insert_temp(id, held));
}

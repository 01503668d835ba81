//! The window of preferences: the colours of spans, and sizes that no menu can name: what loads may hold in memory, and what
//! kept captures may take.

use egui::{DragValue, RichText, Ui};

use super::Command;
use super::theme::Theme;
use crate::scene::palette::{ColorBy, Colors, Hues};

/// What can be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// The most memory that a load holds.
    pub memory_bytes: u64,
    /// The most that kept captures take.
    pub cache_bytes: u64,
}

/// Shows all of it; returns what was chosen.
pub fn show(ui: &mut Ui, sizes: Sizes, colors: Colors, theme: &Theme) -> Vec<Command> {
    const MIB: u64 = 1 << 20;
    const GIB: u64 = 1 << 30;
    let (mut chosen, mut chosen_colors) = (sizes, colors);
    // A sentence is a line, and the window as wide as the longest.
    ui.style_mut().wrap_mode = Some(egui::TextWrapMode::Extend);
    egui::Grid::new("sizes").num_columns(2).spacing([20.0, 8.0]).show(ui, |ui| {
        show_colors(ui, &mut chosen_colors, theme);
        let row = |ui: &mut Ui, title: &str, why: &str, bytes: &mut u64, unit: u64, suffix: &str| {
            ui.vertical(|ui| {
                ui.label(title);
                ui.label(RichText::new(why).small().color(theme.weak_text));
            });
            let mut units = *bytes / unit;
            let value = DragValue::new(&mut units).suffix(suffix).range(least(unit)..=1 << 20).speed(1.0);
            if ui.add(value).changed() {
                *bytes = units * unit;
            }
            ui.end_row();
        };
        let memory = "Of each that runs; more makes loads of disordered captures faster";
        row(ui, "Memory of a load", memory, &mut chosen.memory_bytes, MIB, " MiB");
        let cache = "Sorted captures that open at once; those used longest ago go first";
        row(ui, "Kept captures", cache, &mut chosen.cache_bytes, GIB, " GiB");
    });
    let sizes = (chosen != sizes).then_some(Command::SetSizes(chosen));
    let colors = (chosen_colors != colors).then_some(Command::SetColors(chosen_colors));
    sizes.into_iter().chain(colors).collect()
}

fn show_colors(ui: &mut Ui, colors: &mut Colors, theme: &Theme) {
    ui.vertical(|ui| {
        ui.label("Colour of spans");
        ui.label(RichText::new("Of this capture and of those opened from now on").small().color(theme.weak_text));
    });
    ui.horizontal(|ui| {
        for (by, title) in [
            (ColorBy::Name, "Name"),
            (ColorBy::Category, "Category"),
            (ColorBy::Track, "Thread"),
            (ColorBy::Duration, "Duration"),
        ] {
            ui.selectable_value(&mut colors.by, by, title);
        }
    });
    ui.end_row();
    ui.vertical(|ui| {
        ui.label("Colours");
        let why = "Those for colour-blind eyes are fewer and farther apart";
        ui.label(RichText::new(why).small().color(theme.weak_text));
    });
    ui.horizontal(|ui| {
        ui.selectable_value(&mut colors.hues, Hues::Usual, "Usual");
        ui.selectable_value(&mut colors.hues, Hues::ColorBlind, "For colour-blind eyes");
    });
    ui.end_row();
}

/// Below this much memory nothing sorts; kept captures may take nothing.
fn least(unit: u64) -> u64 {
    if unit == 1 << 20 { 64 } else { 0 }
}

//! The window of preferences: the colours of spans, and sizes that no menu can name: what loads may hold in memory, and what
//! kept captures may take.

use egui::{DragValue, RichText, Ui};
use serde::{Deserialize, Serialize};

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

/// What another start of the program does with its capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum SecondStart {
    /// Has the window that is open show it in a tab.
    #[default]
    Tab,
    /// Shows it in a window of its own.
    Window,
}

/// Shows all of it; returns what was chosen.
pub fn show(ui: &mut Ui, sizes: Sizes, colors: Colors, second_start: SecondStart, theme: &Theme) -> Vec<Command> {
    const MIB: u64 = 1 << 20;
    const GIB: u64 = 1 << 30;
    let (mut chosen, mut chosen_colors, mut chosen_start) = (sizes, colors, second_start);
    // A sentence is a line, and the window as wide as the longest.
    ui.style_mut().wrap_mode = Some(egui::TextWrapMode::Extend);
    egui::Grid::new("sizes").num_columns(2).spacing([20.0, 8.0]).show(ui, |ui| {
        show_colors(ui, &mut chosen_colors, theme);
        show_second_start(ui, &mut chosen_start, theme);
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
    let start = (chosen_start != second_start).then_some(Command::SetSecondStart(chosen_start));
    sizes.into_iter().chain(colors).chain(start).collect()
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

fn show_second_start(ui: &mut Ui, start: &mut SecondStart, theme: &Theme) {
    ui.vertical(|ui| {
        ui.label("A capture that is opened elsewhere");
        ui.label(RichText::new("With a double click, or from the command line").small().color(theme.weak_text));
    });
    ui.horizontal(|ui| {
        ui.selectable_value(start, SecondStart::Tab, "In a tab here");
        ui.selectable_value(start, SecondStart::Window, "In a window of its own");
    });
    ui.end_row();
}

/// Below this much memory nothing sorts; kept captures may take nothing.
fn least(unit: u64) -> u64 {
    if unit == 1 << 20 { 64 } else { 0 }
}

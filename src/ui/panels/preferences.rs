//! The preferences window: appearance, navigation, and sizes such as the memory limit of imports and the size of the
//! cache.

use egui::{Button, DragValue, Grid, RichText, Role, ScrollArea, Ui, WidgetInfo};

use crate::scene::color::Shade;
use crate::scene::labels::shown;
use crate::scene::palette::{ColorBy, Colors, Hues};
use crate::scene::rows::TrackDensity;
use crate::symbols::sources::SourceMap;
use crate::ui::command::{Command, SettingCommand};
use crate::ui::command_table::{TEXT_PERCENT_MAX, TEXT_PERCENT_MIN, UiState};
use crate::ui::settings::{Navigation, SecondStart, Sizes, Wheel};
use crate::ui::theme::Theme;
use crate::ui::timeline::filter_field::density_title;
use crate::ui::widgets::reading_order::on_screen;
use crate::ui::widgets::{field, spoken};

/// Below this width, choices are placed below their titles.
const TWO_COLUMNS_POINTS: f32 = 720.0;

/// Maximum number of source folders.
pub(crate) const SOURCE_FOLDERS_MAX: usize = 32;

/// Shows the window, and returns the chosen commands.
pub(crate) fn show(
    ui: &mut Ui,
    state: &UiState,
    sizes: Sizes,
    (second_start, csv_safe): (SecondStart, bool),
    source_folders: &[String],
    theme: &Theme,
) -> Vec<Command> {
    let mut commands = Vec::new();
    // Sentences stay on one line, so the window is as wide as the longest.
    ui.style_mut().wrap_mode = Some(egui::TextWrapMode::Extend);
    let is_narrow = ui.ctx().content_rect().width() < TWO_COLUMNS_POINTS;
    // The scroll bar is at the edge of the window, also where the window was wider before.
    let area = ScrollArea::vertical().auto_shrink([!is_narrow, true]);
    area.max_height(ui.ctx().content_rect().height() - 120.0).show(ui, |ui| {
        // One grid aligns all choices in one column.
        Grid::new("preferences").num_columns(if is_narrow { 1 } else { 2 }).spacing([20.0, 8.0]).show(ui, |ui| {
            let lines = &mut Lines { ui, theme, commands: &mut commands, is_narrow };
            lines.begin("Appearance");
            show_appearance(lines, state);
            lines.begin("Navigation");
            show_navigation(lines, state.settings.navigation);
            lines.begin("Traces");
            show_imports(lines, sizes, second_start);
            show_sources(lines, source_folders);
            lines.begin("Tables");
            show_tables(lines, csv_safe);
        });
    });
    commands
}

/// The lines of the window, and the chosen commands.
struct Lines<'a> {
    ui: &'a mut Ui,
    theme: &'a Theme,
    commands: &'a mut Vec<Command>,
    is_narrow: bool,
}

impl Lines<'_> {
    /// Starts a group of lines.
    fn begin(&mut self, title: &str) {
        self.ui.label(RichText::new(title).small().color(self.theme.accent));
        self.ui.end_row();
    }

    /// Adds a line: a title, an explanation, and the choices.
    fn add(&mut self, title: &str, why: &str, choices: impl FnOnce(&mut Ui) -> Option<Command>) {
        if why.is_empty() {
            self.ui.label(title);
        } else {
            self.ui.vertical(|ui| {
                ui.label(title);
                ui.label(RichText::new(why).small().color(self.theme.weak_text));
            });
        }
        if self.is_narrow {
            self.ui.end_row();
        }
        self.commands.extend(self.ui.horizontal(choices).inner);
        self.ui.end_row();
    }

    /// Adds a line with a choice of values.
    fn choose<T: PartialEq + Copy>(
        &mut self,
        (title, why): (&str, &str),
        chosen: T,
        values: &[(T, &str)],
        command: impl Fn(T) -> Command,
    ) {
        self.add(title, why, |ui| {
            let mut given = None;
            for &(value, text) in values {
                let response = ui.selectable_label(value == chosen, text);
                spoken::describe(&response, title);
                if response.clicked() && value != chosen {
                    given = Some(command(value));
                }
            }
            given
        });
    }
}

fn show_appearance(lines: &mut Lines, state: &UiState) {
    let shades = [(Some(Shade::Dark), "Dark"), (Some(Shade::Light), "Light"), (None, "Follow system")];
    lines
        .choose(("Theme", ""), state.settings.shade, &shades, |chosen| Command::Setting(SettingCommand::Shade(chosen)));
    let percent = state.settings.text_percent;
    lines.add("Font size", "", |ui| {
        let smaller = ui.add_enabled(percent > TEXT_PERCENT_MIN, Button::new("-")).on_hover_text("Smaller text");
        smaller.widget_info(|| WidgetInfo::labeled(Role::Button, percent > TEXT_PERCENT_MIN, "Smaller text"));
        ui.label(format!("{percent} %"));
        let larger = ui.add_enabled(percent < TEXT_PERCENT_MAX, Button::new("+")).on_hover_text("Larger text");
        larger.widget_info(|| WidgetInfo::labeled(Role::Button, percent < TEXT_PERCENT_MAX, "Larger text"));
        let step = |changed| Some(Command::Setting(SettingCommand::TextPercent(changed)));
        match (larger.clicked(), smaller.clicked()) {
            (true, _) => step(percent.saturating_add(10)),
            (false, true) => step(percent.saturating_sub(10)),
            (false, false) => None,
        }
    });
    let heights = [TrackDensity::Compact, TrackDensity::Normal, TrackDensity::Tall]
        .map(|density| (density, density_title(density)));
    lines.choose(("Track height", ""), state.settings.density, &heights, |density| {
        Command::Setting(SettingCommand::Density(density))
    });
    let colors = state.settings.colors;
    let by = [
        (ColorBy::Name, "Name"),
        (ColorBy::Category, "Category"),
        (ColorBy::Track, "Thread"),
        (ColorBy::Duration, "Duration"),
    ];
    let why = "For this trace, and traces that are opened later";
    lines.choose(("Colour of spans", why), colors.by, &by, |by| {
        Command::Setting(SettingCommand::Colors(Colors { by, ..colors }))
    });
    let hues = [(Hues::Usual, "Usual"), (Hues::ColorBlind, "Colour-blind-safe")];
    let why = "The colour-blind-safe palette has fewer, more distinct colours";
    lines.choose(("Colours", why), colors.hues, &hues, |hues| {
        Command::Setting(SettingCommand::Colors(Colors { hues, ..colors }))
    });
}

fn show_navigation(lines: &mut Lines, navigation: Navigation) {
    let wheels = [(Wheel::Scrolls, "Scrolls the tracks"), (Wheel::Zooms, "Zooms")];
    lines.choose(("Mouse wheel", "Ctrl + wheel does the other"), navigation.wheel, &wheels, |wheel| {
        Command::Setting(SettingCommand::Navigation(Navigation { wheel, ..navigation }))
    });
    let on_off = [(true, "On"), (false, "Off")];
    lines.choose(("Kinetic panning", ""), navigation.inertia, &on_off, |inertia| {
        Command::Setting(SettingCommand::Navigation(Navigation { inertia, ..navigation }))
    });
    lines.choose(("Animate zoom", ""), navigation.animation, &on_off, |animation| {
        Command::Setting(SettingCommand::Navigation(Navigation { animation, ..navigation }))
    });
}

fn show_imports(lines: &mut Lines, sizes: Sizes, second_start: SecondStart) {
    const MIB: u64 = 1 << 20;
    const GIB: u64 = 1 << 30;
    /// Imports need some memory, while the cache may be empty.
    const MEMORY_MIB_MIN: u64 = 64;
    let starts = [(SecondStart::Tab, "In a tab here"), (SecondStart::Window, "In a new window")];
    let why = "By a double click in a file manager, or from the command line";
    let title = "Traces from other programs";
    lines.choose((title, why), second_start, &starts, |chosen| Command::Setting(SettingCommand::SecondStart(chosen)));
    let size = |ui: &mut Ui, title: &str, bytes: u64, (unit, suffix): (u64, &str), least: u64| {
        let mut units = bytes / unit;
        let value = DragValue::new(&mut units).suffix(suffix).range(least..=1 << 20).speed(1.0);
        let response = ui.add(value).on_hover_text("Drag, or click to type");
        spoken::name(&response, title);
        response.changed().then_some(units * unit)
    };
    let why = "Shared by concurrent imports; more speeds up disordered traces";
    let title = "Import memory limit";
    lines.add(title, why, |ui| {
        let memory_bytes = size(ui, title, sizes.memory_bytes, (MIB, " MiB"), MEMORY_MIB_MIN)?;
        Some(Command::Setting(SettingCommand::Sizes(Sizes { memory_bytes, ..sizes })))
    });
    let why = "Sorted traces that open at once (least recently used go first)";
    let title = "Cache size";
    lines.add(title, why, |ui| {
        let cache_bytes = size(ui, title, sizes.cache_bytes, (GIB, " GiB"), 0)?;
        Some(Command::Setting(SettingCommand::Sizes(Sizes { cache_bytes, ..sizes })))
    });
}

/// Adds the source folders: a line for each, and a line to add another folder.
fn show_sources(lines: &mut Lines, folders: &[String]) {
    let theme = lines.theme;
    let with = |folders: Vec<String>| Some(Command::Setting(SettingCommand::SourceFolders(folders)));
    let why = "The Code panel reads below these; FROM=FOLDER: paths below FROM";
    let mut problem = String::new();
    lines.add("Source folders", why, |ui| {
        let id = ui.scope_id().with("source folder");
        let mut text: String;
        (text, problem) = ui.data(|data| data.get_temp(id)).unwrap_or_default();
        let response = field::add(ui, &mut text, |field| {
            field.hint_text("Folder, or FROM=FOLDER").desired_width(200.0).background_color(theme.canvas)
        });
        response.widget_info(|| WidgetInfo::labeled(Role::TextInput, true, "Source folder"));
        let is_entered = response.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
        let is_clicked = ui.button("Add").on_hover_text("Adds the folder").clicked();
        let mut added = None;
        if is_entered {
            // For the next folder, or a correction.
            response.request_focus();
        }
        if is_entered || is_clicked {
            match new_source_folder(folders, text.trim()) {
                Ok(folder) => {
                    text.clear();
                    problem.clear();
                    added = with(folders.iter().cloned().chain([folder]).collect());
                }
                Err(reason) => problem = reason,
            }
        } else if response.changed() {
            problem.clear();
        }
        ui.data_mut(|data| data.insert_temp(id, (text, problem.clone())));
        added
    });
    if !problem.is_empty() {
        lines.add("", "", |ui| {
            spoken::announce(&ui.label(RichText::new(on_screen(&shown(&problem))).small().color(theme.error)));
            None
        });
    }
    for (row, folder) in folders.iter().enumerate() {
        lines.add("", "", |ui| {
            let remove = ui.button("Remove");
            remove.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("Remove {}", shown(folder))));
            ui.label(on_screen(&shown(folder)));
            let others = folders.iter().enumerate().filter(|(other, _)| *other != row);
            if remove.clicked() { with(others.map(|(_, folder)| folder.clone()).collect()) } else { None }
        });
    }
}

/// Returns a typed source folder as it is saved, with an absolute path, or the reason why it cannot be added.
fn new_source_folder(folders: &[String], typed: &str) -> Result<String, String> {
    if folders.len() >= SOURCE_FOLDERS_MAX {
        return Err(format!("at most {SOURCE_FOLDERS_MAX} source folders"));
    }
    let (from, folder) = typed.split_once('=').map_or((None, typed), |(from, folder)| (Some(from), folder));
    let absolute = std::path::absolute(folder).ok().filter(|_| SourceMap::parse(typed).is_some());
    let absolute = absolute.ok_or("expected a folder, or FROM=FOLDER")?;
    if !absolute.is_dir() {
        return Err(format!("{}: there is no such folder", absolute.display()));
    }
    let folder = from.map_or(String::new(), |from| format!("{from}=")) + &absolute.to_string_lossy();
    if folders.contains(&folder) { Err(format!("{folder} is already in the list")) } else { Ok(folder) }
}

fn show_tables(lines: &mut Lines, csv_safe: bool) {
    let values = [(false, "Unchanged"), (true, "Marked")];
    let why = "Marked: an apostrophe before = + - @, for spreadsheets";
    lines.choose(("Formula-like text in CSV", why), csv_safe, &values, |chosen| {
        Command::Setting(SettingCommand::CsvSafe(chosen))
    });
}

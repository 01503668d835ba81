//! Runs the commands that set a preference. It writes no file: a changed preference is saved at the end of the frame.

use super::App;
use crate::ui::command::SettingCommand;
use crate::ui::command_table::{TEXT_PERCENT_MAX, TEXT_PERCENT_MIN};

impl App {
    pub(super) fn act_on_setting(&mut self, command: SettingCommand) {
        match command {
            SettingCommand::Shade(shade) => {
                self.preferences.shade = shade;
                self.set_theme();
            }
            SettingCommand::Colors(colors) => {
                self.preferences.colors = colors;
                if let Some(timeline) = self.timeline_mut() {
                    timeline.set_colors(colors);
                }
            }
            SettingCommand::Navigation(navigation) => {
                self.preferences.navigation = Some(navigation);
                self.timelines().for_each(|timeline| timeline.set_navigation(navigation));
            }
            SettingCommand::SecondStart(second_start) => self.preferences.second_start = second_start,
            SettingCommand::CsvSafe(csv_safe) => self.preferences.csv_safe = csv_safe,
            SettingCommand::SourceFolders(folders) => self.preferences.source_folders = folders,
            SettingCommand::Sizes(sizes) => {
                // The size that stays may be from the command line, and is not saved.
                if std::mem::replace(&mut self.preferences.memory_bytes, sizes.memory_bytes) != sizes.memory_bytes {
                    self.options.load.memory.set_limit_bytes(sizes.memory_bytes);
                }
                if std::mem::replace(&mut self.preferences.cache_bytes, sizes.cache_bytes) != sizes.cache_bytes {
                    self.options.load.cache_bytes_max = sizes.cache_bytes;
                }
            }
            SettingCommand::Density(density) => {
                self.preferences.density = density;
                for tab in &mut self.tabs {
                    if let Some(timeline) = tab.timeline_mut() {
                        timeline.change_density(density);
                    }
                    tab.start_due_layout();
                }
            }
            SettingCommand::TextPercent(percent) => {
                self.preferences.text_percent = percent.clamp(TEXT_PERCENT_MIN, TEXT_PERCENT_MAX);
                self.is_theme_applied = false;
            }
            SettingCommand::Table(name, layout) => {
                self.preferences.tables.insert(name.to_owned(), layout);
            }
            SettingCommand::DockHeight(points) => self.preferences.dock_points = points,
            SettingCommand::GutterWidth(points) => {
                self.preferences.gutter_points = points;
                self.timelines().for_each(|timeline| timeline.set_gutter_points(points));
            }
        }
    }
}

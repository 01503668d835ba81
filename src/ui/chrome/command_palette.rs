//! The command palette: all commands in one list, searched by letters of their names, for the keyboard alone.

use egui::{Align, Key, Modifiers, RichText, ScrollArea, Ui, vec2};

use super::dialog_outcome::DialogOutcome;
use crate::ui::command_table::{CommandEntry, TABLE, UiState, key_text};
use crate::ui::theme::Theme;
use crate::ui::widgets::field;
use crate::ui::widgets::spoken;

/// The open command palette: the typed words and the chosen entry.
#[derive(Debug, Clone, Default)]
pub(crate) struct CommandPalette {
    words: String,
    chosen: usize,
    was_shown: bool,
}

impl CommandPalette {
    pub(crate) fn show(&mut self, ui: &Ui, state: &UiState, theme: &Theme) -> DialogOutcome {
        const WIDTH: f32 = 520.0;
        /// Room for the frame and a part of the window beside it.
        const MARGIN: f32 = 40.0;
        let mut outcome = DialogOutcome::Open;
        let id = egui::Id::unique("commands");
        let frame = egui::Frame::window(ui.style());
        let area = egui::Modal::default_area(id).anchor(egui::Align2::CENTER_TOP, vec2(0.0, 80.0));
        let area = area.accessible_name("Commands");
        let modal = egui::Modal::new(id).area(area).frame(frame).show(ui.ctx(), |ui| {
            // A window may be narrower, as on a screen with a large scale.
            ui.set_width(WIDTH.min(ui.ctx().content_rect().width() - MARGIN));
            let pressed = |ui: &Ui, key| ui.input_mut(|input| input.consume_key(Modifiers::NONE, key));
            let (up, down) = (pressed(ui, Key::ArrowUp), pressed(ui, Key::ArrowDown));
            let entered = pressed(ui, Key::Enter);
            let response =
                field::add(ui, &mut self.words, |field| field.hint_text("Command").desired_width(f32::INFINITY));
            response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::TextInput, true, "Command"));
            if !std::mem::replace(&mut self.was_shown, true) {
                response.request_focus();
            }
            if response.changed() {
                self.chosen = 0;
            }
            ui.add_space(4.0);
            let entries = matching_entries(&self.words, state);
            self.chosen = match (up, down) {
                (true, _) => self.chosen.saturating_sub(1),
                (_, true) => self.chosen + 1,
                _ => self.chosen,
            };
            self.chosen = self.chosen.min(entries.len().saturating_sub(1));
            if entries.is_empty() {
                ui.label(RichText::new("No such command").color(theme.weak_text));
            }
            // The focus stays in the field while the arrow keys move through the list.
            let chosen = entries.get(self.chosen).map(|entry| (entry.title, entry.disabled_reason(state)));
            spoken::say(ui, id.with("chosen"), response.rect.min, || match chosen {
                Some((title, None)) => title.to_owned(),
                Some((title, Some(reason))) => format!("{title}, not available. {reason}"),
                None => "No such command".to_owned(),
            });
            let moved = up || down || response.changed();
            if let Some(entry) = self.list(ui, &entries, state, moved, theme) {
                outcome = DialogOutcome::Given(entry.command(state));
            }
            if let Some(entry) = entries.get(self.chosen).filter(|entry| entered && entry.is_enabled(state)) {
                outcome = DialogOutcome::Given(entry.command(state));
            }
        });
        if outcome == DialogOutcome::Open && modal.should_close() {
            outcome = DialogOutcome::Closed;
        }
        outcome
    }

    /// Lists the matching commands, and returns the clicked one. Disabled ones are grey.
    fn list<'a>(
        &self,
        ui: &mut Ui,
        entries: &[&'a CommandEntry],
        state: &UiState,
        moved: bool,
        theme: &Theme,
    ) -> Option<&'a CommandEntry> {
        const HEIGHT: f32 = 360.0;
        let mut clicked = None;
        // egui keeps the height of the last list, so a list of one entry would make later ones as low.
        let most = HEIGHT.min(ui.ctx().content_rect().height() - 170.0);
        ScrollArea::vertical().max_height(most).min_scrolled_height(most).auto_shrink([false, true]).show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 1.0;
            for (index, entry) in entries.iter().enumerate() {
                let (is_chosen, is_enabled) = (index == self.chosen, entry.is_enabled(state));
                let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 26.0), egui::Sense::click());
                if is_chosen || response.hovered() {
                    let ground = if is_chosen { theme.accent.gamma_multiply(0.3) } else { theme.raised };
                    ui.painter().rect_filled(rect, 4.0, ground);
                }
                if is_chosen && moved {
                    response.scroll_to_me(Some(Align::Center));
                }
                let font = egui::FontId::proportional(13.0);
                let left = rect.left_center() + vec2(10.0, 0.0);
                let menu = format!("{}:  ", entry.menu.title());
                let painter = ui.painter();
                let of_menu =
                    painter.text(left, egui::Align2::LEFT_CENTER, menu, font.clone(), theme.weak_text).width();
                let at = left + vec2(of_menu, 0.0);
                let color = if is_enabled { theme.text } else { theme.weak_text };
                painter.text(at, egui::Align2::LEFT_CENTER, entry.title_in(state), font.clone(), color);
                let keys: Vec<_> = entry.keys.iter().map(|key| key_text(ui.ctx(), *key)).collect();
                let right = rect.right_center() - vec2(10.0, 0.0);
                painter.text(right, egui::Align2::RIGHT_CENTER, keys.join("   "), font, theme.weak_text);
                let title = entry.title_in(state);
                let info = || egui::WidgetInfo::selected(egui::Role::Button, is_enabled, is_chosen, &*title);
                response.widget_info(info);
                if let Some(reason) = entry.disabled_reason(state).filter(|_| is_chosen) {
                    show_reason(ui, reason, theme);
                }
                if entry.with_hint(response, state).clicked() && is_enabled {
                    clicked = Some(*entry);
                }
            }
        });
        clicked
    }
}

/// Shows below the chosen entry why it is not available, since Enter does nothing.
fn show_reason(ui: &mut Ui, reason: &str, theme: &Theme) {
    ui.horizontal(|ui| {
        ui.add_space(10.0);
        ui.add(egui::Label::new(RichText::new(reason).small().color(theme.warning)).wrap());
    });
}

/// Returns the commands whose names contain every word. Names that start with the first word come first. Disabled
/// commands come last, and only after a word was typed.
fn matching_entries(words: &str, state: &UiState) -> Vec<&'static CommandEntry> {
    // The list shows a colon after the menu, which is part of no name.
    let words = words.split(|letter: char| letter.is_whitespace() || letter == ':');
    let words: Vec<String> = words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
    let text = |entry: &CommandEntry| format!("{} {}", entry.title, entry.menu.title()).to_lowercase();
    let holds = |entry: &&CommandEntry| words.iter().all(|word| text(entry).contains(word.as_str()));
    let is_listed = |entry: &&CommandEntry| !words.is_empty() || entry.is_enabled(state);
    let mut entries: Vec<_> = TABLE.iter().filter(is_listed).filter(holds).collect();
    let is_prefix = |entry: &CommandEntry| words.first().is_some_and(|word| text(entry).starts_with(word.as_str()));
    entries.sort_by_key(|entry| (!entry.is_enabled(state), !is_prefix(entry)));
    entries
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::command_table::{
        DockState, EditState, ReloadState, ScopeState, SelectedState, ShownSettings, TabsState, TimelineState,
        TraceState,
    };
    use crate::ui::settings::Navigation;

    fn state(has_trace: bool) -> UiState {
        UiState {
            tabs: TabsState { count: 1, has_closed: false },
            trace: TraceState {
                is_open: has_trace,
                files: 1,
                reload: ReloadState::Ready,
                has_times: has_trace,
                ..TraceState::default()
            },
            selected: SelectedState::default(),
            scope: ScopeState::default(),
            dock: DockState::default(),
            timeline: TimelineState::default(),
            edits: EditState::default(),
            settings: ShownSettings {
                shade: None,
                colors: crate::scene::palette::Colors::default(),
                text_percent: 100,
                navigation: Navigation::default(),
                density: crate::scene::rows::TrackDensity::Normal,
            },
        }
    }

    #[test]
    fn words_match_in_any_order_and_a_prefix_of_the_title_ranks_first() {
        let titles =
            |words: &str| matching_entries(words, &state(true)).iter().map(|entry| entry.title).collect::<Vec<_>>();
        assert_eq!(titles("TRACKS compact"), ["Compact tracks"]);
        assert_eq!(titles("Help: Keys"), ["Keys"], "as the list shows it");
        assert_eq!(titles("zoom")[0], "Zoom in");
        assert!(titles("zoom").contains(&"Animate zoom"));
        assert!(titles("no such thing").is_empty());
        assert!(titles("").len() > 20);
    }

    #[test]
    fn disabled_commands_come_last_and_only_after_a_word() {
        let enabled = |words: &str, state: &UiState| {
            let entries = matching_entries(words, state);
            let enabled = entries.iter().take_while(|entry| entry.is_enabled(state)).count();
            assert!(entries[enabled..].iter().all(|entry| !entry.is_enabled(state)), "{words}");
            (enabled, entries.len())
        };
        assert_eq!(enabled("whole trace", &state(false)), (0, 1));
        assert_eq!(enabled("whole trace", &state(true)), (1, 1));
        let scope = ScopeState { is_restricted: true, ..ScopeState::default() };
        let of_tracks = UiState { scope: ScopeState { has_tracks: true, ..scope }, ..state(true) };
        assert_eq!(enabled("fit selection", &of_tracks), (0, 1), "no time is selected");
        let of_time = UiState { scope: ScopeState { has_time: true, ..scope }, ..state(true) };
        assert_eq!(enabled("fit selection", &of_time), (1, 1));
        let (shown, all) = enabled("", &state(false));
        assert_eq!(shown, all);
        assert!(enabled("group selected", &state(true)).1 > 0);
    }
}

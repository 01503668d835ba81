//! The scope bar above the dock: the time, the tracks and the filter of queries, each with a cross. Texts are computed
//! when the scope changes, never per frame.

use egui::containers::menu::{MenuButton, MenuConfig};
use egui::{Align, Key, Layout, Modifiers, PopupCloseBehavior, RichText, Role, ScrollArea, Ui, WidgetInfo};
use rustc_hash::FxHashSet;

use super::inside_span::{InsideSpan, filter_text};

use crate::ui::widgets::tip_text::tip_text;

use crate::base::time::grouped_digits;
use crate::model::{ProcessIdx, TrackKind, TrackSet};
use crate::query::Snapshot;
use crate::query::drawn_unit::AxisUnit;
use crate::query::filter::Filter;
use crate::query::mistyped_key::filter_hint;
use crate::scene::labels::{shorten_middle, shown};
use crate::scene::titles::{distinct_title, process_title};
use crate::ui::chrome::menu_bar;
use crate::ui::command::{Command, DERIVE_CHOICES, DerivedCommand, RowCommand, ScopeCommand, TimelineCommand};
use crate::ui::selected_scope::SelectedScope;
use crate::ui::theme::Theme;
use crate::ui::timeline::named_scopes::{NAMED_SCOPES_MAX, NamedScope};
use crate::ui::timeline::state::Timeline;
use crate::ui::widgets::field;
use crate::ui::widgets::reading_order::on_screen;

/// Height of the bar, in points.
pub(crate) const SCOPE_BAR_POINTS: f32 = 30.0;

/// Length of the track text before it is shortened, in letters.
const LETTERS_MAX: f32 = 60.0;

/// The bar and its texts.
#[derive(Debug, Default)]
pub(crate) struct ScopeBar {
    shown: SelectedScope,
    tracks: String,
    /// The span that the first word of the filter names.
    inside: Option<InsideSpan>,
    /// The text of the field, valid or not: the other words of the filter.
    filter: String,
    error: Option<String>,
    /// A sentence about a key of the filter that is probably mistyped.
    hint: Option<String>,
    /// Name for saving the scope.
    name: String,
    /// Whether the field of the name takes the keys in the next frame.
    focuses_name: bool,
}

impl ScopeBar {
    /// Drops the texts, which are of an earlier snapshot.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Returns whether the typed filter is invalid.
    #[must_use]
    pub(crate) fn has_error(&self) -> bool {
        self.error.is_some()
    }

    /// Updates the texts if the scope has changed.
    fn update(&mut self, snapshot: &Snapshot, scope: &SelectedScope) {
        if self.shown.tracks != scope.tracks {
            self.tracks = tracks_text(snapshot, &scope.tracks);
        }
        if self.shown.filter != scope.filter {
            let (inside, words) = InsideSpan::split(snapshot, &scope.filter);
            (self.inside, self.filter, self.error) = (inside, words.to_owned(), None);
            self.hint = Filter::parse(&scope.filter).ok().and_then(|filter| filter_hint(snapshot, &filter));
        }
        if self.shown != *scope {
            self.shown = scope.clone();
        }
    }

    /// Returns the filter of the span and of other words.
    fn with_inside(&self, words: &str) -> String {
        self.inside.as_ref().map_or_else(|| words.to_owned(), |inside| inside.with(words))
    }

    /// Returns the words of the scope's filter that are in the field.
    fn shown_words(&self) -> &str {
        let word = self.inside.as_ref().map_or("", InsideSpan::word);
        self.shown.filter.trim_start().strip_prefix(word).unwrap_or_default().trim_start()
    }

    /// Shows the parts of a scope.
    pub(crate) fn show(&mut self, ui: &mut Ui, timeline: &Timeline, theme: &Theme) -> Vec<Command> {
        let scope = timeline.scope();
        self.update(timeline.snapshot(), scope);
        let (mut commands, mut shows_only, mut derived) = (Vec::new(), false, None);
        let mut change = |command| commands.push(TimelineCommand::Scope(command).into());
        ui.horizontal_centered(|ui| {
            ui.spacing_mut().item_spacing.x = 6.0;
            ui.label(RichText::new("Scope").color(theme.weak_text));
            if let Some(range) = scope.range
                && part(
                    ui,
                    (&timeline.snapshot().axis_unit().part_text(range), ""),
                    "Remove the time from the scope",
                    theme,
                )
            {
                change(ScopeCommand::ClearTime);
            }
            if !scope.tracks.is_all() && part(ui, (&self.tracks, ""), "Remove the tracks from the scope", theme) {
                change(ScopeCommand::ClearTracks);
            }
            let arrangement = timeline.arrangement();
            let hides_tracks = arrangement.is_filtered() || !arrangement.folded.hidden.is_empty();
            if scope.tracks.is_all() && hides_tracks {
                let text = RichText::new("with hidden tracks").color(theme.weak_text);
                ui.label(text).on_hover_text("Shift + drag across tracks selects only those that it crosses");
            }
            if !scope.tracks.is_all() && ui.small_button("Show only these").clicked() {
                shows_only = true;
            }
            if let Some(inside) = &self.inside
                && part(ui, (&inside.text(), inside.word()), "Remove the span from the scope", theme)
            {
                change(ScopeCommand::Filter(self.filter.trim().to_owned()));
            }
            if let Some(filter) = self.show_filter(ui, theme) {
                change(ScopeCommand::Filter(self.with_inside(&filter)));
            }
            if !self.shown_words().is_empty() && cross(ui, "Remove the filter from the scope", theme) {
                change(ScopeCommand::Filter(self.with_inside("")));
            }
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                if let Some(command) = self.show_saved(ui, timeline, theme) {
                    change(command);
                }
                ui.menu_button("Derive track", |ui| {
                    for (text, kind) in DERIVE_CHOICES {
                        if ui.button(text).clicked() {
                            derived = Some(DerivedCommand::AddOfScope(kind));
                            ui.close();
                        }
                    }
                });
                if let Some(error) = &self.error {
                    ui.add(egui::Label::new(RichText::new(&*shown(error)).color(theme.error)).truncate());
                } else if let Some(hint) = &self.hint {
                    ui.add(egui::Label::new(RichText::new(&*shown(hint)).color(theme.weak_text)).truncate());
                }
            });
        });
        commands.extend(derived.map(Command::from));
        if shows_only {
            commands.push(RowCommand::ShowOnlyScope.into());
        }
        commands
    }

    /// Shows the button that saves the scope under a name, with the saved scopes.
    fn show_saved(&mut self, ui: &mut Ui, timeline: &Timeline, theme: &Theme) -> Option<ScopeCommand> {
        /// Space for the field and the edges of the popup.
        const AROUND_POINTS: f32 = 110.0;
        let saved = timeline.named_scopes();
        let mut chosen = None;
        let is_full = saved.len() >= NAMED_SCOPES_MAX && !saved.iter().any(|named| named.is_named(&self.name));
        let config = MenuConfig::new().close_behavior(PopupCloseBehavior::CloseOnClickOutside);
        let (button, _) = MenuButton::new("Save scope").config(config).ui(ui, |ui| {
            ui.horizontal(|ui| {
                let response = field::add(ui, &mut self.name, |field| {
                    let field = field.hint_text("A name for this scope").align(egui::Align2::LEFT_CENTER);
                    field.desired_width(240.0).background_color(theme.canvas)
                });
                response.widget_info(|| WidgetInfo::labeled(Role::TextInput, true, "Name of the scope"));
                if std::mem::take(&mut self.focuses_name) {
                    response.request_focus();
                    field::select_all(ui, &response, &self.name);
                }
                let enters = response.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
                let can_save = !self.name.trim().is_empty() && !is_full;
                let saves = ui.add_enabled(can_save, egui::Button::new("Save")).clicked();
                if can_save && (saves || enters) {
                    chosen = Some(ScopeCommand::Save(self.name.trim().to_owned()));
                    ui.close();
                } else if enters {
                    response.request_focus();
                }
            });
            if is_full {
                let full = format!("At most {NAMED_SCOPES_MAX}: delete one, or replace one by its name.");
                ui.label(RichText::new(full).color(theme.weak_text));
            }
            if !saved.is_empty() {
                ui.separator();
                // A popup gets less height than the window has, and would scroll too early.
                let most = ui.ctx().content_rect().height() - AROUND_POINTS;
                let area = ScrollArea::vertical().max_height(most).min_scrolled_height(most);
                let listed = area.show(ui, |ui| show_list(ui, saved)).inner;
                chosen = chosen.take().or(listed);
            }
        });
        if button.clicked() {
            (self.name, self.focuses_name) = (self.suggested_name(timeline.snapshot()), true);
        }
        chosen
    }

    /// Suggests a name from the parts of the scope.
    fn suggested_name(&self, snapshot: &Snapshot) -> String {
        let SelectedScope { range, tracks, filter } = &self.shown;
        let time = range.map(|range| snapshot.axis_unit().part_text(range));
        let tracks = (!tracks.is_all()).then(|| self.tracks.clone());
        let filter = (!filter.is_empty()).then(|| filter_text(snapshot, filter));
        time.into_iter().chain(tracks).chain(filter).collect::<Vec<_>>().join(" \u{b7} ")
    }

    /// Shows the filter field, and returns a valid filter that was typed.
    fn show_filter(&mut self, ui: &mut Ui, theme: &Theme) -> Option<String> {
        const FIELD_POINTS: f32 = 260.0;
        /// Space for the cross and the buttons that derive and save.
        const REST_POINTS: f32 = 240.0;
        /// Space for the beginning of a sentence about the filter.
        const SENTENCE_POINTS: f32 = 160.0;
        let has_sentence = self.error.is_some() || self.hint.is_some();
        let rest = REST_POINTS + if has_sentence { SENTENCE_POINTS } else { 0.0 };
        let room = ui.available_width() - rest;
        let (width, is_cut) = field::grown_width(ui, &self.filter, FIELD_POINTS, room);
        // Escape clears the field first, and only then the scope.
        let keys = egui::EventFilter { escape: true, horizontal_arrows: true, ..egui::EventFilter::default() };
        let response = field::add(ui, &mut self.filter, |field| {
            let field = field.hint_text("+ filter, such as RunTask or dur>1ms").desired_width(width);
            field.background_color(theme.canvas).event_filter(keys)
        });
        response.widget_info(|| WidgetInfo::labeled(Role::TextInput, true, "Filter of the scope"));
        if is_cut {
            response.clone().on_hover_text(tip_text(&self.filter));
        }
        if response.has_focus() && ui.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Escape)) {
            (self.filter, self.error) = (self.shown_words().to_owned(), None);
            response.surrender_focus();
        }
        if !response.changed() {
            return None;
        }
        self.error = Filter::parse(&self.filter).err().map(|error| error.to_string());
        self.error.is_none().then(|| self.filter.trim().to_owned())
    }
}

/// Describes a scope by its time, its tracks and its filter, such as `0.500 to 0.600 s · main of Renderer 8909`.
#[must_use]
pub(crate) fn scope_text(timeline: &Timeline, scope: &SelectedScope) -> String {
    let snapshot = timeline.snapshot();
    let unit = snapshot.axis_unit();
    let time = scope.range.map(|range| match unit {
        AxisUnit::Time => timeline.clock().range_text(range),
        AxisUnit::Weight(_) | AxisUnit::Mixed => unit.part_text(range),
    });
    let tracks = (!scope.tracks.is_all()).then(|| tracks_text(snapshot, &scope.tracks));
    let filter = (!scope.filter.is_empty()).then(|| filter_text(snapshot, &scope.filter));
    let parts: Vec<_> = [time, tracks, filter].into_iter().flatten().collect();
    if parts.is_empty() { "the whole trace".to_owned() } else { parts.join(" \u{b7} ") }
}

/// Shows the saved scopes in an open menu: a click restores one, its cross deletes it.
pub(crate) fn show_named(ui: &mut Ui, saved: &[NamedScope]) -> Option<ScopeCommand> {
    let mut chosen = None;
    menu_bar::scrolled(ui, |ui| chosen = show_list(ui, saved));
    chosen
}

fn show_list(ui: &mut Ui, saved: &[NamedScope]) -> Option<ScopeCommand> {
    /// Space for the scroll bar, which would cover the crosses.
    const BAR_POINTS: f32 = 10.0;
    let mut chosen = None;
    for (number, named) in saved.iter().enumerate() {
        let name = shown(&named.name);
        let short = shorten_middle(&name, LETTERS_MAX, |_| 1.0).unwrap_or_default();
        ui.horizontal(|ui| {
            if ui.button(on_screen(&short)).on_hover_text(tip_text(&named.name)).clicked() {
                chosen = Some(ScopeCommand::Recall(number));
                ui.close();
            }
            let label = format!("Delete the scope {name}");
            let deletes = ui.add(egui::Button::new("\u{d7}").frame(false).small());
            deletes.widget_info(|| WidgetInfo::labeled(Role::Button, true, &label));
            if deletes.on_hover_text(label).clicked() {
                chosen = Some(ScopeCommand::Delete(number));
            }
            ui.add_space(BAR_POINTS);
        });
    }
    chosen
}

/// Shows a part of the scope with its cross, and returns whether the cross was clicked.
pub(super) fn part(ui: &mut Ui, (text, tip): (&str, &str), cross_label: &str, theme: &Theme) -> bool {
    let label = ui.label(RichText::new(on_screen(text)).strong());
    if !tip.is_empty() {
        label.on_hover_text(tip_text(tip));
    }
    let clicked = cross(ui, cross_label, theme);
    ui.label(RichText::new("\u{b7}").color(theme.weak_text));
    clicked
}

fn cross(ui: &mut Ui, label: &str, theme: &Theme) -> bool {
    let text = RichText::new("\u{d7}").size(15.0).color(theme.weak_text);
    let response = ui.add(egui::Button::new(text).frame(false).small());
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, label));
    response.on_hover_text(label).clicked()
}

/// Describes tracks: "main of Browser 8909", "2 threads of Renderer 8909", or "Renderer 8909" for all of its tracks.
fn tracks_text(snapshot: &Snapshot, tracks: &TrackSet) -> String {
    // One pass: the scope may have a million tracks.
    let (mut shown_tracks, mut first, mut are_threads) = (0, None, true);
    let mut processes: FxHashSet<ProcessIdx> = FxHashSet::default();
    for index in tracks.iter().filter(|&track| !snapshot.lanes_of(track).is_empty()) {
        let track = snapshot.track(index);
        shown_tracks += 1;
        are_threads &= track.key.kind == TrackKind::Thread;
        processes.insert(track.process);
        first.get_or_insert((index, track.process));
    }
    let process_text = |process: ProcessIdx| process_title(&snapshot.tracks().processes[process.index()]);
    let unit = if are_threads { "threads" } else { "tracks" };
    let count = grouped_digits(shown_tracks as u64);
    let text = match first {
        None => "no tracks".to_owned(),
        Some(_) if processes.len() > 1 => {
            format!("{count} {unit} of {} processes", grouped_digits(processes.len() as u64))
        }
        Some((track, process)) if shown_tracks == 1 => {
            format!("{} of {}", distinct_title(snapshot, track), process_text(process))
        }
        Some((_, process)) if snapshot.tracks_of_process(process).len() == shown_tracks => process_text(process),
        Some((_, process)) => format!("{count} {unit} of {}", process_text(process)),
    };
    let text = shown(&text);
    shorten_middle(&text, LETTERS_MAX, |_| 1.0).unwrap_or_default().into_owned()
}

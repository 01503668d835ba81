//! Groups of tracks that the user makes: their commands, menu entries, and the field of a name. The groups themselves
//! are in `scene::custom_groups`.

use egui::{EventFilter, Key, Modifiers, Rect, Role, Ui, UiBuilder, WidgetInfo};

use super::counter_rows::RowChoice;
use super::state::Timeline;
use crate::base::time::counted;
use crate::model::TrackSet;
use crate::scene::custom_groups::{CUSTOM_GROUPS_MAX, CustomGroupId};
use crate::scene::labels::shown;
use crate::scene::rows::GroupKind;
use crate::ui::command::{Command, CustomGroupCommand, RowCommand, TimelineCommand};
use crate::ui::theme::Theme;
use crate::ui::widgets::field;

/// Why no tracks can be grouped.
const NO_TRACKS: &str = "Select tracks first: Ctrl + click on their names";

impl Timeline {
    /// Runs a command of the user's groups.
    pub(super) fn change_groups(&mut self, command: CustomGroupCommand) {
        let scope = self.scope().tracks.clone();
        match command {
            CustomGroupCommand::GroupScope => {
                let Some(made) = self.tracks.change_groups(|groups| groups.make(scope.clone())) else {
                    if !scope.is_all() {
                        let most = CUSTOM_GROUPS_MAX;
                        self.note =
                            Some(format!("At most {most} groups of tracks: ungroup one to make another.").into());
                    }
                    return;
                };
                self.tracks.edit_name(Some(made));
                self.tracks.show_header_when_laid_out(GroupKind::Custom(made));
            }
            CustomGroupCommand::AddScope(group) => self.tracks.change_groups(|groups| groups.add(group, &scope)),
            CustomGroupCommand::UngroupScope => self.tracks.change_groups(|groups| groups.leave(&scope)),
            CustomGroupCommand::Leave(track) => {
                self.tracks.change_groups(|groups| groups.leave(&TrackSet::from_iter([track])));
            }
            CustomGroupCommand::Ungroup(group) => self.tracks.change_groups(|groups| groups.dissolve(group)),
            CustomGroupCommand::Move { group, beside, is_after } => {
                self.tracks.change_groups(|groups| groups.move_beside(group, beside, is_after));
            }
            CustomGroupCommand::StartNaming(group) => {
                return self.tracks.edit_name(Some(group));
            }
            CustomGroupCommand::Rename(group, name) => {
                return self.tracks.change_groups(|groups| groups.rename(group, &name));
            }
            // The order or the filter may depend on the name.
            CustomGroupCommand::EndNaming => self.tracks.edit_name(None),
        }
        self.arrange();
    }

    /// Returns the visible name of a group of the user, and the number of its tracks.
    pub(super) fn custom_group_text(&self, group: CustomGroupId) -> (String, String) {
        let group = self.tracks.arrangement().custom_groups.get(group);
        let texts = group.map(|group| (shown(&group.title()).into_owned(), counted(group.tracks.count(), "track")));
        texts.unwrap_or_default()
    }

    /// Returns the menu entries of a header that group tracks.
    pub(super) fn group_choices(&self, kind: GroupKind) -> Vec<RowChoice> {
        let has_tracks = !self.scope().tracks.is_all();
        let choice = |text, command, is_enabled| {
            RowChoice::new(text, RowCommand::Group(command)).enabled_if(is_enabled, NO_TRACKS)
        };
        let mut choices = Vec::new();
        match kind {
            GroupKind::Custom(group) => {
                choices.push(choice("Rename the group...", CustomGroupCommand::StartNaming(group), true));
                choices.push(choice("Add selected tracks", CustomGroupCommand::AddScope(group), has_tracks));
                choices.push(choice("Ungroup", CustomGroupCommand::Ungroup(group), true));
            }
            GroupKind::Track(track) if self.tracks.arrangement().custom_groups.group_of(track).is_some() => {
                choices.push(choice("Remove from the group", CustomGroupCommand::Leave(track), true));
            }
            GroupKind::Process(_) | GroupKind::Tracks(_) | GroupKind::Track(_) => {}
        }
        choices.push(choice("Group selected tracks...", CustomGroupCommand::GroupScope, has_tracks));
        choices
    }
}

/// Shows the field of a group's name, which has the focus until the name is complete. Escape keeps what is typed, as
/// Enter does.
pub(super) fn show_name_field(
    timeline: &Timeline,
    ui: &mut Ui,
    group: CustomGroupId,
    rect: Rect,
    theme: &Theme,
) -> Vec<Command> {
    let ask = |command| Command::Timeline(TimelineCommand::Rows(RowCommand::Group(command)));
    let Some(named) = timeline.tracks.arrangement().custom_groups.get(group) else { return Vec::new() };
    let mut name = named.name.clone();
    let mut ui = ui.new_child(UiBuilder::new().max_rect(rect).id_salt("name of a group"));
    ui.set_clip_rect(rect);
    let keys = EventFilter { escape: true, horizontal_arrows: true, ..EventFilter::default() };
    let response = field::add_sized(&mut ui, rect.size(), &mut name, |field| {
        let field = field.hint_text(group.default_name()).background_color(theme.canvas).event_filter(keys);
        field.align(egui::Align2::LEFT_CENTER)
    });
    response.widget_info(|| WidgetInfo::labeled(Role::TextInput, true, "Name of the group"));
    let mut commands = Vec::new();
    if response.changed() {
        commands.push(ask(CustomGroupCommand::Rename(group, name)));
    }
    let escapes = response.has_focus() && ui.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Escape));
    if escapes || response.lost_focus() {
        response.surrender_focus();
        commands.push(ask(CustomGroupCommand::EndNaming));
    } else if !response.has_focus() {
        response.request_focus();
        // Without input there would be no frame that shows the cursor.
        ui.ctx().request_repaint();
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::RectBudget;
    use crate::model::TrackIdx;
    use crate::scene::color::Shade;
    use crate::scene::tests::threads;
    use crate::ui::command::ScopeCommand;
    use crate::ui::settings::Navigation;

    fn timeline(spans: &[(&str, &str, u32)]) -> Timeline {
        Timeline::new(threads(spans), RectBudget::SOFTWARE, &Theme::new(Shade::Dark), Navigation::default())
    }

    /// Returns the names of the tracks of each group.
    fn grouped(timeline: &Timeline) -> Vec<Vec<String>> {
        let name = |track: TrackIdx| timeline.snapshot.track(track).name.to_string();
        let groups = timeline.tracks.arrangement().custom_groups.all();
        groups.iter().map(|group| group.tracks.iter().map(name).collect()).collect()
    }

    #[test]
    fn a_live_trace_keeps_its_groups_when_the_sort_at_its_end_renumbers_its_tracks() {
        let mut live = timeline(&[("a", "one", 1), ("a", "two", 2), ("b", "three", 3), ("b", "gone", 4)]);
        for names in [["one", "three"], ["two", "gone"]] {
            let tracks = live.snapshot.display_order().iter().copied();
            let tracks = tracks.filter(|&track| names.contains(&&*live.snapshot.track(track).name)).collect();
            live.change_scope(ScopeCommand::Set(Box::new(crate::ui::selected_scope::SelectedScope {
                tracks,
                ..Default::default()
            })));
            live.change_groups(CustomGroupCommand::GroupScope);
        }
        assert_eq!(grouped(&live), [["one", "three"], ["two", "gone"]]);
        let mut sorted = timeline(&[("b", "three", 1), ("c", "new", 1), ("a", "two", 2), ("a", "one", 3)]);
        sorted.copy_arrangement_from(&live);
        assert_eq!(grouped(&sorted), [vec!["three", "one"], vec!["two"]]);
    }
}

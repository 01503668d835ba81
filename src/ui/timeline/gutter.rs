//! The names of processes and tracks beside the canvas. A click folds; buttons and a menu pin and hide.

mod name;

use egui::{Color32, Id, Painter, Pos2, Rect, Sense, Stroke, Ui, pos2, vec2};

use super::counter_rows::{RowChoice, paint_legend};
use super::custom_groups::show_name_field;
use super::head_keys::{self, HeadKey};
use super::layout::TimelineLayout;
use super::state::Timeline;
use super::sticky_headers::sticky_headers;
use super::thread_rows::continues_thread;
use crate::base::direction::Direction;
use crate::model::TrackKind;
use crate::query::track_groups::GroupId;
use crate::scene::labels::{shorten_middle, shown};
use crate::scene::rows::{Group, GroupKind};
use crate::scene::titles::{command_line, group_title, title_below, track_title};
use crate::ui::chrome::menu_bar;
use crate::ui::command::{
    AppCommand, Command, CustomGroupCommand, DerivedCommand, PanelCommand, RowCommand, ScopeCommand, TimelineCommand,
};
use crate::ui::command_table::with_disabled_reason;
use crate::ui::panel::Panel;
use crate::ui::purpose::Purpose;
use crate::ui::theme::Theme;
use crate::ui::widgets::context_menu::context_menu;
use crate::ui::widgets::focus_ring;
use crate::ui::widgets::press::{click_modifiers, is_clicked};
use crate::ui::widgets::reading_order::on_screen;
use crate::ui::widgets::spoken::take_spoken_focus;
use crate::ui::widgets::tip_text::tip_text;
use name::{INDENT, Joint, NAME_POINTS, Name, indent};

/// A name in view.
struct Head {
    group: Group,
    joint: Joint,
    rect: Rect,
    /// The name is not drawn outside of this.
    clip: Rect,
    key: HeadKey,
    id: Id,
}

/// Shows the names in view, and returns the commands of their buttons.
pub(super) fn show(timeline: &Timeline, ui: &mut Ui, layout: &TimelineLayout, theme: &Theme) -> Vec<Command> {
    let mut commands = Vec::new();
    let heads = heads_in_view(timeline, ui, layout);
    let tab_stop = head_keys::tab_stop(ui, &heads.iter().map(|head| head.id).collect::<Vec<_>>());
    let mut shows_name_field = false;
    for head in &heads {
        shows_name_field |= show_head(timeline, ui, (head, tab_stop == Some(head.id)), theme, &mut commands);
    }
    // A field that left the view has lost the focus, and must not take it back when it returns.
    if !shows_name_field && timeline.tracks.renaming().is_some() && !timeline.tracks.is_arranging() {
        commands.push(rows(RowCommand::Group(CustomGroupCommand::EndNaming)));
    }
    commands
}

/// Returns the names in view, those of the sticky headers of a pane after its others.
fn heads_in_view(timeline: &Timeline, ui: &Ui, layout: &TimelineLayout) -> Vec<Head> {
    let mut heads = Vec::new();
    for (shown, is_pinned) in timeline.panes(layout).into_iter().zip([true, false]) {
        let groups = shown.groups();
        let sticky = sticky_headers(timeline, &shown, &groups);
        // Nothing is drawn under the sticky headers.
        let free_top = sticky.last().map_or(shown.gutter.top(), |(_, header)| header.bottom());
        let below = |top: f32| shown.gutter.with_min_y(top.min(shown.gutter.bottom()));
        let clip = below(free_top);
        let head = |group: Group, joint, (rect, clip)| {
            let key = HeadKey { kind: group.kind, is_pinned };
            Head { group, joint, rect, clip, key, id: key.id(ui) }
        };
        let shows_name = |group: &Group| {
            let band = shown.band(group.top_px, group.height_px);
            band.bottom() - free_top >= NAME_POINTS.min(band.height())
        };
        for (index, group) in groups.iter().enumerate() {
            if sticky.iter().any(|(header, _)| header.kind == group.kind) {
                continue;
            }
            let band = shown.band(group.top_px, group.height_px);
            let rect = Rect::from_x_y_ranges(shown.gutter.x_range(), band.y_range());
            let is_named_above = index.checked_sub(1).is_some_and(|above| shows_name(&groups[above]));
            let joint = Joint {
                in_group: matches!(group.kind, GroupKind::Track(track) if shown.pane.layout.is_in_group(track)),
                with_above: is_named_above && continues_thread(&timeline.snapshot, &groups, index),
                with_below: continues_thread(&timeline.snapshot, &groups, index + 1),
                is_sticky: false,
            };
            heads.push(head(*group, joint, (rect, clip)));
        }
        let mut top = shown.gutter.top();
        for (header, rect) in sticky {
            heads.push(head(header, Joint { is_sticky: true, ..Joint::default() }, (rect, below(top))));
            top = rect.bottom();
        }
    }
    heads.retain(|head| head.visible().is_positive());
    heads
}

impl Head {
    fn visible(&self) -> Rect {
        self.rect.intersect(self.clip)
    }
}

/// Returns the row whose name is at a point of the window, and whether it is a pinned row. Sticky headers cover names.
pub(super) fn name_at(timeline: &Timeline, layout: &TimelineLayout, at: Pos2) -> Option<(GroupKind, bool)> {
    let [pinned, rows] = timeline.panes(layout);
    let is_pinned = pinned.gutter.contains(at);
    let shown = if is_pinned { pinned } else { rows };
    if !shown.gutter.contains(at) {
        return None;
    }
    let sticky = timeline.header_over(&shown, at.y).map(|header| header.kind);
    let y_px = shown.y_px_at(at.y);
    let below = || shown.pane.layout.groups_within(y_px, y_px + 1).first().map(|group| group.kind);
    Some((sticky.or_else(below)?, is_pinned))
}

/// Shows a name. Returns whether it is being edited in a field.
fn show_head(
    timeline: &Timeline,
    ui: &mut Ui,
    (head, is_tab_stop): (&Head, bool),
    theme: &Theme,
    commands: &mut Vec<Command>,
) -> bool {
    let (group, joint, id) = (&head.group, head.joint, head.id);
    let (rect, clip) = (head.rect, head.clip);
    let visible = head.visible();
    let response = ui.interact(visible, id, if is_tab_stop { Sense::click() } else { Sense::CLICK });
    if !is_tab_stop {
        take_spoken_focus(&response);
    }
    let (title, secondary) = title_of(timeline, group.kind);
    let folded = timeline.is_folded(group.kind);
    let hovered = response.contains_pointer();
    let pinned = timeline.is_pinned(group.kind);
    let buttons = if hovered || pinned { Buttons::from_kind(group.kind, pinned, hovered) } else { Buttons::default() };
    // Above a sticky header, the headers of outer groups are out of view, so the sticky header shows their names too.
    let level = if joint.is_sticky { level_of(timeline, group.kind).min(1) } else { level_of(timeline, group.kind) };
    let short_title = if joint.is_sticky { None } else { short_title(timeline, group.kind, joint) };
    let shown_title = short_title.as_deref().unwrap_or(&title);
    let shown_secondary = if joint.with_above { "" } else { &*secondary };
    let is_shared = matches!(group.kind, GroupKind::Track(track) if timeline.snapshot.has_shared_name(track));
    let name = Name {
        group,
        rect,
        clip,
        title: shown_title,
        secondary: shown_secondary,
        is_shared,
        level,
        folded,
        hovered,
        joint,
    };
    let (middle, free_top) = name.paint(ui, theme, buttons.width());
    let legend = if let GroupKind::Track(track) = group.kind { timeline.legend(track) } else { Vec::new() };
    if !folded {
        let left = rect.left() + indent(level) + INDENT;
        let legend_rect = Rect::from_min_max(pos2(left, free_top), pos2(rect.right() - 10.0, rect.bottom()));
        paint_legend(ui, theme, &legend, legend_rect, clip);
    }
    buttons.show(ui, id, &name, middle, theme, commands);
    let is_in_scope = !timeline.scope().tracks.is_all() && timeline.is_in_scope(group.kind);
    if is_in_scope {
        let bar = Rect::from_min_max(visible.min, pos2(visible.left() + 3.0, visible.bottom()));
        ui.painter_at(clip).rect_filled(bar, 0.0, theme.accent);
    }
    if response.has_focus() {
        head_keys::hold_keyboard(ui, id, head.key);
    }
    focus_ring::paint(ui, &response, visible, theme);
    let named: Vec<_> = legend.iter().map(|(_, name)| &**name).collect();
    let named = if named.is_empty() { String::new() } else { format!(": {}", named.join(", ")) };
    let label = accessible_label(&title, &secondary, folded, is_in_scope) + &named;
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, &label));
    if is_clicked(ui, &response) {
        let adds = click_modifiers(ui).command;
        let toggle =
            if adds { scope(ScopeCommand::Toggle(group.kind)) } else { rows(RowCommand::ToggleFold(group.kind)) };
        commands.push(toggle);
    }
    context_menu(&response).show(|ui| menu_bar::scrolled(ui, |ui| menu(ui, timeline, group.kind, commands)));
    let renamed = timeline.tracks.renaming().filter(|&named| group.kind == GroupKind::Custom(named));
    if let Some(named) = renamed {
        let field_rect = Rect::from_min_max(pos2(rect.left() + INDENT, rect.top() + 1.0), rect.max - vec2(4.0, 2.0));
        commands.extend(show_name_field(timeline, ui, named, field_rect.intersect(clip), theme));
    }
    // A head may be as tall as the window, so a tooltip below it would be far from the name.
    response.on_hover_text_at_pointer(tip(timeline, group.kind, &(title + &named), &secondary));
    renamed.is_some()
}

/// Returns how far a name is indented: by the groups that it is in.
fn level_of(timeline: &Timeline, kind: GroupKind) -> u8 {
    match kind {
        GroupKind::Custom(_) | GroupKind::Process(_) => 0,
        GroupKind::Tracks(_) | GroupKind::Track(_) => {
            timeline.groups_around(kind).fold(1, |level: u8, _| level.saturating_add(1))
        }
    }
}

/// Returns the text of a name for screen readers.
fn accessible_label(title: &str, secondary: &str, folded: bool, is_in_scope: bool) -> String {
    let state = if folded { "folded" } else { "unfolded" };
    let space = if secondary.is_empty() { "" } else { " " };
    let scope = if is_in_scope { "in the scope, " } else { "" };
    format!("{title}{space}{secondary}, {scope}{state}")
}

/// Returns the name of a process, a group or a track with the names of its parents, and the text beside it.
fn title_of(timeline: &Timeline, kind: GroupKind) -> (String, String) {
    match kind {
        GroupKind::Custom(group) => timeline.custom_group_text(group),
        GroupKind::Process(process) => (timeline.process_text(process), String::new()),
        GroupKind::Tracks(group) => timeline.group_text(group),
        GroupKind::Track(track) => timeline.overlaid_text(track).unwrap_or_else(|| {
            let (title, secondary) = timeline.track_text(track);
            (title_below(&timeline.snapshot, track, 0).unwrap_or(title), secondary)
        }),
    }
}

/// Returns the title of a row whose group or thread is named above it, if it is shorter.
fn short_title(timeline: &Timeline, kind: GroupKind, joint: Joint) -> Option<String> {
    let snapshot = &timeline.snapshot;
    match kind {
        GroupKind::Tracks(group) => snapshot.group(group).map(|group| group_title(snapshot, &group)),
        GroupKind::Track(track) if joint.with_above => {
            let track = snapshot.track(track);
            Some(if track.key.kind == TrackKind::Thread { "events".to_owned() } else { track_title(track).0 })
        }
        GroupKind::Track(track) if joint.in_group && timeline.overlaid_text(track).is_none() => {
            let levels = snapshot.group_of(track).map_or(0, |group| group.named_levels());
            title_below(snapshot, track, levels)
        }
        GroupKind::Custom(_) | GroupKind::Process(_) | GroupKind::Track(_) => None,
    }
}

/// Returns the tooltip of a name: the parts that may be cut or out of view, and the effect of the buttons.
fn tip(timeline: &Timeline, kind: GroupKind, title: &str, secondary: &str) -> String {
    let mut lines = vec![tip_text(title)];
    lines.extend((!secondary.is_empty()).then(|| secondary.to_owned()));
    if let GroupKind::Process(process) = kind {
        let process = timeline.snapshot.tracks().processes.get(process.index());
        lines.extend(process.and_then(command_line).map(cut_line));
    }
    if let GroupKind::Tracks(GroupId { lead: track, .. }) | GroupKind::Track(track) = kind {
        let process = timeline.process_text(timeline.snapshot.track(track).process);
        lines.extend((!process.is_empty()).then(|| format!("of {}", tip_text(&process))));
    }
    lines.push(if timeline.is_folded(kind) { "Click to unfold" } else { "Click to fold" }.to_owned());
    lines.push("Ctrl + click: into the scope, or out of it".to_owned());
    if timeline.is_movable(timeline.is_pinned(kind)) {
        lines.push("Drag to move it up or down".to_owned());
    }
    lines.join("\n")
}

/// Shortens a command line for a tooltip.
fn cut_line(line: &str) -> String {
    const LETTERS_MAX: f32 = 400.0;
    let shown = shown(line);
    let cut = shorten_middle(&shown, LETTERS_MAX, |_| 1.0).unwrap_or_default();
    on_screen(&cut).into_owned()
}

/// Returns the commands for the rows of a process, a group or a track.
pub(super) fn choices(timeline: &Timeline, kind: GroupKind) -> Vec<RowChoice> {
    let [fold, unfold, hide] = match kind {
        GroupKind::Process(_) => ["Fold the process", "Unfold the process", "Hide the process"],
        GroupKind::Custom(_) | GroupKind::Tracks(_) => ["Fold the group", "Unfold the group", "Hide the group"],
        GroupKind::Track(_) => ["Fold the track", "Unfold the track", "Hide the track"],
    };
    let fold = if timeline.is_folded(kind) { unfold } else { fold };
    let mut choices = vec![RowChoice::new(fold, RowCommand::ToggleFold(kind))];
    if let GroupKind::Track(track) = kind {
        let pin = if timeline.tracks.is_pinned(track) { "Unpin the track" } else { "Pin the track to the top" };
        choices.push(RowChoice::new(pin, RowCommand::TogglePin(track)));
    }
    for (text, direction) in [("Move up", Direction::Backward), ("Move down", Direction::Forward)] {
        let disabled_reason = timeline.possible_step(kind, direction).err();
        choices.push(RowChoice { disabled_reason, ..RowChoice::new(text, RowCommand::Step(kind, direction)) });
    }
    if matches!(kind, GroupKind::Track(_))
        && let Some(group) = timeline.groups_around(kind).next()
    {
        choices.push(RowChoice::new("Fold its group", RowCommand::ToggleFold(group)));
    }
    choices.extend(timeline.counter_choices(kind));
    choices.push(RowChoice::new(hide, RowCommand::Hide(kind)));
    choices.extend(timeline.group_choices(kind));
    choices
}

/// Returns the menu entries of a process, a group or a track that make its tracks the scope, and the entry that copies
/// its name.
pub(super) fn scope_entries(timeline: &Timeline, kind: GroupKind) -> Vec<(&'static str, Vec<Command>)> {
    let [statistics, flame, spans, search, export] = match kind {
        GroupKind::Process(_) => [
            "Statistics of the process",
            "Flame graph of the process",
            "Spans of the process",
            "Search in the process",
            "Export the process...",
        ],
        GroupKind::Custom(_) | GroupKind::Tracks(_) => [
            "Statistics of the group",
            "Flame graph of the group",
            "Spans of the group",
            "Search in the group",
            "Export the group...",
        ],
        GroupKind::Track(_) => [
            "Statistics of the track",
            "Flame graph of the track",
            "Spans of the track",
            "Search in the track",
            "Export the track...",
        ],
    };
    let is_in_scope = !timeline.scope().tracks.is_all() && timeline.is_in_scope(kind);
    let toggle = if is_in_scope { "Remove from the scope" } else { "Add to the scope" };
    let show = |panel| Command::Panel(PanelCommand::Show(panel));
    let only = || scope(ScopeCommand::Only(kind));
    let derive = Command::Timeline(TimelineCommand::Derived(DerivedCommand::AddScheduling(kind)));
    let scheduling = timeline.has_scheduling(kind).then(|| ("Derive tracks of its scheduling", vec![derive]));
    let choices = [
        (statistics, vec![only(), Command::Panel(PanelCommand::ShowScopeSummary)]),
        (flame, vec![only(), show(Panel::Flame)]),
        (spans, vec![only(), show(Panel::Spans)]),
        (search, vec![only(), Command::Panel(PanelCommand::Search)]),
        (export, vec![only(), Command::App(AppCommand::Choose(Purpose::ExportSelected))]),
        (toggle, vec![scope(ScopeCommand::Toggle(kind))]),
        ("Copy the name", vec![Command::App(AppCommand::CopyText(title_of(timeline, kind).0))]),
    ];
    // Values have neither calls nor durations.
    let is_of_values = match kind {
        GroupKind::Track(track) => timeline.snapshot.track(track).key.kind == TrackKind::Counter,
        GroupKind::Custom(_) | GroupKind::Process(_) | GroupKind::Tracks(_) => false,
    };
    let is_possible = |(text, _): &(&str, _)| !(is_of_values && [flame, spans].contains(text));
    choices.into_iter().filter(is_possible).chain(scheduling).collect()
}

fn rows(command: RowCommand) -> Command {
    Command::Timeline(TimelineCommand::Rows(command))
}

fn scope(command: ScopeCommand) -> Command {
    Command::Timeline(TimelineCommand::Scope(command))
}

/// Shows the menu of a name.
fn menu(ui: &mut Ui, timeline: &Timeline, kind: GroupKind, commands: &mut Vec<Command>) {
    for (text, chosen) in scope_entries(timeline, kind) {
        if ui.button(text).clicked() {
            commands.extend(chosen);
            ui.close();
        }
    }
    ui.separator();
    let mut entry = |ui: &mut Ui, RowChoice { text, command, disabled_reason }: RowChoice| {
        let response = ui.add_enabled(disabled_reason.is_none(), egui::Button::new(text));
        let response = disabled_reason.into_iter().fold(response, with_disabled_reason);
        if response.clicked() {
            commands.push(rows(command));
            ui.close();
        }
    };
    for choice in choices(timeline, kind) {
        entry(ui, choice);
    }
    if !timeline.tracks.arrangement().folded.hidden.is_empty() {
        entry(ui, RowChoice::new("Show all hidden", RowCommand::ShowHidden));
    }
    ui.separator();
    entry(ui, RowChoice::new("Fold all processes", RowCommand::FoldAll(true)));
    entry(ui, RowChoice::new("Unfold all", RowCommand::FoldAll(false)));
}

/// The buttons on the name under the pointer. They are painted, so that they are no wider than a letter.
#[derive(Default)]
struct Buttons(Vec<Button>);

struct Button {
    sign: Sign,
    label: &'static str,
    command: RowCommand,
    strong: bool,
}

#[derive(Clone, Copy)]
enum Sign {
    Pin,
    Cross,
}

impl Sign {
    /// Returns how many buttons have space to its right. It is the same with and without the pointer, so that a click
    /// at a pin never meets the cross.
    fn slot(self) -> f32 {
        match self {
            Self::Cross => 0.0,
            Self::Pin => 1.0,
        }
    }
}

impl Buttons {
    const WIDTH: f32 = 18.0;

    fn from_kind(kind: GroupKind, pinned: bool, hovered: bool) -> Self {
        let mut buttons = Vec::new();
        if hovered {
            buttons.push(Button { sign: Sign::Cross, label: "Hide", command: RowCommand::Hide(kind), strong: false });
        }
        if let GroupKind::Track(track) = kind {
            let label = if pinned { "Unpin" } else { "Pin to the top" };
            let command = RowCommand::TogglePin(track);
            buttons.push(Button { sign: Sign::Pin, label, command, strong: pinned });
        }
        Self(buttons)
    }

    fn width(&self) -> f32 {
        self.0.iter().map(|button| (button.sign.slot() + 1.0) * Self::WIDTH).fold(0.0, f32::max)
    }

    fn show(self, ui: &Ui, id: Id, name: &Name<'_>, middle: f32, theme: &Theme, commands: &mut Vec<Command>) {
        let right = name.rect.right() - 6.0;
        for button in self.0 {
            let x = right - (button.sign.slot() + 0.5) * Self::WIDTH;
            let button_rect = Rect::from_center_size(pos2(x, middle), vec2(Self::WIDTH, 18.0));
            // Skipped by the Tab key, since the menu of the name has their commands too.
            let response = ui.interact(button_rect.intersect(name.clip), id.with(button.label), Sense::CLICK);
            take_spoken_focus(&response);
            let color = if response.hovered() || button.strong { theme.accent } else { theme.weak_text };
            paint_sign(&ui.painter_at(name.clip), button_rect.center(), button.sign, button.strong, color);
            response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, button.label));
            if is_clicked(ui, &response) {
                commands.push(rows(button.command));
            }
            response.on_hover_text(button.label);
        }
    }
}

fn paint_sign(painter: &Painter, at: Pos2, sign: Sign, strong: bool, color: Color32) {
    let stroke = Stroke::new(1.3, color);
    match sign {
        Sign::Cross => {
            painter.line_segment([at + vec2(-3.5, -3.5), at + vec2(3.5, 3.5)], stroke);
            painter.line_segment([at + vec2(-3.5, 3.5), at + vec2(3.5, -3.5)], stroke);
        }
        Sign::Pin => {
            let head = Rect::from_center_size(at - vec2(0.0, 2.0), vec2(6.0, 6.0));
            if strong {
                painter.rect_filled(head, 1.0, color);
            }
            painter.rect_stroke(head, 1.0, stroke, egui::StrokeKind::Middle);
            painter.hline(at.x - 5.0..=at.x + 5.0, at.y + 1.5, stroke);
            painter.vline(at.x, at.y + 1.5..=at.y + 6.0, stroke);
        }
    }
}

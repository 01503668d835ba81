//! The context menu of the canvas: for the span under the pointer, for the scope, for the track. The click selects the
//! span, so the menu applies to the visibly selected span.

use egui::{Button, Pos2, Rect, Response, RichText, Ui};

use super::counter_rows::RowChoice;
use super::gutter;
use super::interaction::ClickTarget;
use super::layout::TimelineLayout;
use super::state::Timeline;
use crate::query::describe::{arguments, trace_filter};
use crate::query::drawn_unit::AxisUnit;
use crate::query::filter::name_word;
use crate::scene::labels::{shorten_middle, shown};
use crate::scene::rows::GroupKind;
use crate::store::LaneKind;
use crate::store::lane::RowIdx;
use crate::ui::chrome::menu_bar;
use crate::ui::command::{
    AppCommand, BookmarkCommand, Command, DERIVE_CHOICES, DerivedCommand, NavigationStep, PanelCommand, ScopeCommand,
    TimelineCommand,
};
use crate::ui::command_table::{key_of, with_disabled_reason};
use crate::ui::keys::is_behind_another;
use crate::ui::panel::Panel;
use crate::ui::purpose::Purpose;
use crate::ui::questions::SampledFunction;
use crate::ui::selected_scope::SelectedScope;
use crate::ui::theme::Theme;
use crate::ui::widgets::context_menu::{context_menu_at, presses_menu_key};
use crate::ui::widgets::field::FIELD_BYTES_MAX;
use crate::ui::widgets::reading_order::on_screen;

/// The items for one subject: a span, a time range, a track.
struct MenuSection {
    /// Title of the section; may be empty.
    title: String,
    items: Vec<MenuItem>,
    /// Submenus after the items: name and items of each.
    submenus: Vec<(&'static str, Vec<MenuItem>)>,
}

struct MenuItem {
    text: &'static str,
    /// The table command whose shortcut does the same; empty without one.
    same_as: &'static str,
    commands: Vec<Command>,
    /// Why it is disabled; `None` if it is enabled.
    disabled_reason: Option<&'static str>,
}

/// Opens the menu at a right click, shows it while it is open, and adds the chosen command.
pub(super) fn show(
    timeline: &mut Timeline,
    layout: &TimelineLayout,
    canvas: &Response,
    theme: &Theme,
    commands: &mut Vec<Command>,
) {
    if let Some(at) = canvas.interact_pointer_pos().filter(|_| canvas.secondary_clicked()) {
        let row = timeline.row_under(layout, at);
        let picked = timeline.picked(layout, at);
        let group = picked.group.map(|group| group.kind);
        timeline.interaction.clicked = Some(ClickTarget { row, group, ts_ns: picked.ts_ns });
        commands.extend(row.map(|row| Command::Timeline(TimelineCommand::Select(Some(row)))));
    }
    let by_key = by_key(timeline, layout, canvas);
    if let Some((target, _)) = by_key {
        timeline.interaction.clicked = Some(target);
        menu_bar::give_focus_to_entry(&canvas.ctx);
    }
    let Some(clicked) = timeline.interaction.clicked else { return };
    context_menu_at(canvas, by_key.map(|(_, at)| at)).show(|ui| {
        menu_bar::scrolled(ui, |ui| {
            for (number, section) in sections(timeline, clicked).into_iter().enumerate() {
                if number > 0 {
                    ui.separator();
                }
                commands.extend(show_section(ui, section, theme));
            }
        });
    });
}

/// Returns the selected span and its position in the window if the keys ask for its menu. They do so unless another
/// widget has the focus.
fn by_key(timeline: &Timeline, layout: &TimelineLayout, canvas: &Response) -> Option<(ClickTarget, Pos2)> {
    let focused = canvas.ctx.memory(egui::Memory::focused);
    let is_free = focused.is_none_or(|focused| focused == canvas.id) && !is_behind_another(&canvas.ctx);
    if !is_free || !presses_menu_key(&canvas.ctx) {
        return None;
    }
    let row = timeline.selected()?;
    let span = timeline.snapshot.row(row);
    let group = GroupKind::Track(timeline.snapshot.lane(row.lane).track);
    let target = ClickTarget { row: Some(row), group: Some(group), ts_ns: span.start_ns };
    // The menu opens below the visible part of the span.
    let visible = timeline
        .panes(layout)
        .into_iter()
        .find_map(|shown| Some(shown.outline(&timeline.snapshot, (row, row.lane))?.intersect(shown.canvas)));
    let is_in_view = |rect: &Rect| rect.is_positive();
    let at = visible.filter(is_in_view).map_or(layout.canvas.center(), |rect| rect.left_bottom());
    Some((target, at))
}

fn show_section(ui: &mut Ui, section: MenuSection, theme: &Theme) -> Vec<Command> {
    if !section.title.is_empty() {
        ui.label(RichText::new(section.title).small().color(theme.weak_text));
    }
    let mut chosen = show_items(ui, section.items);
    for (name, items) in section.submenus {
        let inside = ui.menu_button(name, |ui| show_items(ui, items)).inner;
        chosen.extend(inside.unwrap_or_default());
    }
    chosen
}

fn show_items(ui: &mut Ui, items: Vec<MenuItem>) -> Vec<Command> {
    let mut chosen = Vec::new();
    for MenuItem { text, same_as, commands, disabled_reason } in items {
        let key = key_of(ui.ctx(), same_as);
        let button = Button::new(text);
        let button = if key.is_empty() { button } else { button.shortcut_text(key) };
        let response = ui.add_enabled(disabled_reason.is_none(), button);
        menu_bar::take_focus(&response);
        if disabled_reason.into_iter().fold(response, with_disabled_reason).clicked() {
            chosen = commands;
            ui.close();
        }
    }
    chosen
}

fn sections(timeline: &Timeline, clicked: ClickTarget) -> Vec<MenuSection> {
    let mark = Command::Timeline(TimelineCommand::Bookmark(BookmarkCommand::AddAt(clicked.ts_ns)));
    let moment = MenuSection { title: String::new(), items: vec![same("Add marker", mark)], submenus: Vec::new() };
    let of_group = clicked.group.map(|kind| group_section(timeline, kind, clicked.row.is_some()));
    let of_span = clicked.row.map(|row| span_section(timeline, row));
    let of_scope =
        (!timeline.scope().is_whole()).then(|| scope_section(timeline.scope(), timeline.snapshot().axis_unit()));
    of_span.into_iter().chain(of_scope).chain([moment]).chain(of_group).collect()
}

/// Returns the items of a track, a group or a process. Below the items of a span they are one submenu.
fn group_section(timeline: &Timeline, kind: GroupKind, is_below_span: bool) -> MenuSection {
    let questions = gutter::scope_entries(timeline, kind).into_iter();
    let questions = questions.map(|(text, commands)| MenuItem { text, same_as: "", commands, disabled_reason: None });
    let choices = gutter::choices(timeline, kind).into_iter();
    let choices = choices.map(|RowChoice { text, command, disabled_reason }| MenuItem {
        disabled_reason,
        ..item(text, "", Command::Timeline(TimelineCommand::Rows(command)))
    });
    let [name, ask] = match kind {
        GroupKind::Process(_) => ["The process", "Analyze the process"],
        GroupKind::Custom(_) | GroupKind::Tracks(_) => ["The group", "Analyze the group"],
        GroupKind::Track(_) => ["The track", "Analyze the track"],
    };
    if is_below_span {
        let submenus = vec![(name, questions.chain(choices).collect())];
        return MenuSection { title: String::new(), items: Vec::new(), submenus };
    }
    let submenus = vec![(ask, questions.collect())];
    MenuSection { title: String::new(), items: choices.collect(), submenus }
}

fn span_section(timeline: &Timeline, row: RowIdx) -> MenuSection {
    /// Length of a name before it is shortened, in letters.
    const LETTERS_MAX: f32 = 40.0;
    let span = timeline.snapshot.row(row);
    let name = timeline.snapshot.names().get(span.name).text;
    // While a time range is selected, the shortcut zooms to the range.
    let fit = if timeline.selection.range().is_none() { "Fit selection" } else { "" };
    let scope = |command| Command::Timeline(TimelineCommand::Scope(command));
    let lane = timeline.snapshot.lane(row.lane);
    // The frames of samples are drawn like spans, and have no sums of spans.
    let is_frame = timeline.snapshot.track(lane.track).key.kind.is_derived();
    let sums = if is_frame {
        item("Samples by function", "Samples", Command::Panel(PanelCommand::Show(Panel::Samples)))
    } else {
        item("Statistics of this name", "", Command::Panel(PanelCommand::StatisticsOf(span.name)))
    };
    let [zoom, copy, every, more] = match lane.kind {
        LaneKind::Instants => {
            ["Zoom to the instant", "Copy the instant", "Scope: instants of this name", "More for this instant"]
        }
        LaneKind::Samples => {
            ["Zoom to the sample", "Copy the sample", "Scope: samples of this name", "More for this sample"]
        }
        LaneKind::Spans | LaneKind::Counter | LaneKind::Flows => {
            ["Zoom to the span", "Copy the span", "Scope: spans of this name", "More for this span"]
        }
    };
    let mut items = vec![
        item(zoom, fit, Command::Timeline(TimelineCommand::ZoomToSpan)),
        item(copy, "Copy the span", Command::App(AppCommand::CopySpan)),
        item("Search for this name", "", Command::Panel(PanelCommand::SearchFor(name_word(name)))),
        sums,
    ];
    if lane.kind == LaneKind::Spans && !is_frame {
        let show = Command::Panel(PanelCommand::Show(Panel::Flame));
        let commands = vec![scope(ScopeCommand::Inside(row)), show];
        items.push(MenuItem { text: "Flame graph of this span", same_as: "", commands, disabled_reason: None });
    }
    if let Some(function) = SampledFunction::from_row(&timeline.snapshot, row) {
        items.push(item("Show code", "", Command::Panel(PanelCommand::ShowCode(Box::new(function)))));
    }
    let mut scopes = vec![item(every, "", scope(ScopeCommand::Filter(name_word(name))))];
    if lane.kind == LaneKind::Spans {
        scopes.push(item("Scope: inside this span", "", scope(ScopeCommand::Inside(row))));
    }
    let shown = shown(name);
    let short = shorten_middle(&shown, LETTERS_MAX, |_| 1.0).unwrap_or_default();
    let trace = trace_filter(&arguments(&timeline.snapshot, row)).filter(|filter| filter.len() <= FIELD_BYTES_MAX);
    if let Some(filter) = trace {
        scopes.push(item("Spans of this trace", "", Command::Panel(PanelCommand::SearchFor(filter))));
    }
    if lane.kind == LaneKind::Spans && !is_frame {
        scopes.push(item("Heat map of this name", "", Command::Panel(PanelCommand::HeatMapOf(span.name))));
    }
    let named = SelectedScope { filter: name_word(name).into(), ..SelectedScope::default() };
    let submenus = vec![(more, scopes), ("Derive track of this name", derive_items(&named))];
    MenuSection { title: on_screen(&short).into_owned(), items, submenus }
}

fn scope_section(scope: &SelectedScope, unit: &AxisUnit) -> MenuSection {
    let export = Command::App(AppCommand::Choose(Purpose::ExportSelected));
    let step = |step| Command::Timeline(TimelineCommand::Step(step));
    let zoom = scope.range.map(|_| item("Zoom to this time", "Fit selection", step(NavigationStep::Selection)));
    let items = [
        item("Statistics of the scope", "Statistics", Command::Panel(PanelCommand::Show(Panel::Statistics))),
        item("Flame graph of the scope", "Flame graph", Command::Panel(PanelCommand::Show(Panel::Flame))),
    ];
    let more = [
        item("Export the scope...", "", export),
        item("Clear the scope", "Clear selection", step(NavigationStep::ClearSelection)),
    ];
    let length = scope.range.and_then(|(from_ns, to_ns)| unit.length_text(to_ns.abs_diff(from_ns)));
    let title = length.map_or("Scope".to_owned(), |length| format!("Scope: {length}"));
    let more = ("More for the scope", zoom.into_iter().chain(more).collect());
    let submenus = vec![more, ("Derive track of the scope", derive_items(scope))];
    MenuSection { title, items: items.into(), submenus }
}

/// Returns the kinds of tracks that can be derived from rows.
fn derive_items(scope: &SelectedScope) -> Vec<MenuItem> {
    let kinds = DERIVE_CHOICES.into_iter();
    let entry = |(text, kind)| {
        item(text, "", Command::Timeline(TimelineCommand::Derived(DerivedCommand::Add(kind, scope.clone()))))
    };
    kinds.map(entry).collect()
}

fn item(text: &'static str, same_as: &'static str, command: Command) -> MenuItem {
    MenuItem { text, same_as, commands: vec![command], disabled_reason: None }
}

/// Returns an item with the text of a table command.
fn same(text: &'static str, command: Command) -> MenuItem {
    item(text, text, command)
}

//! An entry of the command table: its position in the menus, its keys, and when it is enabled.

use std::borrow::Cow;

use egui::{Key, KeyboardShortcut, Modifiers, Response};

use super::menus::{Menu, MenuList};
use crate::scene::arrange::TrackOrder;
use crate::scene::color::Shade;
use crate::scene::counter_overlay::CounterChoice;
use crate::scene::palette::Colors;
use crate::scene::rows::TrackDensity;
use crate::ui::command::Command;
use crate::ui::panel::DockTab;
use crate::ui::settings::{Navigation, RulerOrigin};
use crate::ui::widgets::spoken;

/// The state of the window that commands depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UiState {
    pub(crate) tabs: TabsState,
    pub(crate) trace: TraceState,
    pub(crate) selected: SelectedState,
    pub(crate) scope: ScopeState,
    pub(crate) dock: DockState,
    pub(crate) timeline: TimelineState,
    pub(crate) edits: EditState,
    pub(crate) settings: ShownSettings,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct TabsState {
    pub(crate) count: usize,
    /// Whether a closed tab can be reopened.
    pub(crate) has_closed: bool,
}

/// The trace of the active tab, and the task that reads or exports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each enables commands of its own")]
pub(crate) struct TraceState {
    pub(crate) is_open: bool,
    pub(crate) files: usize,
    pub(crate) reload: ReloadState,
    /// Whether it can be exported: it is completely sorted or still runs, and no export is in progress.
    pub(crate) can_export: bool,
    /// Whether an import or an export is in progress.
    pub(crate) is_busy: bool,
    pub(crate) is_live: bool,
    /// Whether its picture is paused while it runs.
    pub(crate) is_paused: bool,
    /// Whether it has times, and not only weights.
    pub(crate) has_times: bool,
    /// Whether it has the time of day.
    pub(crate) has_utc: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SelectedState {
    pub(crate) has_span: bool,
    /// Whether a flow leads from another span to the selected span.
    pub(crate) has_flow_before: bool,
    /// Whether a flow leads from the selected span to another span.
    pub(crate) has_flow_after: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ScopeState {
    /// Whether the scope is restricted to some time, tracks or spans.
    pub(crate) is_restricted: bool,
    pub(crate) has_time: bool,
    pub(crate) has_tracks: bool,
    /// The changes that its counters allow.
    pub(crate) counters: CounterChoice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each enables commands of its own")]
pub(crate) struct DockState {
    /// The open tab of the statistics, preferably the active one.
    pub(crate) statistics: Option<DockTab>,
    /// Whether the active panel can be pinned, or is pinned.
    pub(crate) can_pin: bool,
    pub(crate) is_pinned: bool,
    pub(crate) is_searching: bool,
    /// Whether the search has hits, or may still find some.
    pub(crate) has_hits: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each enables commands of its own")]
pub(crate) struct TimelineState {
    /// Whether the history has an earlier view.
    pub(crate) has_past: bool,
    /// Whether the history has a later view.
    pub(crate) has_future: bool,
    pub(crate) order: TrackOrder,
    pub(crate) has_hidden: bool,
    pub(crate) has_moves: bool,
    /// The time that the ruler counts from.
    pub(crate) ruler_origin: RulerOrigin,
    pub(crate) has_bookmarks: bool,
    /// Whether two bookmarks were added or selected last, and both still exist.
    pub(crate) can_measure: bool,
}

/// The edits that undo and redo are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct EditState {
    pub(crate) undoable: Option<&'static str>,
    pub(crate) redoable: Option<&'static str>,
}

/// The settings that menus and the preferences show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShownSettings {
    /// Dark or light; `None` follows the desktop.
    pub(crate) shade: Option<Shade>,
    pub(crate) colors: Colors,
    /// Font size, in percent of the default.
    pub(crate) text_percent: u16,
    pub(crate) navigation: Navigation,
    pub(crate) density: TrackDensity,
}

/// When a command is enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    Always,
    Closable,
    Reopenable,
    Tabs,
    Trace,
    Times,
    Files,
    Reloadable,
    Span,
    FlowBefore,
    FlowAfter,
    Table,
    Pinnable,
    Selection,
    Clearable,
    Hits,
    Past,
    Future,
    Hidden,
    /// The user has moved processes, groups or tracks.
    Moved,
    Undoable,
    Redoable,
    Marks,
    Measurable,
    Utc,
    Export,
    ExportScope,
    ScopeTracks,
    ScopeCounters,
    Overlayable,
    Stackable,
    Separable,
    Live,
    /// A span is selected, and the trace no longer runs.
    StillSpan,
}

pub(crate) const NO_MARKER: &str = "Add a marker first";
pub(crate) const NO_UTC: &str = "The trace does not record the time of day";
const NO_TRACE: &str = "No trace is open";
const NO_SPAN: &str = "Select a span first";
const NO_SCOPE: &str = "Select time or tracks first: Shift + drag on the timeline";
const BUSY: &str = "Wait until the import or export ends";

/// Whether the trace of a tab can be read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ReloadState {
    Ready,
    /// The trace is still followed.
    Running,
    /// An import or an export is in progress.
    Busy,
    /// A pipe or a program cannot be read again.
    #[default]
    NoFile,
}

impl ReloadState {
    /// Returns why the trace cannot be read again; `None` if it can.
    pub(crate) fn disabled_reason(self) -> Option<&'static str> {
        match self {
            Self::Ready => None,
            Self::Running => Some("The trace is live: stop it first"),
            Self::Busy => Some(BUSY),
            Self::NoFile => Some("The data came from a pipe or a program, so there is no file to read again"),
        }
    }
}

impl When {
    /// Returns why a command is disabled, with what to do; `None` if it is enabled.
    fn disabled_reason(self, state: &UiState) -> Option<&'static str> {
        let no_trace = if state.trace.is_live { "Wait for the first events" } else { NO_TRACE };
        let has_trace = (state.trace.is_open, no_trace);
        let has_export = match state.trace.is_open {
            true if state.trace.is_busy => (state.trace.can_export, BUSY),
            true => (state.trace.can_export, "Wait until the whole trace is sorted"),
            false => has_trace,
        };
        let conditions: &[(bool, &'static str)] = match self {
            Self::Always => &[],
            Self::Closable => {
                &[(state.trace.is_open || state.trace.is_busy || state.trace.is_live || state.tabs.count > 1, NO_TRACE)]
            }
            Self::Reopenable => &[(state.tabs.has_closed, "No closed tab is left to reopen")],
            Self::Tabs => &[(state.tabs.count > 1, "Only one tab is open")],
            Self::Trace => &[has_trace],
            Self::Times => &[has_trace, (state.trace.has_times, "The trace has no times")],
            Self::Files => &[has_trace, (state.trace.files > 1, "The trace consists of one file")],
            Self::Reloadable => {
                let reason = state.trace.reload.disabled_reason();
                &[has_trace, (reason.is_none(), reason.unwrap_or_default())]
            }
            Self::Span => &[has_trace, (state.selected.has_span, NO_SPAN)],
            Self::FlowBefore => &[
                has_trace,
                (state.selected.has_span, NO_SPAN),
                (state.selected.has_flow_before, "No flow arrives at the selected span"),
            ],
            Self::FlowAfter => &[
                has_trace,
                (state.selected.has_span, NO_SPAN),
                (state.selected.has_flow_after, "No flow leaves the selected span"),
            ],
            Self::Table => &[has_trace, (state.dock.statistics.is_some(), "Open the statistics first")],
            Self::Pinnable => &[
                has_trace,
                (state.dock.can_pin, "Open a panel of the scope first, such as the statistics; at most 8 are pinned"),
            ],
            Self::Selection => {
                &[has_trace, (state.selected.has_span || state.scope.has_time, "Select a span or some time first")]
            }
            Self::Clearable => &[
                has_trace,
                (
                    state.selected.has_span || state.scope.is_restricted || state.dock.is_searching,
                    "Nothing is selected",
                ),
            ],
            Self::Hits => &[has_trace, (state.dock.has_hits, "Search for something first")],
            Self::Past => &[has_trace, (state.timeline.has_past, "There is no earlier view")],
            Self::Future => &[has_trace, (state.timeline.has_future, "There is no later view")],
            Self::Hidden => &[has_trace, (state.timeline.has_hidden, "No track is hidden")],
            Self::Moved => &[has_trace, (state.timeline.has_moves, "No track is moved")],
            Self::Undoable => &[has_trace, (state.edits.undoable.is_some(), "Nothing to undo")],
            Self::Redoable => &[has_trace, (state.edits.redoable.is_some(), "Nothing to redo")],
            Self::Marks => &[has_trace, (state.timeline.has_bookmarks, NO_MARKER)],
            Self::Measurable => &[has_trace, (state.timeline.can_measure, "Add or choose two markers first")],
            Self::Utc => &[has_trace, (state.trace.has_utc, NO_UTC)],
            Self::Export => &[has_export],
            Self::ExportScope => &[has_export, (state.scope.is_restricted, NO_SCOPE)],
            Self::ScopeTracks => {
                &[has_trace, (state.scope.has_tracks, "Select tracks first: Ctrl + click on their names")]
            }
            Self::ScopeCounters => {
                &[has_trace, (state.scope.counters.has_counter, "Select counters first: Ctrl + click on their names")]
            }
            Self::Overlayable => &[
                has_trace,
                (state.scope.counters.can_overlay, "Select two to eight counters first: Ctrl + click on their names"),
            ],
            Self::Stackable => &[
                has_trace,
                (
                    state.scope.counters.can_stack,
                    "Select two to eight counters of one unit first: Ctrl + click on their names",
                ),
            ],
            Self::Separable => {
                &[has_trace, (state.scope.counters.can_separate, "Select counters that share a row first")]
            }
            Self::Live => &[(state.trace.is_live, "No trace is live: File > Follow... shows one while it is written")],
            Self::StillSpan => &[
                has_trace,
                (state.selected.has_span, NO_SPAN),
                (!state.trace.is_live, "Not while the trace is live: Space follows or pauses"),
            ],
        };
        conditions.iter().find(|(is_met, _)| !is_met).map(|(_, reason)| *reason)
    }
}

pub(crate) struct CommandEntry {
    pub(crate) menu: Menu,
    /// Its submenu; entries of one submenu are adjacent.
    pub(crate) submenu: Option<&'static str>,
    /// Whether the menu draws a separator above the command, or above its submenu.
    pub(crate) begins_section: bool,
    pub(crate) title: &'static str,
    /// Its keys; menus show the first.
    pub(crate) keys: &'static [KeyboardShortcut],
    /// An addition to the title; may be empty.
    pub(super) hint: &'static str,
    pub(super) when: When,
    pub(super) command: fn(&UiState) -> Command,
    pub(super) checked: Option<fn(&UiState) -> bool>,
    /// The object of the command in the present state, shown after its title.
    about: Option<fn(&UiState) -> Option<&'static str>>,
    /// A dynamic list that follows it in its menu.
    pub(crate) followed_by: Option<MenuList>,
}

impl CommandEntry {
    /// Returns whether it is enabled.
    #[must_use]
    pub(crate) fn is_enabled(&self, state: &UiState) -> bool {
        self.disabled_reason(state).is_none()
    }

    /// Returns why it is disabled, with what to do; `None` if it is enabled.
    #[must_use]
    pub(crate) fn disabled_reason(&self, state: &UiState) -> Option<&'static str> {
        self.when.disabled_reason(state)
    }

    /// Returns whether it is checked; `None` for a command without state.
    #[must_use]
    pub(crate) fn is_checked(&self, state: &UiState) -> Option<bool> {
        self.checked.map(|checked| checked(state))
    }

    /// Returns the title in menus, with what the command is about now.
    #[must_use]
    pub(crate) fn title_in(&self, state: &UiState) -> Cow<'static, str> {
        match self.about.and_then(|about| about(state)) {
            Some(about) => format!("{} {about}", self.title).into(),
            None => self.title.into(),
        }
    }

    /// Returns the command in the present state.
    #[must_use]
    pub(crate) fn command(&self, state: &UiState) -> Command {
        (self.command)(state)
    }

    /// Adds its hint to a widget, or why it is disabled, as a tooltip and for screen readers.
    #[must_use]
    pub(crate) fn with_hint(&self, response: Response, state: &UiState) -> Response {
        match self.disabled_reason(state) {
            Some(reason) => with_disabled_reason(response, reason),
            None if self.hint.is_empty() => response,
            None => response.on_hover_text(self.hint),
        }
    }

    pub(super) const fn hint(self, hint: &'static str) -> Self {
        Self { hint, ..self }
    }

    pub(super) const fn within(self, submenu: &'static str) -> Self {
        Self { submenu: Some(submenu), ..self }
    }

    pub(super) const fn section(self) -> Self {
        Self { begins_section: true, ..self }
    }

    pub(super) const fn followed_by(self, list: MenuList) -> Self {
        Self { followed_by: Some(list), ..self }
    }

    pub(super) const fn about(self, about: fn(&UiState) -> Option<&'static str>) -> Self {
        Self { about: Some(about), ..self }
    }

    pub(super) const fn checked(self, checked: fn(&UiState) -> bool) -> Self {
        Self { checked: Some(checked), ..self }
    }
}

/// Adds why a widget is disabled, as a tooltip and for screen readers.
pub(crate) fn with_disabled_reason(response: Response, reason: &str) -> Response {
    spoken::describe(&response, reason);
    if response.enabled() { response.on_hover_text(reason) } else { response.on_disabled_hover_text(reason) }
}

pub(super) const fn entry(
    menu: Menu,
    title: &'static str,
    keys: &'static [KeyboardShortcut],
    when: When,
    command: fn(&UiState) -> Command,
) -> CommandEntry {
    CommandEntry {
        menu,
        submenu: None,
        begins_section: false,
        title,
        keys,
        hint: "",
        when,
        command,
        checked: None,
        about: None,
        followed_by: None,
    }
}

pub(super) const fn plain(key: Key) -> KeyboardShortcut {
    KeyboardShortcut::new(Modifiers::NONE, key)
}

pub(super) const fn ctrl(key: Key) -> KeyboardShortcut {
    KeyboardShortcut::new(Modifiers::COMMAND, key)
}

pub(super) const fn shift(key: Key) -> KeyboardShortcut {
    KeyboardShortcut::new(Modifiers::SHIFT, key)
}

pub(super) const fn alt(key: Key) -> KeyboardShortcut {
    KeyboardShortcut::new(Modifiers::ALT, key)
}

pub(super) const fn ctrl_shift(key: Key) -> KeyboardShortcut {
    KeyboardShortcut::new(Modifiers::COMMAND.plus(Modifiers::SHIFT), key)
}

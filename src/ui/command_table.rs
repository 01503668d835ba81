//! Every command with its name and its keys, in one table: the menus, the palette, the keys and the list of keys are
//! made from it, so that none of them can say something else.

mod menus;

use egui::{Key, KeyboardShortcut, Modifiers, Response};

pub(crate) use menus::{Menu, MenuList};

use crate::export::ExportFormat;
use crate::query::derived::DerivedKind;
use crate::scene::arrange::TrackOrder;
use crate::scene::color::Shade;
use crate::scene::palette::{ColorBy, Colors, Hues};
use crate::scene::rows::TrackDensity;
use crate::ui::command::{
    AppCommand, BookmarkCommand, Command, DerivedCommand, LiveCommand, NavigationStep, PanelCommand, RowCommand,
    TabCommand, TimelineCommand, ToolWindow,
};
use crate::ui::panel::Panel;
use crate::ui::purpose::{PictureSize, Purpose};
use crate::ui::settings::{Navigation, RulerOrigin, Wheel};

/// The smallest text that can be chosen, in percent of the normal size.
pub(crate) const TEXT_PERCENT_MIN: u16 = 60;
/// The largest text size, in percent of the normal one.
pub(crate) const TEXT_PERCENT_MAX: u16 = 200;

/// The state of the window that commands depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each enables commands of its own")]
pub(crate) struct UiState {
    /// How many tabs there are.
    pub(crate) tabs: usize,
    /// How many files the capture that is open has.
    pub(crate) files: usize,
    /// Whether a capture is open.
    pub(crate) has_capture: bool,
    /// Whether it can be written: it is sorted to its end or still runs, and nothing else is written.
    pub(crate) can_export: bool,
    /// Whether a load or an export runs.
    pub(crate) is_busy: bool,
    /// Whether the trace still runs.
    pub(crate) is_live: bool,
    /// Whether its picture stands still.
    pub(crate) is_paused: bool,
    /// Whether a span is selected.
    pub(crate) has_span: bool,
    /// Whether the table of statistics is shown.
    pub(crate) has_table: bool,
    /// Whether a slice of time is selected.
    pub(crate) has_scope: bool,
    /// Whether the scope is of some tracks and not of all.
    pub(crate) has_scope_tracks: bool,
    pub(crate) is_searching: bool,
    pub(crate) has_hidden: bool,
    /// Dark or light; `None`: as the desktop.
    pub(crate) shade: Option<Shade>,
    pub(crate) colors: Colors,
    /// The size of text, in percent of the normal one.
    pub(crate) text_percent: u16,
    /// How the user wants to move.
    pub(crate) navigation: Navigation,
    pub(crate) order: TrackOrder,
    pub(crate) density: TrackDensity,
    /// How many moments are marked.
    pub(crate) marks: usize,
    /// The time that the ruler counts from.
    pub(crate) ruler_origin: RulerOrigin,
    /// Whether the capture tells what time of day it was.
    pub(crate) has_utc: bool,
}

/// When a command can be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    Always,
    Closable,
    Tabs,
    Capture,
    Files,
    Span,
    Table,
    Selection,
    Clearable,
    Hidden,
    Marks(usize),
    Utc,
    Export,
    ExportScope,
    ScopeTracks,
    Live,
    /// A span is selected, and the trace does not run any more.
    StillSpan,
}

/// A command in the table.
pub(crate) struct CommandEntry {
    pub(crate) menu: Menu,
    /// Whether the menu draws a line above the command.
    pub(crate) begins_section: bool,
    pub(crate) title: &'static str,
    /// Its keys; the first is the one that is shown in menus.
    pub(crate) keys: &'static [KeyboardShortcut],
    /// An addition to the title; empty where the title says all.
    hint: &'static str,
    when: When,
    command: fn(&UiState) -> Command,
    checked: Option<fn(&UiState) -> bool>,
    /// A list that comes right after it in its menu.
    pub(crate) followed_by: Option<MenuList>,
}

impl CommandEntry {
    /// Whether it can be given now.
    #[must_use]
    pub(crate) fn is_enabled(&self, state: &UiState) -> bool {
        match self.when {
            When::Always => true,
            When::Closable => state.has_capture || state.is_busy || state.is_live || state.tabs > 1,
            When::Tabs => state.tabs > 1,
            When::Capture => state.has_capture,
            When::Files => state.files > 1,
            When::Span => state.has_span,
            When::Table => state.has_table,
            When::Selection => state.has_span || state.has_scope,
            When::Clearable => state.has_span || state.has_scope || state.is_searching,
            When::Hidden => state.has_hidden,
            When::Marks(least) => state.marks >= least,
            When::Utc => state.has_utc,
            When::Export => state.can_export,
            When::ExportScope => state.can_export && state.has_scope,
            When::ScopeTracks => state.has_scope_tracks,
            When::Live => state.is_live,
            When::StillSpan => state.has_span && !state.is_live,
        }
    }

    /// Whether it is ticked; `None` for what has no state.
    #[must_use]
    pub(crate) fn is_checked(&self, state: &UiState) -> Option<bool> {
        self.checked.map(|checked| checked(state))
    }

    /// The command in the present state.
    #[must_use]
    pub(crate) fn command(&self, state: &UiState) -> Command {
        (self.command)(state)
    }

    /// Says what its name leaves open, to the pointer and to screen readers.
    #[must_use]
    pub(crate) fn hinted(&self, response: Response) -> Response {
        if self.hint.is_empty() { response } else { response.on_hover_text(self.hint) }
    }

    const fn hint(self, hint: &'static str) -> Self {
        Self { hint, ..self }
    }

    const fn section(self) -> Self {
        Self { begins_section: true, ..self }
    }

    const fn followed_by(self, list: MenuList) -> Self {
        Self { followed_by: Some(list), ..self }
    }

    const fn checked(self, checked: fn(&UiState) -> bool) -> Self {
        Self { checked: Some(checked), ..self }
    }
}

const fn entry(
    menu: Menu,
    title: &'static str,
    keys: &'static [KeyboardShortcut],
    when: When,
    command: fn(&UiState) -> Command,
) -> CommandEntry {
    CommandEntry { menu, begins_section: false, title, keys, hint: "", when, command, checked: None, followed_by: None }
}

fn derive(kind: DerivedKind) -> Command {
    Command::Timeline(TimelineCommand::Derived(DerivedCommand::AddOfScope(kind)))
}

const fn plain(key: Key) -> KeyboardShortcut {
    KeyboardShortcut::new(Modifiers::NONE, key)
}

const fn ctrl(key: Key) -> KeyboardShortcut {
    KeyboardShortcut::new(Modifiers::COMMAND, key)
}

const fn shift(key: Key) -> KeyboardShortcut {
    KeyboardShortcut::new(Modifiers::SHIFT, key)
}

const fn alt(key: Key) -> KeyboardShortcut {
    KeyboardShortcut::new(Modifiers::ALT, key)
}

const fn ctrl_shift(key: Key) -> KeyboardShortcut {
    KeyboardShortcut::new(Modifiers::COMMAND.plus(Modifiers::SHIFT), key)
}

/// The keys of the clipboard.
pub(crate) const COPY: KeyboardShortcut = ctrl(Key::C);
pub(crate) const PASTE: KeyboardShortcut = ctrl(Key::V);

/// All commands, in the order of the menus.
pub(crate) const TABLE: &[CommandEntry] = &[
    entry(Menu::File, "Open...", &[ctrl(Key::O)], When::Always, |_| Command::App(AppCommand::Choose(Purpose::Open)))
        .followed_by(MenuList::Recent),
    entry(Menu::File, "Open by path...", &[], When::Always, |_| Command::App(AppCommand::ShowPicker)),
    entry(Menu::File, "Open path from clipboard", &[PASTE], When::Always, |_| Command::App(AppCommand::Paste)),
    entry(Menu::File, "Follow...", &[], When::Always, |_| Command::App(AppCommand::Choose(Purpose::Follow)))
        .hint("Shows a trace while it is still written; opens it when that ends"),
    entry(Menu::File, "Open a demo", &[], When::Always, |_| Command::App(AppCommand::OpenDemo)),
    entry(Menu::File, "Close the tab", &[ctrl(Key::W)], When::Closable, |_| Command::Tab(TabCommand::Close)),
    entry(Menu::File, "Export sorted trace...", &[ctrl(Key::S)], When::Export, |_| {
        Command::App(AppCommand::Choose(Purpose::Export(ExportFormat::NATIVE)))
    })
    .section()
    .hint("With its index: opens in half the time, takes two to ten times the room"),
    entry(Menu::File, "Export sorted trace, compact...", &[], When::Export, |_| {
        Command::App(AppCommand::Choose(Purpose::Export(ExportFormat::Native { compact: true })))
    })
    .hint("Without its index, which whoever opens it makes again: mostly less than half the bytes"),
    entry(Menu::File, "Export as Chrome JSON...", &[], When::Export, |_| {
        Command::App(AppCommand::Choose(Purpose::Export(ExportFormat::ChromeJson { gzip: false })))
    }),
    entry(Menu::File, "Export as Perfetto trace...", &[], When::Export, |_| {
        Command::App(AppCommand::Choose(Purpose::Export(ExportFormat::Perfetto)))
    }),
    entry(Menu::File, "Export spans as CSV...", &[], When::Export, |_| {
        Command::App(AppCommand::Choose(Purpose::Export(ExportFormat::CSV)))
    }),
    entry(Menu::File, "Export tables as Parquet...", &[], When::Export, |_| {
        Command::App(AppCommand::Choose(Purpose::Export(ExportFormat::Parquet { by_process: false })))
    }),
    entry(Menu::File, "Export selection...", &[], When::ExportScope, |_| {
        Command::App(AppCommand::Choose(Purpose::ExportSelected))
    }),
    entry(Menu::File, "Export image...", &[ctrl_shift(Key::S)], When::Capture, |_| {
        Command::App(AppCommand::Choose(Purpose::Picture(PictureSize::AsShown)))
    })
    .section(),
    entry(Menu::File, "Export image @2x...", &[], When::Capture, |_| {
        Command::App(AppCommand::Choose(Purpose::Picture(PictureSize::Doubled)))
    }),
    entry(Menu::File, "Export image of the window...", &[], When::Always, |_| {
        Command::App(AppCommand::Choose(Purpose::WindowPicture))
    }),
    entry(Menu::File, "Copy the span", &[COPY], When::Span, |_| Command::App(AppCommand::CopySpan)).section(),
    entry(Menu::File, "Copy the statistics as CSV", &[], When::Table, |_| Command::App(AppCommand::CopyTable)),
    entry(Menu::File, "Quit", &[ctrl(Key::Q)], When::Always, |_| Command::App(AppCommand::Quit)).section(),
    entry(Menu::View, "Whole trace", &[plain(Key::Home), plain(Key::Num0)], When::Capture, |_| {
        Command::Timeline(TimelineCommand::Step(NavigationStep::Whole))
    }),
    entry(Menu::View, "Fit selection", &[plain(Key::F)], When::Selection, |_| {
        Command::Timeline(TimelineCommand::Step(NavigationStep::Selection))
    }),
    entry(Menu::View, "Zoom in", &[plain(Key::Plus), plain(Key::Equals)], When::Capture, |_| {
        Command::Timeline(TimelineCommand::Step(NavigationStep::ZoomIn))
    }),
    entry(Menu::View, "Zoom out", &[plain(Key::Minus)], When::Capture, |_| {
        Command::Timeline(TimelineCommand::Step(NavigationStep::ZoomOut))
    }),
    entry(Menu::View, "Import issues", &[], When::Capture, |_| Command::App(AppCommand::Toggle(ToolWindow::Losses)))
        .section(),
    entry(Menu::View, "Files and their clocks", &[], When::Files, |_| {
        Command::App(AppCommand::Toggle(ToolWindow::Sources))
    }),
    entry(Menu::View, "Details", &[], When::Capture, |_| Command::Panel(PanelCommand::Toggle(Panel::Details))),
    entry(Menu::View, "Statistics", &[ctrl(Key::T)], When::Capture, |_| {
        Command::Panel(PanelCommand::Toggle(Panel::Statistics))
    }),
    entry(Menu::View, "Spans", &[ctrl(Key::L)], When::Capture, |_| Command::Panel(PanelCommand::Toggle(Panel::Spans))),
    entry(Menu::View, "Counters", &[], When::Capture, |_| Command::Panel(PanelCommand::Toggle(Panel::Counters))),
    entry(Menu::View, "Scheduling", &[], When::Capture, |_| Command::Panel(PanelCommand::Toggle(Panel::Scheduling)))
        .hint("Time of threads, processes and CPUs: running, ready and waiting"),
    entry(Menu::View, "Heat map", &[], When::Capture, |_| Command::Panel(PanelCommand::Toggle(Panel::HeatMap)))
        .hint("How long spans take, by when they start: latency over time"),
    entry(Menu::View, "Flame graph", &[ctrl(Key::G)], When::Capture, |_| {
        Command::Panel(PanelCommand::Toggle(Panel::Flame))
    }),
    entry(Menu::View, "Samples", &[ctrl(Key::E)], When::Capture, |_| {
        Command::Panel(PanelCommand::Toggle(Panel::Samples))
    })
    .hint("Samples by function, module, thread or event"),
    entry(Menu::View, "Code", &[], When::Capture, |_| Command::Panel(PanelCommand::Toggle(Panel::Code)))
        .hint("Source lines and instructions of a function with its samples"),
    entry(Menu::View, "Symbols", &[], When::Capture, |_| Command::Panel(PanelCommand::Toggle(Panel::Symbols))),
    entry(Menu::View, "Next panel", &[plain(Key::F6)], When::Capture, |_| {
        Command::Panel(PanelCommand::NextPanel { forward: true })
    }),
    entry(Menu::View, "Previous panel", &[shift(Key::F6)], When::Capture, |_| {
        Command::Panel(PanelCommand::NextPanel { forward: false })
    }),
    entry(Menu::View, "Panel in full height", &[], When::Capture, |_| Command::Panel(PanelCommand::ToggleFull))
        .hint("All of the room for the panel; Esc gives it back"),
    entry(Menu::View, "Colour by name", &[], When::Always, |state| {
        Command::App(AppCommand::SetColors(Colors { by: ColorBy::Name, ..state.colors }))
    })
    .section()
    .checked(|state| state.colors.by == ColorBy::Name),
    entry(Menu::View, "Colour by category", &[], When::Always, |state| {
        Command::App(AppCommand::SetColors(Colors { by: ColorBy::Category, ..state.colors }))
    })
    .checked(|state| state.colors.by == ColorBy::Category),
    entry(Menu::View, "Colour by thread", &[], When::Always, |state| {
        Command::App(AppCommand::SetColors(Colors { by: ColorBy::Track, ..state.colors }))
    })
    .checked(|state| state.colors.by == ColorBy::Track),
    entry(Menu::View, "Colour by duration", &[], When::Always, |state| {
        Command::App(AppCommand::SetColors(Colors { by: ColorBy::Duration, ..state.colors }))
    })
    .checked(|state| state.colors.by == ColorBy::Duration),
    entry(Menu::View, "Colour-blind-safe palette", &[], When::Always, |state| {
        let hues = if state.colors.hues == Hues::ColorBlind { Hues::Usual } else { Hues::ColorBlind };
        Command::App(AppCommand::SetColors(Colors { hues, ..state.colors }))
    })
    .checked(|state| state.colors.hues == Hues::ColorBlind),
    entry(Menu::View, "Larger text", &[ctrl(Key::Plus), ctrl(Key::Equals)], When::Always, |state| {
        Command::App(AppCommand::SetTextPercent((state.text_percent + 10).min(TEXT_PERCENT_MAX)))
    })
    .section(),
    entry(Menu::View, "Smaller text", &[ctrl(Key::Minus)], When::Always, |state| {
        Command::App(AppCommand::SetTextPercent((state.text_percent - 10).max(TEXT_PERCENT_MIN)))
    }),
    entry(Menu::View, "Normal text", &[ctrl(Key::Num0)], When::Always, |_| {
        Command::App(AppCommand::SetTextPercent(100))
    }),
    entry(Menu::Go, "Back", &[alt(Key::ArrowLeft)], When::Capture, |_| {
        Command::Timeline(TimelineCommand::Step(NavigationStep::Back))
    }),
    entry(Menu::Go, "Forward", &[alt(Key::ArrowRight)], When::Capture, |_| {
        Command::Timeline(TimelineCommand::Step(NavigationStep::Forward))
    }),
    entry(Menu::Go, "Previous span", &[plain(Key::OpenBracket), plain(Key::Comma)], When::Capture, |_| {
        Command::Timeline(TimelineCommand::Step(NavigationStep::Previous))
    })
    .section(),
    entry(Menu::Go, "Next span", &[plain(Key::CloseBracket), plain(Key::Period)], When::Capture, |_| {
        Command::Timeline(TimelineCommand::Step(NavigationStep::Next))
    }),
    entry(Menu::Go, "Parent span", &[plain(Key::ArrowUp)], When::Capture, |_| {
        Command::Timeline(TimelineCommand::Step(NavigationStep::Parent))
    }),
    entry(Menu::Go, "Longest span inside", &[plain(Key::ArrowDown)], When::Capture, |_| {
        Command::Timeline(TimelineCommand::Step(NavigationStep::Child))
    }),
    entry(Menu::Go, "Clear selection", &[plain(Key::Escape)], When::Clearable, |_| {
        Command::Timeline(TimelineCommand::Step(NavigationStep::LetGo))
    }),
    entry(Menu::Go, "Follow, or pause", &[plain(Key::Space)], When::Live, |_| {
        Command::App(AppCommand::Live(LiveCommand::FollowOrPause))
    })
    .section()
    .hint("Of a trace that still runs: what comes is at the right edge, or the picture stands still"),
    entry(Menu::Go, "Pause the picture", &[], When::Live, |_| Command::App(AppCommand::Live(LiveCommand::TogglePause)))
        .checked(|state| state.is_paused)
        .hint("What comes is kept all the same"),
    entry(Menu::Go, "Stop following", &[], When::Live, |_| Command::App(AppCommand::Live(LiveCommand::Stop)))
        .hint("Ends the sources, and sorts everything that came"),
    entry(Menu::Go, "Search...", &[ctrl(Key::F)], When::Capture, |_| Command::Panel(PanelCommand::Search)).section(),
    entry(Menu::Go, "Next hit", &[plain(Key::F3)], When::Capture, |_| {
        Command::Panel(PanelCommand::GoToHit { forward: true })
    }),
    entry(Menu::Go, "Previous hit", &[shift(Key::F3)], When::Capture, |_| {
        Command::Panel(PanelCommand::GoToHit { forward: false })
    }),
    entry(Menu::Go, "Earlier", &[plain(Key::ArrowLeft)], When::Capture, |_| {
        Command::Timeline(TimelineCommand::Step(NavigationStep::Left))
    })
    .section(),
    entry(Menu::Go, "Later", &[plain(Key::ArrowRight)], When::Capture, |_| {
        Command::Timeline(TimelineCommand::Step(NavigationStep::Right))
    }),
    entry(Menu::Go, "Rows above", &[shift(Key::ArrowUp)], When::Capture, |_| {
        Command::Timeline(TimelineCommand::Step(NavigationStep::Up))
    }),
    entry(Menu::Go, "Rows below", &[shift(Key::ArrowDown)], When::Capture, |_| {
        Command::Timeline(TimelineCommand::Step(NavigationStep::Down))
    }),
    entry(Menu::Go, "Page up", &[plain(Key::PageUp)], When::Capture, |_| {
        Command::Timeline(TimelineCommand::Step(NavigationStep::PageUp))
    }),
    entry(Menu::Go, "Page down", &[plain(Key::PageDown)], When::Capture, |_| {
        Command::Timeline(TimelineCommand::Step(NavigationStep::PageDown))
    }),
    entry(Menu::Go, "Next tab", &[ctrl(Key::Tab), ctrl(Key::PageDown)], When::Tabs, |_| Command::Tab(TabCommand::Next))
        .section(),
    entry(Menu::Go, "Previous tab", &[ctrl_shift(Key::Tab), ctrl(Key::PageUp)], When::Tabs, |_| {
        Command::Tab(TabCommand::Previous)
    })
    .followed_by(MenuList::SavedScopes),
    entry(Menu::Rows, "Filter tracks", &[ctrl_shift(Key::F)], When::Capture, |_| {
        Command::Timeline(TimelineCommand::Rows(RowCommand::FocusFilter))
    }),
    entry(Menu::Rows, "Fold or unfold the track", &[plain(Key::Space)], When::StillSpan, |_| {
        Command::Timeline(TimelineCommand::Rows(RowCommand::ToggleFoldOfSelected))
    })
    .section(),
    entry(Menu::Rows, "Pin or unpin the track", &[plain(Key::P)], When::Span, |_| {
        Command::Timeline(TimelineCommand::Rows(RowCommand::TogglePinOfSelected))
    }),
    entry(Menu::Rows, "Fold all processes", &[ctrl(Key::OpenBracket)], When::Capture, |_| {
        Command::Timeline(TimelineCommand::Rows(RowCommand::FoldAll(true)))
    }),
    entry(Menu::Rows, "Unfold all", &[ctrl(Key::CloseBracket)], When::Capture, |_| {
        Command::Timeline(TimelineCommand::Rows(RowCommand::FoldAll(false)))
    }),
    entry(Menu::Rows, "Show only the tracks of the scope", &[], When::ScopeTracks, |_| {
        Command::Timeline(TimelineCommand::Rows(RowCommand::ShowOnlyScope))
    }),
    entry(Menu::Rows, "Show hidden tracks", &[], When::Hidden, |_| {
        Command::Timeline(TimelineCommand::Rows(RowCommand::ShowHidden))
    }),
    entry(Menu::Rows, "Derive rate of the scope", &[], When::Capture, |_| derive(DerivedKind::Rate))
        .section()
        .hint("A track of how many rows of the scope start a second"),
    entry(Menu::Rows, "Derive concurrency of the scope", &[], When::Capture, |_| derive(DerivedKind::Concurrency))
        .hint("A track of how many spans of the scope are open at one time"),
    entry(Menu::Rows, "Derive longest duration of the scope", &[], When::Capture, |_| derive(DerivedKind::MaxDuration)),
    entry(Menu::Rows, "Derived tracks", &[], When::Capture, |_| Command::App(AppCommand::Toggle(ToolWindow::Derived)))
        .hint("Tracks of any filter: rate, count, concurrency, longest duration, sum of an argument"),
    entry(Menu::Rows, "Trace order", &[], When::Capture, |_| {
        Command::Timeline(TimelineCommand::Rows(RowCommand::Order(TrackOrder::Captured)))
    })
    .section()
    .checked(|state| state.order == TrackOrder::Captured),
    entry(Menu::Rows, "Order by name", &[], When::Capture, |_| {
        Command::Timeline(TimelineCommand::Rows(RowCommand::Order(TrackOrder::Name)))
    })
    .checked(|state| state.order == TrackOrder::Name),
    entry(Menu::Rows, "Order by first event", &[], When::Capture, |_| {
        Command::Timeline(TimelineCommand::Rows(RowCommand::Order(TrackOrder::FirstEvent)))
    })
    .checked(|state| state.order == TrackOrder::FirstEvent),
    entry(Menu::Rows, "Order by number of events", &[], When::Capture, |_| {
        Command::Timeline(TimelineCommand::Rows(RowCommand::Order(TrackOrder::Activity)))
    })
    .checked(|state| state.order == TrackOrder::Activity),
    entry(Menu::Rows, "Order by longest span", &[], When::Capture, |_| {
        Command::Timeline(TimelineCommand::Rows(RowCommand::Order(TrackOrder::Longest)))
    })
    .checked(|state| state.order == TrackOrder::Longest),
    entry(Menu::Rows, "Compact tracks", &[], When::Always, |_| {
        Command::App(AppCommand::SetDensity(TrackDensity::Compact))
    })
    .section()
    .checked(|state| state.density == TrackDensity::Compact),
    entry(Menu::Rows, "Normal tracks", &[], When::Always, |_| {
        Command::App(AppCommand::SetDensity(TrackDensity::Normal))
    })
    .checked(|state| state.density == TrackDensity::Normal),
    entry(Menu::Rows, "Tall tracks", &[], When::Always, |_| Command::App(AppCommand::SetDensity(TrackDensity::Tall)))
        .checked(|state| state.density == TrackDensity::Tall),
    entry(Menu::Marks, "Add marker", &[plain(Key::M)], When::Capture, |_| {
        Command::Timeline(TimelineCommand::Bookmark(BookmarkCommand::Add))
    }),
    entry(Menu::Marks, "Next marker", &[plain(Key::N)], When::Marks(1), |_| {
        Command::Timeline(TimelineCommand::Bookmark(BookmarkCommand::Next(true)))
    }),
    entry(Menu::Marks, "Previous marker", &[shift(Key::N)], When::Marks(1), |_| {
        Command::Timeline(TimelineCommand::Bookmark(BookmarkCommand::Next(false)))
    }),
    entry(Menu::Marks, "Measure between the last two", &[shift(Key::M)], When::Marks(2), |_| {
        Command::Timeline(TimelineCommand::Bookmark(BookmarkCommand::Measure))
    }),
    entry(Menu::Marks, "Markers", &[ctrl(Key::M)], When::Capture, |_| {
        Command::App(AppCommand::Toggle(ToolWindow::Bookmarks))
    }),
    entry(Menu::Marks, "Ruler from the start of the trace", &[], When::Capture, |_| {
        Command::Timeline(TimelineCommand::Bookmark(BookmarkCommand::Origin(RulerOrigin::Start)))
    })
    .section()
    .checked(|state| state.ruler_origin == RulerOrigin::Start),
    entry(Menu::Marks, "Ruler from the chosen marker", &[], When::Marks(1), |_| {
        Command::Timeline(TimelineCommand::Bookmark(BookmarkCommand::Origin(RulerOrigin::Mark)))
    })
    .checked(|state| state.ruler_origin == RulerOrigin::Mark),
    entry(Menu::Marks, "Ruler by the trace's clock", &[], When::Capture, |_| {
        Command::Timeline(TimelineCommand::Bookmark(BookmarkCommand::Origin(RulerOrigin::Clock)))
    })
    .checked(|state| state.ruler_origin == RulerOrigin::Clock),
    entry(Menu::Marks, "Ruler by the time of day (UTC)", &[], When::Utc, |_| {
        Command::Timeline(TimelineCommand::Bookmark(BookmarkCommand::Origin(RulerOrigin::Utc)))
    })
    .checked(|state| state.ruler_origin == RulerOrigin::Utc),
    entry(Menu::Settings, "Dark theme", &[], When::Always, |_| Command::App(AppCommand::SetShade(Some(Shade::Dark))))
        .checked(|state| state.shade == Some(Shade::Dark)),
    entry(Menu::Settings, "Light theme", &[], When::Always, |_| Command::App(AppCommand::SetShade(Some(Shade::Light))))
        .checked(|state| state.shade == Some(Shade::Light)),
    entry(Menu::Settings, "Theme of the desktop", &[], When::Always, |_| Command::App(AppCommand::SetShade(None)))
        .checked(|state| state.shade.is_none()),
    entry(Menu::Settings, "Wheel scrolls, Ctrl + wheel zooms", &[], When::Always, |state| {
        Command::App(AppCommand::SetNavigation(Navigation { wheel: Wheel::Scrolls, ..state.navigation }))
    })
    .section()
    .checked(|state| state.navigation.wheel == Wheel::Scrolls),
    entry(Menu::Settings, "Wheel zooms, Ctrl + wheel scrolls", &[], When::Always, |state| {
        Command::App(AppCommand::SetNavigation(Navigation { wheel: Wheel::Zooms, ..state.navigation }))
    })
    .checked(|state| state.navigation.wheel == Wheel::Zooms),
    entry(Menu::Settings, "Kinetic panning", &[], When::Always, |state| {
        Command::App(AppCommand::SetNavigation(Navigation { inertia: !state.navigation.inertia, ..state.navigation }))
    })
    .section()
    .checked(|state| state.navigation.inertia),
    entry(Menu::Settings, "Animate zoom", &[], When::Always, |state| {
        Command::App(AppCommand::SetNavigation(Navigation {
            animation: !state.navigation.animation,
            ..state.navigation
        }))
    })
    .checked(|state| state.navigation.animation),
    entry(Menu::Settings, "Preferences...", &[ctrl(Key::Comma)], When::Always, |_| {
        Command::App(AppCommand::Toggle(ToolWindow::Preferences))
    })
    .section(),
    entry(Menu::Help, "Commands...", &[ctrl_shift(Key::P)], When::Always, |_| Command::App(AppCommand::ShowCommands)),
    entry(Menu::Help, "Keys", &[plain(Key::Questionmark), plain(Key::F1)], When::Always, |_| {
        Command::App(AppCommand::Toggle(ToolWindow::Keys))
    }),
    entry(Menu::Help, "About Longspan", &[], When::Always, |_| Command::App(AppCommand::Toggle(ToolWindow::About)))
        .section(),
];

/// Gestures and held keys: no commands, but the list of keys shows them, too.
pub(crate) const GESTURES: &[(&str, &str)] = &[
    ("Drag", "Move in time and through the tracks"),
    ("Shift + drag", "Select time and the tracks that it crosses: the scope"),
    ("Drag on the ruler, middle drag", "Select time on all tracks; a drag on an edge moves it"),
    ("Ctrl + click on a name", "Take the tracks into the scope, or out of it"),
    ("Ctrl + drag", "Move the tracks of a file in time, where several are open"),
    ("Wheel", "Scroll the tracks, or zoom: see Settings"),
    ("Ctrl + wheel, pinch", "Zoom at the pointer"),
    ("Shift + wheel", "Move in time"),
    ("Click, double click", "Select a span, fill the view with it"),
    ("Right click", "What can be done with the span, the selected time, the track"),
    ("W  S", "Zoom in and out at the pointer while held"),
    ("A  D", "Move in time while held"),
    ("Middle click on a tab", "Close it"),
    ("Click on a name", "Fold or unfold; the right button does more"),
];

/// The name of a key on the keyboard.
#[must_use]
pub(crate) fn key_text(ctx: &egui::Context, key: KeyboardShortcut) -> String {
    let text = ctx.format_shortcut(&key);
    let names = [
        ("Plus", "+"),
        ("Minus", "-"),
        ("Equals", "="),
        ("OpenBracket", "["),
        ("CloseBracket", "]"),
        ("Comma", ","),
        ("Period", "."),
        ("Questionmark", "?"),
    ];
    names.into_iter().fold(text, |text, (name, sign)| text.replace(name, sign))
}

/// The name of the first key of the command with this title; empty where it has none.
#[must_use]
pub(crate) fn key_of(ctx: &egui::Context, title: &str) -> String {
    let entry = TABLE.iter().find(|entry| entry.title == title);
    entry.and_then(|entry| entry.keys.first()).map(|key| key_text(ctx, *key)).unwrap_or_default()
}

#[cfg(test)]
mod tests;

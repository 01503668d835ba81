//! The command table: every command with its title and keys. The menus, the palette, the shortcuts and the list of keys
//! are all built from it, so they always agree.

mod entry;
mod menus;

use egui::{Key, KeyboardShortcut, Modifiers};

pub(crate) use entry::{
    CommandEntry, DockState, EditState, NO_MARKER, NO_UTC, ReloadState, ScopeState, SelectedState, ShownSettings,
    TabsState, TimelineState, TraceState, UiState, with_disabled_reason,
};
use entry::{When, alt, ctrl, ctrl_shift, entry, plain, shift};
pub(crate) use menus::{Menu, MenuList};

use crate::base::direction::Direction;
use crate::export::ExportFormat;
use crate::query::derived::DerivedKind;
use crate::scene::arrange::TrackOrder;
use crate::scene::color::Shade;
use crate::scene::counter_form::CounterForm;
use crate::scene::palette::{ColorBy, Colors, Hues};
use crate::scene::rows::TrackDensity;
use crate::ui::command::{
    AppCommand, BookmarkCommand, Command, CustomGroupCommand, DerivedCommand, LiveCommand, NavigationStep,
    PanelCommand, RowCommand, SettingCommand, TabCommand, TimelineCommand, ToolWindow,
};
use crate::ui::panel::Panel;
use crate::ui::purpose::{PictureSize, Purpose};
use crate::ui::settings::{Navigation, RulerOrigin, Wheel};

/// Smallest font size, in percent of the default.
pub(crate) const TEXT_PERCENT_MIN: u16 = 60;
/// Largest font size, in percent of the default.
pub(crate) const TEXT_PERCENT_MAX: u16 = 200;

/// Draws the counters of the scope in one row.
fn counters(is_stacked: bool) -> Command {
    Command::Timeline(TimelineCommand::Rows(RowCommand::OverlayCounters { of: None, is_stacked }))
}

/// Draws the counters of the scope in a form.
fn counter_form(form: CounterForm) -> Command {
    Command::Timeline(TimelineCommand::Rows(RowCommand::ShowCountersAs(form)))
}

fn group(command: CustomGroupCommand) -> Command {
    Command::Timeline(TimelineCommand::Rows(RowCommand::Group(command)))
}

fn derive(kind: DerivedKind) -> Command {
    Command::Timeline(TimelineCommand::Derived(DerivedCommand::AddOfScope(kind)))
}

/// The origins of the ruler with their titles, for the menus of the window and of the ruler.
pub(crate) const RULER_ORIGINS: [(RulerOrigin, &str); 4] = [
    (RulerOrigin::Start, "Ruler from the start of the trace"),
    (RulerOrigin::Mark, "Ruler from the chosen marker"),
    (RulerOrigin::Clock, "Ruler by the trace's clock"),
    (RulerOrigin::Utc, "Ruler by the time of day (UTC)"),
];

/// Clipboard shortcuts, which a text field with the focus takes first.
pub(crate) const COPY: KeyboardShortcut = ctrl(Key::C);
pub(crate) const PASTE: KeyboardShortcut = ctrl(Key::V);

/// All commands, in menu order.
pub(crate) const TABLE: &[CommandEntry] = &[
    entry(Menu::File, "Open...", &[ctrl(Key::O)], When::Always, |_| Command::App(AppCommand::Choose(Purpose::Open)))
        .followed_by(MenuList::Recent),
    entry(Menu::File, "Open by path...", &[], When::Always, |_| Command::App(AppCommand::ShowPicker)),
    entry(Menu::File, "Open path from clipboard", &[PASTE], When::Always, |_| Command::App(AppCommand::Paste)),
    entry(Menu::File, "Follow...", &[], When::Always, |_| Command::App(AppCommand::Choose(Purpose::Follow)))
        .hint("Shows a trace while it is still written; opens it when that ends"),
    entry(Menu::File, "Reload", &[], When::Reloadable, |_| Command::App(AppCommand::OpenAgain))
        .hint("Opens the files of the trace again, as they are now"),
    entry(Menu::File, "Open a demo", &[], When::Always, |_| Command::App(AppCommand::OpenDemo)),
    entry(Menu::File, "Close the tab", &[ctrl(Key::W)], When::Closable, |_| Command::Tab(TabCommand::Close)),
    entry(Menu::File, "Reopen closed tab", &[ctrl_shift(Key::T)], When::Reopenable, |_| {
        Command::Tab(TabCommand::Reopen)
    }),
    entry(Menu::File, "Export sorted trace...", &[ctrl(Key::S)], When::Export, |_| {
        Command::App(AppCommand::Choose(Purpose::Export(ExportFormat::NATIVE)))
    })
    .hint("With its index: opens faster, but is two to ten times as large")
    .within("Export")
    .section(),
    entry(Menu::File, "Export sorted trace, compact...", &[], When::Export, |_| {
        Command::App(AppCommand::Choose(Purpose::Export(ExportFormat::Native { compact: true })))
    })
    .hint("Without its index, which is rebuilt when it is opened: mostly less than half the size")
    .within("Export"),
    entry(Menu::File, "Export as Chrome JSON...", &[], When::Export, |_| {
        Command::App(AppCommand::Choose(Purpose::Export(ExportFormat::ChromeJson { gzip: false })))
    })
    .within("Export"),
    entry(Menu::File, "Export as Perfetto trace...", &[], When::Export, |_| {
        Command::App(AppCommand::Choose(Purpose::Export(ExportFormat::Perfetto)))
    })
    .within("Export"),
    entry(Menu::File, "Export spans as CSV...", &[], When::Export, |_| {
        Command::App(AppCommand::Choose(Purpose::Export(ExportFormat::CSV)))
    })
    .within("Export"),
    entry(Menu::File, "Export tables as Parquet...", &[], When::Export, |_| {
        Command::App(AppCommand::Choose(Purpose::Export(ExportFormat::Parquet { by_process: false })))
    })
    .within("Export"),
    entry(Menu::File, "Export selection...", &[], When::ExportScope, |_| {
        Command::App(AppCommand::Choose(Purpose::ExportSelected))
    })
    .within("Export"),
    entry(Menu::File, "Export image...", &[ctrl_shift(Key::S)], When::Trace, |_| {
        Command::App(AppCommand::Choose(Purpose::Picture(PictureSize::AsShown)))
    })
    .within("Export image"),
    entry(Menu::File, "Export image @2x...", &[], When::Trace, |_| {
        Command::App(AppCommand::Choose(Purpose::Picture(PictureSize::Doubled)))
    })
    .within("Export image"),
    entry(Menu::File, "Export image of the window...", &[], When::Always, |_| {
        Command::App(AppCommand::Choose(Purpose::WindowPicture))
    })
    .within("Export image"),
    entry(Menu::File, "Quit", &[ctrl(Key::Q)], When::Always, |_| Command::App(AppCommand::Quit)).section(),
    entry(Menu::Edit, "Undo", &[ctrl(Key::Z)], When::Undoable, |_| Command::Timeline(TimelineCommand::UndoEdit))
        .hint(
            "Of markers, saved scopes, groups, derived, hidden, pinned and ordered tracks, and how counters are drawn",
        )
        .about(|state| state.edits.undoable),
    entry(Menu::Edit, "Redo", &[ctrl_shift(Key::Z), ctrl(Key::Y)], When::Redoable, |_| {
        Command::Timeline(TimelineCommand::RedoEdit)
    })
    .about(|state| state.edits.redoable),
    entry(Menu::Edit, "Copy the span", &[COPY], When::Span, |_| Command::App(AppCommand::CopySpan)).section(),
    entry(Menu::Edit, "Copy the statistics as CSV", &[], When::Table, |state| {
        Command::App(AppCommand::CopyTable(state.dock.statistics.unwrap_or(Panel::Statistics.into())))
    }),
    entry(Menu::Edit, "Clear selection", &[plain(Key::Escape)], When::Clearable, |_| {
        Command::Timeline(TimelineCommand::Step(NavigationStep::ClearSelection))
    }),
    entry(Menu::Edit, "Search...", &[ctrl(Key::F)], When::Trace, |_| Command::Panel(PanelCommand::Search)).section(),
    entry(Menu::Edit, "Next hit", &[plain(Key::F3)], When::Hits, |_| {
        Command::Panel(PanelCommand::GoToHit(Direction::Forward))
    })
    .within("Go to hit"),
    entry(Menu::Edit, "Previous hit", &[shift(Key::F3)], When::Hits, |_| {
        Command::Panel(PanelCommand::GoToHit(Direction::Backward))
    })
    .within("Go to hit"),
    entry(Menu::Edit, "Add marker", &[plain(Key::M)], When::Trace, |_| {
        Command::Timeline(TimelineCommand::Bookmark(BookmarkCommand::Add))
    })
    .section(),
    entry(Menu::Edit, "Next marker", &[plain(Key::N)], When::Marks, |_| {
        Command::Timeline(TimelineCommand::Bookmark(BookmarkCommand::Next(Direction::Forward)))
    })
    .within("Go to marker"),
    entry(Menu::Edit, "Previous marker", &[shift(Key::N)], When::Marks, |_| {
        Command::Timeline(TimelineCommand::Bookmark(BookmarkCommand::Next(Direction::Backward)))
    })
    .within("Go to marker"),
    entry(Menu::Edit, "Measure between the last two", &[shift(Key::M)], When::Measurable, |_| {
        Command::Timeline(TimelineCommand::Bookmark(BookmarkCommand::Measure))
    }),
    entry(Menu::Edit, "Markers", &[ctrl(Key::M)], When::Trace, |_| {
        Command::App(AppCommand::Toggle(ToolWindow::Bookmarks))
    }),
    entry(Menu::Edit, "Preferences...", &[ctrl(Key::Comma)], When::Always, |_| {
        Command::App(AppCommand::Toggle(ToolWindow::Preferences))
    })
    .section(),
    entry(Menu::View, "Whole trace", &[plain(Key::Home), plain(Key::Num0)], When::Trace, |_| {
        Command::Timeline(TimelineCommand::Step(NavigationStep::Whole))
    }),
    entry(Menu::View, "Fit selection", &[plain(Key::F)], When::Selection, |_| {
        Command::Timeline(TimelineCommand::Step(NavigationStep::Selection))
    }),
    entry(Menu::View, "Zoom in", &[plain(Key::Plus), plain(Key::Equals)], When::Trace, |_| {
        Command::Timeline(TimelineCommand::Step(NavigationStep::ZoomIn))
    }),
    entry(Menu::View, "Zoom out", &[plain(Key::Minus)], When::Trace, |_| {
        Command::Timeline(TimelineCommand::Step(NavigationStep::ZoomOut))
    }),
    entry(Menu::View, "Next panel", &[plain(Key::F6)], When::Trace, |_| {
        Command::Panel(PanelCommand::NextPanel(Direction::Forward))
    })
    .within("Panels")
    .section(),
    entry(Menu::View, "Previous panel", &[shift(Key::F6)], When::Trace, |_| {
        Command::Panel(PanelCommand::NextPanel(Direction::Backward))
    })
    .within("Panels"),
    entry(Menu::View, "Maximize panel", &[], When::Trace, |_| Command::Panel(PanelCommand::ToggleFull))
        .hint("Gives it the full height; Esc restores it")
        .within("Panels"),
    entry(Menu::View, "Pin panel", &[], When::Pinnable, |_| Command::Panel(PanelCommand::TogglePin))
        .checked(|state| state.dock.is_pinned)
        .hint("Keeps its scope; opening the panel again adds a tab")
        .within("Panels"),
    entry(Menu::View, "Colour by name", &[], When::Always, |state| {
        Command::Setting(SettingCommand::Colors(Colors { by: ColorBy::Name, ..state.settings.colors }))
    })
    .checked(|state| state.settings.colors.by == ColorBy::Name)
    .within("Colours")
    .section(),
    entry(Menu::View, "Colour by category", &[], When::Always, |state| {
        Command::Setting(SettingCommand::Colors(Colors { by: ColorBy::Category, ..state.settings.colors }))
    })
    .checked(|state| state.settings.colors.by == ColorBy::Category)
    .within("Colours"),
    entry(Menu::View, "Colour by thread", &[], When::Always, |state| {
        Command::Setting(SettingCommand::Colors(Colors { by: ColorBy::Track, ..state.settings.colors }))
    })
    .checked(|state| state.settings.colors.by == ColorBy::Track)
    .within("Colours"),
    entry(Menu::View, "Colour by duration", &[], When::Always, |state| {
        Command::Setting(SettingCommand::Colors(Colors { by: ColorBy::Duration, ..state.settings.colors }))
    })
    .checked(|state| state.settings.colors.by == ColorBy::Duration)
    .within("Colours"),
    entry(Menu::View, "Colour-blind-safe palette", &[], When::Always, |state| {
        let hues = if state.settings.colors.hues == Hues::ColorBlind { Hues::Usual } else { Hues::ColorBlind };
        Command::Setting(SettingCommand::Colors(Colors { hues, ..state.settings.colors }))
    })
    .checked(|state| state.settings.colors.hues == Hues::ColorBlind)
    .within("Colours"),
    entry(Menu::View, "Dark theme", &[], When::Always, |_| Command::Setting(SettingCommand::Shade(Some(Shade::Dark))))
        .checked(|state| state.settings.shade == Some(Shade::Dark))
        .within("Theme"),
    entry(Menu::View, "Light theme", &[], When::Always, |_| {
        Command::Setting(SettingCommand::Shade(Some(Shade::Light)))
    })
    .checked(|state| state.settings.shade == Some(Shade::Light))
    .within("Theme"),
    entry(Menu::View, "Follow system theme", &[], When::Always, |_| Command::Setting(SettingCommand::Shade(None)))
        .checked(|state| state.settings.shade.is_none())
        .within("Theme"),
    entry(Menu::View, RULER_ORIGINS[0].1, &[], When::Trace, |_| {
        Command::Timeline(TimelineCommand::Bookmark(BookmarkCommand::Origin(RulerOrigin::Start)))
    })
    .checked(|state| state.timeline.ruler_origin == RulerOrigin::Start)
    .within("Ruler"),
    entry(Menu::View, RULER_ORIGINS[1].1, &[], When::Marks, |_| {
        Command::Timeline(TimelineCommand::Bookmark(BookmarkCommand::Origin(RulerOrigin::Mark)))
    })
    .checked(|state| state.timeline.ruler_origin == RulerOrigin::Mark)
    .within("Ruler"),
    entry(Menu::View, RULER_ORIGINS[2].1, &[], When::Trace, |_| {
        Command::Timeline(TimelineCommand::Bookmark(BookmarkCommand::Origin(RulerOrigin::Clock)))
    })
    .checked(|state| state.timeline.ruler_origin == RulerOrigin::Clock)
    .within("Ruler"),
    entry(Menu::View, RULER_ORIGINS[3].1, &[], When::Utc, |_| {
        Command::Timeline(TimelineCommand::Bookmark(BookmarkCommand::Origin(RulerOrigin::Utc)))
    })
    .checked(|state| state.timeline.ruler_origin == RulerOrigin::Utc)
    .within("Ruler"),
    entry(Menu::View, "Compact tracks", &[], When::Always, |_| {
        Command::Setting(SettingCommand::Density(TrackDensity::Compact))
    })
    .checked(|state| state.settings.density == TrackDensity::Compact)
    .within("Track height"),
    entry(Menu::View, "Normal tracks", &[], When::Always, |_| {
        Command::Setting(SettingCommand::Density(TrackDensity::Normal))
    })
    .checked(|state| state.settings.density == TrackDensity::Normal)
    .within("Track height"),
    entry(Menu::View, "Tall tracks", &[], When::Always, |_| {
        Command::Setting(SettingCommand::Density(TrackDensity::Tall))
    })
    .checked(|state| state.settings.density == TrackDensity::Tall)
    .within("Track height"),
    entry(Menu::View, "Larger text", &[ctrl(Key::Plus), ctrl(Key::Equals)], When::Always, |state| {
        Command::Setting(SettingCommand::TextPercent(state.settings.text_percent.saturating_add(10)))
    })
    .within("Font size"),
    entry(Menu::View, "Smaller text", &[ctrl(Key::Minus)], When::Always, |state| {
        Command::Setting(SettingCommand::TextPercent(state.settings.text_percent.saturating_sub(10)))
    })
    .within("Font size"),
    entry(Menu::View, "Normal text", &[ctrl(Key::Num0)], When::Always, |_| {
        Command::Setting(SettingCommand::TextPercent(100))
    })
    .within("Font size"),
    entry(Menu::View, "Wheel scrolls, Ctrl + wheel zooms", &[], When::Always, |state| {
        Command::Setting(SettingCommand::Navigation(Navigation { wheel: Wheel::Scrolls, ..state.settings.navigation }))
    })
    .checked(|state| state.settings.navigation.wheel == Wheel::Scrolls)
    .within("Navigation")
    .section(),
    entry(Menu::View, "Wheel zooms, Ctrl + wheel scrolls", &[], When::Always, |state| {
        Command::Setting(SettingCommand::Navigation(Navigation { wheel: Wheel::Zooms, ..state.settings.navigation }))
    })
    .checked(|state| state.settings.navigation.wheel == Wheel::Zooms)
    .within("Navigation"),
    entry(Menu::View, "Kinetic panning", &[], When::Always, |state| {
        Command::Setting(SettingCommand::Navigation(Navigation {
            inertia: !state.settings.navigation.inertia,
            ..state.settings.navigation
        }))
    })
    .checked(|state| state.settings.navigation.inertia)
    .within("Navigation"),
    entry(Menu::View, "Animate zoom", &[], When::Always, |state| {
        Command::Setting(SettingCommand::Navigation(Navigation {
            animation: !state.settings.navigation.animation,
            ..state.settings.navigation
        }))
    })
    .checked(|state| state.settings.navigation.animation)
    .within("Navigation"),
    entry(Menu::Go, "Back", &[alt(Key::ArrowLeft)], When::Past, |_| {
        Command::Timeline(TimelineCommand::Step(NavigationStep::Back))
    }),
    entry(Menu::Go, "Forward", &[alt(Key::ArrowRight)], When::Future, |_| {
        Command::Timeline(TimelineCommand::Step(NavigationStep::Forward))
    }),
    entry(Menu::Go, "Go to time...", &[], When::Times, |_| Command::App(AppCommand::ShowGoToTime))
        .hint("Such as 1.5 s on the ruler, or +1.5 s from the start of the trace"),
    entry(Menu::Go, "Previous span", &[plain(Key::OpenBracket), plain(Key::Comma)], When::Trace, |_| {
        Command::Timeline(TimelineCommand::Step(NavigationStep::Previous))
    })
    .section(),
    entry(Menu::Go, "Next span", &[plain(Key::CloseBracket), plain(Key::Period)], When::Trace, |_| {
        Command::Timeline(TimelineCommand::Step(NavigationStep::Next))
    }),
    entry(Menu::Go, "Parent span", &[plain(Key::ArrowUp)], When::Trace, |_| {
        Command::Timeline(TimelineCommand::Step(NavigationStep::Parent))
    }),
    entry(Menu::Go, "Longest child", &[plain(Key::ArrowDown)], When::Trace, |_| {
        Command::Timeline(TimelineCommand::Step(NavigationStep::Child))
    }),
    entry(Menu::Go, "Previous of this name", &[ctrl(Key::ArrowUp)], When::Span, |_| {
        Command::Panel(PanelCommand::GoToSameName(Direction::Backward))
    })
    .hint("The last span of the same name before the selected one, on any track")
    .within("Name and flow"),
    entry(Menu::Go, "Next of this name", &[ctrl(Key::ArrowDown)], When::Span, |_| {
        Command::Panel(PanelCommand::GoToSameName(Direction::Forward))
    })
    .hint("The first span of the same name after the selected one, on any track")
    .within("Name and flow"),
    entry(Menu::Go, "Previous in flow", &[alt(Key::OpenBracket)], When::FlowBefore, |_| {
        Command::Timeline(TimelineCommand::Step(NavigationStep::PreviousInFlow))
    })
    .hint("The span that the last incoming flow leaves, or that woke the selected one")
    .within("Name and flow"),
    entry(Menu::Go, "Next in flow", &[alt(Key::CloseBracket)], When::FlowAfter, |_| {
        Command::Timeline(TimelineCommand::Step(NavigationStep::NextInFlow))
    })
    .hint("The span at which the first outgoing flow arrives")
    .within("Name and flow"),
    entry(Menu::Go, "Earlier", &[plain(Key::ArrowLeft)], When::Trace, |_| {
        Command::Timeline(TimelineCommand::Step(NavigationStep::Left))
    })
    .within("Move")
    .section(),
    entry(Menu::Go, "Later", &[plain(Key::ArrowRight)], When::Trace, |_| {
        Command::Timeline(TimelineCommand::Step(NavigationStep::Right))
    })
    .within("Move"),
    entry(Menu::Go, "Rows above", &[shift(Key::ArrowUp)], When::Trace, |_| {
        Command::Timeline(TimelineCommand::Step(NavigationStep::Up))
    })
    .within("Move"),
    entry(Menu::Go, "Rows below", &[shift(Key::ArrowDown)], When::Trace, |_| {
        Command::Timeline(TimelineCommand::Step(NavigationStep::Down))
    })
    .within("Move"),
    entry(Menu::Go, "Page up", &[plain(Key::PageUp)], When::Trace, |_| {
        Command::Timeline(TimelineCommand::Step(NavigationStep::PageUp))
    })
    .within("Move"),
    entry(Menu::Go, "Page down", &[plain(Key::PageDown)], When::Trace, |_| {
        Command::Timeline(TimelineCommand::Step(NavigationStep::PageDown))
    })
    .within("Move"),
    entry(Menu::Go, "Follow, or pause", &[plain(Key::Space)], When::Live, |_| {
        Command::App(AppCommand::Live(LiveCommand::FollowOrPause))
    })
    .hint("For a live trace: keep the newest data at the right edge, or hold the view still")
    .within("Live"),
    entry(Menu::Go, "Pause the display", &[], When::Live, |_| Command::App(AppCommand::Live(LiveCommand::TogglePause)))
        .checked(|state| state.trace.is_paused)
        .hint("Data is still being received")
        .within("Live"),
    entry(Menu::Go, "Stop following", &[], When::Live, |_| Command::App(AppCommand::Live(LiveCommand::Stop)))
        .hint("Ends the sources and sorts all received data")
        .within("Live"),
    entry(Menu::Go, "Next tab", &[ctrl(Key::Tab), ctrl(Key::PageDown)], When::Tabs, |_| Command::Tab(TabCommand::Next))
        .section(),
    entry(Menu::Go, "Previous tab", &[ctrl_shift(Key::Tab), ctrl(Key::PageUp)], When::Tabs, |_| {
        Command::Tab(TabCommand::Previous)
    })
    .followed_by(MenuList::SavedScopes),
    entry(Menu::Rows, "Filter tracks", &[ctrl_shift(Key::F)], When::Trace, |_| {
        Command::Timeline(TimelineCommand::Rows(RowCommand::FocusFilter))
    }),
    entry(Menu::Rows, "Fold or unfold the track", &[plain(Key::Space)], When::StillSpan, |_| {
        Command::Timeline(TimelineCommand::Rows(RowCommand::ToggleFoldOfSelected))
    })
    .section(),
    entry(Menu::Rows, "Pin or unpin the track", &[plain(Key::P)], When::Span, |_| {
        Command::Timeline(TimelineCommand::Rows(RowCommand::TogglePinOfSelected))
    }),
    entry(Menu::Rows, "Fold all processes", &[ctrl(Key::OpenBracket)], When::Trace, |_| {
        Command::Timeline(TimelineCommand::Rows(RowCommand::FoldAll(true)))
    }),
    entry(Menu::Rows, "Unfold all", &[ctrl(Key::CloseBracket)], When::Trace, |_| {
        Command::Timeline(TimelineCommand::Rows(RowCommand::FoldAll(false)))
    }),
    entry(Menu::Rows, "Show only the tracks of the scope", &[], When::ScopeTracks, |_| {
        Command::Timeline(TimelineCommand::Rows(RowCommand::ShowOnlyScope))
    }),
    entry(Menu::Rows, "Show hidden tracks", &[], When::Hidden, |_| {
        Command::Timeline(TimelineCommand::Rows(RowCommand::ShowHidden))
    }),
    entry(Menu::Rows, "Group selected tracks...", &[], When::ScopeTracks, |_| group(CustomGroupCommand::GroupScope))
        .hint("Shows the tracks of the scope under one header with a name")
        .within("Groups"),
    entry(Menu::Rows, "Ungroup selected tracks", &[], When::ScopeTracks, |_| group(CustomGroupCommand::UngroupScope))
        .hint("Takes the tracks of the scope out of their groups")
        .within("Groups"),
    entry(Menu::Rows, "Trace order", &[], When::Trace, |_| {
        Command::Timeline(TimelineCommand::Rows(RowCommand::Order(TrackOrder::Trace)))
    })
    .checked(|state| state.timeline.order == TrackOrder::Trace)
    .within("Order")
    .section(),
    entry(Menu::Rows, "Order by name", &[], When::Trace, |_| {
        Command::Timeline(TimelineCommand::Rows(RowCommand::Order(TrackOrder::Name)))
    })
    .checked(|state| state.timeline.order == TrackOrder::Name)
    .within("Order"),
    entry(Menu::Rows, "Order by first event", &[], When::Trace, |_| {
        Command::Timeline(TimelineCommand::Rows(RowCommand::Order(TrackOrder::FirstEvent)))
    })
    .checked(|state| state.timeline.order == TrackOrder::FirstEvent)
    .within("Order"),
    entry(Menu::Rows, "Order by number of events", &[], When::Trace, |_| {
        Command::Timeline(TimelineCommand::Rows(RowCommand::Order(TrackOrder::Activity)))
    })
    .checked(|state| state.timeline.order == TrackOrder::Activity)
    .within("Order"),
    entry(Menu::Rows, "Order by longest span", &[], When::Trace, |_| {
        Command::Timeline(TimelineCommand::Rows(RowCommand::Order(TrackOrder::Longest)))
    })
    .checked(|state| state.timeline.order == TrackOrder::Longest)
    .within("Order"),
    entry(Menu::Rows, "Order by busy time", &[], When::Trace, |_| {
        Command::Timeline(TimelineCommand::Rows(RowCommand::Order(TrackOrder::Busy)))
    })
    .checked(|state| state.timeline.order == TrackOrder::Busy)
    .hint("Most time in outermost spans first")
    .within("Order"),
    entry(Menu::Rows, "Order by hits of the search", &[], When::Trace, |_| {
        Command::Timeline(TimelineCommand::Rows(RowCommand::Order(TrackOrder::Hits)))
    })
    .checked(|state| state.timeline.order == TrackOrder::Hits)
    .hint("Most hits first; in trace order until a search has hits")
    .within("Order"),
    entry(Menu::Rows, "Move track up", &[alt(Key::ArrowUp)], When::Span, |_| {
        Command::Timeline(TimelineCommand::Rows(RowCommand::StepOfSelected(Direction::Backward)))
    })
    .hint("The track of the selected span, among its neighbours below the same header; or drag its name")
    .within("Order"),
    entry(Menu::Rows, "Move track down", &[alt(Key::ArrowDown)], When::Span, |_| {
        Command::Timeline(TimelineCommand::Rows(RowCommand::StepOfSelected(Direction::Forward)))
    })
    .hint("The track of the selected span, among its neighbours below the same header; or drag its name")
    .within("Order"),
    entry(Menu::Rows, "Reset moved tracks", &[], When::Moved, |_| {
        Command::Timeline(TimelineCommand::Rows(RowCommand::ForgetMoves))
    })
    .hint("Puts the moved processes, groups and tracks back where the trace has them")
    .within("Order"),
    entry(Menu::Rows, "Overlay counters", &[plain(Key::O)], When::Overlayable, |_| counters(false))
        .hint("Draws the two to eight counters of the scope in one row, with one scale for each unit")
        .within("Counters"),
    entry(Menu::Rows, "Stack counters", &[shift(Key::O)], When::Stackable, |_| counters(true))
        .hint("Draws counters of one unit as a stack")
        .within("Counters"),
    entry(Menu::Rows, "Separate counters", &[alt(Key::O)], When::Separable, |_| {
        Command::Timeline(TimelineCommand::Rows(RowCommand::SeparateCounters(None)))
    })
    .hint("Draws each counter in its own row again")
    .within("Counters"),
    entry(Menu::Rows, "Show counters as values", &[], When::ScopeCounters, |_| counter_form(CounterForm::Value))
        .within("Counters"),
    entry(Menu::Rows, "Fit scales of counters", &[], When::ScopeCounters, |_| counter_form(CounterForm::Fitted))
        .hint("From the smallest to the largest value in view, instead of from zero")
        .within("Counters"),
    entry(Menu::Rows, "Show counters as changes", &[], When::ScopeCounters, |_| counter_form(CounterForm::Change))
        .hint("The difference from the previous value")
        .within("Counters"),
    entry(Menu::Rows, "Show counters as rates", &[], When::ScopeCounters, |_| counter_form(CounterForm::Rate))
        .hint("Change per second")
        .within("Counters"),
    entry(Menu::Rows, "Derive rate of the scope", &[], When::Trace, |_| derive(DerivedKind::Rate))
        .hint("A track with the starts per second in the scope, or in the whole trace without one")
        .within("Derive"),
    entry(Menu::Rows, "Derive concurrency of the scope", &[], When::Trace, |_| derive(DerivedKind::Concurrency))
        .hint("A track with the number of open spans in the scope, or in the whole trace without one")
        .within("Derive"),
    entry(Menu::Rows, "Derive longest duration of the scope", &[], When::Trace, |_| derive(DerivedKind::MaxDuration))
        .within("Derive"),
    entry(Menu::Rows, "Derived tracks", &[], When::Trace, |_| Command::App(AppCommand::Toggle(ToolWindow::Derived)))
        .hint("Tracks of any filter: rate, count, concurrency, share of time, durations, sums")
        .within("Derive"),
    entry(Menu::Analyze, "Details", &[], When::Span, |_| Command::Panel(PanelCommand::Toggle(Panel::Details))),
    entry(Menu::Analyze, "Statistics", &[ctrl(Key::T)], When::Trace, |_| {
        Command::Panel(PanelCommand::Toggle(Panel::Statistics))
    })
    .hint("Spans by name, thread or another key, or their call tree"),
    entry(Menu::Analyze, "Spans", &[ctrl(Key::L)], When::Trace, |_| Command::Panel(PanelCommand::Toggle(Panel::Spans))),
    entry(Menu::Analyze, "Counters", &[], When::Trace, |_| Command::Panel(PanelCommand::Toggle(Panel::Counters))),
    entry(Menu::Analyze, "Flame graph", &[ctrl(Key::G)], When::Trace, |_| {
        Command::Panel(PanelCommand::Toggle(Panel::Flame))
    })
    .section(),
    entry(Menu::Analyze, "Samples", &[ctrl(Key::E)], When::Trace, |_| {
        Command::Panel(PanelCommand::Toggle(Panel::Samples))
    })
    .hint("Samples by function, module, thread or event"),
    entry(Menu::Analyze, "Heat map", &[], When::Trace, |_| Command::Panel(PanelCommand::Toggle(Panel::HeatMap)))
        .hint("How long spans take, by when they start: latency over time"),
    entry(Menu::Analyze, "Scheduling", &[], When::Trace, |_| Command::Panel(PanelCommand::Toggle(Panel::Scheduling)))
        .hint("Time of threads, processes and CPUs: running, runnable and waiting"),
    entry(Menu::Analyze, "Code", &[], When::Trace, |_| Command::Panel(PanelCommand::Toggle(Panel::Code)))
        .hint("Source lines and instructions of a function with its samples")
        .section(),
    entry(Menu::Analyze, "Symbols", &[], When::Trace, |_| Command::Panel(PanelCommand::Toggle(Panel::Symbols))),
    entry(Menu::Analyze, "Import issues", &[], When::Trace, |_| Command::App(AppCommand::Toggle(ToolWindow::Losses))),
    entry(Menu::Analyze, "Files and their clocks", &[], When::Files, |_| {
        Command::App(AppCommand::Toggle(ToolWindow::Sources))
    }),
    entry(Menu::Help, "Commands...", &[ctrl_shift(Key::P)], When::Always, |_| Command::App(AppCommand::ShowCommands)),
    entry(Menu::Help, "Keys", &[plain(Key::Questionmark), plain(Key::F1)], When::Always, |_| {
        Command::App(AppCommand::Toggle(ToolWindow::Keys))
    }),
    entry(Menu::Help, "About Longspan", &[], When::Always, |_| Command::App(AppCommand::Toggle(ToolWindow::About)))
        .section(),
];

/// The keys that open the menu bar.
pub(crate) const MENU_BAR_KEYS: [KeyboardShortcut; 2] =
    [KeyboardShortcut::new(Modifiers::NONE, Key::F10), KeyboardShortcut::new(Modifiers::ALT, Key::F)];

/// Gestures and held keys, which are not commands but appear in the list of keys.
pub(crate) const GESTURES: &[(&str, &str)] = &[
    ("Drag", "Move in time and through the tracks"),
    ("Shift + drag", "Select time and the tracks that it crosses: the scope; times near an edge of a span snap to it"),
    ("Alt while dragging", "Select time without snapping to edges"),
    ("Drag on the ruler, middle drag", "Select time on all tracks; a drag on an edge moves it"),
    ("Shift + drag across names", "Select their tracks"),
    ("Drag a name", "Move its row among those below the same header, in trace order; elsewhere scroll"),
    ("Ctrl + click on a name", "Add the tracks to the scope, or remove them"),
    ("Ctrl + click in a table", "Add its name, track or process to the filter of the scope"),
    ("Ctrl + drag", "Move the tracks of a file in time, where several are open"),
    ("Wheel", "Scroll the tracks, or zoom: see View > Navigation"),
    ("Ctrl + wheel, pinch", "Zoom at the pointer"),
    ("Shift + wheel", "Move in time"),
    ("Click, double click", "Select a span, fill the view with it"),
    ("Right click", "Context menu of the span, the selected time or the track"),
    ("W  S", "Zoom in and out at the pointer while held"),
    ("A  D", "Move in time while held"),
    ("Middle click on a tab", "Close it"),
    ("Click on a name", "Fold or unfold; right-click for more"),
    ("F10, Alt + F", "Open the menu bar; Left and Right go to the next menu"),
];

/// Returns the name of a key.
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

/// Returns the name of the first key of the command with this title; empty if it has none.
#[must_use]
pub(crate) fn key_of(ctx: &egui::Context, title: &str) -> String {
    let entry = TABLE.iter().find(|entry| entry.title == title);
    entry.and_then(|entry| entry.keys.first()).map(|key| key_text(ctx, *key)).unwrap_or_default()
}

#[cfg(test)]
mod tests;

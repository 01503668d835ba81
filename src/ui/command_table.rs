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
    entry(Menu::File, "Open...", &[ctrl(Key::O)], When::Always, |_| AppCommand::Choose(Purpose::Open).into())
        .followed_by(MenuList::Recent),
    entry(Menu::File, "Open by path...", &[], When::Always, |_| AppCommand::ShowPicker.into()),
    entry(Menu::File, "Open path from clipboard", &[PASTE], When::Always, |_| AppCommand::Paste.into()),
    entry(Menu::File, "Follow...", &[], When::Always, |_| AppCommand::Choose(Purpose::Follow).into())
        .hint("Shows a trace while it is still written; opens it when that ends"),
    entry(Menu::File, "Reload", &[], When::Reloadable, |_| AppCommand::OpenAgain.into())
        .hint("Opens the files of the trace again, as they are now"),
    entry(Menu::File, "Open a demo", &[], When::Always, |_| AppCommand::OpenDemo.into()),
    entry(Menu::File, "Close the tab", &[ctrl(Key::W)], When::Closable, |_| TabCommand::Close.into()),
    entry(Menu::File, "Reopen closed tab", &[ctrl_shift(Key::T)], When::Reopenable, |_| TabCommand::Reopen.into()),
    entry(Menu::File, "Export sorted trace...", &[ctrl(Key::S)], When::Export, |_| {
        AppCommand::Choose(Purpose::Export(ExportFormat::NATIVE)).into()
    })
    .hint("With its index: opens faster, but is two to ten times as large")
    .within("Export")
    .section(),
    entry(Menu::File, "Export sorted trace, compact...", &[], When::Export, |_| {
        AppCommand::Choose(Purpose::Export(ExportFormat::Native { compact: true })).into()
    })
    .hint("Without its index, which is rebuilt when it is opened: mostly less than half the size")
    .within("Export"),
    entry(Menu::File, "Export as Chrome JSON...", &[], When::Export, |_| {
        AppCommand::Choose(Purpose::Export(ExportFormat::ChromeJson { gzip: false })).into()
    })
    .within("Export"),
    entry(Menu::File, "Export as Perfetto trace...", &[], When::Export, |_| {
        AppCommand::Choose(Purpose::Export(ExportFormat::Perfetto)).into()
    })
    .within("Export"),
    entry(Menu::File, "Export spans as CSV...", &[], When::Export, |_| {
        AppCommand::Choose(Purpose::Export(ExportFormat::CSV)).into()
    })
    .within("Export"),
    entry(Menu::File, "Export tables as Parquet...", &[], When::Export, |_| {
        AppCommand::Choose(Purpose::Export(ExportFormat::Parquet { by_process: false })).into()
    })
    .within("Export"),
    entry(Menu::File, "Export selection...", &[], When::ExportScope, |_| {
        AppCommand::Choose(Purpose::ExportSelected).into()
    })
    .within("Export"),
    entry(Menu::File, "Export image...", &[ctrl_shift(Key::S)], When::Trace, |_| {
        AppCommand::Choose(Purpose::Picture(PictureSize::AsShown)).into()
    })
    .within("Export image"),
    entry(Menu::File, "Export image @2x...", &[], When::Trace, |_| {
        AppCommand::Choose(Purpose::Picture(PictureSize::Doubled)).into()
    })
    .within("Export image"),
    entry(Menu::File, "Export image of the window...", &[], When::Always, |_| {
        AppCommand::Choose(Purpose::WindowPicture).into()
    })
    .within("Export image"),
    entry(Menu::File, "Quit", &[ctrl(Key::Q)], When::Always, |_| AppCommand::Quit.into()).section(),
    entry(Menu::Edit, "Undo", &[ctrl(Key::Z)], When::Undoable, |_| TimelineCommand::UndoEdit.into())
        .hint(
            "Of markers, saved scopes, groups, derived, hidden, pinned and ordered tracks, and how counters are drawn",
        )
        .about(|state| state.edits.undoable),
    entry(Menu::Edit, "Redo", &[ctrl_shift(Key::Z), ctrl(Key::Y)], When::Redoable, |_| {
        TimelineCommand::RedoEdit.into()
    })
    .about(|state| state.edits.redoable),
    entry(Menu::Edit, "Copy the span", &[COPY], When::Span, |_| AppCommand::CopySpan.into()).section(),
    entry(Menu::Edit, "Copy the statistics as CSV", &[], When::Table, |state| {
        AppCommand::CopyTable(state.dock.statistics.unwrap_or(Panel::Statistics.into())).into()
    }),
    entry(Menu::Edit, "Clear selection", &[plain(Key::Escape)], When::Clearable, |_| {
        NavigationStep::ClearSelection.into()
    }),
    entry(Menu::Edit, "Search...", &[ctrl(Key::F)], When::Trace, |_| PanelCommand::Search.into()).section(),
    entry(Menu::Edit, "Next hit", &[plain(Key::F3)], When::Hits, |_| PanelCommand::GoToHit(Direction::Forward).into())
        .within("Go to hit"),
    entry(Menu::Edit, "Previous hit", &[shift(Key::F3)], When::Hits, |_| {
        PanelCommand::GoToHit(Direction::Backward).into()
    })
    .within("Go to hit"),
    entry(Menu::Edit, "Add marker", &[plain(Key::M)], When::Trace, |_| BookmarkCommand::Add.into()).section(),
    entry(Menu::Edit, "Next marker", &[plain(Key::N)], When::Marks, |_| {
        BookmarkCommand::Next(Direction::Forward).into()
    })
    .within("Go to marker"),
    entry(Menu::Edit, "Previous marker", &[shift(Key::N)], When::Marks, |_| {
        BookmarkCommand::Next(Direction::Backward).into()
    })
    .within("Go to marker"),
    entry(Menu::Edit, "Measure between the last two", &[shift(Key::M)], When::Measurable, |_| {
        BookmarkCommand::Measure.into()
    }),
    entry(Menu::Edit, "Markers", &[ctrl(Key::M)], When::Trace, |_| AppCommand::Toggle(ToolWindow::Bookmarks).into()),
    entry(Menu::Edit, "Preferences...", &[ctrl(Key::Comma)], When::Always, |_| {
        AppCommand::Toggle(ToolWindow::Preferences).into()
    })
    .section(),
    entry(Menu::View, "Whole trace", &[plain(Key::Home), plain(Key::Num0)], When::Trace, |_| {
        NavigationStep::Whole.into()
    }),
    entry(Menu::View, "Fit selection", &[plain(Key::F)], When::Selection, |_| NavigationStep::Selection.into()),
    entry(Menu::View, "Zoom in", &[plain(Key::Plus), plain(Key::Equals)], When::Trace, |_| {
        NavigationStep::ZoomIn.into()
    }),
    entry(Menu::View, "Zoom out", &[plain(Key::Minus)], When::Trace, |_| NavigationStep::ZoomOut.into()),
    entry(Menu::View, "Next panel", &[plain(Key::F6)], When::Trace, |_| {
        PanelCommand::NextPanel(Direction::Forward).into()
    })
    .within("Panels")
    .section(),
    entry(Menu::View, "Previous panel", &[shift(Key::F6)], When::Trace, |_| {
        PanelCommand::NextPanel(Direction::Backward).into()
    })
    .within("Panels"),
    entry(Menu::View, "Maximize panel", &[], When::Trace, |_| PanelCommand::ToggleFull.into())
        .hint("Gives it the full height; Esc restores it")
        .within("Panels"),
    entry(Menu::View, "Pin panel", &[], When::Pinnable, |_| PanelCommand::TogglePin.into())
        .checked(|state| state.dock.is_pinned)
        .hint("Keeps its scope; opening the panel again adds a tab")
        .within("Panels"),
    entry(Menu::View, "Colour by name", &[], When::Always, |state| {
        SettingCommand::Colors(Colors { by: ColorBy::Name, ..state.settings.colors }).into()
    })
    .checked(|state| state.settings.colors.by == ColorBy::Name)
    .within("Colours")
    .section(),
    entry(Menu::View, "Colour by category", &[], When::Always, |state| {
        SettingCommand::Colors(Colors { by: ColorBy::Category, ..state.settings.colors }).into()
    })
    .checked(|state| state.settings.colors.by == ColorBy::Category)
    .within("Colours"),
    entry(Menu::View, "Colour by thread", &[], When::Always, |state| {
        SettingCommand::Colors(Colors { by: ColorBy::Track, ..state.settings.colors }).into()
    })
    .checked(|state| state.settings.colors.by == ColorBy::Track)
    .within("Colours"),
    entry(Menu::View, "Colour by duration", &[], When::Always, |state| {
        SettingCommand::Colors(Colors { by: ColorBy::Duration, ..state.settings.colors }).into()
    })
    .checked(|state| state.settings.colors.by == ColorBy::Duration)
    .within("Colours"),
    entry(Menu::View, "Colour-blind-safe palette", &[], When::Always, |state| {
        let hues = if state.settings.colors.hues == Hues::ColorBlind { Hues::Usual } else { Hues::ColorBlind };
        Command::Setting(SettingCommand::Colors(Colors { hues, ..state.settings.colors }))
    })
    .checked(|state| state.settings.colors.hues == Hues::ColorBlind)
    .within("Colours"),
    entry(Menu::View, "Dark theme", &[], When::Always, |_| SettingCommand::Shade(Some(Shade::Dark)).into())
        .checked(|state| state.settings.shade == Some(Shade::Dark))
        .within("Theme"),
    entry(Menu::View, "Light theme", &[], When::Always, |_| SettingCommand::Shade(Some(Shade::Light)).into())
        .checked(|state| state.settings.shade == Some(Shade::Light))
        .within("Theme"),
    entry(Menu::View, "Follow system theme", &[], When::Always, |_| SettingCommand::Shade(None).into())
        .checked(|state| state.settings.shade.is_none())
        .within("Theme"),
    entry(Menu::View, RULER_ORIGINS[0].1, &[], When::Trace, |_| BookmarkCommand::Origin(RulerOrigin::Start).into())
        .checked(|state| state.timeline.ruler_origin == RulerOrigin::Start)
        .within("Ruler"),
    entry(Menu::View, RULER_ORIGINS[1].1, &[], When::Marks, |_| BookmarkCommand::Origin(RulerOrigin::Mark).into())
        .checked(|state| state.timeline.ruler_origin == RulerOrigin::Mark)
        .within("Ruler"),
    entry(Menu::View, RULER_ORIGINS[2].1, &[], When::Trace, |_| BookmarkCommand::Origin(RulerOrigin::Clock).into())
        .checked(|state| state.timeline.ruler_origin == RulerOrigin::Clock)
        .within("Ruler"),
    entry(Menu::View, RULER_ORIGINS[3].1, &[], When::Utc, |_| BookmarkCommand::Origin(RulerOrigin::Utc).into())
        .checked(|state| state.timeline.ruler_origin == RulerOrigin::Utc)
        .within("Ruler"),
    entry(Menu::View, "Compact tracks", &[], When::Always, |_| SettingCommand::Density(TrackDensity::Compact).into())
        .checked(|state| state.settings.density == TrackDensity::Compact)
        .within("Track height"),
    entry(Menu::View, "Normal tracks", &[], When::Always, |_| SettingCommand::Density(TrackDensity::Normal).into())
        .checked(|state| state.settings.density == TrackDensity::Normal)
        .within("Track height"),
    entry(Menu::View, "Tall tracks", &[], When::Always, |_| SettingCommand::Density(TrackDensity::Tall).into())
        .checked(|state| state.settings.density == TrackDensity::Tall)
        .within("Track height"),
    entry(Menu::View, "Larger text", &[ctrl(Key::Plus), ctrl(Key::Equals)], When::Always, |state| {
        SettingCommand::TextPercent(state.settings.text_percent.saturating_add(10)).into()
    })
    .within("Font size"),
    entry(Menu::View, "Smaller text", &[ctrl(Key::Minus)], When::Always, |state| {
        SettingCommand::TextPercent(state.settings.text_percent.saturating_sub(10)).into()
    })
    .within("Font size"),
    entry(Menu::View, "Normal text", &[ctrl(Key::Num0)], When::Always, |_| SettingCommand::TextPercent(100).into())
        .within("Font size"),
    entry(Menu::View, "Wheel scrolls, Ctrl + wheel zooms", &[], When::Always, |state| {
        SettingCommand::Navigation(Navigation { wheel: Wheel::Scrolls, ..state.settings.navigation }).into()
    })
    .checked(|state| state.settings.navigation.wheel == Wheel::Scrolls)
    .within("Navigation")
    .section(),
    entry(Menu::View, "Wheel zooms, Ctrl + wheel scrolls", &[], When::Always, |state| {
        SettingCommand::Navigation(Navigation { wheel: Wheel::Zooms, ..state.settings.navigation }).into()
    })
    .checked(|state| state.settings.navigation.wheel == Wheel::Zooms)
    .within("Navigation"),
    entry(Menu::View, "Kinetic panning", &[], When::Always, |state| {
        SettingCommand::Navigation(Navigation {
            inertia: !state.settings.navigation.inertia,
            ..state.settings.navigation
        })
        .into()
    })
    .checked(|state| state.settings.navigation.inertia)
    .within("Navigation"),
    entry(Menu::View, "Animate zoom", &[], When::Always, |state| {
        SettingCommand::Navigation(Navigation {
            animation: !state.settings.navigation.animation,
            ..state.settings.navigation
        })
        .into()
    })
    .checked(|state| state.settings.navigation.animation)
    .within("Navigation"),
    entry(Menu::Go, "Back", &[alt(Key::ArrowLeft)], When::Past, |_| NavigationStep::Back.into()),
    entry(Menu::Go, "Forward", &[alt(Key::ArrowRight)], When::Future, |_| NavigationStep::Forward.into()),
    entry(Menu::Go, "Go to time...", &[], When::Times, |_| AppCommand::ShowGoToTime.into())
        .hint("Such as 1.5 s on the ruler, or +1.5 s from the start of the trace"),
    entry(Menu::Go, "Previous span", &[plain(Key::OpenBracket), plain(Key::Comma)], When::Trace, |_| {
        NavigationStep::Previous.into()
    })
    .section(),
    entry(Menu::Go, "Next span", &[plain(Key::CloseBracket), plain(Key::Period)], When::Trace, |_| {
        NavigationStep::Next.into()
    }),
    entry(Menu::Go, "Parent span", &[plain(Key::ArrowUp)], When::Trace, |_| NavigationStep::Parent.into()),
    entry(Menu::Go, "Longest child", &[plain(Key::ArrowDown)], When::Trace, |_| NavigationStep::Child.into()),
    entry(Menu::Go, "Previous of this name", &[ctrl(Key::ArrowUp)], When::Span, |_| {
        PanelCommand::GoToSameName(Direction::Backward).into()
    })
    .hint("The last span of the same name before the selected one, on any track")
    .within("Name and flow"),
    entry(Menu::Go, "Next of this name", &[ctrl(Key::ArrowDown)], When::Span, |_| {
        PanelCommand::GoToSameName(Direction::Forward).into()
    })
    .hint("The first span of the same name after the selected one, on any track")
    .within("Name and flow"),
    entry(Menu::Go, "Previous in flow", &[alt(Key::OpenBracket)], When::FlowBefore, |_| {
        NavigationStep::PreviousInFlow.into()
    })
    .hint("The span that the last incoming flow leaves, or that woke the selected one")
    .within("Name and flow"),
    entry(Menu::Go, "Next in flow", &[alt(Key::CloseBracket)], When::FlowAfter, |_| NavigationStep::NextInFlow.into())
        .hint("The span at which the first outgoing flow arrives")
        .within("Name and flow"),
    entry(Menu::Go, "Earlier", &[plain(Key::ArrowLeft)], When::Trace, |_| NavigationStep::Left.into())
        .within("Move")
        .section(),
    entry(Menu::Go, "Later", &[plain(Key::ArrowRight)], When::Trace, |_| NavigationStep::Right.into()).within("Move"),
    entry(Menu::Go, "Rows above", &[shift(Key::ArrowUp)], When::Trace, |_| NavigationStep::Up.into()).within("Move"),
    entry(Menu::Go, "Rows below", &[shift(Key::ArrowDown)], When::Trace, |_| NavigationStep::Down.into())
        .within("Move"),
    entry(Menu::Go, "Page up", &[plain(Key::PageUp)], When::Trace, |_| NavigationStep::PageUp.into()).within("Move"),
    entry(Menu::Go, "Page down", &[plain(Key::PageDown)], When::Trace, |_| NavigationStep::PageDown.into())
        .within("Move"),
    entry(Menu::Go, "Follow, or pause", &[plain(Key::Space)], When::Live, |_| LiveCommand::FollowOrPause.into())
        .hint("For a live trace: keep the newest data at the right edge, or hold the view still")
        .within("Live"),
    entry(Menu::Go, "Pause the display", &[], When::Live, |_| LiveCommand::TogglePause.into())
        .checked(|state| state.trace.is_paused)
        .hint("Data is still being received")
        .within("Live"),
    entry(Menu::Go, "Stop following", &[], When::Live, |_| LiveCommand::Stop.into())
        .hint("Ends the sources and sorts all received data")
        .within("Live"),
    entry(Menu::Go, "Next tab", &[ctrl(Key::Tab), ctrl(Key::PageDown)], When::Tabs, |_| TabCommand::Next.into())
        .section(),
    entry(Menu::Go, "Previous tab", &[ctrl_shift(Key::Tab), ctrl(Key::PageUp)], When::Tabs, |_| {
        TabCommand::Previous.into()
    })
    .followed_by(MenuList::SavedScopes),
    entry(Menu::Rows, "Filter tracks", &[ctrl_shift(Key::F)], When::Trace, |_| RowCommand::FocusFilter.into()),
    entry(Menu::Rows, "Fold or unfold the track", &[plain(Key::Space)], When::StillSpan, |_| {
        RowCommand::ToggleFoldOfSelected.into()
    })
    .section(),
    entry(Menu::Rows, "Pin or unpin the track", &[plain(Key::P)], When::Span, |_| {
        RowCommand::TogglePinOfSelected.into()
    }),
    entry(Menu::Rows, "Fold all processes", &[ctrl(Key::OpenBracket)], When::Trace, |_| {
        RowCommand::FoldAll(true).into()
    }),
    entry(Menu::Rows, "Unfold all", &[ctrl(Key::CloseBracket)], When::Trace, |_| RowCommand::FoldAll(false).into()),
    entry(Menu::Rows, "Show only the tracks of the scope", &[], When::ScopeTracks, |_| {
        RowCommand::ShowOnlyScope.into()
    }),
    entry(Menu::Rows, "Show hidden tracks", &[], When::Hidden, |_| RowCommand::ShowHidden.into()),
    entry(Menu::Rows, "Group selected tracks...", &[], When::ScopeTracks, |_| CustomGroupCommand::GroupScope.into())
        .hint("Shows the tracks of the scope under one header with a name")
        .within("Groups"),
    entry(Menu::Rows, "Ungroup selected tracks", &[], When::ScopeTracks, |_| CustomGroupCommand::UngroupScope.into())
        .hint("Takes the tracks of the scope out of their groups")
        .within("Groups"),
    entry(Menu::Rows, "Trace order", &[], When::Trace, |_| RowCommand::Order(TrackOrder::Trace).into())
        .checked(|state| state.timeline.order == TrackOrder::Trace)
        .within("Order")
        .section(),
    entry(Menu::Rows, "Order by name", &[], When::Trace, |_| RowCommand::Order(TrackOrder::Name).into())
        .checked(|state| state.timeline.order == TrackOrder::Name)
        .within("Order"),
    entry(Menu::Rows, "Order by first event", &[], When::Trace, |_| RowCommand::Order(TrackOrder::FirstEvent).into())
        .checked(|state| state.timeline.order == TrackOrder::FirstEvent)
        .within("Order"),
    entry(Menu::Rows, "Order by number of events", &[], When::Trace, |_| {
        RowCommand::Order(TrackOrder::Activity).into()
    })
    .checked(|state| state.timeline.order == TrackOrder::Activity)
    .within("Order"),
    entry(Menu::Rows, "Order by longest span", &[], When::Trace, |_| RowCommand::Order(TrackOrder::Longest).into())
        .checked(|state| state.timeline.order == TrackOrder::Longest)
        .within("Order"),
    entry(Menu::Rows, "Order by busy time", &[], When::Trace, |_| RowCommand::Order(TrackOrder::Busy).into())
        .checked(|state| state.timeline.order == TrackOrder::Busy)
        .hint("Most time in outermost spans first")
        .within("Order"),
    entry(Menu::Rows, "Order by hits of the search", &[], When::Trace, |_| RowCommand::Order(TrackOrder::Hits).into())
        .checked(|state| state.timeline.order == TrackOrder::Hits)
        .hint("Most hits first; in trace order until a search has hits")
        .within("Order"),
    entry(Menu::Rows, "Move track up", &[alt(Key::ArrowUp)], When::Span, |_| {
        RowCommand::StepOfSelected(Direction::Backward).into()
    })
    .hint("The track of the selected span, among its neighbours below the same header; or drag its name")
    .within("Order"),
    entry(Menu::Rows, "Move track down", &[alt(Key::ArrowDown)], When::Span, |_| {
        RowCommand::StepOfSelected(Direction::Forward).into()
    })
    .hint("The track of the selected span, among its neighbours below the same header; or drag its name")
    .within("Order"),
    entry(Menu::Rows, "Reset moved tracks", &[], When::Moved, |_| RowCommand::ForgetMoves.into())
        .hint("Puts the moved processes, groups and tracks back where the trace has them")
        .within("Order"),
    entry(Menu::Rows, "Overlay counters", &[plain(Key::O)], When::Overlayable, |_| {
        RowCommand::OverlayCounters { of: None, is_stacked: false }.into()
    })
    .hint("Draws the two to eight counters of the scope in one row, with one scale for each unit")
    .within("Counters"),
    entry(Menu::Rows, "Stack counters", &[shift(Key::O)], When::Stackable, |_| {
        RowCommand::OverlayCounters { of: None, is_stacked: true }.into()
    })
    .hint("Draws counters of one unit as a stack")
    .within("Counters"),
    entry(Menu::Rows, "Separate counters", &[alt(Key::O)], When::Separable, |_| {
        RowCommand::SeparateCounters(None).into()
    })
    .hint("Draws each counter in its own row again")
    .within("Counters"),
    entry(Menu::Rows, "Show counters as values", &[], When::ScopeCounters, |_| {
        RowCommand::ShowCountersAs(CounterForm::Value).into()
    })
    .within("Counters"),
    entry(Menu::Rows, "Fit scales of counters", &[], When::ScopeCounters, |_| {
        RowCommand::ShowCountersAs(CounterForm::Fitted).into()
    })
    .hint("From the smallest to the largest value in view, instead of from zero")
    .within("Counters"),
    entry(Menu::Rows, "Show counters as changes", &[], When::ScopeCounters, |_| {
        RowCommand::ShowCountersAs(CounterForm::Change).into()
    })
    .hint("The difference from the previous value")
    .within("Counters"),
    entry(Menu::Rows, "Show counters as rates", &[], When::ScopeCounters, |_| {
        RowCommand::ShowCountersAs(CounterForm::Rate).into()
    })
    .hint("Change per second")
    .within("Counters"),
    entry(Menu::Rows, "Derive rate of the scope", &[], When::Trace, |_| {
        DerivedCommand::AddOfScope(DerivedKind::Rate).into()
    })
    .hint("A track with the starts per second in the scope, or in the whole trace without one")
    .within("Derive"),
    entry(Menu::Rows, "Derive concurrency of the scope", &[], When::Trace, |_| {
        DerivedCommand::AddOfScope(DerivedKind::Concurrency).into()
    })
    .hint("A track with the number of open spans in the scope, or in the whole trace without one")
    .within("Derive"),
    entry(Menu::Rows, "Derive longest duration of the scope", &[], When::Trace, |_| {
        DerivedCommand::AddOfScope(DerivedKind::MaxDuration).into()
    })
    .within("Derive"),
    entry(Menu::Rows, "Derived tracks", &[], When::Trace, |_| AppCommand::Toggle(ToolWindow::Derived).into())
        .hint("Tracks of any filter: rate, count, concurrency, share of time, durations, sums")
        .within("Derive"),
    entry(Menu::Analyze, "Details", &[], When::Span, |_| PanelCommand::Toggle(Panel::Details).into()),
    entry(Menu::Analyze, "Statistics", &[ctrl(Key::T)], When::Trace, |_| {
        PanelCommand::Toggle(Panel::Statistics).into()
    })
    .hint("Spans by name, thread or another key, or their call tree"),
    entry(Menu::Analyze, "Spans", &[ctrl(Key::L)], When::Trace, |_| PanelCommand::Toggle(Panel::Spans).into()),
    entry(Menu::Analyze, "Counters", &[], When::Trace, |_| PanelCommand::Toggle(Panel::Counters).into()),
    entry(Menu::Analyze, "Flame graph", &[ctrl(Key::G)], When::Trace, |_| PanelCommand::Toggle(Panel::Flame).into())
        .section(),
    entry(Menu::Analyze, "Samples", &[ctrl(Key::E)], When::Trace, |_| PanelCommand::Toggle(Panel::Samples).into())
        .hint("Samples by function, module, thread or event"),
    entry(Menu::Analyze, "Heat map", &[], When::Trace, |_| PanelCommand::Toggle(Panel::HeatMap).into())
        .hint("How long spans take, by when they start: latency over time"),
    entry(Menu::Analyze, "Scheduling", &[], When::Trace, |_| PanelCommand::Toggle(Panel::Scheduling).into())
        .hint("Time of threads, processes and CPUs: running, runnable and waiting"),
    entry(Menu::Analyze, "Code", &[], When::Trace, |_| PanelCommand::Toggle(Panel::Code).into())
        .hint("Source lines and instructions of a function with its samples")
        .section(),
    entry(Menu::Analyze, "Symbols", &[], When::Trace, |_| PanelCommand::Toggle(Panel::Symbols).into()),
    entry(Menu::Analyze, "Import issues", &[], When::Trace, |_| AppCommand::Toggle(ToolWindow::Losses).into()),
    entry(Menu::Analyze, "Files and their clocks", &[], When::Files, |_| {
        AppCommand::Toggle(ToolWindow::Sources).into()
    }),
    entry(Menu::Help, "Commands...", &[ctrl_shift(Key::P)], When::Always, |_| AppCommand::ShowCommands.into()),
    entry(Menu::Help, "Keys", &[plain(Key::Questionmark), plain(Key::F1)], When::Always, |_| {
        AppCommand::Toggle(ToolWindow::Keys).into()
    }),
    entry(Menu::Help, "About Longspan", &[], When::Always, |_| AppCommand::Toggle(ToolWindow::About).into()).section(),
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
    ("Tab to a name, arrows", "Go from name to name; Left and Right fold and unfold"),
    ("Menu, Shift + F10", "Context menu of the name or the table row with the keyboard, or of the selected span"),
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

//! Answers that arrive after the panels have asked something else.

use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use super::*;
use crate::app::SymbolOptions;
use crate::app::event::TabEvent;
use crate::app::tests::{Session, TWO_SPANS, snapshot};
use crate::frame::RectBudget;
use crate::ingest::LoadOptions;
use crate::model::Sources;
use crate::query::ordered_rows::ListOrder;
use crate::scene::color::Shade;
use crate::ui::command::{ScopeCommand, TimelineCommand};
use crate::ui::questions::OrderedQuestion;
use crate::ui::selected_scope::SelectedScope;
use crate::ui::settings::Navigation;
use crate::ui::theme::Theme;

type QueryAnswer = ((TaskId, QuestionKind), Result<Option<Answer>, TaskError>);

/// A trace, and panels whose answers wait until a test handles them.
struct Asked {
    panels: Panels,
    timeline: Timeline,
    events: Receiver<TabEvent>,
}

impl Asked {
    fn new() -> Self {
        let theme = Theme::new(Shade::Dark);
        let timeline = Timeline::new(snapshot(TWO_SPANS), RectBudget::SOFTWARE, &theme, Navigation::default());
        let (sender, events) = channel();
        let sender = std::sync::Mutex::new(sender);
        let wake: TabWake = Arc::new(move |event| sender.lock().expect("a sender").send(event).expect("a receiver"));
        Self { panels: Panels::new(wake), timeline, events }
    }

    /// Starts a query, and returns its answer, which no panel has yet.
    fn answer(&mut self, question: Question) -> QueryAnswer {
        self.panels.ask(question, self.timeline.snapshot());
        match self.events.recv_timeout(Duration::from_secs(20)) {
            Ok(TabEvent::Answered(id, kind, answer)) => ((id, kind), answer.map(|answer| *answer)),
            other => panic!("expected an answer, found {other:?}"),
        }
    }

    fn handle(&mut self, (query, answer): QueryAnswer) {
        self.panels.handle_answer(query, answer, &mut self.timeline);
    }

    /// Returns whether an answer would be shown if it came now.
    fn awaits(&mut self, ((id, kind), _): &QueryAnswer) -> bool {
        self.panels.analysis.take_awaited(*id, *kind).is_some()
    }
}

fn spans(with_instants: bool) -> Question {
    Question::Spans { scope: SelectedScope::default(), with_instants }
}

#[test]
fn a_page_of_an_earlier_answer_is_not_shown_under_the_next_one() {
    let search = |text: &str| Question::Search(text.to_owned(), SelectedScope::default());
    for (of, first, next) in
        [(HitsOf::Search, search("alpha"), search("omega")), (HitsOf::Spans, spans(false), spans(true))]
    {
        let mut asked = Asked::new();
        let hits = asked.answer(first);
        asked.handle(hits);
        let page = asked.answer(Question::Page(of, 0, 10));
        let next_hits = asked.answer(next);
        asked.handle(next_hits);
        assert!(!asked.awaits(&page), "{page:?} would be shown");
    }
}

#[test]
fn spans_in_an_earlier_order_do_not_replace_the_list_in_the_chosen_one() {
    let (of, scope) = (HitsOf::Spans, SelectedScope::default);
    let longest = || {
        let (text, order) = (String::new(), ListOrder::LONGEST);
        Question::Ordered(Box::new(OrderedQuestion {
            of,
            scope: scope(),
            text,
            order,
            with_instants: false,
            count: 10,
        }))
    };
    let mut asked = Asked::new();
    let earlier = asked.answer(longest());
    let hits = asked.answer(spans(false));
    assert!(!asked.awaits(&earlier), "the longest spans would scroll the list to its top");
    asked.handle(hits);
    let row = asked.panels.set.spans.hits().expect("answered").page(0, 1)[0].row;
    let earlier = [asked.answer(Question::NumberOf(HitsOf::Spans, row)), asked.answer(spans(true))];
    let hits = asked.answer(longest());
    for answer in &earlier {
        assert!(!asked.awaits(answer), "{answer:?} would be shown as the longest spans");
    }
    assert!(asked.awaits(&hits));
}

#[test]
fn a_folder_with_symbols_is_searched_after_the_files_are_moved_and_compared_once_all_is_sorted() {
    let mut asked = Asked::new();
    let query = |sources: &Sources| SymbolOptions::default().query(sources, &LoadOptions::default());
    let sources = Sources::from("perf.data");
    asked.panels.set_name_query(query(&sources));
    asked.panels.locate_later(Path::new("/symbols"));
    // A preview of the trace with another offset.
    let moved = sources.moved_by("perf.data", 5);
    asked.panels.forget(&asked.timeline);
    asked.panels.set_name_query(query(&moved));
    asked.panels.find_names_again(query(&moved), asked.timeline.snapshot());
    let located = asked.panels.located(&moved).expect("the folder");
    assert_eq!((&located.sources, &*located.folders[0]), (&moved, Path::new("/symbols")));
    assert!(located.compares_stacks, "it was not searched yet");
    assert!(asked.panels.located(&Sources::from("other.data")).is_none());
    let named = NamedTrace {
        overlay: None,
        found: ResolvedNames::default(),
        modules: Arc::default(),
        without_module: 0,
        has_other_stacks: false,
        missing_folder: None,
        unused_folder: None,
    };
    asked.panels.set_modules(&named, asked.timeline.snapshot());
    assert!(asked.panels.located(&moved).is_some_and(|located| !located.compares_stacks));
}

#[test]
fn a_panel_that_asks_in_the_frame_of_its_pin_gets_the_answer() {
    let mut session = Session::new();
    session.app.show_trace(snapshot(TWO_SPANS), "two".into(), false);
    session.app.act(Command::Panel(PanelCommand::Show(Panel::Statistics)));
    session.until("the statistics", |session| session.shows("2 names"));
    let pin = session.texts.iter().position(|text| text == "Pin").expect("a button");
    let button = |pressed| egui::Event::PointerButton {
        pos: session.positions[pin],
        button: egui::PointerButton::Primary,
        pressed,
        modifiers: egui::Modifiers::NONE,
    };
    let (press, release) = (button(true), button(false));
    session.frame(vec![egui::Event::PointerMoved(session.positions[pin]), press]);
    let scope = SelectedScope { range: Some((0, 400_000)), ..SelectedScope::default() };
    session.app.act(Command::Timeline(TimelineCommand::Scope(ScopeCommand::Set(Box::new(scope)))));
    session.frame(vec![release]);
    session.until("the count of the pinned panel", |session| session.shows("1 name"));
    assert!(session.app.tab().panels.is_pinned());
}

#[test]
fn a_failed_query_of_a_panel_is_repeated_by_its_button() {
    let mut session = Session::new();
    session.app.show_trace(snapshot(TWO_SPANS), "two".into(), false);
    for (panel, kind) in [
        (Panel::Spans, QuestionKind::OrderedSpans),
        (Panel::Counters, QuestionKind::Counters),
        (Panel::Scheduling, QuestionKind::Scheduling),
        (Panel::HeatMap, QuestionKind::HeatMap),
    ] {
        session.app.act(Command::Panel(PanelCommand::Show(panel)));
        session.frame(Vec::new());
        session.until("the answer", |session| !session.app.tab().panels.is_busy());
        session.app.tab_mut().panels.set.get_mut(panel).fail(kind, "the disk is gone");
        session.frame(Vec::new());
        assert!(session.shows("the disk is gone") && session.click_text("Count"), "{panel:?}");
        session.frame(Vec::new());
        assert!(session.app.tab().panels.is_busy() && !session.shows("the disk is gone"), "{panel:?}");
        session.until("the answer", |session| !session.app.tab().panels.is_busy());
    }
}

#[test]
fn instants_are_listed_at_once_unless_spans_may_follow_in_a_live_trace() {
    for is_live in [true, false] {
        let mut session = Session::new();
        let instant = r#"[{"ph":"i","name":"tick","pid":1,"tid":1,"ts":5,"s":"t"}]"#;
        session.app.show_trace(snapshot(instant), "log".into(), false);
        if is_live {
            session.app.timeline_mut().expect("a timeline").set_live();
        }
        session.app.act(Command::Panel(PanelCommand::Show(Panel::Spans)));
        session.until("the list", |session| !session.app.tab().panels.is_busy());
        (0..2).for_each(|_| session.frame(Vec::new()));
        let absent = "The trace has no spans. \"With instants\" lists its instants.";
        assert_eq!(session.shows(absent), is_live, "{:?}", session.texts);
    }
}

#[test]
fn a_count_of_any_table_can_be_stopped() {
    for panel in [Panel::Spans, Panel::Counters, Panel::Scheduling] {
        let mut session = Session::new();
        session.app.show_trace(snapshot(TWO_SPANS), "two".into(), false);
        session.app.act(PanelCommand::Show(panel).into());
        // Its answer is not handled yet.
        (0..2).for_each(|_| session.frame(Vec::new()));
        assert!(session.shows("Stop"), "{panel:?}: {:?}", session.texts);
        session.app.act(PanelCommand::StopQuery(panel).into());
        (0..2).for_each(|_| session.frame(Vec::new()));
        assert!(!session.app.tab().panels.is_busy(), "{panel:?}");
        assert!(session.shows("stopped: not counted"), "{panel:?}: {:?}", session.texts);
    }
}

#[test]
fn the_heat_map_of_a_trace_that_grows_is_counted_again_without_progress() {
    for is_live in [true, false] {
        let mut session = Session::new();
        session.app.show_trace(snapshot(TWO_SPANS), "two".into(), false);
        if is_live {
            session.app.timeline_mut().expect("a timeline").set_live();
        }
        session.app.act(Command::Panel(PanelCommand::Show(Panel::HeatMap)));
        (0..2).for_each(|_| session.frame(Vec::new()));
        session.until("the map", |session| !session.app.tab().panels.is_busy());
        let tab = session.app.tab_mut();
        let trace = tab.trace.as_ref().expect("a trace");
        tab.panels.renew(trace.timeline.snapshot());
        // Its answer is not handled yet.
        (0..2).for_each(|_| session.frame(Vec::new()));
        assert!(session.app.tab().panels.is_busy());
        assert_eq!(session.shows("Stop"), !is_live, "{:?}", session.texts);
    }
}

#[test]
fn panels_of_spans_say_where_the_samples_of_a_trace_without_spans_are() {
    let samples = r#"{"stackFrames":{"1":{"name":"main"}},
        "samples":[{"cpu":0,"tid":1,"ts":1,"name":"cycles","sf":1,"weight":1}]}"#;
    for (panel, advice) in [
        (Panel::Statistics, "The flame graph"),
        (Panel::Spans, "Analyze > Samples adds them up."),
        (Panel::HeatMap, "Analyze > Samples adds up its samples."),
    ] {
        let mut session = Session::new();
        session.app.show_trace(snapshot(samples), "samples".into(), false);
        session.app.act(Command::Panel(PanelCommand::Show(panel)));
        (0..3).for_each(|_| session.frame(Vec::new()));
        session.until("the answer", |session| !session.app.tab().panels.is_busy());
        (0..2).for_each(|_| session.frame(Vec::new()));
        if panel == Panel::Spans {
            assert!(!session.shows(advice), "it lists the samples: {:?}", session.texts);
            assert!(session.click_text("Longest"));
            session.frame(Vec::new());
            session.until("the answer", |session| !session.app.tab().panels.is_busy());
            (0..2).for_each(|_| session.frame(Vec::new()));
        }
        assert!(session.texts.iter().any(|text| text.contains(advice)), "{panel:?}: {:?}", session.texts);
    }
}

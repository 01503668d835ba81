//! Tests of the flame graph: failed queries, and functions from other panels.

use super::*;

#[test]
fn a_failed_query_says_why_and_can_be_repeated() {
    let mut panel = FlamePanel::default();
    let asks = |panel: &mut FlamePanel| panel.ask(&SelectedScope::default()).is_some();
    assert!(asks(&mut panel) && !asks(&mut panel));
    panel.fail(QuestionKind::Paths, "it is damaged");
    assert_eq!((panel.is_stopped, panel.error.as_deref()), (true, Some("it is damaged")));
    // The button beside the message.
    panel.question = None;
    assert!(asks(&mut panel) && !panel.is_stopped && panel.error.is_none());
}

#[test]
fn a_function_of_another_panel_is_shown_with_the_event_of_that_panel() {
    let mut panel = FlamePanel::default();
    let event = SampleEvent { name: "faults".into(), unit: "count".into() };
    for event in [Some(event), None] {
        let key = FunctionKey { name: "f".into(), module: None };
        panel.show_sandwich(SampledFunction { key, event: event.clone() });
        panel.ask(&SelectedScope::default());
        assert_eq!(panel.question.as_ref().map(|question| &question.of), Some(&PathsOf::Samples(event)));
    }
}

//! Tests of the flame graph: failed queries, and functions from other panels.

use super::*;
use crate::base::cancel::Cancel;
use crate::query::flame::FlamePicture;
use crate::query::stacks::CallPaths;
use crate::ui::command::PanelCommand;

#[test]
fn a_failed_query_says_why_and_can_be_repeated() {
    let mut panel = FlamePanel::default();
    let asks = |panel: &mut FlamePanel| panel.ask(&SelectedScope::default()).is_some();
    assert!(asks(&mut panel) && !asks(&mut panel));
    panel.fail(QuestionKind::Paths, "it is damaged");
    assert_eq!(panel.query.stopped(), Some("it is damaged"));
    // The button beside the message.
    panel.query.repeat();
    assert!(asks(&mut panel) && panel.query.stopped().is_none());
}

#[test]
fn paths_beyond_the_limit_are_swept_once_for_all_views() {
    let snapshot = crate::scene::tests::snapshot(r#"[{"ph":"X","name":"f","pid":1,"tid":1,"ts":0,"dur":4}]"#);
    let mut panel = FlamePanel::default();
    let answers = |panel: &mut FlamePanel, is_swept| {
        let command = panel.ask(&SelectedScope::default())?;
        let Command::Panel(PanelCommand::Ask(Question::Paths(question))) = command else { panic!("{command:?}") };
        let missing = SampleSum { samples: 1, weight: 1 };
        let paths = CallPaths { missing, is_swept, ..CallPaths::default() };
        let picture = FlamePicture::new(&snapshot, &paths.tree, &question.view, &Cancel::default()).expect("a picture");
        let answer = FlameAnswer { paths: Arc::new(paths), picture: Arc::new(picture), track: None };
        panel.set_answer(&Arc::new(answer), &snapshot);
        Some((question.is_exact, question.known.is_some()))
    };
    assert_eq!(answers(&mut panel, false), Some((false, false)), "the ledger");
    assert_eq!(answers(&mut panel, true), Some((true, false)), "the sweep");
    assert_eq!(answers(&mut panel, true), None);
    panel.history.set_shape(FlameShape::Inverted);
    assert_eq!(answers(&mut panel, true), Some((false, true)), "another view of the same paths");
    assert_eq!(answers(&mut panel, true), None);
}

#[test]
fn a_function_of_another_panel_is_shown_with_the_event_of_that_panel() {
    let mut panel = FlamePanel::default();
    let event = SampleEvent { name: "faults".into(), unit: "count".into() };
    for event in [Some(event), None] {
        let key = FunctionKey { name: "f".into(), module: None };
        panel.show_sandwich(SampledFunction { key, event: event.clone() });
        panel.ask(&SelectedScope::default());
        assert_eq!(panel.query.last().map(|question| &question.of), Some(&PathsOf::Samples(event)));
    }
}

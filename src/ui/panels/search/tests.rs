//! Queries that are repeated when the hits are counted again, and queries that fail.

use super::*;
use crate::base::cancel::Cancel;
use crate::query::scope::Scope;
use crate::query::search::search;
use crate::scene::tests::snapshot;

/// A snapshot or names may arrive at any moment after Enter, and the panel searches again.
#[test]
fn a_neighbour_without_an_answer_is_queried_again_whenever_the_hits_are() {
    let snapshot = snapshot(r#"[{"ph":"X","name":"read","pid":1,"tid":1,"ts":0,"dur":1}]"#);
    let hits = || search(&snapshot, &Scope::default(), &Cancel::default(), &Progress::default()).unwrap();
    let is_neighbour = |question: Option<Question>| matches!(question, Some(Question::Neighbour { .. }));
    let renewals: [fn(&mut SearchPanel) -> Option<Question>; 2] = [SearchPanel::forget, SearchPanel::renew];
    for renew in renewals {
        let mut panel = SearchPanel::default();
        assert!(panel.highlight("read".to_owned()).is_some());
        assert!(panel.neighbour(Direction::Forward, (0, None)).is_none(), "there are no hits yet");
        assert!(renew(&mut panel).is_some());
        assert!(is_neighbour(panel.set_hits(hits())), "pressed before the hits");
        assert!(renew(&mut panel).is_some());
        assert!(is_neighbour(panel.set_hits(hits())), "the query was cancelled");
        let hit = hits().from(i64::MIN).next().unwrap();
        assert!(panel.set_neighbour(Some(NeighbourHit { number: 0, hit, wrapped: None })).is_some());
        assert!(renew(&mut panel).is_some());
        assert!(panel.set_hits(hits()).is_none(), "it was answered");
    }
}

#[test]
fn a_filter_without_hits_in_the_scope_leads_to_a_wider_scope() {
    let snapshot = snapshot(r#"[{"ph":"X","name":"read","pid":1,"tid":1,"ts":5,"dur":1}]"#);
    let mut panel = SearchPanel::default();
    assert!(panel.highlight("read".to_owned()).is_some());
    let scope = SelectedScope { range: Some((0, 1000)), ..SelectedScope::default() };
    assert!(panel.set_scope(&scope).is_some());
    let of_range = Scope { to_ns: Some(1000), ..Scope::default() };
    let hits = search(&snapshot, &of_range, &Cancel::default(), &Progress::default()).unwrap();
    assert_eq!(hits.total(), 0);
    assert!(panel.set_hits(hits).is_none());
    assert!(panel.absence(&snapshot).is_some_and(|absence| absence.contains("widen the scope")));
}

#[test]
fn a_failed_query_hides_no_later_answer_and_is_no_invalid_filter() {
    let snapshot = snapshot(r#"[{"ph":"X","name":"read","pid":1,"tid":1,"ts":5,"dur":1}]"#);
    let hits = || search(&snapshot, &Scope::default(), &Cancel::default(), &Progress::default()).unwrap();
    for kind in [QuestionKind::Search, QuestionKind::HitPage, QuestionKind::OrderedHits, QuestionKind::Neighbour] {
        let mut panel = SearchPanel::default();
        assert!(panel.highlight("read".to_owned()).is_some());
        panel.fail(kind, "The disk failed.");
        assert_eq!((panel.problem(), panel.error.as_deref()), (Some("The disk failed."), None), "{kind:?}");
        match kind {
            QuestionKind::HitPage => panel.set_page(0, Vec::new()),
            QuestionKind::OrderedHits => panel.set_ordered(Arc::default()),
            QuestionKind::Neighbour => assert!(panel.set_neighbour(None).is_none()),
            _ => assert!(panel.set_hits(hits()).is_none()),
        }
        assert_eq!(panel.problem(), None, "{kind:?}");
    }
}

//! Tests of the statistics: copied commands, and failed queries.

use super::*;
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::query::scope::Scope;
use crate::query::totals::{GrowingTotals, add_up};

#[test]
fn a_command_has_the_words_only_if_all_rows_have_them_in_their_names() {
    let snapshot = crate::scene::tests::snapshot(
        r#"[{"ph":"X","name":"b","cat":"net","pid":1,"tid":1,"ts":0,"dur":50},
        {"ph":"X","name":"b","cat":"io","pid":1,"tid":2,"ts":200,"dur":10},
        {"ph":"X","name":"network","cat":"io","pid":1,"tid":2,"ts":300,"dur":10}]"#,
    );
    let growing = GrowingTotals::grouped(GroupBy::default());
    add_up(&snapshot, &Scope::default(), &growing, &Cancel::default(), &Progress::default()).unwrap();
    let lines = GroupLines::new(Arc::new(growing.so_far()), &snapshot, &Cancel::default()).unwrap();
    let mut panel = StatisticsPanel::default();
    panel.rows.set_lines(Arc::new(lines), false);
    for (words, rows, options, omits_words) in [
        ("net", 2, vec![], true),
        ("netw", 1, vec!["--name", "(?i)netw"], false),
        ("b", 2, vec!["--name", "(?i)b"], false),
        ("", 3, vec![], false),
    ] {
        words.clone_into(&mut panel.words);
        panel.rows.set_words(words);
        if let Some((lines, sort)) = panel.rows.take_request() {
            panel.rows.set_ordered(Arc::new(OrderedRows::new(lines, sort, &Cancel::default()).unwrap()));
        }
        let line = panel.command_line().unwrap();
        assert_eq!(panel.rows.to_export().map(|table| table.rows()), Some(rows), "{words}");
        assert_eq!((line.options, line.omits_words), (options.into_iter().map(str::to_owned).collect(), omits_words));
    }
}

#[test]
fn failed_queries_say_why_until_they_are_repeated() {
    let mut panel = StatisticsPanel::default();
    let scope = SelectedScope::default();
    panel.ask_all(&scope);
    panel.fail(QuestionKind::Totals, "it is damaged");
    panel.fail(QuestionKind::Group, "it is too");
    assert_eq!(panel.query.stopped(), Some("it is damaged"));
    assert_eq!(panel.facts_error.as_deref(), Some("it is too"));
    assert!(panel.ask_all(&scope).is_empty());
    panel.query.repeat();
    assert!(!panel.ask_all(&scope).is_empty() && panel.query.stopped().is_none() && panel.facts_error.is_none());
    panel.fail(QuestionKind::Totals, "");
    assert_eq!(panel.query.stopped(), Some(""), "it was cancelled");
}

//! Messages about events that arrive after later ones.

use crate::harness::longspan;

#[test]
fn events_that_are_late_by_years_have_another_clock() {
    for (later_s, reason) in [("1.000001", "their times may be from another clock"), ("1795166530.1", "--delay waits")]
    {
        let line = format!("echo '7 1795166531.000001 read(3) = 0'; sleep 1; echo '7 {later_s} read(3) = 0'");
        let answer = longspan(&["tail", "--", "sh", "-c", &line]);
        assert!(answer.stderr.contains("1 event arrived up to") && answer.stderr.contains(reason), "{}", answer.stderr);
    }
}

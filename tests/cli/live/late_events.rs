//! Messages about events that arrive after later ones.

use crate::harness::longspan;

#[test]
fn events_late_by_years_are_reported_as_another_clock() {
    for (later_s, reason) in [("1.000001", "their times may be from another clock"), ("1795166530.1", "--delay waits")]
    {
        let line = format!("echo '7 1795166531.000001 read(3) = 0'; sleep 1; echo '7 {later_s} read(3) = 0'");
        let output = longspan(&["tail", "--", "sh", "-c", &line]);
        assert!(output.stderr.contains("1 event arrived up to") && output.stderr.contains(reason), "{}", output.stderr);
    }
}

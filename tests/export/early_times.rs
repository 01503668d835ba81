//! Perfetto traces of times before 0, which are moved to begin at 0.

use std::fs;

use longspan::facade::base::cancel::Cancel;
use longspan::facade::base::progress::Progress;
use longspan::facade::export::{ExportError, ExportFormat, ExportOptions, export};
use longspan::facade::query::scope::Scope;

use super::load;

#[test]
fn a_trace_too_long_for_perfetto_times_from_0_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let both_ends = |first: &str| {
        let path = folder.path().join("in.json");
        let last = r#"{"ph":"i","name":"last","pid":1,"tid":1,"ts":9223372036854775.807}"#;
        let text = format!(r#"[{{"ph":"i","name":"first","pid":1,"tid":1,"ts":{first}}},{last}]"#);
        fs::write(&path, text).expect("written");
        let (output, options) = (folder.path().join("out.pftrace"), ExportOptions::whole(ExportFormat::Perfetto));
        export(&load(&path), &"/none".into(), &output, &options, &Cancel::default(), &Progress::default())
    };
    let refused = both_ends("-0.001").expect_err("2^63 ns");
    assert!(matches!(refused, ExportError::TooLong { dur_ns: 9_223_372_036_854_775_808, .. }), "{refused}");
    assert!(!folder.path().join("out.pftrace").exists());
    assert_eq!(both_ends("0").expect("a time less").instants, 2);
}

#[test]
fn a_part_from_0_of_a_trace_with_times_before_0_keeps_its_times() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("in.json");
    let instant = |ts: &str| format!(r#"{{"ph":"i","name":"i","pid":1,"tid":1,"ts":{ts}}}"#);
    let instants = ["-9223372036854775.808", "-5", "2", "9223372036854775.807"].map(instant);
    fs::write(&path, format!("[{}]", instants.join(","))).expect("written");
    let snapshot = load(&path);
    let written = |from_ns: i64| {
        let output = folder.path().join(format!("out{from_ns}.pftrace"));
        let scope = Scope::from_range(Some(from_ns), Some(3_000));
        let options = ExportOptions { scope, ..ExportOptions::whole(ExportFormat::Perfetto) };
        let report = export(&snapshot, &"/none".into(), &output, &options, &Cancel::default(), &Progress::default());
        report.map(|report| (report.instants, report.moved_ns, load(&output).start_ns()))
    };
    assert_eq!(written(0).expect("no time before 0"), (1, 0, 2_000));
    assert!(matches!(written(-5_000), Err(ExportError::TooLong { .. })));
}

//! The order in which the points of flows are written.

use std::fs;

use longspan::facade::export::{ExportFormat, ExportOptions};

use super::{export_to, load};

/// Returns the phases of the flow points in exports to Chrome JSON and Perfetto, in written order.
fn written_phases(events: &str) -> [String; 2] {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, output) = (folder.path().join("in.json"), folder.path().join("out"));
    fs::write(&path, events).expect("written");
    let snapshot = load(&path);
    let bytes_as = |format| {
        export_to(&snapshot, &output, &ExportOptions::whole(format));
        fs::read(&output).expect("there")
    };
    let is_phase = |phase: &&u8| b"stf".contains(phase);
    let json = bytes_as(ExportFormat::ChromeJson { gzip: false });
    let of_json = json.split(|&byte| byte == b'\n').filter_map(|line| line.strip_prefix(b"{\"ph\":\"")?.first());
    // A legacy event, whose first field is its phase.
    let perfetto = bytes_as(ExportFormat::Perfetto);
    let of_perfetto = perfetto.windows(4).filter(|bytes| bytes[0] == 0x32 && bytes[2] == 0x10).map(|bytes| &bytes[3]);
    let text = |phases: Vec<&u8>| phases.into_iter().map(|&phase| char::from(phase)).collect();
    [text(of_json.filter(is_phase).collect()), text(of_perfetto.filter(is_phase).collect())]
}

/// Perfetto drops an end or a step of a flow that has not started.
#[test]
fn a_flow_without_delay_starts_before_it_ends() {
    let spans = r#"{"ph":"X","pid":1,"tid":1,"ts":1,"dur":50,"name":"p"},{"ph":"X","pid":1,"tid":1,"ts":2,"dur":40,"name":"send"},
        {"ph":"X","pid":1,"tid":2,"ts":5,"dur":20,"name":"receive"},{"ph":"X","pid":1,"tid":3,"ts":5,"dur":20,"name":"other"}"#;
    let point = |ph: &str, tid: u32, ts: u32, rest: &str| {
        format!(r#"{{"ph":"{ph}","pid":1,"tid":{tid},"ts":{ts},"id":1,"name":"f","cat":"f"{rest}}}"#)
    };
    let (start, step, end) = (point("s", 1, 10, ""), point("t", 2, 10, ""), point("f", 3, 10, r#","bp":"e""#));
    let next = point("f", 2, 10, "");
    assert_eq!(written_phases(&format!("[{spans},{start},{end}]")), ["sf", "sf"]);
    assert_eq!(written_phases(&format!("[{spans},{start},{step},{end}]")), ["stf", "stf"]);
    assert_eq!(written_phases(&format!("[{spans},{start},{next}]")), ["sf", "sf"]);
    // The previous flow ends when the flow starts again.
    let before = point("s", 3, 6, "");
    assert_eq!(written_phases(&format!("[{spans},{before},{end},{start}]")), ["sfs", "sfs"]);
}

/// The end waits for the start on the other thread, and so do the spans that it precedes.
#[test]
fn a_flow_ends_before_the_span_at_which_it_arrives() {
    let events = r#"[{"ph":"X","pid":1,"tid":1,"ts":10,"dur":40,"name":"p"},{"ph":"X","pid":1,"tid":1,"ts":10,"dur":30,"name":"send"},
        {"ph":"s","pid":1,"tid":1,"ts":10,"id":1,"name":"f","cat":"f"},{"ph":"f","pid":1,"tid":2,"ts":10,"id":1,"name":"f","cat":"f"},
        {"ph":"X","pid":1,"tid":2,"ts":10,"dur":20,"name":"receive"}]"#;
    assert_eq!(written_phases(events), ["sf", "sf"]);
}

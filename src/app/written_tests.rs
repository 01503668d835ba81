//! What the window exports, byte by byte beside what is exported without it.

use super::dialogs::Choice;
use super::tasks::TaskEvent;
use super::tests::{Driven, TWO_SPANS, snapshot};
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::export::{self, ExportOptions};
use crate::ui::ExportFormat;
use crate::ui::picker::Purpose;
use crate::ui::progress::bytes_text;

#[test]
fn an_export_carries_the_store_unless_it_is_to_be_compact() {
    let folder = tempfile::tempdir().unwrap();
    let snapshot = snapshot(TWO_SPANS);
    let mut driven = Driven::new();
    driven.app.show_capture(snapshot.clone(), "two".into(), false);
    let mut exported = |format, options: ExportOptions| {
        let (output, expected) = (folder.path().join("output"), folder.path().join("expected"));
        driven.app.take(TaskEvent::Chosen(Choice::Chosen(Purpose::Export(format), vec![output.clone()])));
        driven.finish_tasks();
        let (cancel, progress) = (Cancel::default(), Progress::default());
        export::export(&snapshot, &"two".into(), &expected, &options, &cancel, &progress).unwrap();
        let written = std::fs::read(output).unwrap();
        assert!(written == std::fs::read(expected).unwrap(), "{format:?} is not as {options:?}");
        let told = format!("2 spans in {} written to ", bytes_text(written.len() as u64));
        assert!(driven.app.note().starts_with(&told), "{}", driven.app.note());
        written.len()
    };
    let native = |compact| ExportOptions::whole(export::ExportFormat::Native { compact });
    let carrying = exported(ExportFormat::Native, native(false));
    let compact = exported(ExportFormat::Compact, native(true));
    assert!(compact < carrying, "{compact} and {carrying} bytes");
    exported(ExportFormat::Perfetto, ExportOptions::whole(export::ExportFormat::Perfetto));
}

#[test]
fn the_name_of_a_selected_time_asks_for_any_format_that_the_menu_has() {
    for format in
        [ExportFormat::Native, ExportFormat::Chrome, ExportFormat::Perfetto, ExportFormat::Csv, ExportFormat::Parquet]
    {
        let name = Purpose::Export(format).suggested_name("trace");
        assert_eq!(ExportFormat::of_name(name.as_ref()), format, "{name}");
    }
}

#[test]
fn names_that_are_offered_keep_two_exports_of_one_capture_apart() {
    let names = [ExportFormat::Native, ExportFormat::Compact, ExportFormat::Selected]
        .map(|format| Purpose::Export(format).suggested_name("trace.json.gz"));
    assert_eq!(names, ["trace-sorted.longspan", "trace-compact.longspan", "trace-selected.longspan"]);
}

//! The window's exports, compared byte by byte with the exports of the command line.

use std::path::{Path, PathBuf};

use super::tests::{Session, TWO_SPANS, snapshot};
use crate::app::event::{DialogChoice, FileRequest, TaskEvent};
use crate::base::cancel::Cancel;
use crate::base::progress::Progress;
use crate::export::{self, ExportFormat, ExportOptions};
use crate::ingest::{self, CachePolicy, LoadOptions};
use crate::model::Sources;
use crate::ui::chrome::progress::bytes_text;
use crate::ui::command::{AppCommand, Command, PanelCommand, ScopeCommand, TimelineCommand};
use crate::ui::panel::{DockTab, Panel, PinId};
use crate::ui::purpose::Purpose;
use crate::ui::selected_scope::SelectedScope;

impl Session {
    /// Chooses a file in a dialog of the active tab.
    pub(super) fn choose(&mut self, purpose: Purpose, path: PathBuf) {
        let request = FileRequest { purpose, tab: self.app.tab().id };
        self.app.handle(TaskEvent::Chosen(DialogChoice::Chosen(request, vec![path])));
    }

    /// Opens the picker of the active tab, as on a system without dialogs.
    pub(super) fn open_picker(&mut self, purpose: Purpose) {
        let request = FileRequest { purpose, tab: self.app.tab().id };
        self.app.handle(TaskEvent::Chosen(DialogChoice::NoDialog(request)));
    }

    /// Presses Enter after a path in the picker.
    pub(super) fn pick(&mut self, path: &Path) {
        self.app.act(Command::App(AppCommand::PickPath { path: path.to_owned(), replaces: false }));
    }
}

#[test]
fn an_export_contains_the_store_unless_it_is_compact() {
    let folder = tempfile::tempdir().unwrap();
    let snapshot = snapshot(TWO_SPANS);
    let mut session = Session::new();
    session.app.show_trace(snapshot.clone(), "two".into(), false);
    let mut exported = |format, options: ExportOptions| {
        let name = format!("output.{}", options.format.ending());
        let (output, expected) = (folder.path().join(name), folder.path().join("expected"));
        session.choose(Purpose::Export(format), output.clone());
        session.finish_tasks();
        let (cancel, progress) = (Cancel::default(), Progress::default());
        export::export(&snapshot, &"two".into(), &expected, &options, &cancel, &progress).unwrap();
        let written = std::fs::read(output).unwrap();
        assert!(written == std::fs::read(expected).unwrap(), "{format:?} is not as {options:?}");
        let note = format!("2 spans in {} written to ", bytes_text(written.len() as u64));
        assert!(session.app.note().starts_with(&note), "{}", session.app.note());
        written.len()
    };
    let native = |compact| ExportFormat::Native { compact };
    let carrying = exported(native(false), ExportOptions::whole(native(false)));
    let compact = exported(native(true), ExportOptions::whole(native(true)));
    assert!(compact < carrying, "{compact} and {carrying} bytes");
    exported(ExportFormat::Perfetto, ExportOptions::whole(ExportFormat::Perfetto));
}

#[test]
fn an_export_of_the_scope_counts_the_spans_that_flows_connect_apart() {
    let folder = tempfile::tempdir().unwrap();
    let span = |name: &str, tid: u32, ts: u32, dur: u32| {
        format!(r#"{{"ph":"X","name":"{name}","pid":1,"tid":{tid},"ts":{ts},"dur":{dur}}}"#)
    };
    let flow = |ph: &str, tid: u32, ts: u32| {
        format!(r#"{{"ph":"{ph}","bp":"e","name":"f","cat":"c","id":1,"pid":1,"tid":{tid},"ts":{ts}}}"#)
    };
    let spans = [span("source", 1, 0, 10), span("parent", 2, 0, 90), span("sink", 2, 20, 10), span("other", 2, 95, 1)];
    let events = [spans.join(","), flow("s", 1, 5), flow("f", 2, 25)].join(",");
    let mut session = Session::new();
    session.app.show_trace(snapshot(&format!("[{events}]")), "flows".into(), false);
    let tracks = [crate::model::TrackIdx(0)].into_iter().collect();
    let scope = SelectedScope { tracks, ..SelectedScope::default() };
    session.app.act(Command::Timeline(TimelineCommand::Scope(ScopeCommand::Set(Box::new(scope)))));
    let output = folder.path().join("part.longspan");
    session.choose(Purpose::ExportSelected, output);
    session.finish_tasks();
    let note = session.app.note();
    assert!(note.starts_with("1 span and 2 spans connected by flows, in "), "{note}");
}

#[test]
fn an_export_says_that_values_above_those_of_its_format_are_its_maximum() {
    let folder = tempfile::tempdir().unwrap();
    let samples = r#"{"cpu":0,"tid":1,"ts":1,"name":"c","sf":"1","weight":15000000000000000000}"#;
    let heavy = format!(r#"{{"traceEvents":[],"stackFrames":{{"1":{{"name":"f"}}}},"samples":[{samples}]}}"#);
    let mut session = Session::new();
    session.app.show_trace(snapshot(&heavy), "heavy".into(), false);
    let output = folder.path().join("heavy.pprof");
    let purpose = Purpose::Export(ExportFormat::Pprof);
    session.choose(purpose, output.clone());
    session.finish_tasks();
    let end = format!(" written to {}; 1 value is written as 2^63 - 1, the maximum of the format", output.display());
    assert!(session.app.note().ends_with(&end), "{}", session.app.note());
}

#[test]
fn a_name_without_an_ending_gets_one_and_overwrites_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::new();
    session.app.show_trace(snapshot(TWO_SPANS), "two".into(), false);
    session.chord(egui::Key::T);
    session.until("the statistics", |session| session.shows("2 names"));
    let mut write = |purpose, name: &str| {
        session.choose(purpose, folder.path().join(name));
        // A refused name starts nothing.
        if session.app.message().is_none() {
            session.finish_tasks();
        }
        let message = session.app.message().map(str::to_owned);
        session.app.act(Command::App(AppCommand::Dismiss));
        message
    };
    let export = Purpose::Export(ExportFormat::NATIVE);
    assert_eq!(write(export, "c"), None);
    assert_eq!(write(export, "c.json"), None);
    assert_eq!(write(Purpose::Table(Panel::Statistics.into()), "table"), None);
    let uncounted = write(Purpose::Table(Panel::Counters.into()), "counters").unwrap_or_default();
    assert!(uncounted.contains("The table has no rows of this scope yet."), "{uncounted}");
    let mut names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["c.json", "c.longspan", "table.csv"]);
    assert!(std::fs::read_to_string(folder.path().join("c.json")).unwrap().starts_with(['[', '{']));
    for (purpose, name, said) in [
        (export, "c", "c.longspan: already exists"),
        (export, "c.csv.gz", "c.csv.gz: only .json and .pb can be written compressed"),
        (Purpose::Table(Panel::Statistics.into()), "table", "table.csv: already exists"),
        (Purpose::WindowPicture, "w.jpg", "w.jpg: Images are written as PNG"),
    ] {
        let message = write(purpose, name).unwrap_or_default();
        assert!(message.contains(said), "{name}: {message}");
    }
}

#[test]
fn panels_write_no_rows_of_an_earlier_scope_and_none_if_they_were_closed() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::new();
    session.app.show_trace(snapshot(TWO_SPANS), "two".into(), false);
    for panel in [Panel::Statistics, Panel::Spans, Panel::Flame] {
        session.app.act(Command::Panel(PanelCommand::Show(panel)));
        (0..2).for_each(|_| session.frame(Vec::new()));
        session.until("its answer", |session| !session.app.tab().panels.is_busy());
    }
    let has_rows = |session: &mut Session| {
        let tab = session.app.tab_mut();
        let timeline = &tab.trace.as_ref().unwrap().timeline;
        let tables = [Panel::Statistics, Panel::Spans].map(|panel| tab.panels.table_of(panel.into(), timeline));
        (tables.map(|table| table.is_some()), tab.panels.flame_source(Panel::Flame.into(), timeline).is_some())
    };
    assert_eq!(has_rows(&mut session), ([true; 2], true));
    let scope = SelectedScope { range: Some((0, 100_000)), ..SelectedScope::default() };
    session.app.act(Command::Timeline(TimelineCommand::Scope(ScopeCommand::Set(Box::new(scope)))));
    assert_eq!(has_rows(&mut session), ([false; 2], false));
    let closed = DockTab { panel: Panel::Statistics, pin: Some(PinId(1)) };
    for (purpose, said) in [
        (Purpose::Table(Panel::Spans.into()), "no rows of this scope yet"),
        (Purpose::FlameGraph(Panel::Flame.into()), "no paths of this scope yet"),
        (Purpose::Table(closed), "The panel was closed"),
        (Purpose::FlameGraph(closed), "The panel was closed"),
    ] {
        session.choose(purpose, folder.path().join("output"));
        let message = session.app.message().map(str::to_owned).unwrap_or_default();
        assert!(message.contains(said), "{purpose:?} {message}");
        session.app.act(Command::App(AppCommand::Dismiss));
    }
    session.app.act(Command::App(AppCommand::CopyTable(Panel::Statistics.into())));
    assert_eq!(session.app.note(), "The statistics of this scope are not counted yet.");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_running_trace_is_exported_as_far_as_it_was_read() {
    let folder = tempfile::tempdir().unwrap();
    let (running, output) = (folder.path().join("running.json"), folder.path().join("so far.longspan"));
    std::fs::write(&running, TWO_SPANS.trim_end_matches(']')).unwrap();
    let mut session = Session::new();
    session.app.follow_files(&[running]);
    session.until("the spans", |session| {
        session.app.timeline_mut().is_some_and(|timeline| timeline.snapshot().summary().spans == 2)
    });
    let export = Purpose::Export(ExportFormat::NATIVE);
    session.choose(export, output.clone());
    session.until("the file", |session| session.app.note().starts_with("2 spans in "));
    assert_eq!(session.app.message(), None);
    let load = LoadOptions { cache: CachePolicy::None, ..LoadOptions::default() };
    let loaded = ingest::open(&output, &load, &Cancel::default(), &Progress::default()).unwrap();
    assert_eq!(loaded.store.meta().summary.spans, 2);
    assert!(session.app.tab().is_live(), "it goes on");
}

#[test]
fn every_suggested_name_has_the_ending_of_its_format() {
    for format in [
        ExportFormat::NATIVE,
        ExportFormat::ChromeJson { gzip: false },
        ExportFormat::ChromeJson { gzip: true },
        ExportFormat::Perfetto,
        ExportFormat::CSV,
        ExportFormat::Parquet { by_process: false },
    ] {
        let name = Purpose::Export(format).suggested_name("trace");
        assert_eq!(ExportFormat::from_name(name.as_ref()), Ok(Some(format)), "{name}");
    }
}

#[test]
fn the_exports_of_one_trace_have_different_suggested_names() {
    let compact = Purpose::Export(ExportFormat::Native { compact: true });
    let names = [Purpose::Export(ExportFormat::NATIVE), compact, Purpose::ExportSelected]
        .map(|purpose| purpose.suggested_name("trace.json.gz"));
    assert_eq!(names, ["trace-sorted.longspan", "trace-compact.longspan", "trace-selected.longspan"]);
}

#[test]
fn a_typed_path_of_an_existing_file_is_overwritten_only_after_a_question() {
    let key = |key, modifiers| egui::Event::Key { key, physical_key: None, pressed: true, repeat: false, modifiers };
    for (name, is_whole_path) in [("old.csv", true), (".old.csv", true), ("old.csv", false)] {
        let folder = tempfile::tempdir().unwrap();
        let path = super::tests::file(folder.path(), name, "old");
        let mut session = Session::new();
        // The picker starts in the folder of the trace.
        let trace = Sources::from(&folder.path().join("two.json"));
        session.app.show_trace(snapshot(TWO_SPANS), trace, false);
        let purpose = Purpose::Export(ExportFormat::CSV);
        session.open_picker(purpose);
        session.until("the picker", |session| session.shows("Export"));
        session.until("the listed folder", |session| !session.shows("Reading the folder..."));
        let typed = if is_whole_path { path.display().to_string() } else { name.to_owned() };
        session.frame(vec![key(egui::Key::A, egui::Modifiers::COMMAND), egui::Event::Text(typed)]);
        let enter = || vec![key(egui::Key::Enter, egui::Modifiers::NONE)];
        session.frame(enter());
        let question = "A file of this name exists: press Enter again to replace it";
        session.until("the question", |session| session.shows(question));
        assert!(session.shows("Replace"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old", "{name}");
        session.frame(enter());
        session.until("the table", |session| session.app.note().contains("2 spans in"));
        assert!(std::fs::read_to_string(&path).unwrap().starts_with("ts,dur,"), "{name}");
    }
}

#[test]
fn a_name_typed_after_another_folder_was_entered_replaces_the_suggested_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::new();
    session.app.show_trace(snapshot(TWO_SPANS), "two".into(), false);
    session.open_picker(Purpose::Export(ExportFormat::CSV));
    session.until("the picker", |session| session.shows("two-sorted.csv"));
    session.pick(folder.path());
    session.until("the folder", |session| session.shows("This folder is empty"));
    (0..2).for_each(|_| session.frame(Vec::new()));
    session.frame(vec![egui::Event::Text("mine".to_owned())]);
    session.frame(Vec::new());
    assert!(session.shows("mine.csv"), "{:?}", session.texts);
}

#[test]
fn the_notice_after_an_export_counts_samples_of_a_profile() {
    let profile = r#"{"stackFrames":{"1":{"name":"main"}},"samples":[
        {"cpu":0,"tid":1,"ts":1,"name":"cycles","sf":1,"weight":1},
        {"cpu":0,"tid":1,"ts":2,"name":"cycles","sf":1,"weight":1}]}"#;
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::new();
    session.app.show_trace(snapshot(profile), "profile".into(), false);
    let (purpose, output) = (Purpose::Export(ExportFormat::NATIVE), folder.path().join("output.longspan"));
    session.choose(purpose, output);
    session.finish_tasks();
    assert!(session.app.note().starts_with("2 samples in "), "{}", session.app.note());
}

#[test]
fn an_exported_table_has_the_durations_of_the_command_line_even_of_unfinished_spans() {
    let trace = r#"[
        {"ph":"B","name":"open","pid":1,"tid":1,"ts":0},
        {"ph":"X","name":"done","pid":1,"tid":1,"ts":1,"dur":5}]"#;
    let (folder, snapshot) = (tempfile::tempdir().unwrap(), snapshot(trace));
    let (table, expected) = (folder.path().join("table.csv"), folder.path().join("expected.csv"));
    let mut session = Session::new();
    session.app.show_trace(snapshot.clone(), "two".into(), false);
    session.app.act(Command::Panel(PanelCommand::Toggle(Panel::Spans)));
    session.until("the spans", |session| {
        session.shows("of the whole trace") && session.texts.iter().any(|text| text == "2")
    });
    session.choose(Purpose::Table(Panel::Spans.into()), table.clone());
    session.until("the table", |_| table.exists());
    let (cancel, progress) = (Cancel::default(), Progress::default());
    let options = ExportOptions::whole(ExportFormat::CSV);
    export::export(&snapshot, &"two".into(), &expected, &options, &cancel, &progress).unwrap();
    let facts = |path| {
        let text = std::fs::read_to_string(path).unwrap();
        let rows = text.lines().skip(1).map(|row| row.split(',').take(4).map(str::to_owned).collect::<Vec<_>>());
        let mut rows: Vec<_> = rows.collect();
        rows.sort();
        rows
    };
    assert_eq!(facts(&table), facts(&expected));
    assert!(facts(&table).contains(&["0", "-1", "0", "open"].map(str::to_owned).to_vec()));
}

#[test]
fn the_progress_of_a_task_is_above_the_docked_panel() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::new();
    session.app.show_trace(snapshot(TWO_SPANS), "two".into(), false);
    session.app.act(Command::Panel(PanelCommand::Toggle(Panel::Spans)));
    session.until("the spans", |session| {
        session.shows("of the whole trace") && session.texts.iter().any(|text| text == "2")
    });
    let output = folder.path().join("output.csv");
    session.choose(Purpose::Export(ExportFormat::CSV), output);
    // The task runs until its event is handled.
    (0..4).for_each(|_| session.frame(Vec::new()));
    let position_of = |text| session.texts.iter().position(|shown| shown == text).map(|text| session.positions[text]);
    let (cancel, dock) = (position_of("Cancel").expect("a card"), position_of("Longest").expect("a panel"));
    assert!(cancel.y + 20.0 < dock.y, "{cancel} {dock}");
    session.finish_tasks();
}

#[test]
fn exported_tables_of_spans_and_samples_have_the_columns_of_their_commands() {
    let sample =
        r#"{"ph":"P","name":"s","pid":1,"tid":1,"ts":3,"sf":"1","args":{"event":"clock","unit":"ns","period":7}}"#;
    let trace = format!(
        r#"{{"stackFrames":{{"1":{{"name":"spin","category":"app"}}}},
        "traceEvents":[{sample},{{"ph":"X","name":"span","pid":1,"tid":1,"ts":1,"dur":5}}]}}"#
    );
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::new();
    session.app.show_trace(snapshot(&trace), "two".into(), false);
    for (panel, shown, expected) in [
        (Panel::Spans, "span", "ts,dur,depth,name,category,pid,tid,process,thread,track\n1000,5000,0,span,"),
        (
            Panel::Samples,
            "spin",
            "event,unit,function,module,self,total,self_samples,total_samples\nclock,ns,spin,app,7,7,1,1\n",
        ),
    ] {
        session.app.act(Command::Panel(PanelCommand::Show(panel)));
        session.until("the rows", |session| session.shows(shown));
        let table = folder.path().join(shown).with_extension("csv");
        session.choose(Purpose::Table(panel.into()), table.clone());
        session.until("the table", |_| table.exists());
        let text = std::fs::read_to_string(table).unwrap();
        assert!(text.starts_with(expected), "{text}");
    }
}

#[test]
fn the_flame_graph_is_written_in_the_format_of_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::new();
    session.app.show_trace(snapshot(TWO_SPANS), "two".into(), false);
    let write = |session: &mut Session, name: &str| {
        let path = folder.path().join(name);
        session.choose(Purpose::FlameGraph(Panel::Flame.into()), path.clone());
        let message = session.app.message().map(str::to_owned);
        if message.is_none() {
            session.until("the graph", |session| session.app.note().starts_with("Written to ") && path.exists());
        }
        session.app.act(Command::App(AppCommand::Dismiss));
        message.map_or_else(|| Ok(std::fs::read(&path).unwrap()), Err)
    };
    let uncounted = write(&mut session, "a").unwrap_err();
    assert!(uncounted.contains("The graph has no paths of this scope yet."), "{uncounted}");
    session.app.act(Command::Panel(PanelCommand::Show(Panel::Flame)));
    session.until("the graph", |session| session.shows("alpha"));
    let folded = String::from_utf8(write(&mut session, "a.folded").unwrap()).unwrap();
    let mut names: Vec<_> = folded.lines().filter_map(|line| line.rsplit_once(' ')).map(|(name, _)| name).collect();
    names.sort_unstable();
    assert_eq!(names, ["alpha", "omega"]);
    for (name, beginning) in
        [("a.svg", &b"<svg"[..]), ("a.json", b"{\"event\":\"\",\"unit\":\"ns\""), ("a.pb.gz", b"\x1f\x8b")]
    {
        assert!(write(&mut session, name).unwrap().starts_with(beginning), "{name}");
    }
    let other = write(&mut session, "a.csv").unwrap_err();
    assert!(other.contains("flame graphs are written as .folded"), "{other}");
}

#[test]
fn a_flame_graph_of_samples_is_exported_as_one_while_it_is_counted_again() {
    let profile = r#"{"traceEvents":[{"ph":"P","pid":1,"tid":1,"ts":1,"sf":1}],"stackFrames":{"1":{"name":"main"}}}"#;
    let mut session = Session::new();
    session.app.show_trace(snapshot(profile), "profile".into(), false);
    session.app.act(Command::Panel(PanelCommand::Show(Panel::Flame)));
    session.until("the graph", |session| session.shows("main") && !session.app.tab().panels.is_busy());
    let tab = session.app.tab_mut();
    let timeline = &tab.trace.as_ref().unwrap().timeline;
    // As when a followed profile has grown.
    tab.panels.renew(timeline.snapshot());
    let source = tab.panels.flame_source(Panel::Flame.into(), timeline).expect("the graph stays");
    assert_eq!(source.things, "samples");
}

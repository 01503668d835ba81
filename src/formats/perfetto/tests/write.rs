//! Tests of written data that Perfetto's messages have no field for: it is read back as it was.

use super::*;
use crate::formats::perfetto::write::{PerfettoWriter, WrittenTrace, has_tasks};
use crate::model::args::Detail;
use crate::model::{
    BuildId, Event, Id, Metadata, Module, ModuleKind, NameIdx, Names, Registry, StackIdx, Stacks, TrackIdx, TrackKey,
    TrackKind,
};

fn key(kind: TrackKind, pid: Id, tid: Id) -> TrackKey {
    TrackKey::new(kind, pid, tid)
}

/// Reads samples of one thread with these arguments, and returns their arguments.
fn samples_with(args: &[&str]) -> Vec<String> {
    let (names, stacks, mut registry) = (Names::default(), Stacks::default(), Registry::default());
    let track = registry.track(&key(TrackKind::Thread, Id::Number(5), Id::Number(7))).expect("a track");
    let mut writer =
        PerfettoWriter::new(Vec::new(), WrittenTrace::whole(&names, &stacks, registry.tables()), 0).expect("to memory");
    for (ts_ns, args_json) in (0..).zip(args) {
        let mut blob = Vec::new();
        Detail { args_json, ..Detail::default() }.encode_into(&mut blob);
        let sample = Event { ts_ns, ..Event::new(0, EventKind::Sample, track, NameIdx::EMPTY) };
        writer.sample(&sample, &blob).expect("to memory");
    }
    let reading = read_bytes(&writer.finish().expect("to memory")).expect("a trace");
    assert_eq!(reading.lost(), []);
    reading.events.into_iter().map(|event| event.args).collect()
}

#[test]
fn periods_keep_their_units_when_events_take_turns() {
    let args = [
        r#"{"event":"cpu","unit":"ns","period":1130000000}"#,
        r#"{"event":"inuse_space","unit":"bytes","period":7}"#,
        r#"{"event":"cpu","unit":"ns","period":1130000000}"#,
        // The unit is that of the event, as others write it.
        r#"{"event":"cpu","period":1130000000}"#,
        r#"{"event":"cpu-clock","unit":"count","period":5}"#,
        r#"{"unit":"gophers \"é\"","period":18446744073709551615}"#,
        // It counts nothing, and not one sample.
        r#"{"event":"cycles","unit":"count","period":0}"#,
        r#"{"event":"cycles"}"#,
        "",
    ];
    assert_eq!(samples_with(&args), args);
}

/// Writes an instant and a sample on each track, and returns the tracks that are read back.
fn tracks_of(keys: &[TrackKey], name: Option<&str>) -> (Vec<TrackKey>, Vec<Metadata>) {
    let (names, stacks, mut registry) = (Names::default(), Stacks::default(), Registry::default());
    let tracks: Vec<_> = keys.iter().map(|key| registry.track(key).expect("a track")).collect();
    if let Some(name) = name {
        registry.apply(&Metadata::ProcessName { pid: Id::None, name: name.into() });
    }
    let mut writer =
        PerfettoWriter::new(Vec::new(), WrittenTrace::whole(&names, &stacks, registry.tables()), 0).expect("to memory");
    for (ts_ns, &track) in (0..).zip(&tracks) {
        writer.instant(&Event::new(ts_ns, EventKind::Instant, track, NameIdx::EMPTY), &[], &[]).expect("to memory");
    }
    for (&track, key) in tracks.iter().zip(keys).filter(|(_, key)| key.kind == TrackKind::Thread) {
        let sample = Event { ts_ns: 100, ..Event::new(0, EventKind::Sample, track, NameIdx::EMPTY) };
        writer.sample(&sample, &[]).unwrap_or_else(|error| panic!("{key:?}: {error}"));
    }
    let reading = read_bytes(&writer.finish().expect("to memory")).expect("a trace");
    assert_eq!(reading.lost(), []);
    (reading.events.into_iter().map(|event| event.track).collect(), reading.metadata)
}

#[test]
fn a_missing_id_stays_missing_and_shares_no_process_with_the_idle_thread() {
    use TrackKind::{Process, Thread};
    let keys = [
        key(Thread, Id::None, Id::Number(1000)),
        key(Thread, Id::None, Id::None),
        key(Thread, Id::Number(0), Id::Number(0)),
        key(Thread, Id::Number(1), Id::None),
        key(Thread, Id::Number(2), Id::None),
        key(Process, Id::None, Id::None),
    ];
    for name in [None, Some("program")] {
        let (found, metadata) = tracks_of(&keys, name);
        assert_eq!(found, [&keys[..], &keys[..5]].concat(), "instants, then samples");
        let named = |said: &&Metadata| matches!(said, Metadata::ProcessName { pid: Id::None, .. });
        assert_eq!(metadata.iter().filter(named).count(), usize::from(name.is_some()));
    }
}

#[test]
fn a_process_without_an_id_is_described_only_for_its_threads() {
    let written = |keys: &[TrackKey]| {
        let mut registry = Registry::default();
        keys.iter().for_each(|key| _ = registry.track(key));
        let (names, stacks) = (Names::default(), Stacks::default());
        let writer = PerfettoWriter::new(Vec::new(), WrittenTrace::whole(&names, &stacks, registry.tables()), 0)
            .expect("to memory");
        writer.finish().expect("to memory")
    };
    let number = key(TrackKind::Thread, Id::Number(1), Id::Number(1));
    let global = [number.clone(), key(TrackKind::Global, Id::None, Id::None)];
    assert_eq!(written(&global), written(&[number]));
}

#[test]
fn states_of_a_thread_without_a_process_are_spans_since_a_change_of_state_would_give_it_one() {
    let tables = |pid: Id| {
        let mut registry = Registry::default();
        registry.track(&key(TrackKind::Cpu, Id::None, Id::Number(0)));
        registry.track(&key(TrackKind::State, pid, Id::Number(7)));
        has_tasks(registry.tables())
    };
    assert_eq!((tables(Id::Number(7)), tables(Id::None)), (true, false));
}

#[test]
fn scheduling_of_several_files_is_written_as_spans_since_state_changes_have_no_file() {
    let tables = |cpu_pid: Id, file: Option<&str>| {
        let mut registry = Registry::default();
        registry.track(&key(TrackKind::Cpu, Id::None, Id::Number(0)));
        registry.track(&key(TrackKind::Cpu, cpu_pid, Id::Number(1)));
        for pid in [7, 8] {
            registry.track(&key(TrackKind::State, Id::Number(pid), Id::Number(pid)));
        }
        if let Some(file) = file {
            registry.apply(&Metadata::ProcessFile { pid: Id::Number(8), file: file.into() });
        }
        has_tasks(registry.tables())
    };
    let other = || Id::Text("b.data".into());
    assert_eq!((tables(Id::None, None), tables(other(), None), tables(Id::None, Some("b.data"))), (true, false, false));
}

#[test]
fn ids_that_are_made_up_are_none_of_the_trace() {
    // As in an export with text ids that is read again and exported with another file.
    let (first, second) = (0x7000_0000, 0x7000_0001);
    let ids = [Id::Text("web".into()), Id::Number(first), Id::Number(second), Id::Text("db".into())];
    let mut registry = Registry::default();
    ids.iter().for_each(|id| _ = registry.track(&key(TrackKind::Thread, id.clone(), Id::Number(1))));
    let (names, stacks) = (Names::default(), Stacks::default());
    let trace = WrittenTrace::whole(&names, &stacks, registry.tables());
    let mut writer = PerfettoWriter::new(Vec::new(), trace, 0).expect("to memory");
    for track in 0..4 {
        writer
            .instant(&Event::new(1, EventKind::Instant, TrackIdx(track), NameIdx::EMPTY), &[], &[])
            .expect("to memory");
    }
    let reading = read_bytes(&writer.finish().expect("to memory")).expect("a trace");
    let mut pids: Vec<_> = reading.events.iter().map(|event| event.track.pid.clone()).collect();
    pids.sort();
    assert_eq!(pids, [first, second, second + 1, second + 2].map(Id::Number));
}

#[test]
fn counters_of_threads_stay_with_their_threads() {
    let of = |kind, pid, tid, name: &str| TrackKey { name: name.into(), ..key(kind, Id::Number(pid), Id::Number(tid)) };
    let keys: Vec<_> = [(1, 1), (1, 7), (2, 7)]
        .into_iter()
        .flat_map(|(pid, tid)| [of(TrackKind::Counter, pid, tid, "count"), of(TrackKind::Thread, pid, tid, "")])
        .collect();
    let (names, stacks, mut registry) = (Names::default(), Stacks::default(), Registry::default());
    let tracks: Vec<_> = keys.iter().map(|key| registry.track(key).expect("a track")).collect();
    let trace = WrittenTrace::whole(&names, &stacks, registry.tables());
    let mut writer = PerfettoWriter::new(Vec::new(), trace, 0).expect("to memory");
    for (ts_ns, &track) in (0..).zip(tracks.iter().step_by(2)) {
        writer.counter(&Event::new(ts_ns, EventKind::Counter, track, NameIdx::EMPTY)).expect("to memory");
    }
    let reading = read_bytes(&writer.finish().expect("to memory")).expect("a trace");
    let found: Vec<_> = reading.events.into_iter().map(|event| event.track).collect();
    assert_eq!(found, keys.into_iter().step_by(2).collect::<Vec<_>>());
}

#[test]
fn a_frame_without_a_name_is_not_read_back_as_an_address() {
    let (mut names, mut stacks, mut registry) = (Names::default(), Stacks::default(), Registry::default());
    let [main, leaf] = ["main", "leaf"].map(|name| names.intern(name, None));
    let mut stack = StackIdx::EMPTY;
    for name in [main, NameIdx::EMPTY, leaf, NameIdx::EMPTY] {
        stack = stacks.intern(stack, name);
    }
    let track = registry.track(&key(TrackKind::Thread, Id::Number(5), Id::Number(7))).expect("a track");
    let mut writer =
        PerfettoWriter::new(Vec::new(), WrittenTrace::whole(&names, &stacks, registry.tables()), 0).expect("to memory");
    writer.sample(&Event::at(1, track, NameIdx::EMPTY).sample(stack), &[]).expect("to memory");
    let reading = read_bytes(&writer.finish().expect("to memory")).expect("a trace");
    assert_eq!(
        (reading.lost(), &reading.events[0].stack[..]),
        (vec![], &["main", "", "leaf", ""].map(String::from)[..])
    );
}

#[test]
fn modules_of_frames_come_back_with_their_build_ids_and_kinds() {
    let module = |category: &str, path: &str, build_id: &[u8], kind| Module {
        category: category.into(),
        path: path.into(),
        build_id: BuildId::new(build_id),
        kind,
        ..Module::default()
    };
    let modules = [
        module("/bin/work", "/bin/work", &[1; 20], ModuleKind::File),
        module("/bin/work (build 0203)", "/bin/work", &[2, 3], ModuleKind::Image),
        module("relative.so", "relative.so", &[], ModuleKind::Linked),
    ];
    let frames = [
        ("main", Some("/bin/work")),
        ("main", None),
        ("main", Some("/bin/work (build 0203)")),
        ("work+0x12", Some("/bin/work")),
        ("sin", Some("relative.so")),
        ("f", Some("unlisted")),
        ("main+0x12", None),
    ];
    let (mut names, mut stacks, mut registry) = (Names::default(), Stacks::default(), Registry::default());
    for module in &modules {
        registry.apply(&Metadata::Module { module: Box::new(module.clone()) });
    }
    let stack = stacks.intern_path(frames.map(|(text, module)| names.intern(text, module)));
    let track = registry.track(&key(TrackKind::Thread, Id::Number(5), Id::Number(7))).expect("a track");
    let mut writer =
        PerfettoWriter::new(Vec::new(), WrittenTrace::whole(&names, &stacks, registry.tables()), 0).expect("to memory");
    writer.sample(&Event::at(1, track, NameIdx::EMPTY).sample(stack), &[]).expect("to memory");
    let reading = read_bytes(&writer.finish().expect("to memory")).expect("a trace");
    assert_eq!(reading.lost(), []);
    let sample = &reading.events[0];
    let found: Vec<_> =
        sample.stack.iter().map(String::as_str).zip(sample.modules.iter().map(Option::as_deref)).collect();
    assert_eq!(found, frames);
    let unlisted = module("unlisted", "unlisted", &[], ModuleKind::Unknown);
    let read = reading.metadata.into_iter().filter_map(|it| match it {
        Metadata::Module { module } => Some(*module),
        _ => None,
    });
    assert_eq!(read.collect::<Vec<_>>(), [&modules[..], &[unlisted]].concat());
}

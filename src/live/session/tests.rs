//! Sources that continue as other traces, beside sources that connect.

use super::*;
use crate::live::feed::LiveTables;
use crate::model::{Event, EventFlags, EventKind, Id, Metadata, NameIdx, TrackIdx, TrackKind};

fn options() -> SessionOptions {
    SessionOptions {
        memory: Memory::default(),
        delay: Some(Duration::ZERO),
        places_late: true,
        stop: Cancel::default(),
        spool: None,
        pace: Pace::Waits,
        keeps_tables: true,
    }
}

fn silent() -> Say {
    Arc::new(|note| assert_eq!(note.to_string(), "", "nothing to say"))
}

#[test]
fn rotations_of_a_file_number_its_traces_and_refuse_no_connection() {
    let mut session = LiveSession::start(&[], &options(), &silent()).unwrap();
    let (_out, fed) = crossbeam_channel::bounded(1);
    session.source_names.reserve("app.json".into());
    session.orderer.add_source(0, true);
    session.sources.push(LiveSource::new("app.json".into(), fed, Arc::default(), None, false, &Budget::default()));
    // Beyond the limit, another trace is the same source.
    (0..CONTINUED_MAX + 2).for_each(|_| session.continue_as_another(session.sources.len() - 1));
    let (connected, listener) = crossbeam_channel::bounded(1);
    session.listeners.push(listener);
    connected.send(NewSource { name: "app (7)".into(), sends_batches: false, read: Box::new(|_| ()) }).unwrap();
    assert!(session.accept());
    let names: Vec<_> = session.names().map(|name| name.display().to_string()).collect();
    let continued = (2..=CONTINUED_MAX + 1).map(|number| format!("app.json ({number})"));
    let expected: Vec<_> = ["app.json".to_owned()].into_iter().chain(continued).chain(["app (7)".to_owned()]).collect();
    assert_eq!(names, expected);
}

#[test]
fn rows_of_a_thread_that_moves_have_the_track_that_the_tables_know() {
    let mut session = LiveSession::start(&[], &options(), &silent()).unwrap();
    let (out, fed) = crossbeam_channel::bounded(4);
    session.orderer.add_source(0, true);
    session.sources.push(LiveSource::new("s.strace".into(), fed, Arc::default(), None, false, &Budget::default()));
    let key = TrackKey::new(TrackKind::Thread, Id::Number(7), Id::Number(7));
    let tables = LiveTables { names: vec![Arc::default()], tracks: vec![Arc::new(key)], ..LiveTables::default() };
    let tables = Arc::new(tables);
    let live = |kind, ts_ns| {
        let event = Event { kind, flags: EventFlags::UNNAMED, ..Event::at(ts_ns, TrackIdx(0), NameIdx(0)) };
        LiveEvent { event, number: 0, tables: Arc::clone(&tables), args: Box::default(), stack: Box::default() }
    };
    let pids_of_step = |session: &mut LiveSession| {
        let mut pids = Vec::new();
        let taken = session.take_tables().len();
        let stepped = session.step::<()>(&mut |row| {
            pids.push(row.row.track.pid.clone());
            Ok(())
        });
        stepped.unwrap();
        (taken, pids)
    };
    // An event is queued when the process of its thread becomes known, and is released in that step.
    out.send(FeedItem::Events(vec![(1, live(EventKind::Begin, 1)), (2, live(EventKind::Instant, 2))])).unwrap();
    session.receive_events(0);
    let moved = Metadata::ThreadProcess { tid: Id::Number(7), before: Id::Number(7), pid: Id::Number(5) };
    out.send(FeedItem::Metadata(vec![moved])).unwrap();
    assert_eq!(pids_of_step(&mut session), (0, vec![Id::Number(7)]));
    // Once the move is taken, open spans and later events are on the new track.
    out.send(FeedItem::Events(vec![(3, live(EventKind::End, 3)), (4, live(EventKind::Instant, 4))])).unwrap();
    std::thread::sleep(2 * TICK);
    assert_eq!(pids_of_step(&mut session), (1, vec![Id::Number(5); 2]));
}

#[test]
fn nothing_is_read_or_recorded_if_a_later_source_cannot_be() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    std::fs::write(&path, r#"[{"ph":"i","pid":1,"tid":1,"name":"a","ts":1}]"#).unwrap();
    let later = [
        LiveInput::Input(folder.path().join("none/b.json").into()),
        LiveInput::Command(vec![folder.path().join("no_program").into()]),
    ];
    for later in later {
        let spool = SpoolFiles::beside(&folder.path().join("out"), u64::MAX);
        let options = SessionOptions { spool: Some(spool.clone()), ..options() };
        let inputs = [LiveInput::Input(path.clone().into()), later];
        assert!(LiveSession::start(&inputs, &options, &silent()).is_err());
        // Time in which a thread that reads would have made a file.
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(spool.paths(), [] as [std::path::PathBuf; 0]);
    }
}

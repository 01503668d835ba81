//! Sources that continue as other traces, beside sources that connect.

use super::*;

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

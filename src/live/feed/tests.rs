//! Tests when the events of a slow source are parsed.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::base::cancel::Cancel;
use crate::live::arrivals::{self, LiveInput};
use crate::live::reading_thread::Pace;
use crate::live::source_note::Say;
use crate::model::{Chunk, Id, TrackIdx, TrackKind};

/// A line every 50 ms is never silent for long, and takes 12 seconds to fill the head.
#[test]
fn a_source_of_few_lines_that_is_never_silent_is_parsed_before_its_head_is_full() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo");
    assert!(made.success());
    let (to, is_seen) = (path.clone(), Arc::new(AtomicBool::new(false)));
    let seen = Arc::clone(&is_seen);
    let writer = std::thread::spawn(move || {
        let mut pipe = std::fs::File::options().write(true).open(to).unwrap();
        let (mut lines, mut bytes) = (0, 0);
        while !seen.load(Ordering::SeqCst) && bytes < HEAD_BYTES {
            let line = format!("7 1795166531.{lines:06} getpid() = 7\n");
            pipe.write_all(line.as_bytes()).unwrap();
            (lines, bytes) = (lines + 1, bytes + line.len());
            std::thread::sleep(Duration::from_millis(50));
        }
        bytes
    });
    let say: Say = Arc::new(|note| assert_eq!(note.to_string(), "", "nothing to say"));
    let ready = arrivals::prepare(&LiveInput::Input(path.clone().into()), Pace::Waits).unwrap();
    let (arrivals, _) = arrivals::start(ready, &Cancel::default(), &say, None).unwrap();
    let fed = start(arrivals, path, &Memory::default(), SourceCount::Few, false, bounded(1).0);
    while !matches!(fed.recv().unwrap(), FeedItem::Events(_)) {}
    is_seen.store(true, Ordering::SeqCst);
    let bytes = writer.join().unwrap();
    assert!(bytes < HEAD_BYTES, "{bytes} bytes came before the first event");
}

#[test]
fn queued_events_count_the_names_of_their_batch() {
    const NAME_BYTES: usize = 32_000;
    let (out, fed) = bounded(8);
    let out = FeedSender { out, wake: WakeOnDrop(bounded(1).0) };
    let mut sink = FeedSink::new(&out, ArrivalKey::Start);
    let name = |number: usize| LiveName::new(number.to_string().repeat(NAME_BYTES).into(), None);
    let tracks = vec![TrackKey::new(TrackKind::Thread, Id::Number(1), Id::Number(1))];
    let events = (1..5).map(|name| Event::at(1, TrackIdx(0), NameIdx(name))).collect();
    let chunk = Chunk { events, ..Chunk::default() };
    sink.accept(Batch { chunk, names: (0..5).map(name).collect(), tracks, ..Batch::default() }).unwrap();
    let events = fed.try_iter().find_map(|item| if let FeedItem::Events(events) = item { Some(events) } else { None });
    let bytes: usize = events.expect("events").iter().map(|(_, event)| event.bytes()).sum();
    assert!(bytes >= 4 * NAME_BYTES, "{bytes}");
}

//! Growing files and programs, followed to their ends, compared with traces opened when they are finished.

use std::io::Write as _;
use std::path::Path;
use std::sync::Mutex;

use super::*;
use crate::ingest::{self, CachePolicy, LoadOptions};

type OnSnapshot = Box<dyn FnMut(&Snapshot)>;

/// A viewer that keeps each snapshot.
#[derive(Default)]
struct Kept {
    snapshots: Vec<(Snapshot, FollowCounts)>,
    said: Vec<String>,
    on_snapshot: Option<OnSnapshot>,
}

impl Viewer for Kept {
    fn is_ready(&self) -> bool {
        true
    }

    fn show(&mut self, followed: FollowUpdate) {
        match followed {
            FollowUpdate::Snapshot(snapshot, _, counts) => {
                if let Some(on_snapshot) = &mut self.on_snapshot {
                    on_snapshot(&snapshot);
                }
                self.snapshots.push((snapshot, counts));
            }
            FollowUpdate::Counts(_) => {}
            FollowUpdate::Said(note) => self.said.push(note.to_string()),
        }
    }
}

fn options(folder: &Path, inputs: Vec<LiveInput>) -> FollowOptions {
    FollowOptions {
        inputs,
        memory: Memory::default(),
        delay: Some(Duration::from_millis(20)),
        until: None,
        stop: Cancel::default(),
        folder: folder.join("cache"),
        disk_cap: u64::MAX,
        kept: None,
        recorded_bytes: Arc::default(),
    }
}

fn silent() -> Say {
    Arc::new(|note| assert_eq!(note.to_string(), "", "nothing to say"))
}

fn span(number: u64) -> String {
    format!(
        "{{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"name\":\"step {}\",\"ts\":{},\"dur\":5}},\n",
        number % 10,
        number * 10
    )
}

#[test]
fn a_file_that_grows_is_shown_as_it_grows_and_sorted_exactly_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let mut file = std::fs::File::create(&path).unwrap();
    file.write_all(b"[\n").unwrap();
    let options = options(folder.path(), vec![LiveInput::Input(path.clone().into())]);
    let stop = options.stop.clone();
    let mut written = 0;
    let mut kept = Kept::default();
    let mut grow = move || {
        (written..written + 500).for_each(|number| file.write_all(span(number).as_bytes()).unwrap());
        written += 500;
        written
    };
    let mut expected = grow();
    kept.on_snapshot = Some(Box::new(move |snapshot| {
        // Each snapshot shows what was written before it; only then does the file grow.
        if snapshot.summary().spans == expected {
            if expected >= 2500 {
                stop.cancel();
            } else {
                expected = grow();
            }
        }
    }));
    let end = follow(&options, &silent(), &mut kept).unwrap();
    assert!(kept.snapshots.len() >= 5 && kept.said.is_empty() && end.errors.is_empty());
    let (last, counts) = kept.snapshots.last().unwrap();
    assert_eq!(last.summary().spans, 2500);
    assert!(last.summary().sorted_to_ns.is_some());
    assert!(counts.disk_bytes > 0 && counts.late == 0, "{counts:?}");
    let load = LoadOptions { cache: CachePolicy::None, ..LoadOptions::default() };
    let (cancel, progress) = Default::default();
    let sorted = ingest::open_spooled(&end.sources, &load, &cancel, &progress).unwrap();
    let whole = ingest::open(&path, &load, &cancel, &progress).unwrap();
    assert_eq!(end.sources.title(), "trace.json");
    let [sorted, whole] = [sorted, whole].map(|loaded| loaded.store);
    assert_eq!(sorted.meta().summary.spans, whole.meta().summary.spans);
    assert_eq!(sorted.meta().tracks, whole.meta().tracks);
    assert_eq!(Snapshot::new(sorted).summary().end_ns, last.summary().end_ns);
    assert!(Snapshot::new(whole).has_tracks_of(last), "so that what is selected is found again");
    // The recorded bytes exist as long as the spool is held.
    let spool = end.spool.path().to_owned();
    assert!(spool.join("received.spool").exists());
    drop(end);
    assert!(!spool.exists());
}

#[test]
fn a_command_is_followed_to_its_end_or_until_a_span_passes() {
    let folder = tempfile::tempdir().unwrap();
    let script = r#"echo '['; n=0; while [ $n -lt 400 ]; do
        echo '{"ph":"X","pid":1,"tid":1,"name":"step '$n'","ts":'$n'0,"dur":5},'; n=$((n+1)); done; exec sleep ${1:-0}"#;
    let command = |seconds: &str| LiveInput::Command(["sh", "-c", script, "sh", seconds].map(Into::into).to_vec());
    let mut kept = Kept::default();
    let end = follow(&options(folder.path(), vec![command("0")]), &silent(), &mut kept).unwrap();
    assert_eq!(kept.snapshots.last().unwrap().0.summary().spans, 400);
    assert_eq!(end.sources.title(), "sh");
    // A program that would run for a minute is stopped.
    let mut options = options(folder.path(), vec![command("60")]);
    options.until = Some(LiveFilter::new(crate::query::filter::Filter::parse("\"step 300\"").unwrap()).unwrap());
    let began = Instant::now();
    let mut kept = Kept::default();
    let said = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&said);
    let say: Say = Arc::new(move |text| heard.lock().unwrap().push(text.to_string()));
    follow(&options, &say, &mut kept).unwrap();
    assert!(began.elapsed() < Duration::from_secs(30));
    assert!(kept.said.iter().any(|text| text.contains("--until")), "{:?}", kept.said);
}

#[test]
fn unreadable_sources_are_reported_and_kept_for_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let command = ["printf", "\\037\\213\\010\\0\\0\\0\\0\\0\\0\\003abc"].map(Into::into).to_vec();
    let mut kept = Kept::default();
    let end = follow(&options(folder.path(), vec![LiveInput::Command(command)]), &silent(), &mut kept).unwrap();
    assert!(kept.said.iter().any(|text| text.contains("compressed data cannot be followed")), "{:?}", kept.said);
    assert_eq!(end.sources.files().len(), 1);
    let none = LiveInput::Command(vec!["/nowhere/program".into()]);
    let failed = follow(&options(folder.path(), vec![none]), &silent(), &mut Kept::default());
    assert!(matches!(failed, Err(FollowError::Arrival(ArrivalError::Start { .. }))));
    assert_eq!(std::fs::read_dir(folder.path().join("cache")).unwrap().count(), 1, "of the first only");
}

/// Waits until the only spool in a folder of followed traces has a size.
fn wait_for_spool(followed: &Path, bytes: u64) {
    let spool = std::fs::read_dir(followed).unwrap().next().unwrap().unwrap().path().join("received.spool");
    let began = Instant::now();
    while spool.metadata().unwrap().len() < bytes {
        assert!(began.elapsed() < Duration::from_mins(1), "the spool has not grown to {bytes} bytes");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_pipe_whose_writer_has_ended_is_not_read_at_the_speed_of_its_snapshots() {
    const SPANS: u64 = 250_000;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("whole.json");
    let text: String = std::iter::once("[\n".to_owned()).chain((0..SPANS).map(span)).collect();
    std::fs::write(&path, &text).unwrap();
    let command = LiveInput::Command(vec!["cat".into(), path.into()]);
    let mut kept = Kept::default();
    // A fast machine would read everything before the program ends, so the first snapshot lasts until then.
    let (followed, bytes) = (folder.path().join("cache"), text.len() as u64);
    kept.on_snapshot = Some(Box::new(move |_| wait_for_spool(&followed, bytes)));
    let end = follow(&options(folder.path(), vec![command]), &silent(), &mut kept).unwrap();
    let (_, counts) = kept.snapshots.last().expect("a snapshot");
    assert!(counts.rows < SPANS / 2, "{counts:?}");
    assert!(end.errors.is_empty() && end.unsorted.is_none(), "{:?}", end.errors);
    assert_eq!(std::fs::read(end.spool.path().join("received.spool")).unwrap(), text.as_bytes());
}

#[test]
fn a_span_that_is_open_while_its_program_is_silent_grows_until_the_trace_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hung.json");
    let mut file = std::fs::File::create(&path).unwrap();
    let options = options(folder.path(), vec![LiveInput::Input(path.clone().into())]);
    let stop = options.stop.clone();
    let writer = std::thread::spawn(move || {
        let began = Instant::now();
        file.write_all(b"[\n").unwrap();
        let mut event = |phase: char, name: &str| {
            let ts = began.elapsed().as_micros();
            writeln!(file, r#"{{"ph":"{phase}","pid":1,"tid":1,"name":"{name}","ts":{ts}}},"#).unwrap();
            ts
        };
        for _ in 0..25 {
            event('i', "step");
            std::thread::sleep(Duration::from_millis(60));
        }
        let hung_us = event('B', "hung");
        std::thread::sleep(Duration::from_millis(2500));
        stop.cancel();
        i64::try_from(hung_us * 1000).unwrap()
    });
    let mut kept = Kept::default();
    follow(&options, &silent(), &mut kept).unwrap();
    let hung_ns = writer.join().unwrap();
    let ends: Vec<i64> = kept.snapshots.iter().map(|(snapshot, _)| snapshot.end_ns()).collect();
    assert_eq!(ends.last(), Some(&hung_ns), "only known times remain: {ends:?}");
    let (silent, _) = kept.snapshots.iter().max_by_key(|(snapshot, _)| snapshot.end_ns()).unwrap();
    let shown_ns = silent.end_ns() - hung_ns;
    assert!((1_000_000_000..4_000_000_000).contains(&shown_ns), "{ends:?}");
    let longest = (0..silent.store().lane_count()).map(|lane| {
        let mut cursor = crate::query::cursor::LaneCursor::new(silent.store(), crate::store::LaneIdx(lane));
        cursor.span(0).map_or(0, |span| span.dur_ns)
    });
    assert_eq!(longest.max(), Some(shown_ns.unsigned_abs()));
}

#[test]
fn rows_that_cannot_be_written_end_the_trace_and_leave_what_was_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("[\n{}", span(1));
    let script = format!("echo '{text}'; exec sleep 60");
    let path = folder.path().join("rows");
    std::fs::write(&path, "").unwrap();
    let followed = |kept| {
        let program = LiveInput::Command(["sh", "-c", &script].map(Into::into).to_vec());
        let options = FollowOptions { kept, ..options(folder.path(), vec![program]) };
        let spool = SpoolFolder::new(folder.path()).unwrap();
        // It is open for reading only.
        let file = std::fs::File::open(&path).unwrap();
        let store = LiveStore::new(file, Names::default(), LiveStoreLimits::within(1 << 30)).unwrap();
        let end = follow_into(store, spool, &options, &silent(), &mut Kept::default()).unwrap();
        assert!(options.stop.is_cancelled(), "the program has ended");
        end
    };
    let end = followed(Some(Retention::Bytes(1 << 20)));
    assert!(end.unsorted.is_none() && end.errors[0].contains("cannot write the rows"), "{:?}", end.errors);
    let end = followed(None);
    let recorded = end.spool.path().join("received.spool");
    assert!(end.unsorted.as_ref().is_some_and(|why| why.contains("cannot write the rows")), "{:?}", end.unsorted);
    assert_eq!((end.sources.title().as_str(), std::fs::read_to_string(recorded).unwrap()), ("sh", text + "\n"));
}

#[test]
fn rows_wait_longer_while_no_snapshot_shows_them() {
    let folder = tempfile::tempdir().unwrap();
    let program = LiveInput::Command(["echo", &format!("[{}", span(1))].map(Into::into).to_vec());
    let options = options(folder.path(), vec![program]);
    let spool = SpoolFolder::new(folder.path()).unwrap();
    let files = SpoolFiles::beside(&spool.path().join("received"), u64::MAX);
    let mut session = LiveSession::start(&options.inputs, &session_options(&options, &files), &silent()).unwrap();
    let mut following = Following::new(store_beside(&spool, &options).unwrap(), files);
    while following.step(&mut session, &options).unwrap().0 != LiveStep::Done {}
    let [first, second] = [(); 2].map(|()| following.count(&session).behind.expect("a row waits"));
    assert!(second >= first);
    following.show(&session, &mut Kept::default(), true).unwrap();
    assert_eq!(following.count(&session).behind, None);
}

//! Latency and cost of following a program that writes spans continuously. Measures the time from the end of a span
//! until it is in a frame, frame times, spans per second, memory and CPU usage.
//!
//! The program is a separate process, which writes spans with current times every five milliseconds. The window is the
//! application on a virtual screen at 60 Hz: a whole frame except the work of the GPU.
//!
//! `cargo bench --bench live -- [SPANS PER SECOND] [SECONDS] [native | chrome]`
//!
//! With `write` as the first word, it is the program only, which writes to stdout: for `longspan record` and `tail`.

use std::error::Error;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use longspan::facade::app::AppOptions;
use longspan::facade::app::event::TaskEvent;
use longspan::facade::app::state::App;
use longspan::facade::formats::native::write::NativeWriter;
use longspan::facade::ingest::{CachePolicy, LoadOptions};
use longspan::facade::model::{
    Chunk, Event, EventFlags, EventKind, Id, Losses, Names, Registry, TrackIdx, TrackKey, TrackKind,
};

const THREADS: u64 = 8;
/// Nesting depth of the spans.
const DEPTH: u64 = 8;
/// Interval between writes.
const PART: Duration = Duration::from_millis(5);
const FRAME: Duration = Duration::from_nanos(1_000_000_000 / 60);
const SIZE: egui::Vec2 = egui::vec2(1920.0, 1080.0);

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let is_writer = words.first().is_some_and(|word| word == "write");
    let numbers: Vec<u64> = words.iter().filter_map(|word| word.parse().ok()).collect();
    let is_chrome = words.iter().any(|word| word == "chrome");
    let (rate, seconds) = (numbers.first().copied().unwrap_or(100_000), numbers.get(1).copied().unwrap_or(20));
    if is_writer {
        let path = words.iter().find_map(|word| word.strip_prefix("to="));
        let out: Box<dyn Write> = match path {
            Some(path) => Box::new(File::options().write(true).open(path)?),
            None => Box::new(io::stdout().lock()),
        };
        let written = if is_chrome { write_chrome(out, rate, seconds) } else { write_native(out, rate, seconds) };
        // A reader that has enough closes the pipe.
        return written.or_else(|error| if is_closed(&*error) { Ok(()) } else { Err(error) });
    }
    measure(rate, seconds, if is_chrome { "chrome" } else { "native" })
}

fn is_closed(error: &(dyn Error + 'static)) -> bool {
    let mut error = Some(error);
    while let Some(inner) = error {
        if inner.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
            return true;
        }
        error = inner.source();
    }
    false
}

fn now_ns() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i64)
}

/// Calls `write` with the trees of spans that are due: start, end and thread of each.
fn in_parts(
    rate: u64,
    seconds: u64,
    mut write: impl FnMut(&[(i64, i64, u64)]) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let began = Instant::now();
    let (mut due, mut from_ns, mut owed, mut spans) = (PART, now_ns(), 0.0, 0);
    while began.elapsed() < Duration::from_secs(seconds) {
        std::thread::sleep(due.saturating_sub(began.elapsed()));
        // A missed interval is not made up for.
        due = (due + PART).max(began.elapsed());
        let to_ns = now_ns();
        owed += rate as f64 * PART.as_secs_f64() / DEPTH as f64;
        let count = owed as i64;
        owed -= count as f64;
        // Trees of a thread follow each other.
        let step_ns = (to_ns - from_ns) * THREADS as i64 / count.max(1);
        let trees: Vec<(i64, i64, u64)> = (0..count)
            .map(|tree| {
                let turn = tree / THREADS as i64;
                let start_ns = from_ns + turn * step_ns;
                (start_ns, (start_ns + step_ns - 1).min(to_ns).max(start_ns + 16), tree as u64 % THREADS)
            })
            .collect();
        write(&trees)?;
        spans += count as u64 * DEPTH;
        from_ns = to_ns;
    }
    eprintln!("written: {:.0} spans a second, {spans} in all", spans as f64 / began.elapsed().as_secs_f64());
    Ok(())
}

/// Writes spans sorted by start, like a tracer that sorts its buffers.
fn write_native(out: impl Write, rate: u64, seconds: u64) -> Result<(), Box<dyn Error>> {
    // Unbuffered: each part is sent immediately.
    let mut writer = NativeWriter::new(out, false)?;
    let (mut names, mut registry) = (Names::default(), Registry::default());
    let all: Vec<_> = (0..100).map(|name| names.intern(&format!("function {name}"), None)).collect();
    for tid in 0..THREADS {
        let tid = Id::Number(tid as i64);
        let key = TrackKey { kind: TrackKind::Thread, pid: Id::Number(1), tid, name: "".into(), slot: 0 };
        registry.track(&key).ok_or("no room for a track")?;
    }
    writer.write_tables(&names, registry.tables())?;
    let mut number = 0;
    in_parts(rate, seconds, |trees| {
        let mut chunk = Chunk::default();
        for &(start_ns, end_ns, thread) in trees {
            for depth in 0..DEPTH as i64 {
                number += 1;
                chunk.events.push(Event {
                    ts_ns: start_ns + depth,
                    value: (end_ns - start_ns - 2 * depth).max(0) as u64,
                    track: TrackIdx(thread as u32),
                    name: all[number % all.len()],
                    detail: 0,
                    depth: 0,
                    kind: EventKind::Complete,
                    flags: EventFlags::NONE,
                });
            }
        }
        chunk.events.sort_by_key(|event| event.ts_ns);
        Ok(writer.write_chunk(&chunk)?)
    })?;
    writer.finish(&Losses::default())?.flush()?;
    Ok(())
}

/// Writes spans when they end, innermost first, like tracers of the Chrome format.
fn write_chrome(mut out: impl Write, rate: u64, seconds: u64) -> Result<(), Box<dyn Error>> {
    out.write_all(b"[\n")?;
    let mut number = 0;
    let mut text = String::new();
    in_parts(rate, seconds, |trees| {
        text.clear();
        for &(start_ns, end_ns, thread) in trees {
            for depth in (0..DEPTH as i64).rev() {
                number += 1;
                let (start_ns, dur_ns) = (start_ns + depth, (end_ns - start_ns - 2 * depth).max(0));
                let (us, ns) = (start_ns / 1000, start_ns % 1000);
                let (dur_us, dur_ns) = (dur_ns / 1000, dur_ns % 1000);
                let name = number % 100;
                writeln!(
                    text,
                    r#"{{"ph":"X","pid":1,"tid":{thread},"name":"function {name}","ts":{us}.{ns:03},"dur":{dur_us}.{dur_ns:03}}},"#
                )?;
            }
        }
        Ok(out.write_all(text.as_bytes())?)
    })
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// Returns the quantile of a sorted list.
fn at(sorted: &[f64], part: f64) -> f64 {
    let rank = (sorted.len() as f64 * part).ceil() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied().unwrap_or(0.0)
}

/// The application on a virtual screen.
struct Screen {
    app: App,
    events: Receiver<TaskEvent>,
    context: egui::Context,
    began: Instant,
}

impl Screen {
    fn new() -> Self {
        let (sender, events) = channel();
        let sender = Mutex::new(sender);
        let wake = Arc::new(move |event| drop(sender.lock().map(|sender| sender.send(event).is_ok())));
        let load = LoadOptions { cache: CachePolicy::None, ..LoadOptions::default() };
        let app = App::new(AppOptions { load, ..AppOptions::default() }, wake);
        Self { app, events, context: egui::Context::default(), began: Instant::now() }
    }

    /// Handles events until `due`; returns whether there were any.
    fn handle_until(&mut self, due: Instant) -> bool {
        let mut has_come = false;
        loop {
            match self.events.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Ok(event) => {
                    self.app.handle(event);
                    has_come = true;
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return has_come,
            }
        }
    }

    /// Draws a frame, up to tessellation; returns the duration in milliseconds.
    fn frame(&mut self) -> f64 {
        let started = Instant::now();
        let input = egui::RawInput {
            screen_rect: Some(egui::Rect::from_min_size(egui::Pos2::ZERO, SIZE)),
            time: Some(self.began.elapsed().as_secs_f64()),
            ..egui::RawInput::default()
        };
        let app = &mut self.app;
        let mut output = self.context.run_ui(input, |ui| drop(app.show(ui)));
        drop(self.context.tessellate(output.shapes, output.pixels_per_point));
        output.textures_delta.clear(); // nothing is painted
        started.elapsed().as_secs_f64() * 1e3
    }

    /// Returns the end and the number of the displayed spans.
    fn shown(&mut self) -> Option<(i64, u64)> {
        let snapshot = self.app.timeline_mut()?.snapshot();
        Some((snapshot.end_ns(), snapshot.summary().spans))
    }
}

/// Returns a number about this process from a file in `/proc/self`.
fn of_kernel(file: &str, key: &str) -> u64 {
    let text = std::fs::read_to_string(Path::new("/proc/self").join(file)).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Returns the CPU time of this process, in seconds.
fn processor_s() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = text.rsplit(')').next().unwrap_or("");
    let fields: Vec<i64> = after_name.split(' ').filter_map(|word| word.parse().ok()).collect();
    // The process state is not a number, so user and system time are the 11th and 12th field after it, in hundredths of
    // a second.
    let time = |position: usize| fields.get(position).copied().unwrap_or(0);
    (time(10) + time(11)) as f64 / 100.0
}

fn measure(rate: u64, seconds: u64, format: &str) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let pipe = folder.path().join("pipe");
    if !Command::new("mkfifo").arg(&pipe).status()?.success() {
        return Err("no pipe".into());
    }
    let mut screen = Screen::new();
    screen.frame();
    let empty_kb = of_kernel("status", "RssAnon:");
    screen.app.follow_files(std::slice::from_ref(&pipe));
    let mut writer = Command::new(std::env::current_exe()?);
    let to = format!("to={}", pipe.display());
    let mut writer =
        writer.args(["write", &rate.to_string(), &seconds.to_string(), format, &to]).stdin(Stdio::null()).spawn()?;
    // Each latency is stored with the time range of the stream that it applies to.
    let (mut latencies, mut frames, mut most_kb) = (Vec::new(), Vec::new(), 0);
    let (mut shown_ns, mut first, mut last) = (None, None, (0, 0));
    let (started, processor_before) = (Instant::now(), processor_s());
    let mut due = Instant::now();
    while writer.try_wait()?.is_none() {
        due = (due + FRAME).max(Instant::now());
        let has_come = screen.handle_until(due);
        if !has_come {
            continue;
        }
        frames.push(screen.frame());
        let drawn_ns = now_ns();
        // A view without spans has no end.
        if let Some((end_ns, spans)) = screen.shown().filter(|(_, spans)| *spans > 0) {
            last = (drawn_ns, spans);
            first.get_or_insert(last);
            if let Some(before_ns) = shown_ns.replace(end_ns).filter(|before_ns| *before_ns < end_ns) {
                latencies.push((drawn_ns - end_ns, drawn_ns - before_ns));
            }
        }
        most_kb = most_kb.max(of_kernel("status", "RssAnon:"));
    }
    let processors = (processor_s() - processor_before) / started.elapsed().as_secs_f64();
    let (first, ms) = (first.unwrap_or_default(), |ns: i64| ns as f64 / 1e6);
    let rate_shown = (last.1 - first.1) as f64 / (ms(last.0 - first.0) / 1e3).max(1e-9);
    println!("shown: {rate_shown:.0} spans a second, {} in all, {} pictures", last.1, latencies.len());
    // Between two frames, spans ended at a constant rate: one sample per millisecond of the stream.
    let samples = latencies.iter().flat_map(|&(from_ns, to_ns)| (from_ns..to_ns).step_by(1_000_000).map(ms));
    let samples = sorted(samples.collect());
    let [median, p99, worst] = [0.5, 0.99, 1.0].map(|part| at(&samples, part));
    println!("from the end of a span to its frame: {median:.0} ms in the median, {p99:.0} at p99, {worst:.0} at worst");
    let frames = sorted(frames);
    let [median, p99, worst] = [0.5, 0.99, 1.0].map(|part| at(&frames, part));
    let count = frames.len();
    println!("frames: {median:.2} ms in the median, {p99:.2} at p99, {worst:.2} at worst, of {count}");
    println!("anonymous memory: {} MB at most, {} of it before", most_kb / 1000, empty_kb / 1000);
    println!("processors: {processors:.2}");
    Ok(())
}

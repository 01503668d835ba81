//! `longspan info`: the content of a trace and the cost of its import. Reads only the tables of the store, not its
//! rows.

use std::io::Write;
use std::sync::Arc;

use serde::Serialize;

use super::args::ImportArgs;
use super::error::CliError;
use super::load::load;
use super::messages::counted;
use super::stdout::to_stdout;
use crate::base::escape::write_json;
use crate::base::time::{duration_text, seconds_text, utc_clock_text, utc_day_text};
use crate::formats::sniff::format_name;
use crate::ingest::Loaded;
use crate::model::{Loss, Lost, Sources, TrackKind};
use crate::query::Snapshot;

/// The object of `info --json`; its names are a contract with scripts.
#[derive(Debug, Serialize)]
struct Info {
    /// Names of the formats of the files that can be read again, unlike pipes; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<String>,
    spans: u64,
    instants: u64,
    counters: u64,
    flows: u64,
    samples: u64,
    processes: usize,
    threads: usize,
    tracks: usize,
    /// Tracks shown in the window, including charts of samples.
    #[serde(skip)]
    tracks_shown: usize,
    #[serde(skip)]
    tracks_without_events: usize,
    /// Whether the start and the end are times, not weights drawn side by side.
    has_times: bool,
    /// Samples without times. They do not extend the range of samples with times.
    untimed_samples: u64,
    lanes: u32,
    start_ns: i64,
    end_ns: i64,
    /// Nanoseconds to add to a time of the trace for UTC; absent if the trace has no time of day.
    utc_offset_ns: Option<i64>,
    source_bytes: u64,
    store_bytes: u64,
    late_events: u64,
    max_lateness_ns: u64,
    losses: Vec<LossInfo>,
    /// Like `losses`, for normal contents of an intact trace.
    notes: Vec<LossInfo>,
    load: LoadInfo,
}

#[derive(Debug, Serialize)]
struct LossInfo {
    name: &'static str,
    /// The file of the loss, if there are several.
    file: Option<String>,
    count: u64,
    first: String,
    advice: String,
}

#[derive(Debug, Serialize)]
struct LoadInfo {
    seconds: f64,
    peak_budget_bytes: u64,
    chunks: u64,
    chunks_open_max: u64,
    head_moves: u64,
    spilled_bytes: u64,
    cached: bool,
}

/// Prints the content of a trace.
pub(super) fn print(sources: &Sources, json: bool, import: &ImportArgs) -> Result<(), CliError> {
    let loaded = load(sources, import)?;
    let info = Info { format: format_names(sources, &loaded), ..Info::from_loaded(&loaded) };
    to_stdout(|out| {
        if json {
            write_json(&mut *out, &info)?;
            writeln!(out)?;
        } else {
            info.write_text(out)?;
        }
        Ok(())
    })
}

/// Returns the names of the formats of the files that were read, each once.
fn format_names(sources: &Sources, loaded: &Loaded) -> Option<String> {
    let losses = &loaded.store.meta().losses;
    let unread: Vec<_> = losses.iter().filter(|lost| lost.loss == Loss::UnreadableFile).map(|lost| lost.file).collect();
    let files = sources.files().iter().zip(sources.names()).filter(|(_, name)| !unread.contains(&Some(name)));
    let files = files.map(|(file, _)| file).filter(|file| !file.input.is_open_file());
    let mut names: Vec<&str> = files.filter_map(|file| format_name(file.path())).collect();
    names.sort_unstable();
    names.dedup();
    (!names.is_empty()).then(|| names.join(", "))
}

impl Info {
    fn from_loaded(loaded: &Loaded) -> Self {
        let (store, meta) = (&loaded.store, loaded.store.meta());
        let (summary, tables) = (&meta.summary, &meta.tracks);
        let load = &summary.load;
        let snapshot = Snapshot::new(Arc::clone(store));
        let tracks_shown = snapshot.display_order().len();
        let (notes, losses): (Vec<_>, Vec<_>) = meta.losses.iter().partition(|lost| lost.loss.is_note());
        let loss_info = |lost: Lost<'_>| LossInfo {
            name: lost.loss.name(),
            file: lost.file.map(str::to_owned),
            count: lost.count,
            first: lost.first.to_string(),
            advice: lost.advice.into_owned(),
        };
        Self {
            format: None,
            spans: summary.spans,
            instants: summary.instants,
            counters: summary.counters,
            flows: summary.flows,
            samples: summary.samples,
            processes: tables.processes.len(),
            threads: tables.tracks.iter().filter(|track| track.key.kind == TrackKind::Thread).count(),
            tracks: tables.tracks.iter().filter(|track| !track.key.kind.is_derived()).count(),
            tracks_shown,
            tracks_without_events: tables.tracks.len() - tracks_shown,
            has_times: snapshot.has_times(),
            untimed_samples: snapshot.untimed_samples(),
            lanes: store.lane_count(),
            start_ns: summary.start_ns,
            end_ns: summary.end_ns,
            utc_offset_ns: tables.utc_offset_ns,
            source_bytes: summary.source_bytes,
            store_bytes: store.file_bytes(),
            late_events: summary.late_events,
            max_lateness_ns: summary.max_lateness_ns,
            losses: losses.into_iter().map(loss_info).collect(),
            notes: notes.into_iter().map(loss_info).collect(),
            load: LoadInfo {
                seconds: load.seconds,
                peak_budget_bytes: load.peak_budget_bytes,
                chunks: load.chunks,
                chunks_open_max: load.chunks_open_max,
                head_moves: load.head_moves,
                spilled_bytes: load.spilled_bytes,
                cached: loaded.report.cached,
            },
        }
    }

    fn write_text(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let mut line = |label: &str, value: String| writeln!(out, "{label:<12} {value}");
        if let Some(format) = &self.format {
            line("format", format.clone())?;
        }
        line("spans", self.spans.to_string())?;
        line("instants", self.instants.to_string())?;
        line("counters", counted(self.counters, "value"))?;
        line("flows", counted(self.flows, "point"))?;
        line("samples", self.samples.to_string())?;
        line("processes", self.processes.to_string())?;
        let without = match self.tracks_without_events {
            0 => String::new(),
            count => format!(", {count} more without events"),
        };
        let threads =
            if self.threads == 1 { "1 is a thread".to_owned() } else { format!("{} are threads", self.threads) };
        line("tracks", format!("{}{without}; {threads}", self.tracks_shown))?;
        line("lanes", self.lanes.to_string())?;
        let length = duration_text(self.end_ns.abs_diff(self.start_ns));
        let (start, end) = (seconds_text(self.start_ns), seconds_text(self.end_ns));
        let time = format!("{start} s to {end} s, {length}");
        line("time", if self.has_times { time } else { "none, samples have weights only".to_owned() })?;
        if self.has_times && self.untimed_samples > 0 {
            let samples = counted(self.untimed_samples, "sample");
            line("untimed", format!("{samples} without times, drawn side by side from the start"))?;
        }
        if let Some(offset_ns) = self.utc_offset_ns {
            let utc_ns = self.start_ns.saturating_add(offset_ns);
            line("began", format!("{} {} UTC", utc_day_text(utc_ns), utc_clock_text(utc_ns, 3)))?;
        }
        let latest = duration_text(self.max_lateness_ns);
        line("disorder", format!("{} events late, the latest by {latest}", self.late_events))?;
        line("size", format!("{} bytes, {} as a sorted store", self.source_bytes, self.store_bytes))?;
        let load = &self.load;
        if load.cached {
            line("load", format!("from the cache; sorting took {:.3} s", load.seconds))?;
        } else {
            line(
                "load",
                format!("{:.3} s, at most {} bytes of the memory limit", load.seconds, load.peak_budget_bytes),
            )?;
        }
        let merge = format!(
            "{}, {} open at most, {} head moves, {} bytes spilled",
            counted(load.chunks, "chunk"),
            load.chunks_open_max,
            load.head_moves,
            load.spilled_bytes
        );
        line("merge", merge)?;
        let lost: u64 = self.losses.iter().map(|loss| loss.count).fold(0, u64::saturating_add);
        line("losses", if lost == 0 { "none".to_owned() } else { format!("{lost}, each kind on stderr") })?;
        if self.notes.is_empty() {
            return Ok(());
        }
        let notes: Vec<_> = self.notes.iter().map(|note| format!("{} {}", note.count, note.name)).collect();
        line("notes", notes.join(", "))
    }
}

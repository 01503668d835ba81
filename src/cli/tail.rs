//! `longspan tail`: prints the rows of live traces as soon as they are in order. Records nothing.

use std::io::{self, BufWriter, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use super::args::TailArgs;
use super::error::CliError;
use super::live_rows;
use super::messages::{counted, say};
use crate::base::cancel::Cancel;
use crate::base::signals;
use crate::live::feed::FeedError;
use crate::live::orderer::LateEvents;
use crate::live::reading_thread::Pace;
use crate::live::session::{LiveSession, LiveStep, SessionOptions};
use crate::live::source_names::SourceNames;
use crate::live::source_note::Say;
use crate::model::{Loss, Losses};

/// Bytes buffered for a write.
const OUT_BYTES: usize = 64 << 10;

/// Prints rows until all sources have ended, a signal arrives or a row matches.
pub(super) fn print(tail: &TailArgs) -> Result<(), CliError> {
    let stop = Cancel::default();
    signals::stop_first(stop.clone(), || None);
    let options = SessionOptions {
        memory: tail.memory.clone(),
        delay: tail.delay,
        places_late: false,
        pace: Pace::Waits,
        stop: stop.clone(),
        spool: None,
        keeps_tables: false,
    };
    let mut session = LiveSession::start(&tail.inputs, &options, &say_live()).map_err(FeedError::from)?;
    let mut out = BufWriter::with_capacity(OUT_BYTES, io::stdout().lock());
    let (mut has_met, mut sources) = (false, SourceNames::default());
    loop {
        let mut is_met = false;
        sources.update(&session);
        let step = session.step(&mut |row| {
            // Rows after the one that matches `--until` are not printed.
            if is_met || has_met {
                return Ok(());
            }
            is_met = tail.until.as_ref().is_some_and(|until| until.takes(&row));
            if tail.filter.takes(&row) { live_rows::write(&mut out, tail.format, &row, &sources) } else { Ok(()) }
        })?;
        if is_met {
            has_met = true;
            stop.cancel();
        }
        let mut refused = session.take_refused();
        if session.listens() {
            refused.drain(..).for_each(|refused| say(refused.error));
        } else if let Some(refused) = refused.pop() {
            out.flush()?;
            return Err(refused.error.into());
        }
        match step {
            LiveStep::Worked => {}
            LiveStep::Waited => out.flush()?,
            LiveStep::Done => break,
        }
    }
    out.flush()?;
    report(&session.named_losses(), session.counts().late);
    fail_with(session.take_errors())?;
    if has_nothing_read(&session) { Err(CliError::NothingRead) } else { Ok(()) }
}

/// Lateness beyond the delay of any buffer: the times probably have another origin.
const OTHER_CLOCK_NS: u64 = 24 * 3_600_000_000_000;

/// Returns whether there were records but no event. Ends of spans that began earlier do not count.
fn has_nothing_read(session: &LiveSession) -> bool {
    let is_unread = |loss: Loss| loss.is_of_record() && loss != Loss::UnmatchedEnd;
    session.counts().rows == 0
        && session.losses().iter().any(|(_, losses)| losses.iter().any(|lost| is_unread(lost.loss)))
}

/// Shows sentences about sources on stderr.
pub(super) fn say_live() -> Say {
    Arc::new(say)
}

/// Prints warnings about the losses of each source, and about late events.
pub(super) fn report(losses: &[(PathBuf, Losses)], late: LateEvents) {
    for (path, losses) in losses {
        for lost in losses.iter().filter(|lost| !lost.loss.is_note()) {
            let (name, path, count) = (lost.loss.name(), path.display(), lost.count);
            say(format_args!("{path}: {count} {name}, first at {}: {}", lost.first, lost.advice));
        }
    }
    if late.count > 0 {
        let (events, most) = (counted(late.count, "event"), live_rows::duration(late.most_ns));
        if late.most_ns >= OTHER_CLOCK_NS {
            say(format_args!("{events} arrived up to {most} late: their times may be from another clock"));
        } else {
            say(format_args!("{events} arrived up to {most} late; --delay waits longer for them"));
        }
    }
}

/// Prints all errors but the last, which is returned as the error of the command.
fn fail_with(mut errors: Vec<FeedError>) -> Result<(), CliError> {
    let last = errors.pop();
    errors.into_iter().for_each(say);
    last.map_or(Ok(()), |error| Err(error.into()))
}

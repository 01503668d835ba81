//! Reads the messages of another program, which a user puts into a recording: lines of a time in seconds and a text.
//! They are instants on a row of their own.

use crate::formats::input::decimal::nanos_from_seconds;
use crate::formats::input::lines::LineReader;
use crate::formats::input::source::Source;
use crate::formats::output::batch::BatchBuilder;
use crate::formats::{BatchSink, ReadContext, ReadError};
use crate::model::{Event, EventKind, Id, Names, TrackKey};

/// The name of the file.
pub(super) const FILE: &str = "extern.dat";

/// Name of the row.
const ROW: &str = "external data";

/// Limit for a line: a time and a name.
const LINE_BYTES_MAX: usize = Names::TEXT_BYTES_MAX + 64;

/// Adds the messages of a file to batches.
pub(super) fn read_messages(
    source: Source,
    batch: &mut BatchBuilder,
    sink: &mut dyn BatchSink,
    context: &ReadContext,
) -> Result<(), ReadError> {
    let key = TrackKey::thread(Id::None, Id::Text(ROW.into()));
    let mut lines = LineReader::new(source, LINE_BYTES_MAX);
    while let Some(line) = lines.next(batch)? {
        let (loss, pos) = (line.loss(), line.pos());
        let text = line.bytes.trim_ascii();
        if text.is_empty() || text.starts_with(b"#") {
            continue;
        }
        let (time, message) = text.split_at(text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len()));
        let message = message.trim_ascii();
        match nanos_from_seconds(time) {
            Ok(ts_ns) if !message.is_empty() => {
                line.count_missing_end(batch);
                let (track, name) = (batch.track_with(&key), batch.name(message, None, pos));
                batch.push(Event::new(ts_ns, EventKind::Instant, track, name));
            }
            _ => batch.lose(loss, pos),
        }
        batch.flush_if_full(sink, context)?;
    }
    Ok(())
}

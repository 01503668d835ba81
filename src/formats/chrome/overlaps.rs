//! Pairs the spans of `go build -debug-trace`, which overlap on their threads: another goroutine takes the row of a
//! goroutine before all of its spans have ended. By the rules of the format, the end of an outer span would end the
//! spans inside it too. Here an end belongs to the last open begin of its name, and overlapping spans get lanes of
//! their own. They are normal in these traces, so they are no import issue.

use rustc_hash::FxHashMap;

use crate::formats::json::scan::Scanner;
use crate::model::{Batch, Event, EventFlags, EventKind, NameIdx, NameRow, TrackIdx, TrackKey};

/// Limit for spans that wait for their ends; a build has a few hundred at a time.
const OPEN_MAX: usize = 1 << 16;

/// Limit for the names of these spans, which contain a path at most.
const NAME_BYTES_MAX: usize = 1 << 10;

/// The begins that wait for their ends.
#[derive(Debug, Default)]
pub(super) struct OverlappingSpans {
    /// Times of the begins, by track and name.
    open: FxHashMap<(TrackKey, Box<str>), Vec<i64>>,
    count: usize,
}

impl OverlappingSpans {
    /// Creates the state if the trace begins like a trace of the `go` command, in which one span encloses all others.
    pub(super) fn for_trace(head: &[u8]) -> Option<Self> {
        let mut scanner = Scanner::new(head, 0);
        scanner.expect(b'[').and_then(|()| scanner.expect(b'{')).ok()?;
        let (key, name) = (scanner.key().ok()?, scanner.value(0).ok()?);
        let is_command = name.text.starts_with(b"Running ") && name.text.ends_with(b" command");
        (key.text == b"name" && is_command).then(Self::default)
    }

    /// Replaces the begins and ends of a batch by whole spans, as far as both are known. Begins with arguments stay.
    pub(super) fn pair(&mut self, batch: &mut Batch) {
        let Batch { chunk, names, tracks, .. } = batch;
        let name = |event: &Event| &names[event.name.index()].text;
        let key = |event: &Event| (tracks[event.track.index()].clone(), name(event).clone());
        let is_kept = |event: &Event| event.detail == 0 && name(event).len() <= NAME_BYTES_MAX;
        chunk.events.retain_mut(|event| match event.kind {
            EventKind::Begin if is_kept(event) && self.count < OPEN_MAX => {
                self.open.entry(key(event)).or_default().push(event.ts_ns);
                self.count += 1;
                false
            }
            EventKind::End => {
                let key = key(event);
                let Some(begins) = self.open.get_mut(&key) else { return true };
                if let Some(start_ns) = begins.pop() {
                    self.count -= 1;
                    let value = event.ts_ns.saturating_sub(start_ns).max(0).cast_unsigned();
                    let (kind, flags) = (EventKind::Complete, EventFlags::MAY_OVERLAP);
                    *event = Event { value, ts_ns: start_ns, kind, flags, ..*event };
                }
                if begins.is_empty() {
                    self.open.remove(&key);
                }
                true
            }
            _ => true,
        });
        chunk.sort();
    }

    /// Returns the begins without an end.
    pub(super) fn rest(self) -> Batch {
        let mut batch = Batch { names: vec![NameRow::new("".into(), None)], ..Batch::default() };
        let mut open: Vec<_> = self.open.into_iter().collect();
        // The map is unordered.
        open.sort_by(|((a, a_name), a_begins), ((b, b_name), b_begins)| {
            (a_begins, a_name, &a.pid, &a.tid).cmp(&(b_begins, b_name, &b.pid, &b.tid))
        });
        for (row, ((track, name), begins)) in (0..).zip(open) {
            batch.tracks.push(track);
            batch.names.push(NameRow::new(name, None));
            let begin = |ts_ns| Event::new(ts_ns, EventKind::Begin, TrackIdx(row), NameIdx(row + 1));
            batch.chunk.events.extend(begins.into_iter().map(begin));
        }
        batch.chunk.sort();
        batch
    }
}

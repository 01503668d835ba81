//! The longest span of each bucket by a question to the forest for each: for buckets of many rows, of which nearly all
//! blocks stay packed.

use super::{first_in, push};
use crate::query::buckets::{Buckets, Cell, Crowd};
use crate::query::cursor::{LaneCursor, Position};
use crate::store::{LaneKind, Span};

/// Appends the longest span of each bucket.
pub(super) fn longest(cursor: &mut LaneCursor<'_>, buckets: Buckets, cells: &mut Vec<Cell>) {
    let is_spans = cursor.lane().info().kind == LaneKind::Spans;
    // The place before the first row of a bucket, and the one span that starts before and may reach in: lanes do not
    // overlap, so it is the row before.
    let mut edge: Option<(Position, Option<Answer>)> = None;
    let mut bucket = buckets.first;
    while bucket < buckets.end() {
        let start_ns = buckets.start_ns(bucket);
        let end_ns = buckets.start_ns(bucket + 1);
        // What starts at the very end of time is before no time.
        if is_spans
            && end_ns < i64::MAX
            && let Some(longest) = cursor.longest_told(start_ns, end_ns)
        {
            let unfinished = cursor.lane().is_unfinished(longest.row);
            let span = Span { unfinished, ..longest.span };
            push(cells, bucket, 1, longest.row, &span, Crowd::MANY);
            cursor.count.queries += 1;
            (bucket, edge) = (bucket + 1, None);
            continue;
        }
        let (from, before) = edge.take().unwrap_or_else(|| {
            let from = cursor.first_from(start_ns);
            (from, answer_before(cursor, from, is_spans))
        });
        let next_bucket = match cursor.times_at(from) {
            Some((start_ns, _)) => buckets.bucket_at(start_ns).min(buckets.end()),
            None => buckets.end(),
        };
        if next_bucket > bucket {
            // No span starts before `next_bucket`: all that can be there is the one from before.
            if let Some(before) = before.filter(|before| before.end_ns() > start_ns) {
                let covered_to = (buckets.bucket_at(before.end_ns() - 1) + 1).min(next_bucket);
                push_answer(cursor, cells, bucket, (covered_to - bucket) as u32, before, Crowd::default());
                cursor.count.queries += 1;
            }
            (bucket, edge) = (next_bucket, Some((from, before)));
            continue;
        }
        let to = first_in(cursor, buckets, bucket + 1);
        let longest = if is_spans { cursor.longest(from, to) } else { Some((from, 0)) };
        let reaching = before.filter(|before| before.end_ns() > start_ns);
        let answer = match (longest, reaching) {
            (Some((_, dur_ns)), Some(before)) if before.dur_ns >= dur_ns => Some(before),
            (Some((place, dur_ns)), _) => {
                cursor.times_at(place).map(|(start_ns, _)| Answer { place, start_ns, dur_ns })
            }
            (None, reaching) => reaching,
        };
        if let Some(answer) = answer {
            push_answer(cursor, cells, bucket, 1, answer, Crowd::of(to.row - from.row));
        }
        cursor.count.queries += 1;
        (bucket, edge) = (bucket + 1, Some((to, answer_before(cursor, to, is_spans))));
    }
}

/// A span that may stand for a bucket.
#[derive(Clone, Copy)]
struct Answer {
    place: Position,
    start_ns: i64,
    dur_ns: u64,
}

impl Answer {
    fn end_ns(&self) -> i64 {
        self.start_ns.saturating_add_unsigned(self.dur_ns)
    }
}

fn answer_before(cursor: &mut LaneCursor<'_>, position: Position, is_spans: bool) -> Option<Answer> {
    let place = cursor.step_back(position)?;
    let (start_ns, value) = cursor.times_at(place)?;
    Some(Answer { place, start_ns, dur_ns: if is_spans { value } else { 0 } })
}

/// Adds an answer, reading its name only where it is not that of the cell before.
fn push_answer(
    cursor: &mut LaneCursor<'_>,
    cells: &mut Vec<Cell>,
    bucket: i64,
    bucket_count: u32,
    answer: Answer,
    rows: Crowd,
) {
    let row = answer.place.row;
    let known = cells.last().filter(|last| last.row == row).map(|last| last.name);
    let name = known.unwrap_or_else(|| cursor.name_at(answer.place));
    let unfinished = cursor.lane().is_unfinished(row);
    let span = Span { start_ns: answer.start_ns, dur_ns: answer.dur_ns, name, unfinished, ..Span::default() };
    push(cells, bucket, bucket_count, row, &span, rows);
}

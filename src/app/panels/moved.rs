//! Maps the rows of an answer that arrives after lanes of a live trace have moved. Otherwise each new thread would
//! cancel the queries that run.

use std::sync::Arc;

use crate::query::search::moved_hits;
use crate::store::live_lanes::LaneMoves;
use crate::ui::questions::{Answer, NeighbourHit};

/// Returns an answer with the new indices of lanes. Answers about names and tracks, whose indices stay, are the same.
pub(super) fn moved(answer: Answer, moves: &LaneMoves) -> Answer {
    if *moves == LaneMoves::None {
        return answer;
    }
    match answer {
        Answer::Page(of, first, hits) => Answer::Page(of, first, moved_hits(&hits, moves)),
        Answer::Ordered(of, hits) => Answer::Ordered(of, Arc::new(moved_hits(&hits, moves))),
        Answer::NumberOf(of, row, number) => match moves.row(row) {
            Some(moved) => Answer::NumberOf(of, moved, number),
            None => Answer::NumberOf(of, row, None),
        },
        Answer::Neighbour(found) => {
            Answer::Neighbour(found.and_then(|found| Some(NeighbourHit { hit: found.hit.moved(moves)?, ..found })))
        }
        Answer::SameName(found) => Answer::SameName(found.and_then(|hit| hit.moved(moves))),
        Answer::Group(facts) => Answer::Group(Arc::new(facts.moved(moves))),
        Answer::Pixels(filtered) => Answer::Pixels(Arc::new(Arc::unwrap_or_clone(filtered).moved(moves))),
        // Hits know their snapshot.
        answer @ (Answer::Hits(_)
        | Answer::Spans(_)
        | Answer::Counters(_)
        | Answer::Scheduling(_)
        | Answer::HeatMap(_)
        | Answer::HeatMapSketch(_)
        | Answer::Totals(_)
        | Answer::Quantiles(_)
        | Answer::SpanCalls(_)
        | Answer::OrderedSpanCalls(_)
        | Answer::PartialTotals(_)
        | Answer::OrderedGroups(_)
        | Answer::OrderedSamples(_)
        | Answer::OrderedCounters(_)
        | Answer::Paths(_)
        | Answer::Samples(_)
        | Answer::Sandwich(_)
        | Answer::Code(_)
        | Answer::Names(_)) => answer,
    }
}

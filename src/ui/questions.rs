//! The questions of panels that take longer than a frame, and the answers. The application asks them in the background
//! and hands each answer to its panel.

use std::sync::Arc;

use crate::frame::filtered::Filtered;
use crate::model::NameIdx;
use crate::query::aggregate::Totals;
use crate::query::search::{Hit, Hits};
use crate::query::stacks::CallTree;
use crate::store::lane::RowIdx;

/// A part of the capture's time, from its first nanosecond to the first after it; `None`: all of it.
pub(crate) type TimeRange = Option<(i64, i64)>;

/// A question. A new one of a kind takes the place of the one before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Question {
    /// All rows that pass a filter.
    Search(String),
    /// Hits from a number on, and how many at most.
    Page(u64, usize),
    /// The hit after a place in time, or before it.
    Neighbour {
        /// Whether to find the hit after `from`, or the one before.
        forward: bool,
        /// A time, and the row that starts then if it is one.
        from: (i64, Option<RowIdx>),
    },
    /// Spans added up by name.
    Totals(TimeRange),
    /// More about the spans of one name.
    Name(NameIdx, TimeRange),
    /// The call tree of a slice of time.
    Paths {
        range: TimeRange,
        /// Of samples rather than of spans.
        samples: bool,
    },
}

/// The kind of a question: a question replaces an earlier one of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum QuestionKind {
    Search,
    Page,
    Neighbour,
    Totals,
    Name,
    Paths,
    /// The matches in view, which the application looks up by itself.
    Pixels,
}

#[derive(Debug, Clone)]
pub enum Answer {
    Hits(Hits),
    /// To [`Question::Page`]: the number of the first, and the hits.
    Page(u64, Vec<Hit>),
    /// To [`Question::Neighbour`], with its number.
    Neighbour(Option<(u64, Hit)>),
    /// The answer to [`Question::Totals`], by name.
    Totals(Arc<Totals>),
    Name(Arc<NameFacts>),
    Paths(Arc<CallTree>),
    Pixels(Arc<Filtered>),
}

/// More about the spans of one name.
#[derive(Debug, Clone)]
pub struct NameFacts {
    pub(crate) name: NameIdx,
    pub(crate) range: (i64, i64),
    /// The longest, from the longest.
    pub(crate) longest: Vec<Hit>,
    /// How many start in each of equal parts of the range.
    pub(crate) over_time: Vec<u64>,
}

impl Question {
    /// Of which kind it is.
    #[must_use]
    pub(crate) fn kind(&self) -> QuestionKind {
        match self {
            Self::Search(_) => QuestionKind::Search,
            Self::Page(..) => QuestionKind::Page,
            Self::Neighbour { .. } => QuestionKind::Neighbour,
            Self::Totals(_) => QuestionKind::Totals,
            Self::Name(..) => QuestionKind::Name,
            Self::Paths { .. } => QuestionKind::Paths,
        }
    }
}

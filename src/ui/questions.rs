//! What panels ask of a capture that takes longer than a frame, and the answers. Asks nothing itself: the application
//! does, in the background, and hands the answer to the panel.

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
    /// So many of the hits from that number on.
    Page(u64, usize),
    /// The hit after a place in time, or before it.
    Neighbour {
        /// Whether the one after.
        forward: bool,
        /// A time, and the row that starts then if it is one.
        from: (i64, Option<RowIdx>),
    },
    /// Spans added up by name.
    Totals(TimeRange),
    /// More about the spans of one name.
    Name(NameIdx, TimeRange),
    /// Call paths.
    Paths {
        /// When.
        range: TimeRange,
        /// Of samples rather than of spans.
        samples: bool,
    },
}

/// What tells questions apart of which only the last counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum QuestionKind {
    /// [`Question::Search`].
    Search,
    /// [`Question::Page`].
    Page,
    /// [`Question::Neighbour`].
    Neighbour,
    /// [`Question::Totals`].
    Totals,
    /// [`Question::Name`].
    Name,
    /// [`Question::Paths`].
    Paths,
    /// What matches in view; the application asks by itself.
    Pixels,
}

/// An answer.
#[derive(Debug, Clone)]
pub enum Answer {
    /// To [`Question::Search`].
    Hits(Hits),
    /// To [`Question::Page`]: the number of the first, and the hits.
    Page(u64, Vec<Hit>),
    /// To [`Question::Neighbour`], with its number.
    Neighbour(Option<(u64, Hit)>),
    /// To [`Question::Totals`], by name.
    Totals(Arc<Totals>),
    /// To [`Question::Name`].
    Name(Arc<NameFacts>),
    /// To [`Question::Paths`].
    Paths(Arc<CallTree>),
    /// What matches in view.
    Pixels(Arc<Filtered>),
}

/// More about the spans of one name.
#[derive(Debug, Clone)]
pub struct NameFacts {
    /// The name.
    pub(crate) name: NameIdx,
    /// When.
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

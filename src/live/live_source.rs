//! The state of one source of a session: what it has sent, and what is known about it.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crossbeam_channel::Receiver;

use super::feed::{FeedError, FeedItem, LiveEvent};
use super::pairs::{LiveNames, LivePairs};
use super::source_clocks::SourceClock;
use super::started_command::StartedCommand;
use crate::base::budget::Budget;
use crate::model::{Losses, Metadata, TrackKey};

/// A row of the tables of a source.
#[derive(Debug)]
pub(crate) enum LiveTableRow {
    Track(Arc<TrackKey>),
    Metadata(Metadata),
}

/// A source of the session.
pub(super) struct LiveSource {
    pub(super) path: PathBuf,
    /// Its path without the number of its trace, and that number.
    pub(super) first_path: PathBuf,
    pub(super) trace_number: usize,
    /// The items that its thread sends; `None` once it has ended.
    pub(super) fed: Option<Receiver<FeedItem>>,
    pub(super) bytes: Arc<AtomicU64>,
    pub(super) command: Option<StartedCommand>,
    /// Events that do not fit in the queue yet.
    pub(super) pending: VecDeque<(i64, LiveEvent)>,
    /// Whether it connected to a listener.
    pub(super) is_connection: bool,
    pub(super) is_no_trace: bool,
    pub(super) names: LiveNames,
    pub(super) pairs: LivePairs,
    pub(super) clock: SourceClock,
    /// The latest time of an event.
    pub(super) now_ns: i64,
    /// Rows of its tables that are not taken yet.
    pub(super) tables: Vec<LiveTableRow>,
    pub(super) losses: Losses,
    /// The reasons why traces are not parsed.
    pub(super) refused: Vec<FeedError>,
    pub(super) errors: Vec<FeedError>,
}

impl LiveSource {
    pub(super) fn new(
        path: PathBuf,
        fed: Receiver<FeedItem>,
        bytes: Arc<AtomicU64>,
        command: Option<StartedCommand>,
        is_connection: bool,
        args_budget: &Budget,
    ) -> Self {
        Self {
            first_path: path.clone(),
            path,
            trace_number: 1,
            fed: Some(fed),
            bytes,
            command,
            pending: VecDeque::new(),
            is_connection,
            is_no_trace: false,
            names: LiveNames::default(),
            pairs: LivePairs::new(args_budget.clone()),
            clock: SourceClock::default(),
            now_ns: i64::MIN,
            tables: Vec::new(),
            losses: Losses::default(),
            refused: Vec::new(),
            errors: Vec::new(),
        }
    }
}

//! A request to follow sources: of the command line, or of a dialog.

use std::time::Duration;

use crate::live::arrivals::LiveInput;
use crate::live::follow::source_of;
use crate::live::picture::KeptPart;
use crate::live::row_filter::LiveFilter;
use crate::model::Sources;

/// The sources to follow, and when to stop.
#[derive(Debug, Clone)]
pub struct FollowRequest {
    pub(crate) inputs: Vec<LiveInput>,
    /// How long events wait for earlier ones, if the command line says so.
    pub(crate) delay: Option<Duration>,
    /// It ends with a row that passes.
    pub(crate) until: Option<LiveFilter>,
    /// It ends when so many bytes are on disk.
    pub(crate) disk_cap: u64,
    /// The part of it that is kept, if that is not all.
    pub(crate) kept: Option<KeptPart>,
}

impl FollowRequest {
    pub(crate) fn new(inputs: Vec<LiveInput>) -> Self {
        Self { inputs, delay: None, until: None, disk_cap: u64::MAX, kept: None }
    }

    /// The names of its sources.
    pub(crate) fn sources(&self) -> Sources {
        Sources::new(self.inputs.iter().map(source_of).collect())
    }
}

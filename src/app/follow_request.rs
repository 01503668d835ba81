//! A request to follow sources, from the command line or a dialog.

use std::time::Duration;

use crate::live::arrivals::LiveInput;
use crate::live::follow::source_of;
use crate::live::live_store::Retention;
use crate::live::row_filter::LiveFilter;
use crate::model::{Sources, WeightUnit};

/// The sources to follow, and when to stop.
#[derive(Debug, Clone)]
pub struct FollowRequest {
    pub(crate) inputs: Vec<LiveInput>,
    /// How long events wait for earlier ones, if the command line sets it.
    pub(crate) delay: Option<Duration>,
    /// Stops at the first matching row.
    pub(crate) until: Option<LiveFilter>,
    /// Ends when this many bytes are on disk.
    pub(crate) disk_cap: u64,
    /// The retained part, if not everything.
    pub(crate) kept: Option<Retention>,
    /// Unit of weights that have no unit, for the final sort.
    pub(crate) weight_unit: Option<WeightUnit>,
}

impl FollowRequest {
    pub(crate) fn new(inputs: Vec<LiveInput>) -> Self {
        Self { inputs, delay: None, until: None, disk_cap: u64::MAX, kept: None, weight_unit: None }
    }

    /// Returns the names of the sources, with the unit of their weights.
    pub(crate) fn sources(&self) -> Sources {
        Sources::new(self.inputs.iter().map(source_of).collect()).with_weight_unit(self.weight_unit)
    }
}

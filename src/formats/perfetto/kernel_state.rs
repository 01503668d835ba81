//! State between kernel events of one device, and between statistics of one disk.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

/// The fence that a job signals when it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Fence {
    /// The fence of a job, by address.
    Address(u64),
    /// The fence of a job, by context and sequence number.
    Job(u64, u64),
    /// The fence of a DMA buffer, by context and sequence number.
    Buffer(u64, u64),
}

/// The jobs and fences in flight.
#[derive(Debug, Default)]
pub(super) struct DeviceQueues {
    /// The track of each fence.
    pub(super) track_of: FxHashMap<Fence, Box<str>>,
    /// The jobs of each track, the running one first.
    pub(super) queues: FxHashMap<Box<str>, VecDeque<QueuedJob>>,
    /// Contexts whose fences are emitted after they are initialised.
    pub(super) emitting: FxHashSet<u64>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct QueuedJob {
    pub(super) fence: Fence,
    /// The number that the driver gave to the job.
    pub(super) number: u64,
}

/// State across network events.
#[derive(Debug, Default)]
pub(super) struct Network {
    /// Transferred bytes by counter name.
    pub(super) bytes: FxHashMap<Box<str>, u64>,
    /// Open connections: numbers by socket address.
    pub(super) connections: FxHashMap<u64, u64>,
    pub(super) connections_seen: u64,
}

/// The last totals of a disk: sectors and milliseconds of three kinds of transfers, then flushes and their milliseconds.
pub(super) type DiskTotals = [u64; 8];

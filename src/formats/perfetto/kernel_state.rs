//! State that persists between the kernel events and packets of devices, disks and networks.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use super::tracks::TrackNumber;

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

#[derive(Debug, Default)]
pub(super) struct Network {
    /// Transferred bytes by counter name.
    pub(super) bytes: FxHashMap<Box<str>, u64>,
    /// Open connections: numbers by socket address.
    pub(super) connections: FxHashMap<u64, u64>,
    pub(super) connections_seen: u64,
}

/// The last totals of a disk: sectors and milliseconds of three kinds of transfers, then flushes and their
/// milliseconds.
pub(super) type DiskTotals = [u64; 8];

/// State across packets of devices.
#[derive(Debug, Default)]
pub(super) struct Devices {
    pub(super) gpu: GpuState,
    pub(super) adreno: AdrenoState,
    /// Tracks of the frames that have not ended, by cookie.
    pub(super) frames: FxHashMap<i64, TrackNumber>,
    /// Number of CPU clusters of the machine.
    pub(super) clusters: usize,
    /// Processor time of each app on each cluster, in ms.
    pub(super) uid_times: FxHashMap<(u64, usize), u64>,
    /// The sums of those since the first packet: of the system (0) and of apps (1).
    pub(super) uid_sums: FxHashMap<(usize, usize), u64>,
    /// Names of energy consumers by id.
    pub(super) consumers: FxHashMap<u64, Box<str>>,
    /// Counters of power states by entity and state.
    pub(super) entity_states: FxHashMap<(u64, u64), Box<str>>,
    pub(super) bundles_seen: u64,
    /// Counters of the kernel's wakelocks by id, with the time that each was held, in ms.
    pub(super) kernel_wakelocks: FxHashMap<u64, (Box<str>, u64)>,
    /// Operations on files of Windows that have not ended, by request.
    pub(super) file_operations: FxHashMap<u64, FileOperation>,
    /// Tracks of spans of kernel devices that have not ended, by async id.
    pub(super) open_spans: FxHashMap<u64, TrackNumber>,
    /// Tracks of states, which have an open span.
    pub(super) state_tracks: FxHashSet<Box<str>>,
    /// Freed network packets of IP.
    pub(super) freed_packets: u64,
}

/// Descriptions of GPU counters and stages, and the objects and memory of Vulkan.
#[derive(Debug, Default)]
pub(super) struct GpuState {
    /// GPU counters by the scope of their ids and by id.
    pub(super) counters: FxHashMap<(u64, u64), GpuCounter>,
    /// Scopes of GPU counters that are already described.
    pub(super) scopes: FxHashSet<u64>,
    /// The last sample of each GPU counter.
    pub(super) samples: FxHashMap<TrackNumber, PreviousSample>,
    /// Names of hardware queues and stages by number, in old traces.
    pub(super) queues: Vec<Box<str>>,
    pub(super) stages: Vec<Box<str>>,
    /// A graphics context and its process, in old traces.
    pub(super) context: Option<(u64, i64)>,
    pub(super) stages_seen: u64,
    /// Names of Vulkan objects by handle.
    pub(super) vulkan_objects: FxHashMap<u64, Box<str>>,
    /// Sizes of Vulkan's allocations, by process, counter and handle.
    pub(super) vulkan_memory: FxHashMap<(u64, u64, u64), u64>,
    /// Sums of those, by process and counter.
    pub(super) vulkan_totals: FxHashMap<(u64, u64), i128>,
}

/// Commands of Adreno GPUs, which have a clock of their own.
#[derive(Debug, Default)]
pub(super) struct AdrenoState {
    /// Threads that queued commands in contexts of Adreno GPUs.
    pub(super) contexts: FxHashMap<u64, i64>,
    /// Commands that wait for the offset of their clock.
    pub(super) commands: Vec<AdrenoCommands>,
    /// Offset from the clock of an Adreno GPU to the clock of the trace.
    pub(super) offset_ns: Option<i128>,
}

/// An operation on a file of Windows.
#[derive(Debug)]
pub(super) struct FileOperation {
    pub(super) ts_ns: i64,
    pub(super) tid: i64,
    pub(super) name: &'static str,
    /// Arguments of its start, as members of an object.
    pub(super) args: Box<str>,
}

/// Commands that an Adreno GPU has finished.
#[derive(Debug)]
pub(super) struct AdrenoCommands {
    pub(super) ts_ns: i64,
    pub(super) tid: i64,
    pub(super) context: u64,
    pub(super) priority: i64,
    pub(super) timestamp: u64,
    /// Its start and end by the clock of the GPU.
    pub(super) start: u64,
    pub(super) retire: u64,
}

/// The name and the unit of a GPU counter, from its descriptor.
#[derive(Debug)]
pub(super) struct GpuCounter {
    pub(super) name: Box<str>,
    /// Unit of its values; empty if it has none.
    pub(super) unit: Box<str>,
}

/// The last sample of a GPU counter.
#[derive(Debug, Clone, Copy)]
pub(super) struct PreviousSample {
    pub(super) ts_ns: i64,
    pub(super) value: f64,
    pub(super) is_first: bool,
}

//! Memory, scores and processor time of processes, which Perfetto polls from `/proc`: counters of each process.

use super::ftrace::SystemEventBuilder;
use super::statistics_fields::{process_stats, process_stats_process as process};
use crate::formats::protobuf::decode::Fields;
use crate::formats::protobuf::message::ProtoMessage as _;
use crate::formats::protobuf::numbers::FieldNumber;
use crate::model::Loss;

/// A value of a process: its field, the counter and its unit, and the factor from the field to the unit.
struct ProcessCounter(FieldNumber, &'static str, &'static str, f64);

const BYTES_PER_KIB: f64 = 1024.0;

/// Counters that Perfetto shows under the same names.
const COUNTERS: &[ProcessCounter] = &[
    ProcessCounter(process::VM_SIZE_KB, "mem.virt", "bytes", BYTES_PER_KIB),
    ProcessCounter(process::VM_RSS_KB, "mem.rss", "bytes", BYTES_PER_KIB),
    ProcessCounter(process::RSS_ANON_KB, "mem.rss.anon", "bytes", BYTES_PER_KIB),
    ProcessCounter(process::RSS_FILE_KB, "mem.rss.file", "bytes", BYTES_PER_KIB),
    ProcessCounter(process::RSS_SHMEM_KB, "mem.rss.shmem", "bytes", BYTES_PER_KIB),
    ProcessCounter(process::VM_SWAP_KB, "mem.swap", "bytes", BYTES_PER_KIB),
    ProcessCounter(process::VM_LOCKED_KB, "mem.locked", "bytes", BYTES_PER_KIB),
    ProcessCounter(process::VM_HWM_KB, "mem.rss.watermark", "bytes", BYTES_PER_KIB),
    ProcessCounter(process::DMABUF_RSS_KB, "mem.dmabuf_rss", "bytes", BYTES_PER_KIB),
    ProcessCounter(process::SMR_RSS_KB, "mem.smaps.rss", "bytes", BYTES_PER_KIB),
    ProcessCounter(process::SMR_PSS_KB, "mem.smaps.pss", "bytes", BYTES_PER_KIB),
    ProcessCounter(process::SMR_PSS_ANON_KB, "mem.smaps.pss.anon", "bytes", BYTES_PER_KIB),
    ProcessCounter(process::SMR_PSS_FILE_KB, "mem.smaps.pss.file", "bytes", BYTES_PER_KIB),
    ProcessCounter(process::SMR_PSS_SHMEM_KB, "mem.smaps.pss.shmem", "bytes", BYTES_PER_KIB),
    ProcessCounter(process::SMR_SWAP_PSS_KB, "mem.smaps.swap.pss", "bytes", BYTES_PER_KIB),
    ProcessCounter(process::CHROME_PRIVATE_FOOTPRINT_KB, "chrome.private_footprint", "bytes", BYTES_PER_KIB),
    ProcessCounter(process::CHROME_PEAK_RESIDENT_SET_KB, "chrome.peak_resident_set", "bytes", BYTES_PER_KIB),
    ProcessCounter(process::OOM_SCORE_ADJ, "oom_score_adj", "", 1.0),
    ProcessCounter(process::RUNTIME_USER_MODE, "runtime.user_ns", "ns", 1.0),
    ProcessCounter(process::RUNTIME_KERNEL_MODE, "runtime.kernel_ns", "ns", 1.0),
];

impl SystemEventBuilder<'_> {
    /// Adds the counters of the processes in a packet. Lists of open files are counted as ignored.
    pub(super) fn process_stats(&mut self, ts_ns: i64, bytes: &[u8]) {
        let mut has_files = false;
        for bytes in bytes.repeated(process_stats::PROCESSES) {
            let pid = self.tracks.process_now(bytes.signed(process::PID));
            for field in Fields::new(bytes) {
                has_files |= field.number == process::FDS;
                let Some(ProcessCounter(_, name, unit, factor)) =
                    COUNTERS.iter().find(|counter| counter.0 == field.number)
                else {
                    continue;
                };
                let track = self.tracks.named_counter(pid.clone(), name, unit);
                self.push_counter(ts_ns, track, field.value.signed() as f64 * factor);
            }
        }
        if has_files {
            self.batch.lose(Loss::IgnoredPacket, self.pos);
        }
    }
}

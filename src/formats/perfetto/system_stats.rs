//! Counters of the whole system that Perfetto polls from `/proc` and `/sys`: memory, processor time, interrupts,
//! frequencies, disks, pressure, temperatures and idle states.

use std::borrow::Cow;
use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::ftrace::SystemEventBuilder;
use super::kernel_state::DiskTotals;
use super::limits::has_room;
use super::packet_events::enum_name;
use super::statistics_fields::{
    buddy_info, cpu_idle_state, cpu_idle_state_entry, cpu_times, device_frequency, disk_stat, interrupt_count,
    pressure, pressure_resource, slab_info, sys_stats, sys_stats_memory, thermal_zone,
};
use crate::formats::linux::kernel_pairs::SOFTIRQS;
use crate::formats::protobuf::decode::{Fields, ProtoValue};
use crate::formats::protobuf::message::ProtoMessage as _;
use crate::formats::protobuf::numbers::FieldNumber;
use crate::model::Loss;

const BYTES_PER_KIB: f64 = 1024.0;

/// Size of a page if the trace does not state it. Some phones have pages of 16 KiB.
const PAGE_BYTES: u64 = 4096;

const BYTES_PER_SECTOR: f64 = 512.0;

const BYTES_PER_MIB: f64 = 1024.0 * 1024.0;

const MS_PER_S: f64 = 1000.0;

/// Limit for disks whose last values are kept; machines have a few dozen.
const DISKS_MAX: usize = 1 << 12;

/// Lines of `/proc/meminfo`, by enum value; 0 is undefined.
const MEMORY: [&str; 39] = [
    "",
    "MemTotal",
    "MemFree",
    "MemAvailable",
    "Buffers",
    "Cached",
    "SwapCached",
    "Active",
    "Inactive",
    "Active(anon)",
    "Inactive(anon)",
    "Active(file)",
    "Inactive(file)",
    "Unevictable",
    "Mlocked",
    "SwapTotal",
    "SwapFree",
    "Dirty",
    "Writeback",
    "AnonPages",
    "Mapped",
    "Shmem",
    "Slab",
    "SReclaimable",
    "SUnreclaim",
    "KernelStack",
    "PageTables",
    "CommitLimit",
    "Committed_AS",
    "VmallocTotal",
    "VmallocUsed",
    "VmallocChunk",
    "CmaTotal",
    "CmaFree",
    "Gpu",
    "Zram",
    "Misc",
    "IonHeap",
    "IonHeapPool",
];

/// Lines of `/proc/vmstat` by enum value, from the table that `tests/proto/perfetto_types.py` generates.
static VMSTAT: LazyLock<FxHashMap<u64, &'static str>> = LazyLock::new(|| {
    let lines = include_str!("vmstat.txt").lines().filter_map(|line| line.split_once(' '));
    lines.filter_map(|(number, name)| Some((number.parse().ok()?, name))).collect()
});

/// Modes of a CPU, with the fields of their times.
const CPU_MODES: &[(FieldNumber, &str)] = &[
    (cpu_times::USER_NS, "user"),
    (cpu_times::USER_NICE_NS, "user_nice"),
    (cpu_times::SYSTEM_MODE_NS, "system"),
    (cpu_times::IDLE_NS, "idle"),
    (cpu_times::IO_WAIT_NS, "io_wait"),
    (cpu_times::IRQ_NS, "irq"),
    (cpu_times::SOFTIRQ_NS, "softirq"),
    (cpu_times::STEAL_NS, "steal"),
];

/// Resources of pressure stall information.
const PRESSURE: &[(u64, &str)] = &[
    (pressure_resource::PSI_RESOURCE_CPU_SOME, "cpu.some"),
    (pressure_resource::PSI_RESOURCE_CPU_FULL, "cpu.full"),
    (pressure_resource::PSI_RESOURCE_IO_SOME, "io.some"),
    (pressure_resource::PSI_RESOURCE_IO_FULL, "io.full"),
    (pressure_resource::PSI_RESOURCE_MEMORY_SOME, "mem.some"),
    (pressure_resource::PSI_RESOURCE_MEMORY_FULL, "mem.full"),
];

/// Transfers of a disk: sectors, time in ms, and the name.
const TRANSFERS: &[(FieldNumber, FieldNumber, &str)] = &[
    (disk_stat::READ_SECTORS, disk_stat::READ_TIME_MS, "read"),
    (disk_stat::WRITE_SECTORS, disk_stat::WRITE_TIME_MS, "write"),
    (disk_stat::DISCARD_SECTORS, disk_stat::DISCARD_TIME_MS, "discard"),
];

impl SystemEventBuilder<'_> {
    /// Adds the counters of a packet; counts unknown counters as ignored.
    pub(super) fn sys_stats(&mut self, ts_ns: i64, bytes: &[u8]) {
        let (mut cpu, mut has_others) = (0, false);
        for field in Fields::new(bytes) {
            let value = field.value;
            match field.number {
                sys_stats::CPU_STAT => self.cpu_times(ts_ns, value.bytes()),
                sys_stats::BUDDY_INFO => self.buddy_info(ts_ns, value.bytes()),
                sys_stats::DISK_STAT => self.disk(ts_ns, value.bytes()),
                sys_stats::CPUIDLE_STATE => self.idle_states(ts_ns, value.bytes()),
                sys_stats::CPUFREQ_KHZ => {
                    for khz in value.varints() {
                        self.push_frequency(ts_ns, cpu, khz as f64);
                        cpu += 1;
                    }
                }
                sys_stats::GPUFREQ_MHZ => {
                    for mhz in value.varints() {
                        self.push_global(ts_ns, ("gpufreq", "MHz"), mhz as f64);
                    }
                }
                sys_stats::SLAB_INFO => self.slab(ts_ns, value.bytes()),
                sys_stats::COLLECTION_END_TIMESTAMP => {}
                number => match single_counter(number, value) {
                    Some((name, unit, value)) => self.push_global(ts_ns, (&name, unit), value),
                    None => has_others = true,
                },
            }
        }
        if has_others {
            self.batch.lose(Loss::IgnoredPacket, self.pos);
        }
    }

    /// Adds the times that a CPU has spent in each mode.
    fn cpu_times(&mut self, ts_ns: i64, times: &[u8]) {
        let cpu = times.number(cpu_times::CPU_ID);
        for &(field, mode) in CPU_MODES {
            if let Some(time_ns) = times.value(field) {
                self.push_global(ts_ns, (&format!("CPU {cpu} {mode}"), "ns"), time_ns.number() as f64);
            }
        }
    }

    /// Adds the times that a CPU has spent in each idle state.
    fn idle_states(&mut self, ts_ns: i64, states: &[u8]) {
        let cpu = states.number(cpu_idle_state::CPU_ID);
        for entry in states.repeated(cpu_idle_state::CPUIDLE_STATE_ENTRY) {
            let state = entry.text(cpu_idle_state_entry::STATE);
            let time_us = entry.number(cpu_idle_state_entry::DURATION_US);
            self.push_global(ts_ns, (&format!("CPU {cpu} time in {state}"), "µs"), time_us as f64);
        }
    }

    /// Adds the memory of a slab cache of the kernel.
    fn slab(&mut self, ts_ns: i64, slab: &[u8]) {
        let field_value = |field| slab.number(field) as f64;
        let pages = field_value(slab_info::PAGES_PER_SLAB) * field_value(slab_info::NUM_SLABS);
        let name = format!("mem.slab.{}", slab.text(slab_info::NAME));
        let page_bytes = self.page_bytes();
        self.push_global(ts_ns, (&name, "bytes"), pages * page_bytes);
    }

    fn page_bytes(&mut self) -> f64 {
        self.tracks.all_described().page_bytes.unwrap_or(PAGE_BYTES) as f64
    }

    /// Adds the free blocks of each size in a memory zone.
    fn buddy_info(&mut self, ts_ns: i64, info: &[u8]) {
        let (node, zone) = (info.text(buddy_info::NODE), info.text(buddy_info::ZONE));
        let page_bytes = self.page_bytes();
        let counts = info.numbers(buddy_info::ORDER_PAGES);
        // Each order doubles the block; kernels have about eleven.
        for (order, count) in (0..u32::BITS).zip(counts) {
            let block_kib = (page_bytes / BYTES_PER_KIB) * f64::from(order).exp2();
            let name = format!("mem.buddyinfo[{node}, {zone}, {block_kib} KiB]");
            self.push_global(ts_ns, (&name, ""), count as f64);
        }
    }

    /// Adds the amounts and rates that a disk has transferred since the previous packet. The first packet of a disk
    /// only has totals since boot, so it adds nothing.
    fn disk(&mut self, ts_ns: i64, stat: &[u8]) {
        let device = stat.text(disk_stat::DEVICE_NAME);
        let mut totals: DiskTotals = [0; 8];
        for (index, &(sectors, time_ms, _)) in TRANSFERS.iter().enumerate() {
            totals[2 * index] = stat.number(sectors);
            totals[2 * index + 1] = stat.number(time_ms);
        }
        totals[6] = stat.number(disk_stat::FLUSH_COUNT);
        totals[7] = stat.number(disk_stat::FLUSH_TIME_MS);
        if !has_room(&self.state.disks, &*device, DISKS_MAX) {
            return self.batch.lose(Loss::OverLimit, self.pos);
        }
        let Some(before) = self.state.disks.insert((&*device).into(), totals) else { return };
        let since = |index: usize| totals[index].saturating_sub(before[index]) as f64;
        let mut push = |what: &str, unit: &str, value: f64| {
            self.push_global(ts_ns, (&format!("diskstat.[{device}].{what}"), unit), value);
        };
        for (index, &(_, _, transfer)) in TRANSFERS.iter().enumerate() {
            let amount = since(2 * index) * BYTES_PER_SECTOR / BYTES_PER_MIB;
            let time_ms = since(2 * index + 1);
            push(&format!("{transfer}_amount"), "MB", amount);
            let rate = if time_ms > 0.0 { amount * MS_PER_S / time_ms } else { 0.0 };
            push(&format!("{transfer}_throughput"), "MB/s", rate);
        }
        push("flush_amount", "count", since(6));
        push("flush_time", "ms", since(7));
    }
}

/// Returns name, unit and value of a statistic with a single counter. Returns `None` if the statistic or its key is
/// unknown.
fn single_counter(number: FieldNumber, value: ProtoValue<'_>) -> Option<(Cow<'static, str>, &'static str, f64)> {
    let bytes = value.bytes();
    Some(match number {
        sys_stats::MEMINFO => {
            let key = usize::try_from(bytes.number(sys_stats_memory::KEY)).ok()?;
            let name = *MEMORY.get(key).filter(|name| !name.is_empty())?;
            (name.into(), "bytes", bytes.number(sys_stats_memory::VALUE) as f64 * BYTES_PER_KIB)
        }
        // `VmstatValue` has the same fields as `MeminfoValue`.
        sys_stats::VMSTAT => {
            let name = *VMSTAT.get(&bytes.number(sys_stats_memory::KEY))?;
            (name.into(), "", bytes.number(sys_stats_memory::VALUE) as f64)
        }
        sys_stats::NUM_IRQ => {
            let name = format!("IRQ {} count", bytes.number(interrupt_count::IRQ));
            (name.into(), "", bytes.number(interrupt_count::COUNT) as f64)
        }
        sys_stats::NUM_SOFTIRQ => {
            let irq = bytes.number(interrupt_count::IRQ);
            let name = enum_name(irq, SOFTIRQS).map_or_else(|| irq.to_string(), str::to_owned);
            (format!("SoftIRQ {name} count").into(), "", bytes.number(interrupt_count::COUNT) as f64)
        }
        sys_stats::DEVFREQ => {
            let name = format!("{} Frequency", bytes.text(device_frequency::KEY));
            (name.into(), "kHz", bytes.number(device_frequency::VALUE) as f64)
        }
        sys_stats::PSI => {
            let resource = enum_name(bytes.number(pressure::RESOURCE), PRESSURE)?;
            (format!("psi.{resource}").into(), "ns", bytes.number(pressure::TOTAL_NS) as f64)
        }
        sys_stats::THERMAL_ZONE => {
            let kind = bytes.text(thermal_zone::TYPE);
            let name = if kind.is_empty() { bytes.text(thermal_zone::NAME) } else { kind };
            (format!("{name} Temperature").into(), "°C", bytes.number(thermal_zone::TEMP) as f64)
        }
        sys_stats::NUM_FORKS => ("num_forks".into(), "", value.number() as f64),
        sys_stats::NUM_IRQ_TOTAL => ("num_irq_total".into(), "", value.number() as f64),
        sys_stats::NUM_SOFTIRQ_TOTAL => ("num_softirq_total".into(), "", value.number() as f64),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_of_memory_statistics_has_a_number_and_a_name() {
        assert_eq!(VMSTAT.len(), include_str!("vmstat.txt").lines().count());
        assert_eq!(VMSTAT[&1], "nr_free_pages");
    }
}

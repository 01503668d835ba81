//! Pairs of kernel events that start and end a span, with the fields of both as arguments. Most spans are on their
//! thread; interrupts and hypervisor code are on tracks of their CPU.

use super::device_fields::{i2c_event, workqueue_event};
use super::ftrace::SystemEventBuilder;
use super::kernel_fields::ftrace_event;
use super::kernel_instants::write_typed;
use super::kernel_names::NamePart::{Cpu, Function, Number as NumberOf, Text};
use super::kernel_names::{KernelEvent, NamePart};
use crate::formats::protobuf::numbers::FieldNumber;
use crate::model::{Event, EventFlags, EventKind, Loss};

/// A pair of events: start, end, the span's name and category, and its track if it is not on the thread.
struct PacketPair(FieldNumber, FieldNumber, &'static [NamePart], &'static str, &'static [NamePart]);

const THREAD: &[NamePart] = &[];
const IRQ_TRACK: &[NamePart] = &[Text("Irq Cpu "), Cpu];
const HYPERVISOR_TRACK: &[NamePart] = &[Text("pKVM Hypervisor Cpu "), Cpu];
const IPI_TRACK: &[NamePart] = &[Text("Ipi Cpu "), Cpu];
const MALI_TRACK: &[NamePart] = &[Text("Mali Irq Cpu "), Cpu];

const I2C: &[NamePart] = &[Text("i2c adapter "), NumberOf(i2c_event::ADAPTER_NR)];

const PAIRS: &[PacketPair] = &[
    PacketPair(
        ftrace_event::WORKQUEUE_EXECUTE_START,
        ftrace_event::WORKQUEUE_EXECUTE_END,
        &[Function(workqueue_event::FUNCTION)],
        "workqueue",
        THREAD,
    ),
    PacketPair(
        ftrace_event::LOCAL_TIMER_ENTRY,
        ftrace_event::LOCAL_TIMER_EXIT,
        &[Text("IRQ (LocalTimer)")],
        "irq",
        IRQ_TRACK,
    ),
    PacketPair(ftrace_event::IPI_ENTRY, ftrace_event::IPI_EXIT, &[Text("IPI")], "irq", IPI_TRACK),
    PacketPair(
        ftrace_event::MALI_MALI_CSF_INTERRUPT_START,
        ftrace_event::MALI_MALI_CSF_INTERRUPT_END,
        &[Text("MALI_CSF_INTERRUPT")],
        "mali",
        MALI_TRACK,
    ),
    PacketPair(
        ftrace_event::MALI_MALI_KCPU_CQS_WAIT_START,
        ftrace_event::MALI_MALI_KCPU_CQS_WAIT_END,
        &[Text("MALI_KCPU_CQS_WAIT")],
        "mali",
        THREAD,
    ),
    PacketPair(
        ftrace_event::MALI_MALI_KCPU_FENCE_WAIT_START,
        ftrace_event::MALI_MALI_KCPU_FENCE_WAIT_END,
        &[Text("MALI_KCPU_FENCE_WAIT")],
        "mali",
        THREAD,
    ),
    PacketPair(ftrace_event::HYP_ENTER, ftrace_event::HYP_EXIT, &[Text("hyp")], "hypervisor", HYPERVISOR_TRACK),
    PacketPair(
        ftrace_event::HYPERVISOR_HYP_ENTER,
        ftrace_event::HYPERVISOR_HYP_EXIT,
        &[Text("hyp")],
        "hypervisor",
        HYPERVISOR_TRACK,
    ),
    PacketPair(ftrace_event::SCM_CALL_START, ftrace_event::SCM_CALL_END, &[Text("scm call")], "kernel", THREAD),
    PacketPair(ftrace_event::TRUSTY_SMC, ftrace_event::TRUSTY_SMC_DONE, &[Text("trusty_smc")], "trusty", THREAD),
    PacketPair(
        ftrace_event::TRUSTY_STD_CALL32,
        ftrace_event::TRUSTY_STD_CALL32_DONE,
        &[Text("trusty_std_call32")],
        "trusty",
        THREAD,
    ),
    PacketPair(
        ftrace_event::TRUSTY_SHARE_MEMORY,
        ftrace_event::TRUSTY_SHARE_MEMORY_DONE,
        &[Text("trusty_share_memory")],
        "trusty",
        THREAD,
    ),
    PacketPair(
        ftrace_event::TRUSTY_RECLAIM_MEMORY,
        ftrace_event::TRUSTY_RECLAIM_MEMORY_DONE,
        &[Text("trusty_reclaim_memory")],
        "trusty",
        THREAD,
    ),
    PacketPair(
        ftrace_event::TRUSTY_IPC_CONNECT,
        ftrace_event::TRUSTY_IPC_CONNECT_END,
        &[Text("trusty_ipc_connect")],
        "trusty",
        THREAD,
    ),
    PacketPair(
        ftrace_event::TRUSTY_IPC_READ,
        ftrace_event::TRUSTY_IPC_READ_END,
        &[Text("trusty_ipc_read")],
        "trusty",
        THREAD,
    ),
    PacketPair(ftrace_event::I2C_READ, ftrace_event::I2C_RESULT, I2C, "i2c", THREAD),
    PacketPair(ftrace_event::I2C_WRITE, ftrace_event::I2C_RESULT, I2C, "i2c", THREAD),
    PacketPair(
        ftrace_event::REGULATOR_ENABLE,
        ftrace_event::REGULATOR_ENABLE_COMPLETE,
        &[Text("regulator_enable")],
        "regulator",
        THREAD,
    ),
    PacketPair(
        ftrace_event::REGULATOR_DISABLE,
        ftrace_event::REGULATOR_DISABLE_COMPLETE,
        &[Text("regulator_disable")],
        "regulator",
        THREAD,
    ),
    PacketPair(
        ftrace_event::REGULATOR_SET_VOLTAGE,
        ftrace_event::REGULATOR_SET_VOLTAGE_COMPLETE,
        &[Text("regulator_set_voltage")],
        "regulator",
        THREAD,
    ),
    PacketPair(
        ftrace_event::EXT4_SYNC_FILE_ENTER,
        ftrace_event::EXT4_SYNC_FILE_EXIT,
        &[Text("ext4_sync_file")],
        "ext4",
        THREAD,
    ),
    PacketPair(
        ftrace_event::EXT4_DA_WRITE_BEGIN,
        ftrace_event::EXT4_DA_WRITE_END,
        &[Text("ext4_da_write")],
        "ext4",
        THREAD,
    ),
    PacketPair(ftrace_event::EXT4_UNLINK_ENTER, ftrace_event::EXT4_UNLINK_EXIT, &[Text("ext4_unlink")], "ext4", THREAD),
    PacketPair(
        ftrace_event::EXT4_TRUNCATE_ENTER,
        ftrace_event::EXT4_TRUNCATE_EXIT,
        &[Text("ext4_truncate")],
        "ext4",
        THREAD,
    ),
    PacketPair(
        ftrace_event::F2FS_SYNC_FILE_ENTER,
        ftrace_event::F2FS_SYNC_FILE_EXIT,
        &[Text("f2fs_sync_file")],
        "f2fs",
        THREAD,
    ),
    PacketPair(ftrace_event::F2FS_WRITE_BEGIN, ftrace_event::F2FS_WRITE_END, &[Text("f2fs_write")], "f2fs", THREAD),
    PacketPair(ftrace_event::F2FS_UNLINK_ENTER, ftrace_event::F2FS_UNLINK_EXIT, &[Text("f2fs_unlink")], "f2fs", THREAD),
    PacketPair(ftrace_event::F2FS_GC_BEGIN, ftrace_event::F2FS_GC_END, &[Text("f2fs_gc")], "f2fs", THREAD),
    PacketPair(
        ftrace_event::MM_COMPACTION_BEGIN,
        ftrace_event::MM_COMPACTION_END,
        &[Text("mm_compaction")],
        "memory",
        THREAD,
    ),
    PacketPair(
        ftrace_event::MM_VMSCAN_MEMCG_RECLAIM_BEGIN,
        ftrace_event::MM_VMSCAN_MEMCG_RECLAIM_END,
        &[Text("mm_vmscan_memcg_reclaim")],
        "memory",
        THREAD,
    ),
    PacketPair(
        ftrace_event::MM_SHRINK_SLAB_START,
        ftrace_event::MM_SHRINK_SLAB_END,
        &[Text("mm_vmscan_shrink_slab")],
        "memory",
        THREAD,
    ),
    PacketPair(
        ftrace_event::HRTIMER_EXPIRE_ENTRY,
        ftrace_event::HRTIMER_EXPIRE_EXIT,
        &[Text("hrtimer_expire")],
        "timer",
        IRQ_TRACK,
    ),
];

/// Returns the pair of an event, and whether the event begins or ends the span.
fn pair_of(event: FieldNumber) -> Option<(&'static PacketPair, EventKind)> {
    PAIRS.iter().find_map(|pair| match event {
        _ if event == pair.0 => Some((pair, EventKind::Begin)),
        _ if event == pair.1 => Some((pair, EventKind::End)),
        _ => None,
    })
}

impl KernelEvent<'_> {
    /// Returns whether the event is in the table.
    pub(super) fn is_of_pair(&self) -> bool {
        pair_of(self.number).is_some()
    }
}

impl SystemEventBuilder<'_> {
    /// Adds the start or the end of a span. An end closes the innermost span of its track.
    pub(super) fn push_pair(&mut self, ts_ns: i64, event: &KernelEvent<'_>) {
        let Some((PacketPair(_, _, name, category, track), kind)) = pair_of(event.number) else { return };
        let args = &mut self.state.args;
        args.clear();
        if !write_typed(args, event, &self.state.types).1 {
            self.batch.lose(Loss::LongArgs, self.pos);
        }
        let detail = self.written_args();
        let track = if track.is_empty() { self.thread_track(event.tid) } else { self.global_track(&event.name(track)) };
        let is_end = kind == EventKind::End;
        let flags = if is_end { EventFlags::UNNAMED } else { EventFlags::NONE };
        let name = if is_end { String::new() } else { event.name(name) };
        let category = (!is_end).then_some(category.as_bytes());
        let name = self.batch.name(name.as_bytes(), category, self.pos);
        self.batch.push(Event { detail, flags, ..Event::new(ts_ns, kind, track, name) });
    }
}

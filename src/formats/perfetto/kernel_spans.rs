//! Tables of the kernel events that start or end a span, or are instants: their names, tracks and arguments. Interrupts
//! and drivers have their own tracks; other events are on the track of their thread.

use super::ftrace::SystemEventBuilder;
use super::kernel_fields::{
    cma_info_event, cma_start_event, drm_job_event, drm_queue_event, fence_wait_event, ftrace_event,
    funcgraph_entry_event, funcgraph_exit_event, irq_entry_event, irq_exit_event, kprobe_event, kprobe_type,
    napi_entry_event, napi_exit_event, reclaim_begin_event, reclaim_end_event, softirq_event, tcp_retransmit_event,
    ufs_command_event, v4l2_event,
};
use super::kernel_names::NamePart::{
    Cpu, Function, HexUnlessZero, Known, Number as NumberOf, Text, TextField, ThreeDigits,
};
use super::kernel_names::{KernelEvent, NamePart};
use super::limits::has_room;
use crate::formats::linux::kernel_pairs::SOFTIRQS;
use crate::formats::protobuf::decode::ProtoValue;
use crate::formats::protobuf::message::ProtoMessage as _;
use crate::formats::protobuf::numbers::FieldNumber;
use crate::model::{Event, EventFlags, EventKind, Id, TrackKey, TrackKind};

/// Limit for threads within a CMA allocation.
const ALLOCATING_MAX: usize = 1 << 18;

/// An event that starts or ends a span, or is an instant.
struct KernelSpan {
    event: FieldNumber,
    part: SpanPart,
    /// Name of its track; empty for the thread track.
    track: &'static [NamePart],
    name: &'static [NamePart],
    category: &'static str,
    args: &'static [(&'static str, FieldNumber)],
}

/// The part of a span that an event is.
enum SpanPart {
    Is(EventKind),
    /// Depends on the value of a field; events with other values are not in the table.
    Of(FieldNumber, &'static [(u64, EventKind)]),
}

const BEGIN: SpanPart = SpanPart::Is(EventKind::Begin);
const END: SpanPart = SpanPart::Is(EventKind::End);
const INSTANT: SpanPart = SpanPart::Is(EventKind::Instant);

const IRQ_TRACK: &[NamePart] = &[Text("Irq Cpu "), Cpu];
const SOFTIRQ_TRACK: &[NamePart] = &[Text("SoftIrq Cpu "), Cpu];
const NAPI_TRACK: &[NamePart] = &[Text("Napi Gro Cpu "), Cpu];
const UFS_TRACK: &[NamePart] = &[Text("io.ufs.command.tag["), ThreeDigits(ufs_command_event::TAG), Text("]")];

/// SCSI commands of UFS storage.
const SCSI: &[(u64, &str)] = &[
    (0x00, "TEST UNIT READY"),
    (0x03, "REQUEST SENSE"),
    (0x08, "READ (6)"),
    (0x0a, "WRITE (6)"),
    (0x12, "INQUIRY"),
    (0x1b, "START STOP UNIT"),
    (0x25, "READ CAPACITY (10)"),
    (0x28, "READ (10)"),
    (0x2a, "WRITE (10)"),
    (0x35, "SYNC CACHE (10)"),
    (0x42, "UNMAP"),
    (0x88, "READ (16)"),
    (0x8a, "WRITE (16)"),
    (0x91, "SYNC CACHE (16)"),
    (0xa0, "REPORT LUNS"),
    (0xa2, "SECURITY PROTOCOL IN"),
    (0xb5, "SECURITY PROTOCOL OUT"),
];

const FENCE: &[(&str, FieldNumber)] =
    &[("fence context", fence_wait_event::CONTEXT), ("fence seqno", fence_wait_event::SEQNO)];

const SPANS: &[KernelSpan] = &[
    KernelSpan {
        event: ftrace_event::IRQ_HANDLER_ENTRY,
        part: BEGIN,
        track: IRQ_TRACK,
        name: &[Text("IRQ ("), TextField(irq_entry_event::NAME), Text(")")],
        category: "irq",
        args: &[("irq", irq_entry_event::IRQ)],
    },
    KernelSpan {
        event: ftrace_event::IRQ_HANDLER_EXIT,
        part: END,
        track: IRQ_TRACK,
        name: &[],
        category: "irq",
        args: &[("ret", irq_exit_event::RET)],
    },
    KernelSpan {
        event: ftrace_event::SOFTIRQ_ENTRY,
        part: BEGIN,
        track: SOFTIRQ_TRACK,
        name: &[Known(softirq_event::VEC, SOFTIRQS)],
        category: "irq",
        args: &[("vec", softirq_event::VEC)],
    },
    KernelSpan {
        event: ftrace_event::SOFTIRQ_EXIT,
        part: END,
        track: SOFTIRQ_TRACK,
        name: &[],
        category: "irq",
        args: &[],
    },
    KernelSpan {
        event: ftrace_event::MM_VMSCAN_DIRECT_RECLAIM_BEGIN,
        part: BEGIN,
        track: &[],
        name: &[Text("mm_vmscan_direct_reclaim")],
        category: "memory",
        args: &[("order", reclaim_begin_event::ORDER)],
    },
    KernelSpan {
        event: ftrace_event::MM_VMSCAN_DIRECT_RECLAIM_END,
        part: END,
        track: &[],
        name: &[Text("mm_vmscan_direct_reclaim")],
        category: "memory",
        args: &[("nr_reclaimed", reclaim_end_event::NR_RECLAIMED)],
    },
    KernelSpan {
        event: ftrace_event::CMA_ALLOC_START,
        part: BEGIN,
        track: &[],
        name: &[Text("mm_cma_alloc")],
        category: "memory",
        args: &[("cma_name", cma_start_event::NAME), ("cma_req_pages", cma_start_event::COUNT)],
    },
    KernelSpan {
        event: ftrace_event::CMA_ALLOC_INFO,
        part: END,
        track: &[],
        name: &[Text("mm_cma_alloc")],
        category: "memory",
        args: &[
            ("cma_pfn", cma_info_event::PFN),
            ("cma_nr_migrated", cma_info_event::NR_MIGRATED),
            ("cma_nr_reclaimed", cma_info_event::NR_RECLAIMED),
            ("cma_nr_mapped", cma_info_event::NR_MAPPED),
            ("cma_nr_isolate_fail", cma_info_event::ERR_ISO),
            ("cma_nr_migrate_fail", cma_info_event::ERR_MIG),
            ("cma_nr_test_fail", cma_info_event::ERR_TEST),
        ],
    },
    KernelSpan {
        event: ftrace_event::CMA_ALLOC_FINISH,
        part: END,
        track: &[],
        name: &[Text("mm_cma_alloc")],
        category: "memory",
        args: &[],
    },
    KernelSpan {
        event: ftrace_event::TCP_RETRANSMIT_SKB,
        part: INSTANT,
        track: &[Text("TCP Retransmit Skb")],
        name: &[
            Text("sport="),
            NumberOf(tcp_retransmit_event::SPORT),
            Text(",dport="),
            NumberOf(tcp_retransmit_event::DPORT),
        ],
        category: "network",
        args: &[],
    },
    KernelSpan {
        event: ftrace_event::NAPI_GRO_RECEIVE_ENTRY,
        part: BEGIN,
        track: NAPI_TRACK,
        name: &[TextField(napi_entry_event::NAME)],
        category: "napi_gro",
        args: &[("len", napi_entry_event::LEN)],
    },
    KernelSpan {
        event: ftrace_event::NAPI_GRO_RECEIVE_EXIT,
        part: END,
        track: NAPI_TRACK,
        name: &[],
        category: "napi_gro",
        args: &[("ret", napi_exit_event::RET)],
    },
    KernelSpan {
        event: ftrace_event::UFSHCD_COMMAND,
        part: SpanPart::Of(ufs_command_event::STR_T, &[(0, EventKind::Begin), (1, EventKind::End)]),
        track: UFS_TRACK,
        name: &[Known(ufs_command_event::OPCODE, SCSI), HexUnlessZero(" (GID=0x", ufs_command_event::GROUP_ID, ")")],
        category: "io",
        args: &[],
    },
    KernelSpan {
        event: ftrace_event::DMA_FENCE_WAIT_START,
        part: BEGIN,
        track: &[],
        name: &[Text("dma_fence_wait")],
        category: "graphics",
        args: FENCE,
    },
    KernelSpan {
        event: ftrace_event::DMA_FENCE_WAIT_END,
        part: END,
        track: &[],
        name: &[Text("dma_fence_wait")],
        category: "graphics",
        args: &[],
    },
    KernelSpan {
        event: ftrace_event::DRM_SCHED_JOB,
        part: INSTANT,
        track: &[],
        name: &[Text("drm_sched_job_queue")],
        category: "graphics",
        args: &[("gpu sched ring", drm_job_event::NAME), ("gpu sched job", drm_job_event::ID)],
    },
    KernelSpan {
        event: ftrace_event::DRM_SCHED_JOB_QUEUE,
        part: INSTANT,
        track: &[],
        name: &[Text("drm_sched_job_queue")],
        category: "graphics",
        args: &[
            ("gpu sched ring", drm_queue_event::NAME),
            ("fence context", drm_queue_event::FENCE_CONTEXT),
            ("fence seqno", drm_queue_event::FENCE_SEQNO),
        ],
    },
    KernelSpan {
        event: ftrace_event::V4L2_QBUF,
        part: INSTANT,
        track: &[],
        name: &v4l2("VIDIOC_QBUF minor="),
        category: "Video 4 Linux 2",
        args: &[],
    },
    KernelSpan {
        event: ftrace_event::V4L2_DQBUF,
        part: INSTANT,
        track: &[],
        name: &v4l2("VIDIOC_DQBUF minor="),
        category: "Video 4 Linux 2",
        args: &[],
    },
    KernelSpan {
        event: ftrace_event::FUNCGRAPH_ENTRY,
        part: BEGIN,
        track: &[],
        name: &[Function(funcgraph_entry_event::FUNC)],
        category: "kernel",
        args: &[],
    },
    KernelSpan {
        event: ftrace_event::FUNCGRAPH_EXIT,
        part: END,
        track: &[],
        name: &[Function(funcgraph_exit_event::FUNC)],
        category: "kernel",
        args: &[],
    },
    KernelSpan {
        event: ftrace_event::KPROBE_EVENT,
        part: SpanPart::Of(
            kprobe_event::TYPE,
            &[
                (kprobe_type::KPROBE_TYPE_BEGIN, EventKind::Begin),
                (kprobe_type::KPROBE_TYPE_END, EventKind::End),
                (kprobe_type::KPROBE_TYPE_INSTANT, EventKind::Instant),
            ],
        ),
        track: &[],
        name: &[TextField(kprobe_event::NAME)],
        category: "kprobe",
        args: &[],
    },
];

/// Returns the name parts of a V4L2 event; both directions have the same fields.
const fn v4l2(begin: &'static str) -> [NamePart; 8] {
    [
        Text(begin),
        NumberOf(v4l2_event::MINOR),
        Text(" seq="),
        NumberOf(v4l2_event::SEQUENCE),
        Text(" type="),
        NumberOf(v4l2_event::TYPE),
        Text(" index="),
        NumberOf(v4l2_event::INDEX),
    ]
}

/// Returns the table row of an event and its part of the span; `None` if it has none.
fn span_of(event: &KernelEvent<'_>) -> Option<(&'static KernelSpan, EventKind)> {
    let span = SPANS.iter().find(|span| span.event == event.number)?;
    let kind = match span.part {
        SpanPart::Is(kind) => kind,
        SpanPart::Of(field, kinds) => {
            let number = event.bytes.value(field)?.number();
            kinds.iter().find(|&&(value, _)| value == number)?.1
        }
    };
    Some((span, kind))
}

impl KernelEvent<'_> {
    /// Returns whether the event is in the table.
    pub(super) fn is_span(&self) -> bool {
        span_of(self).is_some()
    }
}

impl SystemEventBuilder<'_> {
    /// Adds the span start, span end or instant of an event in the table.
    pub(super) fn push_span(&mut self, ts_ns: i64, event: &KernelEvent<'_>) {
        let Some((span, kind)) = span_of(event) else { return };
        let Some(moved) = self.begin_or_end_allocation(event) else { return };
        let track = if span.track.is_empty() {
            let pid = self.pid_of(event.tid);
            self.tracks.thread(pid, event.tid)
        } else {
            let (pid, tid) = (Id::None, Id::None);
            let (name, slot) = (event.name(span.track).into(), TrackKey::SLOT_ALONE);
            self.tracks.number(TrackKey { kind: TrackKind::Async, pid, tid, name, slot })
        };
        let args = &mut self.state.args;
        args.clear();
        for &(key, field) in span.args {
            match event.bytes.value(field) {
                Some(ProtoValue::Bytes(text)) => args.text(key, text),
                Some(value) => args.signed(key, value.signed()),
                None => {}
            }
        }
        args.json.push_str(&moved);
        let detail = self.batch.args(args.finish());
        let track = self.batch.track(track, self.tracks);
        let name = event.name(span.name);
        // An unnamed end closes the innermost span of its track.
        let is_unnamed = name.is_empty() && kind == EventKind::End;
        let flags = if is_unnamed { EventFlags::UNNAMED } else { EventFlags::default() };
        let category = (!name.is_empty()).then_some(span.category.as_bytes());
        let name = self.batch.name(name.as_bytes(), category, self.pos);
        self.batch.push(Event { detail, flags, ..Event::new(ts_ns, kind, track, name) });
    }

    /// Begins or ends the CMA allocation of an event. Returns the pages that an ended one has moved, as members of an
    /// object: none for other events. Returns `None` for the second end of one, since some kernels emit two.
    fn begin_or_end_allocation(&mut self, event: &KernelEvent<'_>) -> Option<Box<str>> {
        let allocating = &mut self.state.allocating;
        match event.number {
            ftrace_event::CMA_ALLOC_START => {
                if !has_room(allocating, &event.tid, ALLOCATING_MAX) {
                    allocating.clear();
                }
                allocating.insert(event.tid, Box::default());
                Some(Box::default())
            }
            // The event has the pages as its own fields.
            ftrace_event::CMA_ALLOC_INFO => allocating.remove(&event.tid).map(|_| Box::default()),
            ftrace_event::CMA_ALLOC_FINISH => allocating.remove(&event.tid),
            _ => Some(Box::default()),
        }
    }
}

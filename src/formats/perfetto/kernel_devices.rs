//! Kernel events that form spans only together with others: requests of block and video devices, GPU commands, buffers,
//! wakeup sources, suspension, and states of devices.

use super::clocks::FTRACE_CLOCK;
use super::device_fields::{
    adreno_queued, adreno_retired, adreno_sync, android_fs_end_event, android_fs_event, block_event,
    device_callback_event, firmware_counter_event, firmware_slice_event, gpu_work_event, kfree_event, low_memory_event,
    migrate_range_event, parameter_event, runtime_power_event, suspend_event, suspend_minimal_event, victim_event,
    video_command_event, video_resource_event, virtual_gpu_event, wakeup_event,
};
use super::fields::builtin_clock;
use super::ftrace::SystemEventBuilder;
use super::kernel_fields::{ftrace_event, heap_event, v4l2_event};
use super::kernel_instants::write_typed;
use super::kernel_names::KernelEvent;
use super::kernel_state::AdrenoCommands;
use super::limits::has_room;
use super::packet_events::ArgForm::Unsigned;
use super::packet_events::{PacketArg, async_id, enum_name, write_args};
use super::tracks::TrackNumber;
use crate::formats::protobuf::message::ProtoMessage as _;
use crate::formats::protobuf::numbers::FieldNumber;
use crate::model::{Event, EventFlags, EventKind, Id, Loss, NameIdx};

/// Limit for spans that have not ended, and for each other table of devices.
const OPEN_MAX: usize = 1 << 18;

/// Frequency of the clock of Adreno GPUs.
const ADRENO_HERTZ: i128 = 19_200_000;

const NS_PER_S: i128 = 1_000_000_000;

/// Prefix of the names of events that are states of a Mali GPU's microcontroller.
const MALI_STATES: &str = "mali_mali_PM_MCU_";

/// Commands of virtual video devices.
const VIDEO_COMMANDS: &[(u64, &str)] = &[
    (0x100, "QUERY_CAPABILITY"),
    (0x101, "STREAM_CREATE"),
    (0x102, "STREAM_DESTROY"),
    (0x103, "STREAM_DRAIN"),
    (0x104, "RESOURCE_CREATE"),
    (0x105, "RESOURCE_QUEUE"),
    (0x106, "RESOURCE_DESTROY_ALL"),
    (0x107, "QUEUE_CLEAR"),
    (0x108, "GET_PARAMS"),
    (0x109, "SET_PARAMS"),
    (0x10a, "QUERY_CONTROL"),
    (0x10b, "GET_CONTROL"),
    (0x10c, "SET_CONTROL"),
];

/// Queues of virtual video devices.
const VIDEO_QUEUES: &[(u64, &str)] = &[(0x100, "INPUT"), (0x101, "OUTPUT")];

const VIRTUAL_GPU_COMMANDS: &[(u64, &str)] = &[
    (0x100, "GET_DISPLAY_INFO"),
    (0x101, "RESOURCE_CREATE_2D"),
    (0x102, "RESOURCE_UNREF"),
    (0x103, "SET_SCANOUT"),
    (0x104, "RESOURCE_FLUSH"),
    (0x105, "TRANSFER_TO_HOST_2D"),
    (0x106, "RESOURCE_ATTACH_BACKING"),
    (0x107, "RESOURCE_DETACH_BACKING"),
    (0x108, "GET_CAPSET_INFO"),
    (0x109, "GET_CAPSET"),
    (0x10a, "GET_EDID"),
    (0x10b, "RESOURCE_ASSIGN_UUID"),
    (0x10c, "RESOURCE_CREATE_BLOB"),
    (0x10d, "SET_SCANOUT_BLOB"),
    (0x200, "CTX_CREATE"),
    (0x201, "CTX_DESTROY"),
    (0x202, "CTX_ATTACH_RESOURCE"),
    (0x203, "CTX_DETACH_RESOURCE"),
    (0x204, "RESOURCE_CREATE_3D"),
    (0x205, "TRANSFER_TO_HOST_3D"),
    (0x206, "TRANSFER_FROM_HOST_3D"),
    (0x207, "SUBMIT_3D"),
    (0x208, "RESOURCE_MAP_BLOB"),
    (0x209, "RESOURCE_UNMAP_BLOB"),
    (0x300, "UPDATE_CURSOR"),
    (0x301, "MOVE_CURSOR"),
];

/// States of the power management of devices at run time.
const RUNTIME_STATES: &[(u64, &str)] = &[(0, "Active"), (1, "Resuming"), (2, "Suspended"), (3, "Suspending")];

/// Protocols of network packets that are counted.
const IP_PROTOCOLS: &[(u64, &str)] = &[(0x0800, "IP"), (0x86dd, "IPV6")];

/// Arguments of a CMA allocation by the pages that it moves.
const MOVED_PAGES: &[PacketArg] = &[
    PacketArg("cma_nr_migrated", migrate_range_event::NR_MIGRATED, Unsigned),
    PacketArg("cma_nr_reclaimed", migrate_range_event::NR_RECLAIMED, Unsigned),
    PacketArg("cma_nr_mapped", migrate_range_event::NR_MAPPED, Unsigned),
];

/// A span that an event begins or ends: whether it begins, its track, its name, and its id.
struct DeviceSpan {
    is_begin: bool,
    track: TrackNumber,
    name: String,
    category: &'static str,
    id: u64,
}

impl SystemEventBuilder<'_> {
    /// Handles an event of this file. Returns false if it is not one, or must also be handled as another event.
    pub(super) fn device_event(&mut self, ts_ns: i64, event: &KernelEvent<'_>) -> bool {
        let bytes = event.bytes;
        match event.number {
            ftrace_event::VIRTIO_VIDEO_CMD => self.video_command(ts_ns, event, "Requests"),
            ftrace_event::VIRTIO_VIDEO_CMD_DONE => self.video_command(ts_ns, event, "Responses"),
            ftrace_event::KGSL_ADRENO_CMDBATCH_QUEUED => {
                self.queue_adreno(event);
                return false;
            }
            ftrace_event::KGSL_ADRENO_CMDBATCH_SYNC => {
                self.sync_adreno(ts_ns, event);
                return false;
            }
            ftrace_event::KGSL_ADRENO_CMDBATCH_RETIRED => self.retire_adreno(ts_ns, event),
            ftrace_event::KFREE_SKB => {
                self.count_freed_packet(ts_ns, event);
                return false;
            }
            ftrace_event::MM_ALLOC_CONTIG_MIGRATE_RANGE_INFO => {
                if let Some(moved) = self.state.allocating.get_mut(&event.tid) {
                    let args = &mut self.state.args;
                    args.clear();
                    write_args(args, bytes, MOVED_PAGES);
                    *moved = args.json.as_str().into();
                }
                return false;
            }
            ftrace_event::PARAM_SET_VALUE_CPM => {
                let Some(ts_ns) = self.own_time(ts_ns, bytes.number(parameter_event::TIMESTAMP)) else {
                    return true;
                };
                let value = bytes.number(parameter_event::VALUE) as f64;
                self.push_global(ts_ns, (&bytes.text(parameter_event::BODY), ""), value);
            }
            ftrace_event::FWTP_PERFETTO_COUNTER => {
                let own = bytes.number(firmware_counter_event::TIMESTAMP);
                let Some(ts_ns) = self.own_time(ts_ns, own) else { return true };
                let value = bytes.number(firmware_counter_event::VALUE) as f64;
                self.push_global(ts_ns, (&bytes.text(firmware_counter_event::NAME), ""), value);
            }
            ftrace_event::FWTP_PERFETTO_SLICE => self.firmware_span(ts_ns, event),
            ftrace_event::GPU_WORK_PERIOD => self.gpu_work(event),
            ftrace_event::RPM_STATUS => {
                let state = bytes.number(runtime_power_event::STATUS);
                let name = enum_name(state, RUNTIME_STATES).unwrap_or("Invalid");
                let track = format!("Runtime PM {}", bytes.text(runtime_power_event::NAME));
                self.push_state(ts_ns, &track, name);
            }
            ftrace_event::LOWMEMORY_KILL | ftrace_event::MARK_VICTIM => self.push_victim(ts_ns, event),
            number => {
                if let Some(span) = self.device_span(event) {
                    return self.push_device_span(ts_ns, event, span);
                }
                let state = self.state.types.get(number).and_then(|known| known.name.strip_prefix(MALI_STATES));
                let Some(state) = state.map(|state| state.replace('_', " ")) else { return false };
                self.push_state(ts_ns, "Mali MCU state", &state);
            }
        }
        true
    }

    /// Records the thread that queues commands for a context of an Adreno GPU.
    fn queue_adreno(&mut self, event: &KernelEvent<'_>) {
        let contexts = &mut self.state.devices.adreno.contexts;
        let context = event.bytes.number(adreno_queued::ID);
        if has_room(contexts, &context, OPEN_MAX) {
            contexts.insert(context, event.tid);
        } else {
            self.batch.lose(Loss::OverLimit, self.pos);
        }
    }

    /// Counts the freed packets of the internet protocol.
    fn count_freed_packet(&mut self, ts_ns: i64, event: &KernelEvent<'_>) {
        let Some(protocol) = enum_name(event.bytes.number(kfree_event::PROTOCOL), IP_PROTOCOLS) else { return };
        self.state.devices.freed_packets += 1;
        let freed = self.state.devices.freed_packets as f64;
        self.state.args.clear();
        self.state.args.text("protocol", protocol.as_bytes());
        let track = self.tracks.named_counter(Id::None, "Kfree Skb IP Prot", "");
        self.push_counter_with_args(ts_ns, track, freed);
    }

    /// Relates the clock of an Adreno GPU to the clock of the trace, and adds the commands that wait for it.
    fn sync_adreno(&mut self, ts_ns: i64, event: &KernelEvent<'_>) {
        let ticks = event.bytes.number(adreno_sync::TICKS);
        self.state.devices.adreno.offset_ns = Some(i128::from(ts_ns) - adreno_ns(ticks));
        for commands in std::mem::take(&mut self.state.devices.adreno.commands) {
            self.push_adreno(&commands);
        }
    }

    /// Returns the span that an event begins or ends; `None` if it has none.
    fn device_span(&mut self, event: &KernelEvent<'_>) -> Option<DeviceSpan> {
        match event.number {
            ftrace_event::BLOCK_IO_START
            | ftrace_event::BLOCK_IO_DONE
            | ftrace_event::BLOCK_RQ_ISSUE
            | ftrace_event::BLOCK_RQ_COMPLETE => Some(self.block_span(event)),
            ftrace_event::VIRTIO_VIDEO_RESOURCE_QUEUE | ftrace_event::VIRTIO_VIDEO_RESOURCE_QUEUE_DONE => {
                Some(self.video_span(event))
            }
            ftrace_event::VIRTIO_GPU_CMD_QUEUE | ftrace_event::VIRTIO_GPU_CMD_RESPONSE => {
                Some(self.virtual_gpu_span(event))
            }
            ftrace_event::DMA_HEAP_STAT => Some(self.dma_heap_span(event)),
            _ => self.power_span(event).or_else(|| self.file_span(event)),
        }
    }

    /// Returns the span of a request to a block device.
    fn block_span(&mut self, event: &KernelEvent<'_>) -> DeviceSpan {
        let number = |field| event.bytes.number(field);
        let is_io = matches!(event.number, ftrace_event::BLOCK_IO_START | ftrace_event::BLOCK_IO_DONE);
        let (device, sector) = (number(block_event::DEV), number(block_event::SECTOR));
        let name = if is_io { "block_io" } else { "block_rq" };
        let track = format!("{name} {}:{}", device >> 20, device & 0xf_ffff);
        DeviceSpan {
            is_begin: matches!(event.number, ftrace_event::BLOCK_IO_START | ftrace_event::BLOCK_RQ_ISSUE),
            track: self.overlapping_track(Id::None, &track),
            name: name.to_owned(),
            category: "block",
            id: async_id(name, &[device, sector]),
        }
    }

    /// Returns the span of a resource in a queue of a virtual video device.
    fn video_span(&mut self, event: &KernelEvent<'_>) -> DeviceSpan {
        let number = |field| event.bytes.number(field);
        let (stream, resource) = (number(video_resource_event::STREAM_ID), number(video_resource_event::RESOURCE_ID));
        let queue = number(video_resource_event::QUEUE_TYPE);
        let queue_name = enum_name(queue, VIDEO_QUEUES).map_or_else(|| format!("{queue:#x}"), str::to_owned);
        let track = format!("virtio_video stream #{stream} {queue_name}");
        DeviceSpan {
            is_begin: event.number == ftrace_event::VIRTIO_VIDEO_RESOURCE_QUEUE,
            track: self.overlapping_track(Id::None, &track),
            name: format!("Resource #{resource}"),
            category: "video",
            id: async_id("video", &[stream, queue, resource]),
        }
    }

    /// Returns the span of a command for a virtual GPU.
    fn virtual_gpu_span(&mut self, event: &KernelEvent<'_>) -> DeviceSpan {
        let number = |field| event.bytes.number(field);
        let (queue, sequence) = (number(virtual_gpu_event::VQ), number(virtual_gpu_event::SEQNO));
        let command = number(virtual_gpu_event::TYPE);
        let name = enum_name(command, VIRTUAL_GPU_COMMANDS).map_or_else(|| format!("{command:#x}"), str::to_owned);
        let track = format!("Virtgpu {}", event.bytes.text(virtual_gpu_event::NAME));
        DeviceSpan {
            is_begin: event.number == ftrace_event::VIRTIO_GPU_CMD_QUEUE,
            track: self.overlapping_track(Id::None, &track),
            name,
            category: "gpu",
            id: async_id("virtio_gpu", &[number(virtual_gpu_event::DEV), queue, sequence]),
        }
    }

    /// Returns the span of a buffer of a DMA heap.
    fn dma_heap_span(&mut self, event: &KernelEvent<'_>) -> DeviceSpan {
        let change = event.bytes.signed(heap_event::LEN);
        let pid = self.pid_of(event.tid);
        let pid = self.tracks.process_now(pid);
        DeviceSpan {
            is_begin: change > 0,
            track: self.overlapping_track(pid, "mem.dma_buffer"),
            name: format!("{} kB", change / 1024),
            category: "memory",
            id: async_id("dma_buffer", &[event.bytes.number(heap_event::INODE)]),
        }
    }

    /// Returns the span of an event of suspension or of a wakeup source.
    fn power_span(&mut self, event: &KernelEvent<'_>) -> Option<DeviceSpan> {
        let bytes = event.bytes;
        let number = |field| bytes.number(field);
        let begins_at = |begin: FieldNumber| event.number == begin;
        let span = match event.number {
            ftrace_event::WAKEUP_SOURCE_ACTIVATE | ftrace_event::WAKEUP_SOURCE_DEACTIVATE => {
                let name = bytes.text(wakeup_event::NAME).into_owned();
                DeviceSpan {
                    is_begin: begins_at(ftrace_event::WAKEUP_SOURCE_ACTIVATE),
                    track: self.overlapping_track(Id::None, "Wakeup sources"),
                    id: async_id(&name, &[]),
                    name,
                    category: "power",
                }
            }
            ftrace_event::SUSPEND_RESUME => {
                let name = format!("{}({})", bytes.text(suspend_event::ACTION), bytes.signed(suspend_event::VAL));
                DeviceSpan {
                    is_begin: number(suspend_event::START) != 0,
                    track: self.overlapping_track(Id::None, "Suspend/Resume Latency"),
                    id: async_id(&name, &[0]),
                    name,
                    category: "power",
                }
            }
            ftrace_event::SUSPEND_RESUME_MINIMAL => DeviceSpan {
                is_begin: number(suspend_minimal_event::START) != 0,
                track: self.overlapping_track(Id::None, "Suspend/Resume Minimal"),
                name: "Suspended".to_owned(),
                category: "power",
                id: async_id("suspended", &[]),
            },
            ftrace_event::DEVICE_PM_CALLBACK_START | ftrace_event::DEVICE_PM_CALLBACK_END => {
                let (device, driver) =
                    (bytes.text(device_callback_event::DEVICE), bytes.text(device_callback_event::DRIVER));
                let name = format!("{device} {driver}");
                DeviceSpan {
                    is_begin: begins_at(ftrace_event::DEVICE_PM_CALLBACK_START),
                    track: self.overlapping_track(Id::None, "Suspend/Resume Latency"),
                    id: async_id(&name, &[1]),
                    name,
                    category: "power",
                }
            }
            _ => return None,
        };
        Some(span)
    }

    /// Returns the span of Android's file events.
    fn file_span(&mut self, event: &KernelEvent<'_>) -> Option<DeviceSpan> {
        let (is_begin, name) = match event.number {
            ftrace_event::ANDROID_FS_DATAREAD_START => (true, "android_fs_dataread"),
            ftrace_event::ANDROID_FS_DATAREAD_END => (false, "android_fs_dataread"),
            ftrace_event::ANDROID_FS_DATAWRITE_START => (true, "android_fs_datawrite"),
            ftrace_event::ANDROID_FS_DATAWRITE_END => (false, "android_fs_datawrite"),
            _ => return None,
        };
        let field = |of_start, of_end| event.bytes.number(if is_begin { of_start } else { of_end });
        let file = field(android_fs_event::INO, android_fs_end_event::INO);
        let offset = field(android_fs_event::OFFSET, android_fs_end_event::OFFSET);
        Some(DeviceSpan {
            is_begin,
            track: self.overlapping_track(Id::None, "android_fs"),
            name: name.to_owned(),
            category: "file",
            id: async_id(name, &[file, offset]),
        })
    }

    /// Begins or ends a span. Returns false for the end of a span that began before the recording, and for a buffer,
    /// whose event also has counters.
    fn push_device_span(&mut self, ts_ns: i64, event: &KernelEvent<'_>, span: DeviceSpan) -> bool {
        let DeviceSpan { is_begin, track, name, category, id } = span;
        let is_buffer = event.number == ftrace_event::DMA_HEAP_STAT;
        let open = &mut self.state.devices.open_spans;
        let begun = if is_begin { None } else { open.remove(&id) };
        if is_begin && !has_room(open, &id, OPEN_MAX) {
            self.batch.lose(Loss::OverLimit, self.pos);
            return true;
        }
        let is_again = is_begin && open.insert(id, track).is_some();
        if !is_begin && begun.is_none() {
            return false;
        }
        if is_again {
            // Its end was lost.
            self.state.args.clear();
            self.end_async(ts_ns, track, id);
        }
        let args = &mut self.state.args;
        args.clear();
        if !write_typed(args, event, &self.state.types).1 {
            self.batch.lose(Loss::LongArgs, self.pos);
        }
        match begun {
            Some(track) => self.end_async(ts_ns, track, id),
            None => self.begin_async(ts_ns, track, (&name, category), id),
        }
        !is_buffer
    }

    /// Converts the time that another processor wrote into an event; without one, returns the time of the event.
    fn own_time(&mut self, ts_ns: i64, own: u64) -> Option<i64> {
        if own == 0 {
            return Some(ts_ns);
        }
        let time = self.clocks.time(self.sequence, Some(FTRACE_CLOCK), own);
        self.usable(time)
    }

    /// Begins or ends a span of firmware on its track.
    fn firmware_span(&mut self, ts_ns: i64, event: &KernelEvent<'_>) {
        let number = |field| event.bytes.number(field);
        let Some(ts_ns) = self.own_time(ts_ns, number(firmware_slice_event::TIMESTAMP)) else { return };
        let track = self.global_track(&format!("Firmware {}", number(firmware_slice_event::TRACK_ID)));
        let (name, category) =
            (event.bytes.text(firmware_slice_event::NAME), event.bytes.text(firmware_slice_event::CATEGORY));
        let is_begin = number(firmware_slice_event::BEGIN) != 0;
        let (kind, name) = if is_begin { (EventKind::Begin, &*name) } else { (EventKind::End, "") };
        let flags = if is_begin { EventFlags::NONE } else { EventFlags::UNNAMED };
        let name = self.batch.name(name.as_bytes(), is_begin.then_some(category.as_bytes()), self.pos);
        self.batch.push(Event { flags, ..Event::new(ts_ns, kind, track, name) });
    }

    /// Adds a command of a virtual video device.
    fn video_command(&mut self, ts_ns: i64, event: &KernelEvent<'_>, what: &str) {
        let stream = event.bytes.number(video_command_event::STREAM_ID);
        let command = event.bytes.number(video_command_event::TYPE);
        let name = enum_name(command, VIDEO_COMMANDS).map_or_else(|| format!("{command:#x}"), str::to_owned);
        let track = self.global_track(&format!("virtio_video stream #{stream} {what}"));
        self.state.args.clear();
        self.push_message(ts_ns, track, name.as_bytes(), Some(b"video"));
    }

    /// Adds the state of a device, which lasts until the next one.
    fn push_state(&mut self, ts_ns: i64, track: &str, state: &str) {
        let index = self.global_track(track);
        let states = &mut self.state.devices.state_tracks;
        if states.len() >= OPEN_MAX && !states.contains(track) {
            return self.batch.lose(Loss::OverLimit, self.pos);
        }
        if !states.insert(track.into()) {
            let flags = EventFlags::UNNAMED;
            self.batch.push(Event { flags, ..Event::new(ts_ns, EventKind::End, index, NameIdx::EMPTY) });
        }
        let name = self.batch.name(state.as_bytes(), Some(b"power"), self.pos);
        self.batch.push(Event::new(ts_ns, EventKind::Begin, index, name));
    }

    /// Adds an instant of a process that the kernel kills to free memory.
    fn push_victim(&mut self, ts_ns: i64, event: &KernelEvent<'_>) {
        // The older event has the pid in another field.
        let (name, pid) = match event.number {
            ftrace_event::MARK_VICTIM => ("mem.oom_kill", event.bytes.signed(victim_event::PID)),
            _ => ("mem.lmk", event.bytes.signed(low_memory_event::PID)),
        };
        let args = &mut self.state.args;
        args.clear();
        if !write_typed(args, event, &self.state.types).1 {
            self.batch.lose(Loss::LongArgs, self.pos);
        }
        let track = self.tracks.process(self.tracks.process_now(pid));
        let track = self.batch.track(track, self.tracks);
        self.push_message(ts_ns, track, name.as_bytes(), Some(b"memory"));
    }

    /// Adds a period in which an app used the GPU. Its times are on the raw monotonic clock.
    fn gpu_work(&mut self, event: &KernelEvent<'_>) {
        let number = |field| event.bytes.number(field);
        let (start, end) = (number(gpu_work_event::START_TIME_NS), number(gpu_work_event::END_TIME_NS));
        let time = self.clocks.time(self.sequence, Some(builtin_clock::MONOTONIC_RAW), start);
        let Some(ts_ns) = self.usable(time) else { return };
        let (gpu, uid) = (number(gpu_work_event::GPU_ID), number(gpu_work_event::UID));
        let track = self.overlapping_track(Id::None, &format!("GPU {gpu} work"));
        let args = &mut self.state.args;
        args.clear();
        args.number("uid", uid);
        args.number("total_active_duration_ns", number(gpu_work_event::TOTAL_ACTIVE_DURATION_NS));
        let id = async_id("work", &[gpu, uid, start]);
        self.push_async((ts_ns, end.saturating_sub(start)), track, (&format!("uid={uid}"), "gpu"), id);
    }

    /// Keeps commands of an Adreno GPU until the offset of its clock is known.
    fn retire_adreno(&mut self, ts_ns: i64, event: &KernelEvent<'_>) {
        let number = |field| event.bytes.number(field);
        let context = number(adreno_retired::ID);
        let tid = self.state.devices.adreno.contexts.get(&context).copied().unwrap_or(event.tid);
        let commands = AdrenoCommands {
            ts_ns,
            tid,
            context,
            priority: event.bytes.signed(adreno_retired::PRIO),
            timestamp: number(adreno_retired::TIMESTAMP),
            start: number(adreno_retired::START),
            retire: number(adreno_retired::RETIRE),
        };
        if self.state.devices.adreno.offset_ns.is_some() {
            self.push_adreno(&commands);
        } else if self.state.devices.adreno.commands.len() < OPEN_MAX {
            self.state.devices.adreno.commands.push(commands);
        } else {
            self.batch.lose(Loss::OverLimit, self.pos);
        }
    }

    /// Adds commands of an Adreno GPU. Without the offset of its clock, they end at the time of their event.
    fn push_adreno(&mut self, commands: &AdrenoCommands) {
        let dur_ns = adreno_ns(commands.retire.saturating_sub(commands.start));
        let ts_ns = match self.state.devices.adreno.offset_ns {
            Some(offset_ns) => adreno_ns(commands.start) + offset_ns,
            None => i128::from(commands.ts_ns) - dur_ns,
        };
        let (Ok(ts_ns), Ok(dur_ns)) = (i64::try_from(ts_ns), u64::try_from(dur_ns)) else {
            return self.batch.lose(Loss::BadTime, self.pos);
        };
        let &AdrenoCommands { tid, context, priority, timestamp, .. } = commands;
        let pid = self.pid_of(tid);
        // Contexts of all programs have one numbering, so that the program tells more than the number.
        let command = self.tracks.all_described().commands.get(&pid);
        let command = command.map_or_else(String::new, |command| format!("{command} "));
        let pid = self.tracks.process_now(pid);
        let track = self.overlapping_track(pid, &format!("GPU {command}(Ctx={context}, Prio={priority})"));
        let args = &mut self.state.args;
        args.clear();
        args.number("context", context);
        args.number("timestamp", timestamp);
        self.push_async((ts_ns, dur_ns), track, ("GPU", "gpu"), async_id("adreno", &[context, timestamp]));
    }

    /// Adds the commands that wait for the offset of their clock at the end of the trace.
    pub(super) fn finish_adreno(&mut self) {
        for commands in std::mem::take(&mut self.state.devices.adreno.commands) {
            self.push_adreno(&commands);
        }
    }

    /// Adds the flow from the event that queues a video buffer to the event that takes it back.
    pub(super) fn video_flow(&mut self, ts_ns: i64, event: &KernelEvent<'_>) {
        let kind = match event.number {
            ftrace_event::V4L2_QBUF => EventKind::FlowStart,
            ftrace_event::V4L2_DQBUF => EventKind::FlowEnd,
            _ => return,
        };
        let number = |field| event.bytes.number(field);
        let key = [number(v4l2_event::MINOR), number(v4l2_event::TYPE), number(v4l2_event::INDEX)];
        let track = self.thread_track(event.tid);
        let (depth, flags) = (Event::FLOW_OF_INSTANT, EventFlags::BIND_ENCLOSING);
        let value = async_id("v4l2", &key);
        self.batch.push(Event { value, depth, flags, ..Event::new(ts_ns, kind, track, NameIdx::EMPTY) });
    }
}

/// Converts times of Adreno's clock to nanoseconds.
fn adreno_ns(ticks: u64) -> i128 {
    i128::from(ticks) * NS_PER_S / ADRENO_HERTZ
}

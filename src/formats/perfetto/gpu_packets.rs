//! GPU activity that drivers report in packets of their own: counters, log messages, memory and frequencies. Also
//! stages of rendering and computing on each hardware queue, and the submissions and memory of Vulkan.

use xxhash_rust::xxh3::xxh3_64;

use super::ftrace::SystemEventBuilder;
use super::kernel_state::{GpuCounter, PreviousSample};
use super::limits::has_room;
use super::packet_events::ArgForm::{Text, Unsigned};
use super::packet_events::{PacketArg, async_id, enum_name, write_args};
use super::packet_fields::{
    context_spec, gpu_counter, gpu_counter_descriptor, gpu_counter_event, gpu_counter_spec, gpu_frequency, gpu_log,
    gpu_log_severity, gpu_memory_total, gpu_stage_specifications, render_stage, render_stage_data,
    render_stage_description, vulkan_api_event, vulkan_memory, vulkan_memory_operation, vulkan_memory_source,
    vulkan_object_name, vulkan_submit,
};
use super::tracks::TrackNumber;
use crate::formats::protobuf::decode::ProtoValue;
use crate::formats::protobuf::message::ProtoMessage as _;
use crate::formats::protobuf::numbers::FieldNumber;
use crate::model::{Id, Loss};

/// Limit for described counters, queues, stages and named objects; drivers have several hundred.
const GPU_ENTRIES_MAX: usize = 1 << 16;

/// Units of counters by enum value; 0 is none.
const UNITS: [&str; 41] = [
    "",
    "bit",
    "kbit",
    "Mbit",
    "Gbit",
    "Tbit",
    "Pbit",
    "bytes",
    "kB",
    "MB",
    "GB",
    "TB",
    "PB",
    "Hz",
    "kHz",
    "MHz",
    "GHz",
    "THz",
    "PHz",
    "ns",
    "µs",
    "ms",
    "s",
    "min",
    "h",
    "vertices",
    "pixels",
    "triangles",
    "mW",
    "W",
    "kW",
    "J",
    "V",
    "A",
    "°C",
    "°F",
    "K",
    "%",
    "primitives",
    "fragments",
    "instructions",
];

const LOG_SEVERITIES: &[(u64, &str)] = &[
    (gpu_log_severity::LOG_SEVERITY_VERBOSE, "VERBOSE"),
    (gpu_log_severity::LOG_SEVERITY_DEBUG, "DEBUG"),
    (gpu_log_severity::LOG_SEVERITY_INFO, "INFO"),
    (gpu_log_severity::LOG_SEVERITY_WARNING, "WARNING"),
    (gpu_log_severity::LOG_SEVERITY_ERROR, "ERROR"),
];

/// Scopes of allocations by Vulkan drivers.
const SCOPES: &[(u64, &str)] = &[(1, "COMMAND"), (2, "OBJECT"), (3, "CACHE"), (4, "DEVICE"), (5, "INSTANCE")];

const STAGE_ARGS: &[PacketArg] = &[
    PacketArg("event_id", render_stage::EVENT_ID, Unsigned),
    PacketArg("gpu_id", render_stage::GPU_ID, Unsigned),
    PacketArg("context_id", render_stage::CONTEXT, Unsigned),
    PacketArg("submission_id", render_stage::SUBMISSION_ID, Unsigned),
    PacketArg("render_target", render_stage::RENDER_TARGET_HANDLE, Unsigned),
    PacketArg("render_pass", render_stage::RENDER_PASS_HANDLE, Unsigned),
    PacketArg("render_pass_instance_id", render_stage::RENDER_PASS_INSTANCE_ID, Unsigned),
    PacketArg("command_buffer", render_stage::COMMAND_BUFFER_HANDLE, Unsigned),
];

/// Handles of a stage, and the keys of the names that Vulkan programs give to them.
const NAMED_HANDLES: &[(FieldNumber, &str)] = &[
    (render_stage::RENDER_TARGET_HANDLE, "render_target_name"),
    (render_stage::RENDER_PASS_HANDLE, "render_pass_name"),
    (render_stage::COMMAND_BUFFER_HANDLE, "command_buffer_name"),
];

impl SystemEventBuilder<'_> {
    pub(super) fn gpu_log(&mut self, ts_ns: i64, bytes: &[u8]) {
        self.state.args.clear();
        let table = [PacketArg("tag", gpu_log::TAG, Text), PacketArg("message", gpu_log::LOG_MESSAGE, Text)];
        write_args(&mut self.state.args, bytes, &table);
        let track = self.global_track("GPU Log");
        let severity = enum_name(bytes.number(gpu_log::SEVERITY), LOG_SEVERITIES).unwrap_or("UNSPECIFIED");
        self.push_message(ts_ns, track, severity.as_bytes(), Some(b"log"));
    }

    pub(super) fn gpu_memory(&mut self, ts_ns: i64, bytes: &[u8]) {
        let pid = match bytes.signed(gpu_memory_total::PID) {
            0 => Id::None,
            pid => self.tracks.process_now(pid),
        };
        let track = self.tracks.named_counter(pid, "GPU Memory", "bytes");
        self.push_counter(ts_ns, track, bytes.number(gpu_memory_total::SIZE) as f64);
    }

    pub(super) fn gpu_frequency(&mut self, ts_ns: i64, bytes: &[u8]) {
        let name = format!("GPU {} frequency", bytes.number(gpu_frequency::GPU_ID));
        self.push_global(ts_ns, (&name, "kHz"), bytes.number(gpu_frequency::FREQUENCY_KHZ) as f64);
    }

    /// Adds the names and units of counters. Returns whether the packet has any.
    pub(super) fn describe_counters(&mut self, bytes: &[u8]) -> bool {
        let descriptor = bytes.content(gpu_counter_event::COUNTER_DESCRIPTOR);
        if let Some(descriptor) = descriptor {
            self.add_counters(0, descriptor);
        }
        descriptor.is_some()
    }

    fn add_counters(&mut self, scope: u64, descriptor: &[u8]) {
        for spec in descriptor.repeated(gpu_counter_descriptor::SPECS) {
            let units = |field| {
                let units = spec.numbers(field).filter_map(|unit| UNITS.get(usize::try_from(unit).ok()?));
                units.copied().filter(|unit| !unit.is_empty()).collect::<Vec<_>>().join("·")
            };
            let (numerator, denominator) =
                (units(gpu_counter_spec::NUMERATOR_UNITS), units(gpu_counter_spec::DENOMINATOR_UNITS));
            let unit = if denominator.is_empty() { numerator } else { format!("{numerator}/{denominator}") };
            let counter = spec.number(gpu_counter_spec::COUNTER_ID);
            let name = spec.text(gpu_counter_spec::NAME);
            let name = if name.is_empty() { format!("GPU counter {counter}").into() } else { name.into() };
            let described = GpuCounter { name, unit: unit.into() };
            if has_room(&self.state.devices.gpu.counters, &(scope, counter), GPU_ENTRIES_MAX) {
                self.state.devices.gpu.counters.insert((scope, counter), described);
            } else {
                self.batch.lose(Loss::OverLimit, self.pos);
            }
        }
    }

    /// Returns the scope of the counter ids of a packet: 0 for the whole trace, else the interned descriptor.
    fn counter_scope(&mut self, bytes: &[u8]) -> Option<u64> {
        let Some(iid) = bytes.value(gpu_counter_event::COUNTER_DESCRIPTOR_IID).map(ProtoValue::number) else {
            return Some(0);
        };
        let descriptor = self.texts.and_then(|texts| texts.gpu_counters.get(iid))?;
        let scope = xxh3_64(descriptor) | 1;
        if self.state.devices.gpu.scopes.insert(scope) {
            self.add_counters(scope, descriptor);
        }
        Some(scope)
    }

    /// Adds counter values. A value covers the time since the previous sample, so it is shown from that sample on.
    pub(super) fn gpu_counters(&mut self, ts_ns: i64, bytes: &[u8]) {
        let Some(scope) = self.counter_scope(bytes) else {
            return self.batch.lose(Loss::MissingState, self.pos);
        };
        let gpu = bytes.number(gpu_counter_event::GPU_ID);
        for counter in bytes.repeated(gpu_counter_event::COUNTERS) {
            let id = counter.number(gpu_counter::COUNTER_ID);
            let value = counter.value(gpu_counter::INT_VALUE).map(|value| value.signed() as f64);
            let value = value.or_else(|| counter.value(gpu_counter::DOUBLE_VALUE).map(ProtoValue::double));
            let Some(value) = value.filter(|value| value.is_finite()) else {
                self.batch.lose(Loss::BadCounter, self.pos);
                continue;
            };
            let Some(described) = self.state.devices.gpu.counters.get(&(scope, id)) else {
                self.batch.lose(Loss::MissingState, self.pos);
                continue;
            };
            let name = if gpu == 0 { described.name.to_string() } else { format!("{} (GPU {gpu})", described.name) };
            let track = self.tracks.named_counter(Id::None, &name, &described.unit);
            self.tracks.mark_as_gpu(track);
            let sample = PreviousSample { ts_ns, value, is_first: false };
            if let Some(previous) = self.state.devices.gpu.samples.insert(track, sample) {
                self.push_counter(previous.ts_ns, track, value);
            } else {
                let first = PreviousSample { is_first: true, ..sample };
                self.state.devices.gpu.samples.insert(track, first);
            }
        }
    }

    /// Ends the values of GPU counters at their last samples. The only sample of a counter is shown at its own time.
    pub(super) fn finish_gpu_counters(&mut self) {
        let samples = std::mem::take(&mut self.state.devices.gpu.samples);
        let mut samples: Vec<(TrackNumber, PreviousSample)> = samples.into_iter().collect();
        samples.sort_unstable_by_key(|&(TrackNumber(number), _)| number);
        for (track, PreviousSample { ts_ns, value, is_first }) in samples {
            self.push_counter(ts_ns, track, if is_first { value } else { 0.0 });
        }
    }

    /// Adds the queues and stages that old packets number in order. Returns whether the packet has any.
    pub(super) fn describe_stages(&mut self, bytes: &[u8]) -> bool {
        let Some(specifications) = bytes.content(render_stage::SPECIFICATIONS) else {
            return false;
        };
        let names = |kind| -> Vec<Box<str>> {
            let described = specifications.repeated(kind).take(GPU_ENTRIES_MAX);
            described.map(|described| described.text(render_stage_description::NAME).into()).collect()
        };
        let devices = &mut self.state.devices;
        devices.gpu.queues = names(gpu_stage_specifications::HW_QUEUE);
        devices.gpu.stages = names(gpu_stage_specifications::STAGE);
        if let Some(context) = specifications.content(gpu_stage_specifications::CONTEXT_SPEC) {
            devices.gpu.context = Some((context.number(context_spec::CONTEXT), context.signed(context_spec::PID)));
        }
        true
    }

    /// Adds a stage to the track of its hardware queue.
    pub(super) fn render_stage(&mut self, ts_ns: i64, bytes: &[u8]) {
        let has_event = bytes.value(render_stage::EVENT_ID).is_some() || bytes.value(render_stage::DURATION).is_some();
        if bytes.value(render_stage::SPECIFICATIONS).is_some() && !has_event {
            return;
        }
        let interned = |iid: FieldNumber| {
            let iid = bytes.value(iid)?.number();
            self.texts.and_then(|texts| texts.gpu_specifications.get(iid)).map(|spec| &**spec)
        };
        let numbered = |names: &[Box<str>], field| {
            let index = usize::try_from(bytes.number(field)).ok();
            index.and_then(|index| names.get(index)).map(ToString::to_string)
        };
        let devices = &self.state.devices;
        let queue = interned(render_stage::HW_QUEUE_IID).map(|name| String::from_utf8_lossy(name).into_owned());
        let queue = queue.or_else(|| numbered(&devices.gpu.queues, render_stage::HW_QUEUE_ID));
        let queue = queue.unwrap_or_else(|| {
            let iid = bytes.value(render_stage::HW_QUEUE_IID).map(ProtoValue::number);
            format!("GPU queue {}", iid.unwrap_or_else(|| bytes.number(render_stage::HW_QUEUE_ID)))
        });
        let own_name = bytes.content(render_stage::NAME);
        let own_name = own_name.or_else(|| {
            let iid = bytes.value(render_stage::NAME_IID)?.number();
            self.texts.and_then(|texts| texts.names.get(iid)).map(|name| &**name)
        });
        let stage = interned(render_stage::STAGE_IID);
        let stage = own_name.or(stage).map(|name| String::from_utf8_lossy(name).into_owned());
        let stage = stage.or_else(|| numbered(&devices.gpu.stages, render_stage::STAGE_ID));
        let stage = stage.unwrap_or_else(|| {
            let iid = bytes.value(render_stage::STAGE_IID).map(ProtoValue::number);
            format!("render stage({})", iid.unwrap_or_else(|| bytes.number(render_stage::STAGE_ID)))
        });
        self.write_stage_args(bytes);
        let gpu = bytes.number(render_stage::GPU_ID);
        let queue = if gpu == 0 { queue } else { format!("{queue} (GPU {gpu})") };
        if let Some(dur_ns) = bytes.value(render_stage::DURATION).map(ProtoValue::number) {
            let track = self.overlapping_track(Id::None, &queue);
            self.tracks.mark_as_gpu(track);
            self.state.devices.gpu.stages_seen += 1;
            let id = async_id("stage", &[self.state.devices.gpu.stages_seen]);
            self.push_async((ts_ns, dur_ns), track, (&stage, "gpu"), id);
        } else {
            let track = self.gpu_track(&queue);
            self.push_message(ts_ns, track, stage.as_bytes(), Some(b"gpu"));
        }
    }

    fn write_stage_args(&mut self, bytes: &[u8]) {
        let context = bytes.number(render_stage::CONTEXT);
        let pid = self.texts.and_then(|texts| texts.gpu_contexts.get(context).copied());
        let devices = &self.state.devices;
        let pid = pid.or_else(|| devices.gpu.context.filter(|&(known, _)| known == context).map(|(_, pid)| pid));
        let args = &mut self.state.args;
        args.clear();
        write_args(args, bytes, STAGE_ARGS);
        if let Some(pid) = pid {
            args.signed("pid", pid);
        }
        for &(field, key) in NAMED_HANDLES {
            let handle = bytes.number(field);
            if let Some(name) = devices.gpu.vulkan_objects.get(&handle).filter(|_| handle != 0) {
                args.text(key, name.as_bytes());
            }
        }
        for data in bytes.repeated(render_stage::EXTRA_DATA) {
            let key = data.text(render_stage_data::NAME);
            args.text(&key, data.content(render_stage_data::VALUE).unwrap_or_default());
        }
    }

    /// Adds the name of a Vulkan object. Returns whether the packet has one.
    pub(super) fn name_object(&mut self, bytes: &[u8]) -> bool {
        let Some(named) = bytes.content(vulkan_api_event::VK_DEBUG_UTILS_OBJECT_NAME) else {
            return false;
        };
        let objects = &mut self.state.devices.gpu.vulkan_objects;
        let object = named.number(vulkan_object_name::OBJECT);
        if has_room(objects, &object, GPU_ENTRIES_MAX) {
            objects.insert(object, named.text(vulkan_object_name::OBJECT_NAME).into());
        } else {
            self.batch.lose(Loss::OverLimit, self.pos);
        }
        true
    }

    /// Adds an allocation or a binding of Vulkan's memory to the counter of its scope or type.
    pub(super) fn vulkan_memory(&mut self, ts_ns: i64, bytes: &[u8]) {
        let number = |field| bytes.number(field);
        let scope = || enum_name(number(vulkan_memory::ALLOCATION_SCOPE), SCOPES).unwrap_or("UNSPECIFIED");
        let memory_type = number(vulkan_memory::MEMORY_TYPE);
        let (name, key) = match number(vulkan_memory::SOURCE) {
            vulkan_memory_source::SOURCE_DRIVER => {
                (format!("vulkan.mem.driver.scope.{}", scope()), number(vulkan_memory::MEMORY_ADDRESS))
            }
            vulkan_memory_source::SOURCE_DEVICE_MEMORY => (
                format!("vulkan.mem.device.memory.type.{memory_type}.allocation"),
                number(vulkan_memory::DEVICE_MEMORY),
            ),
            vulkan_memory_source::SOURCE_BUFFER | vulkan_memory_source::SOURCE_IMAGE => {
                (format!("vulkan.mem.device.memory.type.{memory_type}.bind"), number(vulkan_memory::OBJECT_HANDLE))
            }
            _ => return self.batch.lose(Loss::IgnoredPacket, self.pos),
        };
        let pid = number(vulkan_memory::PID);
        let process = self.tracks.process_now(pid.cast_signed());
        let devices = &mut self.state.devices;
        let key = (pid, xxh3_64(name.as_bytes()), key);
        let change = match number(vulkan_memory::OPERATION) {
            // A buffer or an image takes memory when it is bound, and gives it back when it is destroyed.
            vulkan_memory_operation::OP_CREATE
                if number(vulkan_memory::SOURCE) == vulkan_memory_source::SOURCE_BUFFER
                    || number(vulkan_memory::SOURCE) == vulkan_memory_source::SOURCE_IMAGE =>
            {
                return self.batch.lose(Loss::IgnoredPacket, self.pos);
            }
            vulkan_memory_operation::OP_CREATE | vulkan_memory_operation::OP_BIND => {
                if !has_room(&devices.gpu.vulkan_memory, &key, GPU_ENTRIES_MAX) {
                    return self.batch.lose(Loss::OverLimit, self.pos);
                }
                let size = number(vulkan_memory::MEMORY_SIZE);
                let before = devices.gpu.vulkan_memory.insert(key, size).unwrap_or(0);
                i128::from(size) - i128::from(before)
            }
            vulkan_memory_operation::OP_DESTROY | vulkan_memory_operation::OP_DESTROY_BOUND => {
                // Memory that was allocated before the recording is not in the sum.
                let Some(size) = devices.gpu.vulkan_memory.remove(&key) else {
                    return self.batch.lose(Loss::IgnoredPacket, self.pos);
                };
                -i128::from(size)
            }
            _ => return self.batch.lose(Loss::IgnoredPacket, self.pos),
        };
        let total = devices.gpu.vulkan_totals.entry((pid, key.1)).or_default();
        *total = total.saturating_add(change);
        let total = *total as f64;
        let track = self.tracks.named_counter(process, &name, "bytes");
        self.push_counter(ts_ns, track, total);
    }

    /// Adds a submission of command buffers to the track of its process.
    pub(super) fn vulkan(&mut self, ts_ns: i64, bytes: &[u8]) {
        let Some(submit) = bytes.content(vulkan_api_event::VK_QUEUE_SUBMIT) else {
            return self.batch.lose(Loss::IgnoredPacket, self.pos);
        };
        let pid = self.tracks.process_now(submit.signed(vulkan_submit::PID));
        let track = self.overlapping_track(pid, "Vulkan Events");
        let args = &mut self.state.args;
        args.clear();
        let table = [
            PacketArg("pid", vulkan_submit::PID, Unsigned),
            PacketArg("tid", vulkan_submit::TID, Unsigned),
            PacketArg("vk_queue", vulkan_submit::VK_QUEUE, Unsigned),
            PacketArg("submission_id", vulkan_submit::SUBMISSION_ID, Unsigned),
        ];
        write_args(args, submit, &table);
        let dur_ns = submit.number(vulkan_submit::DURATION_NS);
        self.state.devices.gpu.stages_seen += 1;
        let id = async_id("submit", &[self.state.devices.gpu.stages_seen]);
        self.push_async((ts_ns, dur_ns), track, ("vkQueueSubmit", "gpu"), id);
    }
}

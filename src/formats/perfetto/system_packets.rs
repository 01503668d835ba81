//! Selects the decoder of a packet about the system: the kernel, its devices, and its logs.

use super::clocks::Time;
use super::fields::trace_packet as packet;
use super::ftrace::SystemEventBuilder;
use crate::formats::protobuf::numbers::FieldNumber;

impl SystemEventBuilder<'_> {
    /// Decodes a packet. Returns false if packets of this kind are not about the system.
    pub(super) fn packet(&mut self, kind: FieldNumber, time: Option<Time>, bytes: &[u8]) -> bool {
        match kind {
            packet::ANDROID_LOG => self.android_log(bytes),
            packet::STATSD_ATOM => self.statsd_atoms(time, bytes),
            packet::JOURNALD_EVENT => self.at(time, |this, ts_ns| this.journal_message(ts_ns, bytes)),
            packet::TRIGGER | packet::CHROME_TRIGGER | packet::CLONE_SNAPSHOT_TRIGGER => {
                self.at(time, |this, ts_ns| this.trigger(kind, ts_ns, bytes));
            }
            packet::ETW_EVENTS => self.etw_bundle(bytes),
            packet::BATTERY => self.at(time, |this, ts_ns| this.battery(ts_ns, bytes)),
            packet::POWER_RAILS => self.power_rails(time, bytes),
            packet::SYS_STATS => self.at(time, |this, ts_ns| this.sys_stats(ts_ns, bytes)),
            packet::INITIAL_DISPLAY_STATE => self.at(time, |this, ts_ns| this.display_state(ts_ns, bytes)),
            packet::PROCESS_STATS => self.at(time, |this, ts_ns| this.process_stats(ts_ns, bytes)),
            packet::FRAME_TIMELINE_EVENT | packet::GRAPHICS_FRAME_EVENT => {
                self.at(time, |this, ts_ns| this.frame(kind, ts_ns, bytes));
            }
            packet::GENERIC_KERNEL_TASK_STATE_EVENT
            | packet::GENERIC_KERNEL_CPU_FREQ_EVENT
            | packet::GENERIC_KERNEL_TASK_RENAME_EVENT => {
                self.at(time, |this, ts_ns| this.generic_kernel(kind, ts_ns, bytes));
            }
            packet::GPU_COUNTER_EVENT => {
                let describes = self.describe_counters(bytes);
                self.at_unless(describes, time, |this, ts_ns| this.gpu_counters(ts_ns, bytes));
            }
            packet::GPU_RENDER_STAGE_EVENT => {
                let describes = self.describe_stages(bytes);
                self.at_unless(describes, time, |this, ts_ns| this.render_stage(ts_ns, bytes));
            }
            packet::VULKAN_API_EVENT => {
                if !self.name_object(bytes) {
                    self.at(time, |this, ts_ns| this.vulkan(ts_ns, bytes));
                }
            }
            packet::VULKAN_MEMORY_EVENT => self.at(time, |this, ts_ns| this.vulkan_memory(ts_ns, bytes)),
            packet::GPU_LOG => self.at(time, |this, ts_ns| this.gpu_log(ts_ns, bytes)),
            packet::GPU_MEM_TOTAL_EVENT => self.at(time, |this, ts_ns| this.gpu_memory(ts_ns, bytes)),
            packet::GENERIC_GPU_FREQUENCY_EVENT => self.at(time, |this, ts_ns| this.gpu_frequency(ts_ns, bytes)),
            packet::ANDROID_SYSTEM_PROPERTY => self.at(time, |this, ts_ns| this.properties(ts_ns, bytes)),
            packet::CPU_PER_UID_DATA => self.at(time, |this, ts_ns| this.times_of_uids(ts_ns, bytes)),
            packet::ANDROID_ENERGY_ESTIMATION_BREAKDOWN => {
                let describes = self.describe_consumers(bytes);
                self.at_unless(describes, time, |this, ts_ns| this.energy(ts_ns, bytes));
            }
            packet::ENTITY_STATE_RESIDENCY => {
                let describes = self.describe_states(bytes);
                self.at_unless(describes, time, |this, ts_ns| this.residencies(ts_ns, bytes));
            }
            packet::NETWORK_PACKET => self.at(time, |this, ts_ns| this.network_packet(ts_ns, bytes)),
            packet::NETWORK_PACKET_BUNDLE => self.at(time, |this, ts_ns| this.network_bundle(ts_ns, bytes)),
            packet::APP_WAKELOCK_BUNDLE => self.at(time, |this, ts_ns| this.app_wakelocks(ts_ns, bytes)),
            packet::KERNEL_WAKELOCK_DATA => self.at(time, |this, ts_ns| this.kernel_wakelocks(ts_ns, bytes)),
            _ => return false,
        }
        true
    }

    /// Decodes a packet with its time. A packet without a usable time is a loss.
    fn at(&mut self, time: Option<Time>, decode: impl FnOnce(&mut Self, i64)) {
        if let Some(ts_ns) = self.usable(time.unwrap_or(Time::Bad)) {
            decode(self, ts_ns);
        }
    }

    /// Like [`Self::at`], for a packet that needs no time if it describes something for later packets.
    fn at_unless(&mut self, describes: bool, time: Option<Time>, decode: impl FnOnce(&mut Self, i64)) {
        if time.is_some() || !describes {
            self.at(time, decode);
        }
    }
}

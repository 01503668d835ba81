//! Memory use of processes, from `rss_stat` events. An event about another process than the running one has only an
//! id of the address space. It belongs to the process that last reported this address space itself.

use super::ftrace::SystemEventBuilder;
use super::kernel_fields::{ftrace_event, rss_event, rss_throttled_event};
use super::kernel_names::KernelEvent;
use crate::formats::protobuf::decode::ProtoValue;
use crate::formats::protobuf::message::ProtoMessage as _;
use crate::model::{Id, Loss};

/// Limit for remembered address spaces; systems have fewer processes.
const SPACES_MAX: usize = 1 << 18;

/// Kinds of memory, by kernel number.
const MEMBERS: [&str; 4] = ["mem.rss.file", "mem.rss.anon", "mem.swap", "mem.rss.shmem"];

impl SystemEventBuilder<'_> {
    /// Adds the counter value of an `rss_stat` event.
    pub(super) fn rss(&mut self, ts_ns: i64, event: &KernelEvent<'_>) {
        let (member, size, is_current, space) = match event.number {
            ftrace_event::RSS_STAT => (rss_event::MEMBER, rss_event::SIZE, rss_event::CURR, rss_event::MM_ID),
            _ => (
                rss_throttled_event::MEMBER,
                rss_throttled_event::SIZE,
                rss_throttled_event::CURR,
                rss_throttled_event::MM_ID,
            ),
        };
        let field_value = |field| event.bytes.value(field);
        let member = usize::try_from(field_value(member).map_or(0, ProtoValue::number)).ok();
        let Some(&name) = member.and_then(|member| MEMBERS.get(member)) else {
            return self.batch.lose(Loss::BadRecord, self.pos);
        };
        let own_pid = self.pid_of(event.tid);
        let pid = match (field_value(is_current).map(ProtoValue::number), field_value(space).map(ProtoValue::number)) {
            (Some(0), Some(space)) => match self.state.spaces.get(&space) {
                Some(&pid) => pid,
                // The process of the address space is unknown.
                None => return self.batch.lose(Loss::IgnoredPacket, self.pos),
            },
            (_, Some(space)) => {
                if self.state.spaces.len() >= SPACES_MAX {
                    self.state.spaces.clear();
                }
                self.state.spaces.insert(space, own_pid);
                own_pid
            }
            // Kernels before 5.4 record no address space.
            (_, None) => own_pid,
        };
        // The kernel adds per-CPU counts, so the sum may briefly be negative.
        let bytes = field_value(size).map_or(0, ProtoValue::signed).max(0);
        let track = self.tracks.named_counter(Id::Number(pid), name, "bytes");
        self.push_counter(ts_ns, track, bytes as f64);
    }
}

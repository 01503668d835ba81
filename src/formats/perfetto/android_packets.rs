//! Packets of Android's services: energy and processor time of apps, power states, properties, wakelocks and network
//! packets.

use super::ftrace::SystemEventBuilder;
use super::limits::has_room;
use super::packet_events::ArgForm::{Bits, Known, Text, Unsigned};
use super::packet_events::{PacketArg, async_id, write_args};
use super::packet_fields::kernel_wakelock_type;
use super::packet_fields::{
    energy_breakdown, energy_consumer, energy_descriptor, energy_of_uid, entity_residency, kernel_wakelock,
    kernel_wakelock_data, network_bundle, network_event, power_entity_state, property, property_value, state_residency,
    traffic_direction, uid_times, wakelock_bundle, wakelock_info,
};
use crate::formats::protobuf::decode::ProtoValue;
use crate::formats::protobuf::message::ProtoMessage as _;
use crate::model::{Id, Loss};

/// Limit for apps, energy consumers, power states and wakelocks; phones have several hundred.
const ANDROID_ENTRIES_MAX: usize = 1 << 16;

/// First uid of an app; lower uids belong to the system.
const FIRST_APP_UID: u64 = 10_000;

/// Properties that Android sets for a trace, each with the counter or track on which atrace markers continue.
const PROPERTIES: &[(&str, &str)] = &[
    ("debug.tracing.screen_state", "ScreenState"),
    ("debug.tracing.screen_brightness", "ScreenBrightness"),
    ("debug.tracing.device_state", "DeviceStateChanged"),
    ("debug.tracing.battery_status", "BatteryStatus"),
    ("debug.tracing.plug_type", "PlugType"),
];

/// The property whose values are texts.
const TEXT_PROPERTY: &str = "debug.tracing.device_state";

/// Transport protocols by their number in IP.
const TRANSPORTS: &[(u64, &str)] = &[(1, "ICMP"), (6, "TCP"), (17, "UDP"), (50, "ESP"), (58, "ICMPv6")];

const TCP_FLAGS: &[(u64, &str)] = &[
    (0x1, "FIN"),
    (0x2, "SYN"),
    (0x4, "RST"),
    (0x8, "PSH"),
    (0x10, "ACK"),
    (0x20, "URG"),
    (0x40, "ECE"),
    (0x80, "CWR"),
];

const NETWORK_ARGS: &[PacketArg] = &[
    PacketArg("packet_transport", network_event::IP_PROTO, Known(TRANSPORTS)),
    PacketArg("socket_uid", network_event::UID, Unsigned),
    PacketArg("socket_tag", network_event::TAG, Unsigned),
    PacketArg("local_port", network_event::LOCAL_PORT, Unsigned),
    PacketArg("remote_port", network_event::REMOTE_PORT, Unsigned),
    PacketArg("packet_tcp_flags", network_event::TCP_FLAGS, Bits(TCP_FLAGS)),
    PacketArg("packet_icmp_type", network_event::ICMP_TYPE, Unsigned),
    PacketArg("packet_icmp_code", network_event::ICMP_CODE, Unsigned),
];

impl SystemEventBuilder<'_> {
    /// Adds the values of properties. Known ones share the counters and tracks of atrace markers; others are instants.
    pub(super) fn properties(&mut self, ts_ns: i64, bytes: &[u8]) {
        for set in bytes.repeated(property::VALUES) {
            let (name, value) = (set.text(property_value::NAME), set.text(property_value::VALUE));
            let known = PROPERTIES.iter().find(|(property, _)| *property == name).map(|&(_, shown)| shown);
            match (known, value.trim().parse::<f64>().ok().filter(|value| value.is_finite())) {
                (Some(track), _) if name == TEXT_PROPERTY => {
                    self.state.args.clear();
                    let track = self.global_track(track);
                    self.push_message(ts_ns, track, value.as_bytes(), None);
                }
                (Some(counter), Some(value)) => self.push_global(ts_ns, (counter, ""), value),
                _ => {
                    self.state.args.clear();
                    self.state.args.text("value", value.as_bytes());
                    let track = self.global_track("System Properties");
                    self.push_message(ts_ns, track, name.as_bytes(), None);
                }
            }
        }
    }

    /// Adds the processor time of each app on each cluster. The first value is absolute, later ones are differences.
    pub(super) fn times_of_uids(&mut self, ts_ns: i64, bytes: &[u8]) {
        if let Some(clusters) = bytes.value(uid_times::CLUSTER_COUNT).map(ProtoValue::number) {
            self.state.devices.clusters = usize::try_from(clusters).unwrap_or(usize::MAX).min(ANDROID_ENTRIES_MAX);
        }
        let uids: Vec<u64> = bytes.numbers(uid_times::UID).collect();
        let times: Vec<u64> = bytes.numbers(uid_times::TOTAL_TIME_MS).collect();
        let clusters = self.state.devices.clusters;
        if clusters == 0 || uids.len().checked_mul(clusters) != Some(times.len()) {
            return self.batch.lose(Loss::MissingState, self.pos);
        }
        let mut is_added = [vec![false; clusters], vec![false; clusters]];
        for (&uid, times) in uids.iter().zip(times.chunks(clusters)) {
            for (cluster, &time) in times.iter().enumerate() {
                let known = &mut self.state.devices.uid_times;
                if !has_room(known, &(uid, cluster), ANDROID_ENTRIES_MAX) {
                    return self.batch.lose(Loss::OverLimit, self.pos);
                }
                let is_first = !known.contains_key(&(uid, cluster));
                let total = known.entry((uid, cluster)).or_default();
                *total = total.saturating_add(time);
                let total = *total;
                let kind = usize::from(uid >= FIRST_APP_UID);
                is_added[kind][cluster] |= true;
                if is_first || time != 0 {
                    self.push_global(ts_ns, (&format!("CPU for UID {uid} CL{cluster}"), "ms"), total as f64);
                }
                if !is_first {
                    let sums = self.state.devices.uid_sums.entry((kind, cluster)).or_default();
                    *sums = sums.saturating_add(time);
                }
            }
        }
        for (kind, name) in ["System", "Apps"].into_iter().enumerate() {
            for cluster in (0..clusters).filter(|&cluster| is_added[kind][cluster]) {
                let sum = self.state.devices.uid_sums.get(&(kind, cluster)).copied().unwrap_or(0);
                self.push_global(ts_ns, (&format!("CPU for {name} CL{cluster}"), "ms"), sum as f64);
            }
        }
    }

    /// Adds the names of energy consumers. Returns whether the packet has any.
    pub(super) fn describe_consumers(&mut self, bytes: &[u8]) -> bool {
        let Some(descriptor) = bytes.content(energy_breakdown::ENERGY_CONSUMER_DESCRIPTOR) else {
            return false;
        };
        for consumer in descriptor.repeated(energy_descriptor::ENERGY_CONSUMERS) {
            let consumers = &mut self.state.devices.consumers;
            let id = consumer.number(energy_consumer::ENERGY_CONSUMER_ID);
            if has_room(consumers, &id, ANDROID_ENTRIES_MAX) {
                consumers.insert(id, consumer.text(energy_consumer::NAME).into());
            } else {
                self.batch.lose(Loss::OverLimit, self.pos);
            }
        }
        true
    }

    /// Adds the energy of a consumer, and its parts by app.
    pub(super) fn energy(&mut self, ts_ns: i64, bytes: &[u8]) {
        let Some(energy) = bytes.value(energy_breakdown::ENERGY_UWS).map(ProtoValue::signed) else { return };
        let consumer = bytes.number(energy_breakdown::ENERGY_CONSUMER_ID);
        let name = self.state.devices.consumers.get(&consumer).map(ToString::to_string);
        let name = name.filter(|name| !name.is_empty()).unwrap_or_else(|| format!("energy consumer {consumer}"));
        self.push_global(ts_ns, (&name, "µWs"), energy as f64);
        for part in bytes.repeated(energy_breakdown::PER_UID_BREAKDOWN) {
            let name = format!("{name} UID {}", part.signed(energy_of_uid::UID));
            self.push_global(ts_ns, (&name, "µWs"), part.signed(energy_of_uid::ENERGY_UWS) as f64);
        }
    }

    /// Adds the names of the power states of entities. Returns whether the packet has any.
    pub(super) fn describe_states(&mut self, bytes: &[u8]) -> bool {
        let mut has_any = false;
        for state in bytes.repeated(entity_residency::POWER_ENTITY_STATE) {
            has_any = true;
            let states = &mut self.state.devices.entity_states;
            let (entity, name) =
                (state.text(power_entity_state::ENTITY_NAME), state.text(power_entity_state::STATE_NAME));
            let key = (state.number(power_entity_state::ENTITY_INDEX), state.number(power_entity_state::STATE_INDEX));
            if has_room(states, &key, ANDROID_ENTRIES_MAX) {
                states.insert(key, format!("Entity residency: {entity} is {name}").into());
            } else {
                self.batch.lose(Loss::OverLimit, self.pos);
            }
        }
        has_any
    }

    /// Adds the time that each entity was in each state.
    pub(super) fn residencies(&mut self, ts_ns: i64, bytes: &[u8]) {
        for residency in bytes.repeated(entity_residency::RESIDENCY) {
            let key = (residency.number(state_residency::ENTITY_INDEX), residency.number(state_residency::STATE_INDEX));
            let Some(name) = self.state.devices.entity_states.get(&key).cloned() else {
                self.batch.lose(Loss::MissingState, self.pos);
                continue;
            };
            let ms = residency.number(state_residency::TOTAL_TIME_IN_STATE_MS);
            self.push_global(ts_ns, (&name, "ms"), ms as f64);
        }
    }

    pub(super) fn network_packet(&mut self, ts_ns: i64, bytes: &[u8]) {
        self.network_packets((ts_ns, 0), bytes, (1, bytes.number(network_event::LENGTH)));
    }

    /// Adds the packets of a bundle, which share a context: each at its time, or their sum.
    pub(super) fn network_bundle(&mut self, ts_ns: i64, bytes: &[u8]) {
        let own = bytes.content(network_bundle::CTX);
        let interned = bytes.value(network_bundle::IID).map(ProtoValue::number);
        let interned = interned.and_then(|iid| self.texts?.network_contexts.get(iid));
        let Some(context) = own.or(interned.map(|context| &**context)) else {
            return self.batch.lose(Loss::MissingState, self.pos);
        };
        if let Some(count) = bytes.value(network_bundle::TOTAL_PACKETS).map(ProtoValue::number) {
            let dur_ns = bytes.number(network_bundle::TOTAL_DURATION);
            let length = bytes.number(network_bundle::TOTAL_LENGTH);
            return self.network_packets((ts_ns, dur_ns), context, (count, length));
        }
        let lengths = bytes.numbers(network_bundle::PACKET_LENGTHS).chain(std::iter::repeat(0));
        for (later_ns, length) in bytes.numbers(network_bundle::PACKET_TIMESTAMPS).zip(lengths) {
            match ts_ns.checked_add_unsigned(later_ns) {
                Some(ts_ns) => self.network_packets((ts_ns, 0), context, (1, length)),
                None => self.batch.lose(Loss::BadTime, self.pos),
            }
        }
    }

    /// Adds packets of one direction of a network interface, named by the app that owns their socket.
    fn network_packets(&mut self, (ts_ns, dur_ns): (i64, u64), context: &[u8], (count, length): (u64, u64)) {
        let direction = match context.number(network_event::DIRECTION) {
            traffic_direction::DIR_INGRESS => "Received",
            traffic_direction::DIR_EGRESS => "Transmitted",
            _ => "DIR_UNKNOWN",
        };
        let name = format!("uid={}", context.number(network_event::UID));
        let track = format!("{} {direction}", context.text(network_event::NETWORK_INTERFACE));
        let args = &mut self.state.args;
        args.clear();
        args.number("packet_length", length);
        args.number("packet_count", count);
        write_args(args, context, NETWORK_ARGS);
        if dur_ns == 0 {
            let track = self.global_track(&track);
            return self.push_message(ts_ns, track, name.as_bytes(), Some(b"network"));
        }
        let track = self.overlapping_track(Id::None, &track);
        self.state.devices.bundles_seen += 1;
        let id = async_id("network", &[self.state.devices.bundles_seen]);
        self.push_async((ts_ns, dur_ns), track, (&name, "network"), id);
    }

    /// Adds the wakelocks that apps acquire and release. Each is a span of its owner.
    pub(super) fn app_wakelocks(&mut self, ts_ns: i64, bytes: &[u8]) {
        let (iids, times) = (bytes.numbers(wakelock_bundle::INTERN_ID), bytes.numbers(wakelock_bundle::ENCODED_TS));
        for (iid, encoded) in iids.zip(times) {
            let Some(info) = self.texts.and_then(|texts| texts.wakelocks.get(iid)) else {
                self.batch.lose(Loss::MissingState, self.pos);
                continue;
            };
            // The lowest bit is 1 for an acquisition.
            let (later_ns, is_acquired) = (encoded >> 1, encoded & 1 != 0);
            let Some(ts_ns) = ts_ns.checked_add_unsigned(later_ns) else {
                self.batch.lose(Loss::BadTime, self.pos);
                continue;
            };
            let tag = info.text(wakelock_info::TAG);
            let owner = info.number(wakelock_info::OWNER_PID);
            let pid = self.tracks.process_now(info.signed(wakelock_info::OWNER_PID));
            let track = self.overlapping_track(pid, "Wakelocks");
            let id = async_id(&tag, &[owner, info.number(wakelock_info::FLAGS)]);
            let args = &mut self.state.args;
            args.clear();
            if !is_acquired {
                self.end_async(ts_ns, track, id);
                continue;
            }
            let table = [
                PacketArg("flags", wakelock_info::FLAGS, Unsigned),
                PacketArg("owner_pid", wakelock_info::OWNER_PID, Unsigned),
                PacketArg("owner_uid", wakelock_info::OWNER_UID, Unsigned),
                PacketArg("work_uid", wakelock_info::WORK_UID, Unsigned),
                PacketArg("tag", wakelock_info::TAG, Text),
            ];
            write_args(args, info, &table);
            self.begin_async(ts_ns, track, (&tag, "wakelock"), id);
        }
    }

    /// Adds the time that each wakelock of the kernel was held. The first value is absolute, later ones are
    /// differences.
    pub(super) fn kernel_wakelocks(&mut self, ts_ns: i64, bytes: &[u8]) {
        for wakelock in bytes.repeated(kernel_wakelock_data::WAKELOCK) {
            let is_native =
                wakelock.number(kernel_wakelock::WAKELOCK_TYPE) == kernel_wakelock_type::WAKELOCK_TYPE_NATIVE;
            let kind = if is_native { "Native" } else { "Kernel" };
            let name = wakelock.text(kernel_wakelock::WAKELOCK_NAME);
            let known = &mut self.state.devices.kernel_wakelocks;
            let id = wakelock.number(kernel_wakelock::WAKELOCK_ID);
            if has_room(known, &id, ANDROID_ENTRIES_MAX) {
                known.insert(id, (format!("Wakelock {name} ({kind})").into(), 0));
            } else {
                self.batch.lose(Loss::OverLimit, self.pos);
            }
        }
        for (id, ms) in
            bytes.numbers(kernel_wakelock_data::WAKELOCK_ID).zip(bytes.numbers(kernel_wakelock_data::TIME_HELD_MILLIS))
        {
            let Some((name, total)) = self.state.devices.kernel_wakelocks.get_mut(&id) else {
                self.batch.lose(Loss::MissingState, self.pos);
                continue;
            };
            *total = total.saturating_add(ms);
            let (name, total) = (name.clone(), *total);
            self.push_global(ts_ns, (&name, "ms"), total as f64);
        }
    }
}

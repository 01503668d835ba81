//! Network events of the kernel. Each device has counters of received and sent data, and each TCP connection has a
//! track with its states as spans.

use super::ftrace::SystemEventBuilder;
use super::kernel_fields::{ftrace_event, net_device_event, socket_state_event};
use super::kernel_names::KernelEvent;
use super::limits::has_room;
use crate::formats::protobuf::message::ProtoMessage as _;
use crate::model::{Event, EventFlags, EventKind, Id, Loss};

/// Limit for devices and for open connections.
const NETWORK_ENTRIES_MAX: usize = 1 << 16;

const BYTES_PER_KIB: u64 = 1024;

const PROTOCOL_TCP: u64 = 6;

/// TCP states of Linux, by number.
const STATES: [&str; 13] = [
    "",
    "TCP_ESTABLISHED",
    "TCP_SYN_SENT",
    "TCP_SYN_RECV",
    "TCP_FIN_WAIT1",
    "TCP_FIN_WAIT2",
    "TCP_TIME_WAIT",
    "TCP_CLOSE",
    "TCP_CLOSE_WAIT",
    "TCP_LAST_ACK",
    "TCP_LISTEN",
    "TCP_CLOSING",
    "TCP_NEW_SYN_RECV",
];
const ESTABLISHED: u64 = 1;
const SYN_SENT: u64 = 2;
const CLOSED: u64 = 7;

impl KernelEvent<'_> {
    /// Returns whether the event is of a network device or a TCP connection.
    pub(super) fn is_of_network(&self) -> bool {
        matches!(
            self.number,
            ftrace_event::NETIF_RECEIVE_SKB | ftrace_event::NET_DEV_XMIT | ftrace_event::INET_SOCK_SET_STATE
        )
    }
}

impl SystemEventBuilder<'_> {
    pub(super) fn network_event(&mut self, ts_ns: i64, event: &KernelEvent<'_>) {
        match event.number {
            ftrace_event::NETIF_RECEIVE_SKB => self.transfer(ts_ns, event, "Received KB"),
            ftrace_event::NET_DEV_XMIT => self.transfer(ts_ns, event, "Transmitted KB"),
            _ => self.connection(ts_ns, event),
        }
    }

    /// Adds the size of a packet to the counter of its device. Both events have these fields.
    fn transfer(&mut self, ts_ns: i64, event: &KernelEvent<'_>, what: &str) {
        let device = event.bytes.content(net_device_event::NAME).unwrap_or_default();
        let name = format!("{} {what}", String::from_utf8_lossy(device));
        let bytes = &mut self.state.network.bytes;
        if !has_room(bytes, &*name, NETWORK_ENTRIES_MAX) {
            return self.batch.lose(Loss::OverLimit, self.pos);
        }
        let total = bytes.entry(name.as_str().into()).or_default();
        *total = total.saturating_add(event.bytes.number(net_device_event::LEN));
        let kib = *total / BYTES_PER_KIB;
        let args = &mut self.state.args;
        args.clear();
        args.number("cpu", event.cpu);
        args.number("len", event.bytes.number(net_device_event::LEN));
        let track = self.tracks.named_counter(Id::None, &name, "KB");
        self.push_counter_with_args(ts_ns, track, kib as f64);
    }

    /// Ends the state of a TCP connection and begins the next one.
    fn connection(&mut self, ts_ns: i64, event: &KernelEvent<'_>) {
        let number = |field| event.bytes.number(field);
        let state = number(socket_state_event::NEWSTATE);
        let name = usize::try_from(state).ok().and_then(|state| STATES.get(state)).filter(|name| !name.is_empty());
        let (Some(name), PROTOCOL_TCP) = (name, number(socket_state_event::PROTOCOL)) else {
            return self.push_instant(ts_ns, event);
        };
        let network = &mut self.state.network;
        let address = number(socket_state_event::SKADDR);
        let open_connection = network.connections.get(&address).copied();
        let connection = match open_connection {
            Some(connection) => connection,
            // The connection began before the recording.
            None if state == CLOSED => return self.push_instant(ts_ns, event),
            None if network.connections.len() >= NETWORK_ENTRIES_MAX => {
                return self.batch.lose(Loss::OverLimit, self.pos);
            }
            None => {
                network.connections_seen += 1;
                network.connections.insert(address, network.connections_seen);
                network.connections_seen
            }
        };
        let track = self.global_track(&format!("TCP stream#{connection}"));
        if open_connection.is_some() {
            let name = self.batch.name(b"", None, self.pos);
            let flags = EventFlags::UNNAMED;
            self.batch.push(Event { flags, ..Event::new(ts_ns, EventKind::End, track, name) });
        }
        if state == CLOSED {
            self.state.network.connections.remove(&address);
            return;
        }
        let name = match state {
            SYN_SENT => format!("{name}(pid={})", event.tid),
            ESTABLISHED => {
                let (source, destination) = (number(socket_state_event::SPORT), number(socket_state_event::DPORT));
                format!("{name}(sport={source},dport={destination})")
            }
            _ => (*name).to_owned(),
        };
        let name = self.batch.name(name.as_bytes(), Some(b"network"), self.pos);
        self.batch.push(Event::new(ts_ns, EventKind::Begin, track, name));
    }
}

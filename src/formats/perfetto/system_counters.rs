//! System-wide counters in packets of their own: power rails, display, and the counters of [`super::system_stats`].

use super::clocks::{FTRACE_CLOCK, Time};
use super::ftrace::SystemEventBuilder;
use super::limits::has_room;
use super::statistics_fields::{display_state, power_rails, rail_descriptor, rail_energy};
use crate::formats::protobuf::decode::ProtoValue;
use crate::formats::protobuf::message::ProtoMessage as _;
use crate::model::{Id, Loss};

/// Limit for power rails; boards have a few dozen.
const RAILS_MAX: usize = 1 << 16;

const NS_PER_MS: u64 = 1_000_000;

/// Rails of well-known chips, and the components that they feed.
const KNOWN_RAILS: &[(&str, &str)] = &[
    ("S4M_VDD_CPUCL0", "cpu.little"),
    ("S3M_VDD_CPUCL1", "cpu.mid"),
    ("S2M_VDD_CPUCL2", "cpu.big"),
    ("S2S_VDD_G3D", "gpu"),
];

impl SystemEventBuilder<'_> {
    pub(super) fn display_state(&mut self, ts_ns: i64, bytes: &[u8]) {
        if let Some(state) = bytes.value(display_state::DISPLAY_STATE) {
            self.push_global(ts_ns, ("ScreenState", ""), state.signed() as f64);
        }
    }

    /// Handles the names of rails, and adds their cumulative energy since boot in µWs. Rails may have individual times,
    /// so that the time of their packet is an argument.
    pub(super) fn power_rails(&mut self, time: Option<Time>, bytes: &[u8]) {
        let packet_ts_ns = time.filter(|time| !matches!(time, Time::Bad)).and_then(|time| self.usable(time));
        let session = bytes.number(power_rails::SESSION_UUID);
        for described in bytes.repeated(power_rails::RAIL_DESCRIPTOR) {
            let index = described.number(rail_descriptor::INDEX);
            let name = described.text(rail_descriptor::RAIL_NAME);
            let known_rail = KNOWN_RAILS.iter().find(|(rail, _)| *rail == name);
            let name =
                known_rail.map_or_else(|| format!("power.{name}_uws"), |(_, part)| format!("power.rails.{part}"));
            if has_room(&self.state.rails, &(session, index), RAILS_MAX) {
                self.state.rails.insert((session, index), name.into());
            } else {
                self.batch.lose(Loss::OverLimit, self.pos);
            }
        }
        for energy in bytes.repeated(power_rails::ENERGY_DATA) {
            let field_value = |number| energy.value(number).map(ProtoValue::number);
            let own_time = field_value(rail_energy::TIMESTAMP_MS).and_then(|ms| ms.checked_mul(NS_PER_MS));
            let own_time = own_time.map(|ns| self.clocks.time(self.sequence, Some(FTRACE_CLOCK), ns));
            let own_time = own_time.filter(|time| !matches!(time, Time::Bad)).and_then(|time| self.usable(time));
            let ts_ns = own_time.or(packet_ts_ns);
            let rail = field_value(rail_energy::INDEX).unwrap_or(0);
            match (ts_ns, self.state.rails.get(&(session, rail)).cloned()) {
                (Some(ts_ns), Some(name)) => {
                    self.state.args.clear();
                    if let Some(packet_ts_ns) = packet_ts_ns {
                        self.state.args.signed("packet_ts", packet_ts_ns);
                    }
                    let track = self.tracks.named_counter(Id::None, &name, "µWs");
                    let energy = field_value(rail_energy::ENERGY).unwrap_or(0);
                    self.push_counter_with_args(ts_ns, track, energy as f64);
                }
                (None, _) => self.batch.lose(Loss::BadTime, self.pos),
                (_, None) => self.batch.lose(Loss::MissingState, self.pos),
            }
        }
    }
}

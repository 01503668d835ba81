//! Counter settings of the samples in a sequence: the sampled event, its period and its followers. Events sampled by
//! frequency have no period, since the kernel varies it and samples do not record it. Clock events are an exception.

use std::fmt::Write as _;

use super::fields::{follower_event, perf_counter, perf_sample, perf_sample_defaults, perf_tracepoint, timebase};
use super::own_fields::own_sample_defaults;
use crate::formats::output::args::{ArgsWriter, push_quoted};
use crate::formats::protobuf::decode::{Fields, ProtoValue};
use crate::formats::protobuf::message::ProtoMessage as _;
use crate::formats::protobuf::numbers::FieldNumber;

/// Limit for followers of an event; perf refuses larger groups.
const FOLLOWERS_MAX: usize = 64;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Settings shared by the samples of a sequence.
#[derive(Debug, Default)]
pub(super) struct SampleDefaults {
    /// Empty if it is not recorded.
    event: Box<[u8]>,
    period: Option<u64>,
    /// Unit of the period; empty for the unit of its event.
    unit: Box<[u8]>,
    /// Whether the times of the samples only place them side by side.
    pub(super) is_untimed: bool,
    /// Names of the counters read with each sample.
    followers: Vec<Box<[u8]>>,
}

impl SampleDefaults {
    pub(super) fn read(bytes: &[u8]) -> Self {
        let mut defaults = Self::default();
        for field in Fields::new(bytes) {
            match (field.number, field.value) {
                (perf_sample_defaults::TIMEBASE, ProtoValue::Bytes(bytes)) => {
                    (defaults.event, defaults.period) = read_timebase(bytes);
                }
                (own_sample_defaults::PERIOD_UNIT, ProtoValue::Bytes(unit)) => defaults.unit = unit.into(),
                (own_sample_defaults::HAS_NO_TIMES, value) => defaults.is_untimed = value.number() != 0,
                (perf_sample_defaults::FOLLOWERS, ProtoValue::Bytes(bytes))
                    if defaults.followers.len() < FOLLOWERS_MAX =>
                {
                    let numbers = [follower_event::NAME, follower_event::COUNTER, follower_event::TRACEPOINT];
                    defaults.followers.push(event_name(bytes, numbers));
                }
                _ => {}
            }
        }
        defaults
    }

    /// Adds the event, its period and the unit as arguments, with the keys that other readers of samples use.
    pub(super) fn write_measure(&self, args: &mut ArgsWriter) {
        if !self.event.is_empty() {
            args.text("event", &self.event);
        }
        if !self.unit.is_empty() {
            args.text("unit", &self.unit);
        }
        if let Some(period) = self.period {
            args.number("period", period);
        }
    }

    /// Adds the counters of a sample by name. They are cumulative from the start of the recording.
    pub(super) fn write_counts(&self, sample: &[u8], args: &mut ArgsWriter) {
        if let Some(count) = sample.value(perf_sample::TIMEBASE_COUNT) {
            args.number("count", count.number());
        }
        let mut counts = sample.numbers(perf_sample::FOLLOWER_COUNTS);
        let mut is_first = true;
        for name in &self.followers {
            let Some(count) = counts.next() else { break };
            if is_first {
                args.key("", b"followers");
            }
            args.json.push(if is_first { '{' } else { ',' });
            is_first = false;
            push_quoted(&mut args.json, &String::from_utf8_lossy(name));
            let _ = write!(args.json, ":{count}"); // to memory
        }
        if !is_first {
            args.json.push('}');
        }
    }
}

/// Returns name and period of the sampled event.
fn read_timebase(bytes: &[u8]) -> (Box<[u8]>, Option<u64>) {
    let name = event_name(bytes, [timebase::NAME, timebase::COUNTER, timebase::TRACEPOINT]);
    let number = |field: FieldNumber| bytes.value(field).map(ProtoValue::number);
    let counter = Fields::new(bytes).find(|field| field.number == timebase::COUNTER).map(|field| field.value.number());
    let is_time = matches!(counter, Some(perf_counter::SW_CPU_CLOCK | perf_counter::SW_TASK_CLOCK));
    let hertz = number(timebase::FREQUENCY).filter(|&hertz| is_time && hertz > 0);
    let by_frequency = || hertz.map(|hertz| NANOS_PER_SECOND / hertz);
    let period = number(timebase::PERIOD);
    // A sample with a period of 0 counts nothing.
    (name, period.filter(|&period| period > 0).or_else(by_frequency).or(period))
}

/// Returns the name of an event, else of its counter or tracepoint, given the three field numbers.
fn event_name(bytes: &[u8], [own_name, counter, tracepoint]: [FieldNumber; 3]) -> Box<[u8]> {
    let mut name: Box<[u8]> = Box::default();
    for field in Fields::new(bytes) {
        match field.value {
            ProtoValue::Bytes(text) if field.number == own_name => return text.into(),
            ProtoValue::Bytes(message) if field.number == tracepoint => {
                let of_tracepoint = Fields::new(message).find(|field| field.number == perf_tracepoint::NAME);
                name = of_tracepoint.map_or(name, |field| field.value.bytes().into());
            }
            value if field.number == counter => name = counter_name(value.number()).as_bytes().into(),
            _ => {}
        }
    }
    name
}

/// Returns perf's name of a counter.
fn counter_name(counter: u64) -> &'static str {
    match counter {
        perf_counter::SW_CPU_CLOCK => "cpu-clock",
        perf_counter::SW_PAGE_FAULTS => "page-faults",
        perf_counter::SW_TASK_CLOCK => "task-clock",
        perf_counter::SW_CONTEXT_SWITCHES => "context-switches",
        perf_counter::SW_CPU_MIGRATIONS => "cpu-migrations",
        perf_counter::SW_PAGE_FAULTS_MIN => "minor-faults",
        perf_counter::SW_PAGE_FAULTS_MAJ => "major-faults",
        perf_counter::SW_ALIGNMENT_FAULTS => "alignment-faults",
        perf_counter::SW_EMULATION_FAULTS => "emulation-faults",
        perf_counter::HW_CPU_CYCLES => "cycles",
        perf_counter::HW_INSTRUCTIONS => "instructions",
        perf_counter::HW_CACHE_REFERENCES => "cache-references",
        perf_counter::HW_CACHE_MISSES => "cache-misses",
        perf_counter::HW_BRANCH_INSTRUCTIONS => "branches",
        perf_counter::HW_BRANCH_MISSES => "branch-misses",
        perf_counter::HW_BUS_CYCLES => "bus-cycles",
        perf_counter::HW_STALLED_CYCLES_FRONTEND => "stalled-cycles-frontend",
        perf_counter::HW_STALLED_CYCLES_BACKEND => "stalled-cycles-backend",
        perf_counter::HW_REF_CPU_CYCLES => "ref-cycles",
        _ => "unknown counter",
    }
}

//! What a lane of flows keeps of each point beside its time and id, in the bits of a row's detail.

use crate::model::{Event, EventFlags, EventKind};

/// Which part of a flow a point is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlowRole {
    /// It leaves here.
    Start,
    /// It passes through here.
    Step,
    /// It arrives here.
    End,
}

/// A point of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowPoint {
    /// Which part of the flow it is.
    pub role: FlowRole,
    /// Whether an end belongs to the span around it rather than to the next one on its thread.
    pub binds_enclosing: bool,
    /// The depth of the span around it, if there is one.
    pub depth: Option<u16>,
}

const ROLE_MASK: u64 = 3;
const ENCLOSING: u64 = 4;
const DEPTH_SHIFT: u32 = 3;

impl FlowPoint {
    /// The point that an event is, with the depth of the span around it.
    #[must_use]
    pub fn of_event(event: &Event, depth: Option<u16>) -> Self {
        let role = match event.kind {
            EventKind::FlowStart => FlowRole::Start,
            EventKind::FlowEnd => FlowRole::End,
            _ => FlowRole::Step,
        };
        Self { role, binds_enclosing: event.flags.has(EventFlags::BIND_ENCLOSING), depth }
    }

    /// As the detail of a row.
    #[must_use]
    pub fn to_bits(self) -> u64 {
        let enclosing = if self.binds_enclosing { ENCLOSING } else { 0 };
        let depth = self.depth.map_or(0, |depth| u64::from(depth) + 1);
        self.role as u64 | enclosing | depth << DEPTH_SHIFT
    }

    /// From the detail of a row.
    #[must_use]
    pub fn from_bits(bits: u64) -> Self {
        let role = match bits & ROLE_MASK {
            0 => FlowRole::Start,
            1 => FlowRole::Step,
            _ => FlowRole::End,
        };
        let depth = (bits >> DEPTH_SHIFT).checked_sub(1).map(|depth| depth as u16);
        Self { role, binds_enclosing: bits & ENCLOSING != 0, depth }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_comes_back_from_its_bits() {
        for role in [FlowRole::Start, FlowRole::Step, FlowRole::End] {
            for depth in [None, Some(0), Some(7), Some(u16::MAX)] {
                for binds_enclosing in [false, true] {
                    let point = FlowPoint { role, binds_enclosing, depth };
                    assert_eq!(FlowPoint::from_bits(point.to_bits()), point);
                }
            }
        }
    }
}

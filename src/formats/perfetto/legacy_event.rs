//! Parses the fields of a legacy Chrome event inside a track event.

use super::fields::legacy_event;
use crate::formats::protobuf::decode::Fields;

/// The fields of a legacy event, as in Chrome JSON.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Legacy<'a> {
    pub(super) name_iid: u64,
    pub(super) phase: u8,
    pub(super) dur_us: Option<i64>,
    pub(super) thread_dur_us: Option<i64>,
    pub(super) thread_instructions: Option<i64>,
    pub(super) id: Option<EventId>,
    pub(super) id_scope: Option<&'a [u8]>,
    pub(super) bind_id: Option<u64>,
    pub(super) binds_enclosing: bool,
    pub(super) flow_direction: u64,
    pub(super) instant_scope: u64,
    pub(super) pid: Option<i64>,
    pub(super) tid: Option<i64>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct EventId {
    pub(super) number: u64,
    pub(super) is_local: bool,
}

impl<'a> Legacy<'a> {
    #[inline(never)]
    pub(super) fn read(bytes: &'a [u8]) -> Self {
        let mut legacy = Self::default();
        for field in Fields::new(bytes) {
            let value = field.value;
            match field.number {
                legacy_event::NAME_IID => legacy.name_iid = value.number(),
                legacy_event::PHASE => legacy.phase = u8::try_from(value.number()).unwrap_or(0),
                legacy_event::DURATION_US => legacy.dur_us = Some(value.signed()),
                legacy_event::THREAD_DURATION_US => legacy.thread_dur_us = Some(value.signed()),
                legacy_event::UNSCOPED_ID | legacy_event::GLOBAL_ID => {
                    legacy.id = Some(EventId { number: value.number(), is_local: false });
                }
                legacy_event::LOCAL_ID => legacy.id = Some(EventId { number: value.number(), is_local: true }),
                legacy_event::ID_SCOPE => legacy.id_scope = Some(value.bytes()),
                legacy_event::BIND_ID => legacy.bind_id = Some(value.number()),
                legacy_event::BIND_TO_ENCLOSING => legacy.binds_enclosing = value.number() != 0,
                legacy_event::FLOW_DIRECTION => legacy.flow_direction = value.number(),
                legacy_event::INSTANT_EVENT_SCOPE => legacy.instant_scope = value.number(),
                legacy_event::THREAD_INSTRUCTION_DELTA => legacy.thread_instructions = Some(value.signed()),
                legacy_event::PID_OVERRIDE => legacy.pid = Some(value.signed()),
                legacy_event::TID_OVERRIDE => legacy.tid = Some(value.signed()),
                _ => {}
            }
        }
        legacy
    }
}

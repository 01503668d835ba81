//! Kinds of packets that a timeline does not show, with the reason.

use super::descriptors;
use super::fields::trace_packet;
use crate::formats::protobuf::numbers::FieldNumber;

/// Returns the name of recorded data that is not read.
pub(super) fn unread_data(kind: FieldNumber) -> Option<&'static [u8]> {
    match kind {
        trace_packet::HEAP_GRAPH => Some(b"Java heap graph"),
        trace_packet::STACK_SAMPLE => Some(b"stack sample (StackSample)"),
        trace_packet::STREAMING_ALLOCATION | trace_packet::STREAMING_FREE => Some(b"streamed allocations"),
        _ => None,
    }
}

/// Returns whether packets of this kind describe the recording or are descriptors, so that a timeline does not show
/// them.
pub(super) fn is_about_the_recording(kind: FieldNumber) -> bool {
    use trace_packet as packet;
    const SERVICE: [FieldNumber; 5] = [
        packet::TRACE_CONFIG,
        packet::FTRACE_STATS,
        packet::TRACE_STATS,
        packet::SYNCHRONIZATION_MARKER,
        packet::SERVICE_EVENT,
    ];
    const METADATA: [FieldNumber; 6] = [
        packet::CHROME_METADATA,
        packet::UI_STATE,
        packet::TRACE_UUID,
        packet::TRACK_EVENT_RANGE_OF_INTEREST,
        packet::TRACE_PROVENANCE,
        packet::TRACE_ATTRIBUTES,
    ];
    descriptors::is_description(kind) || SERVICE.contains(&kind) || METADATA.contains(&kind)
}

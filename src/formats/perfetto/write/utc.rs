//! The clock snapshot that tells readers the time of day of a written trace.

use super::super::fields::{builtin_clock, clock, clock_snapshot};
use crate::formats::protobuf::encode::{push_message, push_number};

/// Appends a snapshot of the trace clock and UTC, with UTC `ahead_ns` ahead. Appends nothing if no moment has valid
/// times on both.
pub(super) fn push_utc_snapshot(bytes: &mut Vec<u8>, ahead_ns: i128) {
    let trace_ns = (-ahead_ns).max(0);
    let (Ok(trace_ns), Ok(utc_ns)) = (i64::try_from(trace_ns), i64::try_from(trace_ns + ahead_ns)) else { return };
    // Times without a clock are on the boot clock.
    for (id, ns) in [(builtin_clock::BOOTTIME, trace_ns), (builtin_clock::REALTIME, utc_ns)] {
        push_message(bytes, clock_snapshot::CLOCKS, |bytes| {
            push_number(bytes, clock::CLOCK_ID, id);
            push_number(bytes, clock::TIMESTAMP, ns.cast_unsigned());
        });
    }
}

//! Fields that this program adds to Perfetto's messages, for data that Perfetto has no field for. Only this program
//! reads them; others skip unknown fields.
//!
//! The number is above the numbers that Perfetto assigns, up to 10,000, and that protobuf reserves, up to 19,999. A
//! test checks that it is free in each of the messages.

use crate::formats::protobuf::numbers::proto_numbers;

proto_numbers! {
    fields own_process_descriptor = "perfetto.protos.ProcessDescriptor" {
        // 1 if `pid` replaces a missing id, because other readers need one.
        HAS_NO_ID = 20_000,
    }
    fields own_thread_descriptor = "perfetto.protos.ThreadDescriptor" {
        // The same for `tid`.
        HAS_NO_ID = 20_000,
    }
    fields own_mapping = "perfetto.protos.Mapping" {
        // The kind of the module, which defines the base of its addresses. The path is one text, which may be relative.
        MODULE_KIND = 20_000,
    }
    fields own_track_event = "perfetto.protos.TrackEvent" {
        // The duration of a span without an end, in nanoseconds: up to the last event of its track.
        UNFINISHED_DUR_NS = 20_000,
    }
    fields own_task_state_event = "perfetto.protos.GenericKernelTaskStateEvent" {
        // The letters of the state, if `state` does not have it.
        LETTERS = 20_000,
        // 1 if the thread enters no state here: it has exited, or the part of the trace ends before.
        ENTERS_NO_STATE = 20_001,
        // The duration of a state or run without an end, in nanoseconds: up to the last scheduling event.
        UNFINISHED_DUR_NS = 20_002,
    }
    fields own_sample_defaults = "perfetto.protos.PerfSampleDefaults" {
        // The unit of periods, a text.
        PERIOD_UNIT = 20_000,
        // 1 if the times of the samples only place them side by side, as in a profile without times.
        HAS_NO_TIMES = 20_001,
    }
}

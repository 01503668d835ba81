//! Frames of Android. For each frame that an app or the compositor draws, the compositor reports the expected and the
//! actual time, with the kind of jank. Older versions report the steps of each buffer.

use super::fields::trace_packet;
use super::ftrace::SystemEventBuilder;
use super::limits::has_room;
use super::packet_events::ArgForm::{Bits, Known, Signed, Text, Unsigned};
use super::packet_events::{PacketArg, async_id, enum_name, write_args};
use super::packet_fields::{
    actual_display_frame, actual_surface_frame, buffer_event, expected_display_frame, expected_surface_frame,
    frame_end, frame_event, frame_timeline_event,
};
use crate::formats::protobuf::decode::{Fields, ProtoValue};
use crate::formats::protobuf::message::ProtoMessage as _;
use crate::formats::protobuf::numbers::FieldNumber;
use crate::model::{Id, Loss};

/// Limit for frames that have not ended; apps have a few dozen.
const OPEN_FRAMES_MAX: usize = 1 << 16;

/// The message that starts a frame, with its track and its fields.
struct TimelineStart {
    event: FieldNumber,
    track: &'static str,
    token: FieldNumber,
    pid: FieldNumber,
    args: &'static [PacketArg],
}

const EXPECTED: &str = "Expected Timeline";
const ACTUAL: &str = "Actual Timeline";

/// All starts have the cookie in the same field.
const STARTS: &[TimelineStart] = &[
    TimelineStart {
        event: frame_timeline_event::EXPECTED_DISPLAY_FRAME_START,
        track: EXPECTED,
        token: expected_display_frame::TOKEN,
        pid: expected_display_frame::PID,
        args: &[PacketArg("Display frame token", expected_display_frame::TOKEN, Signed)],
    },
    TimelineStart {
        event: frame_timeline_event::ACTUAL_DISPLAY_FRAME_START,
        track: ACTUAL,
        token: actual_display_frame::TOKEN,
        pid: actual_display_frame::PID,
        args: &[
            PacketArg("Display frame token", actual_display_frame::TOKEN, Signed),
            PacketArg("Present type", actual_display_frame::PRESENT_TYPE, Known(PRESENT)),
            PacketArg("On time finish", actual_display_frame::ON_TIME_FINISH, Unsigned),
            PacketArg("GPU composition", actual_display_frame::GPU_COMPOSITION, Unsigned),
            PacketArg("Jank type", actual_display_frame::JANK_TYPE, Bits(JANK)),
            PacketArg("Jank severity type", actual_display_frame::JANK_SEVERITY_TYPE, Known(SEVERITY)),
            PacketArg("Prediction type", actual_display_frame::PREDICTION_TYPE, Known(PREDICTION)),
        ],
    },
    TimelineStart {
        event: frame_timeline_event::EXPECTED_SURFACE_FRAME_START,
        track: EXPECTED,
        token: expected_surface_frame::TOKEN,
        pid: expected_surface_frame::PID,
        args: &[
            PacketArg("Surface frame token", expected_surface_frame::TOKEN, Signed),
            PacketArg("Display frame token", expected_surface_frame::DISPLAY_FRAME_TOKEN, Signed),
            PacketArg("Layer name", expected_surface_frame::LAYER_NAME, Text),
        ],
    },
    TimelineStart {
        event: frame_timeline_event::ACTUAL_SURFACE_FRAME_START,
        track: ACTUAL,
        token: actual_surface_frame::TOKEN,
        pid: actual_surface_frame::PID,
        args: &[
            PacketArg("Surface frame token", actual_surface_frame::TOKEN, Signed),
            PacketArg("Display frame token", actual_surface_frame::DISPLAY_FRAME_TOKEN, Signed),
            PacketArg("Layer name", actual_surface_frame::LAYER_NAME, Text),
            PacketArg("Present type", actual_surface_frame::PRESENT_TYPE, Known(PRESENT)),
            PacketArg("On time finish", actual_surface_frame::ON_TIME_FINISH, Unsigned),
            PacketArg("GPU composition", actual_surface_frame::GPU_COMPOSITION, Unsigned),
            PacketArg("Jank type", actual_surface_frame::JANK_TYPE, Bits(JANK)),
            PacketArg("Jank severity type", actual_surface_frame::JANK_SEVERITY_TYPE, Known(SEVERITY)),
            PacketArg("Prediction type", actual_surface_frame::PREDICTION_TYPE, Known(PREDICTION)),
            PacketArg("Is Buffer?", actual_surface_frame::IS_BUFFER, Unsigned),
        ],
    },
];

/// Values of `PresentType`.
const PRESENT: &[(u64, &str)] =
    &[(1, "On-time Present"), (2, "Late Present"), (3, "Early Present"), (4, "Dropped Frame"), (5, "Unknown Present")];

/// Values of `PredictionType`.
const PREDICTION: &[(u64, &str)] = &[(1, "Valid Prediction"), (2, "Expired Prediction"), (3, "Unknown Prediction")];

/// Values of `JankSeverityType`.
const SEVERITY: &[(u64, &str)] = &[(0, "Unknown"), (1, "None"), (2, "Partial"), (3, "Full")];

/// Bits of `JankType`.
const JANK: &[(u64, &str)] = &[
    (0x1, "None"),
    (0x2, "SurfaceFlinger Scheduling"),
    (0x4, "Prediction Error"),
    (0x8, "Display HAL"),
    (0x10, "SurfaceFlinger CPU Deadline Missed"),
    (0x20, "SurfaceFlinger GPU Deadline Missed"),
    (0x40, "App Deadline Missed"),
    (0x80, "Buffer Stuffing"),
    (0x100, "Unknown Jank"),
    (0x200, "SurfaceFlinger Stuffing"),
    (0x400, "Dropped Frame"),
    (0x800, "Non Animating"),
    (0x1000, "App Resynced Jitter"),
    (0x2000, "Display Not On"),
];

/// Values of `BufferEventType`.
const BUFFER_STEPS: &[(u64, &str)] = &[
    (1, "Dequeue"),
    (2, "Queue"),
    (3, "Post"),
    (4, "AcquireFenceSignaled"),
    (5, "Latch"),
    (6, "HWCCompositionQueued"),
    (7, "FallbackComposition"),
    (8, "PresentFenceSignaled"),
    (9, "ReleaseFenceSignaled"),
    (10, "Modify"),
    (11, "Detach"),
    (12, "Attach"),
    (13, "Cancel"),
];

impl SystemEventBuilder<'_> {
    /// Decodes a packet of one of these kinds.
    pub(super) fn frame(&mut self, kind: FieldNumber, ts_ns: i64, bytes: &[u8]) {
        let events = Fields::new(bytes).filter_map(|field| match field.value {
            ProtoValue::Bytes(event) => Some((field.number, event)),
            _ => None,
        });
        for (number, event) in events {
            if kind == trace_packet::GRAPHICS_FRAME_EVENT {
                if number == frame_event::BUFFER_EVENT {
                    self.buffer_step(ts_ns, event);
                }
            } else if number == frame_timeline_event::FRAME_END {
                self.end_frame(ts_ns, event);
            } else if let Some(start) = STARTS.iter().find(|start| start.event == number) {
                self.begin_frame(ts_ns, start, event);
            } else {
                self.batch.lose(Loss::IgnoredPacket, self.pos);
            }
        }
    }

    fn begin_frame(&mut self, ts_ns: i64, start: &TimelineStart, event: &[u8]) {
        let cookie = event.signed(expected_display_frame::COOKIE);
        let pid = self.tracks.process_now(event.signed(start.pid));
        let track = self.overlapping_track(pid, start.track);
        if !has_room(&self.state.devices.frames, &cookie, OPEN_FRAMES_MAX) {
            return self.batch.lose(Loss::OverLimit, self.pos);
        }
        self.state.devices.frames.insert(cookie, track);
        self.state.args.clear();
        write_args(&mut self.state.args, event, start.args);
        let name = event.signed(start.token).to_string();
        self.begin_async(ts_ns, track, (&name, "frame"), frame_id(cookie));
    }

    fn end_frame(&mut self, ts_ns: i64, event: &[u8]) {
        let cookie = event.signed(frame_end::COOKIE);
        let Some(track) = self.state.devices.frames.remove(&cookie) else {
            return self.batch.lose(Loss::MissingState, self.pos);
        };
        self.state.args.clear();
        self.end_async(ts_ns, track, frame_id(cookie));
    }

    /// Adds a step of a buffer to the track of the buffer in its layer.
    fn buffer_step(&mut self, ts_ns: i64, event: &[u8]) {
        let step = event.number(buffer_event::TYPE);
        let buffer = event.number(buffer_event::BUFFER_ID);
        let layer = event.text(buffer_event::LAYER_NAME);
        let track = self.overlapping_track(Id::None, &format!("Buffer: {buffer} {layer}"));
        let args = &mut self.state.args;
        args.clear();
        write_args(
            args,
            event,
            &[
                PacketArg("frame_number", buffer_event::FRAME_NUMBER, Unsigned),
                PacketArg("layer_name", buffer_event::LAYER_NAME, Text),
            ],
        );
        let name = enum_name(step, BUFFER_STEPS).map_or_else(|| format!("step {step}"), str::to_owned);
        let dur_ns = event.number(buffer_event::DURATION_NS);
        let id = async_id("buffer", &[ts_ns.cast_unsigned(), step, buffer]);
        self.push_async((ts_ns, dur_ns), track, (&name, "buffer"), id);
    }
}

fn frame_id(cookie: i64) -> u64 {
    async_id("frame", &[cookie.cast_unsigned()])
}

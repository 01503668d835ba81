//! Packets of devices, Android and Windows: frames, GPUs, energy, wakelocks, network packets and operations on files.

use super::encode::{Message, event, message, packet};
use super::{read, shown};
use crate::formats::testing::Reading;
use crate::model::{EventKind as K, Id, Loss, Metadata};

/// Returns the time, name, value and unit of each counter value.
fn values(reading: &Reading) -> Vec<(i64, &str, f64, &str)> {
    let counters = reading.events.iter().filter(|event| event.kind == K::Counter);
    let value = |bits| f64::from_bits(bits);
    counters.map(|event| (event.ts_ns, &*event.track.name, value(event.value), reading.unit(&event.track))).collect()
}

fn signed(value: i64) -> u64 {
    value.cast_unsigned()
}

#[test]
fn frames_are_spans_of_their_process_with_the_kind_of_jank() {
    let frame = |ts_ns, number, event: Message| packet(ts_ns).message(76, message().message(number, event));
    let surface = |cookie, token, display| {
        message().number(1, cookie).number(2, token).number(3, display).number(4, 1000).bytes(5, "layer")
    };
    let reading = read([
        frame(10, 1, message().number(1, 1).number(2, 4).number(3, 666)),
        frame(12, 3, surface(2, 5, 4)),
        frame(
            13,
            4,
            surface(3, 5, 4).number(6, 2).number(7, 1).number(8, 0).number(9, 0x48).number(10, 1).number(11, 1),
        ),
        // Frames overlap.
        frame(14, 4, surface(4, 6, 4).number(6, 9).number(9, 0x8000).number(12, 2)),
        frame(20, 5, message().number(1, 1)),
        frame(21, 5, message().number(1, 3)),
        frame(22, 5, message().number(1, 2)),
        frame(23, 5, message().number(1, 4)),
        frame(24, 5, message().number(1, 99)),
        frame(25, 2, message().number(1, 5).number(2, 8).number(3, 666).number(4, 1).number(5, 1).number(7, 1)),
        frame(26, 9, message()),
    ]);
    let (expected, actual) = ("Expected Timeline", "Actual Timeline");
    let late = r#"{"Surface frame token":5,"Display frame token":4,"Layer name":"layer","Present type":"Late Present","On time finish":1,"GPU composition":0,"Jank type":"Display HAL, App Deadline Missed","Prediction type":"Valid Prediction","Is Buffer?":1}"#;
    let odd = r#"{"Surface frame token":6,"Display frame token":4,"Layer name":"layer","Present type":9,"Jank type":32768,"Jank severity type":"Partial"}"#;
    let display = r#"{"Display frame token":8,"Present type":"On-time Present","On time finish":1,"Jank type":"None"}"#;
    let events = [
        (10, K::AsyncBegin, expected, "4", r#"{"Display frame token":4}"#),
        (12, K::AsyncBegin, expected, "5", r#"{"Surface frame token":5,"Display frame token":4,"Layer name":"layer"}"#),
        (13, K::AsyncBegin, actual, "5", late),
        (14, K::AsyncBegin, actual, "6", odd),
        (20, K::AsyncEnd, expected, "", ""),
        (21, K::AsyncEnd, actual, "", ""),
        (22, K::AsyncEnd, expected, "", ""),
        (23, K::AsyncEnd, actual, "", ""),
        (25, K::AsyncBegin, actual, "8", display),
    ];
    assert_eq!(shown(&reading), events);
    assert_eq!(reading.events[0].track.pid.to_string(), "666");
    assert_eq!(reading.events[1].track.pid.to_string(), "1000");
    assert_eq!(reading.events[2].value, reading.events[5].value, "the end of the same frame");
    assert_eq!(reading.lost(), [(Loss::IgnoredPacket, 1), (Loss::MissingState, 1)]);
}

#[test]
fn steps_of_a_buffer_are_spans_of_its_layer() {
    let step = |ts_ns, kind, dur_ns| {
        let step = message().number(1, 7).number(2, kind).bytes(3, "app").number(4, dur_ns).number(5, 2);
        packet(ts_ns).message(57, message().message(1, step))
    };
    let reading = read([step(10, 1, 5), step(12, 2, 6)]);
    let args = r#"{"frame_number":7,"layer_name":"app"}"#;
    let track = "Buffer: 2 app";
    let expected = [
        (10, K::AsyncBegin, track, "Dequeue", args),
        (12, K::AsyncBegin, track, "Queue", args),
        (15, K::AsyncEnd, track, "", ""),
        (18, K::AsyncEnd, track, "", ""),
    ];
    assert_eq!((shown(&reading), reading.lost()), (expected.to_vec(), vec![]));
}

#[test]
fn a_value_of_a_gpu_counter_is_that_of_the_time_before_its_sample() {
    let spec = |id, name: &str| message().number(1, id).bytes(2, name);
    let descriptor = message()
        .message(1, spec(1, "Vertices").number(7, 25).number(8, 22))
        .message(1, spec(2, "Load").number(7, 37))
        .message(1, spec(3, ""));
    let sample = |ts_ns, id, field, value| {
        packet(ts_ns).message(52, message().message(2, message().number(1, id).number(field, value)))
    };
    let double = message().number(1, 2).fixed(3, 0.5f64.to_bits());
    let reading = read([
        message().number(10, 1).message(52, message().message(1, descriptor)),
        sample(10, 1, 2, 5),
        sample(20, 1, 2, 7),
        sample(30, 1, 2, signed(-9)),
        packet(35).message(52, message().message(2, double).number(3, 1)),
        sample(40, 8, 2, 1),
        packet(41).message(52, message().message(2, message().number(1, 3))),
    ]);
    let expected = [
        (10, "Vertices", 7.0, "vertices/s"),
        (20, "Vertices", -9.0, "vertices/s"),
        (30, "Vertices", 0.0, "vertices/s"),
        (35, "Load (GPU 1)", 0.5, "%"),
    ];
    assert_eq!(values(&reading), expected);
    assert_eq!(reading.lost(), [(Loss::BadCounter, 1), (Loss::MissingState, 1)]);
}

#[test]
fn descriptors_of_gpu_counters_may_be_interned_for_each_sequence() {
    let interned = |name: &str| {
        let spec = message().message(1, message().number(1, 1).bytes(2, name));
        message().message(47, message().number(1, 4).message(2, spec))
    };
    let sample = |ts_ns, sequence, value| {
        let counters = message().number(4, 4).message(2, message().number(1, 1).number(2, value));
        message().number(8, ts_ns).number(10, sequence).message(52, counters)
    };
    let reading = read([
        sample(10, 2, 5).message(12, interned("a")),
        sample(11, 3, 6).message(12, interned("b")),
        sample(12, 4, 7),
    ]);
    assert_eq!(values(&reading), [(10, "a", 5.0, ""), (11, "b", 6.0, "")]);
    assert_eq!(reading.lost(), [(Loss::MissingState, 1)]);
}

#[test]
fn stages_of_a_gpu_are_spans_of_their_hardware_queue() {
    let named = |iid, name: &str| message().number(1, iid).bytes(2, name);
    let interned = message()
        .message(24, named(1, "Compute queue"))
        .message(24, named(2, "Compute"))
        .message(23, message().number(1, 99).number(2, 1000).number(3, 2));
    let object = message().number(1, 1000).number(2, 99).number(3, 1).number(4, 0x50).bytes(5, "frame buffer");
    let extra = message().bytes(1, "shader").bytes(2, "blur");
    let stage = message().number(1, 8).number(2, 5).number(13, 1).number(14, 2).number(5, 99);
    let described = message()
        .message(1, message().number(1, 7).number(2, 12))
        .message(2, named(0, "").bytes(1, "Fragment"))
        .message(3, message().bytes(1, "Render"));
    let reading = read([
        packet(9).message(65, message().message(1, object)),
        packet(10).message(12, interned).message(53, stage.number(8, 0x50).message(6, extra)),
        packet(11).message(53, message().number(1, 9).number(13, 5).number(14, 6).number(11, 1)),
        packet(12).message(53, message().message(7, described)),
        packet(13).message(53, message().number(1, 10).number(2, 4).number(3, 0).number(4, 0).number(5, 7)),
        packet(14).message(53, message().number(1, 11).number(2, 4).bytes(17, "own")),
    ]);
    let first = r#"{"event_id":8,"context_id":99,"render_target":80,"pid":1000,"render_target_name":"frame buffer","shader":"blur"}"#;
    let expected = [
        (10, K::AsyncBegin, "Compute queue", "Compute", first),
        (11, K::Instant, "GPU queue 5 (GPU 1)", "render stage(6)", r#"{"event_id":9,"gpu_id":1}"#),
        (13, K::AsyncBegin, "Fragment", "Render", r#"{"event_id":10,"context_id":7,"pid":12}"#),
        (14, K::AsyncBegin, "Fragment", "own", r#"{"event_id":11}"#),
        (15, K::AsyncEnd, "Compute queue", "", ""),
        (17, K::AsyncEnd, "Fragment", "", ""),
        (18, K::AsyncEnd, "Fragment", "", ""),
    ];
    assert_eq!((shown(&reading), reading.lost()), (expected.to_vec(), vec![]));
}

#[test]
fn logs_memory_clocks_and_submissions_of_gpus() {
    let submit = message().number(1, 6).number(2, 10).number(3, 11).number(4, 3).number(6, 2);
    let reading = read([
        packet(1).message(63, message().number(1, 5).bytes(2, "driver").bytes(3, "lost")),
        packet(2).message(71, message().number(1, 0).number(2, 0).number(3, 4096)),
        packet(3).message(71, message().number(2, 7).number(3, 100)),
        packet(4).message(129, message().number(1, 1).number(2, 300)),
        packet(5).message(65, message().message(2, submit)),
        message().number(10, 1).message(63, message()),
    ]);
    let args = r#"{"pid":10,"tid":11,"vk_queue":3,"submission_id":2}"#;
    let expected = [
        (1, K::Instant, "GPU Log", "ERROR", r#"{"tag":"driver","message":"lost"}"#),
        (5, K::AsyncBegin, "Vulkan Events", "vkQueueSubmit", args),
        (11, K::AsyncEnd, "Vulkan Events", "", ""),
    ];
    assert_eq!(shown(&reading), expected);
    let expected =
        [(2, "GPU Memory", 4096.0, "bytes"), (3, "GPU Memory", 100.0, "bytes"), (4, "GPU 1 frequency", 300.0, "kHz")];
    assert_eq!(values(&reading), expected);
    assert_eq!(reading.lost(), [(Loss::BadTime, 1)]);
}

#[test]
fn properties_continue_as_markers_of_programs_do() {
    let property = |name: &str, value: &str| message().bytes(1, name).bytes(2, value);
    let values_of = message()
        .message(1, property("debug.tracing.screen_state", "2"))
        .message(1, property("debug.tracing.device_state", "open"))
        .message(1, property("debug.tracing.screen_state", "on"))
        .message(1, property("ro.x", "y"));
    let reading = read([packet(1).message(86, values_of)]);
    let expected = [
        (1, K::Instant, "DeviceStateChanged", "open", ""),
        (1, K::Instant, "System Properties", "debug.tracing.screen_state", r#"{"value":"on"}"#),
        (1, K::Instant, "System Properties", "ro.x", r#"{"value":"y"}"#),
    ];
    assert_eq!((shown(&reading), reading.lost()), (expected.to_vec(), vec![]));
    assert_eq!(values(&reading), [(1, "ScreenState", 2.0, "")]);
}

#[test]
fn times_of_apps_add_up_for_each_cluster() {
    let times = |ts_ns, clusters: Option<u64>, uids: &[u64], times: &[u64]| {
        let data = clusters.into_iter().fold(message(), |data, clusters| data.number(1, clusters));
        let data = uids.iter().fold(data, |data, &uid| data.number(2, uid));
        packet(ts_ns).message(119, times.iter().fold(data, |data, &time| data.number(3, time)))
    };
    let reading = read([
        times(1, None, &[0], &[1]),
        times(2, Some(2), &[0, 10_001], &[100, 200, 300, 400]),
        times(3, None, &[0], &[5, 0]),
        times(4, None, &[10_001], &[0, 7]),
        times(5, None, &[0], &[1]),
    ]);
    let expected = [
        (2, "CPU for UID 0 CL0", 100.0, "ms"),
        (2, "CPU for UID 0 CL1", 200.0, "ms"),
        (2, "CPU for UID 10001 CL0", 300.0, "ms"),
        (2, "CPU for UID 10001 CL1", 400.0, "ms"),
        (2, "CPU for System CL0", 0.0, "ms"),
        (2, "CPU for System CL1", 0.0, "ms"),
        (2, "CPU for Apps CL0", 0.0, "ms"),
        (2, "CPU for Apps CL1", 0.0, "ms"),
        (3, "CPU for UID 0 CL0", 105.0, "ms"),
        (3, "CPU for System CL0", 5.0, "ms"),
        (3, "CPU for System CL1", 0.0, "ms"),
        (4, "CPU for UID 10001 CL1", 407.0, "ms"),
        (4, "CPU for Apps CL0", 0.0, "ms"),
        (4, "CPU for Apps CL1", 7.0, "ms"),
    ];
    assert_eq!(values(&reading), expected);
    assert_eq!(reading.lost(), [(Loss::MissingState, 2)]);
}

#[test]
fn energy_and_power_states_are_counters() {
    let consumer = |id, name: &str| message().message(1, message().number(1, id).bytes(4, name));
    let state = message().number(1, 1).number(2, 2).bytes(3, "Bluetooth").bytes(4, "Idle");
    let residency = |entity| message().number(1, entity).number(2, 2).number(3, 1200);
    let part = message().number(1, 10_234).number(2, 3);
    let reading = read([
        message().number(10, 1).message(77, message().message(1, consumer(3, "GPU"))),
        packet(1).message(77, message().number(2, 3).number(3, 50).message(4, part)),
        packet(2).message(77, message().number(2, 9).number(3, 60)),
        packet(3).message(91, message().message(1, state).message(2, residency(1)).message(2, residency(4))),
    ]);
    let expected = [
        (1, "GPU", 50.0, "µWs"),
        (1, "GPU UID 10234", 3.0, "µWs"),
        (2, "energy consumer 9", 60.0, "µWs"),
        (3, "Entity residency: Bluetooth is Idle", 1200.0, "ms"),
    ];
    assert_eq!(values(&reading), expected);
    assert_eq!(reading.lost(), [(Loss::MissingState, 1)]);
}

#[test]
fn network_packets_are_events_of_their_interface() {
    let context = message().number(1, 1).bytes(2, "wlan0").number(4, 1000).number(6, 6).number(7, 0x12).number(8, 80);
    let interned = message().message(30, message().number(1, 5).message(2, context.clone()));
    let timed = message().number(1, 5).number(3, 0).number(3, 10).number(4, 60).number(4, 70);
    let summed = message().number(1, 5).number(5, 9).number(6, 100).number(7, 900);
    let reading = read([
        packet(1).message(88, message().number(1, 2).bytes(2, "rmnet0").number(3, 40).number(4, 7)),
        packet(2).message(12, interned).message(92, timed),
        packet(20).message(92, summed),
        packet(21).message(92, message().number(1, 6).number(5, 1)),
    ]);
    let args = |length: u64, count: u64| {
        format!(
            r#"{{"packet_length":{length},"packet_count":{count},"packet_transport":"TCP","socket_uid":1000,"local_port":80,"packet_tcp_flags":"SYN, ACK"}}"#
        )
    };
    let (first, second, sum) = (args(60, 1), args(70, 1), args(900, 9));
    let sent = r#"{"packet_length":40,"packet_count":1,"socket_uid":7}"#;
    let expected = [
        (1, K::Instant, "rmnet0 Transmitted", "uid=7", sent),
        (2, K::Instant, "wlan0 Received", "uid=1000", &*first),
        (12, K::Instant, "wlan0 Received", "uid=1000", &second),
        (20, K::AsyncBegin, "wlan0 Received", "uid=1000", &sum),
        (120, K::AsyncEnd, "wlan0 Received", "", ""),
    ];
    assert_eq!(shown(&reading), expected);
    assert_eq!(reading.lost(), [(Loss::MissingState, 1)]);
}

#[test]
fn wakelocks_of_apps_are_spans_and_those_of_the_kernel_are_counters() {
    let info = message().number(1, 3).bytes(2, "*sync*").number(3, 1).number(4, 70).number(5, 10_000);
    let bundle = message().number(1, 3).number(1, 3).number(1, 4).number(2, 1).number(2, 40).number(2, 1);
    let wakelock = message().number(1, 1).bytes(2, "ipc").number(3, 2);
    let reading = read([
        packet(10).message(12, message().message(42, info)).message(116, bundle),
        packet(50).message(115, message().message(1, wakelock).number(2, 1).number(3, 100)),
        packet(60).message(115, message().number(2, 1).number(3, 5).number(2, 2).number(3, 6)),
    ]);
    let args = r#"{"flags":1,"owner_pid":70,"owner_uid":10000,"tag":"*sync*"}"#;
    let expected = [(10, K::AsyncBegin, "Wakelocks", "*sync*", args), (30, K::AsyncEnd, "Wakelocks", "", "")];
    assert_eq!(shown(&reading), expected);
    assert_eq!(reading.events[0].track.pid.to_string(), "70");
    let name = "Wakelock ipc (Native)";
    assert_eq!(values(&reading), [(50, name, 100.0, "ms"), (60, name, 105.0, "ms")]);
    assert_eq!(reading.lost(), [(Loss::MissingState, 2)]);
}

fn etw(event: Message) -> Message {
    message().number(10, 1).message(95, message().number(1, 2).message(2, event))
}

#[test]
fn operations_on_files_of_windows_last_until_their_request_ends() {
    let create = message().number(1, 50).number(2, 60).number(3, 7).bytes(7, "C:/x");
    let info = message().number(1, 51).number(4, 3).number(5, 8).number(6, 13).number(7, 69);
    let end = |request| message().number(1, request).number(2, 1).number(3, 0);
    let reading = read([
        etw(message().number(1, 100).message(7, create)),
        etw(message().number(1, 110).message(9, info)),
        etw(message().number(1, 150).message(12, end(50))),
        etw(message().number(1, 160).message(12, end(99))),
        etw(message().number(1, 170).message(13, message())),
        etw(message().number(1, 180).message(14, message().number(1, 52).bytes(7, "C:/y").number(8, 79))),
        etw(message().number(1, 190).message(12, message().number(1, 52))),
        etw(message().number(1, 200).message(15, message().number(1, 3).number(3, 512).number(4, 8).number(9, 10))),
    ]);
    let created =
        r#"{"I/O Request Packet":50,"File Object":60,"Thread ID":7,"Open Path":"C:/x","Extra Info":1,"NT Status":0}"#;
    let informed = r#"{"I/O Request Packet":51,"Disposition":3,"Thread ID":8,"Info Class":"FileDispositionInformation","Missing Event":"End"}"#;
    let ended = r#"{"Extra Info":1,"NT Status":0,"Missing Event":"Start"}"#;
    let expected = [
        (100, K::AsyncBegin, "File I/O", "CreateFile", created),
        (110, K::Instant, "File I/O", "SetInformation", informed),
        (150, K::AsyncEnd, "File I/O", "", ""),
        (160, K::Instant, "File I/O", "EndOperation", ended),
        (180, K::AsyncBegin, "File I/O", "DeletePath", r#"{"I/O Request Packet":52,"File Name":"C:/y"}"#),
        (190, K::AsyncEnd, "File I/O", "", ""),
        (200, K::Instant, "Disk 3", "DiskRead", r#"{"Disk Number":3,"Transfer Size":512,"Byte Offset":8}"#),
    ];
    assert_eq!(shown(&reading), expected);
    assert_eq!(reading.lost(), [(Loss::IgnoredPacket, 1)]);
}

#[test]
fn context_switches_of_windows_are_scheduling() {
    let switch = |ts_ns, old, new, state| {
        let switch = message().number(1, new).number(2, old).number(3, 16).number(8, state);
        etw(message().number(1, ts_ns).message(2, switch))
    };
    let reading = read([
        switch(10, 0, 7, 1),
        etw(message().number(1, 15).number(5, 7).message(3, message().number(1, 8))),
        switch(20, 7, 8, 5),
        etw(message().number(1, 25).message(6, message().number(3, 30))),
        switch(30, 8, 0, 4),
    ]);
    let runs: Vec<_> = reading.events.iter().filter(|event| event.kind == K::Complete).collect();
    let runs: Vec<_> = runs.iter().map(|run| (run.ts_ns, run.value, &*run.track.name, &*run.args)).collect();
    let expected = [
        (10, 10, "CPU 2", r#"{"pid":7,"tid":7,"prio":8,"end_state":"S"}"#),
        (20, 10, "CPU 2", r#"{"pid":8,"tid":8,"prio":8,"end_state":"X"}"#),
    ];
    assert_eq!(runs, expected);
    let states = reading.events.iter().filter(|event| event.kind == K::State);
    let states: Vec<_> = states.map(|event| (event.ts_ns, event.track.tid.to_string(), &*event.name)).collect();
    let expected = [(10, "7", "Running"), (15, "8", "Runnable"), (20, "7", "Sleeping"), (20, "8", "Running")];
    let expected: Vec<_> = expected.map(|(ts_ns, tid, name)| (ts_ns, tid.to_owned(), name)).into();
    assert_eq!(states[..4], expected);
    assert_eq!(values(&reading), [(25, "mem.free_pages", 30.0, "pages")]);
    assert_eq!(reading.lost(), []);
}

#[test]
fn stacks_of_a_heap_profile_have_what_they_allocated_since_the_profile_before() {
    let named = |iid, name: &str| message().number(1, iid).bytes(2, name);
    let interned = message()
        .message(5, named(1, "malloc"))
        .message(6, message().number(1, 2).number(2, 1))
        .message(7, message().number(1, 3).number(2, 2));
    let sample = |stack, allocated, freed| message().number(1, stack).number(2, allocated).number(3, freed);
    let dump = |samples: Message| message().message(5, samples.number(1, 70).bytes(11, "art"));
    let reading = read([
        packet(10).message(12, interned).message(37, dump(message().message(2, sample(3, 100, 40)))),
        packet(20).message(37, dump(message().message(2, sample(3, 150, 150)).message(2, sample(4, 1, 0)))),
        packet(30).message(37, dump(message().number(10, 1).message(2, message().number(1, 3).number(8, 5)))),
        message().number(10, 1).message(37, dump(message())),
    ]);
    let samples = reading.events.iter().map(|event| (event.ts_ns, event.kind, &*event.track.name, &*event.args));
    let allocated = |bytes: u64| format!(r#"{{"event":"art allocated","unit":"bytes","period":{bytes}}}"#);
    let (first, second) = (allocated(100), allocated(50));
    let expected = [
        (10, K::Sample, "art allocated", &*first),
        (10, K::Sample, "art in use", r#"{"event":"art in use","unit":"bytes","period":60}"#),
        (20, K::Sample, "art allocated", &*second),
        (
            30,
            K::Sample,
            "art in use at its maximum",
            r#"{"event":"art in use at its maximum","unit":"bytes","period":5}"#,
        ),
    ];
    assert_eq!(samples.collect::<Vec<_>>(), expected);
    assert!(reading.events.iter().all(|event| event.stack == ["malloc"]));
    let mut lost = reading.lost();
    lost.sort_by_key(|(loss, _)| format!("{loss:?}"));
    // The second stack is missing in both rows.
    assert_eq!(lost, [(Loss::BadTime, 1), (Loss::MissingText, 2), (Loss::RecorderLost, 1)]);
}

#[test]
fn messages_of_the_journal_and_of_statistics_are_instants() {
    let entry = message().number(1, 10).number(2, 11).number(5, 3).bytes(6, "sshd").bytes(7, "refused");
    let atom = |number| message().message(number, message().number(1, 5).bytes(2, "text").bytes(3, [0xff, 0]));
    let atoms = message().message(1, atom(10_086)).message(1, atom(3)).number(2, 7);
    let reading = read([packet(1).message(132, entry), packet(9).message(84, atoms)]);
    let args = r#"{"1":5,"2":"text","3":"(2 bytes)"}"#;
    let expected = [
        (1, K::Instant, "", "sshd", r#"{"message":"refused","priority":"error"}"#),
        (7, K::Instant, "Statsd Atoms", "atom_10086", args),
        (9, K::Instant, "Statsd Atoms", "atom_3", args),
    ];
    assert_eq!((shown(&reading), reading.lost()), (expected.to_vec(), vec![]));
    assert_eq!(reading.events[0].track.tid.to_string(), "11");
}

#[test]
fn a_trigger_of_chromium_has_the_name_of_its_hash() {
    let names = message().message(6, message().message(1, message().number(1, 10).bytes(2, "slow start")));
    let trigger = |ts_ns, hash| packet(ts_ns).message(109, message().number(2, hash));
    let reading = read([message().number(10, 1).message(82, names), trigger(1, 10), trigger(2, 20)]);
    assert_eq!(reading.names(), ["slow start", "chrome_trigger"]);
    assert_eq!(reading.events[0].args, r#"{"chrome_trigger.name":"slow start","chrome_trigger.name_hash":10}"#);
}

#[test]
fn the_process_tree_of_another_kernel_names_its_processes_and_threads() {
    let tree = message()
        .message(1, message().number(1, 5).bytes(3, "shell"))
        .message(2, message().number(1, 7).number(2, 5).bytes(3, "worker"));
    let running = message().number(1, 0).bytes(2, "worker").number(3, 7).number(4, 3);
    let reading = read([message().number(10, 1).message(122, tree), packet(10).message(117, running)]);
    let process = Metadata::ProcessName { pid: Id::Number(5), name: "shell".into() };
    let thread = Metadata::ThreadName { pid: Id::Number(5), tid: Id::Number(7), name: "worker".into() };
    assert!(reading.metadata.contains(&process) && reading.metadata.contains(&thread), "{:?}", reading.metadata);
    assert!(reading.events.iter().any(|event| event.track.pid == Id::Number(5)));
    assert_eq!(reading.lost(), []);
}

#[test]
fn memory_of_vulkan_adds_up_for_each_scope_and_type() {
    let memory = |ts_ns, source, operation, handle: (u32, u64), size| {
        let event = message().number(1, source).number(2, operation).number(4, 70).number(6, size).number(8, 2);
        packet(ts_ns).message(62, event.fixed(handle.0, handle.1).number(18, 3))
    };
    let reading = read([
        memory(1, 1, 1, (5, 100), 16),
        memory(2, 1, 1, (5, 200), 8),
        memory(3, 1, 2, (5, 100), 0),
        memory(4, 1, 2, (5, 999), 0),
        memory(5, 3, 1, (17, 7), 4096),
        memory(6, 4, 1, (20, 9), 64),
        memory(7, 4, 3, (20, 9), 64),
        memory(8, 4, 4, (20, 9), 64),
        memory(9, 0, 1, (5, 1), 1),
    ]);
    let (driver, device) = ("vulkan.mem.driver.scope.OBJECT", "vulkan.mem.device.memory.type.3");
    let (allocation, bind) = (format!("{device}.allocation"), format!("{device}.bind"));
    let expected = [
        (1, driver, 16.0, "bytes"),
        (2, driver, 24.0, "bytes"),
        (3, driver, 8.0, "bytes"),
        (5, &*allocation, 4096.0, "bytes"),
        (7, &bind, 64.0, "bytes"),
        (8, &bind, 0.0, "bytes"),
    ];
    assert_eq!(values(&reading), expected);
    assert_eq!(reading.lost(), [(Loss::IgnoredPacket, 3)]);
}

#[test]
fn an_event_of_vulkan_that_is_not_shown_is_counted() {
    let named = message().message(1, message().number(1, 5).number(2, 9).bytes(4, "image"));
    let reading = read([packet(1).message(65, message()), packet(2).message(65, named)]);
    assert_eq!((reading.events.len(), reading.lost()), (0, vec![(Loss::IgnoredPacket, 1)]));
}

#[test]
fn recorded_data_that_is_not_read_is_a_loss_with_its_name() {
    let unread = [(56, "Java heap graph"), (135, "stack sample (StackSample)"), (74, "streamed allocations")];
    for (field, name) in unread {
        let reading = read([event(1, 3, 0, "a"), packet(2).message(field, message().number(1, 7))]);
        assert_eq!((reading.events.len(), reading.lost()), (1, vec![(Loss::UnreadPacket, 1)]), "{name}");
        let advice = reading.losses.iter().next().map(|lost| lost.advice.into_owned()).unwrap_or_default();
        assert!(advice.contains(name) && advice.contains("ui.perfetto.dev"), "{advice}");
        // The helper requires an error for a trace of nothing else.
        let alone = read([packet(2).message(field, message().number(1, 7))]);
        assert_eq!(alone.lost(), [(Loss::UnreadPacket, 1)], "{name}");
    }
}

#[test]
fn a_command_line_names_a_process_only_without_another_name() {
    let described = |name: &str, chrome_type: u64| {
        let process = message().number(1, 5).bytes(2, "/usr/lib/chromium --type=x").bytes(6, name);
        let chrome = message().number(1, chrome_type);
        message().number(10, 1).message(60, message().number(1, 10).message(3, process).message(6, chrome))
    };
    let command = "/usr/lib/chromium --type=x";
    for (order, expected) in [
        (&[("", 0), ("GPU Process", 6), ("", 0)][..], "GPU Process"),
        (&[("GPU Process", 6), (command, 0)], "GPU Process"),
        (&[(command, 0), ("", 2), (command, 0)], "Renderer"),
        (&[("", 0), (command, 0)], command),
        (&[("a", 0), ("b", 0)], "b"),
    ] {
        // An event before its descriptor is resolved by another pass.
        for early in [None, Some(event(1, 3, 11, "a"))] {
            let packets = order.iter().map(|&(name, chrome_type)| described(name, chrome_type));
            let last = [super::encode::thread(11, 5, 6, "t"), event(2, 3, 11, "a")];
            let reading = read(early.into_iter().chain(packets).chain(last));
            let mut names = reading.metadata.iter().filter_map(|metadata| match metadata {
                Metadata::ProcessName { name, .. } => Some(&**name),
                _ => None,
            });
            assert_eq!(names.next_back(), Some(expected), "{order:?}");
        }
    }
}

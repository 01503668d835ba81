//! Kernel events that are spans together with others, and states and counters of devices.

use super::encode::{bundle, kernel_event, message};
use super::{read, shown, values};
use crate::model::{Event, EventFlags, EventKind as K, Loss};

#[test]
fn pairs_of_events_are_spans_with_the_fields_of_both() {
    let reading = read([bundle([
        kernel_event(1, 7, 58, message().number(1, 5).number(2, 0xff)),
        kernel_event(2, 7, 43, message().number(1, 8).number(2, 9)),
        kernel_event(3, 7, 44, message().number(2, 9).number(3, 0)),
        kernel_event(4, 7, 57, message().number(1, 5)),
        kernel_event(5, 0, 559, message().number(1, 236)),
        kernel_event(6, 0, 560, message().number(1, 236)),
    ])]);
    let irq = "Irq Cpu 3";
    let expected = [
        (1, K::Begin, "", "0xff", r#"{"work":5,"function":255}"#),
        (2, K::Begin, "", "ext4_sync_file", r#"{"dev":8,"ino":9}"#),
        (3, K::End, "", "", r#"{"ino":9,"ret":0}"#),
        (4, K::End, "", "", r#"{"work":5}"#),
        (5, K::Begin, irq, "IRQ (LocalTimer)", r#"{"vector":236}"#),
        (6, K::End, irq, "", r#"{"vector":236}"#),
    ];
    assert_eq!((shown(&reading), reading.lost()), (expected.to_vec(), vec![]));
}

#[test]
fn requests_of_block_devices_overlap_and_an_end_alone_is_an_instant() {
    let request = |sector| message().number(1, 8 << 20 | 1).number(2, sector);
    let reading = read([bundle([
        kernel_event(1, 7, 546, request(100)),
        kernel_event(2, 7, 546, request(200)),
        kernel_event(3, 0, 547, request(100)),
        kernel_event(4, 0, 547, request(300)),
        kernel_event(5, 7, 546, request(200)),
        kernel_event(6, 0, 547, request(200)),
        kernel_event(7, 7, 45, request(1)),
        kernel_event(8, 7, 125, request(1)),
    ])]);
    let short: Vec<_> =
        shown(&reading).into_iter().map(|(ts_ns, kind, track, name, _)| (ts_ns, kind, track, name)).collect();
    let (io, rq) = ("block_io 8:1", "block_rq 8:1");
    let expected = [
        (1, K::AsyncBegin, io, "block_io"),
        (2, K::AsyncBegin, io, "block_io"),
        (3, K::AsyncEnd, io, ""),
        (4, K::Instant, "", "block_io_done"),
        (5, K::AsyncEnd, io, ""),
        (5, K::AsyncBegin, io, "block_io"),
        (6, K::AsyncEnd, io, ""),
        (7, K::AsyncBegin, rq, "block_rq"),
        (8, K::AsyncEnd, rq, ""),
    ];
    assert_eq!((short, reading.lost()), (expected.to_vec(), vec![]));
    assert_eq!(reading.events[0].args, r#"{"dev":8388609,"sector":100}"#);
}

#[test]
fn resources_of_virtual_video_devices_are_spans_until_they_are_done() {
    let resource = |number: u64| message().number(5, 0x101).number(6, number).number(7, 4);
    let command = message().number(1, 4).number(2, 0x105);
    let reading = read([bundle([
        kernel_event(1, 7, 441, resource(102)),
        kernel_event(2, 7, 439, command.clone()),
        kernel_event(3, 8, 440, command),
        kernel_event(4, 8, 442, resource(102)),
    ])]);
    let (stream, args) = ("virtio_video stream #4 OUTPUT", r#"{"queue_type":257,"resource_id":102,"stream_id":4}"#);
    let expected = [
        (1, K::AsyncBegin, stream, "Resource #102", args),
        (2, K::Instant, "virtio_video stream #4 Requests", "RESOURCE_QUEUE", ""),
        (3, K::Instant, "virtio_video stream #4 Responses", "RESOURCE_QUEUE", ""),
        (4, K::AsyncEnd, stream, "", args),
    ];
    assert_eq!((shown(&reading), reading.lost()), (expected.to_vec(), vec![]));
}

#[test]
fn commands_of_adreno_gpus_have_the_time_of_their_own_clock() {
    let retired = |ts_ns, timestamp, start| {
        let event = message().number(1, 1).number(2, timestamp).number(6, start).number(7, start + 19_200);
        kernel_event(ts_ns, 9, 537, event.number(8, 2))
    };
    let queued = kernel_event(900, 7, 534, message().number(1, 1).number(2, 42));
    let sync = kernel_event(1_000_000, 7, 536, message().number(1, 1).number(2, 42).number(3, 19_200));
    let threads = message().number(10, 1).message(2, message().message(2, message().number(1, 7).number(3, 5)));
    let reading = read([
        threads.clone(),
        bundle([queued.clone(), retired(4_000_000, 42, 38_400), sync, retired(9_000_000, 43, 57_600)]),
    ]);
    let spans: Vec<_> = shown(&reading).into_iter().filter(|event| event.1 != K::Instant).collect();
    let track = "GPU (Ctx=1, Prio=2)";
    let expected = [
        (2_000_000, K::AsyncBegin, track, "GPU", r#"{"context":1,"timestamp":42}"#),
        (3_000_000, K::AsyncEnd, track, "", ""),
        (3_000_000, K::AsyncBegin, track, "GPU", r#"{"context":1,"timestamp":43}"#),
        (4_000_000, K::AsyncEnd, track, "", ""),
    ];
    assert_eq!((spans, reading.lost()), (expected.to_vec(), vec![]));
    let gpu = reading.events.iter().find(|event| event.name == "GPU").unwrap();
    assert_eq!(gpu.track.pid.to_string(), "5", "the process of the thread that queued them");
    let command = message().number(10, 1).message(2, message().message(1, message().number(1, 5).bytes(3, "app")));
    let named = read([threads.clone(), command, bundle([queued.clone(), retired(4_000_000, 42, 38_400)])]);
    assert!(named.events.iter().any(|event| &*event.track.name == "GPU app (Ctx=1, Prio=2)"), "the program is known");
    // Without the offset of the clock, they end at their event.
    let reading = read([threads, bundle([queued, retired(4_000_000, 42, 38_400)])]);
    let gpu = reading.events.iter().find(|event| event.name == "GPU").unwrap();
    assert_eq!(gpu.ts_ns, 3_000_000);
}

#[test]
fn a_video_buffer_has_a_flow_from_its_queueing_to_its_return() {
    let buffer = |index: u64| message().number(5, 0).number(17, 9).number(18, index).number(4, index);
    let reading = read([bundle([kernel_event(1, 7, 422, buffer(2)), kernel_event(5, 8, 423, buffer(2))])]);
    let flows: Vec<_> = reading.events.iter().filter(|event| matches!(event.kind, K::FlowStart | K::FlowEnd)).collect();
    let kinds: Vec<_> = flows.iter().map(|flow| (flow.ts_ns, flow.kind, flow.depth, flow.flags)).collect();
    let of = (Event::FLOW_OF_INSTANT, EventFlags::BIND_ENCLOSING);
    assert_eq!(kinds, [(1, K::FlowStart, of.0, of.1), (5, K::FlowEnd, of.0, of.1)]);
    assert_eq!(flows[0].value, flows[1].value);
}

#[test]
fn buffers_of_dma_heaps_last_until_they_are_freed() {
    let heap = |len: i64| message().number(1, 123).number(2, len.cast_unsigned()).number(3, 2048);
    let reading = read([bundle([kernel_event(100, 1, 351, heap(1024)), kernel_event(200, 2, 351, heap(-1024))])]);
    let spans: Vec<_> =
        shown(&reading).into_iter().map(|(ts_ns, kind, track, name, _)| (ts_ns, kind, track, name)).collect();
    let expected = [(100, K::AsyncBegin, "mem.dma_buffer", "1 kB"), (200, K::AsyncEnd, "mem.dma_buffer", "")];
    assert_eq!((spans, reading.lost()), (expected.to_vec(), vec![]));
    assert_eq!(values(&reading).len(), 4);
    let changes = reading.events.iter().filter(|event| &*event.track.name == "mem.dma_heap_change");
    assert_eq!(changes.map(|event| &*event.args).collect::<Vec<_>>(), [r#"{"inode":123}"#; 2]);
}

#[test]
fn an_allocation_has_the_pages_that_it_moved() {
    let moved = message().number(3, 10).number(4, 1000).number(5, 99);
    let reading = read([bundle([
        kernel_event(1, 7, 465, message().bytes(3, "area")),
        kernel_event(2, 7, 577, moved.clone()),
        kernel_event(3, 7, 576, message()),
        kernel_event(4, 7, 577, moved),
    ])]);
    let end = reading.events.iter().find(|event| event.kind == K::End).unwrap();
    assert_eq!(end.args, r#"{"cma_nr_migrated":10,"cma_nr_reclaimed":1000,"cma_nr_mapped":99}"#);
}

#[test]
fn an_allocation_has_no_pages_that_an_earlier_one_moved() {
    let reading = read([bundle([
        kernel_event(1, 7, 465, message().bytes(3, "area")),
        kernel_event(2, 7, 577, message().number(3, 10)),
        kernel_event(3, 7, 466, message()),
        kernel_event(4, 7, 465, message().bytes(3, "area")),
        kernel_event(5, 7, 576, message()),
    ])]);
    let ends: Vec<_> = reading.events.iter().filter(|event| event.kind == K::End).map(|event| &*event.args).collect();
    assert_eq!(ends[1], "");
}

#[test]
fn wakeup_sources_and_suspension_are_spans() {
    let named = |name: &str| message().bytes(1, name);
    let suspend = |start| named("syscore").number(2, 3).number(3, start);
    let callback = named("wifi").bytes(2, "pci");
    let reading = read([bundle([
        kernel_event(1, 7, 404, named("alarm")),
        kernel_event(2, 7, 113, suspend(1)),
        kernel_event(3, 7, 504, callback.clone()),
        kernel_event(4, 7, 505, callback),
        kernel_event(5, 7, 113, suspend(0)),
        kernel_event(6, 7, 405, named("alarm")),
        kernel_event(7, 7, 405, named("alarm")),
    ])]);
    let short: Vec<_> =
        shown(&reading).into_iter().map(|(ts_ns, kind, track, name, _)| (ts_ns, kind, track, name)).collect();
    let (sources, latency) = ("Wakeup sources", "Suspend/Resume Latency");
    let expected = [
        (1, K::AsyncBegin, sources, "alarm"),
        (2, K::AsyncBegin, latency, "syscore(3)"),
        (3, K::AsyncBegin, latency, "wifi pci"),
        (4, K::AsyncEnd, latency, ""),
        (5, K::AsyncEnd, latency, ""),
        (6, K::AsyncEnd, sources, ""),
        (7, K::Instant, "", "wakeup_source_deactivate"),
    ];
    assert_eq!((short, reading.lost()), (expected.to_vec(), vec![]));
}

#[test]
fn a_state_lasts_until_the_next_one() {
    let status = |state| message().bytes(1, "usb").number(2, state);
    let reading = read([bundle([
        kernel_event(1, 7, 489, status(0)),
        kernel_event(2, 7, 489, status(2)),
        kernel_event(3, 7, 520, message()),
        kernel_event(4, 7, 518, message()),
    ])]);
    let short: Vec<_> =
        shown(&reading).into_iter().map(|(ts_ns, kind, track, name, _)| (ts_ns, kind, track, name)).collect();
    let (device, gpu) = ("Runtime PM usb", "Mali MCU state");
    let expected = [
        (1, K::Begin, device, "Active"),
        (2, K::End, device, ""),
        (2, K::Begin, device, "Suspended"),
        (3, K::Begin, gpu, "ON"),
        (4, K::End, gpu, ""),
        (4, K::Begin, gpu, "IN SLEEP"),
    ];
    assert_eq!((short, reading.lost()), (expected.to_vec(), vec![]));
}

#[test]
fn counters_and_events_of_processes() {
    let work = message().number(1, 0).number(2, 1000).number(3, 50).number(4, 80).number(5, 20);
    let reading = read([bundle([
        kernel_event(1, 7, 326, message().number(2, (-900i64).cast_unsigned()).number(3, 70)),
        kernel_event(2, 7, 328, message().number(1, 5).number(2, 6).number(3, 7).number(4, 4)),
        kernel_event(3, 7, 347, message().number(1, 3).number(2, 10).number(3, 30)),
        kernel_event(4, 7, 509, message().number(1, 500).number(2, 1)),
        kernel_event(5, 7, 367, message().number(2, 0x800)),
        kernel_event(6, 7, 367, message().number(2, 0x600)),
        kernel_event(7, 7, 334, message().number(1, 70)),
        kernel_event(90, 7, 488, work),
    ])]);
    let expected = [
        (1, "70", "oom_score_adj", -900.0),
        (2, "7", "mem.mm.reclaim.count", 6.0),
        (2, "7", "mem.mm.reclaim.max_lat", 7.0),
        (2, "7", "mem.mm.reclaim.avg_lat", 5.0),
        (3, "", "mem.fastrpc[CDSP]", 30.0),
        (3, "7", "mem.fastrpc_change[CDSP]", 10.0),
        (4, "", "GPU 1 frequency", 500.0),
        (5, "", "Kfree Skb IP Prot", 1.0),
    ];
    let seen = values(&reading);
    let seen: Vec<_> = seen.iter().map(|(ts_ns, pid, name, value)| (*ts_ns, &**pid, *name, *value)).collect();
    assert_eq!(seen, expected);
    let freed = reading.events.iter().find(|event| &*event.track.name == "Kfree Skb IP Prot").unwrap();
    assert!([r#"{"protocol":"IP"}"#, r#"{"protocol":"IPV6"}"#].contains(&&*freed.args), "{}", freed.args);
    let spans: Vec<_> = shown(&reading).into_iter().filter(|event| event.3 != "kfree_skb").collect();
    let expected = [
        (7, K::Instant, "", "mem.oom_kill", r#"{"pid":70}"#),
        (50, K::AsyncBegin, "GPU 0 work", "uid=1000", r#"{"uid":1000,"total_active_duration_ns":20}"#),
        (80, K::AsyncEnd, "GPU 0 work", "", ""),
    ];
    assert_eq!((spans, reading.lost()), (expected.to_vec(), vec![(Loss::UnknownClock, 1)]));
}

#[test]
fn panels_firmware_and_parameters() {
    let panel = |letter: u8| message().number(1, 50).bytes(4, "flush").number(5, letter.into()).number(6, 3);
    let slice = |begin, own| message().number(1, own).number(2, 6).bytes(3, "fw").bytes(4, "boot").number(5, begin);
    let reading = read([bundle([
        kernel_event(1, 7, 490, panel(b'B')),
        kernel_event(2, 7, 490, panel(b'E')),
        kernel_event(3, 7, 490, panel(b'C')),
        kernel_event(10, 7, 600, slice(1, 8)),
        kernel_event(11, 7, 600, slice(0, 0)),
        kernel_event(12, 7, 596, message().number(1, 9).number(2, 6).bytes(4, "load").number(5, 40)),
        kernel_event(13, 7, 543, message().bytes(1, "volt").number(2, 5).number(3, 12)),
        kernel_event(14, 7, 420, message().number(3, 4).number(10, 8 << 8 | 1)),
    ])]);
    let spans: Vec<_> =
        shown(&reading).into_iter().map(|(ts_ns, kind, track, name, _)| (ts_ns, kind, track, name)).collect();
    let expected = [
        (1, K::Begin, "", "flush"),
        (2, K::End, "", ""),
        (8, K::Begin, "Firmware 6", "boot"),
        (11, K::End, "Firmware 6", ""),
    ];
    assert_eq!(spans, expected);
    let counters = values(&reading);
    let counters: Vec<_> = counters.iter().map(|(ts_ns, _, name, value)| (*ts_ns, *name, *value)).collect();
    assert_eq!(counters[..3], [(3, "flush", 3.0), (9, "load", 40.0), (12, "volt", 5.0)]);
    assert!(counters.contains(&(14, "f2fs_iostat_latency.[8:1].read_data_peak", 4.0)), "{counters:?}");
    assert_eq!(reading.lost(), []);
}

#[test]
fn commands_of_virtual_gpus_are_spans_until_their_response() {
    let types = |number: u32| message().number(2, 1).bytes(5, "control").number(9, 4).number(7, u64::from(number));
    let reading = read([bundle([
        kernel_event(1, 7, 468, types(11).number(8, 0x104)),
        kernel_event(2, 7, 468, types(12).number(8, 0x207)),
        kernel_event(5, 8, 469, types(11).number(8, 0x1100)),
        kernel_event(6, 8, 469, types(12).number(8, 0x1100)),
        kernel_event(7, 8, 469, types(10).number(8, 0x1100)),
    ])]);
    let short: Vec<_> =
        shown(&reading).into_iter().map(|(ts_ns, kind, track, name, _)| (ts_ns, kind, track, name)).collect();
    let track = "Virtgpu control";
    let expected = [
        (1, K::AsyncBegin, track, "RESOURCE_FLUSH"),
        (2, K::AsyncBegin, track, "SUBMIT_3D"),
        (5, K::AsyncEnd, track, ""),
        (6, K::AsyncEnd, track, ""),
        (7, K::Instant, "", "virtio_gpu_cmd_response"),
    ];
    assert_eq!((short, reading.lost()), (expected.to_vec(), vec![]));
}

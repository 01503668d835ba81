//! Kernel events without a meaning of their own, jobs and fences of GPUs, network events, and the packets of polled
//! statistics, logs and triggers.

use super::encode::{bundle, kernel_event, message, packet};
use super::{read, values};
use crate::formats::testing::Reading;
use crate::model::{EventKind as K, Loss};

/// Returns the time, kind, track, name and arguments of each event, including counters.
fn shown(reading: &Reading) -> Vec<(i64, K, &str, &str, &str)> {
    let events = reading.events.iter();
    events.map(|event| (event.ts_ns, event.kind, &*event.track.name, &*event.name, &*event.args)).collect()
}

#[test]
fn an_event_without_a_meaning_of_its_own_is_an_instant_with_its_fields() {
    let field = |name: &str| message().bytes(1, name);
    let generic = message()
        .bytes(1, "my_event")
        .message(2, field("text").bytes(3, "a\"b"))
        .message(2, field("signed").number(4, (-7i64).cast_unsigned()))
        .message(2, field("unsigned").number(5, u64::MAX))
        .message(2, field("absent"));
    let described = message().bytes(1, "loaded").message(2, message().bytes(1, "level").number(3, 1).number(5, 5));
    let bundle = message()
        .number(1, 2)
        .message(11, message().number(1, 70_000).bytes(2, &described.0))
        .message(2, kernel_event(5, 7, 70_000, message().number(1, (-3i64).cast_unsigned()).number(9, 4)));
    let reading = read([
        self::bundle([
            kernel_event(1, 7, 98, message().number(1, 9).number(2, 8)),
            kernel_event(2, 7, 327, generic),
            kernel_event(3, 8, 9_999, message().number(1, 5).bytes(2, "x")),
            kernel_event(4, 0, 98, message()),
        ]),
        message().number(10, 1).message(1, bundle),
    ]);
    let filemap = "mm_filemap_delete_from_page_cache";
    let expected = [
        (1, K::Instant, "", filemap, r#"{"pfn":9,"i_ino":8,"cpu":3}"#),
        (2, K::Instant, "", "my_event", r#"{"text":"a\"b","signed":-7,"unsigned":18446744073709551615,"cpu":3}"#),
        (3, K::Instant, "", "ftrace_event 9999", r#"{"1":5,"2":"x","cpu":3}"#),
        (4, K::Instant, "", filemap, r#"{"cpu":3}"#),
        (5, K::Instant, "", "loaded", r#"{"level":-3,"9":4,"cpu":2}"#),
    ];
    assert_eq!((shown(&reading), reading.lost()), (expected.to_vec(), vec![]));
    assert_eq!(reading.events[2].track.tid.to_string(), "8");
}

#[test]
fn arguments_beyond_the_limit_are_a_loss_and_the_event_is_shown() {
    let many = (1..=300).fold(message(), |event, number| event.number(number, 1));
    let reading = read([bundle([kernel_event(1, 7, 9_999, many)])]);
    assert_eq!((reading.events.len(), reading.lost()), (1, vec![(Loss::LongArgs, 1)]));
}

#[test]
fn jobs_of_a_ring_run_one_after_the_other() {
    let run = |fence: u64, id: u64| message().number(2, fence).number(4, id).bytes(6, "gfx");
    let done = |fence: u64| message().number(1, fence);
    let reading = read([bundle([
        // The end of a job that began before the recording.
        kernel_event(1, 7, 413, done(99)),
        kernel_event(2, 7, 412, run(50, 1)),
        kernel_event(3, 7, 412, run(51, 2)),
        kernel_event(4, 7, 412, run(52, 3)),
        kernel_event(6, 0, 413, done(50)),
        // The driver signals two jobs at once.
        kernel_event(9, 0, 413, done(52)),
        kernel_event(10, 7, 594, message().bytes(1, "sdma").number(5, 4).number(6, 8)),
        kernel_event(11, 7, 592, message().number(1, 4).number(2, 8)),
    ])]);
    let ring = "sched-gfx";
    let expected = [
        (1, K::Instant, "", "drm_sched_process_job", r#"{"fence":99,"cpu":3}"#),
        (2, K::Begin, ring, "job", r#"{"gpu sched job":1}"#),
        (6, K::End, ring, "job", ""),
        (6, K::Begin, ring, "job", r#"{"gpu sched job":2}"#),
        (9, K::End, ring, "job", ""),
        (9, K::Begin, ring, "job", r#"{"gpu sched job":3}"#),
        (9, K::End, ring, "job", ""),
        (10, K::Begin, "sched-sdma", "job", r#"{"fence seqno":8}"#),
        (11, K::End, "sched-sdma", "job", ""),
    ];
    assert_eq!((shown(&reading), reading.lost()), (expected.to_vec(), vec![]));
}

#[test]
fn a_job_with_the_fence_of_one_whose_end_was_lost_ends_that_one() {
    let run = |id: u64| message().number(2, 50).number(4, id).bytes(6, "gfx");
    let end = kernel_event(5, 0, 413, message().number(1, 50));
    let reading = read([bundle([kernel_event(1, 7, 412, run(1)), kernel_event(3, 7, 412, run(2)), end])]);
    let ring = "sched-gfx";
    let expected = [
        (1, K::Begin, ring, "job", r#"{"gpu sched job":1}"#),
        (3, K::End, ring, "job", ""),
        (3, K::Begin, ring, "job", r#"{"gpu sched job":2}"#),
        (5, K::End, ring, "job", ""),
    ];
    assert_eq!((shown(&reading), reading.lost()), (expected.to_vec(), vec![]));
}

#[test]
fn a_fence_begins_when_it_is_emitted_or_else_when_it_is_initialised() {
    let fence = |seqno: u64, timeline: &str| message().number(1, 5).number(3, seqno).bytes(4, timeline);
    let other = |seqno: u64| message().number(1, 6).number(3, seqno).bytes(4, "b");
    let reading = read([bundle([
        kernel_event(1, 7, 414, other(1)),
        kernel_event(2, 7, 416, other(1)),
        kernel_event(3, 7, 415, fence(1, "a")),
        kernel_event(4, 7, 414, fence(2, "a")),
        kernel_event(5, 7, 415, fence(2, "a")),
        kernel_event(6, 7, 416, fence(1, "a")),
        kernel_event(8, 7, 416, fence(2, "a")),
    ])]);
    let times: Vec<_> = shown(&reading).into_iter().map(|(ts_ns, kind, track, ..)| (ts_ns, kind, track)).collect();
    let expected = [
        (1, K::Begin, "fence-b-6"),
        (2, K::End, "fence-b-6"),
        (3, K::Begin, "fence-a-5"),
        (6, K::End, "fence-a-5"),
        (6, K::Begin, "fence-a-5"),
        (8, K::End, "fence-a-5"),
    ];
    assert_eq!(times, expected);
}

#[test]
fn devices_count_their_data_and_connections_have_their_states() {
    let data = |len: u64| message().number(1, len).bytes(2, "wlan");
    let state = |address: u64, state: u64| message().number(4, state).number(6, 6).number(8, address);
    let reading = read([bundle([
        kernel_event(1, 7, 360, data(1000)),
        kernel_event(2, 7, 360, data(1100)),
        kernel_event(3, 7, 361, data(4096)),
        // The end of a connection that began before the recording.
        kernel_event(4, 7, 362, state(1, 7)),
        kernel_event(5, 7, 362, state(2, 2)),
        kernel_event(6, 7, 362, state(2, 1).number(9, 5000).number(2, 80)),
        kernel_event(7, 7, 362, state(2, 7)),
        kernel_event(8, 7, 362, state(2, 12)),
        // Not TCP.
        kernel_event(9, 7, 362, message().number(4, 1).number(6, 17)),
    ])]);
    let device = |ts_ns, name, value| (ts_ns, String::new(), name, value);
    let counted =
        [device(1, "wlan Received KB", 0.0), device(2, "wlan Received KB", 2.0), device(3, "wlan Transmitted KB", 4.0)];
    assert_eq!(values(&reading), counted);
    assert_eq!(reading.events[1].args, r#"{"cpu":3,"len":1100}"#);
    let spans: Vec<_> = shown(&reading).into_iter().skip(3).map(|event| (event.0, event.1, event.2, event.3)).collect();
    let expected = [
        (4, K::Instant, "", "inet_sock_set_state"),
        (5, K::Begin, "TCP stream#1", "TCP_SYN_SENT(pid=7)"),
        (6, K::End, "TCP stream#1", ""),
        (6, K::Begin, "TCP stream#1", "TCP_ESTABLISHED(sport=5000,dport=80)"),
        (7, K::End, "TCP stream#1", ""),
        (8, K::Begin, "TCP stream#2", "TCP_NEW_SYN_RECV"),
        (9, K::Instant, "", "inet_sock_set_state"),
    ];
    assert_eq!(spans, expected);
}

#[test]
fn polled_statistics_of_processes_are_their_counters() {
    let process = message().number(1, 7).number(2, 3).number(10, (-900i64).cast_unsigned()).number(21, 5);
    let files = message().number(1, 8).message(15, message().number(1, 2));
    let reading = read([packet(1).message(9, message().message(1, process).message(1, files))]);
    let of_process = |name, value| (1, "7".to_owned(), name, value);
    let expected =
        [of_process("mem.virt", 3072.0), of_process("oom_score_adj", -900.0), of_process("runtime.user_ns", 5.0)];
    assert_eq!((values(&reading), reading.lost()), (expected.to_vec(), vec![(Loss::IgnoredPacket, 1)]));
}

#[test]
fn polled_statistics_of_the_system_are_its_counters() {
    let disk = |sectors: u64, time_ms: u64| {
        message().message(13, message().bytes(1, "sda").number(2, sectors).number(3, time_ms).number(8, sectors))
    };
    let stats = message()
        .message(2, message().number(1, 1).number(2, 9))
        .message(3, message().number(1, 2).number(2, 10).number(5, 11))
        .message(6, message().number(1, 17).number(2, 4))
        .message(8, message().number(1, 3).number(2, 6))
        .message(10, message().bytes(1, "bus").number(2, 200))
        .message(12, message().bytes(1, "0").bytes(2, "DMA").number(3, 5).number(3, 6))
        .message(14, message().number(1, 5).number(2, 77))
        .message(15, message().bytes(1, "thermal_zone0").number(2, 41).bytes(3, "cpu"))
        .message(16, message().number(1, 1).message(2, message().bytes(1, "C8").number(2, 300)))
        .message(18, message().bytes(1, "dentry").number(2, 2).number(3, 3))
        .message(18, message().bytes(1, "huge").number(2, u64::MAX).number(3, u64::MAX));
    // An unknown line of `/proc/vmstat` and an unknown pressure.
    let unknown = message().message(2, message().number(1, 9_999)).message(14, message().number(1, 99));
    let reading = read([
        packet(1).message(7, stats),
        packet(2).message(7, unknown),
        packet(3).message(7, disk(2048, 10)),
        packet(4).message(7, disk(4096, 510)),
    ]);
    let expected = [
        (1, "nr_free_pages", 9.0),
        (1, "CPU 2 user", 10.0),
        (1, "CPU 2 idle", 11.0),
        (1, "IRQ 17 count", 4.0),
        (1, "SoftIRQ NET_RX count", 6.0),
        (1, "bus Frequency", 200.0),
        (1, "mem.buddyinfo[0, DMA, 4 KiB]", 5.0),
        (1, "mem.buddyinfo[0, DMA, 8 KiB]", 6.0),
        (1, "psi.mem.some", 77.0),
        (1, "cpu Temperature", 41.0),
        (1, "CPU 1 time in C8", 300.0),
        (1, "mem.slab.dentry", 24_576.0),
        (1, "mem.slab.huge", (u64::MAX as f64).powi(2) * 4096.0),
        (4, "diskstat.[sda].read_amount", 1.0),
        (4, "diskstat.[sda].read_throughput", 2.0),
        (4, "diskstat.[sda].write_amount", 0.0),
        (4, "diskstat.[sda].write_throughput", 0.0),
        (4, "diskstat.[sda].discard_amount", 0.0),
        (4, "diskstat.[sda].discard_throughput", 0.0),
        (4, "diskstat.[sda].flush_amount", 2048.0),
        (4, "diskstat.[sda].flush_time", 0.0),
    ];
    let counted: Vec<_> = values(&reading).into_iter().map(|(ts_ns, _, name, value)| (ts_ns, name, value)).collect();
    assert_eq!((counted, reading.lost()), (expected.to_vec(), vec![(Loss::IgnoredPacket, 1)]));
}

#[test]
fn sizes_in_pages_are_those_of_the_machine() {
    let slab = message().message(18, message().bytes(1, "dentry").number(2, 1).number(3, 2));
    let free = message().message(12, message().bytes(1, "0").bytes(2, "DMA").number(3, 5));
    let reading = read([
        message().message(45, message().number(6, 16_384)),
        packet(1).message(7, slab),
        packet(2).message(7, free),
    ]);
    let counted: Vec<_> = values(&reading).into_iter().map(|(_, _, name, value)| (name, value)).collect();
    assert_eq!(counted, [("mem.slab.dentry", 32_768.0), ("mem.buddyinfo[0, DMA, 16 KiB]", 5.0)]);
}

#[test]
fn messages_of_a_log_are_on_their_threads_and_triggers_on_a_track() {
    let line = message().number(2, 7).number(3, 8).number(5, 40).bytes(6, "zygote").number(7, 5).bytes(8, "slow");
    let clocks =
        message().message(1, message().number(1, 1).number(2, 40)).message(1, message().number(1, 6).number(2, 4));
    let reading = read([
        message().number(10, 1).message(6, clocks),
        packet(9).message(39, message().message(1, line)),
        packet(5).message(46, message().bytes(1, "slow_frame").bytes(2, "app").number(3, 10)),
        packet(6).message(109, message().bytes(1, "study").fixed(2, 11)),
    ]);
    let expected = [
        (4, K::Instant, "", "zygote", r#"{"message":"slow","priority":"warn"}"#),
        (5, K::Instant, "Trace Triggers", "slow_frame", r#"{"producer_name":"app","trusted_producer_uid":10}"#),
        (6, K::Instant, "Trace Triggers", "study", r#"{"chrome_trigger.name":"study","chrome_trigger.name_hash":11}"#),
    ];
    assert_eq!((shown(&reading), reading.lost()), (expected.to_vec(), vec![]));
    let thread = &reading.events[0].track;
    assert_eq!((thread.pid.to_string(), thread.tid.to_string()), ("7".to_owned(), "8".to_owned()));
}

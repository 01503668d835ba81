//! Tests of trace text that options and clocks of the tracer change.

use super::*;

#[test]
fn the_option_fields_prints_the_same_events_as_the_usual_text() {
    let head = |us: u32| format!("bash-7    [001] d..2.  5.{us:06}: ");
    let events = [
        (
            "sched_switch: prev_comm=bash prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=ls next_pid=9 next_prio=120",
            "sched_switch: prev_comm=bash prev_pid=0x7 (7) prev_prio=0x78 (120) prev_state=0x1 (1) next_comm=ls next_pid=0x9 (9) next_prio=0x78 (120)",
        ),
        (
            "sched_waking: comm=sh pid=8 prio=120 target_cpu=001",
            "sched_waking: comm=sh pid=0x8 (8) prio=0x78 (120) target_cpu=0x1 (1)",
        ),
        ("softirq_entry: vec=1 [action=TIMER]", "softirq_entry: vec=0x1 (1)"),
        ("sys_enter: NR 33 (b, 1)", "sys_enter: id=0x21 (33) args=<INVALID-SIZE>"),
        ("sys_exit: NR 33 = -2", "sys_exit: id=0x21 (33) ret=0xfffffffffffffffe (-2)"),
    ];
    let shown = |is_option: bool| {
        let lines =
            (1..).zip(&events).map(|(us, (usual, option))| head(us) + if is_option { option } else { usual } + "\n");
        let reading = read(&format!("# tracer: nop\n{}", lines.collect::<String>()));
        assert_eq!(reading.lost(), []);
        let events = reading.events.iter().map(|event| (event.ts_ns, event.kind, event.name.clone(), event.track.kind));
        events.collect::<Vec<_>>()
    };
    assert_eq!(shown(true), shown(false));
    let reading = read(&(head(1) + "my_event: a=0x1f (31) b=0x5 c=0x2 (x) d=0x1(1)\n"));
    assert_eq!(reading.events[0].args, r#"{"fields":"a=31 b=0x5 c=0x2 (x) d=0x1(1)","cpu":1}"#);
}

#[test]
fn times_in_ticks_are_noted_once() {
    let reading = read("# tracer: nop\nbash-7 [001] d..2. 17: my_event: a\nbash-7 [001] d..2. 18: my_event: a\n");
    assert_eq!(threads(&reading), [(17, EventKind::Instant, "my_event"), (18, EventKind::Instant, "my_event")]);
    assert_eq!(reading.lost(), [(Loss::UnknownClock, 1)]);
}

#[test]
fn the_latency_format_is_read_with_verbose_lines_too() {
    let reading = read(
        "# tracer: nop\n#\n# nop latency trace v1.1.5 on 6.18\n\
             a b [x]   22450   1 9 00000002 0000000a [333d7bcf2] 10.148ms (+0.005ms): my_event: ms (+1ms): 5\n\
             <idle>       0   0 9 00000002 0000000b [333d7bcf3] 10.153ms (+0.005ms): other\n\
                bash   22450   1 9 00000002 0000000c [333d7bcf4] 10.15",
    );
    let instant = EventKind::Instant;
    assert_eq!(threads(&reading), [(10_148_000, instant, "my_event"), (10_153_000, instant, "other")]);
    assert_eq!(reading.events[0].args, r#"{"fields":"ms (+1ms): 5","cpu":1}"#);
    assert_eq!(reading.events[0].track.tid, Id::Number(22450));
    assert_eq!(reading.lost(), [(Loss::Truncated, 1)]);
}

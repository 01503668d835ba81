//! Tests of the scheduling panel.

use egui::vec2;
use egui_kittest::kittest::{NodeT, Queryable};

use crate::copied::copied;
use crate::frame::run_by_shell;
use crate::session::Session;

const SCREEN: egui::Vec2 = vec2(1400.0, 800.0);

/// On one CPU: "busy" runs for 3 ms and 1 ms, "calm" for 2 ms after it waited for 3 ms. Each is woken by the other.
pub(crate) const TRACE: &str = "# tracer: nop
          <idle>-0     (-----) [000] d... 1.000000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=busy next_pid=7 next_prio=120
            busy-7     (    7) [000] d... 1.000000: sched_waking: comm=calm pid=8 prio=120 target_cpu=000
            busy-7     (    7) [000] d... 1.003000: sched_switch: prev_comm=busy prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=calm next_pid=8 next_prio=120
            calm-8     (    8) [000] d... 1.004000: sched_waking: comm=busy pid=7 prio=120 target_cpu=000
            calm-8     (    8) [000] d... 1.005000: sched_switch: prev_comm=calm prev_pid=8 prev_prio=120 prev_state=D ==> next_comm=busy next_pid=7 next_prio=120
            busy-7     (    7) [000] d... 1.006000: sched_switch: prev_comm=busy prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
          <idle>-0     (-----) [000] d... 1.010000: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=busy next_pid=7 next_prio=120
";

fn rows(session: &Session) -> Vec<String> {
    let items = session.harness.query_all_by_role(egui::Role::ListItem);
    items.map(|item| item.accesskit_node().label().unwrap_or_default()).collect()
}

fn opened(text: &str) -> Session {
    let mut session = Session::empty(SCREEN, 1.0);
    session.open_text("trace.txt", text);
    session.give("Scheduling");
    session
}

#[test]
fn threads_processes_and_cpus_have_their_times_and_are_sorted_by_a_click() {
    let mut session = opened(TRACE);
    session.until("the threads", |session| rows(session).len() == 2);
    let found = rows(&session);
    // The run that begins at the end of the trace takes no time.
    assert!(found[0].starts_with("busy, on CPU 4.000 ms, 2 slices, longest wait 1.000 ms"), "{found:?}");
    assert!(found[1].starts_with("calm, on CPU 2.000 ms, 1 slice, longest wait 3.000 ms"), "{found:?}");
    assert!(session.says("Label: exact"));
    session.click("Copy");
    let table = copied(&session).expect("a table");
    let heads = "Thread\tTID\tProcess\tOn CPU (ns)\tUtilisation\tRunnable (ns)\tSleeping (ns)\tUninterruptible (ns)\t";
    assert!(table.starts_with(heads), "{table}");
    assert!(
        table.contains("calm\t8\tcalm 8\t2000000\t0.200000\t3000000\t0\t5000000\t0\t1\t2000000\t3000000"),
        "{table}"
    );
    session.click("Copy as command");
    let line = copied(&session).expect("a command");
    let printed = run_by_shell(&line);
    assert!(
        printed.starts_with("thread,tid,process,pid,running,runnable,sleeping,uninterruptible,other,"),
        "{printed}"
    );
    assert!(printed.contains("calm,8,calm,8,2000000,3000000,0,5000000,0,1,2000000,3000000,0.2\n"), "{printed}");
    // The other thread has the longest wait.
    session.click("Longest wait");
    session.until("the other order", |session| rows(session).first().is_some_and(|row| row.starts_with("calm")));
    session.click("Processes");
    session.until("the processes", |session| rows(session).iter().any(|row| row.starts_with("busy 7, on CPU")));
    session.click("CPUs");
    session.until("the CPU", |session| rows(session) == ["CPU 0, busy 6.000 ms, 4 slices"]);
    session.click("Copy as command");
    let printed = run_by_shell(&copied(&session).expect("a command"));
    assert_eq!(printed, "cpu,busy,idle,slices,longest_run,utilisation\n0,6000000,4000000,4,3000000,0.6\n");
    session.click("Threads");
    session.until("the threads", |session| rows(session).len() == 2);
    session.click("Filter names");
    session.type_text("CALM");
    session.until("one thread", |session| rows(session).len() == 1);
}

#[test]
fn a_click_on_a_process_shows_its_threads_only() {
    // Two processes with the same name.
    let mut session = opened(&TRACE.replace("calm", "busy"));
    session.until("the threads", |session| rows(session).len() == 2);
    session.click("Processes");
    session.until("the processes", |session| rows(session).iter().any(|row| row.starts_with("busy 8,")));
    let second = rows(&session).into_iter().find(|row| row.starts_with("busy 8,")).expect("listed");
    session.click(&second);
    session.until("its thread", |session| rows(session).len() == 1 && rows(session)[0].contains("on CPU 2.000 ms"));
    session.click("CPUs");
    session.until("the CPU", |session| rows(session) == ["CPU 0, busy 6.000 ms, 4 slices"]);
    session.click("Threads");
    session.until("its thread", |session| rows(session).len() == 1);
    session.click("Show the threads of all processes");
    session.until("all threads", |session| rows(session).len() == 2);
}

#[test]
fn shares_of_time_of_a_thread_a_cpu_and_a_process_become_tracks() {
    let mut session = opened(TRACE);
    session.give("Scheduling");
    let derive = |session: &mut Session, head: &str| {
        let head = session.harness.query_all_by_label_contains(head).next().expect("a head").rect();
        session.right_click(head.left_center() + vec2(40.0, 0.0));
        session.until("the menu", |session| session.says("Derive tracks of its scheduling"));
        session.click("Derive tracks of its scheduling");
    };
    derive(&mut session, "CPU 0,");
    session.until("the CPU", |session| session.says("Derived track CPU 0: busy, 0 to 100 %"));
    derive(&mut session, "calm 8,");
    for state in ["on CPU, 0 to 100 %", "runnable, 0 to 100 %", "uninterruptible, I/O, 0 to 100 %"] {
        let label = format!("Derived track calm 8: {state}");
        session.until(&label, |session| session.says(&label));
    }
    session.until("no state of sleep", |session| session.says("Derived track calm 8: sleeping, no rows"));
}

#[test]
fn a_trace_without_scheduling_says_so() {
    let mut session = opened(r#"[{"ph":"X","name":"all","pid":1,"tid":1,"ts":0,"dur":1000}]"#);
    session.until("the reason", |session| session.says("This trace has no scheduling data"));
    assert!(rows(&session).is_empty());
}

#[test]
fn a_run_on_a_cpu_leads_to_its_waker_and_to_its_state() {
    let mut session = opened(TRACE);
    session.until("the threads", |session| rows(session).len() == 2);
    // The run of "calm" from 3 to 5 ms; the trace has margins on both sides.
    let row = session.harness.get_by_label_contains("CPU 0, unfolded").rect().center().y;
    let canvas = session.harness.get_by_role(egui::Role::Canvas).rect();
    let pos = egui::pos2(canvas.left() + canvas.width() * 0.41, row);
    session.harness.event(egui::Event::PointerMoved(pos));
    session.harness.step();
    for pressed in [true, false] {
        let (button, modifiers) = (egui::PointerButton::Primary, egui::Modifiers::NONE);
        session.harness.event(egui::Event::PointerButton { pos, button, pressed, modifiers });
        session.harness.step();
    }
    session.until("the waker", |session| session.says("Woken by"));
    assert!(session.says("busy  ·  CPU 0") && session.says("Same run"), "{}", session.node_texts().join("\n"));
    session.click("Running  ·  calm");
    session.until("its state", |session| session.says("busy 7") && session.says("Running  ·  busy"));
}

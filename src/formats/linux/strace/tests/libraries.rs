//! Tests of the names of library calls, as `ltrace` prints them.

use crate::formats::testing::{format_of, read};
use crate::model::Loss;

#[test]
fn calls_of_libraries_as_ltrace_names_them_are_calls() {
    let reading = read(
        "7 1795166531.000001 libfoo.so->bar(32) = 0x5 <0.000003>\n7 1795166531.000002 malloc@libc.so.6(32) = 0x5 <0.000003>\n\
         7 1795166531.000004 exit@SYS(0 <no return ...>\n7 1795166531.000005 +++ exited (status 0) +++\n",
    );
    assert_eq!(reading.names(), ["libfoo.so->bar", "malloc@libc.so.6", "exit@SYS", "exited (status 0)"]);
    assert_eq!(reading.lost(), [(Loss::UnmatchedBegin, 1)]);
}

#[test]
fn a_breakpoint_that_ltrace_did_not_expect_is_an_instant() {
    let reading = read(
        "7 1795925350.816775 rand(0x7f, 0x7f <unfinished ...>\n8 1795925350.817114 rand(0x7f) = 0x4 <0.004091>\n\
         7 1795925350.821275 unexpected breakpoint at 0x55626ad1f1c5\n7 1795925350.821300 <... rand resumed> ) = 1\n",
    );
    assert_eq!((reading.names(), reading.lost()), (vec!["rand", "rand", "unexpected breakpoint"], vec![]));
    assert_eq!(reading.events[2].args, r#"{"args":"0x55626ad1f1c5"}"#);
}

#[test]
fn names_of_cpp_include_their_parameters() {
    for (name, args) in [
        ("std::ios_base::Init::Init()", "0x55bb, 0xffff"),
        ("operator new(unsigned long)", "5, 1"),
        ("f(int)", "5"),
        ("g(int)@libw.so", "5"),
        ("std::map<int, A<char*> >::operator[](int&&)", "0x7f"),
        ("std::string::compare(std::string const&) const", "0x55, 0x5"),
        ("std::function<void (int)>::operator()(int) const", "0x7f"),
        ("std::ostream::operator<<(std::ostream& (*)(std::ostream&))", "0x7f, 0x5"),
        ("main::{lambda(int)#1}::operator()(int) const", ""),
        ("(anonymous namespace)::h(char const*)", "\"a(b) = 1\", '('"),
        ("f<(E)1>(E)", "1"),
        ("__gxx_personality_v0@libstdc++.so.6", "1"),
        ("std::s[abi:cxx11](A const&)", "\")(\""),
    ] {
        let reading = read(&format!(
            "7 1795166531.000001 {name}({args}) = 0x7f <0.000003>\n7 1795166531.000005 {name}({args} <unfinished ...>\n\
             7 1795166531.000009 <... {name} resumed> ) = 1\n",
        ));
        assert_eq!((reading.names(), reading.lost()), (vec![name, name], vec![]));
        let shown = if args.is_empty() { String::new() } else { format!("\"args\":{args:?},") };
        assert_eq!(reading.events[0].args, format!("{{{shown}\"ret\":\"0x7f\"}}"));
        assert_eq!(reading.events[1].value, 4_000);
    }
}

#[test]
fn brackets_in_the_arguments_of_system_calls_are_not_parameters() {
    for args in ["1, \")(\", 2", "3</a (deleted)>, {x=F(1)}", "3, F(1)|G(2), (3)", "((1)|(2))"] {
        let reading = read(&format!("7 1795166531.000001 write({args}) = -1 EBADF (Bad file) <0.000003>\n"));
        assert_eq!((reading.names(), reading.lost()), (vec!["write"], vec![]), "{args}");
        assert!(reading.events[0].args.starts_with(&format!("{{\"args\":{args:?},")), "{}", reading.events[0].args);
    }
    for log in ["12:00:01 started the server (5) = 3\n", "12:00:01 a) b(c) = 1\n"] {
        assert_eq!(format_of(log.as_bytes()), None, "{log}");
    }
}

#[test]
fn calls_are_resumed_without_their_library() {
    for (begun, resumed) in [("w->f", "f"), ("f@libc.so.6", "f"), ("w->operator->@x", "operator->"), ("f", "f")] {
        let reading = read(&format!(
            "7 1795166531.000001 {begun}(1 <unfinished ...>\n7 1795166531.000003 <... {resumed} resumed> ) = 3\n"
        ));
        assert_eq!((reading.names(), reading.lost()), (vec![begun], vec![]));
    }
    let other = read("7 1795166531.000001 af@x(1 <unfinished ...>\n7 1795166531.000003 <... f resumed> ) = 3\n");
    assert_eq!(other.lost(), [(Loss::UnmatchedBegin, 1)]);
}

#[test]
fn a_system_call_that_ends_without_a_result_has_its_duration() {
    // As `ltrace -S` prints a call that a signal interrupts.
    for (end, ns) in [(") =  <0.000408>", 408_000), (")       =  <0.000408>", 408_000), (") = ", 500_000)] {
        let reading = read(&format!(
            "7 1795166531.000100 SYS_nanosleep(0, 1 <unfinished ...>\n7 1795166531.000200 --- SIGCHLD (Child exited) ---\n\
             7 1795166531.000600 <... SYS_nanosleep resumed> {end}\n"
        ));
        assert_eq!(
            (reading.names(), reading.lost()),
            (vec!["SYS_nanosleep", "SIGCHLD (Child exited)"], vec![]),
            "{end}"
        );
        let call = &reading.events[0];
        assert_eq!((call.value, &*call.args), (ns, r#"{"args":"0, 1"}"#), "{end}");
    }
}

#[test]
fn a_call_lasts_at_least_as_long_as_those_in_it() {
    // The duration of `_setjmp` excludes that of the call in it.
    let reading = read(
        "7 1795166531.000100 _setjmp@x(1 <unfinished ...>\n7 1795166531.000200 __sigsetjmp@x(0) = 0 <0.000142>\n\
         7 1795166531.000400 <... _setjmp resumed> ) = 0 <0.000142>\n7 1795166531.000500 f(1 <unfinished ...>\n\
         7 1795166531.000510 g(0) = 0 <0.000001>\n7 1795166531.000600 <... f resumed> ) = 0 <0.000090>\n",
    );
    let mut found: Vec<_> = reading.events.iter().map(|event| (event.ts_ns % 1_000_000, event.value)).collect();
    found.sort_unstable();
    let expected = [(100_000, 300_000), (200_000, 142_000), (500_000, 90_000), (510_000, 1_000)];
    assert_eq!((found, reading.lost()), (expected.to_vec(), vec![]));
}

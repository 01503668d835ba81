//! Tests that files of other tools are refused by name, and that similar files are not.

mod folders;
mod reports_beside;

use super::names::FOLDERS;
use super::*;
use crate::base::generated_docs::assert_generated;
use crate::formats::ReadContext;
use crate::formats::testing::{file_of, format_of, read_bytes};

/// First bytes of files, and the text that their error must contain.
const REFUSED: &[(&[u8], &str)] = &[
    (b"\tMon Jan  1 12:00 2024 Time and Allocation Profiling Report  (Final)\n\n\t   w +RTS -p -RTS\n", "hs-speedscope"),
    (
        br#"{"program":"w","arguments":["w"],"rts_arguments":["-pj"],"end_time":"Mon","initial_capabilities":1,"cost_centres":[{"id":1}]}"#,
        "hs-speedscope",
    ),
    (
        br#"{"devToolsSnapshot":true,"devToolsVersion":"2.1","connectedApp":{},"activeScreenId":"performance","performance":{}}"#,
        "jq .performance",
    ),
    (
        b"{\"type\":\"Metric\",\"data\":{\"name\":\"http_reqs\",\"type\":\"counter\",\"contains\":\"default\",\"thresholds\":[],\"submetrics\":null},\"metric\":\"http_reqs\"}\n",
        "--traces-output",
    ),
    (b"QPERFSTREAM\0\0\0\x01", "perf.data"),
    (b"time:   0.001; rss:   33MB ->   35MB (   +2MB)\tparse_crate\n", "-Zself-profile"),
    (b"--------- beginning of main\n11-28 12:00:00.000  1000  1001 I Tag: text\n", "atrace"),
    (b"%EventDef PajeDefineContainerType 0\n%  Alias string\n%EndEventDef\n", "pj_dump"),
    (b"tr\xfdP", "tracy-csvexport -u"),
    (b"tlZ\x04", "tracy-csvexport -u"),
    (b"tZst", "tracy-csvexport -u"),
    (b"\x17\x08\x44tracing6\0", "trace-cmd report"),
    (b"go 1.22 trace\0\0\0", "go tool trace"),
    (b"FLR\0\0\x02", "jfrconv"),
    (b"execve(\"/bin/ls\", [\"ls\"], 0x7ff /* 1 var */) = 0\nbrk(NULL) = 0x5\n", "strace -f -ttt -T"),
    (b"16955 execve(\"/bin/ls\", [\"ls\"], 0x7ff /* 1 var */) = 0\n", "strace -f -ttt -T"),
    (b"__libc_start_main(0x40, 1, 0x7ff, 0 <unfinished ...>\nmalloc(32) = 0x5\n", "ltrace"),
    (b"Activity.TraceId:            5b8e\nActivity.SpanId: 1\n", ".NET's console exporter"),
    (b"[otel.javaagent x] [main] INFO io.x.LoggingSpanExporter - 'GET /' : 5b8e\n", "OTEL_TRACES_EXPORTER"),
    (b"Spans\nResource\nSpan #0\n\tTraceId      : 5b\n", "collector"),
    (b"#<struct OpenTelemetry::SDK::Trace::SpanData\n name=\"test\",\n", "collector"),
    (
        b"{\n  name          : f1\n  trace_id      : 5a7a\n  span_id       : 0a1b\n  start         : 1\n  duration      : 2\n",
        "collector",
    ),
    (b"<table class='xdebug-trace' dir='ltr'>\n", "xdebug.trace_format=1"),
    (b"<table style='hyphens: auto;' class='xdebug-trace' dir='ltr' border='1'>\n", "xdebug.trace_format=1"),
    (b"# DURATION     TID     FUNCTION\n            [ 28141] | main() {\n", "open the folder of the recording"),
    (
        b"#      TASK NAME      MODULE NAME   FUNCTION\n               t                t | main() {\n",
        "open the folder of the recording",
    ),
    (b"#  ELAPSED    FUNCTION\n  34.199 ms | main();\n", "open the folder of the recording"),
    (
        b"  Total time   Self time       Calls  Function\n  ==========  ==========  ==========  ====================\n",
        "open the folder of the recording",
    ),
    (
        b"  Total time   Self time     TID   Num funcs  Task name\n  ==========  ==========  ======  =====\n",
        "open the folder of the recording",
    ),
    (b"#\n# uftrace diff\n#  [0] base: ud\n", "open the folder of the recording"),
    (
        b"# Function Call Graph for 't' (session: e6be)\n========== FUNCTION CALL GRAPH ==========\n",
        "open the folder of the recording",
    ),
    (b"========== TASK GRAPH ==========\n# TOTAL TIME   SELF TIME     TID     TASK NAME\n", "open the folder of the recording"),
    (b"uftrace file header: magic         = 4674726163652100\n", "open the folder of the recording"),
    (b"# version\":\"uftrace v0.13\"\n", "open the folder of the recording"),
    (b"@ inst_retired.any [35705 samples]\n\n20.86%  [7447]     f @ /boot/kernel/zfs.ko\n", "stackcollapse-pmc.pl"),
    (b"Analysis of sampling Safari (pid 123) every 1 millisecond\n", "stackcollapse-sample.awk"),
    (b"2024-01-02 03:04:05\nFull thread dump OpenJDK 64-Bit Server VM\n", "stackcollapse-jstack.pl"),
    (b"Thread 1 (Thread 0x7f (LWP 123)):\n#0  0x00007f in read () from /lib/libc.so\n", "stackcollapse-gdb.pl"),
    (b"[New LWP 124]\n[Thread debugging using libthread_db enabled]\n#0  main () at a.c:3\n", "stackcollapse-gdb.pl"),
    (
        b"[Thread debugging using libthread_db enabled]\n\nThread 7 (Thread 0x7f (LWP 123) \"x\"):\n",
        "stackcollapse-gdb.pl",
    ),
    (b"\xfb)\x03\xfa\x01~\xe9\0\0\0\0\xfa0<method 'disable' of", "pyprof2calltree"),
    (b"{)\x03\xfa\x01~\xe9\0\0\0\0\xfa0<method 'disable' of", "pyprof2calltree"),
    (b"CPU     ID                    FUNCTION:NAME\n  1     64     :tick-60s\n", "DTrace"),
    (b"# To display the perf.data header info, please use --header\n#\n", "perf script"),
    (b"# started on Mon\n\n Performance counter stats for './w':\n", "perf stat"),
    (b"# started on Mon\n\n2.55,msec,task-clock,2549054,100.00,0.558,CPUs utilized\n", "perf stat"),
    (
        b"# started on Mon\n\n#           time             counts unit events\n 0.005 1.15 msec task-clock\n",
        "perf stat",
    ),
    (b"#           time             counts unit events\n     0.005   1.15 msec task-clock\n", "perf stat"),
    (
        b"# started on Mon\n\n{\"counter-value\" : \"0.63\", \"unit\" : \"msec\", \"event\" : \"task-clock\"}\n",
        "perf stat",
    ),
    (br#"{"interval" : 0.005, "counter-value" : "0.63", "event" : "task-clock", "event-runtime" : 63}"#, "perf stat"),
    (b"[    0.000000] Linux version 6.1\n", "dmesg"),
    (b"[ 1234.567890] usb 1-1: new device\n", "dmesg"),
    (b"[Sat Nov 28 12:34:03 2026] Linux version 6.18\n", "dmesg"),
    (b"2024-01-02T03:04:05.678+0000: 0.123: [GC (Allocation Failure) [PSYoungGen: 65536K->10720K(76288K)]\n", "asprof"),
    (b"Java HotSpot(TM) 64-Bit Server VM\nMemory: 4k page\n0.123: [Full GC (System.gc())  65536K->1K(2K)\n", "asprof"),
    (b"[0.009s] Using G1\n[0.100s] GC(0) Pause Young (Normal) 23M->4M(256M) 3.456ms\n", "asprof"),
    (b"[9ms] GC(0) Pause Young (Normal) 23M->4M(256M) 3.456ms\n", "asprof"),
    (b"\n\n@[sshd]: 1\n@[kworker/0:1]: 15\n", "counts that bpftrace prints"),
    (b"@bytes: 4096\n", "counts that bpftrace prints"),
    (b"@usecs[read]: \n[2, 4)      1 |@@@@    |\n", "counts that bpftrace prints"),
    (
        b"         5 function calls in 0.000 seconds\n\n   Ordered by: standard name\n\n   ncalls  tottime  percall  cumtime\n",
        "python -m cProfile -o",
    ),
    (b"Measure Mode: wall_time\nThread ID: 8\nTotal: 0.5\n\n %self      total      self  calls  name\n", "call_tree"),
    (b"sample:\n  event_type: cpu-clock\n  time: 30102012\n", "simpleperf as text"),
    (b"\0\0\0\0\x03\0\0\0\0\0\0\0\x10\x27\0\0\0\0\0\0", "CPU profile of gperftools"),
    (
        b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x27\x10\0\0\0\0\0\0\0\0",
        "CPU profile of gperftools",
    ),
    (b"--- symbol\nbinary=/bin/w\n0x401136 main\n---\n--- profile\n\0", "pprof --collapsed"),
    (b"--- contention\ncycles/second = 2993000000\nsampling period = 100\n", "pprof --collapsed"),
    (b"MMES\x05\0\0\0", "measureme"),
    (b"@[kstack, ustack, comm]: \n@[\n   a+1\n]: 3\n", "stackcollapse-bpftrace.pl"),
    (b"memray\0\x0c\0\0\0", "memray"),
    (b"\x04\x22\x4d\x18\x40\x40\xc0\xbe\x69\0\0\xf9\x05memray\0\x0d\0\0\0", "memray flamegraph"),
    (b"\x04\x22\x4d\x18\x40\x40\xc0\xbe\x69\0\0\xf9\x05{\"traceEvents", "lz4 -d"),
    (b"\x03\0\0\0\xff\0\0\0\0\xca\x9a\x3b\0\0\0\0\0\0\0\0\0\0\0\0", "llvm-xray"),
    (b"02:35:36.582152 common-main.c:57                  version 2.47.3\n", "GIT_TRACE2_EVENT"),
    (b"02:35:36.582627 read-cache.c:2387       performance: 0.000037 s:  read cache .git/index\n", "GIT_TRACE2_EVENT"),
    (b"\n  _     ._   __/__   _ _  _  _ _/_   Recorded: 02:31:22  Samples:  59\n", "-r speedscope"),
    (b"<!DOCTYPE html>\n<html><head>\n<style>.pyinstrument</style>\n", "-r speedscope"),
    (
        b"\n<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<title>memray - flamegraph report</title>\n",
        "memray flamegraph",
    ),
    (br#"{"start_time": 1.5,"duration": 0.5,"sample_count": 51,"root_frame": {"#, "-r speedscope"),
    (b"\x80\x02cyappi\nYFuncStats\nq\0)\x81", "callgrind"),
    (b"allocator,num_allocations,size,tid,thread_name,stack_trace\r\nMALLOC,1,1340,1,0x1,f;a.py;5\r\n", "memray"),
    (br#"{"total_num_allocations": 1643, "total_bytes_allocated": 9, "allocation_size_histogram": []}"#, "memray"),
    (br#"{"version": 0, "costs": [{"unit": "bytes"}], "events": [{"callchain": [0], "cost": [1]}]}"#, "gprof2dot"),
    (b"[0.003s][info][gc] Using G1\n[0.004s][info][gc,init] CPUs: 2 total, 2 available\n", "async-profiler"),
    (b"{\n  \"code\": [\n  {\n    \"name\": \"/usr/bin/node\",\n    \"type\": \"SHARED_LIB\"\n", "--cpu-prof"),
    (br#"{"version":1.2,"mode":"cpu","interval":1000,"samples":0,"gc_samples":0,"missed_samples":0}"#, "stackprof"),
    (b"NYTProf 5 0\n#Perl profile database. Generated by Devel::NYTProf\n", "nytprofcg"),
    (b" Percent |\tSource code & Disassembly of fib for cpu-clock:ppp (75 samples)\n---\n", "perf.data"),
    (b"\n ---\n  Task                  |   Runtime ms  | Switches | Avg delay ms    |\n", "perf.data"),
    (b"  *A0        1085.873315 secs A0 => migration/0:18\n  *B0        1085.873328 secs B0 => pip:2\n", "perf.data"),
    (b"\n0x108@perf.data [0x50]: event: 69\n.\n. ... raw event: size 80 bytes\n.  0000:  45 00\n", "without -D"),
    (b"\n Summary of events:\n\n fib (4983), 92 events, 30.7%\n", "perf trace"),
    (b"MOJ\x03\x01", "mojo2austin"),
    (b"v 10500 3\nX /usr/bin/ls\nI 1000 5f5e\n", "heaptrack_print -F"),
    (b"\0\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x10\x27\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01", "gperftools"),
    (b"heap profile:      1:      100 [     1:      100] @ heapprofile\n", "jeprof"),
    (b"heap profile: 1: 100 [1: 100] @ heap_v2/524288\n", "jeprof"),
    (b"heap profile: 1: 100 [1: 100] @ heap/1048576\n1: 100 [1: 100] @ 0x46d1a5\n", "without `debug=1`"),
    (b"goroutine profile: total 5\n1 @ 0x43a5a5\n", "without `debug=1`"),
    (b"threadcreate profile: total 8\n7 @\n", "without `debug=1`"),
    (b"--- contention:\ncycles/second=2799998000\n", "without `debug=1`"),
    (b"--- mutex:\ncycles/second=2799998000\nsampling period=1\n", "without `debug=1`"),
    (b"\x03\0\x01\0\x03\0\0\0\0\x18\x0d\x8f\0\0\0\0\0\0\x10\0\0\0\0\0", "llvm-xray convert"),
    (b"\x04\x08{\x0c:\x0cversionf\x081.2:\x09mode:\x09wall", "stackprof --stackcollapse"),
    (b"OTF2", "Vampir"),
    (b"\x5e\x97\xca\xfd\x01\0", "sysprof"),
    (b"{\xa9\x03\xda\x01x", "pyprof2calltree"),
    (b"Attaching 1 probe...\n\n\n@[\n    schedule+46\n]: 3\n", "stackcollapse-bpftrace.pl"),
    (b"@[\n    schedule+46\n]: 3\n", "stackcollapse-bpftrace.pl"),
    (b"MMPD\x09\0\0\0", "crox"),
    (b"\xc1\x1f\xfc\xc1\0\0", "Common Trace Format"),
    (b"/* CTF 1.8 */\n", "Common Trace Format"),
    (b"SQLite format 3\0\x10\0", "SQLite"),
    (b"SQLite format 3\0\x10\0 CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INT)", "nsys2json"),
    (b"SQLite format 3\0\x10\0 CREATE TABLE rocpd_api(start INT)", "rocpd2pftrace"),
    (b"TRC2\0\0", "Unreal Insights"),
    (b"\x0a\x2d\x08\x01\x12\x09/host:CPU\x1a\x1e", "xplane"),
    (b"\x0a\xad\x88\x01\x12\x0d/device:GPU:0", "xplane"),
    (b"gmon\x01\0\0\0", "gprof"),
    (b"JAVA PROFILE 1.0.2\0", "heap dump of Java"),
    (
        b"========================================================\n== dumpstate: 2023-01-01 00:00:00\n",
        "bug report of Android",
    ),
    (b"v8-version,12,4\nshared-library,/usr\n", "--cpu-prof"),
    (b"desc: --massif-out-file=x\ncmd: ./x\ntime_unit: i\n", "massif"),
    (b"<html><script src=\"bokeh.min.js\">", "Dask"),
    (b"<?xml version=\"1.0\"?>\n<svg width=\"1200\">", "SVG"),
    (br#"{"constants":{"logEventTypes":{"REQUEST":1}},"events":[]}"#, "NetLog"),
    (br#"{"snapshot":{"meta":{"node_fields":["type"]}},"nodes":[1]}"#, "heap snapshot of V8"),
    (br#"{"alloc_samples": 0, "args": ["w.py"], "samples": [[1,2]]}"#, "scalene"),
    (br#"[{"method":"Network.requestWillBeSent","params":{"ph":"X"}}]"#, "lighthouse --save-assets"),
    (br#"{"name":"Query","result":0.1,"timing":0.1,"cardinality":0,"extra-info":"select 1","children":[]}"#, "DuckDB"),
    (br#"{"query_name":"SELECT 1","latency":0.1,"children":[{"operator_name":"X"}]}"#, "DuckDB"),
    (br#"{"Event":"SparkListenerLogStart","Spark Version":"3.5"}"#, "Spark"),
    (br#"{"event":"version","sid":"20260101","thread":"main","time":"2026-01-01T00:00:00Z"}"#, "trace2"),
    (br#"{"dhatFileVersion":2,"mode":"heap"}"#, "DHAT"),
    (b"Nettrace\x14\0\0\0!FastSerialization.1", "dotnet-trace convert CAPTURE --format Chromium"),
    (b"rbspy02\n{\"trace\":[]}\n", "rbspy report -f callgrind"),
    (b"RDOC\0\0\0\0\x02\x01\0\0", "renderdoccmd convert"),
    (b"GFXR\0\0\0\0", "GFXReconstruct"),
    (b"B00P\x01\0", "Radeon GPU Profiler"),
    (b"\x07tae\x01\0\0\0", "blkparse"),
    (b"SIMPLEPERF\x01\0", "simpleperf"),
    (b"*version\n3\ndata-file-overflow=false\nclock=dual\n", "a method trace of Android"),
    (b"\x09LYRTRACE\x0a", "Winscope"),
    (b"HPCRUN-profile____02.00", "hpcviewer"),
    (b"#Paraver (01/01/2024 at 10:00):1000_ns:1(4):1:1(4:1)\n", "Paraver"),
    (b"12 templated_functions_MULTI_TIME\n# Name Calls\n", "a profile of TAU"),
    (b"file-format: BlackfireProbe\ncost-dimensions: wt cpu\n", "Blackfire"),
    (b"{\"main()==>foo\":{\"ct\":1,\"wt\":5}}", "XHProf"),
    (b"%% Analysis results:\n{  analysis_options,\n", "erlgrind"),
    (
        br#"{"start_time":1.5,"frame_records":[[["f"],0.1]],"sample_count":3}"#,
        "pyinstrument --load CAPTURE -r speedscope",
    ),
    (br#"{"start_time":1.5,"sample_count":3,"root_frame":{"function":"f"}}"#, "pyinstrument -r speedscope"),
    (b"\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22\x09\0\0\xc0\x12\0\xd9\x41\x1a\x0dbrain.Event:2", "plugins/profile"),
    (br#"{"Traces":[{"Id":"1-5","Segments":[{"Document":"{}"}]}]}"#, "X-Ray"),
    (br#"{"version":5,"dataForRoots":[{"commitData":[]}]}"#, "React"),
    (br#"{"version":1,"recording":{"records":[]},"overview":{}}"#, "Web Inspector"),
    (br#"{"fileType":"Recorded Performance Data","version":1,"profile":{}}"#, "profiler.firefox.com"),
    (br#"{"Comment":"V4","axisLabelX":"Time","shortUnitsX":"s","events":[[1,2]]}"#, "KUtrace"),
    (b"PML_\x09\0\0\0", "Process Monitor"),
    (b"\"Time of Day\",\"Process Name\",\"PID\",\"Operation\",\"Path\"\n", "Process Monitor"),
    (br#"{"result":[{"scriptId":"10","url":"node:x","functions":[{"ranges":[]}]}]}"#, "--cpu-prof"),
    (br#"{"version":1,"flamebearer":{"names":["total"],"levels":[[0,10,0,0]]},"metadata":{}}"#, "Pyroscope"),
    (br#"{"metadata":{"id":"x","command":["ls"],"logfiles":[]},"timers":{"npm":1029}}"#, "timers of npm"),
    (br#"{"__REALTIME_TIMESTAMP":"1712345678901234","MESSAGE":"x","_PID":"5"}"#, "journal of systemd"),
    (b"# event histogram\n#\n# trigger info: hist:keys=common_pid\n", "histogram of ftrace"),
    (b"qemu: x\n1234@1712345678.901234:virtio_blk v\n1234@1712345678.901334:virtio_blk v\n", "QEMU"),
    (b"\nClock type: CPU\nOrdered by: totaltime, desc\n\nname   ncall  tsub\n", "yappi"),
    (b"gc 1 @0.005s 1%: 0.060+0.32+0.002 ms clock, 0.12+0/0.082 ms cpu\n", "Go's runtime"),
    (b"SCHED 0ms: gomaxprocs=2 idleprocs=1 threads=4\n", "Go's runtime"),
    (b"init runtime @0.035 ms, 0.071 ms clock, 0 bytes, 0 allocs\n", "Go's runtime"),
    (b"time: {\"pass\":\"parse_crate\",\"time\":0.0003,\"rss_start\":35069952}\n", "-Zself-profile"),
    (b"#ROSBAG V2.0\n", "robot"),
    (b"\x89MCAP0\r\n\x01", "robot"),
    (b";\n; Version     SEGGER SystemViewer V2.30\n", "SystemView"),
    (b"$date\n  today\n$end\n$timescale 1ns $end\n", "GTKWave"),
    (b"PeriodType: cpu nanoseconds\nPeriod: 10000000\n", "stackcollapse-go.pl"),
    (b"Function Stack,CPU Time:Self,Module\nTotal,0,\n", "stackcollapse-vtune.pl"),
    (b"Running Time,Self,,Symbol Name\n1.0ms,0,,main\n", "stackcollapse-instruments.pl"),
    (b"<?xml version=\"1.0\"?>\n<trace-query-result>\n<node xpath='//x'>", "xctrace export"),
    (b"0SECTION       TITLE subcomponent dump routine\n", "stackcollapse-ibmjava.pl"),
    (b"jdk.ExecutionSample {\n  startTime = 10:00:00.000\n", "jfrconv"),
    (br#"{"recording": {"events": [{"type": "jdk.ActiveRecording", "values": {"id": 1}}]}}"#, "jfrconv"),
    (b"<?xml version=\"1.0\"?>\n<recording xmlns:xsi=\"x\">\n  <events>\n    <event type=\"jdk.X\">\n", "jfrconv"),
    (b"BeginHeader\n     P-Start, TimeStamp\n", "samply import"),
    (b"\xd4\xc3\xb2\xa1\x02\0\x04\0", "Wireshark"),
    (b"\n\r\r\n\x1c\0\0\0\x4d\x3c\x2b\x1a", "Wireshark"),
    (b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x04\0\x3e\0", "gdb PROGRAM CAPTURE"),
    (b"MDMP\x93\xa7", "WinDbg"),
    (b"KDUMP   \x06\0", "crash"),
    (b"ElfFile\0\0\0", "an event log of Windows"),
    (b"\x81rforpl\xff\x08\0", "llvm-profdata show"),
    (b"\xfflprofi\x81\x0c\0", "llvm-profdata show"),
    (b"adcg*33B\0\0", "gcov"),
    (b"TN:\nSF:/x/a.c\nDA:1,2\nend_of_record\n", "genhtml"),
    (br#"[{"jmhVersion":"1.37","benchmark":"a.B.c","mode":"thrpt"}]"#, "JMH"),
    (br#"{"context":{"date":"x","library_build_type":"release"},"benchmarks":[{"name":"a"}]}"#, "Google Benchmark"),
    (br#"{"results":[{"command":"ls","mean":0.1,"times":[0.1]}]}"#, "hyperfine"),
    (br#"{"lighthouseVersion":"12.0","audits":{}}"#, "lighthouse --save-assets"),
    (br#"{"hash":"a","version":"5","assets":[],"chunks":[],"modules":[]}"#, "ProfilingPlugin"),
    (br#"{"header":{"event":"Allocation failed"},"javascriptStack":{}}"#, "--cpu-prof"),
    (br#"[{"Plan":{"Node Type":"Seq Scan"},"Execution Time":1.5}]"#, "PostgreSQL"),
    (b"PAR1\x15\x04", "Parquet"),
    (
        b"ts,dur,depth,name,category,pid,tid,process,thread,track,outside,args\n1,2,0,a,,1,1,,,,false,\n",
        "export that as",
    ),
    (b"ts,dur,depth,name,category,pid,tid,process,thread,track\n1,2,0,a;b,,1,1,,,3\n", "Longspan wrote (CSV)"),
    (b"bplist00\xd4\x01", "property list"),
    (b"\xcf\xfa\xed\xfe\x07\0\0\x01", "samply record PROGRAM"),
    (b"\xca\xfe\xba\xbe\0\0\0\x02", "samply record PROGRAM"),
    (b"% time     seconds  usecs/call     calls    errors syscall\n------\n", "strace -f -ttt -T"),
    (b"Flat profile:\n\nEach sample counts as 0.01 seconds.\n", "gprof"),
    (b"\t\t\tCall graph\n\n\ngranularity: each sample hit covers 2 byte(s) no time propagated\n", "gprof"),
    (b"==77== NVPROF is profiling process 77, command: ./a\n", "nsys profile"),
    (b"Process 77: python a.py\nPython v3.12.1 (/usr/bin/python3)\n", "py-spy record -f speedscope"),
    (b"0 usleep <internal>:-1\n1 main /x/a.php:7\n\n", "stackcollapse-phpspy.pl"),
    (b"goroutine 1 [running]:\nmain.main()\n", "debug/pprof/goroutine"),
    (b"\0\0\0\x20ftypisom\0\0\x02\0", "a video"),
    (b"\x7fELF\x02\x01\x01\0", "perf record -g PROGRAM"),
    (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a picture"),
    (b"RIFF\x10\0\0\0WEBPVP8 ", "a picture"),
    (b"%PDF-1.7\n", "a PDF document"),
    (b"#!/bin/sh\nls\n", "a script"),
    (
        b"name,src_file,src_line,total_ns,total_perc,counts,mean_ns,min_ns,max_ns,std_ns\nF,a.cpp,1,5,1,1,5,5,5,0\n",
        "tracy-csvexport -u",
    ),
    (b"name;src_file;src_line;total_ns;total_perc;counts;mean_ns;min_ns;max_ns;std_ns\n", "tracy-csvexport -u"),
    (b"name,src_file,Time from start of program,GPU execution time\nDraw,a.cpp,1000,500\n", "tracy-csvexport -u"),
    (b"MessageName,total_ns\nhello,1000\n", "tracy-csvexport -u"),
    (
        b"name:src_file:src_line:ns_since_start:exec_time_ns:thread:value\nF:a.cpp:1:2:3:4:\n",
        "a separator that is not read",
    ),
    (b"<?xml version=\"1.0\" standalone=\"no\"?><!DOCTYPE svg PUBLIC \"x\" \"y\"><svg version=\"1.1\">", "SVG"),
    (b"\xef\xbb\xbf<?xml version=\"1.0\"?>\n<!-- by a tool -->\n<svg>", "SVG"),
    (b"<svg xmlns=\"x\">\n", "SVG"),
    (
        b"<!DOCTYPE html>\n<head>\n<script>\nfunction onTraceViewerImportFail() {\n",
        "VizTracer writes with `-o result.json`",
    ),
    (b"<!DOCTYPE html>\n<html><head><title>VizTracer</title>\n", "VizTracer writes with `-o result.json`"),
    (b"<!DOCTYPE html>\n<html><script>\n\t// Copyright The async-profiler authors\n", "jfrconv -o collapsed CAPTURE"),
    (b"<!DOCTYPE html><html><body><script>// Copyright 2020 Andrei Pangin\n", "jfrconv -o collapsed CAPTURE"),
    (br#"[[{"trace_id": 123, "span_id": 45, "resource": "GET /", "start": 1}]]"#, "receiver for Datadog"),
    (br#"{"traces": [[{"trace_id": "1", "span_id": "2", "resource": "y"}]]}"#, "receiver for Datadog"),
    (br#"{"trace": {"root_id": "45", "spans": {"45": {"trace_id": 123}}}}"#, "receiver for Datadog"),
    (
        br#"[{"startTimestampMillis": 1, "endTimestampMillis": 2, "columns": ["SpanId"], "events": [["1"]]}]"#,
        "a trace of SigNoz",
    ),
    (br#"{"status": "success", "data": {"spans": [{"durationNano": 1, "spanId": "b"}]}}"#, "a trace of SigNoz"),
    (br#"{"status": "success", "data": {"spans": [{"duration_nano": 1, "span_id": "b"}]}}"#, "a trace of SigNoz"),
    (
        br#"{"id": "70", "name": "a", "start_time": 1.5, "trace_id": "1-581cf771-a006649127e371903a2de979"}"#,
        "a segment of AWS X-Ray",
    ),
    (
        br#"{"event_id": "a", "transaction": "/x", "start_timestamp": 1.1, "contexts": {"trace": {}}}"#,
        "transactions of Sentry",
    ),
    (b"{\"event_id\":\"a\",\"sent_at\":\"b\"}\n{\"type\":\"transaction\"}\n", "transactions of Sentry"),
    (br#"{"version": "1", "event_id": "x", "profile": {"samples": [], "frames": []}}"#, "a profile of Sentry"),
    (br#"{"profiler_id": "x", "chunk_id": "y", "version": "2", "profile": {}}"#, "a profile of Sentry"),
    (br#"{"data": {"trace": {"spans": [{"traceId": "a", "segmentId": "b"}]}}}"#, "SkyWalking"),
    (br#"[{"common": {"attributes": {}}, "spans": [{"trace.id": "1", "id": "2"}]}]"#, "New Relic"),
    (br#"{"projectId": "p", "traceId": "a", "spans": [{"spanId": "1"}]}"#, "Google Cloud Trace"),
    (br#"{"traces": [{"projectId": "p", "traceId": "a"}]}"#, "Google Cloud Trace"),
    (br#"{"spans": [{"name": "projects/p", "spanId": "1", "displayName": {"value": "x"}}]}"#, "Google Cloud Trace"),
    (br#"{"traces": [{"traceID": "2f", "rootServiceName": "s", "startTimeUnixNano": "1"}]}"#, ":3200/api/traces/ID"),
    (
        br#"{"took": 1, "hits": {"hits": [{"_source": {"traceID": "d1", "operationName": "GET"}}]}}"#,
        ":16686/api/traces/ID",
    ),
    (br#"{"spans": [{"traceId": "AAE=", "operationName": "a", "startTime": "2024"}]}"#, ":16686/api/traces/ID"),
    (br#"{"result": {"spans": [{"traceId": "AAE=", "operationName": "a"}]}}"#, ":16686/api/traces/ID"),
    (br#"{"hits": {"hits": [{"_source": {"processor": {"event": "transaction"}}}]}}"#, "Elastic APM"),
    (br#"[{"trace.trace_id": "a", "trace.span_id": "b", "name": "x"}]"#, "Honeycomb"),
    (br#"[{"time": "2024", "iKey": "x", "data": {"baseType": "RequestData"}}]"#, "Application Insights"),
    (br#"{"resourceProfiles": [{"resource": {}}], "dictionary": {}}"#, "profiles of OpenTelemetry"),
    (b"{\"deviceGroupId\":0}\n{\"Type\":48,\"TraceProcessEvent\":{\"startNs\":\"1\"}}\n", "nsys2json"),
    (b"{\"data\":[\"a\"]}\n{\"Type\":79,\"CudaEvent\":{\"startNs\":\"1\"}}\n", "nsys2json"),
    (b"{\"data\":[\"a\"]}\n{\"Type\":59,\"NvtxEvent\":{\"Timestamp\":\"1\"}}\n", "nsys2json"),
    (br#"{"rocprofiler-sdk-tool":[{"metadata":{"pid":1}}]}"#, "rocprofv3 --output-format pftrace"),
    (br#"{"total_count":1,"jobs":[{"id":1,"run_id":2,"steps":[]}]}"#, "otel-cicd-action"),
    (br#"{"jobs":[{"completedAt":"2024","databaseId":1,"startedAt":"2024"}]}"#, "otel-cicd-action"),
    (br#"[{"id":"a","number":1,"state":"passed","jobs":[{"id":"b","type":"script"}]}]"#, "Buildkite"),
    (br#"{"id":"a","number":1,"state":"passed","jobs":[{"id":"b","type":"script"}]}"#, "Buildkite"),
    (br#"{"id":{"started":{}},"children":[{"progress":{}}],"started":{"uuid":"x"}}"#, "--profile=profile.json.gz"),
    (b"Time (%),Total Time (ns),Instances,Avg (ns)\n100.0,1000,1,1000.0\n", "nsys2json"),
    (b"Processing [a.sqlite] with [gputrace.py]...\nStart (ns),Duration (ns),CorrId\n1000,200,5\n", "nsys2json"),
    (b"\"Index\",\"KernelName\",\"gpu-id\",\"BeginNs\",\"EndNs\"\n0,\"k\",0,1,2\n", "a table of rocprof"),
    (b"\"Kind\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n", "a table of rocprof"),
    (b"File: x\nType: cpu\nShowing nodes accounting for 1s, 100% of 1s total\n", "open the profile itself"),
    (b"File: x\nType: cpu\n-----------+--------\n      10ms   main.f\n", "open the profile itself"),
    (b"--- Execution profile ---\nTotal samples       : 100\n", "asprof -o collapsed"),
    (b"Started [lock] profiling\n--- Execution profile ---\nTotal samples: 4\n", "asprof -o collapsed"),
    (b"Sampling at 49 Hertz of all threads by user + kernel stack... Hit Ctrl-C to end.\n", "profile -f > stacks.txt"),
    (b"\n              genunix`foo+0x10\n              0xfffffb\n                1\n\n", "stackcollapse.pl"),
    (
        b"2024-01-01T00:00:00.000Z\tinfo\tResourceSpans #0\nResource SchemaURL: \nSpan #0\n    Trace ID : 0a\n",
        "export by OTLP",
    ),
    (b"packet {\n  timestamp: 100\n}\n", "traceconv binary"),
    (b"packet: {\r\n  timestamp: 100\r\n}\r\n", "traceconv binary"),
    (b"buffers { size_kb: 1024 }\ndata_sources { config { name: \"x\" } }\n", "perfetto --txt -c FILE"),
    (b"TRACEv0\x00\x01\x02", "next internal trace"),
    (b"<?xml version=\"1.0\"?><testsuites><testsuite name=\"a\">", "junit2otlp"),
    (b"<testsuite name=\"x\" tests=\"1\">\n", "junit2otlp"),
    (b"\x1b[0KRunning with gitlab-runner 16\nsection_start:1560896352:prepare\r\x1b[0Kx\n", "GitLab"),
    (br#"{"io":{"total_bytes_read":0},"operator":[{"extra_info":{}}],"optimizer":{},"system":{}}"#, "DuckDB"),
    (
        b"<!--\n@license\n-->\n<!doctype html>\n<html lang=\"en\">\n<head>\n  <title>Lighthouse Report</title>\n",
        "lighthouse --save-assets",
    ),
    (b"\x80\x05\x95w\0\0\0\0\0\0\0\x8c\x1bline_profiler.line_profiler\x94\x8c\x09LineStats\x94", "line_profiler"),
    (b"Timer unit: 1e-06 s\n\nTotal time: 2.5 s\nFile: w.py\n\nLine #      Hits         Time\n", "line_profiler"),
    (b"import time: self [us] | cumulative | imported package\nimport time:       238 |        238 |   _io\n", "viztracer"),
    (b"[11339:0x27830c00]      184 ms: Scavenge 4.4 (4.5) -> 4.2 (5.5) MB, 23.06 / 0.00 ms\n", "node_trace.1.log"),
    (b"Statistical profiling result from v8.log, (176 ticks, 123 unaccounted, 0 excluded).\n", "--cpu-prof"),
    (b"[0.099s][info][class,load] java.lang.Object source: shared objects file\n", "asprof"),
    (b"[2026-11-27T08:49:16.528+0000][1.099s][debug  ][gc,heap   ] Heap before GC\n", "asprof"),
    (b"==6615== Memcheck, a memory error detector\n==6615== Using Valgrind-3.19.0 and LibVEX\n", "tool=callgrind"),
    (b"<?xml version=\"1.0\"?>\n\n<valgrindoutput>\n\n<protocolversion>4</protocolversion>\n", "tool=callgrind"),
    (
        b"--------\nProfile data file 'callgrind.out.7'\n--------\nEvents recorded:  Ir\nEvents shown:     Ir\n",
        "open the callgrind.out",
    ),
    (b"--------\nCommand:            ./p\nms_print arguments: massif.out\n--------\n", "ms_print"),
    (b"#-----------\nsnapshot=0\n#-----------\ntime=0.017\nmem_heap_B=74344\n", "heaptrack_print -F"),
    (b"reading file \"h.zst\"\nDebuggee command was: ./p\n\nMOST CALLS TO ALLOCATION FUNCTIONS\n", "heaptrack_print -F"),
    (
        b"\nTime variable         usr           sys\n phase setup    :   0.00 (  0%)   0.01 (  0%)  1576k (  1%)\n",
        "-ftime-trace",
    ),
    (
        b"===----===\n     ... Pass execution timing report ...\n===----===\n  Total Execution Time: 0.0311 seconds\n",
        "-ftime-trace",
    ),
    (b"[]\n\nTime variable         usr\n phase setup    :   0.00 (  0%)   0.01 (  0%)\n", "-ftime-trace"),
    (b"Attaching 2 probes...\n13870751676142 rustc 8638\n", "have no fixed form"),
    (b"JOB \"ha\"\nDATE \"Mon Nov 30 21:30 2026\"\nSAMPLE_UNIT \"seconds\"\nVALUE_UNIT \"bytes\"\n", "hp2ps"),
    (b"$by.self\n        self.time self.pct\n\"fib\"      0.10    100.00\n", "profvis"),
    (b"syscall          % time\n---------------- ------\nmmap               0.09\n", "strace -f -ttt -T"),
    (b"errors    calls % time syscall\n------ -------- ------ ----------------\n            3   0.09 mmap\n", "strace -f -ttt -T"),
    (b"FUNCTION             CALLS        %  TIME  [uS / CALLS]\n--------             -----  -------  ----  [----------]\n", "erlgrind"),
    (b"# system information\n# ==================\n# program version     : v0.13\n", "open the folder of the recording"),
    (b"08:42:59.026749 git.c:479               trace: built-in: git status\n", "GIT_TRACE2_EVENT"),
    (b"Garbage Collection Report\nversion: 1\ncreator: xdebug 3.2.0 (PHP 8.2.1)\n", "xdebug.trace_format=1"),
    (b"at\x1b\xbf\x02\0\xbc\xe8\x1c\xf0\xc2\x06\x06\x0cprocess.name", "apitrace"),
    (b"18c4000 300 Builtin:DeoptimizationEntry_Eager\n18c4340 304 LazyCompile:~f a.js:1\n", "perf-PID.map"),
    (b"=====\n  Mode: wall(500)\n  Samples: 13 (0.00% miss rate)\n", "stackprof --stackcollapse"),
    (b"flamegraph([\n{\"x\":0,\"y\":14,\"width\":6}\n", "stackprof --stackcollapse"),
    (b"\0\0\0\0\x59\x83h\x05d\0\x08trace_tsXd\0", "erlgrind"),
    (b"command,mean,stddev,median,user,system,min,max\ntrue,0.003,0.002,0.002,0.001,0,0.001,0.006\n", "hyperfine"),
    (br#"{"time":17,"errors":[],"errorsCount":0,"warnings":[],"warningsCount":0}"#, "rspack.pftrace"),
    (br#"{"id":"3M","turboVersion":"2.9","globalCacheInputs":{"rootKey":"x"},"tasks":[]}"#, "--profile=trace.json"),
    (
        b"{\"version\":{\"major\":1,\"minor\":2}}\n{\"args\":[],\"cmd\":\"if\",\"file\":\"a\",\"frame\":1,\"line\":1,\"time\":1.5}\n",
        "--profiling-format=google-trace",
    ),
    (br#"{"Time":"2026-11-27T08:49:16Z","Action":"run","Package":"a","Test":"TestX"}"#, "-cpuprofile cpu.pprof"),
    (b"2024-01-01T00:00:00.1234567Z ##[group]Run actions/checkout@v4\n", "a log of GitHub Actions"),
];

/// Requires that files with these first bytes are refused with these texts.
fn assert_refused(refused: &[(&[u8], &str)]) {
    for (head, advice) in refused {
        for rest in [&[b'\n'; 100][..], b"\n"] {
            let Err(error) = read_bytes(&[head, rest].concat()) else { panic!("read: {}", head.escape_ascii()) };
            assert!(matches!(error, ReadError::Unsupported { .. }), "{error}");
            assert!(error.to_string().contains(advice), "{error}");
        }
    }
}

#[test]
fn captures_of_other_tools_are_refused_with_their_name_and_what_converts_them() {
    assert_refused(REFUSED);
    let header = |size: u32| {
        let words = [size, size, size].map(u32::to_le_bytes).concat();
        [&words[..], &[7; 0x68 - 12], &size.to_le_bytes(), &[0; 64]].concat()
    };
    assert!(read_bytes(&header(0x10000)).expect_err("refused").to_string().contains("samply import"));
    assert_eq!(format_of(&header(0x10001)), None);
    let mut program = [0; 0x80];
    program[..2].copy_from_slice(b"MZ");
    assert_eq!(format_of(&program), None, "the header says nothing of Windows");
    program[0x3c] = 0x40;
    program[0x40..0x44].copy_from_slice(b"PE\0\0");
    assert!(read_bytes(&program).expect_err("refused").to_string().contains("a program or a library"));
}

#[test]
fn unread_formats_in_the_docs_are_those_of_the_tables() {
    let of_heads = UNSUPPORTED.iter().chain(LATE).copied().flatten().map(|format| format.refused);
    let of_databases = DATABASES.iter().map(|format| format.refused);
    let of_names = EXTENSIONS.iter().map(|format| format.refused);
    let of_folders = FOLDERS.iter().map(|format| format.refused);
    let of_tables = of_heads.chain(of_databases).chain(of_names).chain(of_folders);
    let kinds = of_tables.chain([DEVTOOLS_LOG]);
    let rows: std::collections::BTreeSet<_> = kinds.map(|kind| (kind.name, kind.advice)).collect();
    let rows = rows.iter().map(|(found, advice)| format!("| {found} | {advice} |\n"));
    let table = rows.fold("| kind | how to convert it |\n|---|---|\n".to_owned(), |table, row| table + &row);
    assert_generated("formats.md", "the tables of unread formats", &table);
}

#[test]
fn similar_files_are_not_refused() {
    let texts: [&[u8]; 36] = [
        b"go 1.22 is out, and so is the trace of it\n",
        b"v 1.2 is out\nand more\n",
        b"Attaching files to mails is easy\n",
        b"\x0a\x05\x08\x01\x12\x01/",
        b"====== a log\n",
        b"desc: a description\n",
        b"\x03\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0",
        b"JAVA PROFILING",
        b"RDOC is short for documents of research\n",
        b"0 errors\n1 warning\n",
        b"TN: a town in Tennessee\n",
        b"\xca\xfe\xba\xbe\0\0\0\x41",
        b"Process 12 of 15 steps\n",
        b"$date is a variable\n",
        b"--- mutex:\nlocked\n",
        b"Total  Function\n= = is a sign\n",
        b"# a heading FUNCTION\nof a text\n",
        b"heap profiles are files\n",
        b"packet { and more\n",
        b"TRACEv is a name\n",
        b"Sampling at home\n",
        b"  an indented `word` of a text\n\n",
        b"section_start: here\n",
        b"name,total_ns\na,1\n",
        b"at the end of the text\n",
        b"[1] a note of 3 ms: text\n",
        b"[info][x] a text\n",
        b"face 12 and more\nsecond line\n",
        b"<!-- a comment without an end\n",
        b"import times are long\n",
        b"[Sat Nov 28 12:34:03 2026] [error] [client ::1] a log of Apache\n",
        b"[    12.345] (II) a log of Xorg\n",
        b"[0.009s] a step of a build\n",
        b"@mentions: none\n",
        b"sample:\n  event: a list\n",
        b"--- symbol of a text\n",
    ];
    for text in texts {
        assert!(![FORMAT.name, LATE_FORMAT.name].map(Some).contains(&format_of(text)), "{text:?}");
    }
    // A run of LangSmith has the keys of a segment of X-Ray, and no such id.
    let documents: [&[u8]; 4] = [
        br#"{"id":"a","name":"b","start_time":"2024","trace_id":"5b8aa5a2"}"#,
        br#"{"data":[{"traceID":"1","spans":[{"spanID":"2"}],"processes":{}}]}"#,
        br#"{"jobs":[{"type":"script"}]}"#,
        b"<?xml version=\"1.0\"?><page><svg/></page>",
    ];
    for document in documents {
        assert_ne!(format_of(document), Some(FORMAT.name), "{document:?}");
    }
    // Metadata beside events may have any names.
    let metadata = br#"{"dhatFileVersion":2,"rocprofiler-sdk-tool":[],"event_id":"a","sent_at":"b","traceEvents":[]}"#;
    assert_eq!(format_of(metadata), Some("Chrome JSON"));
    // The same keys in event arguments are not keys of the document.
    let trace =
        br#"[{"ph":"X","ts":1,"dur":1,"args":{"method":"x","params":{},"snapshot":{"meta":1},"dhatFileVersion":2}}]"#;
    assert_eq!(format_of(trace), Some("Chrome JSON"));
}

#[test]
fn the_end_of_a_name_counts_only_where_no_format_fits_the_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let open = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("written");
        crate::formats::sniff::open(&path, &ReadContext::default()).map(|_| ())
    };
    let error = open("report.nsys-rep", b"\x01\x02\x03\x04").expect_err("refused").to_string();
    assert!(error.contains("nsys export"), "{error}");
    for row in EXTENSIONS {
        let error = open(&format!("x.{}", row.extension), b"\x01\x02\x03\x04").expect_err("refused").to_string();
        assert!(error.contains(row.refused.name) && error.contains(row.refused.advice), "{error}");
    }
    assert!(open("trace.etl", b"[{\"ph\":\"i\",\"ts\":1}]").is_ok());
    assert!(matches!(open("trace.unknown", b"\x01\x02\x03\x04"), Err(ReadError::Unrecognised { .. })));
}

#[test]
fn folders_of_other_tools_are_refused_by_their_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let open =
        || crate::formats::sniff::open(folder.path(), &ReadContext::default()).map(|_| ()).expect_err("a folder");
    assert!(matches!(open(), ReadError::NotAFile { .. }));
    std::fs::write(folder.path().join("metadata"), "CTF").expect("written");
    assert!(open().to_string().contains("Common Trace Format"), "{}", open());
    for row in FOLDERS {
        let folder = tempfile::tempdir().expect("a folder");
        for file in row.files {
            std::fs::write(folder.path().join(file), "x").expect("written");
        }
        let error = crate::formats::sniff::open(folder.path(), &ReadContext::default()).map(|_| ());
        assert!(error.expect_err("a folder").to_string().contains(row.refused.name), "{}", row.refused.name);
    }
}

#[test]
fn tables_in_later_pages_of_a_database_are_found() {
    let bytes = [SQLITE_HEAD, &vec![0; 100_000], b"CREATE TABLE NVTX_EVENTS"].concat();
    let file = file_of(&bytes);
    let error = crate::formats::sniff::open(file.path(), &ReadContext::default()).map(|_| ()).expect_err("refused");
    assert!(error.to_string().contains("Nsight Systems"), "{error}");
    let tables = b"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(a) CREATE TABLE StringTable(_id_)";
    let error = crate::formats::testing::read_bytes(&[SQLITE_HEAD, &tables[..]].concat()).expect_err("refused");
    assert!(error.to_string().contains("nvprof2json"), "{error}");
}

const SQLITE_HEAD: &[u8] = bytes::SQLITE;

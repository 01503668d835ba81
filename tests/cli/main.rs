//! End-to-end tests of the program and its contract with scripts and users. They form one binary, which links once.

#[cfg(target_os = "linux")] // ELF files
mod address_profiles;
#[cfg(target_os = "linux")] // ELF files
mod annotate;
mod bad_input;
#[cfg(target_os = "linux")] // memory in proc, the page cache
mod benches;
#[cfg(target_os = "linux")] // the profiler
mod callgrind;
mod contract;
mod damage;
mod derived;
mod desktop;
mod flame;
mod flows;
mod golden;
mod harness;
mod heat_map;
mod images;
#[cfg(target_os = "linux")] // files of processes
mod jit_code;
mod large;
#[cfg(target_os = "linux")] // sockets, proc
mod listen;
#[cfg(target_os = "linux")] // signals, named pipes
mod live;
mod multiple_files;
mod off_cpu;
mod perfetto;
#[cfg(unix)]
mod pipes;
mod popular_tools;
#[path = "../protobuf/mod.rs"]
mod protobuf;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod raw_stacks;
#[cfg(target_os = "linux")]
#[path = "../recording/mod.rs"]
mod recording;
mod round_trip;
mod samples;
mod scheduling;
mod scope;
mod stats;
#[cfg(target_os = "linux")] // ELF files
mod symbolized_exports;
#[cfg(target_os = "linux")] // ELF files
mod symbols;
#[cfg(target_os = "linux")] // `script` of util-linux
mod terminal;
mod time_of_day;
#[cfg(target_os = "linux")] // the tracer
mod uftrace;

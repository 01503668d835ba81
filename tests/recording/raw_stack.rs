//! Recordings of registers and stacks, as written by `perf record --call-graph dwarf`. The recorded program prints its
//! own registers, stack and mappings, and the callers according to GCC's unwinder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{build_id, number, record, run, words};

/// Recurses in ways that unwind tables describe differently: a callback of the C library, frames of dynamic size, a
/// signal, and frames without a frame pointer.
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <alloca.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>
static FILE *out;
static int is_first = 1;
static volatile long sink;
static _Unwind_Reason_Code frame(struct _Unwind_Context *context, void *nothing) {
    if (!is_first) fprintf(out, "frame %lx\n", (unsigned long)_Unwind_GetIP(context));
    is_first = 0;
    return _URC_NO_REASON;
}
__attribute__((noinline)) static void state(void) {
    static ucontext_t context;
    static char copy[1 << 16];
    char line[4096];
    unsigned long start, end, stack_end = 0;
    getcontext(&context);
    greg_t *r = context.uc_mcontext.gregs;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps)) {
        sscanf(line, "%lx-%lx", &start, &end);
        if (strstr(line, "[stack]")) stack_end = end;
        if (strstr(line, "r-x")) fprintf(out, "map %s", line);
    }
    unsigned long bytes = stack_end - r[REG_RSP];
    if (bytes > sizeof copy) bytes = sizeof copy;
    memcpy(copy, (char *)r[REG_RSP], bytes);
    fprintf(out, "registers %llx %llx %llx %llx %llx %llx %llx %llx %llx", r[REG_RAX], r[REG_RBX], r[REG_RCX],
            r[REG_RDX], r[REG_RSI], r[REG_RDI], r[REG_RBP], r[REG_RSP], r[REG_RIP]);
    fprintf(out, " 0 0 0 %llx %llx %llx %llx %llx %llx %llx %llx\n", r[REG_R8], r[REG_R9], r[REG_R10], r[REG_R11],
            r[REG_R12], r[REG_R13], r[REG_R14], r[REG_R15]);
    fprintf(out, "stack ");
    for (unsigned long at = 0; at < bytes; at++) fprintf(out, "%02x", (unsigned char)copy[at]);
    fprintf(out, "\nframe %llx\n", r[REG_RIP]);
    _Unwind_Backtrace(frame, 0);
    fclose(out);
}
static void on_signal(int number) { state(); sink += number; }
__attribute__((noinline)) static long down(int depth) {
    char *room = alloca(16 + depth * 24);
    memset(room, depth, 16 + depth * 24);
    if (depth) sink += down(depth - 1); else raise(SIGUSR1);
    return room[depth] + sink;
}
static int compare(const void *a, const void *b) {
    static int is_done;
    if (!is_done) { is_done = 1; down(9); }
    return *(const int *)a - *(const int *)b;
}
int main(int argc, char **argv) {
    int numbers[40];
    out = fopen(argv[1], "w");
    signal(SIGUSR1, on_signal);
    for (int i = 0; i < 40; i++) numbers[i] = i * 7 % 11;
    qsort(numbers, 40, sizeof *numbers, compare);
    return numbers[3] < 0;
}
"#;

/// Compiles and runs the program, and parses its output.
pub(crate) fn recorded(folder: &Path, options: &[&str]) -> (PathBuf, RawRecording) {
    let (source, program, output) = (folder.join("deep.c"), folder.join("deep"), folder.join("state.txt"));
    fs::write(&source, PROGRAM).expect("written");
    run(Command::new("gcc").args(["-g", "-Wl,--build-id"]).args(options).arg(&source).arg("-o").arg(&program));
    run(Command::new(&program).arg(&output));
    (program, RawRecording::read(&fs::read_to_string(output).expect("a state")))
}

/// The state of a sampled thread.
#[derive(Debug, Clone)]
pub(crate) struct RawRecording {
    /// In perf's order: rax, rbx, rcx, rdx, rsi, rdi, rbp, rsp, rip, flags, two segments, r8 to r15.
    pub registers: [u64; 20],
    /// Stack bytes from the stack pointer on.
    pub stack: Vec<u8>,
    pub maps: Vec<RecordedCode>,
    /// The instruction pointer and the return addresses, by another unwinder.
    pub addresses: Vec<u64>,
}

/// A mapping with code.
#[derive(Debug, Clone)]
pub(crate) struct RecordedCode {
    pub start: u64,
    pub end: u64,
    pub offset: u64,
    pub path: String,
}

impl RawRecording {
    /// Parses the output of the program.
    pub(crate) fn read(text: &str) -> Self {
        let mut read = Self { registers: [0; 20], stack: Vec::new(), maps: Vec::new(), addresses: Vec::new() };
        for line in text.lines() {
            let (kind, rest) = line.split_once(' ').expect("a kind");
            match kind {
                "map" => {
                    let parts: Vec<&str> = rest.split_whitespace().collect();
                    let (start, end) = parts[0].split_once('-').expect("a range");
                    let path = parts.get(5).copied().unwrap_or_default().to_owned();
                    let (start, end) = (number(start), number(end));
                    read.maps.push(RecordedCode { start, end, offset: number(parts[2]), path });
                }
                "registers" => {
                    for (register, value) in read.registers.iter_mut().zip(rest.split_whitespace()) {
                        *register = number(value);
                    }
                }
                "stack" => {
                    let byte = |at: usize| number(&rest[at..at + 2]) as u8;
                    read.stack = (0..rest.len()).step_by(2).map(byte).collect();
                }
                _ => read.addresses.push(number(rest)),
            }
        }
        // The unwinder reports the function without a caller as a frame at 0.
        read.addresses.retain(|&address| address != 0);
        read
    }

    /// Returns the frames as shown without symbols.
    pub(crate) fn frames(&self) -> Vec<String> {
        let frame = |&address: &u64| {
            let map = self.maps.iter().find(|map| (map.start..map.end).contains(&address)).expect("a mapping");
            let name = map.path.rsplit('/').next().unwrap_or_default();
            format!("{name}+{:#x}", address - map.start + map.offset)
        };
        self.addresses.iter().map(frame).collect()
    }
}

/// Writes a recording with a sample of each state, each in a separate process.
pub(crate) fn written(folder: &Path, states: &[&RawRecording]) -> PathBuf {
    const MMAP2: u32 = 10;
    const SAMPLE: u32 = 9;
    const HAS_BUILD_ID: u16 = 1 << 14;
    const USER: u16 = 2;
    const STACK_ROOM: usize = 32 << 10;
    // Address, thread, time, callers, registers and stack.
    const FIELDS: u64 = 1 | 2 | 4 | 32 | 1 << 12 | 1 << 13;
    let mut data = Vec::new();
    for (pid, state) in (7u64..).zip(states) {
        let ids = pid << 32 | pid;
        for map in &state.maps {
            // Mappings of the kernel have no file.
            let digits = if map.path.starts_with('/') && Path::new(&map.path).is_file() {
                build_id(Path::new(&map.path))
            } else {
                continue;
            };
            let id: Vec<u8> = (0..digits.len()).step_by(2).map(|at| number(&digits[at..at + 2]) as u8).collect();
            let head = words(&[ids, map.start, map.end - map.start, map.offset]);
            let mut body = [head, vec![id.len() as u8, 0, 0, 0], id.clone()].concat();
            body.resize(body.len() + 20 - id.len(), 0);
            body.extend(words(&[0]));
            body.extend(map.path.as_bytes());
            body.push(0);
            data.extend(record(MMAP2, USER | HAS_BUILD_ID, body));
        }
        let filled = state.stack.len().min(STACK_ROOM);
        let mut stack = state.stack[..filled].to_vec();
        stack.resize(STACK_ROOM, 0xcc);
        let head = words(&[state.registers[8], ids, pid * 1000, 0, 2]);
        let registers = words(&state.registers);
        let size = words(&[STACK_ROOM as u64]);
        data.extend(record(SAMPLE, USER, [head, registers, size, stack, words(&[filled as u64])].concat()));
    }
    let mut attribute = words(&[96 << 32 | 1, 0, 1, FIELDS, 0, 0, 0, 0, 0, 0]);
    attribute.extend(words(&[0xff_0fff, STACK_ROOM as u64, 0, 0]));
    let sections = [104, attribute.len() as u64, 104 + attribute.len() as u64, data.len() as u64, 0, 0, 0, 0, 0, 0];
    let head = [b"PERFILE2".to_vec(), words(&[104, attribute.len() as u64]), words(&sections)].concat();
    let path = folder.join("raw.data");
    fs::write(&path, [head, attribute, data].concat()).expect("written");
    path
}

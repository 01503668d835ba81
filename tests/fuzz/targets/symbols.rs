//! Sources of symbols: programs, debug files, shared debug information, and lists of functions. Arbitrary bytes
//! symbolize what they can and nothing else. A list gives the same names as a search of its lines.

use std::path::Path;

use longspan::facade::model::ModuleKind;
use longspan::facade::symbols::{instructions_below, names_below, unwound_below};

/// A stripped program with a link to `debug_file`, and one with shared debug information in `shared.dwz`.
const LINKED: &[u8] = include_bytes!("../corpus/symbols/linked");
const SHARING: &[u8] = include_bytes!("../corpus/symbols/sharing");
const DEBUG_FILE: &[u8] = include_bytes!("../corpus/symbols/debug_file");
const SHARED: &[u8] = include_bytes!("../corpus/symbols/shared.dwz");

/// A program with its functions in `tiny.dwo`, or packed in `tiny.dwp`.
const SPLIT: &[u8] = include_bytes!("../corpus/symbols/split_program");

/// Length of the longest displayed name: a truncated one and its suffix.
const NAME_BYTES_MAX: usize = 4096;

/// Maximum number of functions at an address: inlined ones and the function that contains them.
const FUNCTIONS_MAX: usize = 257;

/// Maximum number of frames of an unwound stack.
const FRAMES_MAX: usize = 1024;

/// Maximum number of decoded bytes of a function.
const CODE_BYTES_MAX: usize = 1 << 20;

/// Start address of the kernel text.
const KERNEL_AT: u64 = 0xffff_ffff_8100_0000;

pub(super) fn check(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("made");
    let offsets: Vec<u64> = (0..0x4000).step_by(211).chain([u64::MAX - 1, u64::MAX]).collect();
    // Uses the bytes as the program, as its debug file, and as its shared debug information.
    for (work, debug, shared) in [(bytes, DEBUG_FILE, SHARED), (LINKED, bytes, SHARED), (SHARING, DEBUG_FILE, bytes)] {
        for (name, content) in [("work", work), ("debug_file", debug), ("shared.dwz", shared)] {
            std::fs::write(folder.path().join(name), content).expect("written");
        }
        named(folder.path(), "/bin/work", ModuleKind::File, &offsets);
    }
    // Uses the bytes as the file with the functions of one unit, and of all units.
    std::fs::write(folder.path().join("work"), SPLIT).expect("written");
    for name in ["tiny.dwo", "work.dwp"] {
        std::fs::write(folder.path().join(name), bytes).expect("written");
        named(folder.path(), "/bin/work", ModuleKind::File, &offsets);
        std::fs::remove_file(folder.path().join(name)).expect("it is there");
    }
    std::fs::write(folder.path().join("work"), bytes).expect("written");
    for kind in [ModuleKind::File, ModuleKind::Linked, ModuleKind::Image] {
        decoded(folder.path(), kind, &offsets[..offsets.len().min(16)]);
    }
    unwound(folder.path(), &offsets, bytes);
    std::fs::write(folder.path().join("perf-7.map"), bytes).expect("written");
    let names = named(folder.path(), "/tmp/perf-7.map", ModuleKind::Jit(7), &offsets);
    for (&address, names) in offsets.iter().zip(&names) {
        assert_eq!(!names.is_empty(), is_in_map(bytes, address), "{address:#x}: {names:?}");
    }
    std::fs::remove_file(folder.path().join("perf-7.map")).expect("it is there");
    std::fs::write(folder.path().join("jit-7.dump"), bytes).expect("written");
    named(folder.path(), "/tmp/perf-7.map", ModuleKind::Jit(7), &offsets);
    let id = "ab".repeat(20);
    let cached = folder.path().join(".build-id").join(&id[..2]).join(&id[2..]);
    std::fs::create_dir_all(&cached).expect("made");
    std::fs::write(cached.join("kallsyms"), bytes).expect("written");
    let addresses: Vec<u64> = (0..0x400).step_by(31).map(|offset| KERNEL_AT + offset).collect();
    named(folder.path(), "[kernel.kallsyms]", ModuleKind::Kernel, &addresses);
}

/// Checks instructions of functions: consecutive, of valid length, and within the limit.
fn decoded(folder: &Path, kind: ModuleKind, addresses: &[u64]) {
    named(folder, "/bin/work", kind, addresses);
    for instructions in instructions_below(folder, "/bin/work", kind, addresses) {
        assert!(instructions.len() <= CODE_BYTES_MAX, "{} instructions", instructions.len());
        assert!(instructions.iter().all(|(start, end)| start < end && end - start <= 15), "{instructions:x?}");
        assert!(instructions.windows(2).all(|pair| pair[0].1 == pair[1].0), "{instructions:x?}");
    }
}

/// Unwinds stacks with the given bytes, and one with addresses from the whole program.
fn unwound(folder: &Path, addresses: &[u64], bytes: &[u8]) {
    let all_over: Vec<u8> = (0..0x4000u64).step_by(13).flat_map(u64::to_le_bytes).collect();
    for stack in [bytes, &all_over] {
        let stacks = unwound_below(folder, "/bin/work", addresses, stack);
        for (address, (frames, mark)) in addresses.iter().zip(&stacks) {
            assert!((1..=FRAMES_MAX).contains(&frames.len()), "{} frames, {mark:?}", frames.len());
            assert_eq!(frames[0], *address);
        }
        assert_eq!(unwound_below(folder, "/bin/work", addresses, stack), stacks);
    }
}

/// Symbolizes addresses, and asserts that a repetition gives the same names.
fn named(folder: &Path, path: &str, kind: ModuleKind, addresses: &[u64]) -> Vec<Vec<String>> {
    let names = names_below(folder, path, kind, addresses);
    assert_eq!(names.len(), addresses.len());
    for functions in &names {
        assert!(functions.len() <= FUNCTIONS_MAX, "{} functions", functions.len());
        assert!(functions.iter().all(|name| !name.is_empty() && name.len() <= NAME_BYTES_MAX), "{functions:?}");
    }
    assert_eq!(names_below(folder, path, kind, addresses), names);
    names
}

/// Oracle: scans all lines of `start size name` for an address. The nearest start before it counts, and the last of
/// equal ones.
fn is_in_map(list: &[u8], address: u64) -> bool {
    let number = |digits: &[u8]| {
        let digits = std::str::from_utf8(digits).ok()?;
        u64::from_str_radix(digits.strip_prefix("0x").unwrap_or(digits), 16).ok()
    };
    let mut nearest: Option<(u64, u64)> = None;
    for line in list.split(|&byte| byte == b'\n') {
        let mut parts = line.splitn(3, |&byte| byte == b' ');
        let (Some(start), Some(bytes), Some(name)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let (Some(start), Some(bytes)) = (number(start), number(bytes)) else { continue };
        let Some(end) = start.checked_add(bytes).filter(|_| !name.is_empty()) else { continue };
        if start <= address && nearest.is_none_or(|(before, _)| before <= start) {
            nearest = Some((start, end));
        }
    }
    nearest.is_some_and(|(_, end)| address < end)
}

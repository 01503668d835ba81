//! Damaged files cause no panic, no long wait, and no more memory than their size.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

/// Returns the bytes of a small program with debug information.
fn program() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let command = ["g++", "-O2", "-g", "-gz=none", "-nostdlib", "-ffreestanding", "-fno-exceptions", "-Wl,-e,main"];
    let source = "namespace n { template <int N> int work(int x) { return x * N; } }
        int main(int argc, char **) { return n::work<3>(argc) + n::work<4>(argc); }";
    std::fs::read(compile(folder.path(), "small", source, &command)).unwrap()
}

/// Writes a file, and resolves addresses all over it.
fn survives(folder: &Path, bytes: &[u8]) {
    std::fs::write(folder.join("work"), bytes).unwrap();
    let module = Module { path: "/bin/work".into(), ..Module::default() };
    let offsets: Vec<u64> = (0..0x3000).step_by(37).chain([u64::MAX - 1, u64::MAX]).collect();
    let started = Instant::now();
    let found = named_with(&module, &offsets, &locator_of(folder));
    assert!(found.names.addresses().len() <= offsets.len());
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[test]
fn a_program_that_is_cut_anywhere_is_read_as_far_as_it_goes() {
    let (folder, bytes) = (tempfile::tempdir().unwrap(), program());
    (0..bytes.len()).step_by(bytes.len() / 150).for_each(|end| survives(folder.path(), &bytes[..end]));
}

#[test]
fn tables_that_claim_everything_are_refused() {
    let (folder, whole) = (tempfile::tempdir().unwrap(), program());
    // All numbers of the header and of the section table.
    let sections_at = u64::from_le_bytes(whole[40..48].try_into().unwrap()) as usize;
    let offsets = (16..64).chain(sections_at..whole.len());
    for at in offsets.step_by(4) {
        for value in [[0xff; 4], [0xff, 0xff, 0xff, 0x7f], [0; 4]] {
            let mut bytes = whole.clone();
            let end = (at + 4).min(bytes.len());
            bytes[at..end].copy_from_slice(&value[..end - at]);
            survives(folder.path(), &bytes);
        }
    }
}

#[test]
fn a_small_section_that_unpacks_to_much_is_refused() {
    use std::io::Write as _;
    let folder = tempfile::tempdir().unwrap();
    let path = compile(folder.path(), "work", C_PROGRAM, &["gcc", "-O2", "-g", "-gz=zlib", "-Wl,--build-id"]);
    let found = resolve(&module(&path), &[0x1100], &locator_of(folder.path()), 512, &Cancel::default()).unwrap();
    assert_eq!(found.state, NameState::Unreadable);
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(&vec![0; 64 << 20]).unwrap();
    let packed = packed.finish().unwrap();
    assert!(super::super::elf::unpack(1, &packed, 64 << 20, 1 << 20).is_none());
    assert!(super::super::elf::unpack(1, &packed, 1 << 40, u64::MAX).is_none());
    assert!(super::super::elf::unpack(1, &packed, 1 << 20, 1 << 20).is_some_and(|it| it.len() == 1 << 20));
}

/// Assembles debug information of one function of 16 bytes, from its abbreviations (3 may have more attributes) and the
/// entries in the function.
fn assembled(folder: &Path, abbreviation: &str, entries: &str) -> PathBuf {
    let source = format!(
        ".text
        .globl _start
        .type _start, @function
        _start: .skip 16, 0x90
        .size _start, 16
        .section .debug_abbrev, \"\", @progbits
        .uleb128 1, 0x11, 1, 0x11, 1, 0x12, 7, 0, 0
        .uleb128 2, 0x2e, 1, 0x03, 8, 0x11, 1, 0x12, 7, 0, 0
        {abbreviation}
        .byte 0
        .section .debug_info, \"\", @progbits
        .long end - begin
        begin: .short 5
        .byte 1, 8
        .long 0
        .uleb128 1
        .quad _start, 16
        .uleb128 2
        .asciz \"outermost\"
        .quad _start, 16
        {entries}
        end:\n"
    );
    let (input, output) = (folder.join("work.s"), folder.join("work"));
    std::fs::write(&input, source).unwrap();
    run(Command::new("gcc").args(["-nostdlib", "-static", "-Wl,--build-id", "-o"]).args([&output, &input]));
    output
}

/// Returns the names of the only function of an assembled program, and the time to resolve them.
fn timed(path: &Path) -> (Chain, Duration) {
    let address = addresses(path, |name| name == "_start")[3];
    let started = Instant::now();
    let (mut chains, _) = named(path, &[address], &locator_of(path.parent().unwrap()));
    (chains.pop().unwrap(), started.elapsed())
}

#[test]
fn functions_that_are_nested_without_end_are_read_without_a_stack() {
    let folder = tempfile::tempdir().unwrap();
    let inlined = ".uleb128 3, 0x1d, 1, 0x03, 8, 0x11, 1, 0x12, 7, 0, 0";
    let entries = ".rept 300000
        .uleb128 3
        .asciz \"x\"
        .quad _start, 16
        .endr";
    let (chain, took) = timed(&assembled(folder.path(), inlined, entries));
    // The limit for one address, and the enclosing function.
    assert_eq!((chain.len(), chain.last().map(|(name, _)| name.as_str())), (257, Some("outermost")));
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[test]
fn attributes_that_take_no_bytes_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let many = ".uleb128 3, 0x0b, 0
        .rept 100000
        .uleb128 0x3b, 0x21, 1
        .endr
        .uleb128 0, 0";
    let (chain, took) = timed(&assembled(folder.path(), many, ".fill 3000000, 1, 3"));
    assert_eq!(chain, [("outermost".to_owned(), "??:0".to_owned())]);
    assert!(took < Duration::from_secs(5), "{took:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn bytes_that_are_changed_anywhere_cost_their_own_names_only(seed in any::<u64>()) {
        let (folder, whole) = (tempfile::tempdir().unwrap(), program());
        let mut state = seed | 1;
        let mut next = |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % below as u64) as usize
        };
        for _ in 0..100 {
            let mut bytes = whole.clone();
            for _ in 0..=next(8) {
                let at = next(bytes.len());
                bytes[at] = [0, 0xff, 0x7f, 0x80, next(256) as u8][next(5)];
            }
            survives(folder.path(), &bytes);
        }
    }
}

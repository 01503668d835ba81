//! Stacks of programs that are compiled here, and damaged tables. `tests/cli/raw_stacks.rs` compares whole stacks with
//! another unwinder.

use std::path::Path;

use super::rule::{FrameMemory, FrameRule, FrameStart, RegisterLocation};
use crate::model::unwind::{INSTRUCTION, REGISTERS, STACK_POINTER, StackBytes, StackEnd};
use crate::symbols::below::unwound_below;
use crate::symbols::tests::compile;

const SP: u8 = STACK_POINTER as u8;

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn rule(frame: FrameStart, registers: &[(u8, RegisterLocation)]) -> FrameRule {
    FrameRule { frame, registers: registers.into(), is_signal: false }
}

/// Returns the registers after a step, or why it fails.
fn stepped(rule: &FrameRule, stack: &[u64]) -> Result<[Option<u64>; REGISTERS], StackEnd> {
    let bytes = words(stack);
    let mut registers = [None; REGISTERS];
    (registers[STACK_POINTER], registers[6]) = (Some(1000), Some(77));
    let mut memory = FrameMemory::new(&StackBytes { registers, bytes: &bytes }).unwrap();
    memory.step(rule, true)?;
    Ok(memory.registers)
}

#[test]
fn a_step_takes_registers_from_where_the_rule_says() {
    let at = |offset| (INSTRUCTION as u8, RegisterLocation::At(offset));
    let frame = FrameStart::Register(SP, 16);
    let found = stepped(&rule(frame.clone(), &[(3, RegisterLocation::At(-16)), at(-8)]), &[5, 6, 7]).unwrap();
    assert_eq!((found[3], found[6], found[7], found[16]), (Some(5), Some(77), Some(1016), Some(6)));
    let others = [
        (0, RegisterLocation::Value(4)),
        (1, RegisterLocation::Register(6)),
        (2, RegisterLocation::Constant(9)),
        // The start of the frame minus 16, and the value there.
        (4, RegisterLocation::Expression([0x40, 0x1c].into())),
        (5, RegisterLocation::AtExpression([0x40, 0x1c].into())),
        (6, RegisterLocation::Undefined),
        at(-8),
    ];
    let found = stepped(&rule(frame, &others), &[5, 6, 7]).unwrap();
    assert_eq!(found[..7], [Some(1020), Some(77), Some(9), None, Some(1000), Some(5), None]);
    // The rule of the PLT: 8 above the stack pointer, and 8 more from the 11th byte of 16 on.
    let lazy = [0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22];
    for (instruction, expected) in [(0x1008, 1008), (0x100b, 1016)] {
        let bytes = words(&[1, 2, 3]);
        let mut registers = [None; REGISTERS];
        (registers[STACK_POINTER], registers[INSTRUCTION]) = (Some(1000), Some(instruction));
        let mut memory = FrameMemory::new(&StackBytes { registers, bytes: &bytes }).unwrap();
        memory.step(&rule(FrameStart::Expression(lazy.into()), &[at(-8)]), true).unwrap();
        assert_eq!(memory.registers[STACK_POINTER], Some(expected));
    }
}

#[test]
fn a_step_that_cannot_be_made_says_why() {
    let at = |offset| (INSTRUCTION as u8, RegisterLocation::At(offset));
    let frame = |offset| FrameStart::Register(SP, offset);
    let end = |rule: FrameRule, stack: &[u64]| stepped(&rule, stack).unwrap_err();
    assert_eq!(end(rule(frame(8), &[]), &[1]), StackEnd::Whole);
    assert_eq!(end(rule(frame(8), &[(16, RegisterLocation::Undefined)]), &[1]), StackEnd::Whole);
    assert_eq!(end(rule(frame(8), &[at(-8)]), &[0]), StackEnd::Whole);
    assert_eq!(end(rule(frame(16), &[at(-8)]), &[1]), StackEnd::BytesEnd);
    assert_eq!(end(rule(frame(i64::MAX), &[at(-8)]), &[1]), StackEnd::BytesEnd);
    assert_eq!(end(rule(frame(-8), &[at(0)]), &[1]), StackEnd::Damaged);
    assert_eq!(end(rule(frame(8), &[at(-9)]), &[1]), StackEnd::Damaged);
    assert_eq!(end(rule(FrameStart::Register(12, 8), &[at(-8)]), &[1]), StackEnd::Damaged);
    // Empty, a jump to itself, and not an address.
    for expression in [&[][..], &[0x2f, 0xfd, 0xff], &[0x50], &[0x03, 1]] {
        assert_eq!(end(rule(FrameStart::Expression(expression.into()), &[at(-8)]), &[1]), StackEnd::Damaged);
    }
    let memory = StackBytes { registers: [None; REGISTERS], bytes: &[] };
    assert!(FrameMemory::new(&memory).is_none());
}

#[test]
fn frame_pointers_are_followed_up_the_stack_and_to_code_alone() {
    let stepped = |pointer: u64, stack: &[u64]| {
        let bytes = words(stack);
        let mut registers = [Some(1); REGISTERS];
        (registers[STACK_POINTER], registers[6]) = (Some(1000), Some(pointer));
        let mut memory = FrameMemory::new(&StackBytes { registers, bytes: &bytes }).unwrap();
        let is_done = memory.step_by_frame_pointer(|caller| caller == 0x4fff);
        is_done.then_some((memory.registers[6], memory.registers[7], memory.registers[16], memory.registers[3]))
    };
    assert_eq!(stepped(1008, &[9, 2000, 0x5000]), Some((Some(2000), Some(1024), Some(0x5000), None)));
    assert_eq!(stepped(1000, &[0, 0x5000]), Some((Some(0), Some(1016), Some(0x5000), None)));
    // Down the stack, to itself, beyond the bytes, and to no code.
    assert_eq!(stepped(1008, &[9, 1000, 0x5000]), None);
    assert_eq!(stepped(1008, &[9, 1008, 0x5000]), None);
    assert_eq!(stepped(1008, &[9, 2000]), None);
    assert_eq!(stepped(992, &[9, 2000, 0x5000]), None);
    assert_eq!(stepped(u64::MAX - 7, &[9, 2000, 0x5000]), None);
    assert_eq!(stepped(1008, &[9, 2000, 0x6000]), None);
}

/// Compiles two functions with equal frame sizes, one calling the other.
fn program(folder: &Path) -> Vec<u8> {
    let command = ["gcc", "-O1", "-nostdlib", "-ffreestanding", "-fasynchronous-unwind-tables", "-Wl,-e,main"];
    let source =
        "__attribute__((noinline)) int work(int x) { volatile char room[200]; room[x] = 1; return room[x / 2]; }
        int main(int argc, char **argv) { return work(argc) + work(argc + 1); }";
    std::fs::read(compile(folder, "work", source, &command)).unwrap()
}

#[test]
fn damaged_tables_end_stacks_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let whole = program(folder.path());
    let addresses: Vec<u64> = (0x1000..0x1100).step_by(5).collect();
    let stack = words(&(0..400).map(|number| 0x1000 + number % 0x100).collect::<Vec<_>>());
    let unwound = || unwound_below(folder.path(), "/bin/work", &addresses, &stack);
    assert!(unwound().iter().any(|(frames, _)| frames.len() > 2), "{:?}", unwound());
    let started = std::time::Instant::now();
    let survives = |bytes: &[u8]| {
        std::fs::write(folder.path().join("work"), bytes).unwrap();
        for (frames, mark) in unwound() {
            assert!((1..=1024).contains(&frames.len()), "{} frames, {mark:?}", frames.len());
        }
    };
    (0..whole.len()).step_by(whole.len() / 40).for_each(|end| survives(&whole[..end]));
    for at in (0..whole.len()).step_by(whole.len() / 400) {
        for value in [0, 0x7f, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] = value;
            survives(&bytes);
        }
    }
    assert!(started.elapsed() < std::time::Duration::from_mins(1), "{:?}", started.elapsed());
}

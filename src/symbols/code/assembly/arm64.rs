//! Disassembles the 64-bit instruction set of Arm, in Arm's syntax. Words that are not instructions are shown as data:
//! compilers put constants between functions and after them.

use fARM64::format::{FmtFormatter, Formatter as _, FormatterOptions};
use fARM64::{Decoder, DecoderOptions, FlowControl};

use super::DecodedInstruction;

const INSTRUCTION_BYTES: usize = 4;

/// Decodes the bytes at an address. A rest shorter than an instruction is shown as data.
pub(super) fn decode(bytes: &[u8], start: u64) -> Vec<DecodedInstruction> {
    let options = FormatterOptions { first_operand_char_index: 0, ..FormatterOptions::default() };
    let formatter = FmtFormatter::with_options(options);
    let (words, rest) = bytes.as_chunks::<INSTRUCTION_BYTES>();
    let addresses = (0..).map(|row| start.wrapping_add(row * INSTRUCTION_BYTES as u64));
    let mut instructions: Vec<DecodedInstruction> = words
        .iter()
        .zip(addresses)
        .map(|(word, address)| {
            let range = address..address.wrapping_add(INSTRUCTION_BYTES as u64);
            let instruction = Decoder::new(word, address, DecoderOptions::default()).decode();
            if instruction.is_invalid() {
                let text = format!(".word {:#010x}", u32::from_le_bytes(*word));
                return DecodedInstruction { range, text, target: None, is_jump: false };
            }
            let mut text = String::new();
            formatter.format(&instruction, &mut text);
            let flow = instruction.flow_control();
            let is_jump = matches!(flow, FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch);
            let target = (is_jump || flow == FlowControl::Call).then(|| instruction.near_branch_target());
            DecodedInstruction { range, text, target, is_jump }
        })
        .collect();
    if !rest.is_empty() {
        let address = start.wrapping_add((bytes.len() - rest.len()) as u64);
        let range = address..start.wrapping_add(bytes.len() as u64);
        instructions.push(DecodedInstruction { range, text: "(bad)".to_owned(), target: None, is_jump: false });
    }
    instructions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_have_their_bounds_texts_and_targets() {
        let words: [u32; 7] =
            [0xa9bf_7bfd, 0x5400_0061, 0x97ff_fffe, 0xb400_0040, 0xd61f_0200, 0xd65f_03c0, 0xffff_ffff];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).chain([0x1f]).collect();
        let decoded = decode(&bytes, 0x1000);
        let rows: Vec<_> = decoded.iter().map(|it| (it.range.start, &*it.text, it.target, it.is_jump)).collect();
        let expected = [
            (0x1000, "stp x29, x30, [sp, #-0x10]!", None, false),
            (0x1004, "b.ne 0x1010", Some(0x1010), true),
            (0x1008, "bl 0x1000", Some(0x1000), false),
            (0x100c, "cbz x0, 0x1014", Some(0x1014), true),
            (0x1010, "br x16", None, false),
            (0x1014, "ret", None, false),
            (0x1018, ".word 0xffffffff", None, false),
            (0x101c, "(bad)", None, false),
        ];
        assert_eq!(rows, expected);
        assert!(decode(&[], 0).is_empty());
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_instructions_one_after_the_other(bytes: Vec<u8>, start: u32) {
            let mut next = u64::from(start);
            for instruction in &decode(&bytes, next) {
                proptest::prop_assert_eq!(instruction.range.start, next);
                proptest::prop_assert!(!instruction.text.is_empty());
                next = instruction.range.end;
            }
            proptest::prop_assert_eq!(next, u64::from(start) + bytes.len() as u64);
        }
    }
}

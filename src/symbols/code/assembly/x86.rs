//! Disassembles x86 in Intel syntax. Invalid bytes are shown as such, and decoding continues at the next byte.

use iced_x86::{Decoder, DecoderOptions, Formatter, Instruction, IntelFormatter, Mnemonic, OpKind};

use super::DecodedInstruction;

/// Decodes the bytes at an address.
pub(super) fn decode(bytes: &[u8], start: u64, is_64: bool) -> Vec<DecodedInstruction> {
    let mut decoder = Decoder::with_ip(if is_64 { 64 } else { 32 }, bytes, start, DecoderOptions::NONE);
    let mut formatter = IntelFormatter::new();
    let options = formatter.options_mut();
    options.set_hex_prefix("0x");
    options.set_hex_suffix("");
    options.set_uppercase_hex(false);
    options.set_branch_leading_zeros(false);
    options.set_space_after_operand_separator(true);
    options.set_show_branch_size(false);
    let mut instructions = Vec::new();
    let mut instruction = Instruction::default();
    while decoder.can_decode() {
        let position = decoder.position();
        let address = start.wrapping_add(position as u64);
        decoder.set_ip(address);
        decoder.decode_out(&mut instruction);
        if instruction.is_invalid() && decoder.set_position(position + 1).is_err() {
            break;
        }
        let mut text = String::new();
        formatter.format(&instruction, &mut text);
        let is_near =
            matches!(instruction.op0_kind(), OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64);
        let target = is_near.then(|| instruction.near_branch_target());
        let end = start.wrapping_add(decoder.position() as u64);
        let is_jump = is_near && instruction.mnemonic() != Mnemonic::Call;
        instructions.push(DecodedInstruction { range: address..end, text, target, is_jump });
    }
    instructions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_have_their_bounds_texts_and_targets() {
        // push rbp; jne +2; call -7; invalid; nop
        let bytes = [0x55, 0x75, 0x02, 0xe8, 0xf9, 0xff, 0xff, 0xff, 0x06, 0x90];
        let decoded = decode(&bytes, 0x1000, true);
        let rows: Vec<_> = decoded.iter().map(|it| (it.range.start, &*it.text, it.target)).collect();
        let expected = [
            (0x1000, "push rbp", None),
            (0x1001, "jne 0x1005", Some(0x1005)),
            (0x1003, "call 0x1001", Some(0x1001)),
            (0x1008, "(bad)", None),
            (0x1009, "nop", None),
        ];
        assert_eq!(rows, expected);
        assert_eq!(decoded.iter().map(|it| it.is_jump).collect::<Vec<_>>(), [false, true, false, false, false]);
        assert_eq!(decode(&[0xff], 7, true).len(), 1);
        assert!(decode(&[], 0, false).is_empty());
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_instructions_one_after_the_other(bytes: Vec<u8>, start: u32, is_64: bool) {
            let mut next = u64::from(start);
            for instruction in &decode(&bytes, next, is_64) {
                proptest::prop_assert_eq!(instruction.range.start, next);
                proptest::prop_assert!((1..=15).contains(&(instruction.range.end - next)));
                next = instruction.range.end;
            }
            proptest::prop_assert_eq!(next, u64::from(start) + bytes.len() as u64);
        }
    }
}

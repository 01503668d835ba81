//! The unwind rule of one frame: where the caller's frame starts, and where its registers are. Applies it to the
//! registers and bytes of a stack, without reading beyond the recorded bytes or moving down the stack.

use std::cell::Cell;

use gimli::{Encoding, EndianSlice, EvaluationResult, Expression, Format, LittleEndian, Location, Value};

use crate::model::unwind::{INSTRUCTION, REGISTERS, STACK_POINTER, StackBytes, StackEnd};

/// Limit for the operations of one expression: three in signal frames, ten for lazy linking.
const OPERATIONS_MAX: u32 = 256;

/// The size of a register and of an address.
const WORD_BYTES: u8 = 8;

/// Number of the frame pointer register.
const FRAME_POINTER: usize = 6;

/// How the caller's registers are computed from the registers of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FrameRule {
    pub(super) frame: FrameStart,
    /// By register number. Registers without a rule are unchanged.
    pub(super) registers: Box<[(u8, RegisterLocation)]>,
    /// Whether a signal interrupted the caller, so that its address is not a return address.
    pub(super) is_signal: bool,
}

/// The rule for the start of the caller's frame (the CFA): the stack address before the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FrameStart {
    Register(u8, i64),
    Expression(Box<[u8]>),
}

/// The location of a register's value, relative to the start of the frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RegisterLocation {
    Undefined,
    At(i64),
    Value(i64),
    Register(u8),
    Constant(u64),
    AtExpression(Box<[u8]>),
    Expression(Box<[u8]>),
}

/// The registers of a frame, and the recorded bytes.
#[derive(Debug)]
pub(super) struct FrameMemory<'a> {
    pub(super) registers: [Option<u64>; REGISTERS],
    /// Address of the first recorded byte.
    start: u64,
    bytes: &'a [u8],
    /// Whether a read went beyond the recorded bytes.
    is_past_end: Cell<bool>,
}

impl<'a> FrameMemory<'a> {
    /// Returns `None` without a stack pointer.
    pub(super) fn new(stack: &StackBytes<'a>) -> Option<Self> {
        let start = stack.registers[STACK_POINTER]?;
        Some(Self { registers: stack.registers, start, bytes: stack.bytes, is_past_end: Cell::new(false) })
    }

    fn word(&self, address: u64) -> Option<u64> {
        let at = usize::try_from(address.checked_sub(self.start)?).unwrap_or(usize::MAX);
        let word = self.bytes.get(at..).and_then(|bytes| bytes.first_chunk());
        self.is_past_end.set(self.is_past_end.get() || word.is_none());
        word.map(|bytes| u64::from_le_bytes(*bytes))
    }

    fn register(&self, number: u8) -> Option<u64> {
        self.registers.get(usize::from(number)).copied().flatten()
    }

    /// Returns why the caller is unknown.
    fn failure(&self) -> StackEnd {
        if self.is_past_end.get() { StackEnd::BytesEnd } else { StackEnd::Damaged }
    }

    /// Steps to the caller, which must be further up. Only the first function may not have moved the stack pointer yet.
    /// Returns [`StackEnd::Whole`] if there is no caller, or else why it is unknown.
    pub(super) fn step(&mut self, rule: &FrameRule, is_first: bool) -> Result<(), StackEnd> {
        let frame = match &rule.frame {
            FrameStart::Register(register, offset) => {
                self.register(*register).map(|value| value.wrapping_add_signed(*offset))
            }
            FrameStart::Expression(bytes) => self.evaluate(bytes, None),
        };
        let frame = frame.ok_or_else(|| self.failure())?;
        let stack_pointer = self.register(STACK_POINTER as u8).ok_or(StackEnd::Damaged)?;
        if frame < stack_pointer || frame == stack_pointer && !is_first {
            return Err(StackEnd::Damaged);
        }
        let mut caller = self.registers;
        caller[STACK_POINTER] = Some(frame);
        caller[INSTRUCTION] = None;
        let mut has_caller = false;
        for (number, location) in &rule.registers {
            let Some(register) = caller.get_mut(usize::from(*number)) else { continue };
            *register = self.value(location, frame);
            has_caller |= usize::from(*number) == INSTRUCTION && *location != RegisterLocation::Undefined;
        }
        if !has_caller || caller[INSTRUCTION] == Some(0) {
            return Err(StackEnd::Whole);
        }
        if caller[INSTRUCTION].is_none() {
            return Err(self.failure());
        }
        self.registers = caller;
        Ok(())
    }

    /// Steps to the caller of code without a rule, such as an interpreter or JIT-compiled code, if it maintains the
    /// frame pointer. The frame pointer must lead up the stack, and the address after it to code.
    pub(super) fn step_by_frame_pointer(&mut self, is_code: impl FnOnce(u64) -> bool) -> bool {
        let (Some(pointer), Some(stack)) = (self.registers[FRAME_POINTER], self.registers[STACK_POINTER]) else {
            return false;
        };
        let words = self.word(pointer).zip(pointer.checked_add(8).and_then(|address| self.word(address)));
        let Some((above, caller)) = words.filter(|_| pointer >= stack) else { return false };
        if above != 0 && above <= pointer || !is_code(caller.wrapping_sub(1)) {
            return false;
        }
        self.registers = [None; REGISTERS];
        self.registers[FRAME_POINTER] = Some(above);
        self.registers[STACK_POINTER] = Some(pointer.wrapping_add(16));
        self.registers[INSTRUCTION] = Some(caller);
        true
    }

    fn value(&self, location: &RegisterLocation, frame: u64) -> Option<u64> {
        match location {
            RegisterLocation::Undefined => None,
            RegisterLocation::At(offset) => self.word(frame.wrapping_add_signed(*offset)),
            RegisterLocation::Value(offset) => Some(frame.wrapping_add_signed(*offset)),
            RegisterLocation::Register(number) => self.register(*number),
            RegisterLocation::Constant(value) => Some(*value),
            RegisterLocation::AtExpression(bytes) => self.word(self.evaluate(bytes, Some(frame))?),
            RegisterLocation::Expression(bytes) => self.evaluate(bytes, Some(frame)),
        }
    }

    /// Evaluates an expression, with the start of the frame on its stack if known.
    fn evaluate(&self, bytes: &[u8], frame: Option<u64>) -> Option<u64> {
        let encoding = Encoding { address_size: WORD_BYTES, format: Format::Dwarf32, version: 4 };
        let mut evaluation = Expression(EndianSlice::new(bytes, LittleEndian)).evaluation(encoding);
        evaluation.set_max_iterations(OPERATIONS_MAX);
        if let Some(frame) = frame {
            evaluation.set_initial_value(frame);
        }
        let mut result = evaluation.evaluate().ok()?;
        loop {
            result = match result {
                EvaluationResult::Complete => break,
                EvaluationResult::RequiresRegister { register, .. } => {
                    let value = self.register(u8::try_from(register.0).ok()?)?;
                    evaluation.resume_with_register(Value::Generic(value)).ok()?
                }
                EvaluationResult::RequiresMemory { address, size: WORD_BYTES, .. } => {
                    evaluation.resume_with_memory(Value::Generic(self.word(address)?)).ok()?
                }
                EvaluationResult::RequiresCallFrameCfa => evaluation.resume_with_call_frame_cfa(frame?).ok()?,
                // For variables, not for frames.
                _ => return None,
            };
        }
        match evaluation.as_result() {
            [piece] => match piece.location {
                Location::Address { address } => Some(address),
                Location::Value { value } => value.to_u64(u64::MAX).ok(),
                _ => None,
            },
            _ => None,
        }
    }
}

//! The values after a record: arguments at an entry, a return value at an exit. Their types are not in the data, but
//! in specifications such as `arg1/s,arg2/d32`, which uftrace stores for each function.

use std::fmt::Write as _;

use crate::base::bytes::ByteCursor;
use crate::formats::output::args::ArgsWriter;

/// Length to which each value is padded.
const VALUE_ALIGNMENT: usize = 4;

/// Length to which all values of a record are padded.
pub(super) const RECORD_ALIGNMENT: usize = 8;

/// A string of these bytes is a null pointer.
const NULL_TEXT: [u8; 4] = [0xff; 4];

/// Specifications of the values of a function, if it has any.
#[derive(Debug, Default, Clone)]
pub(super) struct CallSpecs {
    pub(super) arguments: Option<ValueSpecs>,
    pub(super) returned: Option<ValueSpecs>,
}

/// Specifications in the order of the values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ValueSpecs(Vec<ValueSpec>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct ValueSpec {
    name: Box<str>,
    format: UftraceValueFormat,
    /// Length in the data; a text is preceded by its length.
    bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UftraceValueFormat {
    Signed,
    Unsigned,
    Hex,
    Character,
    Float,
    Text,
    /// Raw bytes of a structure.
    Structure,
}

impl ValueSpecs {
    /// Parses `arg1/s,arg2/d32`; values without a length are machine words. Returns `None` if a value has an
    /// unknown type, so that the length is not known.
    pub(super) fn parse(text: &[u8], word_bytes: usize) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let specs = text.split(',').map(str::trim).filter(|spec| !spec.is_empty());
        let specs: Vec<ValueSpec> = specs.map(|spec| ValueSpec::parse(spec, word_bytes)).collect::<Option<_>>()?;
        (!specs.is_empty()).then_some(Self(specs))
    }

    /// Writes the values at the start of `bytes`, and returns their padded length. Returns `None` if they do not fit.
    pub(super) fn decode(&self, bytes: &[u8], args: &mut ArgsWriter) -> Option<usize> {
        let mut values = ByteCursor(bytes);
        for spec in &self.0 {
            spec.decode(&mut values, args)?;
            let used = bytes.len() - values.0.len();
            values.bytes(used.next_multiple_of(VALUE_ALIGNMENT) - used)?;
        }
        Some((bytes.len() - values.0.len()).next_multiple_of(RECORD_ALIGNMENT))
    }
}

impl ValueSpec {
    fn parse(spec: &str, word_bytes: usize) -> Option<Self> {
        // The place of a value, in a register or on the stack, is not needed.
        let (spec, _) = spec.split_once('%').unwrap_or((spec, ""));
        let (name, suffix) = spec.split_once('/').unwrap_or((spec, ""));
        let is_float = name.starts_with("fparg");
        if !is_float && !name.starts_with("arg") && name != "retval" {
            return None;
        }
        let mut suffix_chars = suffix.chars();
        let usual = if is_float { UftraceValueFormat::Float } else { UftraceValueFormat::Signed };
        let usual_bytes = if is_float { size_of::<f64>() } else { word_bytes };
        let (format, bytes) = match suffix_chars.next() {
            None => (usual, usual_bytes),
            Some(digit) if digit.is_ascii_digit() => {
                suffix_chars = suffix.chars();
                (usual, usual_bytes)
            }
            Some('d' | 'i') => (UftraceValueFormat::Signed, word_bytes),
            Some('u') => (UftraceValueFormat::Unsigned, word_bytes),
            Some('x' | 'p' | 'o') => (UftraceValueFormat::Hex, word_bytes),
            Some('c') => (UftraceValueFormat::Character, 1),
            Some('f') => (UftraceValueFormat::Float, size_of::<f64>()),
            Some('s' | 'S') => (UftraceValueFormat::Text, 0),
            // The name of the type follows.
            Some('e') => {
                return Some(Self { name: name.into(), format: UftraceValueFormat::Signed, bytes: word_bytes });
            }
            Some('t') => {
                let (bytes, _) = suffix[1..].split_once(':').unwrap_or((&suffix[1..], ""));
                let bytes = bytes.parse().ok()?;
                return Some(Self { name: name.into(), format: UftraceValueFormat::Structure, bytes });
            }
            Some(_) => return None,
        };
        let bytes = match suffix_chars.as_str() {
            "" => bytes,
            "8" => 1,
            "16" => 2,
            "32" => 4,
            "64" => 8,
            "80" => 10,
            _ => return None,
        };
        Some(Self { name: name.into(), format, bytes })
    }

    fn decode(&self, values: &mut ByteCursor<'_>, args: &mut ArgsWriter) -> Option<()> {
        if self.format == UftraceValueFormat::Text {
            let len = values.u16()?;
            let text = values.bytes(len.into())?;
            if text == NULL_TEXT {
                args.text(&self.name, b"NULL");
            } else {
                // The padding of a short text may be part of it.
                let end = memchr::memchr(0, text).unwrap_or(text.len());
                args.text(&self.name, &text[..end]);
            }
            return Some(());
        }
        let bytes = values.bytes(self.bytes)?;
        let mut wide = [0; 8];
        let len = bytes.len().min(wide.len());
        wide[..len].copy_from_slice(&bytes[..len]);
        let number = u64::from_le_bytes(wide);
        match self.format {
            UftraceValueFormat::Unsigned => args.number(&self.name, number),
            UftraceValueFormat::Hex => args.text(&self.name, format!("{number:#x}").as_bytes()),
            UftraceValueFormat::Character => args.text(&self.name, &bytes[..bytes.len().min(1)]),
            UftraceValueFormat::Signed => {
                let unused_bits = 64 - 8 * len.max(1) as u32;
                args.signed(&self.name, number.cast_signed() << unused_bits >> unused_bits);
            }
            UftraceValueFormat::Float => {
                if bytes.len() == size_of::<f32>() {
                    write_float(&self.name, f32::from_bits(number as u32).into(), args);
                } else if bytes.len() == size_of::<f64>() {
                    write_float(&self.name, f64::from_bits(number), args);
                } else {
                    // The 80 bits of an x87 register have no type here.
                    write_bytes(&self.name, bytes, args);
                }
            }
            UftraceValueFormat::Structure | UftraceValueFormat::Text => write_bytes(&self.name, bytes, args),
        }
        Some(())
    }
}

/// Writes a number; infinity and the like as text, since JSON has no such numbers.
fn write_float(name: &str, float: f64, args: &mut ArgsWriter) {
    match serde_json::Number::from_f64(float) {
        Some(json) => {
            args.key("", name.as_bytes());
            args.json.push_str(&json.to_string());
        }
        None => args.text(name, float.to_string().as_bytes()),
    }
}

/// Writes bytes without a readable type as hexadecimal digits.
fn write_bytes(name: &str, bytes: &[u8], args: &mut ArgsWriter) {
    args.key("", name.as_bytes());
    args.json.push('"');
    for byte in bytes {
        let _ = write!(args.json, "{byte:02x}"); // to memory
    }
    args.json.push('"');
}

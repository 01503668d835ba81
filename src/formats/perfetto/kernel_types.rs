//! Names of kernel events and their fields, from the descriptors in bundles. Those of Perfetto's own events are in
//! `kernel_types.txt`, which `tests/proto/perfetto_types.py` generates.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::fields::{field_descriptor, field_type, message_descriptor};
use super::kernel_fields::generic_descriptor;
use super::limits::has_room;
use super::schema::lossy;
use crate::formats::protobuf::decode::{Fields, ProtoValue};
use crate::formats::protobuf::numbers::FieldNumber;
use crate::model::Loss;

/// Limit for events described in a trace. Kernels have about 2,000.
const DESCRIBED_MAX: usize = 1 << 14;

/// Limit for fields of a described event. The largest of Perfetto's has 28.
const FIELDS_MAX: usize = 256;

/// The events that Perfetto defines. Most traces need none of them, so the first use parses the table.
static BUILT_IN: LazyLock<FxHashMap<FieldNumber, KernelEventType>> =
    LazyLock::new(|| built_in(include_str!("kernel_types.txt")));

/// The type of a kernel event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct KernelEventType {
    pub(super) name: Box<str>,
    pub(super) fields: Vec<KernelField>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct KernelField {
    pub(super) number: FieldNumber,
    pub(super) is_signed: bool,
    pub(super) name: Box<str>,
}

impl KernelField {
    fn new(number: FieldNumber, kind: u64, name: &str) -> Self {
        let is_signed = matches!(kind, field_type::TYPE_INT64 | field_type::TYPE_INT32 | field_type::TYPE_ENUM);
        Self { number, is_signed, name: name.into() }
    }
}

/// The types of kernel events that a trace describes itself.
#[derive(Debug, Default)]
pub(super) struct KernelTypes(FxHashMap<FieldNumber, KernelEventType>);

impl KernelTypes {
    /// Returns the type of an event, if it is known.
    pub(super) fn get(&self, event: FieldNumber) -> Option<&KernelEventType> {
        self.0.get(&event).or_else(|| BUILT_IN.get(&event))
    }

    /// Adds the event of a descriptor in a bundle. Fails if there are too many, or if a number in it is no field
    /// number.
    pub(super) fn describe(&mut self, descriptor: &[u8]) -> Result<(), Loss> {
        let (mut event, mut described) = (FieldNumber::NONE, KernelEventType::default());
        for field in Fields::new(descriptor) {
            match field.number {
                generic_descriptor::FIELD_ID => event = field.value.field_number().ok_or(Loss::BadRecord)?,
                generic_descriptor::EVENT_DESCRIPTOR => described = described_type(field.value.bytes())?,
                _ => {}
            }
        }
        if !has_room(&self.0, &event, DESCRIBED_MAX) {
            return Err(Loss::OverLimit);
        }
        self.0.insert(event, described);
        Ok(())
    }
}

/// Reads the descriptor of a message. Fails if a number in it is no field number.
fn described_type(bytes: &[u8]) -> Result<KernelEventType, Loss> {
    let mut described = KernelEventType::default();
    for part in Fields::new(bytes) {
        match part.number {
            message_descriptor::NAME => described.name = lossy(part.value.bytes()).into(),
            message_descriptor::FIELD if described.fields.len() < FIELDS_MAX => {
                let (mut number, mut kind, mut name) = (FieldNumber::NONE, 0, String::new());
                for part in Fields::new(part.value.bytes()) {
                    match part.number {
                        field_descriptor::NUMBER => number = part.value.field_number().ok_or(Loss::BadRecord)?,
                        field_descriptor::TYPE => kind = part.value.number(),
                        field_descriptor::NAME => name = lossy(part.value.bytes()),
                        _ => {}
                    }
                }
                described.fields.push(KernelField::new(number, kind, &name));
            }
            _ => {}
        }
    }
    Ok(described)
}

/// Parses the table of Perfetto's events: a line `event NUMBER NAME`, then `NUMBER TYPE NAME` for each field.
fn built_in(table: &str) -> FxHashMap<FieldNumber, KernelEventType> {
    let mut types = FxHashMap::default();
    let mut event = FieldNumber::NONE;
    for line in table.lines() {
        let mut words = line.split(' ');
        let (Some(first), Some(second), Some(name)) = (words.next(), words.next(), words.next()) else { continue };
        let number = |word: &str| word.parse().unwrap_or(0);
        let field_number = |word: &str| ProtoValue::Varint(number(word)).field_number().unwrap_or(FieldNumber::NONE);
        if first == "event" {
            event = field_number(second);
            types.insert(event, KernelEventType { name: name.into(), fields: Vec::new() });
        } else if let Some(event_type) = types.get_mut(&event) {
            event_type.fields.push(KernelField::new(field_number(first), number(second), name));
        }
    }
    types
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::perfetto::kernel_fields::{ftrace_event, irq_entry_event};
    use crate::formats::protobuf::encode::{push_message, push_number};

    #[test]
    fn every_line_of_the_table_is_an_event_or_a_field_of_one() {
        let table = include_str!("kernel_types.txt");
        let fields: usize = BUILT_IN.values().map(|event| event.fields.len()).sum();
        assert_eq!(BUILT_IN.len() + fields, table.lines().count());
        assert!(BUILT_IN.values().all(|event| !event.name.is_empty() && event.fields.len() <= FIELDS_MAX));
        let irq = &BUILT_IN[&ftrace_event::IRQ_HANDLER_ENTRY];
        assert_eq!(&*irq.name, "irq_handler_entry");
        let name = irq.fields.iter().find(|field| field.number == irq_entry_event::NAME).expect("a name");
        assert_eq!((&*name.name, name.is_signed), ("name", false));
        let number = irq.fields.iter().find(|field| field.number == irq_entry_event::IRQ).expect("a number");
        assert_eq!((&*number.name, number.is_signed), ("irq", true));
    }

    #[test]
    fn a_descriptor_of_an_impossible_number_describes_no_other_event_or_field() {
        let (event, alias) = (ftrace_event::IRQ_HANDLER_ENTRY, 1 << 32);
        let descriptor = |event: u64, field: u64| {
            let mut bytes = Vec::new();
            push_number(&mut bytes, generic_descriptor::FIELD_ID, event);
            push_message(&mut bytes, generic_descriptor::EVENT_DESCRIPTOR, |bytes| {
                push_message(bytes, message_descriptor::FIELD, |bytes| {
                    push_number(bytes, field_descriptor::NUMBER, field);
                });
            });
            bytes
        };
        let mut types = KernelTypes::default();
        let number = u64::from(event.get());
        for bad in [descriptor(alias + number, 1), descriptor(number, alias + 1)] {
            assert_eq!(types.describe(&bad), Err(Loss::BadRecord));
            assert_eq!(types.get(event).map(|event| &*event.name), Some("irq_handler_entry"));
        }
        assert_eq!(types.describe(&descriptor(number, 1)), Ok(()));
    }
}

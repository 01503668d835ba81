//! Writes samples as a pprof profile. Locations are functions by name, in the mapping of their module. A name such as
//! `file+0x12` is written as an address in a mapping, with its functions and lines, or else for pprof tools to
//! symbolize. Buffers the message, which has one sample for each stack and set of labels.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use super::fields::{function, label, line, location, mapping, profile, sample, value_type};
use super::own_fields::own_mapping;
use crate::base::hex::hex_number;
use crate::formats::output::modules::{ModulesByCategory, WrittenModule, file_name, is_memory};
use crate::formats::protobuf::encode::{push_bytes, push_message, push_number, push_varint};
use crate::formats::protobuf::numbers::FieldNumber;
use crate::model::modules::address_of;
use crate::model::{Module, ModuleKind};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PprofLabel {
    Text {
        key: String,
        value: String,
    },
    /// A number; `unit` may be empty.
    Number {
        key: String,
        value: i64,
        unit: String,
    },
}

/// A frame: the text of a function or an address, and its module.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PprofFrame<'f> {
    pub(crate) text: &'f str,
    /// The category of its module, if it has a module.
    pub(crate) module: Option<&'f str>,
    /// Whether the text is a name, even if it looks like an address in a file.
    pub(crate) is_name: bool,
    /// Whether the address is a return address; its functions then belong to the call before it.
    pub(crate) is_call: bool,
    /// The functions at the address, innermost first; empty if unresolved.
    pub(crate) lines: Vec<PprofLine<'f>>,
}

/// A function with a source line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PprofLine<'f> {
    pub(crate) function: &'f str,
    /// Source file; empty if unknown.
    pub(crate) file: &'f str,
    /// Source line; 0 if unknown.
    pub(crate) line: u32,
}

/// A mapping, encoded at the end.
#[derive(Debug)]
struct PprofMapping {
    file: u64,
    /// Row of the build-id in hexadecimal digits; 0 for none.
    build_id: u64,
    /// `None` for a file known only by the text of a frame.
    kind: Option<ModuleKind>,
    /// Whether it may be the program: neither a library nor the kernel.
    may_be_program: bool,
    /// Whether each location has a function, so that pprof does not look up any.
    has_functions: bool,
    /// Whether each location has a source line.
    has_lines: bool,
}

/// Builds a profile; each text, mapping and location is written once.
#[derive(Debug)]
pub(crate) struct PprofWriter<'m> {
    message: Vec<u8>,
    texts: Vec<Box<str>>,
    text_rows: FxHashMap<Box<str>, u64>,
    /// Location ids by mapping id, frame text and whether it is a call.
    locations: FxHashMap<(u64, Box<str>, bool), u64>,
    /// Function ids by the rows of their name and file.
    functions: FxHashMap<(u64, u64), u64>,
    modules: ModulesByCategory<'m>,
    /// Mapping ids by category of a module, and by file name.
    module_mappings: FxHashMap<&'m str, u64>,
    file_mappings: FxHashMap<Box<str>, u64>,
    mappings: Vec<PprofMapping>,
    /// The encoded locations and functions.
    code: Vec<u8>,
    values_capped: u64,
}

/// The maximum of a value, which is a signed number in this format.
const VALUE_MAX: u64 = i64::MAX as u64;

impl<'m> PprofWriter<'m> {
    /// Creates a profile with these value types and their units, of frames in these modules.
    pub(crate) fn new<'t>(types: impl IntoIterator<Item = (&'t str, &'t str)>, modules: &'m [Module]) -> Self {
        let mut writer = Self {
            message: Vec::new(),
            texts: vec![Box::default()],
            text_rows: [(Box::default(), 0)].into_iter().collect(),
            locations: FxHashMap::default(),
            functions: FxHashMap::default(),
            modules: ModulesByCategory::new(modules),
            module_mappings: FxHashMap::default(),
            file_mappings: FxHashMap::default(),
            mappings: Vec::new(),
            code: Vec::new(),
            values_capped: 0,
        };
        for (kind, unit) in types {
            let (kind, unit) = (writer.text(kind), writer.text(unit));
            push_message(&mut writer.message, profile::SAMPLE_TYPE, |message| {
                push_number(message, value_type::TYPE, kind);
                push_number(message, value_type::UNIT, unit);
            });
        }
        writer
    }

    /// Adds a sample: frames, innermost first, a value for each type, and labels. Caps values above the maximum of the
    /// format.
    pub(crate) fn add(
        &mut self,
        frames: impl IntoIterator<Item = PprofFrame<'m>>,
        values: &[u64],
        labels: &[PprofLabel],
    ) {
        let locations: Vec<u64> = frames.into_iter().map(|frame| self.location(frame)).collect();
        self.values_capped += values.iter().filter(|&&value| value > VALUE_MAX).count() as u64;
        let values: Vec<u64> = values.iter().map(|&value| value.min(VALUE_MAX)).collect();
        let rows: Vec<[u64; 4]> = labels.iter().map(|label| self.label(label)).collect();
        push_message(&mut self.message, profile::SAMPLE, |message| {
            push_packed(message, sample::LOCATION_ID, &locations);
            push_packed(message, sample::VALUE, &values);
            for [key, words, number, unit] in rows {
                push_message(message, sample::LABEL, |message| {
                    push_number(message, label::KEY, key);
                    // Protobuf omits zeros.
                    let parts = [(label::STR, words), (label::NUM, number), (label::NUM_UNIT, unit)];
                    parts.into_iter().filter(|&(_, value)| value != 0).for_each(|(field, value)| {
                        push_number(message, field, value);
                    });
                });
            }
        });
    }

    /// Returns the number of values that were capped at 2^63 - 1.
    pub(crate) fn values_capped(&self) -> u64 {
        self.values_capped
    }

    /// Sets the value type that is shown first.
    pub(crate) fn set_default_type(&mut self, kind: &str) {
        let kind = self.text(kind);
        push_number(&mut self.message, profile::DEFAULT_SAMPLE_TYPE, kind);
    }

    /// Returns the encoded message. The start time is in nanoseconds since 1970, the duration in nanoseconds; 0 for
    /// none.
    pub(crate) fn finish(mut self, time_ns: i64, duration_ns: u64) -> Vec<u8> {
        let mut message = std::mem::take(&mut self.message);
        self.push_mappings(&mut message);
        message.append(&mut self.code);
        for text in &self.texts {
            push_bytes(&mut message, profile::STRING_TABLE, text.as_bytes());
        }
        if time_ns != 0 {
            push_number(&mut message, profile::TIME_NANOS, time_ns.cast_unsigned());
        }
        if duration_ns != 0 {
            push_number(&mut message, profile::DURATION_NANOS, duration_ns);
        }
        message
    }

    fn text(&mut self, text: &str) -> u64 {
        if let Some(&row) = self.text_rows.get(text) {
            return row;
        }
        let new = self.texts.len() as u64;
        self.texts.push(text.into());
        self.text_rows.insert(text.into(), new);
        new
    }

    /// Returns the encoded label: key, text, number, unit.
    fn label(&mut self, label: &PprofLabel) -> [u64; 4] {
        match label {
            PprofLabel::Text { key, value } => [self.text(key), self.text(value), 0, 0],
            PprofLabel::Number { key, value, unit } => [self.text(key), 0, value.cast_unsigned(), self.text(unit)],
        }
    }

    fn location(&mut self, frame: PprofFrame<'m>) -> u64 {
        let PprofFrame { text, is_call, mut lines, .. } = frame;
        let in_file = address_in_file(text).filter(|_| !frame.is_name);
        let (mapping_id, address) = match (frame.module, in_file) {
            (Some(category), _) => {
                let module = self.modules.get(category);
                (self.module_mapping(category, module), address_in_module(text, module))
            }
            (None, Some((file, offset))) => (self.file_mapping(file), Some(offset)),
            (None, None) => (0, None),
        };
        let id = self.locations.len() as u64 + 1;
        match self.locations.entry((mapping_id, text.into(), is_call)) {
            Entry::Occupied(entry) => return *entry.get(),
            Entry::Vacant(entry) => entry.insert(id),
        };
        if lines.is_empty() && address.is_none() {
            lines.push(PprofLine { function: text, ..PprofLine::default() });
        }
        if let Some(mapping) = self.mappings.get_mut((mapping_id as usize).saturating_sub(1)) {
            mapping.has_functions &= !lines.is_empty();
            mapping.has_lines &= lines.first().is_some_and(|line| !line.file.is_empty());
        }
        let lines: Vec<_> = lines.into_iter().map(|line| (self.function(line), u64::from(line.line))).collect();
        push_message(&mut self.code, profile::LOCATION, |message| {
            push_number(message, location::ID, id);
            if mapping_id != 0 {
                push_number(message, location::MAPPING_ID, mapping_id);
            }
            if let Some(address) = address {
                // The address of a caller is in its call.
                push_number(message, location::ADDRESS, address.saturating_sub(u64::from(is_call)));
            }
            for (function_id, line) in lines {
                push_message(message, location::LINE, |message| {
                    push_number(message, line::FUNCTION_ID, function_id);
                    if line != 0 {
                        push_number(message, line::LINE, line);
                    }
                });
            }
        });
        id
    }

    fn function(&mut self, line: PprofLine<'_>) -> u64 {
        let (name, file) = (self.text(line.function), self.text(line.file));
        let id = self.functions.len() as u64 + 1;
        match self.functions.entry((name, file)) {
            Entry::Occupied(entry) => return *entry.get(),
            Entry::Vacant(entry) => entry.insert(id),
        };
        push_message(&mut self.code, profile::FUNCTION, |message| {
            push_number(message, function::ID, id);
            push_number(message, function::NAME, name);
            push_number(message, function::SYSTEM_NAME, name);
            if file != 0 {
                push_number(message, function::FILENAME, file);
            }
        });
        id
    }

    /// Returns the id of the mapping of a file, whose addresses are file offsets.
    fn file_mapping(&mut self, file: &str) -> u64 {
        if let Some(&id) = self.file_mappings.get(file) {
            return id;
        }
        let id = self.push_mapping(file, None, None);
        self.file_mappings.insert(file.into(), id);
        id
    }

    fn module_mapping(&mut self, category: &'m str, module: WrittenModule<'m>) -> u64 {
        if let Some(&id) = self.module_mappings.get(category) {
            return id;
        }
        let build_id = module.build_id.map(ToString::to_string);
        let id = self.push_mapping(module.path, build_id.as_deref(), Some(module.kind));
        self.module_mappings.insert(category, id);
        id
    }

    fn push_mapping(&mut self, path: &str, build_id: Option<&str>, kind: Option<ModuleKind>) -> u64 {
        let may_be_program = !is_memory(path) && !is_library(path);
        let (file, build_id) = (self.text(path), build_id.map_or(0, |build_id| self.text(build_id)));
        self.mappings.push(PprofMapping { file, build_id, kind, may_be_program, has_functions: true, has_lines: true });
        self.mappings.len() as u64
    }

    /// Encodes the mappings, first those that may be the program: readers show the first one as the program.
    fn push_mappings(&self, message: &mut Vec<u8>) {
        let mut rows: Vec<_> = (1..).zip(&self.mappings).collect();
        rows.sort_by_key(|(_, row)| !row.may_be_program);
        for (id, row) in rows {
            push_message(message, profile::MAPPING, |message| {
                push_number(message, mapping::ID, id);
                push_number(message, mapping::FILENAME, row.file);
                if row.build_id != 0 {
                    push_number(message, mapping::BUILD_ID, row.build_id);
                }
                if row.has_functions {
                    push_number(message, mapping::HAS_FUNCTIONS, 1);
                }
                if row.has_lines {
                    let fields = [mapping::HAS_FILENAMES, mapping::HAS_LINE_NUMBERS, mapping::HAS_INLINE_FRAMES];
                    fields.into_iter().for_each(|field| push_number(message, field, 1));
                }
                if let Some(kind) = row.kind {
                    push_number(message, own_mapping::MODULE_KIND, kind.number());
                }
            });
        }
    }
}

/// Returns the address of an unnamed frame in its module, whose text is the file name and the address.
fn address_in_module(text: &str, module: WrittenModule<'_>) -> Option<u64> {
    let (file, digits) = text.rsplit_once("+0x")?;
    let is_unnamed = file.as_bytes() == file_name(module.path.as_bytes()) && !digits.starts_with('0');
    address_of(text).filter(|_| is_unnamed)
}

/// Returns whether a path names a shared library.
fn is_library(path: &str) -> bool {
    // The path may be of another system.
    let file = String::from_utf8_lossy(file_name(path.as_bytes())).to_ascii_lowercase();
    file.split('.').skip(1).any(|part| matches!(part, "so" | "dll" | "dylib"))
}

/// Parses `file+0x12`; returns `None` for function names, recognised by an empty file, spaces, parentheses or slashes.
fn address_in_file(name: &str) -> Option<(&str, u64)> {
    let (file, offset) = name.rsplit_once("+0x")?;
    let is_written = !file.is_empty() && !file.contains([' ', '(', '/']) && !offset.starts_with('0');
    Some((file, hex_number(offset)?)).filter(|_| is_written)
}

fn push_packed(message: &mut Vec<u8>, field: FieldNumber, numbers: &[u64]) {
    let mut packed = Vec::with_capacity(2 * numbers.len());
    numbers.iter().for_each(|&number| push_varint(&mut packed, number));
    push_bytes(message, field, &packed);
}

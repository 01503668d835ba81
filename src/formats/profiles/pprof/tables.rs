//! Parses the message of a profile into tables. Buffers the whole message, since samples precede the functions and
//! strings that they refer to. Refuses profiles that exceed a share of the memory budget.

use std::borrow::Cow;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::fields::{function, line, location, mapping, profile, value_type};
use super::own_fields::own_mapping;
use crate::base::budget::Charge;
use crate::base::budget_shares::BudgetShare;
use crate::formats::input::source::Source;
use crate::formats::output::batch::BatchBuilder;
use crate::formats::output::modules::{FrameFile, FrameModules, ModuleFrame, file_name, is_like_address};
use crate::formats::protobuf::decode::{Fields, ProtoField, ProtoValue};
use crate::formats::protobuf::numbers::FieldNumber;
use crate::formats::{ReadContext, ReadError};
use crate::model::{BuildId, Loss, Losses, ModuleKind, SourcePos};

/// Step size of memory charges.
const CHARGE_BYTES: u64 = 1 << 20;

/// Limit for sample types of a profile; writers have up to four.
const TYPES_MAX: usize = 64;

/// Memory of a profile: bounded, and charged to the budget of the load.
pub(crate) struct ProfileMemory<'c> {
    context: &'c ReadContext,
    path: &'c Path,
    bytes: u64,
    charges: Vec<Charge>,
}

impl<'c> ProfileMemory<'c> {
    pub(crate) fn new(path: &'c Path, context: &'c ReadContext) -> Self {
        Self { context, path, bytes: 0, charges: Vec::new() }
    }

    /// Charges memory. Fails with [`ReadError::Malformed`] once the total exceeds its share.
    pub(crate) fn add(&mut self, bytes: usize, offset: u64) -> Result<(), ReadError> {
        self.bytes += bytes as u64;
        while self.bytes / CHARGE_BYTES > self.charges.len() as u64 {
            self.charges.push(self.context.budget.charge(CHARGE_BYTES));
        }
        let limit = BudgetShare::DocumentTables.hard_limit_bytes(&self.context.budget);
        if self.bytes <= limit {
            return Ok(());
        }
        let expected =
            format!("a profile of at most {limit} bytes with its tables, a quarter of the memory that --memory gives");
        Err(ReadError::malformed(self.path, offset, expected, "a larger one"))
    }
}

/// Reads the message of a profile. Returns it, and the offset at which it is truncated, if it is.
pub(crate) fn read_message(
    source: &mut Source,
    memory: &mut ProfileMemory<'_>,
) -> Result<(Vec<u8>, Option<u64>), ReadError> {
    const BLOCK_BYTES: usize = 64 << 10;
    let mut message = Vec::new();
    loop {
        memory.context.cancel.check()?;
        let filled = message.len();
        memory.add(BLOCK_BYTES, filled as u64)?;
        let io_error = |error| ReadError::Io { path: memory.path.to_owned(), offset: filled as u64, source: error };
        let read = source.by_ref().take(BLOCK_BYTES as u64).read_to_end(&mut message).map_err(io_error)?;
        if read < BLOCK_BYTES {
            return Ok((message, source.cut_at()));
        }
    }
}

/// A range of addresses that a file is mapped to.
#[derive(Debug, Clone, Copy, Default)]
struct CodeMapping {
    start: u64,
    file_offset: u64,
    file: usize,
    build_id: usize,
    kind: ModuleKind,
}

/// An address, with its functions.
#[derive(Debug, Default)]
struct CodeLocation {
    mapping: u64,
    address: u64,
    /// Function ids; each function is inlined into the next.
    functions: Box<[u64]>,
}

#[derive(Debug)]
pub(super) enum LocationFrame<'m> {
    Name(&'m [u8], Option<Arc<str>>),
    Address(ModuleFrame),
}

/// The modules of the trace. The modules of functions are also by mapping id, which nearly every frame looks up.
#[derive(Debug, Default)]
pub(super) struct MappedModules {
    modules: FrameModules,
    by_mapping: FxHashMap<u64, Option<Arc<str>>>,
}

#[derive(Debug, Default)]
pub(super) struct ProfileTables<'m> {
    texts: Vec<&'m [u8]>,
    /// Type and unit, as rows of `texts`.
    pub(super) types: Vec<(usize, usize)>,
    pub(super) period: Option<(u64, (usize, usize))>,
    /// A row of `texts`; 0 for none.
    pub(super) default_type: usize,
    /// Expressions of the frames to drop, and of their exceptions, as rows of `texts`.
    drop_frames: [usize; 2],
    pub(super) encoded_samples: Vec<&'m [u8]>,
    mappings: FxHashMap<u64, CodeMapping>,
    /// File of the first mapping, which is the program.
    program: usize,
    locations: FxHashMap<u64, CodeLocation>,
    /// Name by function id, as rows of `texts`.
    functions: FxHashMap<u64, usize>,
    /// Whether locations with an address in a file have one frame, which symbols name.
    reads_addresses: bool,
}

impl<'m> ProfileTables<'m> {
    pub(super) fn read(
        message: &'m [u8],
        memory: &mut ProfileMemory<'_>,
        losses: &mut Losses,
    ) -> Result<Self, ReadError> {
        let mut tables = Self { reads_addresses: memory.context.code_addresses, ..Self::default() };
        let mut fields = Fields::new(message);
        for number in 0_u64.. {
            let offset = (message.len() - fields.rest().len()) as u64;
            let Some(field) = fields.next() else { break };
            if number.is_multiple_of(1 << 16) {
                memory.context.cancel.check()?;
            }
            let kept_bytes = tables.add_field(field, SourcePos::Offset(offset), losses);
            memory.add(kept_bytes, offset)?;
        }
        if fields.is_broken() {
            losses.add(Loss::Truncated, SourcePos::Offset(message.len() as u64));
        }
        Ok(tables)
    }

    /// Adds a field of the profile. Returns the bytes that it takes in memory.
    fn add_field(&mut self, field: ProtoField<'m>, pos: SourcePos, losses: &mut Losses) -> usize {
        /// Bytes of a hash table entry; hash tables are at worst half full.
        const ROW: usize = 2 * size_of::<(u64, CodeLocation)>();
        let ProtoValue::Bytes(bytes) = field.value else {
            self.add_number(field);
            return 0;
        };
        let mut parts = Fields::new(bytes);
        let kept_bytes = match field.number {
            profile::STRING_TABLE => {
                self.texts.push(bytes);
                return 2 * size_of::<&[u8]>();
            }
            profile::SAMPLE_TYPE if self.types.len() >= TYPES_MAX => {
                losses.add(Loss::OverLimit, pos);
                0
            }
            profile::SAMPLE_TYPE => {
                self.types.push(typed(&mut parts));
                0
            }
            profile::PERIOD_TYPE => {
                self.period.get_or_insert_default().1 = typed(&mut parts);
                0
            }
            profile::SAMPLE => {
                self.encoded_samples.push(bytes);
                return 2 * size_of::<&[u8]>();
            }
            profile::MAPPING => {
                let (id, mapping) = read_mapping(&mut parts);
                if self.mappings.is_empty() {
                    self.program = mapping.file;
                }
                self.mappings.insert(id, mapping);
                ROW
            }
            profile::LOCATION => {
                let (id, location) = read_location(&mut parts);
                let functions = location.functions.len();
                self.locations.insert(id, location);
                ROW + functions * size_of::<u64>()
            }
            profile::FUNCTION => {
                let (id, name) = read_function(&mut parts);
                self.functions.insert(id, name);
                ROW
            }
            _ => 0,
        };
        // Detects a message without a readable field.
        if parts.by_ref().count() == 0 && parts.is_broken() {
            losses.add(Loss::BadRecord, pos);
        }
        kept_bytes
    }

    fn add_number(&mut self, field: ProtoField<'m>) {
        match field.number {
            profile::DEFAULT_SAMPLE_TYPE => self.default_type = index(field.value),
            profile::DROP_FRAMES => self.drop_frames[0] = index(field.value),
            profile::KEEP_FRAMES => self.drop_frames[1] = index(field.value),
            profile::PERIOD => self.period.get_or_insert_default().0 = field.value.number(),
            _ => {}
        }
    }

    /// Returns a string by its row; empty beyond the table.
    pub(super) fn text(&self, row: usize) -> Cow<'m, str> {
        String::from_utf8_lossy(self.texts.get(row).copied().unwrap_or_default())
    }

    /// Returns the expressions of the frames to drop, and of their exceptions; empty if the profile has none.
    pub(super) fn drop_frames(&self) -> [&'m [u8]; 2] {
        self.drop_frames.map(|row| self.texts.get(row).copied().unwrap_or_default())
    }

    /// Returns the name of the program: the file name of the first mapping.
    pub(super) fn program(&self) -> Cow<'m, str> {
        String::from_utf8_lossy(file_name(self.texts.get(self.program).copied().unwrap_or_default()))
    }

    /// Calls `take` with the frames of a location, outermost first; an inlined function follows the function that it is
    /// inlined into. Returns `None` if there is no such location. A function without a name is shown as file and
    /// offset, or with an empty name if it has no address either.
    pub(super) fn each_frame(
        &self,
        id: u64,
        modules: &mut MappedModules,
        batch: &mut BatchBuilder,
        mut take: impl FnMut(LocationFrame<'m>),
    ) -> Option<()> {
        let location = self.locations.get(&id)?;
        if location.functions.is_empty() {
            take(LocationFrame::Address(self.address(location, modules, batch)));
        }
        let has_address = location.address != 0 || location.mapping != 0;
        for function in location.functions.iter().rev() {
            let function = self.functions.get(function);
            let name = function.and_then(|&row| self.texts.get(row)).copied().unwrap_or_default();
            take(match name {
                [] if has_address || function.is_none() => {
                    LocationFrame::Address(self.address(location, modules, batch))
                }
                name if is_like_address(name) => LocationFrame::Name(name, None),
                name => LocationFrame::Name(name, self.module(location.mapping, modules, batch)),
            });
        }
        Some(())
    }

    /// Returns the frame of a location by its address in a file; `None` if it is read by its names.
    pub(super) fn address_frame(
        &self,
        id: u64,
        modules: &mut MappedModules,
        batch: &mut BatchBuilder,
    ) -> Option<LocationFrame<'m>> {
        // Most profiles are read by their names, and this is called for each frame of each sample.
        if !self.reads_addresses {
            return None;
        }
        let location = self.locations.get(&id).filter(|location| location.address != 0)?;
        let mapping = self.mappings.get(&location.mapping)?;
        let has_file = !self.file(mapping).path.is_empty();
        has_file.then(|| LocationFrame::Address(self.address(location, modules, batch)))
    }

    /// Returns the frame of an address: file and offset, or the address alone if it is not mapped.
    fn address(&self, location: &CodeLocation, modules: &mut MappedModules, batch: &mut BatchBuilder) -> ModuleFrame {
        let mapping = self.mappings.get(&location.mapping).copied().unwrap_or_default();
        let file = self.file(&mapping);
        let offset = location.address.wrapping_sub(mapping.start).wrapping_add(mapping.file_offset);
        let address = if file.path.is_empty() { location.address } else { offset };
        modules.modules.frame(file, address, batch)
    }

    /// Returns the category of the functions in a mapping; `None` if its file is unknown.
    fn module(&self, id: u64, modules: &mut MappedModules, batch: &mut BatchBuilder) -> Option<Arc<str>> {
        if let Some(category) = modules.by_mapping.get(&id) {
            return category.clone();
        }
        let mapping = self.mappings.get(&id)?;
        let category = modules.modules.category_of(self.file(mapping), batch);
        modules.by_mapping.insert(id, category.clone());
        category
    }

    fn file(&self, mapping: &CodeMapping) -> FrameFile<'m> {
        let text = |row: usize| self.texts.get(row).copied().unwrap_or_default();
        FrameFile { path: text(mapping.file), build_id: BuildId::from_hex(text(mapping.build_id)), kind: mapping.kind }
    }
}

/// Returns a value as a row of the string table, saturating on overflow.
fn index(value: ProtoValue<'_>) -> usize {
    usize::try_from(value.number()).unwrap_or(usize::MAX)
}

/// Returns the last value of each of these fields.
fn numbers<const N: usize>(parts: &mut Fields<'_>, wanted: [FieldNumber; N]) -> [u64; N] {
    let mut values = [0; N];
    for part in parts {
        if let Some(index) = wanted.iter().position(|&number| number == part.number) {
            values[index] = part.value.number();
        }
    }
    values
}

fn typed(parts: &mut Fields<'_>) -> (usize, usize) {
    let rows = numbers(parts, [value_type::TYPE, value_type::UNIT]);
    let [kind, unit] = rows.map(|row| usize::try_from(row).unwrap_or(usize::MAX));
    (kind, unit)
}

fn read_mapping(parts: &mut Fields<'_>) -> (u64, CodeMapping) {
    let wanted = [
        mapping::ID,
        mapping::MEMORY_START,
        mapping::FILE_OFFSET,
        mapping::FILENAME,
        mapping::BUILD_ID,
        own_mapping::MODULE_KIND,
    ];
    let [id, start, file_offset, file, build_id, kind] = numbers(parts, wanted);
    let kind = ModuleKind::from_number(kind).unwrap_or_default();
    let [file, build_id] = [file, build_id].map(|row| usize::try_from(row).unwrap_or(usize::MAX));
    (id, CodeMapping { start, file_offset, file, build_id, kind })
}

fn read_location(parts: &mut Fields<'_>) -> (u64, CodeLocation) {
    let (mut id, mut location, mut functions) = (0, CodeLocation::default(), Vec::new());
    for part in parts {
        match (part.number, part.value) {
            (location::ID, value) => id = value.number(),
            (location::MAPPING_ID, value) => location.mapping = value.number(),
            (location::ADDRESS, value) => location.address = value.number(),
            (location::LINE, ProtoValue::Bytes(bytes)) => {
                let [function] = numbers(&mut Fields::new(bytes), [line::FUNCTION_ID]);
                functions.push(function);
            }
            _ => {}
        }
    }
    location.functions = functions.into();
    (id, location)
}

/// Returns the id of a function and the row of its name: the demangled name, else the system name.
fn read_function(parts: &mut Fields<'_>) -> (u64, usize) {
    let [id, name, system_name] = numbers(parts, [function::ID, function::NAME, function::SYSTEM_NAME]);
    let name = if name == 0 { system_name } else { name };
    (id, usize::try_from(name).unwrap_or(usize::MAX))
}

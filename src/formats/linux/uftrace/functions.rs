//! Names the functions at addresses, by the mappings and the symbols that uftrace saves beside its data. Each program
//! has a file of mappings. Each mapped file has a file of symbols, and possibly a file with the types of their values.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::arguments::{CallSpecs, ValueSpecs};
use super::info::UftraceInfo;
use super::tasks::{Session, SessionIdx, Tasks};
use crate::base::demangle::demangle;
use crate::base::hex::hex_number;
use crate::formats::input::lines::{LineReader, TextLine};
use crate::formats::input::source::Source;
use crate::formats::output::batch::BatchBuilder;
use crate::formats::output::modules::{FrameFile, FrameModules, file_name};
use crate::formats::{ReadContext, ReadError};
use crate::model::{BuildId, Loss, ModuleKind, NameIdx, SourcePos};

/// Limit for a line; long names of functions have some thousand bytes.
const LINE_BYTES_MAX: usize = 64 << 10;

/// Limit for cached functions; a full cache is cleared.
const FUNCTIONS_MAX: usize = 1 << 16;

/// Limit for the symbols in memory; when it is exceeded, they are read again as needed.
const SYMBOL_BYTES_MAX: usize = 64 << 20;

/// Estimated memory for the types of one function's values; a line lists about ten values.
const SPEC_BYTES: usize = 1 << 10;

/// Limit for the files that a program has in memory; real programs have some hundred.
const MAPPINGS_MAX: usize = 1 << 16;

/// Limit for the events that programs define.
const EVENTS_MAX: usize = 1 << 16;

/// The consequence of a missing file of mappings or symbols.
const WITHOUT_SYMBOLS: &str = "so functions are shown by their addresses";

/// The functions of a recording.
pub(super) struct UftraceFunctionNames<'a> {
    folder: PathBuf,
    pub(super) tasks: &'a Tasks,
    info: UftraceInfo,
    /// Mappings of the last session, in order of addresses. A process rarely has several.
    mappings: Option<(SessionIdx, Vec<Mapping>)>,
    /// By path and build of their file.
    symbols: FxHashMap<MappedFile, Arc<UftraceSymbols>>,
    symbol_bytes: usize,
    modules: FrameModules,
    functions: FxHashMap<(SessionIdx, u64), UftraceFunction>,
    /// Number of the name table that the rows of functions belong to.
    names_number: u32,
    /// Names of the events of the programs, by id.
    events: FxHashMap<u64, Box<str>>,
}

/// Path and build of a file in memory.
type MappedFile = (Arc<[u8]>, Option<BuildId>);

#[derive(Debug, Clone)]
struct Mapping {
    start: u64,
    end: u64,
    path: Arc<[u8]>,
    build_id: Option<BuildId>,
}

/// A function at an address, as a row of the current name table.
#[derive(Debug, Clone)]
pub(super) struct UftraceFunction {
    pub(super) name: NameIdx,
    pub(super) specs: Option<Arc<CallSpecs>>,
}

/// The symbols of a file, in order of addresses.
#[derive(Debug, Default)]
struct UftraceSymbols {
    /// Address, and the range of the name in `texts`.
    rows: Vec<(u64, u32, u32)>,
    texts: Vec<u8>,
    specs: FxHashMap<u64, Arc<CallSpecs>>,
    is_over_limit: bool,
}

impl UftraceSymbols {
    /// Returns the symbol that contains an address.
    fn find(&self, address: u64) -> Option<(u64, &[u8])> {
        let after = self.rows.partition_point(|&(start, ..)| start <= address);
        let &(start, from, to) = self.rows.get(after.checked_sub(1)?)?;
        let name = &self.texts[from as usize..to as usize];
        // These mark ends of sections.
        (!matches!(name, b"__sym_end" | b"__func_end" | b"__dynsym_end")).then_some((start, name))
    }

    fn bytes(&self) -> usize {
        let specs = self.specs.len() * SPEC_BYTES;
        self.rows.len() * size_of::<(u64, u32, u32)>() + self.texts.len() + specs
    }

    /// Returns whether another line may be added.
    fn has_room(&mut self) -> bool {
        self.is_over_limit |= self.bytes() >= SYMBOL_BYTES_MAX;
        !self.is_over_limit
    }
}

impl<'a> UftraceFunctionNames<'a> {
    /// Creates the table with the events that programs define.
    pub(super) fn new(
        (folder, info): (PathBuf, UftraceInfo),
        tasks: &'a Tasks,
        batch: &mut BatchBuilder,
        context: &ReadContext,
    ) -> Result<Self, ReadError> {
        Ok(Self {
            events: user_events(&folder, batch, context)?,
            folder,
            tasks,
            info,
            mappings: None,
            symbols: FxHashMap::default(),
            symbol_bytes: 0,
            modules: FrameModules::default(),
            functions: FxHashMap::default(),
            names_number: 0,
        })
    }

    /// Returns the function at an address of a session. Reads the files that it needs, and counts missing ones.
    pub(super) fn function(
        &mut self,
        (session, address): (SessionIdx, u64),
        pos: SourcePos,
        batch: &mut BatchBuilder,
        context: &ReadContext,
    ) -> Result<UftraceFunction, ReadError> {
        if self.names_number != batch.names_number() || self.functions.len() >= FUNCTIONS_MAX {
            self.names_number = batch.names_number();
            self.functions.clear();
        }
        if let Some(function) = self.functions.get(&(session, address)) {
            return Ok(function.clone());
        }
        self.load_mappings(session, batch, context)?;
        let mapping = self.mapping(address).cloned();
        let function = self.named((address, mapping), pos, batch, context)?;
        self.functions.insert((session, address), function.clone());
        Ok(function)
    }

    /// Returns the name of an event that a program defines.
    pub(super) fn user_event(&self, id: u64) -> Option<&str> {
        self.events.get(&id).map(|name| &**name)
    }

    fn mapping(&self, address: u64) -> Option<&Mapping> {
        let (_, mappings) = self.mappings.as_ref()?;
        let after = mappings.partition_point(|mapping| mapping.start <= address);
        mappings.get(after.checked_sub(1)?).filter(|mapping| address < mapping.end)
    }

    fn named(
        &mut self,
        (address, mapping): (u64, Option<Mapping>),
        pos: SourcePos,
        batch: &mut BatchBuilder,
        context: &ReadContext,
    ) -> Result<UftraceFunction, ReadError> {
        let Some(Mapping { start, path, build_id, .. }) = mapping else {
            return Ok(UftraceFunction {
                name: batch.name(format!("{address:#x}").as_bytes(), None, pos),
                specs: None,
            });
        };
        let symbols = self.symbols((Arc::clone(&path), build_id.clone()), batch, context)?;
        let relative = address - start;
        let in_table = if self.info.has_relative_symbols { relative } else { address };
        let Some((symbol_start, name)) = symbols.find(in_table) else {
            let frame =
                self.modules.frame(FrameFile { path: &path, build_id, kind: ModuleKind::Image }, relative, batch);
            let name = batch.name(&frame.text, frame.category.as_deref().map(str::as_bytes), pos);
            return Ok(UftraceFunction { name, specs: None });
        };
        let by_name = || self.info.specs_by_name.get(name).cloned().map(Arc::new);
        let specs = symbols.specs.get(&symbol_start).cloned().or_else(by_name);
        Ok(UftraceFunction { name: batch.name(demangle(name).as_bytes(), None, pos), specs })
    }

    /// Reads the mappings of a session, unless they are at hand.
    fn load_mappings(
        &mut self,
        session: SessionIdx,
        batch: &mut BatchBuilder,
        context: &ReadContext,
    ) -> Result<(), ReadError> {
        if self.mappings.as_ref().is_some_and(|&(loaded, _)| loaded == session) {
            return Ok(());
        }
        let Session { id, libraries, .. } = self.tasks.session_of(session);
        let (mut mappings, mut is_over_limit) = (Vec::new(), false);
        let path = self.folder.join(format!("sid-{id}.map"));
        let add = |line: TextLine<'_>| {
            let Some(mapping) = mapping(line.bytes) else { return };
            if mappings.len() < MAPPINGS_MAX {
                mappings.push(mapping);
            } else {
                is_over_limit = true;
            }
        };
        read_lines((&path, WITHOUT_SYMBOLS), add, batch, context)?;
        if is_over_limit {
            batch.lose(Loss::OverLimit, SourcePos::Offset(0));
        }
        // The end of a library is not recorded, so the next file ends it.
        mappings.extend(libraries.iter().map(|library| Mapping {
            start: library.base,
            end: u64::MAX,
            path: (&*library.path).into(),
            build_id: None,
        }));
        mappings.sort_by_key(|mapping| mapping.start);
        self.mappings = Some((session, mappings));
        Ok(())
    }

    /// Returns the symbols of a file; none if uftrace saved none.
    fn symbols(
        &mut self,
        key: MappedFile,
        batch: &mut BatchBuilder,
        context: &ReadContext,
    ) -> Result<Arc<UftraceSymbols>, ReadError> {
        if let Some(symbols) = self.symbols.get(&key) {
            return Ok(Arc::clone(symbols));
        }
        let mut table = UftraceSymbols::default();
        let name = String::from_utf8_lossy(file_name(&key.0)).into_owned();
        // The kernel's own object has no file, and no symbols.
        if !name.is_empty() && !name.starts_with('[') {
            let file = self.symbol_file((&key.0, key.1.as_ref()), &name, batch, context)?;
            read_lines((&file, WITHOUT_SYMBOLS), |line| add_symbol(line.bytes, &mut table), batch, context)?;
            let types = file.with_extension("dbg");
            if types.is_file() {
                let (mut address, word_bytes) = (None, self.info.word_bytes);
                let add = |line: TextLine<'_>| add_specs(line.bytes, word_bytes, &mut address, &mut table);
                read_lines((&types, "so values of unknown types are not shown"), add, batch, context)?;
            }
        }
        if table.is_over_limit {
            batch.lose(Loss::OverLimit, SourcePos::Offset(0));
        }
        table.rows.sort_by_key(|&(address, ..)| address);
        if self.symbol_bytes > SYMBOL_BYTES_MAX {
            (self.symbol_bytes, self.symbols) = (0, FxHashMap::default());
        }
        self.symbol_bytes += table.bytes();
        let table = Arc::new(table);
        self.symbols.insert(key, Arc::clone(&table));
        Ok(table)
    }

    /// Returns the file with the symbols of a path. If two paths end with one name, the name of the second symbol file
    /// contains the start of its build-id.
    fn symbol_file(
        &self,
        (path, build_id): (&[u8], Option<&BuildId>),
        name: &str,
        batch: &mut BatchBuilder,
        context: &ReadContext,
    ) -> Result<PathBuf, ReadError> {
        /// Digits of the build-id in the name of a file.
        const DIGITS: usize = 4;
        let usual = self.folder.join(format!("{name}.sym"));
        let build = build_id.map(ToString::to_string).unwrap_or_default();
        let other = self.folder.join(format!("{name}-{}.sym", build.get(..DIGITS).unwrap_or_default()));
        let is_other = other.is_file() && !has_path(&usual, path, batch, context)?;
        Ok(if is_other { other } else { usual })
    }
}

/// Reads the names of the events of the programs, from lines `EVENT: id provider:name`. The file is rare.
fn user_events(
    folder: &Path,
    batch: &mut BatchBuilder,
    context: &ReadContext,
) -> Result<FxHashMap<u64, Box<str>>, ReadError> {
    let (path, mut names) = (folder.join("events.txt"), FxHashMap::default());
    let mut is_over_limit = false;
    // A pipe is counted as unreadable; only a missing file is usual.
    if path.exists() {
        let add = |line: TextLine<'_>| {
            let Some((id, name)) = user_event(line.bytes) else { return };
            if names.len() < EVENTS_MAX || names.contains_key(&id) {
                names.insert(id, name.into());
            } else {
                is_over_limit = true;
            }
        };
        read_lines((&path, "so events are shown by their ids"), add, batch, context)?;
    }
    if is_over_limit {
        batch.lose(Loss::OverLimit, SourcePos::Offset(0));
    }
    Ok(names)
}

/// Parses a line `EVENT: id provider:name`.
fn user_event(line: &[u8]) -> Option<(u64, &str)> {
    let line = std::str::from_utf8(line).ok()?;
    let (id, name) = line.strip_prefix("EVENT: ")?.split_once(' ')?;
    Some((id.parse().ok()?, name))
}

/// Passes each line of a text file to `add`, which ignores comments and the like. A missing or unreadable file is
/// counted, with the consequence for the user.
fn read_lines(
    (path, consequence): (&Path, &str),
    mut add: impl FnMut(TextLine<'_>),
    batch: &mut BatchBuilder,
    context: &ReadContext,
) -> Result<(), ReadError> {
    let source = match Source::open(path, context) {
        Ok(source) => source,
        Err(ReadError::Empty { .. }) => return Ok(()),
        Err(error @ (ReadError::Io { .. } | ReadError::NotAFile { .. } | ReadError::Malformed { .. })) => {
            let reason = match error {
                ReadError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
                    "is missing".to_owned()
                }
                error => format!("cannot be read ({error})"),
            };
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let reason = format!("{name} {reason}, {consequence}");
            batch.losses().add_because(&reason, Loss::MissingText, SourcePos::Offset(0));
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let mut lines = LineReader::new(source, LINE_BYTES_MAX);
    while let Some(line) = lines.next(batch)? {
        add(line);
    }
    Ok(())
}

/// Returns whether a file of symbols belongs to a path, by its comment.
fn has_path(file: &Path, path: &[u8], batch: &mut BatchBuilder, context: &ReadContext) -> Result<bool, ReadError> {
    let Ok(source) = Source::open(file, context) else { return Ok(false) };
    let mut lines = LineReader::new(source, LINE_BYTES_MAX);
    while let Some(line) = lines.next(batch)? {
        let Some(comment) = line.bytes.strip_prefix(b"# ") else { break };
        if let Some(stated) = comment.strip_prefix(b"path name: ") {
            return Ok(stated == path);
        }
    }
    Ok(true)
}

/// Parses a line of a file of mappings: `start-end rights offset device inode path build-id:id`.
fn mapping(line: &[u8]) -> Option<Mapping> {
    let text = std::str::from_utf8(line).ok()?;
    let (range, rest) = text.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    // A path may have spaces; only the fields before it do not.
    let path = rest.splitn(5, ' ').nth(4)?.trim_start();
    let (path, build_id) = match path.rsplit_once(" build-id:") {
        Some((path, id)) => (path, BuildId::from_hex(id.as_bytes())),
        None => (path, None),
    };
    Some(Mapping { start: hex_number(start)?, end: hex_number(end)?, path: path.as_bytes().into(), build_id })
}

/// Adds the symbol of a line.
fn add_symbol(line: &[u8], table: &mut UftraceSymbols) {
    if !table.has_room() {
        return;
    }
    let Some((address, name)) = symbol(line) else { return };
    let from = table.texts.len();
    table.texts.extend_from_slice(name);
    if let (Ok(from), Ok(to)) = (u32::try_from(from), u32::try_from(table.texts.len())) {
        table.rows.push((address, from, to));
    }
}

/// Parses a line `address type name`.
fn symbol(line: &[u8]) -> Option<(u64, &[u8])> {
    let (address, rest) = line.split_at_checked(memchr::memchr(b' ', line)?)?;
    let address = hex_number(address)?;
    let name = rest.get(3..).filter(|name| !name.is_empty())?;
    Some((address, name))
}

/// Adds the specifications of a line. The line of their function precedes it.
fn add_specs(line: &[u8], word_bytes: usize, function: &mut Option<u64>, table: &mut UftraceSymbols) {
    if let Some(line) = line.strip_prefix(b"F: ") {
        *function = line.split(|&byte| byte == b' ').next().and_then(hex_number);
        return;
    }
    let (Some(address), Some((kind, specs))) = (*function, line.split_first_chunk()) else { return };
    let is_returned = match kind {
        b"A: @" => false,
        b"R: @" => true,
        _ => return,
    };
    if !table.has_room() {
        return;
    }
    let function = table.specs.entry(address).or_insert_with(|| CallSpecs::default().into());
    let CallSpecs { arguments, returned } = Arc::make_mut(function);
    *(if is_returned { returned } else { arguments }) = ValueSpecs::parse(specs, word_bytes);
}

//! Unified stacks of both forms: frames with callers, and display names.

use std::rc::Rc;

use super::wire::{FirefoxLibrary, FirefoxRow, FirefoxStackTables, FirefoxTable};
use crate::base::hex::hex_number;
use crate::formats::ReadError;
use crate::formats::json::document::{Document, JsonExtent, TableCharge};
use crate::formats::output::batch::BatchBuilder;
use crate::formats::output::modules::{FrameFile, FrameModules, ModuleFrame};
use crate::formats::profiles::frames::{FilePaths, FrameTable};
use crate::model::{Loss, Losses, ModuleKind, SourcePos};

/// A string table, with the charge for its memory.
pub(super) struct FirefoxTexts<'d> {
    texts: Vec<Box<str>>,
    _charge: TableCharge<'d>,
}

impl<'d> FirefoxTexts<'d> {
    pub(super) fn read(
        document: &'d Document,
        table: Option<JsonExtent>,
        losses: &mut Losses,
    ) -> Result<Rc<Self>, ReadError> {
        let (mut texts, mut charge) = (Vec::new(), document.table_charge());
        let mut elements = document.elements(table);
        while let Some(element) = elements.next()? {
            let text: Option<String> = element.parse::<Option<String>>(losses).flatten();
            let text: Box<str> = text.unwrap_or_default().into();
            charge.add(size_of::<Box<str>>() + text.len(), element.offset)?;
            texts.push(text);
        }
        Ok(Rc::new(Self { texts, _charge: charge }))
    }

    /// Returns a string of the table; empty if it is missing.
    pub(super) fn get(&self, index: u32) -> &str {
        self.try_get(index.into()).unwrap_or_default()
    }

    /// Returns a string of the table.
    pub(super) fn try_get(&self, index: u64) -> Option<&str> {
        self.texts.get(usize::try_from(index).ok()?).map(|text| &**text)
    }
}

/// Stacks of a thread, or of all threads, and the strings of its markers.
pub(super) struct FirefoxStacks<'d> {
    pub(super) frames: FrameTable,
    pub(super) texts: Rc<FirefoxTexts<'d>>,
    _charge: TableCharge<'d>,
}

/// A row of the function table: indices into other tables, and the line of the definition.
struct FirefoxFunction {
    name: Option<u32>,
    file: Option<u32>,
    resource: Option<u32>,
    line: Option<u32>,
}

impl FirefoxFunction {
    /// Reads the table of functions, with the files of their sources.
    fn read_all(
        document: &Document,
        tables: &FirefoxStackTables,
        charge: &mut TableCharge<'_>,
        losses: &mut Losses,
    ) -> Result<Vec<Self>, ReadError> {
        let mut sources: Vec<Option<u32>> = Vec::new();
        let mut rows = FirefoxTable::open(document, tables.sources, ["filename"], losses)?;
        while let Some(row) = rows.next(losses)? {
            charge.add(size_of::<Option<u32>>(), row.offset)?;
            sources.push(row.index(0));
        }
        let mut functions = Vec::new();
        let columns = ["name", "fileName", "resource", "source", "lineNumber"];
        let mut rows = FirefoxTable::open(document, tables.functions, columns, losses)?;
        while let Some(row) = rows.next(losses)? {
            charge.add(size_of::<Self>(), row.offset)?;
            let source = row.index(3).and_then(|source| *sources.get(source as usize)?);
            functions.push(Self {
                name: row.index(0),
                file: row.index(1).or(source),
                resource: row.index(2),
                line: row.index(4),
            });
        }
        Ok(functions)
    }
}

impl<'d> FirefoxStacks<'d> {
    pub(super) fn read(
        document: &'d Document,
        tables: &FirefoxStackTables,
        texts: Rc<FirefoxTexts<'d>>,
        libs: &[FirefoxLibrary],
        modules: &mut FrameModules,
        batch: &mut BatchBuilder,
    ) -> Result<Self, ReadError> {
        let (mut frames, mut charge) = (FrameTable::default(), document.table_charge());
        let losses = batch.losses();
        let mut resources: Vec<Option<&FirefoxLibrary>> = Vec::new();
        let mut rows = FirefoxTable::open(document, tables.resources, ["lib"], losses)?;
        while let Some(row) = rows.next(losses)? {
            charge.add(size_of::<Option<&FirefoxLibrary>>(), row.offset)?;
            resources.push(row.index(0).and_then(|library| libs.get(library as usize)));
        }
        let functions = FirefoxFunction::read_all(document, tables, &mut charge, losses)?;
        let names = FrameNames { texts: &texts, functions: &functions, resources: &resources, libs };
        let mut files = FilePaths::default();
        let mut rows = FirefoxTable::open(document, tables.frames, ["func", "location", "address"], losses)?;
        while let Some(row) = rows.next(batch.losses())? {
            let (frame, path_bytes) = if let Some((library, address)) = names.address(&row) {
                let (path, build_id) = (library.path().as_bytes(), library.build_id());
                (modules.frame(FrameFile { path, build_id, kind: ModuleKind::Image }, address, batch), 0)
            } else {
                let (category, path_bytes) = files.add(names.file(&row).as_bytes());
                (ModuleFrame { text: names.title(&row).into(), category }, path_bytes)
            };
            charge.add(FrameTable::TITLE_BYTES + frame.text.len() + path_bytes, row.offset)?;
            frames.push_frame(frame);
        }
        let losses = batch.losses();
        let mut rows = FirefoxTable::open(document, tables.stacks, ["prefix", "frame"], losses)?;
        while let Some(row) = rows.next(losses)? {
            charge.add(FrameTable::ROW_BYTES, row.offset)?;
            let is_taken = frames.push_titled(row.index(0), row.index(1).unwrap_or(u32::MAX));
            losses.add_many(Loss::BadRecord, SourcePos::Offset(row.offset), u64::from(!is_taken));
        }
        Ok(Self { frames, texts, _charge: charge })
    }
}

/// The tables that frame names come from.
struct FrameNames<'a> {
    texts: &'a FirefoxTexts<'a>,
    functions: &'a [FirefoxFunction],
    resources: &'a [Option<&'a FirefoxLibrary>],
    libs: &'a [FirefoxLibrary],
}

/// A row of the frame table: function, location and address.
type FrameColumns<'a> = FirefoxRow<'a, 3>;

impl FrameNames<'_> {
    /// Returns the library of an unsymbolized frame and the address in it.
    fn address(&self, row: &FrameColumns<'_>) -> Option<(&FirefoxLibrary, u64)> {
        let number = |text: &str| hex_number(text.strip_prefix("0x")?);
        if let Some(location) = row.index(1) {
            let absolute = number(self.texts.get(location))?;
            return self.libs.iter().find_map(|library| Some((library, library.relative(absolute)?)));
        }
        let function = self.function(row)?;
        let named = number(self.texts.get(function.name?))?;
        let library = (*self.resources.get(function.resource? as usize)?)?;
        // Unsymbolized functions have the address of one of their frames.
        let frame_address = row.get(2).and_then(|address| std::str::from_utf8(address).ok()?.parse().ok());
        (function.file.is_none() && !library.path().is_empty()).then_some((library, frame_address.unwrap_or(named)))
    }

    fn function(&self, row: &FrameColumns<'_>) -> Option<&FirefoxFunction> {
        self.functions.get(row.index(0)? as usize)
    }

    /// Returns the path of the file of a function; empty if it is unknown.
    fn file(&self, row: &FrameColumns<'_>) -> &str {
        // A location has its file in its text.
        let function = self.function(row).filter(|_| row.index(1).is_none());
        function.and_then(|function| function.file).map_or("", |file| self.texts.get(file))
    }

    fn title(&self, row: &FrameColumns<'_>) -> String {
        if let Some(location) = row.index(1) {
            return self.texts.get(location).to_owned();
        }
        let Some(function) = self.function(row) else { return String::new() };
        let name = function.name.map_or("", |name| self.texts.get(name));
        let file = self.file(row).rsplit(['/', '\\']).next().unwrap_or_default();
        // Frames have the lines that were running, which would split a function.
        match (function.line, file) {
            (_, "") => name.to_owned(),
            (Some(line), file) => format!("{name} ({file}:{line})"),
            (None, file) => format!("{name} ({file})"),
        }
    }
}

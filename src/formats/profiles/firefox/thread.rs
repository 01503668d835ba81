//! One shape for the stacks of both forms: frames below frames, with the names that a person sees.

use std::rc::Rc;

use super::wire::{FirefoxStackTables, FirefoxTable, Library};
use crate::formats::ReadError;
use crate::formats::json::document::{Document, JsonExtent, TableCharge};
use crate::formats::profiles::frames::FrameTable;
use crate::model::{Loss, Losses, SourcePos};

/// Texts by number, and the charge for their memory.
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

    /// A text of the table; empty for one that is not there.
    pub(super) fn get(&self, index: u32) -> &str {
        self.known(index.into()).unwrap_or_default()
    }

    /// A text of the table.
    pub(super) fn known(&self, index: u64) -> Option<&str> {
        self.texts.get(usize::try_from(index).ok()?).map(|text| &**text)
    }
}

/// The stacks of a thread, or of all, and the texts that its markers point into.
pub(super) struct FirefoxStacks<'d> {
    pub(super) frames: FrameTable,
    pub(super) texts: Rc<FirefoxTexts<'d>>,
    _charge: TableCharge<'d>,
}

/// A row of the table of functions: rows of other tables.
struct FirefoxFunction {
    name: Option<u32>,
    file: Option<u32>,
    resource: Option<u32>,
}

impl<'d> FirefoxStacks<'d> {
    pub(super) fn read(
        document: &'d Document,
        tables: &FirefoxStackTables,
        texts: Rc<FirefoxTexts<'d>>,
        libs: &[Library],
        losses: &mut Losses,
    ) -> Result<Self, ReadError> {
        let (mut frames, mut charge) = (FrameTable::default(), document.table_charge());
        let mut resources: Vec<Option<&Library>> = Vec::new();
        let mut rows = FirefoxTable::open(document, tables.resources, ["lib"], losses)?;
        while let Some(row) = rows.next(losses)? {
            charge.add(size_of::<Option<&Library>>(), row.offset)?;
            resources.push(row.index(0).and_then(|library| libs.get(library as usize)));
        }
        let mut sources: Vec<Option<u32>> = Vec::new();
        let mut rows = FirefoxTable::open(document, tables.sources, ["filename"], losses)?;
        while let Some(row) = rows.next(losses)? {
            charge.add(size_of::<Option<u32>>(), row.offset)?;
            sources.push(row.index(0));
        }
        let mut functions: Vec<FirefoxFunction> = Vec::new();
        let mut rows =
            FirefoxTable::open(document, tables.functions, ["name", "fileName", "resource", "source"], losses)?;
        while let Some(row) = rows.next(losses)? {
            charge.add(size_of::<FirefoxFunction>(), row.offset)?;
            let source = row.index(3).and_then(|source| *sources.get(source as usize)?);
            functions.push(FirefoxFunction {
                name: row.index(0),
                file: row.index(1).or(source),
                resource: row.index(2),
            });
        }
        let mut rows = FirefoxTable::open(document, tables.frames, ["func", "location", "line"], losses)?;
        while let Some(row) = rows.next(losses)? {
            let function = row.index(0).and_then(|function| functions.get(function as usize));
            let title = match (row.index(1), function) {
                (Some(location), _) => texts.get(location).to_owned(),
                (None, Some(function)) => function.title(row.index(2), &texts, &resources),
                (None, None) => String::new(),
            };
            charge.add(FrameTable::TITLE_BYTES + title.len(), row.offset)?;
            frames.push_title(title.as_bytes());
        }
        let mut rows = FirefoxTable::open(document, tables.stacks, ["prefix", "frame"], losses)?;
        while let Some(row) = rows.next(losses)? {
            charge.add(FrameTable::ROW_BYTES, row.offset)?;
            let is_taken = frames.push_titled(row.index(0), row.index(1).unwrap_or(u32::MAX));
            losses.add_many(Loss::BadRecord, SourcePos::Offset(row.offset), u64::from(!is_taken));
        }
        Ok(Self { frames, texts, _charge: charge })
    }
}

impl FirefoxFunction {
    fn title(&self, line: Option<u32>, texts: &FirefoxTexts<'_>, resources: &[Option<&Library>]) -> String {
        let name = self.name.map_or("", |name| texts.get(name));
        let file = self.file.map_or("", |file| texts.get(file)).rsplit(['/', '\\']).next().unwrap_or_default();
        let library = self.resource.and_then(|resource| *resources.get(resource as usize)?);
        match (line, file, library) {
            (Some(line), file, _) if !file.is_empty() => format!("{name} ({file}:{line})"),
            (None, file, _) if !file.is_empty() => format!("{name} ({file})"),
            // An address says nothing without its library.
            (_, _, Some(library)) if name.starts_with("0x") => format!("{name} ({})", library.name),
            _ => name.to_owned(),
        }
    }
}

//! One shape for the stacks of both forms: frames below frames, with the names that a person sees.

use super::wire::{Library, Tables};
use crate::formats::frames::Frames;

/// The stacks of a thread, and the texts that its markers point into.
#[derive(Default)]
pub(super) struct Stacks<'a> {
    pub(super) frames: Frames,
    texts: Option<&'a [Option<String>]>,
}

/// Finds a table among a thread's own and the shared ones.
macro_rules! table {
    ($tables:expr, $name:ident) => {
        $tables.iter().find_map(|tables| tables.$name.as_ref())
    };
}

impl<'a> Stacks<'a> {
    /// Takes the tables of a thread, or where it has none those that all share.
    pub(super) fn of(
        own: &'a Tables<'_>,
        shared: Option<&'a Tables<'_>>,
        libs: &[Library],
    ) -> serde_json::Result<Self> {
        let tables: Vec<&Tables<'_>> = std::iter::once(own).chain(shared).collect();
        let texts = tables.iter().find_map(|tables| tables.string_array.as_ref().or(tables.string_table.as_ref()));
        let mut stacks = Self { frames: Frames::default(), texts: texts.map(Vec::as_slice) };
        let (Some(stack_table), Some(frame_table)) = (table!(tables, stack_table), table!(tables, frame_table)) else {
            return Ok(stacks);
        };
        let frames = frame_table.columns(&["func", "location", "line"])?;
        let functions = table!(tables, func_table);
        let functions = functions.map(|table| table.columns(&["name", "fileName", "resource"])).transpose()?;
        let resources = table!(tables, resource_table);
        let resources = resources.map(|table| table.columns(&["lib", "name"])).transpose()?;
        let titles: Vec<String> = (0..frames.len)
            .map(|frame| {
                if let Some(location) = frames.index(1, frame) {
                    return stacks.text(location).to_owned();
                }
                let Some(functions) = &functions else { return String::new() };
                let Some(function) = frames.index(0, frame).map(|function| function as usize) else {
                    return String::new();
                };
                let name = functions.index(0, function).map_or("", |name| stacks.text(name));
                let file = functions.index(1, function).map_or("", |name| stacks.text(name));
                let file = file.rsplit(['/', '\\']).next().unwrap_or_default();
                let resource = functions.index(2, function).map(|resource| resource as usize);
                let library = resource.zip(resources.as_ref()).and_then(|(resource, resources)| {
                    let library = resources.index(0, resource).and_then(|library| libs.get(library as usize));
                    library.map(|library| library.name.as_str())
                });
                match (frames.index(2, frame), file, library) {
                    (Some(line), file, _) if !file.is_empty() => format!("{name} ({file}:{line})"),
                    (None, file, _) if !file.is_empty() => format!("{name} ({file})"),
                    // An address says nothing without its library.
                    (_, _, Some(library)) if name.starts_with("0x") => format!("{name} ({library})"),
                    _ => name.to_owned(),
                }
            })
            .collect();
        let rows = stack_table.columns(&["prefix", "frame"])?;
        for row in 0..rows.len {
            let title = rows.index(1, row).and_then(|frame| titles.get(frame as usize));
            stacks.frames.push(rows.index(0, row), title.map_or(&b""[..], |title| title.as_bytes()));
        }
        Ok(stacks)
    }

    /// A text of the table; empty for one that is not there.
    pub(super) fn text(&self, index: u32) -> &'a str {
        self.texts.and_then(|texts| texts.get(index as usize)?.as_deref()).unwrap_or_default()
    }
}

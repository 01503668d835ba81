//! The JSON of profiles, as far as it is shown. Tables are read row by row in place: as columns side by side, or as
//! rows with a schema. Numbers stay text, so that times are read exactly.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::formats::ReadError;
use crate::formats::json::document::{Document, Elements, JsonExtent};
use crate::model::{BuildId, Losses};

/// Objects have some ten members; more are those of a damaged one.
const MEMBERS_MAX: usize = 1024;

/// Phases of markers; others are instants.
pub(super) mod marker_phase {
    pub(in super::super) const INTERVAL: u32 = 1;
    pub(in super::super) const INTERVAL_START: u32 = 2;
    pub(in super::super) const INTERVAL_END: u32 = 3;
}

#[derive(Deserialize)]
pub(super) struct Category {
    #[serde(default)]
    pub(super) name: String,
}

/// A file that code was in. Values of another type than expected are as none.
#[derive(Deserialize, Default)]
pub(super) struct Library {
    #[serde(default)]
    pub(super) name: String,
    path: Option<serde_json::Value>,
    #[serde(rename = "codeId")]
    code_id: Option<serde_json::Value>,
    #[serde(rename = "breakpadId")]
    breakpad_id: Option<serde_json::Value>,
    /// The addresses that it is loaded at, in the Gecko form.
    start: Option<serde_json::Value>,
    end: Option<serde_json::Value>,
}

impl Library {
    /// The path of the file, or its name.
    pub(super) fn path(&self) -> &str {
        let path = self.path.as_ref().and_then(serde_json::Value::as_str);
        path.filter(|path| !path.is_empty()).unwrap_or(&self.name)
    }

    pub(super) fn build_id(&self) -> Option<BuildId> {
        let id = |value: &Option<serde_json::Value>, read: fn(&[u8]) -> Option<BuildId>| {
            read(value.as_ref()?.as_str()?.as_bytes())
        };
        id(&self.code_id, BuildId::from_hex).or_else(|| id(&self.breakpad_id, BuildId::from_breakpad))
    }

    /// How far an address is from the start of the file in memory; `None` outside of it.
    pub(super) fn relative(&self, address: u64) -> Option<u64> {
        let number = |value: &Option<serde_json::Value>| value.as_ref()?.as_u64();
        let is_inside = address < number(&self.end)?;
        address.checked_sub(number(&self.start)?).filter(|_| is_inside)
    }
}

/// The unit of times, where a profile has another than milliseconds.
#[derive(Deserialize)]
pub(super) struct SampleUnits {
    pub(super) time: Option<String>,
}

/// The fields of a type of markers.
#[derive(Deserialize)]
pub(super) struct MarkerSchema {
    #[serde(default)]
    name: String,
    fields: Option<Vec<MarkerField>>,
    /// The data under the name that it had before version 55.
    data: Option<Vec<MarkerField>>,
}

#[derive(Deserialize)]
struct MarkerField {
    key: Option<String>,
    /// A text, or an object for tables.
    format: Option<serde_json::Value>,
}

impl MarkerSchema {
    /// The type, and which of its data are numbers of texts.
    pub(super) fn texts(self) -> (String, Vec<String>) {
        let fields = self.fields.into_iter().chain(self.data).flatten();
        let is_text = |format: &str| matches!(format, "unique-string" | "flow-id" | "terminating-flow-id");
        let texts =
            fields.filter(|field| field.format.as_ref().and_then(serde_json::Value::as_str).is_some_and(is_text));
        (self.name, texts.filter_map(|field| field.key).collect())
    }
}

/// The positions of the tables that stacks point into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct FirefoxStackTables {
    pub(super) stacks: Option<JsonExtent>,
    pub(super) frames: Option<JsonExtent>,
    pub(super) functions: Option<JsonExtent>,
    pub(super) resources: Option<JsonExtent>,
    /// The files that functions refer to in newer versions.
    pub(super) sources: Option<JsonExtent>,
    pub(super) texts: Option<JsonExtent>,
}

impl FirefoxStackTables {
    /// Among the members of an object.
    pub(super) fn among(members: &FirefoxObject) -> Self {
        Self {
            stacks: members.get("stackTable"),
            frames: members.get("frameTable"),
            functions: members.get("funcTable"),
            resources: members.get("resourceTable"),
            sources: members.get("sources"),
            // The Gecko form calls it by the second name.
            texts: members.get("stringArray").or_else(|| members.get("stringTable")),
        }
    }

    /// Takes those of `shared` for tables that are missing.
    pub(super) fn or(self, shared: Self) -> Self {
        Self {
            stacks: self.stacks.or(shared.stacks),
            frames: self.frames.or(shared.frames),
            functions: self.functions.or(shared.functions),
            resources: self.resources.or(shared.resources),
            sources: self.sources.or(shared.sources),
            texts: self.texts.or(shared.texts),
        }
    }
}

/// The members of an object, by their keys.
#[derive(Debug, Default)]
pub(super) struct FirefoxObject(Vec<(Vec<u8>, JsonExtent)>);

impl FirefoxObject {
    pub(super) fn read(document: &Document, object: Option<JsonExtent>) -> Result<Self, ReadError> {
        let mut found = Self::default();
        let Some(object) = object else { return Ok(found) };
        let mut members = document.members(object);
        while let Some(member) = members.next()?
            && found.0.len() < MEMBERS_MAX
        {
            found.0.push(member);
        }
        Ok(found)
    }

    /// The position of a member; of several, the first.
    pub(super) fn get(&self, key: &str) -> Option<JsonExtent> {
        self.0.iter().find(|(name, _)| name == key.as_bytes()).map(|&(_, value)| value)
    }
}

/// Some columns of a table, row by row. Other members of it are passed over.
pub(super) enum FirefoxTable<'d, const N: usize> {
    Columns([Elements<'d>; N]),
    /// Rows, and where in them each column is. They leave out what is null at their end.
    Rows(Elements<'d>, [usize; N]),
}

/// A row: the texts of its values, without those that are null or absent.
pub(super) struct FirefoxRow<'a, const N: usize> {
    values: [Option<&'a [u8]>; N],
    pub(super) offset: u64,
}

impl<'d, const N: usize> FirefoxTable<'d, N> {
    /// Columns that a table has; one that is missing has no values.
    pub(super) fn open(
        document: &'d Document,
        table: Option<JsonExtent>,
        names: [&str; N],
        losses: &mut Losses,
    ) -> Result<Self, ReadError> {
        let members = FirefoxObject::read(document, table)?;
        let (Some(schema), Some(rows)) = (members.get("schema"), members.get("data")) else {
            return Ok(Self::Columns(names.map(|name| document.elements(members.get(name)))));
        };
        let schema: BTreeMap<String, usize> = document.value(Some(schema), losses)?.unwrap_or_default();
        let places = names.map(|name| schema.get(name).copied().unwrap_or(usize::MAX));
        Ok(Self::Rows(document.elements(Some(rows)), places))
    }

    /// The next row. A table has as many as its longest column.
    pub(super) fn next(&mut self, losses: &mut Losses) -> Result<Option<FirefoxRow<'_, N>>, ReadError> {
        let mut values = [None; N];
        let mut offset = None;
        match self {
            Self::Columns(columns) => {
                for (value, column) in values.iter_mut().zip(columns) {
                    let Some(element) = column.next()? else { continue };
                    offset.get_or_insert(element.offset);
                    *value = Some(element.text);
                }
            }
            Self::Rows(rows, places) => {
                let Some(element) = rows.next()? else { return Ok(None) };
                offset = Some(element.offset);
                let row: Vec<&RawValue> = element.parse(losses).unwrap_or_default();
                values = places.map(|place| row.get(place).map(|value| value.get().as_bytes()));
            }
        }
        let values = values.map(|value| value.filter(|text| *text != b"null"));
        Ok(offset.map(|offset| FirefoxRow { values, offset }))
    }
}

impl<'a, const N: usize> FirefoxRow<'a, N> {
    /// The text of a value.
    pub(super) fn get(&self, column: usize) -> Option<&'a [u8]> {
        self.values[column]
    }

    /// A value that points into a table.
    pub(super) fn index(&self, column: usize) -> Option<u32> {
        std::str::from_utf8(self.get(column)?).ok()?.parse().ok()
    }
}

//! The JSON of the displayed parts of profiles. Tables are read in place row by row, from parallel columns or from rows
//! with a schema. Numbers stay text, so that times are parsed exactly.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::formats::ReadError;
use crate::formats::json::document::{Document, Elements, JsonExtent};
use crate::formats::json::text::parse;
use crate::model::{BuildId, Loss, Losses};

/// Limit for members of an object; real ones have about ten.
const MEMBERS_MAX: usize = 1024;

/// Marker phases; all others are instants.
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

/// A library. Values of an unexpected type count as missing.
#[derive(Deserialize, Default)]
pub(super) struct FirefoxLibrary {
    #[serde(default)]
    pub(super) name: String,
    path: Option<serde_json::Value>,
    #[serde(rename = "codeId")]
    code_id: Option<serde_json::Value>,
    #[serde(rename = "breakpadId")]
    breakpad_id: Option<serde_json::Value>,
    /// The two parts of `breakpad_id` before version 4, on Windows.
    #[serde(rename = "pdbSignature")]
    pdb_signature: Option<serde_json::Value>,
    #[serde(rename = "pdbAge")]
    pdb_age: Option<serde_json::Value>,
    /// Address range where it is loaded, in the Gecko form.
    start: Option<serde_json::Value>,
    end: Option<serde_json::Value>,
}

impl FirefoxLibrary {
    /// Returns the path of the file, or its name.
    pub(super) fn path(&self) -> &str {
        let path = self.path.as_ref().and_then(serde_json::Value::as_str);
        path.filter(|path| !path.is_empty()).unwrap_or(&self.name)
    }

    pub(super) fn build_id(&self) -> Option<BuildId> {
        let id = |value: &Option<serde_json::Value>, read: fn(&[u8]) -> Option<BuildId>| {
            read(value.as_ref()?.as_str()?.as_bytes())
        };
        let direct_id = id(&self.code_id, BuildId::from_hex).or_else(|| id(&self.breakpad_id, BuildId::from_breakpad));
        direct_id.or_else(|| {
            let signature = self.pdb_signature.as_ref()?.as_str()?.replace(['{', '}', '-'], "");
            let age = match self.pdb_age.as_ref()? {
                serde_json::Value::String(age) => age.clone(),
                age => age.to_string(),
            };
            BuildId::from_breakpad(format!("{signature}{age}").as_bytes())
        })
    }

    /// Parses the libraries of a profile: an array, or before version 4 a string that contains the array.
    pub(super) fn read_all(
        document: &Document,
        libs: Option<JsonExtent>,
        losses: &mut Losses,
    ) -> Result<Option<Vec<Self>>, ReadError> {
        let Some(extent) = libs else { return Ok(None) };
        let text = document.text(extent)?;
        if !text.starts_with(b"\"") {
            return document.value(libs, losses);
        }
        let mut copy = String::new();
        let inner = parse::<String>(&text, &mut copy, extent.pos(), losses);
        let libs = inner.and_then(|text| serde_json::from_str(&text).ok());
        losses.add_many(Loss::BadRecord, extent.pos(), u64::from(libs.is_none()));
        Ok(libs)
    }

    /// Returns the offset of an address from the start of the loaded library; `None` if it is outside.
    pub(super) fn relative(&self, address: u64) -> Option<u64> {
        let number = |value: &Option<serde_json::Value>| value.as_ref()?.as_u64();
        let is_inside = address < number(&self.end)?;
        address.checked_sub(number(&self.start)?).filter(|_| is_inside)
    }
}

/// The data of a marker before version 20, which indicates its phase.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct UnphasedData<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    interval: Option<Cow<'a, str>>,
    #[serde(borrow)]
    start_time: Option<&'a RawValue>,
    #[serde(borrow)]
    end_time: Option<&'a RawValue>,
}

/// Start, end and phase of a marker.
pub(super) type MarkerPhase<'a> = (Option<&'a [u8]>, Option<&'a [u8]>, Option<u32>);

/// Returns the phase of a marker before version 20, from its single time and its data.
pub(super) fn phase_of_unphased<'a>(time: &'a [u8], data: Option<&'a [u8]>) -> MarkerPhase<'a> {
    let data = data.and_then(|data| serde_json::from_slice::<UnphasedData<'a>>(data).ok()).unwrap_or_default();
    if data.kind.as_deref() == Some("tracing") {
        return match data.interval.as_deref() {
            Some("start") => (Some(time), None, Some(marker_phase::INTERVAL_START)),
            Some("end") => (None, Some(time), Some(marker_phase::INTERVAL_END)),
            _ => (Some(time), None, None),
        };
    }
    let is_number = |value: &&RawValue| value.get().starts_with(|digit: char| digit == '-' || digit.is_ascii_digit());
    match (data.start_time.filter(is_number), data.end_time.filter(is_number)) {
        (Some(start), Some(end)) if start.get() != end.get() => {
            (Some(start.get().as_bytes()), Some(end.get().as_bytes()), Some(marker_phase::INTERVAL))
        }
        _ => (Some(time), None, None),
    }
}

/// Time unit, if a profile does not use milliseconds.
#[derive(Deserialize)]
pub(super) struct SampleUnits {
    pub(super) time: Option<String>,
}

/// The schema of a marker type.
#[derive(Deserialize)]
pub(super) struct MarkerSchema {
    #[serde(default)]
    name: String,
    fields: Option<Vec<MarkerField>>,
    /// Name of `fields` before version 55.
    data: Option<Vec<MarkerField>>,
}

#[derive(Deserialize)]
struct MarkerField {
    key: Option<String>,
    /// A string, or an object for tables.
    format: Option<serde_json::Value>,
}

impl MarkerSchema {
    /// Returns the marker type, and the keys of its data that are string indices.
    pub(super) fn texts(self) -> (String, Vec<String>) {
        let fields = self.fields.into_iter().chain(self.data).flatten();
        let is_text = |format: &str| matches!(format, "unique-string" | "flow-id" | "terminating-flow-id");
        let texts =
            fields.filter(|field| field.format.as_ref().and_then(serde_json::Value::as_str).is_some_and(is_text));
        (self.name, texts.filter_map(|field| field.key).collect())
    }
}

/// Extents of the tables that stacks refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct FirefoxStackTables {
    pub(super) stacks: Option<JsonExtent>,
    pub(super) frames: Option<JsonExtent>,
    pub(super) functions: Option<JsonExtent>,
    pub(super) resources: Option<JsonExtent>,
    /// Source files of functions, in newer versions.
    pub(super) sources: Option<JsonExtent>,
    pub(super) texts: Option<JsonExtent>,
}

impl FirefoxStackTables {
    /// Looks up the tables among the members of an object.
    pub(super) fn from_members(members: &FirefoxObject) -> Self {
        Self {
            stacks: members.get("stackTable"),
            frames: members.get("frameTable"),
            functions: members.get("funcTable"),
            resources: members.get("resourceTable"),
            sources: members.get("sources"),
            // The Gecko form uses the second name.
            texts: members.get("stringArray").or_else(|| members.get("stringTable")),
        }
    }

    /// Fills missing tables from `shared`.
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

/// The members of an object.
#[derive(Debug, Default)]
pub(super) struct FirefoxObject(Vec<(Vec<u8>, JsonExtent)>);

impl FirefoxObject {
    pub(super) fn read(document: &Document, object: Option<JsonExtent>) -> Result<Self, ReadError> {
        let mut parsed_object = Self::default();
        let Some(object) = object else { return Ok(parsed_object) };
        let mut members = document.members(object);
        while let Some(member) = members.next()?
            && parsed_object.0.len() < MEMBERS_MAX
        {
            parsed_object.0.push(member);
        }
        Ok(parsed_object)
    }

    /// Returns the extent of a member; the first of several counts.
    pub(super) fn get(&self, key: &str) -> Option<JsonExtent> {
        self.0.iter().find(|(name, _)| name == key.as_bytes()).map(|&(_, value)| value)
    }
}

/// Iterator over the rows of some columns of a table.
pub(super) enum FirefoxTable<'d, const N: usize> {
    Columns([Elements<'d>; N]),
    /// Rows, and the position of each column in them. Trailing nulls are omitted.
    Rows(Elements<'d>, [usize; N]),
}

/// A row: the texts of its values, `None` for missing and `null` ones.
pub(super) struct FirefoxRow<'a, const N: usize> {
    values: [Option<&'a [u8]>; N],
    pub(super) offset: u64,
}

impl<'d, const N: usize> FirefoxTable<'d, N> {
    /// Opens columns of a table; a missing column has no values.
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
        let column_indices = names.map(|name| schema.get(name).copied().unwrap_or(usize::MAX));
        Ok(Self::Rows(document.elements(Some(rows)), column_indices))
    }

    /// Returns the next row. The longest column defines the number of rows.
    pub(super) fn next(&mut self, losses: &mut Losses) -> Result<Option<FirefoxRow<'_, N>>, ReadError> {
        let mut values = [None; N];
        let mut offset = None;
        match self {
            Self::Columns(columns) => {
                for (value, column) in values.iter_mut().zip(columns) {
                    let Some(element) = column.next()? else { continue };
                    offset.get_or_insert(element.offset);
                    element.count_losses(losses);
                    // A value beyond the limit has no text.
                    *value = Some(element.text).filter(|text| !text.is_empty());
                }
            }
            Self::Rows(rows, column_indices) => {
                let Some(element) = rows.next()? else { return Ok(None) };
                offset = Some(element.offset);
                let row: Vec<&RawValue> = element.parse(losses).unwrap_or_default();
                values = column_indices.map(|index| row.get(index).map(|value| value.get().as_bytes()));
            }
        }
        let values = values.map(|value| value.filter(|text| *text != b"null"));
        Ok(offset.map(|offset| FirefoxRow { values, offset }))
    }
}

impl<'a, const N: usize> FirefoxRow<'a, N> {
    /// Returns the text of a value.
    pub(super) fn get(&self, column: usize) -> Option<&'a [u8]> {
        self.values[column]
    }

    /// Returns a value that is a table index.
    pub(super) fn index(&self, column: usize) -> Option<u32> {
        std::str::from_utf8(self.get(column)?).ok()?.parse().ok()
    }
}

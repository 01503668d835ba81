//! The JSON of profiles, as far as it is shown. Numbers stay text, so that times are read exactly.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

/// A profile of either form.
#[derive(Deserialize)]
pub(super) struct Profile<'a> {
    #[serde(borrow)]
    pub(super) meta: Meta<'a>,
    /// Each is a [`Thread`] and a [`Tables`], to be taken apart one at a time.
    #[serde(borrow, default)]
    pub(super) threads: Vec<&'a RawValue>,
    /// Gecko form: the other processes.
    #[serde(borrow, default)]
    pub(super) processes: Vec<Profile<'a>>,
    #[serde(default)]
    pub(super) libs: Vec<Library>,
    /// Processed form of late: tables that all threads share.
    #[serde(borrow)]
    pub(super) shared: Option<Tables<'a>>,
    #[serde(borrow, default)]
    pub(super) counters: Vec<Counter<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Meta<'a> {
    /// Milliseconds since 1970.
    #[serde(borrow)]
    pub(super) start_time: Option<&'a RawValue>,
    #[serde(default)]
    pub(super) categories: Vec<Category>,
}

#[derive(Deserialize)]
pub(super) struct Category {
    pub(super) name: String,
}

#[derive(Deserialize)]
pub(super) struct Library {
    #[serde(default)]
    pub(super) name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Thread<'a> {
    #[serde(default)]
    pub(super) name: String,
    pub(super) process_name: Option<String>,
    #[serde(borrow)]
    pub(super) pid: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tid: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) samples: Option<Table<'a>>,
    #[serde(borrow)]
    pub(super) markers: Option<Table<'a>>,
}

/// The tables that stacks point into.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tables<'a> {
    #[serde(borrow)]
    pub(super) stack_table: Option<Table<'a>>,
    #[serde(borrow)]
    pub(super) frame_table: Option<Table<'a>>,
    #[serde(borrow)]
    pub(super) func_table: Option<Table<'a>>,
    #[serde(borrow)]
    pub(super) resource_table: Option<Table<'a>>,
    pub(super) string_array: Option<Vec<Option<String>>>,
    /// The Gecko form calls it so.
    pub(super) string_table: Option<Vec<Option<String>>>,
}

#[derive(Deserialize)]
pub(super) struct Counter<'a> {
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) category: String,
    #[serde(borrow)]
    pub(super) pid: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) samples: Option<Table<'a>>,
}

/// A table: columns by name, or rows and where in them each column is. Other members are passed over.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct Table<'a> {
    #[serde(borrow)]
    members: BTreeMap<String, &'a RawValue>,
}

/// Some columns of a table, side by side.
pub(super) struct Columns<'a> {
    columns: Vec<Vec<&'a RawValue>>,
    pub(super) len: usize,
}

impl<'a> Table<'a> {
    /// Takes columns out of a table; one that is missing has no values.
    pub(super) fn columns(&self, names: &[&str]) -> serde_json::Result<Columns<'a>> {
        let columns = if let (Some(schema), Some(data)) = (self.members.get("schema"), self.members.get("data")) {
            let schema: BTreeMap<String, usize> = serde_json::from_str(schema.get())?;
            let rows: Vec<Vec<&'a RawValue>> = serde_json::from_str(data.get())?;
            let column = |name: &&str| {
                let position = schema.get(*name).copied().unwrap_or(usize::MAX);
                // Rows leave out what is null at their end.
                rows.iter().map(|row| row.get(position).copied().unwrap_or(RawValue::NULL)).collect()
            };
            names.iter().map(column).collect()
        } else {
            let column = |name: &&str| match self.members.get(*name) {
                Some(column) if column.get().starts_with('[') => serde_json::from_str(column.get()),
                _ => Ok(Vec::new()),
            };
            names.iter().map(column).collect::<serde_json::Result<Vec<Vec<_>>>>()?
        };
        let len = columns.iter().map(Vec::len).max().unwrap_or(0);
        Ok(Columns { columns, len })
    }
}

impl<'a> Columns<'a> {
    /// A value; `None` for null and for what is not there.
    pub(super) fn get(&self, column: usize, row: usize) -> Option<&'a RawValue> {
        self.columns[column].get(row).copied().filter(|value| value.get() != "null")
    }

    /// A value that points into a table.
    pub(super) fn index(&self, column: usize, row: usize) -> Option<u32> {
        self.get(column, row)?.get().parse().ok()
    }
}

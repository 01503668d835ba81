//! Writes one Parquet file: rows are buffered by column and written a row group at a time. Independent of traces.

use std::fs::File;
use std::io::{self, BufWriter};
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as PhysicalType, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::SortingColumn;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type};

/// Rows per group: as many as `DuckDB` gives to one thread.
const GROUP_ROWS: usize = 122_880;

/// Bytes of text after which a group is written, because arguments may be long.
const GROUP_TEXT_BYTES: usize = 64 << 20;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Integers of 64 bits, each close to the previous one: stored as deltas.
    Rising,
    Int64,
    Int32,
    Double,
    Bool,
    Text,
}

/// A column: its name, its type, and whether it is nullable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Column(pub &'static str, pub Kind, pub bool);

/// One value of a row.
#[derive(Debug, Clone)]
pub(super) enum ParquetCell {
    /// Null, in a nullable column.
    Null,
    /// Values of [`Kind::Rising`], [`Kind::Int64`] and [`Kind::Int32`].
    Int(i64),
    Number(f64),
    Flag(bool),
    Text(ByteArray),
}

impl ParquetCell {
    pub(super) fn int_or_null(number: Option<i64>) -> Self {
        number.map_or(Self::Null, Self::Int)
    }

    /// Returns a text, or null if it is empty.
    pub(super) fn text_or_null(text: &str) -> Self {
        if text.is_empty() { Self::Null } else { Self::Text(text.into()) }
    }
}

/// A table being written, with its buffered rows.
pub(super) struct TableFile {
    writer: SerializedFileWriter<BufWriter<File>>,
    columns: Vec<ColumnBuffer>,
    rows: usize,
    text_bytes: usize,
}

/// The buffered values of a column.
struct ColumnBuffer {
    column: Column,
    values: Values,
    /// For a nullable column: 1 per row with a value, else 0.
    levels: Vec<i16>,
}

enum Values {
    Int64(Vec<i64>),
    Int32(Vec<i32>),
    Double(Vec<f64>),
    Bool(Vec<bool>),
    Text(Vec<ByteArray>),
}

impl TableFile {
    /// Creates a file whose rows are sorted by the column `sorted_by`, if any. Returns the I/O error of a failed write.
    pub(super) fn create(file: File, columns: &[Column], sorted_by: Option<&str>) -> io::Result<Self> {
        let fields = columns.iter().map(|column| column.field().map(Arc::new)).collect::<Result<_, _>>();
        let schema = fields.and_then(|fields| Type::group_type_builder("schema").with_fields(fields).build());
        let mut properties = WriterProperties::builder()
            .set_created_by(format!("longspan {}", env!("CARGO_PKG_VERSION")))
            .set_compression(Compression::ZSTD(ZstdLevel::default()));
        properties = columns.iter().fold(properties, |properties, column| column.encode(properties));
        if let Some(index) = columns.iter().position(|column| Some(column.0) == sorted_by) {
            let by = SortingColumn { column_idx: index as i32, descending: false, nulls_first: false };
            properties = properties.set_sorting_columns(Some(vec![by]));
        }
        let schema = Arc::new(schema.map_err(io_error)?);
        let writer = SerializedFileWriter::new(BufWriter::new(file), schema, Arc::new(properties.build()));
        let columns = columns.iter().map(|&column| ColumnBuffer::new(column)).collect();
        Ok(Self { writer: writer.map_err(io_error)?, columns, rows: 0, text_bytes: 0 })
    }

    /// Adds a row of one cell per column, and empties `cells`. Returns the I/O error of a failed write.
    pub(super) fn push(&mut self, cells: &mut Vec<ParquetCell>) -> io::Result<()> {
        if cells.len() != self.columns.len() {
            return Err(io::Error::other(format!("{} cells for {} columns", cells.len(), self.columns.len())));
        }
        for (buffer, cell) in self.columns.iter_mut().zip(cells.drain(..)) {
            if let ParquetCell::Text(text) = &cell {
                self.text_bytes += text.len();
            }
            buffer.push(cell)?;
        }
        self.rows += 1;
        if self.rows >= GROUP_ROWS || self.text_bytes >= GROUP_TEXT_BYTES {
            self.write_group()?;
        }
        Ok(())
    }

    /// Writes the buffered rows and the footer, syncs the file, and returns its length in bytes. Returns the I/O error
    /// of a failed write.
    pub(super) fn finish(mut self) -> io::Result<u64> {
        self.write_group()?;
        let file = self.writer.into_inner().map_err(io_error)?.into_inner()?;
        file.sync_all()?;
        Ok(file.metadata()?.len())
    }

    fn write_group(&mut self) -> io::Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        (self.rows, self.text_bytes) = (0, 0);
        write_group(&mut self.writer, &mut self.columns).map_err(io_error)
    }
}

fn write_group(
    writer: &mut SerializedFileWriter<BufWriter<File>>,
    columns: &mut [ColumnBuffer],
) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    for buffer in columns {
        if let Some(mut out) = group.next_column()? {
            buffer.write(&mut out)?;
            out.close()?;
        }
    }
    group.close().map(drop)
}

impl Column {
    fn field(&self) -> Result<Type, ParquetError> {
        let Self(name, kind, optional) = *self;
        let (physical, logical) = match kind {
            Kind::Rising | Kind::Int64 => (PhysicalType::INT64, None),
            Kind::Int32 => (PhysicalType::INT32, None),
            Kind::Double => (PhysicalType::DOUBLE, None),
            Kind::Bool => (PhysicalType::BOOLEAN, None),
            Kind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let repetition = if optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        Type::primitive_type_builder(name, physical).with_logical_type(logical).with_repetition(repetition).build()
    }

    fn encode(&self, properties: WriterPropertiesBuilder) -> WriterPropertiesBuilder {
        if self.1 != Kind::Rising {
            return properties;
        }
        let path = ColumnPath::from(self.0);
        properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED)
    }
}

impl ColumnBuffer {
    fn new(column: Column) -> Self {
        let values = match column.1 {
            Kind::Rising | Kind::Int64 => Values::Int64(Vec::new()),
            Kind::Int32 => Values::Int32(Vec::new()),
            Kind::Double => Values::Double(Vec::new()),
            Kind::Bool => Values::Bool(Vec::new()),
            Kind::Text => Values::Text(Vec::new()),
        };
        Self { column, values, levels: Vec::new() }
    }

    fn push(&mut self, cell: ParquetCell) -> io::Result<()> {
        let is_null = matches!(cell, ParquetCell::Null);
        match (&mut self.values, cell) {
            (Values::Int64(values), ParquetCell::Int(value)) => values.push(value),
            (Values::Int32(values), ParquetCell::Int(value)) => {
                values.push(i32::try_from(value).map_err(io::Error::other)?);
            }
            (Values::Double(values), ParquetCell::Number(value)) => values.push(value),
            (Values::Bool(values), ParquetCell::Flag(value)) => values.push(value),
            (Values::Text(values), ParquetCell::Text(value)) => values.push(value),
            (_, ParquetCell::Null) if self.column.2 => {}
            (_, cell) => return Err(io::Error::other(format!("column {} cannot contain {cell:?}", self.column.0))),
        }
        if self.column.2 {
            self.levels.push(i16::from(!is_null));
        }
        Ok(())
    }

    /// Writes and clears the values.
    fn write(&mut self, out: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        let levels = self.column.2.then_some(&*self.levels);
        match &mut self.values {
            Values::Int64(values) => {
                out.typed::<Int64Type>().write_batch(values, levels, None)?;
                values.clear();
            }
            Values::Int32(values) => {
                out.typed::<Int32Type>().write_batch(values, levels, None)?;
                values.clear();
            }
            Values::Double(values) => {
                out.typed::<DoubleType>().write_batch(values, levels, None)?;
                values.clear();
            }
            Values::Bool(values) => {
                out.typed::<BoolType>().write_batch(values, levels, None)?;
                values.clear();
            }
            Values::Text(values) => {
                out.typed::<ByteArrayType>().write_batch(values, levels, None)?;
                values.clear();
            }
        }
        self.levels.clear();
        Ok(())
    }
}

/// Returns the underlying I/O error, if there is one.
fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}

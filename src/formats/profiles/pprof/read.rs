//! Converts a profile to samples. A profile has no times. Each sample type is a row of its own, on which samples are
//! drawn as wide as they weigh. Stacks with a common prefix are drawn together, in order of first appearance. Different
//! units are never added. Ignores values that are not positive, and timestamps of single events in newer profiles
//! (`Breakdown`).

use super::dropped_frames::DroppedFrames;
use super::fields::{profile, value_type};
use super::stacks::{PprofSample, PprofStacks};
use super::tables::{ProfileMemory, ProfileTables, read_message};
use super::units::ProfileUnit;
use crate::formats::format::{DataKind, Format, Opener};
use crate::formats::input::source::{HEAD_BYTES, Source};
use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::{BatchBuilder, label};
use crate::formats::profiles::weighed::position_after;
use crate::formats::protobuf::decode::{Fields, ProtoValue};
use crate::formats::protobuf::numbers::FieldNumber;
use crate::formats::{BatchSink, ReadContext, ReadError, Reader, StreamReader};
use crate::model::{Id, Loss, Metadata, SampleMeasure, SourcePos, TrackKey};

pub(crate) const FORMAT: Format = Format {
    name: "pprof",
    record: "A record is a Sample message, which names locations and has a value for each type.",
    sniff: looks_like_pprof,
    is_event: None,
    live: None,
    shows: &[DataKind::Arguments, DataKind::Samples],
    opener: Opener::Trace(|source, _| Ok(open(source))),
};

/// The first byte of a sample in a profile: field 2, with a length.
const SAMPLE_TAG: u8 = (2 << 3) | 2;

/// Returns whether all leading fields belong to a profile, including a sample type of two small numbers. Go writes the
/// time first, others the sample types.
fn looks_like_pprof(head: &[u8]) -> bool {
    let is_number = |value: ProtoValue<'_>| matches!(value, ProtoValue::Varint(_));
    let is_type = |bytes: &[u8]| {
        let mut parts = Fields::new(bytes);
        let is_typed = |number: FieldNumber| (value_type::TYPE..=value_type::UNIT).contains(&number);
        parts.by_ref().all(|part| is_number(part.value) && is_typed(part.number)) && !parts.is_broken()
    };
    let (mut count, mut types) = (0, 0);
    let (mut fields, mut rest) = (Fields::new(head), head);
    // A truncated field ends the iteration.
    while let Some(field) = fields.next() {
        let fits = match (field.number, field.value) {
            (profile::SAMPLE_TYPE, ProtoValue::Bytes(bytes)) => {
                types += usize::from(is_type(bytes));
                is_type(bytes) && !bytes.is_empty()
            }
            (
                profile::SAMPLE
                | profile::MAPPING
                | profile::LOCATION
                | profile::FUNCTION
                | profile::STRING_TABLE
                | profile::PERIOD_TYPE
                | profile::LABEL_SET
                | profile::COMMENT,
                ProtoValue::Bytes(_),
            ) => true,
            (number, value) => (profile::DROP_FRAMES..=profile::TICK_UNIT).contains(&number) && is_number(value),
        };
        if !fits {
            return false;
        }
        count += 1;
        rest = fields.rest();
    }
    // The first sample may be longer than the head.
    let has_long_sample = head.len() >= HEAD_BYTES && fields.is_broken() && rest.first() == Some(&SAMPLE_TAG);
    types > 0 && (count > types || has_long_sample)
}

/// Creates a reader of a profile.
fn open(source: Source) -> Reader {
    Reader::stream(Pprof { source })
}

struct Pprof {
    source: Source,
}

impl StreamReader for Pprof {
    fn read(self: Box<Self>, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError> {
        let mut source = self.source;
        let path = source.path().to_owned();
        let mut memory = ProfileMemory::new(&path, context);
        let (message, cut_at) = read_message(&mut source, &mut memory)?;
        let mut batch = BatchBuilder::new(context.chunk_limits);
        let tables = ProfileTables::read(&message, &mut memory, batch.losses())?;
        batch.lose_cut(cut_at);
        let mut stacks = PprofStacks::default();
        let mut dropped = DroppedFrames::new(tables.drop_frames(), batch.losses());
        let mut samples = Vec::new();
        for (number, bytes) in tables.encoded_samples.iter().enumerate() {
            if number.is_multiple_of(1 << 12) {
                context.cancel.check()?;
            }
            let pos = SourcePos::Offset((bytes.as_ptr().addr() - message.as_ptr().addr()) as u64);
            let sample = stacks.sample(bytes, &tables, &mut dropped, pos, &mut batch);
            let kept_bytes = size_of::<PprofSample>() + 8 * sample.values.len() + sample.labels.len();
            memory.add(kept_bytes + stacks.take_new_bytes(), 0)?;
            samples.push(sample);
        }
        let ranks = stacks.ranks();
        samples.sort_by_key(|sample| sample.frame.map_or(0, |frame| ranks[frame as usize] + 1));
        let rows = TypeRow::all(tables.types.len(), &samples);
        name_tracks(&tables, &rows, &mut batch);
        for row in rows {
            let mut drawer = SampleRow::new(&tables, row);
            for sample in &samples {
                drawer.push(sample, &mut stacks, &mut batch);
                batch.flush_if_full(sink, context)?;
            }
        }
        batch.flush(sink)
    }
}

/// Returns the unit of a sample type by its row in the table of strings.
fn unit<'u>(tables: &ProfileTables<'u>, row: usize) -> ProfileUnit<'u> {
    ProfileUnit::from_text(tables.text(row))
}

/// The values of one type on one track: the positive ones, or the negative ones in the difference of two profiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TypeRow {
    type_index: usize,
    is_less: bool,
}

impl TypeRow {
    /// Returns a row per type, and a second row for types with negative values.
    fn all(types: usize, samples: &[PprofSample]) -> Vec<Self> {
        let is_negative = |type_index: usize| {
            samples.iter().any(|sample| sample.values.get(type_index).is_some_and(|&value| value < 0))
        };
        let of_type = |type_index| {
            let less = is_negative(type_index).then_some(Self { type_index, is_less: true });
            [Some(Self { type_index, is_less: false }), less].into_iter().flatten()
        };
        (0..types).flat_map(of_type).collect()
    }

    /// Returns the suffix of the type name.
    fn suffix(self) -> &'static str {
        if self.is_less { " decrease" } else { "" }
    }

    /// Returns the weight of a value; `None` if it belongs to another row.
    fn weight(self, value: i64) -> Option<u64> {
        (value != 0 && self.is_less == (value < 0)).then(|| value.unsigned_abs())
    }
}

/// Returns the track of a sample type.
fn track_key(tables: &ProfileTables<'_>, row: TypeRow) -> TrackKey {
    let title = |&(kind, of_type): &(usize, usize)| {
        format!("{}{} ({})", tables.text(kind), row.suffix(), unit(tables, of_type).name)
    };
    let own = title(&tables.types[row.type_index]);
    // A profile may list a type twice.
    let is_again = tables.types[..row.type_index].iter().any(|earlier| title(earlier) == own);
    let number = if is_again { format!(" #{}", row.type_index + 1) } else { String::new() };
    let title = format!("{own}{number}");
    TrackKey::untimed_thread(Id::None, Id::Text(title.into()))
}

/// Names the tracks in the order of the profile, with the default type first; without one, the last type is the
/// default, as in pprof. Names the process after the program and its period.
fn name_tracks(tables: &ProfileTables<'_>, rows: &[TypeRow], batch: &mut BatchBuilder) {
    let pos = SourcePos::Offset(0);
    let losses = batch.losses();
    let mut named = Vec::new();
    let program = label(tables.program().as_bytes(), pos, losses);
    if !program.is_empty() {
        named.push(Metadata::ProcessName { pid: Id::None, name: program });
    }
    if let Some((period, (kind, of_period))) = tables.period.filter(|&(period, _)| period > 0) {
        let ProfileUnit { name, factor } = unit(tables, of_period);
        let period = u128::from(period) * u128::from(factor);
        let labels = format!("one sample every {period} {name} of {}", tables.text(kind));
        named.push(Metadata::ProcessLabels { pid: Id::None, labels: label(labels.as_bytes(), pos, losses) });
    }
    let is_default = |&(kind, _): &(usize, usize)| tables.default_type > 0 && kind == tables.default_type;
    let default_row = tables.types.iter().rposition(is_default).or(tables.types.len().checked_sub(1));
    for (position, &row) in (0..).zip(rows) {
        let key = track_key(tables, row);
        let Id::Text(title) = &key.tid else { continue };
        let name = label(title.as_bytes(), pos, losses);
        named.push(Metadata::ThreadName { pid: Id::None, tid: key.tid.clone(), name });
        let is_default = !row.is_less && default_row == Some(row.type_index);
        let sort_index = if is_default { -1 } else { position };
        named.push(Metadata::ThreadSortIndex { pid: Id::None, tid: key.tid, sort_index });
    }
    batch.extend_metadata(named);
}

/// Adds the samples of one type to their row.
struct SampleRow<'t> {
    row: TypeRow,
    key: TrackKey,
    event: std::borrow::Cow<'t, str>,
    unit: ProfileUnit<'t>,
    now_ns: i64,
    args: ArgsWriter,
}

impl<'t> SampleRow<'t> {
    fn new(tables: &ProfileTables<'t>, row: TypeRow) -> Self {
        let (kind, of_type) = tables.types[row.type_index];
        let (kind, unit) = (tables.text(kind), unit(tables, of_type));
        let event = if row.is_less { format!("{kind}{}", row.suffix()).into() } else { kind };
        Self { row, key: track_key(tables, row), event, unit, now_ns: 0, args: ArgsWriter::default() }
    }

    fn push(&mut self, sample: &PprofSample, stacks: &mut PprofStacks, batch: &mut BatchBuilder) {
        let value = sample.values.get(self.row.type_index).copied().unwrap_or(0);
        let Some(weight) = self.row.weight(value) else { return };
        let pos = SourcePos::Time(self.now_ns);
        let Some(weight) = weight.checked_mul(self.unit.factor) else { return batch.lose(Loss::BadNumber, pos) };
        let unit = &*self.unit.name;
        self.args.clear();
        self.args.measure(&self.event, unit, weight);
        if !sample.labels.is_empty() {
            self.args.key("", b"labels");
            self.args.json.push_str(&sample.labels);
        }
        let detail = batch.args(self.args.finish());
        let stack = sample.frame.map_or_else(Default::default, |frame| stacks.frames.stack(frame, batch, pos));
        let track = batch.track_with(&self.key);
        batch.push_sample(self.now_ns, track, stack, detail);
        let measure = SampleMeasure { event: "".into(), unit: unit.into(), weight };
        self.now_ns = position_after(self.now_ns, measure.drawn_ns(), pos, batch);
    }
}

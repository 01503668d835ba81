//! Builds the tree of all stacks of a profile from its samples. Frames that the profile asks to drop are left out.

use std::borrow::Cow;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::dropped_frames::DroppedFrames;
use super::fields::{label, sample};
use super::tables::{LocationFrame, MappedModules, ProfileTables};
use crate::formats::output::args::{ArgsWriter, push_quoted};
use crate::formats::output::batch::{BatchBuilder, STACK_FRAMES_MAX};
use crate::formats::output::modules::ModuleFrame;
use crate::formats::profiles::frames::FrameTable;
use crate::formats::protobuf::decode::{Fields, ProtoValue};
use crate::model::args::Detail;
use crate::model::{Loss, Losses, SourcePos};

/// Message of the note on dropped frames.
const DROPPED: &str = "The profile asks to drop frames of this sample (drop_frames), such as those inside of an allocator; their cost is that of the caller.";

/// A sample, with the row of its innermost frame.
pub(super) struct PprofSample {
    /// The innermost frame; `None` for a stack without frames.
    pub(super) frame: Option<u32>,
    pub(super) values: Box<[i64]>,
    /// Labels as JSON, with an array for a key that repeats; empty if it has none.
    pub(super) labels: Box<str>,
}

/// Text of a title, and the category of its module.
type TitleKey = (Box<[u8]>, Option<Arc<str>>);

/// A caller, encoded as in [`PprofStacks::rows`], a location, and whether an earlier location has no frame to drop.
type LocationKey = (u32, u64, bool);

/// The result of adding the frames of a location to a stack.
#[derive(Debug, Clone, Copy)]
struct LocationRow {
    /// Row of the innermost frame; `None` for an empty stack.
    frame: Option<u32>,
    /// Whether frames were dropped.
    is_cut: bool,
    /// Whether it, or an earlier location, has no frame to drop.
    has_kept: bool,
}

/// The frames of all samples as a tree.
#[derive(Default)]
pub(super) struct PprofStacks {
    pub(super) frames: FrameTable,
    modules: MappedModules,
    /// Row by caller (0 for none, else its row + 1) and title.
    rows: FxHashMap<(u32, u32), u32>,
    /// Rows of locations with several frames. A few bytes may list a location with thousands of frames again.
    location_rows: FxHashMap<LocationKey, LocationRow>,
    /// Titles by text, and for addresses also by module.
    titles: FxHashMap<TitleKey, u32>,
    /// Caller by row, encoded as in `rows`.
    callers: Vec<u32>,
    new_bytes: usize,
}

/// The fields of an encoded sample.
#[derive(Default)]
struct SampleFields<'m> {
    /// Location ids, innermost first.
    locations: Vec<u64>,
    values: Vec<i64>,
    /// Keys, and values as JSON.
    labels: Vec<(Cow<'m, str>, String)>,
}

impl<'m> SampleFields<'m> {
    fn read(bytes: &[u8], tables: &ProfileTables<'m>, pos: SourcePos, losses: &mut Losses) -> Self {
        let mut read = Self::default();
        let (mut label_bytes, mut is_cut) = (0, false);
        let mut fields = Fields::new(bytes);
        for field in fields.by_ref() {
            match (field.number, field.value) {
                (sample::LOCATION_ID, value) => {
                    let room = STACK_FRAMES_MAX.saturating_sub(read.locations.len());
                    let mut numbers = value.varints();
                    read.locations.extend(numbers.by_ref().take(room));
                    is_cut |= numbers.next().is_some();
                }
                (sample::VALUE, value) => {
                    // One more than needed shows that there are too many.
                    let room = (tables.types.len() + 1).saturating_sub(read.values.len());
                    read.values.extend(value.varints().take(room).map(u64::cast_signed));
                }
                // Labels may repeat a long text; beyond the limit of arguments, they are not shown.
                (sample::LABEL, ProtoValue::Bytes(bytes)) if label_bytes <= Detail::ARGS_BYTES_MAX => {
                    let label = read_label(bytes, tables);
                    label_bytes += label.1.len();
                    read.labels.push(label);
                }
                _ => {}
            }
        }
        if fields.is_broken() || read.values.len() != tables.types.len() {
            losses.add(Loss::BadRecord, pos);
        }
        if is_cut {
            losses.add(Loss::DeepNesting, pos);
        }
        read.values.truncate(tables.types.len());
        read
    }
}

impl PprofStacks {
    pub(super) fn sample<'m>(
        &mut self,
        bytes: &[u8],
        tables: &ProfileTables<'m>,
        dropped: &mut DroppedFrames<'m>,
        pos: SourcePos,
        batch: &mut BatchBuilder,
    ) -> PprofSample {
        let SampleFields { locations, values, labels } = SampleFields::read(bytes, tables, pos, batch.losses());
        let (mut frame, mut has_kept) = (None, false);
        let mut location_frames = Vec::new();
        for &location in locations.iter().rev() {
            let key = (frame.map_or(0, |frame| frame + 1), location, has_kept);
            let row = if let Some(&row) = self.location_rows.get(&key) {
                row
            } else {
                let mut modules = std::mem::take(&mut self.modules);
                let known = tables.each_frame(location, &mut modules, batch, |each| location_frames.push(each));
                let address = tables.address_frame(location, &mut modules, batch);
                self.modules = modules;
                if known.is_none() {
                    batch.lose(Loss::MissingText, pos);
                }
                let mut kept_count = dropped.kept_count(&location_frames, &mut has_kept, batch.losses());
                if let Some(address) = address.filter(|_| kept_count == location_frames.len()) {
                    location_frames.clear();
                    location_frames.push(address);
                    kept_count = 1;
                }
                self.push_location(key, &mut location_frames, kept_count, has_kept)
            };
            (frame, has_kept) = (row.frame, row.has_kept);
            if row.is_cut {
                batch.losses().add_because(DROPPED, Loss::IgnoredMetadata, pos);
                if has_kept {
                    break;
                }
            }
        }
        PprofSample { frame, values: values.into(), labels: labels_json(&labels) }
    }

    /// Adds the first `kept_count` frames of a location to the stack in `key`. Drains `frames`.
    fn push_location(
        &mut self,
        key: LocationKey,
        frames: &mut Vec<LocationFrame<'_>>,
        kept_count: usize,
        has_kept: bool,
    ) -> LocationRow {
        let (is_cut, is_long) = (kept_count < frames.len(), frames.len() > 1);
        let caller = key.0.checked_sub(1);
        let frame = frames.drain(..).take(kept_count).fold(caller, |caller, each| self.frame(caller, each));
        let row = LocationRow { frame, is_cut, has_kept };
        if is_long {
            self.location_rows.insert(key, row);
            self.new_bytes += 2 * size_of::<(LocationKey, LocationRow)>();
        }
        row
    }

    /// Returns the row of a frame, adding it if needed. If there are too many, returns the row of its caller.
    fn frame(&mut self, caller: Option<u32>, frame: LocationFrame<'_>) -> Option<u32> {
        let frame = match frame {
            LocationFrame::Name(name, category) => ModuleFrame { text: name.into(), category },
            LocationFrame::Address(frame) => frame,
        };
        let key = (frame.text.as_slice().into(), frame.category.clone());
        let title = if let Some(&title) = self.titles.get(&key) {
            title
        } else {
            self.new_bytes += 2 * (frame.text.len() + FrameTable::TITLE_BYTES) + 4 * size_of::<u64>();
            let new = self.frames.push_frame(frame);
            self.titles.insert(key, new);
            new
        };
        let key = (caller.map_or(0, |caller| caller + 1), title);
        if let Some(&row) = self.rows.get(&key) {
            return Some(row);
        }
        let Ok(new) = u32::try_from(self.frames.len()) else { return caller };
        if new >= u32::MAX - 1 {
            return caller;
        }
        // A stack that is too deep restarts, as in all profiles.
        self.frames.push_titled(caller, title);
        self.callers.push(key.0);
        self.rows.insert(key, new);
        self.new_bytes += FrameTable::ROW_BYTES + 2 * size_of::<((u32, u32), u32)>() + 4 * size_of::<u32>();
        Some(new)
    }

    /// Returns the bytes of memory that frames took since the last call.
    pub(super) fn take_new_bytes(&mut self) -> usize {
        std::mem::take(&mut self.new_bytes)
    }

    /// Returns the position of each row in tree order: callers before callees, siblings in order of first appearance.
    pub(super) fn ranks(&self) -> Vec<u32> {
        let count = self.callers.len();
        // First callee by caller, and next sibling by row, both plus 1.
        let (mut first, mut next) = (vec![0; count + 1], vec![0; count]);
        for (row, &caller) in self.callers.iter().enumerate().rev() {
            next[row] = first[caller as usize];
            first[caller as usize] = row as u32 + 1;
        }
        let mut ranks = vec![0; count];
        let mut rank = 0;
        let mut waiting = vec![first[0]];
        while let Some(at) = waiting.pop() {
            let Some(row) = at.checked_sub(1) else { continue };
            ranks[row as usize] = rank;
            rank += 1;
            waiting.push(next[row as usize]);
            waiting.push(first[at as usize]);
        }
        ranks
    }
}

/// Returns the labels of a sample as a JSON object; empty without any.
fn labels_json(labels: &[(Cow<'_, str>, String)]) -> Box<str> {
    let labels: Vec<_> = labels.iter().map(|(key, value)| (&**key, &**value)).collect();
    let mut args = ArgsWriter::default();
    args.members(&labels, |value, json| json.push_str(value));
    args.finish().into()
}

/// Returns the key of a label, and its value as JSON: text, a number, or a number with its unit.
fn read_label<'m>(bytes: &[u8], tables: &ProfileTables<'m>) -> (Cow<'m, str>, String) {
    let (mut key, mut words, mut number, mut unit) = (0, None, 0, None);
    for part in Fields::new(bytes) {
        let row = usize::try_from(part.value.number()).unwrap_or(usize::MAX);
        // Row 0 is the empty string.
        let given = Some(row).filter(|&row| row > 0);
        match part.number {
            label::KEY => key = row,
            label::STR => words = given,
            label::NUM => number = part.value.signed(),
            label::NUM_UNIT => unit = given,
            _ => {}
        }
    }
    let quoted = |row: usize| {
        let mut json = String::new();
        push_quoted(&mut json, &tables.text(row));
        json
    };
    let value = match (words, unit) {
        (Some(words), _) => quoted(words),
        (None, Some(unit)) => format!("{{\"num\":{number},\"unit\":{}}}", quoted(unit)),
        (None, None) => number.to_string(),
    };
    (tables.text(key), value)
}

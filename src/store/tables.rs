//! The sections of a store: written lane by lane at its end, or assembled in memory for a preview. Written tables are
//! streamed, without a second copy: with millions of lanes that would be hundreds of megabytes.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use bytemuck::Pod;
use serde::Serialize;
use xxhash_rust::xxh3::Xxh3;

use super::append::AppendFile;
use super::details::DetailWriter;
use super::extent_log::ExtentLog;
use super::format::{LaneRecord, Meta, SECTIONS, Section, SectionRecord, Summary};
use super::iforest;
use super::lane::LaneKind;
use super::lane_builder::LaneBuilder;
use super::overview::{OverviewBucket, OverviewShape};
use super::parted_section::{PartSums, PartedSection};
use super::read::{Store, StoreLedgers, StoreTables};
use super::signature;
use super::table::Table;
use crate::base::mapped::Mapped;

/// Bytes that a section buffers before a write.
const BUFFER_BYTES: usize = 1 << 16;

/// Writes all sections of rows. No lane may have pending rows. Returns the I/O error of a failed write.
pub(super) fn write(
    file: &mut AppendFile,
    lanes: &mut [LaneBuilder],
    log: &ExtentLog,
    details: &DetailWriter,
) -> io::Result<[SectionRecord; SECTIONS]> {
    let order = order(lanes);
    let mut sections = [SectionRecord::default(); SECTIONS];

    let mut pyramids = Pyramids::default();
    sections[Section::Overview as usize] = parted_section(file, |out| {
        for &lane in &order {
            let Some(overview) = lanes[lane as usize].take_overview() else { continue };
            if let Some((shape, buckets)) = overview.finish() {
                pyramids.add(lane, shape, buckets.len() as u64);
                out.write_pods(&buckets)?;
            }
        }
        Ok(())
    })?;
    let in_order = || order.iter().map(|&lane| &lanes[lane as usize]).filter(|lane| lane.rows > 0);
    sections[Section::Signatures as usize] = parted_section(file, |out| {
        in_order().try_for_each(|lane| log.lane(lane.extents).signatures().try_for_each(|word| out.write_pods(&[word])))
    })?;
    sections[Section::Lanes as usize] = section(file, |out| {
        let mut records = LaneRecords::default();
        for &lane in &order {
            let builder = &lanes[lane as usize];
            if builder.rows > 0 {
                out.write_pods(&[records.next(builder, log, pyramids.next_of(lane))])?;
            }
        }
        Ok(())
    })?;
    sections[Section::Extents as usize] = section(file, |out| {
        in_order()
            .try_for_each(|lane| log.lane(lane.extents).records().try_for_each(|record| out.write_pods(&[record])))
    })?;
    sections[Section::Forests as usize] = section(file, |out| {
        in_order().try_for_each(|lane| out.write_pods(&log.lane(lane.extents).forest(lane.kind == LaneKind::Counter)))
    })?;
    sections[Section::Details as usize] = section(file, |out| out.write_pods(details.blocks()))?;
    Ok(sections)
}

/// Writes the metadata with a summary that is newer than its own. Returns the I/O error of a failed write.
pub(super) fn write_meta(file: &mut AppendFile, meta: &Meta, summary: &Summary) -> io::Result<SectionRecord> {
    let Meta { names, stacks, tracks, losses, summary: _ } = meta;
    // A tuple is encoded like a struct.
    let fields = (names, stacks, tracks, losses, summary);
    section(file, |out| postcard::to_io(&fields, out).map(drop).map_err(io::Error::other))
}

/// Writes the section of a ledger whose nodes are written, or an empty section. Returns the I/O error of a failed
/// write.
pub(super) fn write_ledger(file: &mut AppendFile, index: Option<&impl Serialize>) -> io::Result<SectionRecord> {
    section(file, |out| match index {
        Some(index) => postcard::to_io(index, out).map(drop).map_err(io::Error::other),
        None => Ok(()),
    })
}

/// Opens the part of the store that is written. Returns the I/O error of a failed map.
pub(super) fn preview(
    file: &File,
    lane_builders: &[LaneBuilder],
    log: &ExtentLog,
    details: &DetailWriter,
    meta: Meta,
) -> io::Result<Store> {
    let map = Mapped::from_store(file, Path::new("a store that is being made"))?;
    let map = Arc::new(map);
    let (mut records, none) = (LaneRecords::default(), (0, NO_PYRAMID));
    let (mut lanes, mut extents, mut forests, mut signatures) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for lane in order(lane_builders) {
        let lane = &lane_builders[lane as usize];
        // Pending rows are in none of its extents.
        if lane.extents.count() > 0 {
            let lane_log = log.lane(lane.extents);
            lanes.push(records.next(lane, log, none));
            extents.extend(lane_log.records());
            signatures.extend(lane_log.signatures());
            forests.extend(lane_log.forest(lane.kind == LaneKind::Counter));
        }
    }
    let details = details.blocks().to_vec();
    let (lanes, extents) = (Table::Held(lanes), Table::Held(extents));
    let (forests, signatures) = (Table::Held(forests), Table::Held(signatures));
    Store::from_tables(
        StoreTables {
            map,
            held_extents: Vec::new(),
            lanes,
            extents,
            forests,
            details,
            overview: PartedSection::new(0..0),
            signatures,
            signature_parts: None,
            meta,
            ledgers: StoreLedgers::default(),
        },
        Path::new(""),
    )
    .ok_or_else(|| io::Error::other("a lane belongs to no track"))
}

/// Sorts the lanes by track, kind and depth.
fn order(lanes: &[LaneBuilder]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..).take(lanes.len()).collect();
    order.sort_unstable_by_key(|&lane| (lanes[lane as usize].order(), lane));
    order
}

const NO_PYRAMID: OverviewShape = OverviewShape::NONE;

/// The positions of the pyramids of the few lanes that have one.
#[derive(Default)]
struct Pyramids {
    /// In store order: the lane, its first bucket, its shape.
    locations: Vec<(u32, u64, OverviewShape)>,
    buckets: u64,
    /// Number of pyramids that [`Self::next_of`] has returned.
    passed: usize,
}

impl Pyramids {
    fn add(&mut self, lane: u32, shape: OverviewShape, buckets: u64) {
        self.locations.push((lane, self.buckets, shape));
        self.buckets += buckets;
    }

    /// Returns the first bucket and the shape of a lane's pyramid. Lanes must come in the order in which they were
    /// added.
    fn next_of(&mut self, lane: u32) -> (u64, OverviewShape) {
        match self.locations.get(self.passed) {
            Some(&(owner, first, shape)) if owner == lane => {
                self.passed += 1;
                (first, shape)
            }
            _ => (0, NO_PYRAMID),
        }
    }
}

/// Makes lane records: counts the entries of earlier lanes in each section.
#[derive(Default)]
struct LaneRecords {
    extents: u64,
    forests: u64,
    signatures: u64,
}

impl LaneRecords {
    fn next(
        &mut self,
        lane: &LaneBuilder,
        log: &ExtentLog,
        (overview_first, overview): (u64, OverviewShape),
    ) -> LaneRecord {
        let record = LaneRecord {
            track: lane.track,
            depth: lane.depth,
            kind: lane.kind.code(),
            unfinished: u8::from(lane.unfinished),
            rows: lane.rows,
            start_ns: lane.start_ns,
            end_ns: lane.end_ns,
            extent_first: self.extents,
            forest_first: self.forests,
            signature_first: self.signatures,
            overview_first,
            overview,
            extent_count: lane.extents.count() as u64,
        };
        let words = if lane.kind == LaneKind::Counter { 2 } else { 1 };
        self.extents += record.extent_count;
        self.forests += (iforest::node_count(lane.extents.count()) * words) as u64;
        let of_lane = log.lane(lane.extents);
        self.signatures += of_lane.records().map(|extent| signature::words(extent.rows) as u64).sum::<u64>();
        record
    }
}

/// Appends a section with the bytes that `fill` adds, and returns its position.
fn section(
    file: &mut AppendFile,
    fill: impl FnOnce(&mut SectionWriter<'_>) -> io::Result<()>,
) -> io::Result<SectionRecord> {
    let offset = file.append(&[])?;
    let mut out = SectionWriter::new(file, None);
    fill(&mut out)?;
    out.flush()?;
    Ok(SectionRecord { offset, bytes: out.bytes, checksum: out.sum.digest() })
}

/// Appends a section that is checked in parts. The checksum of its record covers the checksums of the parts.
fn parted_section(
    file: &mut AppendFile,
    fill: impl FnOnce(&mut SectionWriter<'_>) -> io::Result<()>,
) -> io::Result<SectionRecord> {
    let offset = file.append(&[])?;
    let mut out = SectionWriter::new(file, Some(PartSums::default()));
    fill(&mut out)?;
    out.flush()?;
    let sums = out.parts.take().map(PartSums::finish).unwrap_or_default();
    out.write_pods(&sums)?;
    out.flush()?;
    Ok(SectionRecord { offset, bytes: out.bytes, checksum: out.sum.digest() })
}

/// Writes a section piece by piece.
struct SectionWriter<'a> {
    file: &'a mut AppendFile,
    sum: Box<Xxh3>,
    /// The checksums of parts, instead of `sum`, while these are written.
    parts: Option<PartSums>,
    buffer: Vec<u8>,
    /// Bytes written to the file.
    bytes: u64,
}

impl<'a> SectionWriter<'a> {
    fn new(file: &'a mut AppendFile, parts: Option<PartSums>) -> Self {
        Self { file, sum: Box::new(Xxh3::new()), parts, buffer: Vec::with_capacity(BUFFER_BYTES), bytes: 0 }
    }

    fn write_pods<T: Pod>(&mut self, values: &[T]) -> io::Result<()> {
        self.write_all(bytemuck::cast_slice(values))
    }
}

impl Write for SectionWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.buffer.len() + bytes.len() > BUFFER_BYTES {
            self.flush()?;
        }
        self.buffer.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.parts {
            Some(parts) => parts.update(&self.buffer),
            None => self.sum.update(&self.buffer),
        }
        self.file.append_more(&self.buffer)?;
        self.bytes += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}

const _: () = assert!(size_of::<OverviewBucket>().is_multiple_of(8) && size_of::<LaneRecord>().is_multiple_of(8));

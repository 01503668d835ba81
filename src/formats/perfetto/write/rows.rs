//! Descriptors of the rows of spans that are written with their first span.

use std::io::{self, Write};

use super::{Overlap, PerfettoWriter, uuid};
use crate::formats::perfetto::fields::{trace_packet, track_descriptor};
use crate::formats::protobuf::encode::{push_bytes, push_number};
use crate::model::{Event, TrackKind};

impl<W: Write> PerfettoWriter<'_, W> {
    /// Writes the descriptor of a span's row if it is needed and missing: for an overlap, or for a CPU with a run that
    /// is not a state change.
    pub(super) fn describe_row(&mut self, span: &Event, overlap: Overlap) -> io::Result<()> {
        let track = self.tracks.tracks.get(span.track.index());
        let cpu = track.filter(|track| self.has_tasks && track.key.kind == TrackKind::Cpu);
        if let Some(cpu) = cpu
            && self.described_rows.insert((span.track.0, 0))
        {
            self.describe(span.track.0, cpu)?;
        }
        if overlap > 0 && self.described_rows.insert((span.track.0, overlap)) {
            self.describe_overlap(span, overlap)?;
        }
        Ok(())
    }

    /// Writes the descriptor of an overlap row.
    fn describe_overlap(&mut self, span: &Event, overlap: Overlap) -> io::Result<()> {
        let parent = self.track_uuid(span);
        let track = self.tracks.tracks.get(span.track.index());
        let name = track.map_or("", |track| self.groups.name_below(span.track.0, track));
        push_number(&mut self.message, track_descriptor::UUID, uuid(span.track.0, overlap));
        push_number(&mut self.message, track_descriptor::PARENT_UUID, parent);
        push_bytes(&mut self.message, track_descriptor::NAME, name.as_bytes());
        self.end_packet(None, trace_packet::TRACK_DESCRIPTOR)
    }
}

//! The native format: the checks of any reader, and round trips. A trace that is read, written and read again is the
//! same. Any payload of a chunk is decoded or rejected, and a decoded one survives encoding. Payloads are also tested
//! alone, since the checksums would reject damaged ones.

use longspan::facade::formats::native::columns;
use longspan::facade::formats::native::read;
use longspan::facade::formats::native::stacks::StacksPatch;
use longspan::facade::formats::native::tables::{TablesPatch, TablesRead};
use longspan::facade::formats::native::write::NativeWriter;
use longspan::facade::formats::{ChunkedTrace, ReadContext, Reader};
use longspan::facade::model::Stacks;

use super::reading::{self, check_reading, file_of};

pub(super) fn check(bytes: &[u8]) {
    if let Some(expected) = check_reading("Longspan trace", bytes) {
        let file = file_of(bytes);
        let context = ReadContext::default();
        let trace = read::open(file.path(), &context).expect("as before");
        let written = file_of(&write(&trace));
        let back = read::open(written.path(), &context).expect("what was written");
        assert_eq!(trace.tracks, back.tracks);
        let mut back = reading::read(Reader::Chunks(Box::new(back)), &context).expect("what was written");
        // The export contains no damage, so the losses may differ.
        back.losses.clone_from(&expected.losses);
        reading::assert_same(&expected, &back, "written back");
    }
    if let Ok(chunk) = columns::decode(bytes) {
        assert_eq!(columns::decode(&columns::encode(&chunk).expect("a chunk")).expect("a payload"), chunk);
    }
    if let Ok(patch) = postcard::from_bytes::<TablesPatch>(bytes) {
        let mut tables = TablesRead::default();
        tables.apply(patch).ok(); // may be rejected or applied
        let (names, tracks, _) = tables.finish();
        assert!(tracks.tracks.iter().all(|track| track.process.0 < tracks.processes.len() as u32));
        assert!(names.len() < 1 << 21, "{} names of {} bytes", names.len(), bytes.len());
    }
    if let Ok(patch) = postcard::from_bytes::<StacksPatch>(bytes) {
        let mut stacks = Stacks::default();
        patch.apply(&mut stacks).ok(); // as above
        assert!(stacks.rows().iter().zip(1..).all(|(row, number)| row.parent.0 < number));
    }
}

/// Writes a trace with the same tables and all chunks that can be loaded.
fn write(trace: &ChunkedTrace) -> Vec<u8> {
    let mut writer = NativeWriter::new(Vec::new(), false).expect("into memory");
    writer.write_tables(&trace.names, &trace.tracks).expect("into memory");
    writer.write_stacks(&trace.stacks).expect("into memory");
    for number in 0..trace.source.heads().len() {
        if let Ok(chunk) = trace.source.load(number) {
            writer.write_chunk(&chunk).expect("into memory");
        }
    }
    writer.finish(&trace.losses).expect("into memory")
}

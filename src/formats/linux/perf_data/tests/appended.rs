//! Tests of recordings that follow others in one file.

use super::*;
use crate::model::SourcePos;

/// Returns kind and position of the losses of a recording with another one after it, and whether all else is the same.
fn lost_with(recording: &[u8], appended: &[u8]) -> (Vec<(Loss, SourcePos)>, bool) {
    let alone = read_bytes(recording).expect("a recording");
    let joined = read_bytes(&[recording, appended].concat()).expect("a recording");
    let lost = joined.losses.iter().filter(|lost| alone.losses.count(lost.loss) < lost.count);
    (lost.map(|lost| (lost.loss, lost.first)).collect(), joined.events == alone.events)
}

#[test]
fn another_recording_in_the_file_is_counted_where_it_begins() {
    let appended = unpacked("perf_calls.data.gz");
    for recording in ["perf.data.gz", "perf_sched.data.gz", "perf_events.data.gz", "perf_dwarf.data.gz"] {
        let recording = unpacked(recording);
        let lost = vec![(Loss::TrailingData, SourcePos::Offset(recording.len() as u64))];
        assert_eq!(lost_with(&recording, &appended), (lost, true));
        // The end of a file may be padded.
        assert_eq!(lost_with(&recording, &[0; 100]), (vec![], true));
    }
}

#[test]
fn another_recording_in_pipe_mode_is_counted_where_it_begins() {
    let recording = pipe(&[sample(1, 0x10), sample(2, 0x20)]);
    let lost = vec![(Loss::TrailingData, SourcePos::Offset(recording.len() as u64))];
    assert_eq!(lost_with(&recording, &recording), (lost, true));
}

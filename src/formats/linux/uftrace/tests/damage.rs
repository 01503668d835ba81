//! Tests of files that were cut or damaged, and of records that the recorder lost.

use super::{Call, ENTRY, EXIT, LOST, Records, address, folder, read, spans};
use crate::model::{Loss, SourcePos};

#[test]
fn a_file_that_ends_at_any_byte_keeps_the_records_before_it_and_counts_the_cut() {
    let call =
        |function, callees| Call { function, before_ns: 3, after_ns: 4, values: Some((7, "text".into())), callees };
    let (mut records, mut now_ns, mut written) = (Records::default(), 0, Vec::new());
    call(2, vec![call(1, vec![call(3, vec![])]), call(1, vec![])]).write(&mut now_ns, 0, &mut records, &mut written);
    let whole = spans(&read(folder(&[("1.dat", &records.bytes)]).path()), 1);
    let mut most = 0;
    for len in 1..records.bytes.len() {
        let reading = read(folder(&[("1.dat", &records.bytes[..len])]).path());
        let found = spans(&reading, 1);
        assert!(found.len() >= most, "{len} bytes");
        most = found.len();
        for (span, whole) in found.iter().zip(&whole) {
            assert_eq!((span.0, span.2, &span.3), (whole.0, whole.2, &whole.3), "{len} bytes");
        }
        let lost = if records.ends.contains(&len) { vec![] } else { vec![(Loss::Truncated, 1)] };
        assert_eq!(reading.lost(), lost, "{len} bytes");
    }
    assert_eq!(most, whole.len());
}

#[test]
fn damage_and_lost_records_are_counted_with_their_file_and_cost_no_others() {
    let mut records = Records::default().add(ENTRY, 10, 0, address(0)).add(LOST, 0, 0, 5);
    records.bytes.extend([0xffu8; 40]);
    let records = records.add(ENTRY, 20, 1, address(1)).add(EXIT, 30, 1, address(1)).add(EXIT, 40, 0, address(0));
    let reading = read(folder(&[("7.dat", &records.bytes), ("kernel-cpu0.dat", b"x"), ("8.dat", b"")]).path());
    assert_eq!(spans(&reading, 7).len(), 2);
    let lost = [(Loss::BadRecord, 1), (Loss::RecorderLost, 5), (Loss::UnreadableFile, 1)];
    let mut found = reading.lost();
    found.sort_by_key(|&(loss, _)| format!("{loss:?}"));
    assert_eq!(found, lost);
    let files: Vec<_> = reading.losses.iter().map(|lost| lost.file.unwrap_or_default().to_owned()).collect();
    assert_eq!(files, ["7.dat", "7.dat", "kernel-cpu0.dat"]);
}

/// The recorder writes the number of lost records with time 0.
#[test]
fn lost_records_have_the_last_time_before_them_and_cost_no_record_beside_them() {
    let values = [&7i32.to_le_bytes()[..], &[2, 0, b'a', b'b']].concat();
    let records = Records::default()
        .add(ENTRY, 1000, 0, address(0))
        .add(LOST, 0, 3, 77)
        .with(ENTRY, 1010, 1, address(1), &values)
        .add(LOST, 0, 0, 2)
        .with(EXIT, 1020, 1, address(3), &[1, 2, 3])
        .add(LOST, 0, 0, 1)
        .add(EXIT, 1030, 0, address(0));
    let reading = read(folder(&[("1.dat", &records.bytes)]).path());
    let expected = [(1000, Some(1030), 0, "f0".to_owned()), (1010, Some(1020), 1, "f1".to_owned())];
    assert_eq!(spans(&reading, 1), expected);
    assert_eq!(reading.events[1].args, r#"{"arg1":7,"arg2":"ab"}"#);
    assert_eq!(reading.lost(), [(Loss::RecorderLost, 80), (Loss::IgnoredArguments, 1)]);
    let first = reading.losses.iter().find(|lost| lost.loss == Loss::RecorderLost).map(|lost| lost.first);
    assert_eq!(first, Some(SourcePos::Time(1000)));
    // Lost before the first record, its time is unknown.
    let records = Records::default().add(LOST, 0, 0, 4).add(ENTRY, 10, 0, address(0)).add(EXIT, 20, 0, address(0));
    let reading = read(folder(&[("1.dat", &records.bytes)]).path());
    assert_eq!((spans(&reading, 1).len(), reading.lost()), (1, vec![(Loss::RecorderLost, 4)]));
    assert_eq!(reading.losses.iter().map(|lost| lost.first).collect::<Vec<_>>(), [SourcePos::Offset(0)]);
}

#[test]
fn records_resume_after_damage_at_a_count_of_lost_records() {
    let mut records = Records::default().add(ENTRY, 1000, 0, address(0));
    records.bytes.extend([0xffu8; 40]);
    let records = records.add(LOST, 0, 0, 6).add(ENTRY, 1010, 5, address(1)).add(EXIT, 1020, 5, address(1)).add(
        EXIT,
        1030,
        0,
        address(0),
    );
    let reading = read(folder(&[("1.dat", &records.bytes)]).path());
    assert_eq!(spans(&reading, 1).len(), 2);
    assert_eq!(reading.lost(), [(Loss::BadRecord, 1), (Loss::RecorderLost, 6)]);
}

#[test]
fn a_damaged_time_costs_its_record_only() {
    for damaged in [1 << 54, 1 << 63] {
        let mut records = Records::default();
        for k in 0..100 {
            let wrong = if k == 10 { damaged } else { 0 };
            records = records.add(ENTRY, 1000 + 10 * k + wrong, 0, address(k % 10));
            records = records.add(EXIT, 1005 + 10 * k, 0, address(k % 10));
        }
        let reading = read(folder(&[("1.dat", &records.bytes)]).path());
        assert_eq!(spans(&reading, 1).len(), 99, "{damaged:#x}");
        assert_eq!(reading.lost(), [(Loss::UnmatchedEnd, 1), (Loss::BadTime, 1)]);
    }
}

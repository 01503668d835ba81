//! Any spans, written in each format that has them whole, read as the same spans; and cut anywhere, as some of them. The
//! writers are here, short, and share nothing with the readers.

use std::fmt::Write as _;

use proptest::prelude::*;

use super::testing::{Reading, read_bytes, read_cut};

/// A span as it is meant, in the unit of time that its format has.
#[derive(Debug, Clone)]
struct Meant {
    start: u32,
    dur: u32,
    thread: u8,
    name: String,
}

/// A format with a writer of it.
#[derive(Debug)]
struct Written {
    format: &'static str,
    /// Nanoseconds in its unit of time.
    unit_ns: u64,
    /// What its times begin at, in seconds.
    epoch_s: u64,
    write: fn(&[Meant]) -> Vec<u8>,
}

/// Its times are since 1970, and it is told from other text by that.
const STRACE_EPOCH_S: u64 = 1_700_000_000;

const ALL: &[Written] = &[
    Written { format: "Fuchsia trace", unit_ns: 1, epoch_s: 0, write: fxt },
    Written { format: "Tracy zones", unit_ns: 1, epoch_s: 0, write: tracy },
    Written { format: "Ninja log", unit_ns: 1_000_000, epoch_s: 0, write: ninja },
    Written { format: "strace", unit_ns: 1000, epoch_s: STRACE_EPOCH_S, write: strace },
];

fn fxt(spans: &[Meant]) -> Vec<u8> {
    let mut words = vec![0x0016_5478_4604_0010u64];
    for thread in 0..4 {
        words.extend([3 | 3 << 4 | (thread + 1) << 16, 100, 101 + thread]);
    }
    for span in spans {
        let mut name = span.name.clone().into_bytes();
        let inline = 0x8000 | name.len() as u64;
        name.resize(name.len().next_multiple_of(8), 0);
        // the header, two times, and the name
        let len = 3 + name.len() as u64 / 8;
        words.extend([4 | len << 4 | 4 << 16 | (u64::from(span.thread) + 1) << 24 | inline << 48, span.start.into()]);
        words.extend(name.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes"))));
        words.push(u64::from(span.start) + u64::from(span.dur));
    }
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn tracy(spans: &[Meant]) -> Vec<u8> {
    let mut text = "name,src_file,src_line,ns_since_start,exec_time_ns,thread,value\n".to_owned();
    for Meant { start, dur, thread, name } in spans {
        writeln!(text, "{name},a.cpp,7,{start},{dur},{thread},").expect("into memory");
    }
    text.into_bytes()
}

/// A line for each command when it ends; the hash tells commands apart.
fn ninja(spans: &[Meant]) -> Vec<u8> {
    let mut text = "# ninja log v5\n".to_owned();
    for (number, Meant { start, dur, name, .. }) in spans.iter().enumerate() {
        let end = u64::from(*start) + u64::from(*dur);
        writeln!(text, "{start}\t{end}\t1\t{name}\t{number:x}").expect("into memory");
    }
    text.into_bytes()
}

fn strace(spans: &[Meant]) -> Vec<u8> {
    let mut text = String::new();
    for Meant { start, dur, thread, name } in spans {
        let seconds = |from_s: u64, us: &u32| format!("{}.{:06}", from_s + u64::from(us / 1_000_000), us % 1_000_000);
        let (tid, start, dur) = (100 + u32::from(*thread), seconds(STRACE_EPOCH_S, start), seconds(0, dur));
        writeln!(text, "{tid} {start} {name}(3, \"x\") = 0 <{dur}>").expect("into memory");
    }
    text.into_bytes()
}

/// What is told of spans by all formats, sorted.
fn told(reading: &Reading) -> Vec<(i64, u64, &str)> {
    let mut told = reading.short();
    told.sort_unstable();
    told
}

fn expected<'a>(spans: &'a [Meant], written: &Written) -> Vec<(i64, u64, &'a str)> {
    let ns = |units: u32| u64::from(units) * written.unit_ns;
    let epoch_ns = written.epoch_s * 1_000_000_000;
    let mut expected: Vec<_> =
        spans.iter().map(|span| ((epoch_ns + ns(span.start)).cast_signed(), ns(span.dur), &*span.name)).collect();
    expected.sort_unstable();
    expected
}

fn spans() -> impl Strategy<Value = Vec<Meant>> {
    let span = (0..2_000_000_000u32, 0..2_000_000_000u32, 0..4u8, "[a-z][a-z_0-9]{0,11}");
    let span = span.prop_map(|(start, dur, thread, name)| Meant { start, dur, thread, name });
    prop::collection::vec(span, 1..30)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_spans_read_as_they_are_meant_however_the_bytes_are_cut(spans in spans(), block_bytes in 1usize..200) {
        for written in ALL {
            let bytes = (written.write)(&spans);
            let whole = read_bytes(&bytes).expect(written.format);
            prop_assert_eq!(told(&whole), expected(&spans, written), "{}", written.format);
            prop_assert_eq!(whole.losses.total(), 0, "{}: {:?}", written.format, whole.lost());
            prop_assert_eq!(read_cut(&bytes, block_bytes, 2).expect(written.format), whole, "{}", written.format);
        }
    }
}

#[test]
fn spans_of_a_capture_that_ends_at_any_byte_are_the_first_of_all() {
    let spans: Vec<Meant> = (0..6)
        .map(|k| Meant { start: 10 + k, dur: 100 - k, thread: (k % 3) as u8, name: format!("name_{k}") })
        .collect();
    for written in ALL {
        let bytes = (written.write)(&spans);
        let mut most = 0;
        for len in 0..bytes.len() {
            // Too little to be told from anything else.
            let Ok(reading) = read_bytes(&bytes[..len]) else { continue };
            most = reading.events.len();
            let (told, expected) = (told(&reading), expected(&spans[..most], written));
            for (place, (told, expected)) in told.into_iter().zip(expected).enumerate() {
                // A call whose line is cut before its duration is one of which that is not known.
                let is_cut = written.format == "strace" && place + 1 == most && told.1 == 0;
                assert_eq!((told.0, told.2), (expected.0, expected.2), "{}, {len} bytes", written.format);
                assert!(told.1 == expected.1 || is_cut, "{}, {len} bytes: {told:?} {expected:?}", written.format);
            }
        }
        assert!(most >= spans.len() - 1, "{}: {most}", written.format);
    }
}

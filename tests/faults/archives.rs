//! Archives with false claims: long names, endless records, lists of a million files, bombs. Each runs as a command
//! with limited address space, so that an allocation of the claimed size aborts.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::{folder, limited, longspan};
use crate::limits::Peaks;

const TRACE: &[u8] = br#"[{"ph":"X","name":"n","pid":1,"tid":1,"ts":1,"dur":2}]"#;

fn header(name: &str, bytes: u64, kind: u8) -> Vec<u8> {
    let mut header = tar::Header::new_gnu();
    header.set_path(name).expect("a short name");
    header.set_size(bytes);
    header.set_mode(0o644);
    header.set_entry_type(tar::EntryType::new(kind));
    header.set_cksum();
    header.as_bytes().to_vec()
}

/// Encodes a file of a tar archive.
fn file(name: &str, content: &[u8]) -> Vec<u8> {
    padded([header(name, content.len() as u64, b'0'), content.to_vec()].concat())
}

fn padded(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

/// Writes `parts` in sequence through two layers of gzip, which shrink zeros to a millionth.
fn write_gz_gz(path: &Path, parts: &[(&[u8], u64)]) {
    let compression = flate2::Compression::best();
    let outer = flate2::write::GzEncoder::new(fs::File::create(path).expect("created"), compression);
    let mut inner = flate2::write::GzEncoder::new(outer, compression);
    for (part, times) in parts {
        (0..*times).for_each(|_| inner.write_all(part).expect("written"));
    }
    inner.finish().and_then(flate2::write::GzEncoder::finish).expect("written");
}

/// Returns the output of `info --json` with 1 GiB of address space and little memory.
#[track_caller]
fn info(path: &Path) -> Value {
    let args = ["info", "--json", "--no-cache", "--memory", "64MiB", "--threads", "2"];
    let args = [&args[..], &[path.to_str().expect("text")]].concat();
    let output = limited("ulimit -v 1048576; ulimit -t 120", &args).output().expect("the program starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {stderr}", output.status);
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Returns the count of a loss.
fn lost(info: &Value, name: &str) -> u64 {
    let losses = info["losses"].as_array().expect("a list").iter().filter(|loss| loss["name"] == name);
    losses.filter_map(|loss| loss["count"].as_u64()).sum()
}

fn archive(folder: &Path, ending: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(format!("archive.{ending}"));
    fs::write(&path, bytes).expect("written");
    path
}

#[test]
fn a_long_name_entry_of_8_gb_ends_the_archive_unread() {
    let folder = folder();
    let (path, claimed) = (folder.path().join("a.tar.gz.gz"), 8 << 30);
    for kind in *b"LxKg5" {
        let (before, entry) = (file("a.json", TRACE), header("long", claimed, kind));
        write_gz_gz(&path, &[(&before, 1), (&entry, 1), (&vec![0; 1 << 20], 64)]);
        let info = info(&path);
        assert_eq!((&info["spans"], lost(&info, "over_limit")), (&1.into(), 1), "{}: {info}", char::from(kind));
    }
}

#[test]
fn a_name_beyond_64_kib_is_truncated_and_counted_and_later_files_are_read() {
    let folder = folder();
    let name = vec![b'n'; 100 << 20];
    let long = padded([header("long", name.len() as u64, b'L'), name].concat());
    let path = archive(folder.path(), "tar", &[long, file("x", TRACE), file("b.json", TRACE), vec![0; 1024]].concat());
    let info = info(&path);
    // The label of its process is cut once more.
    assert_eq!((&info["spans"], lost(&info, "long_text")), (&2.into(), 2), "{info}");
}

#[test]
fn records_beyond_their_limit_are_counted_and_the_next_file_is_read() {
    let folder = folder();
    let value = vec![b'v'; 3 << 20];
    let record = [format!("{} comment=", value.len() + 17).into_bytes(), value, b"\n".to_vec()].concat();
    let long = padded([header("long", record.len() as u64, b'x'), record].concat());
    let path = archive(folder.path(), "tar", &[long, file("a.json", TRACE), vec![0; 1024]].concat());
    let info = info(&path);
    assert_eq!((&info["spans"], lost(&info, "over_limit")), (&1.into(), 1), "{info}");
}

#[test]
fn an_archived_file_that_unpacks_beyond_the_limit_ends_the_archive() {
    let folder = folder();
    let path = folder.path().join("a.tar.gz.gz");
    let (before, bomb) = (file("a.json", TRACE), header("bomb.json", 3 << 30, b'0'));
    write_gz_gz(&path, &[(&before, 1), (&bomb, 1), (&vec![b' '; 1 << 20], 1200)]);
    let info = info(&path);
    assert_eq!((&info["spans"], lost(&info, "over_limit")), (&1.into(), 1), "{info}");
}

#[test]
fn text_that_unpacks_to_a_million_times_its_size_is_truncated_and_counted() {
    let folder = folder();
    let path = folder.path().join("a.json.gz.gz");
    let start: &[u8] = br#"[{"ph":"X","name":"n","pid":1,"tid":1,"ts":1,"dur":2},"#;
    write_gz_gz(&path, &[(start, 1), (&vec![b' '; 1 << 20], 1200)]);
    let info = info(&path);
    assert_eq!((&info["spans"], lost(&info, "truncated")), (&1.into(), 1), "{info}");
}

/// Encodes a central directory entry of a zip archive, for a file stored at `offset`.
fn listed(name: &[u8], offset: u32, content: &[u8]) -> Vec<u8> {
    let mut entry = b"PK\x01\x02\x14\x00\x14\x00\x00\x00\x00\x00\x00\x00\x00\x00".to_vec();
    entry.extend(crc(content).to_le_bytes());
    entry.extend([content.len() as u32; 2].map(u32::to_le_bytes).concat());
    entry.extend((name.len() as u16).to_le_bytes());
    entry.extend([0; 12]);
    entry.extend(offset.to_le_bytes());
    entry.extend(name);
    entry
}

fn crc(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Encodes a stored file with its local header.
fn stored(name: &[u8], content: &[u8]) -> Vec<u8> {
    let mut bytes = b"PK\x03\x04\x14\x00\x00\x00\x00\x00\x00\x00\x00\x00".to_vec();
    bytes.extend(crc(content).to_le_bytes());
    bytes.extend([content.len() as u32; 2].map(u32::to_le_bytes).concat());
    bytes.extend([name.len() as u16, 0].map(u16::to_le_bytes).concat());
    [&bytes[..], name, content].concat()
}

fn list_end(count: u16, bytes: u32, offset: u32) -> Vec<u8> {
    let mut end = b"PK\x05\x06\x00\x00\x00\x00".to_vec();
    end.extend([count, count].map(u16::to_le_bytes).concat());
    end.extend([bytes, offset].map(u32::to_le_bytes).concat());
    end.extend([0, 0]);
    end
}

#[test]
fn a_zip_archive_with_overlapping_files_ends_at_the_unpacked_limit() {
    let folder = folder();
    // One file of 10 KiB is listed 1,000 times, in an archive of less than 70 KiB.
    let content = [TRACE, &vec![b' '; 10 << 10]].concat();
    let first = stored(b"a.json", &content);
    let list = listed(b"a.json", 0, &content).repeat(1000);
    let bytes = [first.clone(), list.clone(), list_end(1000, list.len() as u32, first.len() as u32)].concat();
    let info = info(&archive(folder.path(), "zip", &bytes));
    assert_eq!(lost(&info, "over_limit"), 1, "{info}");
    let spans = info["spans"].as_u64().expect("a number");
    assert!((1..10).contains(&spans), "{spans}");
}

#[test]
fn a_list_of_many_long_names_takes_no_more_memory_than_one() {
    let folder = folder();
    let path = folder.path().join("a.zip");
    let first = stored(b"a.json", TRACE);
    // The files are hidden, so none is unpacked.
    let (name, files) = ([b".".to_vec(), vec![b'n'; 4000]].concat(), 30_000);
    let mut out = std::io::BufWriter::new(fs::File::create(&path).expect("created"));
    out.write_all(&first).expect("written");
    let one = listed(&name, 0, b"");
    (0..files).for_each(|_| out.write_all(&one).expect("written"));
    out.write_all(&listed(b"a.json", 0, TRACE)).expect("written");
    let bytes = one.len() * files + 46 + 6;
    out.write_all(&list_end(30_001, u32::try_from(bytes).expect("less than 4 GiB"), first.len() as u32))
        .expect("written");
    out.into_inner().expect("written");
    let args = ["info", "--json", "--no-cache", "--memory", "64MiB", path.to_str().expect("text")];
    let (peaks, info) = Peaks::of(longspan(&args));
    assert_eq!((&info["spans"], info["losses"].as_array().map(Vec::len)), (&1.into(), Some(0)), "{info}");
    assert!(peaks.anonymous_kib < 40_000, "{peaks:?} for a list of {bytes} bytes");
}

#[test]
fn a_zip_directory_beyond_the_archive_is_counted_and_the_files_before_it_are_read() {
    let folder = folder();
    let first = stored(b"a.json", TRACE);
    for (bytes, offset) in [(u32::MAX - 1, 0), (46, u32::MAX - 1), (0, 0)] {
        let path = archive(folder.path(), "zip", &[first.clone(), list_end(9, bytes, offset)].concat());
        let args = ["spans", "--no-cache", path.to_str().expect("text")];
        let output = limited("ulimit -v 1048576", &args).output().expect("the program starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        let expected = format!("1 truncated, first at byte {}: The archive lacks its list of files", first.len());
        assert!(stderr.contains(&expected), "{stderr}");
        assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 2, "a header and a span");
    }
}

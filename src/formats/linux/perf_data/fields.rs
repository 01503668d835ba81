//! Fields of tracepoints. The file contains the kernel's format description of each as text. Fields of unknown types
//! are shown as bytes.

use std::fmt::Write as _;
use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use crate::base::bytes::ByteCursor;
use crate::formats::output::args::ArgsWriter;
use crate::formats::output::batch::LABEL_BYTES_MAX;

/// Magic bytes of the tracing data section.
const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// Tracepoints by id, which attributes refer to.
#[derive(Debug, Default)]
pub(super) struct Tracepoints(FxHashMap<u64, Tracepoint>);

#[derive(Debug)]
pub(super) struct Tracepoint {
    /// Group and name, such as `sched:sched_switch`.
    pub(super) name: String,
    fields: Vec<TracepointField>,
    /// Indices of the known fields, since a search by name would compare all names for each record.
    known: [Option<usize>; KnownField::NAMES.len()],
}

/// The fields that readers interpret, by their names in the kernel.
#[derive(Debug, Clone, Copy)]
pub(super) enum KnownField {
    PrevComm,
    PrevPid,
    PrevPrio,
    PrevState,
    NextComm,
    NextPid,
    NextPrio,
    Comm,
    Pid,
    Prio,
    Id,
    Name,
    Vec,
    Function,
}

impl KnownField {
    /// The names, in the order of the variants.
    const NAMES: [&str; 14] = [
        "prev_comm",
        "prev_pid",
        "prev_prio",
        "prev_state",
        "next_comm",
        "next_pid",
        "next_prio",
        "comm",
        "pid",
        "prio",
        "id",
        "name",
        "vec",
        "function",
    ];
}

/// Fields of scheduling and system calls on 64-bit kernels without further common fields, for files without
/// descriptions.
const DEFAULT_LAYOUT: &str = "\
field:char prev_comm[16]; offset:8; size:16; signed:0;
field:pid_t prev_pid; offset:24; size:4; signed:1;
field:int prev_prio; offset:28; size:4; signed:1;
field:long prev_state; offset:32; size:8; signed:1;
field:char next_comm[16]; offset:40; size:16; signed:0;
field:pid_t next_pid; offset:56; size:4; signed:1;
field:int next_prio; offset:60; size:4; signed:1;
field:char comm[16]; offset:8; size:16; signed:0;
field:pid_t pid; offset:24; size:4; signed:1;
field:int prio; offset:28; size:4; signed:1;
field:long id; offset:8; size:8; signed:1;
";

static DEFAULT_TRACEPOINT: LazyLock<Tracepoint> = LazyLock::new(|| Tracepoint::new(String::new(), DEFAULT_LAYOUT));

#[derive(Debug, PartialEq, Eq)]
struct TracepointField {
    name: String,
    offset: usize,
    bytes: usize,
    kind: FieldKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldKind {
    Signed,
    Unsigned,
    Pointer,
    /// Zero-terminated text.
    Text,
    /// A reference to a text: its offset in the low half, its length in the high half.
    TextAt {
        is_relative: bool,
    },
    /// An array of numbers of `each` bytes.
    Numbers {
        each: usize,
        is_signed: bool,
    },
    Bytes,
}

impl Tracepoints {
    pub(super) fn get(&self, number: u64) -> Option<&Tracepoint> {
        self.0.get(&number)
    }

    /// Returns the layout of a tracepoint, or the default layout if the file does not describe it.
    pub(super) fn layout(&self, number: u64) -> &Tracepoint {
        self.get(number).unwrap_or(&DEFAULT_TRACEPOINT)
    }

    /// Adds the descriptions of a kernel. Returns `None` at damage; descriptions before it are added.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Option<()> {
        let mut front = ByteCursor(bytes.strip_prefix(MAGIC)?);
        text(&mut front)?;
        let (is_big_endian, _long_bytes, _page_bytes) = (front.u8()? != 0, front.u8()?, front.u32()?);
        if is_big_endian {
            return None;
        }
        for _ in ["header_page", "header_event"] {
            text(&mut front)?;
            described(&mut front)?;
        }
        for _ in 0..front.u32()? {
            self.add("ftrace", described(&mut front)?);
        }
        for _ in 0..front.u32()? {
            let group = text(&mut front)?;
            let group = String::from_utf8_lossy(group);
            for _ in 0..front.u32()? {
                self.add(cut_name(&group), described(&mut front)?);
            }
        }
        Some(())
    }

    /// Adds one tracepoint; skips other text.
    fn add(&mut self, group: &str, description: &str) {
        let line_value = |key: &str| description.lines().find_map(|line| Some(line.strip_prefix(key)?.trim()));
        let (Some(name), Some(Ok(number))) = (line_value("name:"), line_value("ID:").map(str::parse)) else { return };
        // Each attribute of the tracepoint has its own copy of the name.
        self.0.insert(number, Tracepoint::new(format!("{group}:{}", cut_name(name)), description));
    }
}

/// Cuts a name that is copied for many events. The rest is still too long for a label, where it counts as lost.
pub(super) fn cut_name(name: &str) -> &str {
    const CHAR_BYTES_MAX: usize = 4;
    &name[..name.floor_char_boundary(LABEL_BYTES_MAX + CHAR_BYTES_MAX)]
}

/// Reads a zero-terminated text; `None` if the zero is missing.
fn text<'a>(front: &mut ByteCursor<'a>) -> Option<&'a [u8]> {
    let text = front.text();
    front.bytes(text.len() + 1)?;
    Some(text)
}

/// Reads a text after its length.
fn described<'a>(front: &mut ByteCursor<'a>) -> Option<&'a str> {
    let len = usize::try_from(front.u64()?).ok()?;
    // Descriptions are ASCII.
    Some(std::str::from_utf8(front.bytes(len)?).unwrap_or_default())
}

impl TracepointField {
    /// Parses `field:char comm[16]; offset:8; size:16; signed:0;`. Skips the fields common to all tracepoints.
    fn from_line(line: &str) -> Option<Self> {
        let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
        let declared = parts.next()?;
        let mut number = |key: &str| parts.next()?.strip_prefix(key)?.parse::<usize>().ok();
        let (offset, bytes) = (number("offset:")?, number("size:")?);
        let is_signed = number("signed:") == Some(1);
        // `type name[6]`; in `__data_loc type[] name` the brackets follow the type.
        let (before, count) = declared
            .strip_suffix(']')
            .and_then(|array| array.rsplit_once('['))
            .map_or((declared, None), |(before, count)| (before, Some(count.parse::<usize>().unwrap_or(0))));
        let (kind, name) = before.rsplit_once([' ', '*'])?;
        let is_array = count.is_some();
        let kind = match declared.split(' ').next() {
            Some("__data_loc") if declared.contains("char") => FieldKind::TextAt { is_relative: false },
            Some("__rel_loc") if declared.contains("char") => FieldKind::TextAt { is_relative: true },
            Some("__data_loc" | "__rel_loc") => FieldKind::Bytes,
            _ if is_array && kind.contains("char") => FieldKind::Text,
            _ if is_array => match count.and_then(|count| bytes.checked_div(count)) {
                Some(each) if each > 1 && is_number_width(each) => FieldKind::Numbers { each, is_signed },
                _ => FieldKind::Bytes,
            },
            _ if before.contains('*') => FieldKind::Pointer,
            _ if !is_number_width(bytes) => FieldKind::Bytes,
            _ if is_signed => FieldKind::Signed,
            _ => FieldKind::Unsigned,
        };
        (!name.starts_with("common_")).then(|| Self { name: name.to_owned(), offset, bytes, kind })
    }

    /// Returns the bytes of the field, or `None` if the record is too short.
    fn bytes<'a>(&self, raw: &'a [u8]) -> Option<&'a [u8]> {
        raw.get(self.offset..self.offset.checked_add(self.bytes)?)
    }

    /// Returns the number of the field, sign-extended if it is signed.
    fn number(&self, raw: &[u8]) -> Option<i64> {
        let bytes = self.bytes(raw)?;
        match self.kind {
            FieldKind::Signed => Some(signed(bytes)),
            FieldKind::Unsigned | FieldKind::Pointer => Some(number(bytes).cast_signed()),
            _ => None,
        }
    }

    /// Returns the text of the field.
    fn text<'a>(&self, raw: &'a [u8]) -> Option<&'a [u8]> {
        let bytes = self.bytes(raw)?;
        match self.kind {
            FieldKind::Text => Some(ByteCursor(bytes).text()),
            FieldKind::TextAt { is_relative } => {
                let packed = number(bytes);
                let (at, len) = (packed as usize & 0xffff, packed as usize >> 16 & 0xffff);
                let at = if is_relative { at + self.offset + self.bytes } else { at };
                Some(ByteCursor(raw.get(at..at + len)?).text())
            }
            _ => None,
        }
    }

    /// Adds the field as an argument. Returns `None` if the record is too short.
    fn write(&self, raw: &[u8], args: &mut ArgsWriter) -> Option<()> {
        let bytes = self.bytes(raw)?;
        let unsigned = || number(bytes);
        match self.kind {
            FieldKind::Unsigned => args.number(&self.name, unsigned()),
            FieldKind::Signed => args.signed(&self.name, signed(bytes)),
            FieldKind::Pointer => args.text(&self.name, format!("{:#x}", unsigned()).as_bytes()),
            FieldKind::Text | FieldKind::TextAt { .. } => args.text(&self.name, self.text(raw)?),
            FieldKind::Numbers { each, is_signed } => {
                let text = |bytes| if is_signed { signed(bytes).to_string() } else { number(bytes).to_string() };
                let numbers: Vec<String> = bytes.chunks_exact(each).map(text).collect();
                args.key("", self.name.as_bytes());
                let _ = write!(args.json, "[{}]", numbers.join(",")); // to memory
            }
            FieldKind::Bytes => {
                let hex = bytes.iter().fold(String::new(), |mut hex, byte| {
                    let _ = write!(hex, "{byte:02x}"); // to memory
                    hex
                });
                args.text(&self.name, hex.as_bytes());
            }
        }
        Some(())
    }
}

/// Returns whether a number may have this many bytes.
fn is_number_width(bytes: usize) -> bool {
    [1, 2, 4, 8].contains(&bytes)
}

/// Parses a little-endian number of any length.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// Parses a little-endian number in two's complement of 1 to 8 bytes.
fn signed(bytes: &[u8]) -> i64 {
    let unused_bits = 64 - 8 * bytes.len() as u32;
    (number(bytes) << unused_bits).cast_signed() >> unused_bits
}

impl Tracepoint {
    fn new(name: String, description: &str) -> Self {
        let fields: Vec<TracepointField> = description.lines().filter_map(TracepointField::from_line).collect();
        let known = KnownField::NAMES.map(|known| fields.iter().position(|field| field.name == known));
        Self { name, fields, known }
    }

    fn field(&self, known: KnownField) -> Option<&TracepointField> {
        self.fields.get(self.known[known as usize]?)
    }

    /// Returns the number of a field, or `None` if the record does not contain it.
    pub(super) fn number(&self, known: KnownField, raw: &[u8]) -> Option<i64> {
        self.field(known)?.number(raw)
    }

    /// Returns the text of a field, or `None` if the record does not contain it.
    pub(super) fn text<'a>(&self, known: KnownField, raw: &'a [u8]) -> Option<&'a [u8]> {
        self.field(known)?.text(raw)
    }

    /// Adds the fields of a record as arguments. Returns `None` if the record is too short for any of them.
    pub(super) fn write(&self, raw: &[u8], args: &mut ArgsWriter) -> Option<()> {
        let mut is_whole = true;
        // Adds every field that fits, even after a field that does not.
        for field in &self.fields {
            // Such arguments count as a loss and are not shown.
            if args.is_too_long() {
                break;
            }
            is_whole &= field.write(raw, args).is_some();
        }
        is_whole.then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::args::Detail;

    #[test]
    fn fields_have_the_kinds_of_their_descriptions() {
        let kinds = |line: &str| {
            TracepointField::from_line(line).map(|field| (field.name, field.offset, field.bytes, field.kind))
        };
        for (declared, signed, name, kind) in [
            ("pid_t pid", 1, "pid", FieldKind::Signed),
            ("unsigned long args", 0, "args", FieldKind::Unsigned),
            ("const char * filename", 0, "filename", FieldKind::Pointer),
            ("void *ptr", 0, "ptr", FieldKind::Pointer),
            ("char comm[TASK_COMM_LEN]", 0, "comm", FieldKind::Text),
            ("__data_loc char[] comm", 0, "comm", FieldKind::TextAt { is_relative: false }),
            ("__rel_loc char[] comm", 0, "comm", FieldKind::TextAt { is_relative: true }),
            ("unsigned long args[1]", 0, "args", FieldKind::Numbers { each: 8, is_signed: false }),
            ("int fds[2]", 1, "fds", FieldKind::Numbers { each: 4, is_signed: true }),
            ("u8 mac[8]", 0, "mac", FieldKind::Bytes),
            ("__data_loc __u8[] buffer", 0, "buffer", FieldKind::Bytes),
        ] {
            let line = format!("\tfield:{declared};\toffset:16;\tsize:8;\tsigned:{signed};");
            assert_eq!(kinds(&line), Some((name.to_owned(), 16, 8, kind)), "{declared}");
        }
        assert_eq!(kinds("\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;"), None);
        assert_eq!(kinds("print fmt: \"x\""), None);
    }

    #[test]
    fn a_record_that_is_too_short_has_the_fields_that_fit() {
        let description = "name: x\nID: 7\nformat:\n\
            \tfield:int less;\toffset:0;\tsize:2;\tsigned:1;\n\
            \tfield:unsigned more;\toffset:2;\tsize:4;\tsigned:0;\n\
            \tfield:__data_loc char[] text;\toffset:6;\tsize:4;\tsigned:0;\n\
            \tfield:__rel_loc char[] near;\toffset:10;\tsize:4;\tsigned:0;\n\
            \tfield:u8 mac[2];\toffset:14;\tsize:2;\tsigned:0;\n\
            \tfield:void *at;\toffset:16;\tsize:8;\tsigned:0;\n\
            \tfield:unsigned short args[2];\toffset:2;\tsize:4;\tsigned:0;\n";
        let mut tracepoints = Tracepoints::default();
        tracepoints.add("g", description);
        let point = tracepoints.get(7).expect("there");
        assert_eq!(point.name, "g:x");
        let mut raw = [&(-2i16).to_le_bytes()[..], &4_000_000_000u32.to_le_bytes()].concat();
        let text_at = |offset: u16, len: u16| [offset.to_le_bytes(), len.to_le_bytes()].concat();
        raw.extend([text_at(24, 3), text_at(13, 4)].concat());
        raw.extend([0xab, 0x0c]);
        raw.extend(0xffff_0000_1234_0000u64.to_le_bytes());
        raw.extend(b"ab\0cd\"\0");
        let mut args = ArgsWriter::default();
        assert_eq!(point.write(&raw, &mut args), Some(()));
        let expected = r#"{"less":-2,"more":4000000000,"text":"ab","near":"cd\"","mac":"ab0c","at":"0xffff000012340000","args":[10240,61035]}"#;
        assert_eq!(args.finish(), expected);
        args.clear();
        assert_eq!(point.write(&raw[..25], &mut args), None);
        assert_eq!(
            args.finish(),
            r#"{"less":-2,"more":4000000000,"mac":"ab0c","at":"0xffff000012340000","args":[10240,61035]}"#
        );
    }

    #[test]
    fn arrays_of_signed_numbers_have_negative_numbers() {
        let mut tracepoints = Tracepoints::default();
        tracepoints.add("g", "name: x\nID: 7\n\tfield:int fds[2];\toffset:0;\tsize:8;\tsigned:1;\n");
        let raw = [(-1i32).to_le_bytes(), 3i32.to_le_bytes()].concat();
        let mut args = ArgsWriter::default();
        assert_eq!(tracepoints.get(7).expect("there").write(&raw, &mut args), Some(()));
        assert_eq!(args.finish(), r#"{"fds":[-1,3]}"#);
    }

    #[test]
    fn fields_end_when_the_arguments_are_too_long() {
        const FIELDS: usize = 3000;
        let field = "\tfield:char text[16000];\toffset:0;\tsize:16000;\tsigned:0;\n".repeat(FIELDS);
        let mut tracepoints = Tracepoints::default();
        tracepoints.add("g", &format!("name: x\nID: 7\n{field}"));
        let (raw, mut args) = ([b'a'; 16000], ArgsWriter::default());
        tracepoints.get(7).expect("there").write(&raw, &mut args);
        assert!(args.is_too_long() && args.json.len() < Detail::ARGS_BYTES_MAX + 2 * raw.len(), "{}", args.json.len());
    }

    #[test]
    fn a_long_name_of_a_tracepoint_is_cut() {
        let mut tracepoints = Tracepoints::default();
        tracepoints.add("g", &format!("name: {}\nID: 7\n", "é".repeat(LABEL_BYTES_MAX)));
        assert_eq!(tracepoints.get(7).map(|tracepoint| tracepoint.name.len()), Some(2 + LABEL_BYTES_MAX + 4));
    }

    #[test]
    fn descriptions_that_are_cut_anywhere_are_known_up_to_the_cut() {
        let mut bytes = [MAGIC, b"0.6\0", &[0, 8, 0, 16, 0, 0]].concat();
        for header in ["header_page", "header_event"] {
            bytes.extend([header.as_bytes(), &[0], &2u64.to_le_bytes(), b"xx"].concat());
        }
        bytes.extend([&0u32.to_le_bytes()[..], &1u32.to_le_bytes(), b"g\0", &3u32.to_le_bytes()].concat());
        let mut ends = Vec::new();
        for number in 1..=3 {
            let description = format!("name: n{number}\nID: {number}\nformat:\n");
            bytes.extend((description.len() as u64).to_le_bytes());
            bytes.extend(description.as_bytes());
            ends.push(bytes.len());
        }
        for len in 0..=bytes.len() {
            let mut tracepoints = Tracepoints::default();
            let whole = tracepoints.read(&bytes[..len]);
            assert_eq!(tracepoints.0.len(), ends.iter().filter(|&&end| end <= len).count(), "{len}");
            assert_eq!(whole.is_some(), len == bytes.len(), "{len}");
        }
    }
}

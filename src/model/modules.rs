//! The modules (mapped files) of sampled code. A frame is a name with the category of its module and a text that ends
//! with the address. Symbols are resolved later, from files outside the trace.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::base::hex::hex_number;

/// Maximum number of modules of a trace; real traces have a few hundred. Frames of other modules remain unsymbolized.
pub(crate) const MODULES_MAX: usize = 1 << 14;

/// The build-id of a file, usually 20 bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BuildId(Box<[u8]>);

impl BuildId {
    /// Length of a SHA-256 hash, the longest build-id that linkers write.
    const BYTES_MAX: usize = 32;

    /// Number of bytes of the build-id that Breakpad uses.
    const BREAKPAD_BYTES: usize = 16;

    /// Returns `None` for bytes that identify nothing: none, all zeros, or more than linkers write.
    #[must_use]
    pub(crate) fn new(bytes: &[u8]) -> Option<Self> {
        let is_id = (1..=Self::BYTES_MAX).contains(&bytes.len()) && bytes.iter().any(|&byte| byte != 0);
        is_id.then(|| Self(bytes.into()))
    }

    /// Decodes a build-id from a 20-byte field as perf writes it: shorter ones are padded with zeros.
    #[must_use]
    pub(crate) fn from_field(bytes: &[u8], len: Option<usize>) -> Option<Self> {
        Self::new(len.and_then(|len| bytes.get(..len)).unwrap_or(bytes))
    }

    /// Decodes a build-id from hexadecimal digits, such as a code-id; `None` if the text is not a build-id.
    #[must_use]
    pub(crate) fn from_hex(digits: &[u8]) -> Option<Self> {
        /// Length of the shortest build-id that linkers write; shorter digits may be any number.
        const BYTES_MIN: usize = 8;
        let pairs = digits.chunks_exact(2);
        let is_whole = pairs.remainder().is_empty() && (BYTES_MIN..=Self::BYTES_MAX).contains(&pairs.len());
        let byte = |pair: &[u8]| u8::try_from(hex_number(pair)?).ok();
        let bytes = is_whole.then(|| pairs.map(byte).collect::<Option<Vec<u8>>>()).flatten()?;
        Self::new(&bytes)
    }

    /// Decodes the first 16 bytes of a build-id from a Breakpad debug-id: a GUID in hexadecimal digits, followed by an
    /// age.
    #[must_use]
    pub(crate) fn from_breakpad(digits: &[u8]) -> Option<Self> {
        let guid = Self::from_hex(digits.get(..2 * Self::BREAKPAD_BYTES)?)?;
        let mut bytes = guid.0;
        bytes[..4].reverse();
        bytes[4..6].reverse();
        bytes[6..8].reverse();
        Some(Self(bytes))
    }

    /// Returns whether both identify the same file. Recorders may pad a build-id with zeros to 20 bytes, or store only
    /// its first 16 bytes.
    #[must_use]
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let trimmed = |id: &'_ Self| id.0.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        let (own_bytes, others) = (&self.0[..trimmed(self)], &other.0[..trimmed(other)]);
        let is_cut = |id: &Self| id.0.len() == Self::BREAKPAD_BYTES;
        own_bytes == others
            || is_cut(self) && other.0.starts_with(&self.0)
            || is_cut(other) && self.0.starts_with(&other.0)
    }
}

impl AsRef<[u8]> for BuildId {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for BuildId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

/// The kind of a module, which determines the base of its frame addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub enum ModuleKind {
    /// A program or a library; addresses are file offsets.
    #[default]
    File,
    /// The kernel; addresses are run-time addresses.
    Kernel,
    /// A kernel module; addresses are relative to its load address.
    KernelModule,
    /// The vDSO, the page of functions that the kernel maps into each process; addresses are offsets in it.
    Vdso,
    /// JIT code of the process with this id; addresses are run-time addresses.
    Jit(u32),
    /// A module that cannot be symbolized, such as a guest kernel.
    Unknown,
    /// A program or a library; addresses are link-time addresses. The recorder has already moved return addresses back
    /// to their calls.
    Linked,
    /// A program or a library; addresses are relative to the start of its image in memory.
    Image,
    /// A file in which a process dumped its JIT-compiled code; addresses are file offsets of the code.
    JitDump,
}

impl ModuleKind {
    /// Number of low bits of [`Self::number`] that distinguish the kinds; the process id of JIT code is above them.
    const KIND_BITS: u32 = 8;

    /// Returns the number of the kind in exported profiles, which files written earlier rely on.
    #[must_use]
    pub(crate) fn number(self) -> u64 {
        match self {
            Self::File => 1,
            Self::Kernel => 2,
            Self::KernelModule => 3,
            Self::Vdso => 4,
            Self::Jit(pid) => 5 | u64::from(pid) << Self::KIND_BITS,
            Self::Unknown => 6,
            Self::Linked => 7,
            Self::Image => 8,
            Self::JitDump => 9,
        }
    }

    /// Converts the number of a kind; `None` for 0 and other numbers that no kind has.
    #[must_use]
    pub(crate) fn from_number(number: u64) -> Option<Self> {
        let pid = u32::try_from(number >> Self::KIND_BITS).ok()?;
        let kind = match number & ((1 << Self::KIND_BITS) - 1) {
            1 => Self::File,
            2 => Self::Kernel,
            3 => Self::KernelModule,
            4 => Self::Vdso,
            5 => Self::Jit(pid),
            6 => Self::Unknown,
            7 => Self::Linked,
            8 => Self::Image,
            9 => Self::JitDump,
            _ => return None,
        };
        (kind.number() == number).then_some(kind)
    }

    /// Returns whether the address of a calling frame is the return address, which is after the call.
    #[must_use]
    pub(crate) fn has_return_addresses(self) -> bool {
        self != Self::Linked
    }
}

/// Whether the files of a trace recorded one build of a module. Encoded like the flag of earlier versions, which was
/// `true` for several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) enum ModuleBuilds {
    #[default]
    One,
    /// Different builds, so that its addresses are ambiguous.
    Several,
    /// Some files of the trace have the build-id and others have none. Files without it may have recorded another
    /// build.
    Uncertain,
}

/// A file whose code was sampled, as described by the trace.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Module {
    /// Category of its frames' names: its path, with a suffix if two modules have the same path.
    pub(crate) category: Box<str>,
    /// Path on the recording machine; untrusted.
    pub(crate) path: Box<str>,
    pub(crate) build_id: Option<BuildId>,
    pub(crate) kind: ModuleKind,
    /// Inode of the file when it was mapped, if a file of the trace has no build-id, or one that may be of another
    /// file.
    pub(crate) inode: Option<u64>,
    /// The place of a kernel or a kernel module in memory.
    pub(crate) anchor: Option<KernelAnchor>,
    pub(crate) builds: ModuleBuilds,
}

impl Module {
    /// Returns whether the build-id, if there is one, certainly belongs to the mapped file.
    #[must_use]
    pub(crate) fn is_build_certain(&self) -> bool {
        self.build_id.is_none() || self.inode.is_none()
    }

    /// Returns the build-id if all files of the trace have it.
    #[must_use]
    pub(crate) fn common_build_id(&self) -> Option<&BuildId> {
        self.build_id.as_ref().filter(|_| self.builds == ModuleBuilds::One)
    }

    /// Merges the description of the module in another file of the same trace.
    pub(crate) fn merge(&mut self, other: &Self) {
        let is_other_file = match (&self.build_id, &other.build_id) {
            (Some(build_id), Some(new)) => !build_id.is_same(new),
            _ => self.inode.zip(other.inode).is_some_and(|(inode, new)| inode != new),
        };
        let is_several = [self.builds, other.builds].contains(&ModuleBuilds::Several);
        // A kernel has another anchor after each boot, even without a build-id.
        let is_running = matches!(self.kind, ModuleKind::Kernel | ModuleKind::KernelModule);
        let has_one_id = self.build_id.is_some() != other.build_id.is_some() && !is_running;
        let is_same_place = match (&self.anchor, &other.anchor) {
            (Some(anchor), Some(new)) => anchor.is_same(new),
            (anchor, new) => anchor == new,
        };
        if is_several || is_other_file || !is_same_place || self.kind != other.kind {
            self.builds = ModuleBuilds::Several;
        } else if has_one_id || other.builds == ModuleBuilds::Uncertain {
            self.builds = ModuleBuilds::Uncertain;
        }
        self.build_id = self.build_id.take().or_else(|| other.build_id.clone());
        self.inode = self.inode.or(other.inode);
    }
}

/// The place of a kernel or a kernel module in memory. Encoded like the pair of earlier versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(Box<str>, u64)", into = "(Box<str>, u64)")]
pub(crate) struct KernelAnchor {
    /// A symbol of the kernel; empty for a kernel module.
    pub(crate) symbol: Box<str>,
    /// Run-time address of the symbol, from which the KASLR offset follows, or load address of the module.
    pub(crate) address: u64,
    /// Release of a kernel without a build-id, as in `uname -r`.
    pub(crate) release: Option<Box<str>>,
}

impl KernelAnchor {
    /// Separates symbol and release in the encoded text.
    const SEPARATOR: char = '@';

    /// Returns whether both may be the place of one kernel.
    fn is_same(&self, other: &Self) -> bool {
        let has_same_release = self.release.as_ref().zip(other.release.as_ref()).is_none_or(|(own, new)| own == new);
        has_same_release && (&self.symbol, self.address) == (&other.symbol, other.address)
    }
}

impl From<(Box<str>, u64)> for KernelAnchor {
    fn from((text, address): (Box<str>, u64)) -> Self {
        match text.split_once(Self::SEPARATOR) {
            Some((symbol, release)) => Self { symbol: symbol.into(), address, release: Some(release.into()) },
            None => Self { symbol: text, address, release: None },
        }
    }
}

impl From<KernelAnchor> for (Box<str>, u64) {
    fn from(anchor: KernelAnchor) -> Self {
        let text = match anchor.release {
            Some(release) => format!("{}{}{release}", anchor.symbol, KernelAnchor::SEPARATOR).into(),
            None => anchor.symbol,
        };
        (text, anchor.address)
    }
}

/// Returns the process of a dump of JIT-compiled code by its path, which perf prescribes: `jit-PID.dump`.
#[must_use]
pub(crate) fn jit_dump_pid(path: &str) -> Option<u32> {
    let name = path.rsplit('/').next()?;
    name.strip_prefix("jit-")?.strip_suffix(".dump")?.parse().ok()
}

/// Parses the address of a frame in its module, which is at the end of the frame's text.
#[must_use]
pub(crate) fn address_of(text: &str) -> Option<u64> {
    let (_, digits) = text.rsplit_once("+0x")?;
    hex_number(digits).filter(|_| digits.len() <= 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_ids_are_the_same_up_to_zeros_at_their_end() {
        let id = |bytes: &[u8]| BuildId::new(bytes).unwrap();
        assert!(id(&[1, 2]).is_same(&id(&[1, 2, 0, 0])));
        assert!(!id(&[1, 2]).is_same(&id(&[1, 2, 3])));
        assert_eq!(id(&[0xab, 0x0c]).to_string(), "ab0c");
        assert_eq!(BuildId::from_field(&[1, 2, 9, 9], Some(2)), BuildId::new(&[1, 2]));
        let long = id(&(1..=20).collect::<Vec<u8>>());
        let from_breakpad = BuildId::from_breakpad(b"0403020106050807090A0B0C0D0E0F100").unwrap();
        assert!(from_breakpad.is_same(&long) && long.is_same(&from_breakpad));
        assert!(!BuildId::from_breakpad(b"0403020106050807090A0B0C0D0E0F110").unwrap().is_same(&long));
        assert_eq!(BuildId::from_hex(long.to_string().as_bytes()), Some(long));
        for nothing in ["", "ab", "0102030405060708f", "+102030405060708", "0000000000000000", "01 2030405060708"] {
            assert_eq!(BuildId::from_hex(nothing.as_bytes()), None, "{nothing}");
        }
        for nothing in [&[][..], &[0; 20], &[1; 33]] {
            assert_eq!(BuildId::new(nothing), None);
        }
    }

    #[test]
    fn the_address_of_a_frame_is_the_end_of_its_text() {
        assert_eq!(address_of("w+0x1169"), Some(0x1169));
        assert_eq!(address_of("a+0x1+0xffffffffffffffff"), Some(u64::MAX));
        for other in ["0x1169", "w+0x", "w+0x1169 ", "w+0x+1", "w+0x10000000000000000", ""] {
            assert_eq!(address_of(other), None, "{other}");
        }
    }

    #[test]
    fn dumps_are_recognized_by_their_names() {
        assert_eq!(["/home/me/jit-7.dump", "jit-12.dump"].map(jit_dump_pid), [Some(7), Some(12)]);
        assert_eq!(["jit-.dump", "jit-7.dump/x", "a-jit-7.dump", "jit-99999999999.dump"].map(jit_dump_pid), [None; 4]);
    }

    #[test]
    fn numbers_of_kinds_are_those_of_files_written_earlier() {
        use ModuleKind::{File, Image, Jit, JitDump, Kernel, KernelModule, Linked, Unknown, Vdso};
        let kinds = [File, Kernel, KernelModule, Vdso, Jit(0), Unknown, Linked, Image, JitDump, Jit(7), Jit(u32::MAX)];
        let numbers = [1, 2, 3, 4, 5, 6, 7, 8, 9, 0x705, 0x00ff_ffff_ff05];
        assert_eq!(kinds.map(ModuleKind::number), numbers);
        assert_eq!(numbers.map(ModuleKind::from_number), kinds.map(Some));
        assert_eq!([0, 10, 0x101, 0x0100_0000_0005, u64::MAX].map(ModuleKind::from_number), [None; 5]);
    }

    #[test]
    fn traces_of_another_or_an_unknown_build_are_told_from_those_of_the_same_in_any_order() {
        use ModuleBuilds::{One, Several, Uncertain};
        let file = |id: u8, inode| Module { build_id: BuildId::new(&[id]), inode, ..Module::default() };
        let kernel = |id: u8| Module { kind: ModuleKind::Kernel, ..file(id, None) };
        for (modules, builds, is_certain) in [
            (vec![file(1, None), file(1, None)], One, true),
            (vec![file(1, None), file(2, None)], Several, true),
            (vec![file(1, None), file(0, Some(7))], Uncertain, false),
            (vec![file(1, None), file(0, Some(7)), file(0, Some(7))], Uncertain, false),
            (vec![file(1, None), file(0, Some(7)), file(0, Some(8))], Several, false),
            (vec![file(1, None), file(0, Some(7)), file(2, None)], Several, false),
            (vec![file(0, Some(7)), file(0, Some(7))], One, true),
            (vec![file(0, Some(7)), file(0, Some(8))], Several, true),
            (vec![file(1, Some(7)), file(1, Some(8))], One, false),
            (vec![file(1, Some(7)), file(1, None)], One, false),
            (vec![kernel(1), kernel(0)], One, true),
            (vec![kernel(1), kernel(2)], Several, true),
        ] {
            for first in 0..modules.len() {
                let mut in_order = modules.clone();
                in_order.rotate_left(first);
                let mut merged = in_order[0].clone();
                in_order[1..].iter().for_each(|module| merged.merge(module));
                assert_eq!((merged.builds, merged.is_build_certain()), (builds, is_certain), "{in_order:?}");
                assert_eq!(merged.common_build_id().is_some(), builds == One && merged.build_id.is_some());
            }
        }
    }

    #[test]
    fn the_anchor_of_a_kernel_is_encoded_like_the_pair_of_earlier_versions() {
        let pair: (Box<str>, u64) = ("_stext".into(), 7);
        let anchor = KernelAnchor { symbol: "_stext".into(), address: 7, release: None };
        let bytes = postcard::to_stdvec(&pair).unwrap();
        assert_eq!((postcard::to_stdvec(&anchor).unwrap(), postcard::from_bytes(&bytes)), (bytes, Ok(anchor.clone())));
        let released = KernelAnchor { release: Some("6.1@x".into()), ..anchor.clone() };
        assert_eq!(postcard::from_bytes(&postcard::to_stdvec(&released).unwrap()), Ok(released.clone()));
        let other = KernelAnchor { release: Some("6.2".into()), ..anchor.clone() };
        assert_eq!([anchor.is_same(&other), released.is_same(&other)], [true, false]);
    }

    #[test]
    fn the_builds_of_a_module_are_encoded_like_the_flag_of_earlier_versions() {
        for (flag, builds) in [(false, ModuleBuilds::One), (true, ModuleBuilds::Several)] {
            assert_eq!(postcard::to_stdvec(&flag).unwrap(), postcard::to_stdvec(&builds).unwrap());
        }
    }
}

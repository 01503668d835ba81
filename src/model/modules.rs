//! The files that sampled code was in. A frame of a sample is a name whose category is that of a module, and whose text
//! ends with the address in it; names of functions are looked up later, from files outside the capture.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Modules of a capture; real ones have some hundred. Frames of more keep their addresses.
pub(crate) const MODULES_MAX: usize = 1 << 14;

/// The identity that a linker gave a file, in bytes: 20 of most.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BuildId(Box<[u8]>);

impl BuildId {
    const BYTES_MAX: usize = 32;

    /// The bytes that Breakpad takes of one.
    const BREAKPAD_BYTES: usize = 16;

    /// `None` for bytes that identify nothing: none, only zeros, or more than linkers write.
    #[must_use]
    pub(crate) fn new(bytes: &[u8]) -> Option<Self> {
        let is_id = (1..=Self::BYTES_MAX).contains(&bytes.len()) && bytes.iter().any(|&byte| byte != 0);
        is_id.then(|| Self(bytes.into()))
    }

    /// The identity in a field of 20 bytes, as perf writes it: shorter ones have zeros after them.
    #[must_use]
    pub(crate) fn from_field(bytes: &[u8], len: Option<usize>) -> Option<Self> {
        Self::new(len.and_then(|len| bytes.get(..len)).unwrap_or(bytes))
    }

    /// The identity in text of hexadecimal digits, such as a code-id; `None` for one that is no linker's.
    #[must_use]
    pub(crate) fn from_hex(digits: &[u8]) -> Option<Self> {
        const BYTES_MIN: usize = 8;
        let pairs = digits.chunks_exact(2);
        let is_whole = pairs.remainder().is_empty() && (BYTES_MIN..=Self::BYTES_MAX).contains(&pairs.len());
        let byte = |pair: &[u8]| {
            let pair = std::str::from_utf8(pair).ok().filter(|pair| !pair.starts_with('+'))?;
            u8::from_str_radix(pair, 16).ok()
        };
        let bytes = is_whole.then(|| pairs.map(byte).collect::<Option<Vec<u8>>>()).flatten()?;
        Self::new(&bytes)
    }

    /// The first 16 bytes of the identity, from one that Breakpad made of them: three numbers and bytes, written as
    /// hexadecimal digits, and a count after them.
    #[must_use]
    pub(crate) fn from_breakpad(digits: &[u8]) -> Option<Self> {
        let guid = Self::from_hex(digits.get(..2 * Self::BREAKPAD_BYTES)?)?;
        let mut bytes = guid.0;
        bytes[..4].reverse();
        bytes[4..6].reverse();
        bytes[6..8].reverse();
        Some(Self(bytes))
    }

    /// Whether both are of one file. A recorder may have written an identity with zeros up to 20 bytes, or
    /// its first 16 bytes alone.
    #[must_use]
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let trimmed = |id: &'_ Self| id.0.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        let (own, others) = (&self.0[..trimmed(self)], &other.0[..trimmed(other)]);
        let is_cut = |id: &Self| id.0.len() == Self::BREAKPAD_BYTES;
        own == others || is_cut(self) && other.0.starts_with(&self.0) || is_cut(other) && self.0.starts_with(&other.0)
    }
}

impl fmt::Display for BuildId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

/// The kind of a module, which says from where the addresses of its frames count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub enum ModuleKind {
    /// A program or a library; addresses are offsets in the file.
    #[default]
    File,
    /// The kernel; addresses are those at which it ran.
    Kernel,
    /// A module of the kernel; addresses count from where it was loaded.
    KernelModule,
    /// The page of functions that the kernel gives each process; addresses are offsets in it.
    Vdso,
    /// Code that the process of this id made while it ran; addresses are those at which it ran.
    Jit(u32),
    /// A file that no name can be looked up in, such as the kernel of a guest.
    Unknown,
    /// A program or a library; addresses are those that it was linked for. Recorders have moved those of calls back
    /// from where they return to.
    Linked,
    /// A program or a library; addresses count from the start of its image in memory.
    Image,
}

impl ModuleKind {
    /// Whether the address of a frame that calls is that to which the call returns, which is after it.
    #[must_use]
    pub(crate) fn has_return_addresses(self) -> bool {
        self != Self::Linked
    }
}

/// A file whose code was sampled, as the capture describes it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Module {
    /// The category of the names of its frames: its path, and more where two modules share one.
    pub(crate) category: Box<str>,
    /// The path on the machine of the recording, which may be anything.
    pub(crate) path: Box<str>,
    pub(crate) build_id: Option<BuildId>,
    pub(crate) kind: ModuleKind,
    /// The inode of the file when it was mapped, where the capture has no build-id.
    pub(crate) inode: Option<u64>,
    /// Of the kernel: a symbol and the address at which it ran, from which the offset of all others follows. Of a
    /// module of the kernel: no symbol, and the address that its own count from.
    pub(crate) anchor: Option<(Box<str>, u64)>,
    /// Whether files of one trace were recorded with different builds of it, so that its addresses are ambiguous.
    pub(crate) is_ambiguous: bool,
}

impl Module {
    /// Takes what another file of the same trace says of the module.
    pub(crate) fn merge(&mut self, other: &Self) {
        match (&self.build_id, &other.build_id) {
            (Some(known), Some(new)) if !known.is_same(new) => self.is_ambiguous = true,
            (None, Some(new)) => self.build_id = Some(new.clone()),
            _ => {}
        }
        self.is_ambiguous |= self.anchor != other.anchor || self.kind != other.kind;
    }
}

/// The address in its module of a frame, which is the end of the frame's text.
#[must_use]
pub(crate) fn address_of(text: &str) -> Option<u64> {
    let (_, digits) = text.rsplit_once("+0x")?;
    let is_address = (1..=16).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_address.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
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
    fn two_builds_of_one_path_are_ambiguous() {
        let build = |byte| Module { build_id: BuildId::new(&[byte]), ..Module::default() };
        let mut module = Module::default();
        module.merge(&build(1));
        module.merge(&build(1));
        assert_eq!((module.build_id.clone(), module.is_ambiguous), (BuildId::new(&[1]), false));
        module.merge(&build(2));
        assert!(module.is_ambiguous);
    }
}

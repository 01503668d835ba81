//! The bytes of debug information: the sections that names and lines are in, unpacked, and read with the steps of a
//! thread. Refuses sections that are more together than a bound.

use std::convert::Infallible;

use gimli::{Dwarf, SectionId};

use crate::symbols::elf::ElfFile;
use crate::symbols::fuel::{Fuel, FuelPool, FuelledSlice};

/// The sections that names and lines are in.
const SECTIONS: [SectionId; 9] = [
    SectionId::DebugInfo,
    SectionId::DebugAbbrev,
    SectionId::DebugLine,
    SectionId::DebugStr,
    SectionId::DebugLineStr,
    SectionId::DebugRanges,
    SectionId::DebugRngLists,
    SectionId::DebugAddr,
    SectionId::DebugStrOffsets,
];

/// Steps of reading for each byte of debug information; real files need less than one.
const STEPS_PER_BYTE: u64 = 8;

/// Steps that small files have at least.
const STEPS_MIN: u64 = 4 << 20;

pub(super) type SectionReader<'a, 'f> = FuelledSlice<'a, 'f>;

/// The bytes of debug information of a file.
#[derive(Debug, Default)]
pub(in crate::symbols) struct DebugInfo {
    sections: Vec<(SectionId, Vec<u8>)>,
    /// The part that several debug files share, in another file.
    shared: Option<Box<Self>>,
    bytes: u64,
}

/// Debug information is beyond the bound, or damaged.
#[derive(Debug, Clone, Copy)]
pub(in crate::symbols) struct InfoTooLarge;

impl DebugInfo {
    /// Reads the sections of a file, of at most `bytes_max` together. `Ok(None)` if it has none;
    /// an error is their size.
    pub(in crate::symbols) fn read(elf: &ElfFile, bytes_max: u64) -> Result<Option<Self>, InfoTooLarge> {
        let Some(_) = elf.named(SectionId::DebugInfo.name()) else { return Ok(None) };
        let mut info = Self::default();
        for id in SECTIONS {
            let Some(section) = elf.named(id.name()) else { continue };
            let Some(bytes) = elf.bytes_of(section, bytes_max.saturating_sub(info.bytes)) else {
                return Err(InfoTooLarge);
            };
            info.bytes += bytes.len() as u64;
            info.sections.push((id, bytes));
        }
        Ok(Some(info))
    }

    /// The same with what several debug files share. Damage there costs what it names.
    pub(in crate::symbols) fn with_shared(mut self, elf: &ElfFile, bytes_max: u64) -> Self {
        if let Ok(Some(shared)) = Self::read(elf, bytes_max.saturating_sub(self.bytes)) {
            self.bytes += shared.bytes;
            self.shared = Some(Box::new(shared));
        }
        self
    }

    fn section(&self, id: SectionId) -> &[u8] {
        self.sections.iter().find(|(own, _)| *own == id).map_or(&[], |(_, bytes)| bytes)
    }

    /// The sections, read with the steps of a thread.
    pub(super) fn dwarf<'a, 'f>(&'a self, fuel: &'f Fuel<'f>) -> Dwarf<SectionReader<'a, 'f>> {
        let Ok(mut dwarf) = Dwarf::load(|id| Ok::<_, Infallible>(FuelledSlice::new(self.section(id), fuel)));
        if let Some(shared) = &self.shared {
            dwarf.set_sup(shared.dwarf(fuel));
        }
        dwarf
    }

    /// The steps that reading may take.
    pub(super) fn steps(&self) -> FuelPool {
        FuelPool::new(STEPS_MIN.saturating_add(self.bytes.saturating_mul(STEPS_PER_BYTE)))
    }
}

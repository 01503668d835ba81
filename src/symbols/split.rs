//! Adds the files with the functions of split debug information: a `.dwp` package, or the `.dwo` file of each unit.
//! Paths are untrusted: only paths below the roots are opened, and a file must have the unit's id. Each file is read
//! once, however many units name it, and reading files without a wanted unit has a limit.

use std::path::{Path, PathBuf};

use rustc_hash::FxHashSet;

use super::dwarf::{DebugInfo, SplitUnit, WantedUnits};
use super::elf::ElfFile;
use super::locate::Locator;
use crate::base::cancel::{Cancel, Cancelled};

/// Limit for the bytes read from files without a wanted unit, such as the tables and units of other builds.
const REJECTED_BYTES_MAX: u64 = 256 << 20;

/// The files that were added.
#[derive(Debug, Default)]
pub(super) struct SplitFiles {
    /// Whether all units have their file.
    pub(super) has_all: bool,
    /// The searched paths of the files.
    pub(super) used: Vec<PathBuf>,
    /// The folder of a missing file that is outside the searched folders.
    pub(super) outside: Option<PathBuf>,
}

/// Adds the files of the split units that contain wanted addresses, at most `bytes_max` of debug information. `program`
/// is the path of the file that names them. Returns `Cancelled` if cancelled.
pub(super) fn add_split_files(
    info: &mut DebugInfo,
    wanted: &WantedUnits,
    program: &Path,
    locator: &Locator,
    bytes_max: u64,
    cancel: &Cancel,
) -> Result<SplitFiles, Cancelled> {
    let units: Vec<&SplitUnit> = wanted.split().collect();
    let missing = units.iter().map(|unit| unit.id).collect();
    let (searched, tried) = (FxHashSet::default(), FxHashSet::default());
    let mut search =
        SplitSearch { info, locator, bytes_max, cancel, missing, searched, tried, rejected: 0, used: Vec::new() };
    for path in locator.packages(program).take_while(|_| !units.is_empty()) {
        search.try_file(path)?;
    }
    for unit in units {
        for path in locator.split_objects(program, &unit.folder, &unit.path) {
            if search.missing.contains(&unit.id) {
                search.try_file(path)?;
            }
        }
    }
    let (missing, used) = (search.missing, search.used);
    let mut without_file = wanted.split().filter(|unit| missing.contains(&unit.id));
    let outside = without_file.find_map(|unit| locator.outside_folder(&unit.folder, &unit.path));
    Ok(SplitFiles { has_all: missing.is_empty(), used, outside })
}

/// A search for the files of units.
struct SplitSearch<'a> {
    info: &'a mut DebugInfo,
    locator: &'a Locator,
    bytes_max: u64,
    cancel: &'a Cancel,
    /// The ids of units without a file so far.
    missing: FxHashSet<u64>,
    /// The paths that were searched, and the files found there, without links.
    searched: FxHashSet<PathBuf>,
    tried: FxHashSet<PathBuf>,
    /// Bytes read from files without a missing unit.
    rejected: u64,
    used: Vec<PathBuf>,
}

impl SplitSearch<'_> {
    /// Adds a file if it has missing units and was not tried before.
    fn try_file(&mut self, path: PathBuf) -> Result<(), Cancelled> {
        self.cancel.check()?;
        let is_done = self.missing.is_empty() || self.rejected > REJECTED_BYTES_MAX;
        if is_done || !self.searched.insert(path.clone()) {
            return Ok(());
        }
        let Ok(file) = self.locator.open(&path) else { return Ok(()) };
        if !self.tried.insert(file.path.clone()) {
            return Ok(());
        }
        let before = self.locator.bytes_read();
        let ids = ElfFile::read(file).map(|elf| self.info.add_split(&elf, &self.missing, self.bytes_max));
        match ids.filter(|ids| !ids.is_empty()) {
            Some(ids) => {
                ids.iter().for_each(|id| _ = self.missing.remove(id));
                self.used.push(path);
            }
            None => self.rejected += self.locator.bytes_read() - before,
        }
        Ok(())
    }
}

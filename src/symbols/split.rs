//! Adds the files with the functions of split debug information: a `.dwp` package, or the `.dwo` file of each unit.
//! Paths are untrusted: only those below the roots are opened, and a file must have the unit's id.

use std::path::Path;

use super::dwarf::{DebugInfo, SplitUnit, WantedUnits};
use super::elf::ElfFile;
use super::locate::Locator;
use crate::base::cancel::{Cancel, Cancelled};

/// Adds the files of the split units that contain wanted addresses. `program` is the path of the file that names them.
/// Returns whether all of them were found within `bytes_max` of debug information.
pub(super) fn add_split_files(
    info: &mut DebugInfo,
    wanted: &WantedUnits,
    program: &Path,
    locator: &Locator,
    bytes_max: u64,
    cancel: &Cancel,
) -> Result<bool, Cancelled> {
    let units: Vec<&SplitUnit> = wanted.split().collect();
    if units.is_empty() {
        return Ok(true);
    }
    let ids: Vec<u64> = units.iter().map(|unit| unit.id).collect();
    let open = |path: &Path| ElfFile::read(locator.open(path).ok()?);
    for path in locator.packages(program) {
        cancel.check()?;
        let is_whole = open(&path).is_some_and(|elf| {
            info.add_split(&elf, &ids, bytes_max);
            ids.iter().all(|&id| info.has_split(id))
        });
        if is_whole {
            return Ok(true);
        }
    }
    let mut has_all = true;
    for unit in units {
        cancel.check()?;
        let mut paths = locator.split_objects(program, &unit.folder, &unit.path);
        has_all &= info.has_split(unit.id)
            || paths.any(|path| open(&path).is_some_and(|elf| info.add_split(&elf, &[unit.id], bytes_max)));
    }
    Ok(has_all)
}

//! Paths of folders and files that users, traces and programs name, and the layouts of folders with debug files.

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use crate::model::BuildId;

/// The folder of debug files, below the root of a system or of a copy of it.
pub(super) const DEBUG_BELOW: &str = "usr/lib/debug";

/// Resolves `..` lexically; `None` if the path leaves the root.
pub(super) fn without_parents(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => plain.pop().then_some(())?,
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    Some(plain)
}

/// Returns whether a path is absolute and has no `..`.
pub(super) fn is_plain(path: &Path) -> bool {
    path.is_absolute() && !path.components().any(|part| part == Component::ParentDir)
}

/// Returns a folder that the user named, without `..` and with links resolved; the absolute path if there is no such
/// folder. Accesses the file system, so the path must not come from a trace.
pub(super) fn real_folder(folder: &Path) -> PathBuf {
    let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    absolute.canonicalize().unwrap_or(absolute)
}

/// Returns the folders below which a folder may have debug files by build-id: itself, as `~/.debug`, and as a copy of
/// the other machine's folders.
pub(super) fn stores_below(folder: &Path) -> [PathBuf; 3] {
    [folder.to_path_buf(), folder.join(".debug"), folder.join(DEBUG_BELOW)]
}

/// Returns the usual name of the debug file of a program.
pub(super) fn debug_name(name: &OsStr) -> OsString {
    let mut name = name.to_owned();
    name.push(".debug");
    name
}

/// Iterates over the paths of a build-id below a folder: as installed by systems, as stored by `perf`, and without
/// `.build-id`.
pub(super) fn by_build_id(folder: &Path, id: &BuildId) -> impl Iterator<Item = PathBuf> + use<> {
    let digits = id.to_string();
    // perf pads shorter build-ids to 20 bytes.
    let short = digits.trim_end_matches("00").to_owned();
    let all = if short.len() >= 4 && short != digits { vec![digits, short] } else { vec![digits] };
    let folder = folder.to_path_buf();
    all.into_iter().filter(|digits| digits.len() > 2).flat_map(move |digits| {
        let (first, rest) = digits.split_at(2);
        let build_id_folder = folder.join(".build-id").join(first);
        let bare = folder.join(first);
        let in_build_id = |name: &str| build_id_folder.join(rest).join(name);
        vec![
            build_id_folder.join(format!("{rest}.debug")),
            bare.join(format!("{rest}.debug")),
            in_build_id("debug"),
            in_build_id("elf"),
            in_build_id("vdso"),
            in_build_id("kallsyms"),
            build_id_folder.join(rest),
            bare.join(rest),
        ]
    })
}

/// Iterates over the paths of the debug file of a program without a build-id. `root` is the root of a system or of a
/// copy of it.
pub(super) fn debug_files(root: &Path, program: &Path) -> impl Iterator<Item = PathBuf> {
    let name = debug_name(program.file_name().unwrap_or_default());
    let installed = root.join(DEBUG_BELOW).join(program);
    let beside = root.join(program).with_file_name(&name);
    [beside.clone(), beside.with_file_name(".debug").join(&name), installed.with_file_name(&name), installed]
        .into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_paths_go_up_no_further_than_the_root() {
        let plain = |path: &str| without_parents(Path::new(path));
        assert_eq!(plain("/usr/lib/debug/a/../../x/./y"), Some("/usr/lib/x/y".into()));
        assert_eq!(plain("/../etc"), None);
        assert_eq!(plain("/a/../../etc"), None);
    }
}

//! Lists candidate paths for the file of a module, most certain first. Nothing is searched recursively: each path
//! follows from the build-id or the recorded path. Only files below the roots are opened.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::cache::NameCache;
use super::file::{InputFile, OpenError, Roots};
use super::separate::without_parents;
use crate::base::escape::escaped;
use crate::base::shell;
use crate::model::{BuildId, Module, ModuleKind};

/// System folders with programs and their debug files.
const SYSTEM_ROOTS: [&str; 9] = ["/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/opt", "/boot", "/nix/store"];

/// The system folder of debug files.
const SYSTEM_DEBUG: &str = "/usr/lib/debug";

/// The folders to search, and the roots of files that may be opened.
#[derive(Debug, Clone, Default)]
pub(crate) struct Locator {
    roots: Roots,
    /// Folders given by the user.
    given: Vec<PathBuf>,
    /// The folders of the traces.
    beside: Vec<PathBuf>,
    /// Folders in the layout of `~/.debug` and of `/usr/lib/debug`.
    stores: Vec<PathBuf>,
    /// The cache folder of debuginfod's client.
    fetched: Option<PathBuf>,
    /// Whether files of this machine are used, such as those at recorded paths.
    has_system: bool,
    /// Modification time of the newest trace.
    recorded: Option<SystemTime>,
    /// Cache of resolved names.
    cache: Option<NameCache>,
}

/// A candidate path of a module's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ModulePath {
    pub(super) path: PathBuf,
    /// Whether the user gave the folder, so that a file without a build-id is accepted there.
    pub(super) is_given: bool,
}

impl Locator {
    /// Creates a locator for traces at these paths: folders of the system, of the user, of the traces, and the given
    /// ones.
    #[must_use]
    pub(crate) fn for_traces<'a>(traces: impl IntoIterator<Item = &'a Path>, given: &[PathBuf]) -> Self {
        let mut locator = Self::without_system(traces, given);
        locator.has_system = true;
        SYSTEM_ROOTS.iter().for_each(|root| locator.roots.add(Path::new(root)));
        if let Some(home) = dirs::home_dir() {
            locator.roots.add(&home);
            locator.stores.push(home.join(".debug"));
        }
        locator.stores.push(SYSTEM_DEBUG.into());
        let chosen = std::env::var_os("DEBUGINFOD_CACHE_PATH").map(PathBuf::from);
        locator.fetched = chosen.or_else(|| Some(dirs::cache_dir()?.join("debuginfod_client")));
        if let Some(fetched) = &locator.fetched {
            locator.roots.add(fetched);
        }
        locator
    }

    /// Creates a locator for the folders of the traces and the given ones only.
    #[must_use]
    pub(crate) fn without_system<'a>(traces: impl IntoIterator<Item = &'a Path>, given: &[PathBuf]) -> Self {
        let mut locator = Self::default();
        for folder in given {
            let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.clone());
            locator.roots.add(&folder);
            locator.given.push(folder);
        }
        for trace in traces {
            let Ok(trace) = std::path::absolute(trace) else { continue };
            let written = std::fs::metadata(&trace).and_then(|metadata| metadata.modified()).ok();
            locator.recorded = locator.recorded.max(written);
            let Some(folder) = trace.parent() else { continue };
            locator.roots.add(folder);
            if !locator.beside.iter().any(|other| other == folder) {
                locator.beside.push(folder.to_path_buf());
            }
        }
        locator
    }

    /// Uses a cache of resolved names.
    #[must_use]
    pub(crate) fn with_cache(self, cache: Option<NameCache>) -> Self {
        Self { cache, ..self }
    }

    pub(super) fn cache(&self) -> Option<&NameCache> {
        self.cache.as_ref()
    }

    /// Opens a file below the roots.
    pub(super) fn open(&self, path: &Path) -> Result<InputFile, OpenError> {
        self.roots.open(path)
    }

    pub(super) fn has_system(&self) -> bool {
        self.has_system
    }

    /// Returns whether a file's modification time fits the recording, for modules without a build-id.
    pub(super) fn fits(&self, module: &Module, file: &InputFile) -> bool {
        let Some(metadata) = file.metadata() else { return false };
        let is_older = metadata.modified().ok().zip(self.recorded).is_some_and(|(changed, then)| changed <= then);
        is_older && module.inode.is_none_or(|inode| is_inode(&metadata, inode))
    }

    /// Returns the candidate paths of a module's file, in order.
    pub(super) fn candidates(&self, module: &Module) -> Vec<ModulePath> {
        let mut all = Vec::new();
        let recorded = Path::new(&*module.path);
        for folder in self.given.iter().chain(&self.beside) {
            let is_given = self.given.contains(folder);
            let mut add = |path: PathBuf| all.push(ModulePath { path, is_given });
            if let Some(id) = &module.build_id {
                by_build_id(folder, id).for_each(&mut add);
                by_build_id(&folder.join(".debug"), id).for_each(&mut add);
            }
            if module.kind == ModuleKind::Kernel {
                add(folder.join("vmlinux"));
            } else if let Some(name) = recorded.file_name().filter(|_| is_plain(recorded)) {
                let mut debug_name = name.to_owned();
                debug_name.push(".debug");
                add(folder.join(name));
                add(folder.join(&debug_name));
                // A copy of the other machine's folders.
                if let Ok(below) = recorded.strip_prefix("/") {
                    add(folder.join(below));
                }
            }
        }
        let mut add = |path: PathBuf| all.push(ModulePath { path, is_given: false });
        if let Some(id) = &module.build_id {
            self.stores.iter().flat_map(|store| by_build_id(store, id)).for_each(&mut add);
            if let Some(fetched) = &self.fetched {
                let build_folder = fetched.join(id.to_string());
                ["debuginfo", "executable"].iter().for_each(|name| add(build_folder.join(name)));
            }
        }
        if self.has_system {
            if module.kind == ModuleKind::Kernel {
                kernel_files().for_each(&mut add);
            } else if recorded.is_absolute() && is_plain(recorded) {
                add(recorded.to_path_buf());
                debug_files(recorded).for_each(&mut add);
            }
        }
        let mut seen = std::collections::HashSet::new();
        all.retain(|candidate| seen.insert(candidate.path.clone()));
        all
    }

    /// Iterates over the candidate paths of a debug file named by a program.
    pub(super) fn linked(&self, program: &Path, name: &Path) -> impl Iterator<Item = PathBuf> {
        let folder = program.parent().unwrap_or(Path::new("/"));
        let installed = Path::new(SYSTEM_DEBUG).join(folder.strip_prefix("/").unwrap_or(folder));
        let folders =
            self.given.iter().map(PathBuf::as_path).chain([folder]).chain(self.beside.iter().map(PathBuf::as_path));
        let near = folders.flat_map(|folder| [folder.join(name), folder.join(".debug").join(name)]);
        unique(near.chain([installed.join(name)]).collect())
    }

    /// Iterates over the candidate paths of a package with split debug information: `NAME.dwp`, also for a debug file
    /// `NAME.debug`.
    pub(super) fn packages(&self, program: &Path) -> impl Iterator<Item = PathBuf> {
        let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let of_program = name.strip_suffix(".debug").map(|name| format!("{name}.dwp"));
        let names = [Some(format!("{name}.dwp")), of_program].into_iter().flatten();
        unique(names.flat_map(|name| self.linked(program, Path::new(&name)).collect::<Vec<_>>()).collect())
    }

    /// Iterates over the candidate paths of a `.dwo` file, which a unit names by a folder and a path. Candidates are a
    /// copy in a given folder or beside the program, and the recorded path.
    pub(super) fn split_objects(&self, program: &Path, folder: &Path, path: &Path) -> impl Iterator<Item = PathBuf> {
        let near = self.given.iter().chain(&self.beside).map(PathBuf::as_path).chain(program.parent());
        let below = without_parents(path).filter(|path| !path.is_absolute());
        let name = path.file_name().map(PathBuf::from);
        let near = near.flat_map(|near| below.iter().chain(&name).map(|path| near.join(path)).collect::<Vec<_>>());
        let recorded = without_parents(&folder.join(path)).filter(|_| self.has_system);
        unique(near.chain(recorded).collect())
    }

    /// Iterates over the candidate paths of a shared debug file, named by a path and a build-id.
    pub(super) fn shared(&self, path: &Path, id: &BuildId) -> impl Iterator<Item = PathBuf> {
        let stores = self.given.iter().chain(&self.beside).chain(&self.stores);
        let by_id = stores.flat_map(|store| by_build_id(store, id));
        let name = path.file_name().map(Path::new);
        let given = self.given.iter().filter_map(|folder| Some(folder.join(name?)));
        unique(by_id.chain(given).chain([path.to_path_buf()]).collect())
    }

    /// Iterates over function lists of a JIT process, by name: in the folders of the user and of the traces, and in
    /// `/tmp` if this user wrote them.
    pub(super) fn lists_of_process<'a>(&'a self, name: &'a str) -> impl Iterator<Item = InputFile> + 'a {
        let beside = self.given.iter().chain(&self.beside).filter_map(move |folder| self.open(&folder.join(name)).ok());
        let written = move || {
            let mut roots = Roots::default();
            roots.add(Path::new("/tmp"));
            roots
                .open(&Path::new("/tmp").join(name))
                .ok()
                .filter(|file| file.metadata().is_some_and(|it| is_of_user(&it)))
        };
        beside.chain(std::iter::once_with(move || written().filter(|_| self.has_system)).flatten())
    }
}

/// Returns why a path given by the user cannot be searched; for an archive, with the command to unpack it.
#[must_use]
pub(crate) fn folder_problem(path: &Path) -> Option<String> {
    if path.is_dir() {
        return None;
    }
    let shown = escaped(&path.display().to_string()).into_owned();
    if !path.exists() {
        return Some(format!("{shown}: no such folder"));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let before_tar = name.find(".tar").map(|end| &name[..end]);
    let Some(name) = before_tar.or_else(|| name.strip_suffix(".tgz")) else {
        return Some(format!("{shown}: not a folder"));
    };
    let (file, folder) =
        (shell::quoted_path(path), shell::quoted_path(&path.with_file_name(format!("{name}-symbols"))));
    Some(format!("{shown}: an archive; unpack it and name the folder: mkdir -p {folder} && tar -xf {file} -C {folder}"))
}

/// Removes duplicates, and keeps the order.
fn unique(paths: Vec<PathBuf>) -> impl Iterator<Item = PathBuf> {
    let mut seen = std::collections::HashSet::new();
    paths.into_iter().filter(move |path| seen.insert(path.clone()))
}

/// Returns whether a recorded path has no `..`.
fn is_plain(path: &Path) -> bool {
    path.components().all(|part| matches!(part, std::path::Component::RootDir | std::path::Component::Normal(_)))
}

/// Iterates over the paths of a build-id below a folder: as installed by systems, as stored by `perf`, and without
/// `.build-id`.
fn by_build_id(folder: &Path, id: &BuildId) -> impl Iterator<Item = PathBuf> {
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

/// Iterates over the system paths of the debug file of a program without a build-id.
fn debug_files(path: &Path) -> impl Iterator<Item = PathBuf> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".debug");
    let below = path.strip_prefix("/").unwrap_or(path).to_path_buf();
    let installed = Path::new(SYSTEM_DEBUG).join(below);
    let beside = path.with_file_name(&name);
    [beside.clone(), beside.with_file_name(".debug").join(&name), installed.with_file_name(&name), installed]
        .into_iter()
}

/// Iterates over the system paths of the running kernel with its symbols.
fn kernel_files() -> impl Iterator<Item = PathBuf> {
    let release = InputFile::of_system(Path::new("/proc/sys/kernel/osrelease")).unwrap_or_default();
    let release = String::from_utf8_lossy(&release).trim().to_owned();
    let is_name = !release.is_empty() && !release.contains('/');
    let paths = is_name.then(|| {
        [
            format!("{SYSTEM_DEBUG}/boot/vmlinux-{release}"),
            format!("{SYSTEM_DEBUG}/lib/modules/{release}/vmlinux"),
            format!("/usr/lib/modules/{release}/build/vmlinux"),
            format!("/boot/vmlinux-{release}"),
        ]
    });
    paths.into_iter().flatten().map(PathBuf::from)
}

#[cfg(unix)]
fn is_inode(metadata: &std::fs::Metadata, inode: u64) -> bool {
    std::os::unix::fs::MetadataExt::ino(metadata) == inode
}

/// Returns whether a file belongs to the user of this process.
#[cfg(unix)]
fn is_of_user(metadata: &std::fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::uid(metadata) == crate::base::files::user()
}

#[cfg(not(unix))]
fn is_of_user(_metadata: &std::fs::Metadata) -> bool {
    false
}

#[cfg(not(unix))]
fn is_inode(_metadata: &std::fs::Metadata, _inode: u64) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(locator: &Locator, module: &Module) -> Vec<String> {
        locator.candidates(module).iter().map(|it| it.path.display().to_string()).collect()
    }

    #[test]
    fn the_folders_of_the_user_come_before_those_of_the_system() {
        let locator = Locator::for_traces([Path::new("/traces/perf.data")], &["/given".into()]);
        let build_id = BuildId::new(&[0xab, 0xcd, 0xef]);
        let module = Module { path: "/usr/bin/work".into(), build_id, ..Module::default() };
        let all = paths(&locator, &module);
        let at = |path: &str| all.iter().position(|it| it == path).unwrap_or_else(|| panic!("{path} of {all:#?}"));
        let order = [
            "/given/.build-id/ab/cdef.debug",
            "/given/work",
            "/traces/.build-id/ab/cdef.debug",
            "/traces/usr/bin/work",
            "/usr/lib/debug/.build-id/ab/cdef.debug",
            "/usr/bin/work",
            "/usr/lib/debug/usr/bin/work.debug",
        ];
        assert!(order.map(at).is_sorted(), "{all:#?}");
    }

    #[test]
    fn recorded_paths_go_down_only() {
        let locator = Locator::for_traces([Path::new("/traces/perf.data")], &[]);
        for path in ["/usr/../etc/shadow", "relative", "[heap]", ""] {
            let all = paths(&locator, &Module { path: path.into(), ..Module::default() });
            assert!(!all.iter().any(|it| it.contains("..") || it == path), "{path}: {all:?}");
        }
    }
}

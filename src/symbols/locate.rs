//! Lists candidate paths for the file of a module, most certain first. Nothing is searched recursively: each path
//! follows from the build-id or the recorded path. Only files below the roots are opened.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use super::archive::Archive;
use super::cache::NameCache;
use super::file::{InputFile, OpenError, Roots};
use super::paths::{DEBUG_BELOW, by_build_id, debug_files, debug_name, real_folder, stores_below, without_parents};
use crate::base::cancel::{Cancel, Cancelled};
use crate::base::escape::escaped;
use crate::base::{folders, shell};
use crate::model::{BuildId, Module, ModuleKind, Sources};

/// System folders with programs and their debug files.
const SYSTEM_ROOTS: [&str; 9] = ["/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/opt", "/boot", "/nix/store"];

/// The system folder of debug files.
const SYSTEM_DEBUG: &str = "/usr/lib/debug";

/// The kernel's mark at the end of the path of a file that was removed or replaced while it was mapped.
const DELETED: &str = " (deleted)";

/// Limit for the bytes of all checksums of a look-up: twice the debug file of a browser.
const CHECKSUM_BYTES_MAX: u64 = 8 << 30;

/// The longest time after a recording in which a process may list its functions.
const LIST_AGE_MAX: Duration = Duration::from_hours(24);

/// The folders to search, and the roots of files that may be opened.
#[derive(Debug, Clone, Default)]
pub(crate) struct Locator {
    roots: Roots,
    /// Folders and archives given by the user. Like the folders of the traces, they have no `..` and no links.
    given: Vec<PathBuf>,
    /// The folders of the traces, and the archives that `perf archive` wrote beside them.
    beside: Vec<PathBuf>,
    traces: Vec<RecordedTrace>,
    /// Indices of the traces that recorded the module; empty for all.
    recorders: Box<[usize]>,
    /// Folders in the layout of `~/.debug` and of `/usr/lib/debug`.
    stores: Vec<PathBuf>,
    /// The cache folder of debuginfod's client.
    fetched: Option<PathBuf>,
    /// Whether files of this machine are used, such as files at recorded paths.
    has_system: bool,
    cache: Option<NameCache>,
    /// Limit for the bytes of all checksums, and the bytes spent.
    checksum_bytes_max: u64,
    checksum_bytes: Arc<AtomicU64>,
}

/// A trace, in which modules were recorded.
#[derive(Debug, Clone)]
struct RecordedTrace {
    /// Unique name, as in [`Sources::names`].
    name: Arc<str>,
    folder: PathBuf,
    /// Modification time; `None` if unknown.
    written: Option<SystemTime>,
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
        if let Some(home) = folders::home() {
            locator.roots.add(&home);
            locator.stores.push(real_folder(&home).join(".debug"));
        }
        locator.stores.push(SYSTEM_DEBUG.into());
        let chosen = std::env::var_os("DEBUGINFOD_CACHE_PATH").map(|folder| real_folder(Path::new(&folder)));
        locator.fetched = chosen.or_else(|| Some(folders::cache()?.join("debuginfod_client")));
        if let Some(fetched) = &locator.fetched {
            locator.roots.add(fetched);
        }
        locator
    }

    /// Creates a locator for the folders of the traces and the given ones only.
    #[must_use]
    pub(crate) fn without_system<'a>(traces: impl IntoIterator<Item = &'a Path>, given: &[PathBuf]) -> Self {
        let mut locator = Self { checksum_bytes_max: CHECKSUM_BYTES_MAX, ..Self::default() };
        for folder in given {
            if let Some(archive) = Archive::at(folder) {
                locator.given.push(archive.path().to_owned());
                locator.roots.add_archive(archive);
                continue;
            }
            if let Ok(folder) = std::path::absolute(folder) {
                locator.roots.add(&folder);
            }
            // A folder that cannot be entered says nothing about the files in it.
            if !is_denied(folder) {
                locator.given.push(real_folder(folder));
            }
        }
        let traces = Sources::unmoved(traces.into_iter().map(Path::to_path_buf));
        for (trace, name) in traces.files().iter().zip(traces.names()) {
            let Ok(trace) = std::path::absolute(trace.path()) else { continue };
            let written = std::fs::metadata(&trace).and_then(|metadata| metadata.modified()).ok();
            let folder = trace.parent().map(real_folder).unwrap_or_default();
            if let Some(parent) = trace.parent() {
                locator.roots.add(parent);
                locator.beside.extend((!locator.beside.contains(&folder)).then(|| folder.clone()));
            }
            if let Some(archive) = Archive::at(&perf_archive(&trace)) {
                locator.beside.push(archive.path().to_owned());
                locator.roots.add_archive(archive);
            }
            locator.traces.push(RecordedTrace { name, folder, written });
        }
        locator
    }

    /// Uses a cache of resolved names.
    #[must_use]
    pub(crate) fn with_cache(self, cache: Option<NameCache>) -> Self {
        Self { cache, ..self }
    }

    /// Returns the names of all traces.
    pub(super) fn trace_names(&self) -> Vec<Arc<str>> {
        self.traces.iter().map(|trace| Arc::clone(&trace.name)).collect()
    }

    /// Limits the traces to the recorders of a module, by index; empty means all.
    #[must_use]
    pub(super) fn with_recorders(&self, recorders: &[usize]) -> Self {
        Self { recorders: recorders.into(), ..self.clone() }
    }

    /// Iterates over the traces that recorded the module.
    fn recording_traces(&self) -> impl Iterator<Item = &RecordedTrace> {
        let is_recorder = |index: usize| self.recorders.is_empty() || self.recorders.contains(&index);
        self.traces.iter().enumerate().filter(move |(index, _)| is_recorder(*index)).map(|(_, trace)| trace)
    }

    pub(super) fn cache(&self) -> Option<&NameCache> {
        self.cache.as_ref()
    }

    /// Unpacks the archives before their files are looked up.
    pub(super) fn unpack_archives(&self, cancel: &Cancel) -> Result<(), Cancelled> {
        self.roots.unpack_archives(cancel)
    }

    /// Opens a file below the roots.
    pub(super) fn open(&self, path: &Path) -> Result<InputFile, OpenError> {
        self.roots.open(path)
    }

    /// Returns the bytes read from all files opened so far.
    pub(super) fn bytes_read(&self) -> u64 {
        self.roots.bytes_read()
    }

    /// Takes the bytes of a checksum from the limit of this look-up. Returns `false` if they exceed what is left.
    pub(super) fn spend_checksum(&self, bytes: u64) -> bool {
        let spent = |spent: u64| spent.checked_add(bytes).filter(|&all| all <= self.checksum_bytes_max);
        self.checksum_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spent).is_ok()
    }

    /// Sets the limit for the bytes of all checksums.
    #[cfg(test)]
    pub(super) fn with_checksum_bytes_max(self, checksum_bytes_max: u64) -> Self {
        Self { checksum_bytes_max, ..self }
    }

    pub(super) fn has_system(&self) -> bool {
        self.has_system
    }

    /// Returns whether a file's modification time fits all recordings, for modules without a build-id. The file at the
    /// path of a deleted file is another file, even if it has the same inode.
    pub(super) fn fits(&self, module: &Module, file: &InputFile) -> bool {
        let Some(metadata) = file.metadata().filter(|_| !module.path.ends_with(DELETED)) else { return false };
        let oldest = self.recording_traces().filter_map(|trace| trace.written).min();
        let is_older = metadata.modified().ok().zip(oldest).is_some_and(|(changed, then)| changed <= then);
        is_older && module.inode.is_none_or(|inode| is_inode(&metadata, inode))
    }

    /// Returns the candidate paths of a module's file, in order.
    pub(super) fn candidates(&self, module: &Module) -> Vec<ModulePath> {
        let mut all = Vec::new();
        let recorded: Vec<&Path> = recorded_paths(module).filter(|path| has_no_parents(path)).collect();
        for folder in self.given.iter().chain(&self.beside) {
            let is_given = self.given.contains(folder);
            let mut add = |path: PathBuf| all.push(ModulePath { path, is_given });
            if let Some(id) = &module.build_id {
                stores_below(folder).iter().flat_map(|store| by_build_id(store, id)).for_each(&mut add);
            }
            if module.kind == ModuleKind::Kernel {
                add(folder.join("vmlinux"));
                continue;
            }
            for path in &recorded {
                let Some(name) = path.file_name() else { continue };
                add(folder.join(name));
                add(folder.join(debug_name(name)));
                // A copy of the other machine's folders.
                if let Ok(below) = path.strip_prefix("/") {
                    add(folder.join(below));
                    debug_files(folder, below).for_each(&mut add);
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
                kernel_files(module).for_each(&mut add);
            } else {
                for path in recorded {
                    let Ok(below) = path.strip_prefix("/") else { continue };
                    add(path.to_path_buf());
                    debug_files(Path::new("/"), below).for_each(&mut add);
                }
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
        // Copies of the other machine's folders, with the program or without it.
        let copies = self.given.iter().chain(&self.beside).map(|root| {
            let below = folder.strip_prefix(root).or_else(|_| folder.strip_prefix("/")).unwrap_or(folder);
            root.join(DEBUG_BELOW).join(below).join(name)
        });
        unique(near.chain(copies).chain([installed.join(name)]).collect())
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
        let recorded = without_parents(&folder.join(path));
        let copies = recorded.iter().flat_map(|recorded| self.copies(recorded));
        unique(near.chain(copies).chain(recorded.clone().filter(|_| self.has_system)).collect())
    }

    /// Returns the folder of a `.dwo` file if its recorded path is outside the searched folders. This is the folder of
    /// the build if the file is below it, or else the folder of the file.
    pub(super) fn outside_folder(&self, folder: &Path, path: &Path) -> Option<PathBuf> {
        let recorded = without_parents(&folder.join(path)).filter(|path| path.is_absolute())?;
        let build = without_parents(folder).filter(|build| recorded.starts_with(build));
        let folder = build.or_else(|| Some(recorded.parent()?.to_owned()));
        folder.filter(|_| !self.roots.holds(&recorded))
    }

    /// Iterates over the candidate paths of a shared debug file, named by a path and a build-id.
    pub(super) fn shared(&self, path: &Path, id: &BuildId) -> impl Iterator<Item = PathBuf> {
        let near = self.given.iter().chain(&self.beside).flat_map(|folder| stores_below(folder));
        let by_id = near.chain(self.stores.iter().cloned()).flat_map(|store| by_build_id(&store, id));
        let name = path.file_name().map(Path::new);
        let given = self.given.iter().filter_map(|folder| Some(folder.join(name?)));
        let fetched = self.fetched.iter().map(|fetched| fetched.join(id.to_string()).join("debuginfo"));
        unique(by_id.chain(fetched).chain(given).chain(self.copies(path)).chain([path.to_path_buf()]).collect())
    }

    /// Iterates over the paths of an absolute path in copies of the other machine's folders.
    fn copies<'a>(&'a self, path: &'a Path) -> impl Iterator<Item = PathBuf> + 'a {
        let below = path.strip_prefix("/").ok();
        self.given.iter().chain(&self.beside).filter_map(move |folder| Some(folder.join(below?)))
    }

    /// Iterates over the function lists of a JIT process, by name. They are in the folders of the user and of the
    /// traces, and in `/tmp` if this user wrote them.
    pub(super) fn lists_of_process<'a>(&'a self, name: &'a str) -> impl Iterator<Item = InputFile> + 'a {
        let given = self.given.iter().filter_map(move |folder| self.open(&folder.join(name)).ok());
        let written = move || {
            let mut roots = Roots::default();
            roots.add(Path::new("/tmp"));
            roots
                .open(&Path::new("/tmp").join(name))
                .ok()
                .filter(|file| file.metadata().is_some_and(|it| is_of_user(&it)))
        };
        let written = move || written().filter(|list| !self.is_of_later_process(list));
        let here = std::iter::once_with(move || written().filter(|_| self.has_system)).flatten();
        given.chain(self.lists_of_recordings(name)).chain(here)
    }

    /// Opens the list of a JIT process at its recorded path, unless it is of a later process.
    pub(super) fn recorded_list(&self, path: &Path) -> Option<InputFile> {
        let list = self.has_system.then(|| self.open(path).ok()).flatten();
        list.filter(|list| !self.is_of_later_process(list))
    }

    /// Returns whether a list was created long after the traces that recorded its process, so that it is from another
    /// process with the id. Some programs write a list on request, after the recording.
    fn is_of_later_process(&self, list: &InputFile) -> bool {
        let created = list.metadata().and_then(|metadata| metadata.created().ok());
        let newest = self.recording_traces().filter_map(|trace| trace.written).max();
        let age = created.zip(newest).and_then(|(created, newest)| created.duration_since(newest).ok());
        age.is_some_and(|age| age > LIST_AGE_MAX)
    }

    /// Iterates over function lists of a JIT process in the folders of the traces that recorded it.
    fn lists_of_recordings<'a>(&'a self, name: &'a str) -> impl Iterator<Item = InputFile> + 'a {
        let folders = unique(self.recording_traces().map(|trace| trace.folder.clone()).collect());
        folders.filter_map(move |folder| self.open(&folder.join(name)).ok())
    }

    /// Returns whether the traces have different lists of a JIT process, since they recorded two processes with one id.
    /// A list in a folder of the user applies to all traces.
    pub(super) fn has_several_lists(&self, name: &str, bytes_max: u64) -> bool {
        if self.given.iter().any(|folder| self.open(&folder.join(name)).is_ok()) {
            return false;
        }
        let mut lists = self.lists_of_recordings(name);
        let Some(first) = lists.next() else { return false };
        let others: Vec<_> = lists.collect();
        if others.iter().any(|list| list.bytes != first.bytes) {
            return true;
        }
        let content = if others.is_empty() { None } else { first.read_all(bytes_max) };
        others.iter().any(|list| list.read_all(bytes_max) != content)
    }
}

/// Returns the path of the archive that `perf archive` writes for a trace.
fn perf_archive(trace: &Path) -> PathBuf {
    let mut path = trace.as_os_str().to_owned();
    path.push(".tar.bz2");
    path.into()
}

/// Returns why a folder or an archive of symbols cannot be searched, or why files of an unpacked archive are missing.
#[must_use]
pub(crate) fn symbols_problem(path: &Path) -> Option<String> {
    let Some(archive) = Archive::at(path) else { return problem(path, "neither a folder nor an archive") };
    let shown = escaped(&path.display().to_string()).into_owned();
    archive.problem().map(|problem| format!("{shown}: not unpacked completely: {problem}"))
}

/// Returns why a folder given by the user cannot be searched; for an archive, with the command to unpack it.
#[must_use]
pub(crate) fn folder_problem(path: &Path) -> Option<String> {
    problem(path, "not a folder")
}

/// Returns why a path cannot be searched like a folder. `other` describes a file that is not an archive.
fn problem(path: &Path, other: &str) -> Option<String> {
    let shown = escaped(&path.display().to_string()).into_owned();
    if is_denied(path) {
        return Some(format!("{shown}: permission denied"));
    }
    if path.is_dir() {
        return None;
    }
    if !path.exists() {
        return Some(format!("{shown}: no such folder"));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let before_tar = name.find(".tar").map(|end| &name[..end]);
    let Some(name) = before_tar.or_else(|| name.strip_suffix(".tgz")) else {
        return Some(format!("{shown}: {other}"));
    };
    let (file, folder) =
        (shell::quoted_path(path), shell::quoted_path(&path.with_file_name(format!("{name}-symbols"))));
    Some(format!("{shown}: an archive; unpack it and name the folder: mkdir -p {folder} && tar -xf {file} -C {folder}"))
}

/// Returns whether the user must not open the files of a folder.
fn is_denied(folder: &Path) -> bool {
    let inside = std::fs::metadata(folder.join("."));
    inside.is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied)
}

/// Removes duplicates, and keeps the order.
fn unique(paths: Vec<PathBuf>) -> impl Iterator<Item = PathBuf> {
    let mut seen = std::collections::HashSet::new();
    paths.into_iter().filter(move |path| seen.insert(path.clone()))
}

/// Iterates over the paths that a module's file may have: as recorded, and without the mark of a deleted file.
fn recorded_paths(module: &Module) -> impl Iterator<Item = &Path> {
    let original = module.path.strip_suffix(DELETED);
    [Some(&*module.path), original].into_iter().flatten().map(Path::new)
}

/// Returns whether a recorded path has no `..`. It may be relative.
fn has_no_parents(path: &Path) -> bool {
    path.components().all(|part| matches!(part, std::path::Component::RootDir | std::path::Component::Normal(_)))
}

/// Returns the release of the running kernel, as in `uname -r`; `None` if it is unknown.
pub(super) fn running_release() -> Option<Box<str>> {
    let release = InputFile::read_system_file(Path::new("/proc/sys/kernel/osrelease")).ok()?;
    let release = String::from_utf8_lossy(&release);
    let release = release.trim();
    (!release.is_empty() && !release.contains('/')).then(|| release.into())
}

/// Iterates over the system paths of the running kernel with its symbols. A recorded kernel without a build-id must
/// have its release.
fn kernel_files(module: &Module) -> impl Iterator<Item = PathBuf> {
    let recorded = module.anchor.as_ref().and_then(|anchor| anchor.release.as_deref());
    let running = running_release().filter(|running| module.build_id.is_some() || recorded == Some(&**running));
    let paths = running.map(|release| {
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
    fn an_archive_is_searched_for_symbols_and_not_for_anything_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("archive.tar");
        let mut builder = tar::Builder::new(std::fs::File::create(&path).unwrap());
        builder.append_dir("folder", folder.path()).unwrap();
        builder.finish().unwrap();
        assert_eq!(symbols_problem(&path), None);
        assert!(folder_problem(&path).is_some_and(|problem| problem.contains("unpack it")));
        let other = folder.path().join("text");
        std::fs::write(&other, "text").unwrap();
        assert!(symbols_problem(&other).is_some_and(|problem| problem.ends_with("neither a folder nor an archive")));
        assert!(folder_problem(&other).is_some_and(|problem| problem.ends_with("not a folder")));
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

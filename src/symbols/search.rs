//! Finds the files of a module: files at candidate paths, and files that these name. A file is accepted if it is the
//! recorded build; the reason for rejecting a file is kept.

use std::path::{Path, PathBuf};

use super::elf::ElfFile;
use super::file::{InputFile, OpenError};
use super::functions::FunctionTable;
use super::go_lines::has_go_lines;
use super::kallsyms::KernelFunctions;
use super::locate::{Locator, ModulePath};
use super::separate::{DebugLink, SharedLink};
use super::state::NameState;
use crate::base::cancel::{Cancel, Cancelled};
use crate::base::hex::hex_number;
use crate::model::{BuildId, Module, ModuleKind};

/// Size limit for the function list of a kernel.
const LIST_BYTES_MAX: u64 = 256 << 20;

/// A file of the module.
#[derive(Debug)]
pub(super) struct MatchingFile {
    pub(super) elf: ElfFile,
    pub(super) is_verified: bool,
    pub(super) quality: Quality,
    /// The debug file that it shares with others (`dwz`), if any.
    pub(super) shared: Option<ElfFile>,
    /// The build-id of that file if it was not found.
    pub(super) missing_shared: Option<BuildId>,
}

impl MatchingFile {
    /// Returns whether the file has all debug information, including the parts shared with other files.
    fn is_whole(&self) -> bool {
        self.quality == Quality::DebugInfo && self.missing_shared.is_none()
    }

    /// Returns the state of names from this file, unless files with parts of it are missing.
    pub(super) fn state_at_best(&self) -> NameState {
        match self.quality {
            Quality::Nothing | Quality::DynamicSymbols => NameState::Stripped,
            Quality::Symbols => NameState::FunctionsOnly,
            Quality::DebugInfo if self.missing_shared.is_some() => NameState::SharedMissing,
            Quality::DebugInfo => NameState::Complete,
        }
    }
}

/// The best table of a file that resolves addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Quality {
    Nothing,
    DynamicSymbols,
    Symbols,
    DebugInfo,
}

impl Quality {
    fn from_elf(elf: &ElfFile) -> Self {
        // Go programs have functions and lines outside of debug information.
        if elf.named(".debug_info").is_some() || has_go_lines(elf) {
            Self::DebugInfo
        } else if elf.has_symbols() || elf.named(".gnu_debugdata").is_some() {
            Self::Symbols
        } else if elf.has_dynamic_symbols() {
            Self::DynamicSymbols
        } else {
            Self::Nothing
        }
    }
}

/// The found files of a module, or the reason for their absence.
#[derive(Debug, Default)]
pub(super) struct ModuleSearch {
    /// The files in search order: a program and its debug file are two.
    pub(super) files: Vec<MatchingFile>,
    /// A function list of a kernel.
    pub(super) kernel: Option<(KernelFunctions, PathBuf)>,
    /// The reason for missing names.
    pub(super) state: NameState,
    pub(super) path: Option<PathBuf>,
    /// The build-id of the accepted file, if a trace has none. All other files must have it.
    pub(super) own_build_id: Option<BuildId>,
    /// The searched paths of all used files, also of shared debug files.
    pub(super) used: Vec<PathBuf>,
}

impl ModuleSearch {
    /// Searches the files of a module. Returns `Cancelled` if cancelled.
    pub(super) fn run(module: &Module, locator: &Locator, cancel: &Cancel) -> Result<Self, Cancelled> {
        let mut search = Self::default();
        let candidates = locator.candidates(module);
        candidates.iter().for_each(|candidate| search.try_candidate(module, locator, candidate));
        if search.files.is_empty()
            && module.kind == ModuleKind::Vdso
            && let Some(vdso) = locator.has_system().then(own_vdso).flatten()
        {
            let candidate = ModulePath { path: vdso.path.clone(), is_given: false };
            search.accept_file(module, locator, vdso, &candidate);
        }
        // Debug files are installed by build-id, which the file has even if the trace does not.
        if let Some(build_id) = search.own_build_id.clone() {
            let known = Module { build_id: Some(build_id), ..module.clone() };
            let used = search.used.clone();
            let more = locator.candidates(&known).into_iter().filter(|candidate| !used.contains(&candidate.path));
            more.for_each(|candidate| search.try_candidate(module, locator, &candidate));
        }
        search.follow_links(module, locator, cancel)?;
        Ok(search)
    }

    /// Opens a candidate and uses it if it is a file of the module, unless the files so far have all that is wanted.
    fn try_candidate(&mut self, module: &Module, locator: &Locator, candidate: &ModulePath) {
        if self.files.iter().any(MatchingFile::is_whole) && self.files.iter().any(|file| file.elf.has_code()) {
            return;
        }
        let path = &candidate.path;
        match locator.open(path) {
            // perf stores the list of a kernel under its build-id.
            Ok(file) if path.ends_with("kallsyms") => {
                let list = || file.read_all(LIST_BYTES_MAX).and_then(|list| KernelFunctions::read(&list));
                if self.kernel.is_none()
                    && let Some(list) = list()
                {
                    self.kernel = Some((list, file.path));
                    self.used.push(path.clone());
                }
            }
            Ok(file) => self.accept_file(module, locator, file, candidate),
            Err(OpenError::Missing) => {}
            Err(OpenError::OutsideRoots { path }) => self.fail(NameState::OutsideRoots, path),
            Err(OpenError::NotRegular | OpenError::TooLarge { .. } | OpenError::Io(_)) => {
                self.fail(NameState::Unreadable, path.clone());
            }
        }
    }

    fn accept_file(&mut self, module: &Module, locator: &Locator, file: InputFile, candidate: &ModulePath) {
        let path = file.path.clone();
        let Some(elf) = ElfFile::read(file) else { return self.fail(NameState::Unreadable, path) };
        let build_id = elf.build_id();
        if self
            .build_id(module)
            .is_some_and(|wanted| build_id.as_ref().is_none_or(|build_id| !wanted.is_same(build_id)))
        {
            return self.fail(NameState::OtherBuild, path);
        }
        if module.common_build_id().or(self.own_build_id.as_ref()).is_none() {
            if !candidate.is_given && !locator.fits(module, &elf.file) {
                return self.fail(NameState::OtherBuild, path);
            }
            self.own_build_id = build_id;
        }
        self.push(elf, (module, locator), candidate.path.clone());
    }

    /// Returns the build-id that all files must have: from the trace, or else from the first accepted file.
    fn build_id<'a>(&'a self, module: &'a Module) -> Option<&'a BuildId> {
        module.build_id.as_ref().or(self.own_build_id.as_ref())
    }

    /// Accepts a file, and opens the debug file that it shares with others.
    fn push(&mut self, elf: ElfFile, (module, locator): (&Module, &Locator), searched: PathBuf) {
        self.used.push(searched);
        let quality = Quality::from_elf(&elf);
        let is_verified = module.common_build_id().is_some();
        let (mut shared, mut missing_shared) = (None, None);
        if let Some(link) = SharedLink::from_elf(&elf) {
            let paths = locator.shared(&link.path, &link.build_id);
            let mut shared_files = paths.filter_map(|path| Some((ElfFile::read(locator.open(&path).ok()?)?, path)));
            let is_same = |elf: &ElfFile| elf.build_id().is_some_and(|build_id| build_id.is_same(&link.build_id));
            if let Some((file, path)) = shared_files.find(|(file, _)| is_same(file)) {
                shared = Some(file);
                self.used.push(path);
            } else {
                missing_shared = Some(link.build_id.clone());
            }
        }
        self.files.push(MatchingFile { elf, is_verified, quality, shared, missing_shared });
    }

    /// Opens the debug files that the files name.
    fn follow_links(&mut self, module: &Module, locator: &Locator, cancel: &Cancel) -> Result<(), Cancelled> {
        let link = |file: &MatchingFile| Some((file.elf.file.path.clone(), DebugLink::from_elf(&file.elf)?));
        let is_whole = self.files.iter().any(MatchingFile::is_whole);
        let links: Vec<_> = self.files.iter().filter(|_| !is_whole).filter_map(link).collect();
        for (program, link) in links {
            for path in locator.linked(&program, &link.name) {
                match locator.open(&path) {
                    Ok(file) if file.path != program => {
                        self.take_linked((module, locator), &link, file, path, cancel)?;
                    }
                    Ok(_) | Err(OpenError::Missing | OpenError::OutsideRoots { .. }) => {}
                    Err(_) => self.fail(NameState::Unreadable, path),
                }
            }
        }
        Ok(())
    }

    /// Accepts a debug file that the program names, by its build-id, or by its checksum without one.
    fn take_linked(
        &mut self,
        (module, locator): (&Module, &Locator),
        link: &DebugLink,
        file: InputFile,
        searched: PathBuf,
        cancel: &Cancel,
    ) -> Result<(), Cancelled> {
        let path = file.path.clone();
        let Some(elf) = ElfFile::read(file) else {
            self.fail(NameState::Unreadable, path);
            return Ok(());
        };
        let is_same = match (self.build_id(module), elf.build_id()) {
            (Some(wanted), Some(build_id)) => wanted.is_same(&build_id),
            _ => link.is_of(&elf, locator, cancel)?,
        };
        if is_same {
            self.push(elf, (module, locator), searched);
        } else {
            self.fail(NameState::OtherBuild, path);
        }
        Ok(())
    }

    /// Records why a file is rejected: another build is more informative than a file outside the roots.
    fn fail(&mut self, state: NameState, path: PathBuf) {
        let weight = |state: NameState| match state {
            NameState::OtherBuild => 3,
            NameState::Unreadable => 2,
            NameState::OutsideRoots => 1,
            NameState::Complete
            | NameState::FunctionsOnly
            | NameState::Stripped
            | NameState::NoFile
            | NameState::Ambiguous
            | NameState::Hidden
            | NameState::Nameless
            | NameState::SplitMissing
            | NameState::Unwanted
            | NameState::NoFunction
            | NameState::SharedMissing
            | NameState::NoBuildId
            | NameState::NoKernelAddress => 0,
        };
        if weight(state) > weight(self.state) {
            (self.state, self.path) = (state, Some(path));
        }
    }

    /// Returns stamps that change when any of the files changes.
    pub(super) fn stamps(&self) -> Vec<u64> {
        let files = self.files.iter().flat_map(|file| std::iter::once(&file.elf).chain(&file.shared));
        let metadata = files.filter_map(|elf| elf.file.metadata());
        metadata.flat_map(|metadata| crate::base::files::stamps(&metadata)).collect()
    }

    /// Converts an address of the module's kind to a link-time address; `None` if nothing is loaded there.
    pub(super) fn linked_address(&self, kind: ModuleKind, address: u64) -> Option<u64> {
        match kind {
            ModuleKind::Linked => Some(address),
            ModuleKind::Image => address.checked_add(self.best()?.elf.segments().image_address()?),
            _ => {
                let loaded = self.files.iter().find_map(|file| file.elf.segments().address_of_offset(address));
                loaded.or_else(|| self.best()?.elf.segments().address_of_lost_offset(address))
            }
        }
    }

    /// Returns the functions in the file with the best symbols, and the stubs of the file with code.
    pub(super) fn functions(&self, bytes_max: u64) -> FunctionTable {
        let best = self.files.iter().rev().max_by_key(|file| file.quality.min(Quality::Symbols));
        let functions = best.and_then(|file| FunctionTable::read(&file.elf, bytes_max)).unwrap_or_default();
        match self.files.iter().find(|file| file.elf.has_code()) {
            Some(file) => functions.with_stubs(&file.elf, bytes_max),
            None => functions,
        }
    }

    /// Returns the file with the best tables, the first one on ties.
    pub(super) fn best(&self) -> Option<&MatchingFile> {
        self.files.iter().rev().max_by_key(|file| (file.quality, file.is_whole()))
    }
}

/// Returns the vDSO of this process, which has a build-id like a file.
fn own_vdso() -> Option<InputFile> {
    const BYTES_MAX: u64 = 64 << 10;
    let maps = InputFile::read_system_file(Path::new("/proc/self/maps")).ok()?;
    let maps = String::from_utf8_lossy(&maps);
    let range = maps.lines().find(|line| line.ends_with("[vdso]"))?.split_whitespace().next()?;
    let (start, end) = range.split_once('-')?;
    let (start, end) = (hex_number(start)?, hex_number(end)?);
    let len = end.checked_sub(start).filter(|&len| len <= BYTES_MAX)?;
    let mut bytes = vec![0; usize::try_from(len).ok()?];
    let memory = std::fs::File::open("/proc/self/mem").ok()?;
    crate::base::files::read_exact_at(&memory, &mut bytes, start).ok()?;
    Some(InputFile::from_bytes("[vdso]".into(), bytes))
}

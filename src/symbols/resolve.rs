//! Resolves the addresses of one module: finds its file, checks that it is the recorded build, and reads the best
//! available tables. Without such a file, returns no names and the reason.

use std::path::{Path, PathBuf};

use super::cache::KeptNames;
use super::dwarf::{self, DebugInfo, WantedUnits, names_of_functions};
use super::elf::build_id_in;
use super::file::InputFile;
use super::functions::FunctionTable;
use super::go_lines::GoLines;
use super::jit;
use super::kallsyms::KernelFunctions;
use super::locate::{Locator, running_release};
use super::module_names::{ModuleNames, function_names};
use super::search::{MatchingFile, ModuleSearch, Quality};
use super::split::add_split_files;
use super::state::NameState;
use crate::base::cancel::{Cancel, Cancelled};
use crate::model::modules::{KernelAnchor, ModuleBuilds};
use crate::model::{Module, ModuleKind};

/// Resolves sorted addresses of a module. Files with more than `bytes_max` of debug information are not read. Returns
/// `Cancelled` if cancelled.
pub(crate) fn resolve(
    module: &Module,
    addresses: &[u64],
    locator: &Locator,
    bytes_max: u64,
    cancel: &Cancel,
) -> Result<ModuleNames, Cancelled> {
    if module.builds == ModuleBuilds::Several {
        return Ok(ModuleNames { state: NameState::Ambiguous, ..ModuleNames::default() });
    }
    let resolver = Resolver { locator, bytes_max, cancel };
    let names = match module.kind {
        ModuleKind::Unknown => ModuleNames { state: NameState::Nameless, ..ModuleNames::default() },
        ModuleKind::Jit(pid) => jit::names_by_address(pid, addresses, locator),
        ModuleKind::JitDump => jit::names_in_dump(module, addresses, locator),
        ModuleKind::Kernel | ModuleKind::KernelModule => resolver.kernel_names(module, addresses)?,
        ModuleKind::File | ModuleKind::Vdso | ModuleKind::Linked | ModuleKind::Image => {
            let names = resolver.names_in_file(module, addresses)?;
            // A file with the build-id of some traces does not fit the traces without a build-id.
            let is_of_some = module.builds == ModuleBuilds::Uncertain && names.state == NameState::OtherBuild;
            let state = if is_of_some { NameState::Ambiguous } else { names.state };
            ModuleNames { is_verified: names.is_verified && module.is_build_certain(), state, ..names }
        }
    };
    // The vDSO has its functions in its dynamic symbols, and inlines none. Cached names have more addresses.
    let is_whole = module.kind == ModuleKind::Vdso
        && names.state == NameState::Stripped
        && addresses.iter().all(|&address| names.names.has_name(address));
    let names = if is_whole { ModuleNames { state: NameState::Complete, ..names } } else { names };
    let is_empty = names.state == NameState::Complete && names.names.named() == 0 && !addresses.is_empty();
    Ok(ModuleNames { state: if is_empty { NameState::NoFunction } else { names.state }, ..names })
}

fn failed(search: &ModuleSearch) -> ModuleNames {
    ModuleNames { state: search.state, path: search.path.clone(), ..ModuleNames::default() }
}

/// Resolves the addresses of modules from the files of a locator. Files with more than `bytes_max` of debug information
/// are not read.
#[derive(Clone, Copy)]
pub(super) struct Resolver<'a> {
    pub(super) locator: &'a Locator,
    pub(super) bytes_max: u64,
    pub(super) cancel: &'a Cancel,
}

impl Resolver<'_> {
    fn names_in_file(&self, module: &Module, addresses: &[u64]) -> Result<ModuleNames, Cancelled> {
        let search = ModuleSearch::run(module, self.locator, self.cancel)?;
        Ok(self.names_from_search(module, &search, addresses)?.with_search(search))
    }

    /// Resolves addresses from the cache and the found files.
    fn names_from_search(
        &self,
        module: &Module,
        search: &ModuleSearch,
        addresses: &[u64],
    ) -> Result<ModuleNames, Cancelled> {
        let cached_names = module.common_build_id().and_then(|id| self.locator.cache()?.get(id, module.kind));
        let Some(best) = search.best() else {
            // Cached names of the build, even if its files are gone. They lack addresses that no earlier trace has.
            let module_names = cached_names.map(|cached_names| {
                let has_all = cached_names.names.missing(addresses).is_empty();
                let state = if has_all { cached_names.state } else { search.state };
                let path = Some(cached_names.path);
                ModuleNames { names: cached_names.names, state, path, is_verified: true, ..ModuleNames::default() }
            });
            return Ok(module_names.unwrap_or_else(|| failed(search)));
        };
        let Some(build_id) = module.common_build_id().filter(|_| best.is_verified) else {
            return self.names_of_files(module.kind, search, addresses);
        };
        let stamps = search.stamps();
        let resolve = |addresses: &[u64]| self.names_of_files(module.kind, search, addresses);
        let (names, is_new) = match cached_names {
            None => (resolve(addresses)?, true),
            Some(cached) if cached.stamps == stamps => complete_cached(&cached, addresses, resolve)?,
            Some(cached) => {
                let is_poorer = best.state_at_best().rank() < cached.state.rank();
                let names = if is_poorer { None } else { Some(resolve(addresses)?) };
                match names.filter(|names| names.state.rank() >= cached.state.rank()) {
                    Some(names) => (names, true),
                    None => (with_cached(&cached, &cached.names.missing(addresses), resolve)?, false),
                }
            }
        };
        if let (Some(cache), Some(path)) =
            (self.locator.cache().filter(|_| is_new && names.state.is_final()), &names.path)
        {
            let kept = KeptNames { stamps, path: path.clone(), state: names.state, names: names.names.clone() };
            cache.put(build_id, module.kind, &kept);
        }
        Ok(names)
    }

    /// Resolves addresses from the found files.
    fn names_of_files(
        &self,
        kind: ModuleKind,
        search: &ModuleSearch,
        addresses: &[u64],
    ) -> Result<ModuleNames, Cancelled> {
        let Some(best) = search.best() else { return Ok(ModuleNames::default()) };
        // No function is at the end of memory, so an offset without an address resolves to no name.
        let linked = |address: u64| (address, search.linked_address(kind, address).unwrap_or(u64::MAX));
        let pairs: Vec<_> = addresses.iter().copied().map(linked).collect();
        self.names_of(best, &pairs, &search.functions(self.bytes_max / 4))
    }

    /// Resolves pairs of the requested address and the address in the file.
    pub(super) fn names_of(
        &self,
        best: &MatchingFile,
        pairs: &[(u64, u64)],
        functions: &FunctionTable,
    ) -> Result<ModuleNames, Cancelled> {
        let Self { locator, bytes_max, cancel } = *self;
        let (path, is_verified) = (Some(best.elf.file.path.clone()), best.is_verified);
        let (mut used, mut split_folder) = (Vec::new(), None);
        let (names, state) = match DebugInfo::read(&best.elf, bytes_max) {
            Ok(Some(mut info)) => {
                if let Some(shared) = &best.shared {
                    info = info.with_shared(shared, bytes_max);
                }
                let wanted = WantedUnits::find(&info, pairs, cancel)?;
                let split = add_split_files(&mut info, &wanted, &best.elf.file.path, locator, bytes_max, cancel)?;
                let state = if split.has_all { best.state_at_best() } else { NameState::SplitMissing };
                (used, split_folder) = (split.used, split.outside);
                (dwarf::names(&info, pairs, &wanted, functions, cancel)?, state)
            }
            Ok(None) if let Some(lines) = GoLines::read(&best.elf, bytes_max) => {
                (lines.names(pairs, functions), NameState::Complete)
            }
            Ok(None) => {
                let state = match best.quality {
                    Quality::Nothing if best.elf.is_truncated() => NameState::Unreadable,
                    Quality::Nothing | Quality::DynamicSymbols => NameState::Stripped,
                    // Tables of earlier Go versions are not supported.
                    Quality::DebugInfo if !best.elf.has_symbols() => NameState::Stripped,
                    Quality::Symbols | Quality::DebugInfo => NameState::FunctionsOnly,
                };
                (names_of_functions(pairs, functions), state)
            }
            Err(_) => (names_of_functions(pairs, functions), NameState::Unreadable),
        };
        Ok(ModuleNames { names, state, path, is_verified, used, split_folder, ..ModuleNames::default() })
    }

    /// Resolves addresses of a kernel: from its file with symbols, or else from a list of the kernel or of perf.
    fn kernel_names(&self, module: &Module, addresses: &[u64]) -> Result<ModuleNames, Cancelled> {
        let Some(KernelAnchor { symbol, address: anchor, .. }) = &module.anchor else {
            return Ok(ModuleNames { state: NameState::NoKernelAddress, ..ModuleNames::default() });
        };
        let mut search = ModuleSearch::run(module, self.locator, self.cancel)?;
        if module.kind == ModuleKind::Kernel
            && let Some(best) = search.best().filter(|best| best.quality >= Quality::Symbols)
            && let Some(functions) = FunctionTable::read(&best.elf, self.bytes_max / 2)
            && let Some(linked) = functions.address_of(symbol.as_bytes())
        {
            // The kernel ran at another address than its link-time address.
            let pairs: Vec<_> = addresses
                .iter()
                .map(|&address| (address, address.wrapping_sub(*anchor).wrapping_add(linked)))
                .collect();
            return Ok(self.names_of(best, &pairs, &functions)?.with_search(search));
        }
        let stored_list = search.kernel.take();
        let is_kept = stored_list.is_some();
        let (functions, path) = match stored_list {
            Some(stored_list) => stored_list,
            None if !self.locator.has_system() => return Ok(failed(&search)),
            None => match running_kernel(module) {
                Ok(functions) => (functions, PathBuf::from("/proc/kallsyms")),
                Err(state) => {
                    search.state = if search.state == NameState::NoFile { state } else { search.state };
                    return Ok(failed(&search));
                }
            },
        };
        let to_listed = |address: u64| match module.kind {
            // Another boot of the same kernel has another address.
            ModuleKind::Kernel => {
                let listed = functions.address_of(symbol.as_bytes())?;
                Some(address.wrapping_sub(*anchor).wrapping_add(listed))
            }
            _ => anchor.checked_add(address),
        };
        // The offset is the same for all addresses.
        let by = to_listed(0);
        let names = function_names(addresses, |address| functions.find(address.wrapping_add(by?)));
        let is_verified = is_kept || module.build_id.is_some();
        let (state, path) = (NameState::Complete, Some(path));
        Ok(ModuleNames { names, state, path, is_verified, ..ModuleNames::default() }.with_search(search))
    }
}

/// Adds the missing addresses to cached names of the same files; resolves all again if that is better. Returns also
/// whether to write the names to the cache.
fn complete_cached(
    cached: &KeptNames,
    addresses: &[u64],
    resolve: impl Fn(&[u64]) -> Result<ModuleNames, Cancelled>,
) -> Result<(ModuleNames, bool), Cancelled> {
    let missing = cached.names.missing(addresses);
    let names = with_cached(cached, &missing, &resolve)?;
    if names.state.rank() > cached.state.rank() {
        return Ok((resolve(addresses)?, true));
    }
    // Files other than the stamped ones may be gone.
    let is_same = names.state == cached.state;
    Ok((names, is_same && !missing.is_empty()))
}

/// Returns cached names, merged with the names of the missing addresses.
fn with_cached(
    cached: &KeptNames,
    missing: &[u64],
    resolve: impl Fn(&[u64]) -> Result<ModuleNames, Cancelled>,
) -> Result<ModuleNames, Cancelled> {
    if missing.is_empty() {
        let (names, path, state) = (cached.names.clone(), Some(cached.path.clone()), cached.state);
        return Ok(ModuleNames { names, state, path, is_verified: true, ..ModuleNames::default() });
    }
    let names = resolve(missing)?;
    Ok(ModuleNames { names: cached.names.merged(&names.names), ..names })
}

/// Returns the functions of the running kernel, if it is the recorded one.
fn running_kernel(module: &Module) -> Result<KernelFunctions, NameState> {
    let Some(recorded) = &module.build_id else { return kernel_at_anchor(module) };
    let notes = InputFile::read_system_file(Path::new("/sys/kernel/notes")).map_err(|_| NameState::NoFile)?;
    let running_id = build_id_in(&notes).ok_or(NameState::NoFile)?;
    // Kernel modules have their own build-ids, and are listed with the kernel that loads them.
    if recorded.is_same(&running_id) { listed_functions() } else { Err(NameState::OtherBuild) }
}

/// Returns the functions of the running kernel, if a recorded kernel without a build-id has the same release and the
/// same address. The address of a kernel module says nothing about its kernel.
fn kernel_at_anchor(module: &Module) -> Result<KernelFunctions, NameState> {
    let anchor = module.anchor.as_ref().filter(|_| module.kind == ModuleKind::Kernel).ok_or(NameState::NoFile)?;
    if anchor.release.is_none() || anchor.release != running_release() {
        return Err(NameState::NoBuildId);
    }
    let functions = listed_functions()?;
    let is_there = functions.address_of(anchor.symbol.as_bytes()) == Some(anchor.address);
    if is_there { Ok(functions) } else { Err(NameState::NoBuildId) }
}

fn listed_functions() -> Result<KernelFunctions, NameState> {
    let list = InputFile::read_system_file(Path::new("/proc/kallsyms")).map_err(|_| NameState::Hidden)?;
    KernelFunctions::read(&list).ok_or(NameState::Hidden)
}

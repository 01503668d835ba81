//! The files of mappings as modules, each with its build-id. The records of mappings have it, or
//! a list after the records.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::wire::PerfBytes;
use crate::model::modules::MODULES_MAX;
use crate::model::{BuildId, Module, ModuleKind};

/// The process id that mappings of the kernel have here.
pub(super) const KERNEL: i64 = -1;

/// The flag of an entry of the list that says how many bytes the build-id has.
const HAS_SIZE: u16 = 1 << 15;

/// The bytes of a build-id in an entry of the list, where perf has 4 more for its length.
const BUILD_ID_BYTES: usize = 20;

const KERNEL_NAMES: [&str; 2] = ["[kernel.kallsyms]", "[guest.kernel.kallsyms]"];

/// Paths of mappings that have no file: the code in them was made by the process.
const ANONYMOUS: [&str; 3] = ["//anon", "/anon_hugepage", "/dev/zero"];

/// The longest path of Linux.
const PATH_BYTES_MAX: usize = 4096;

/// The file of a mapping, as its record describes it.
#[derive(Debug, Clone)]
pub(super) struct MappedFile<'a> {
    pub(super) path: &'a [u8],
    pub(super) build_id: Option<BuildId>,
    pub(super) inode: Option<u64>,
}

/// The modules of all mappings, each path with each build-id once.
#[derive(Debug, Default)]
pub(super) struct MapModules {
    rows: Vec<MapModule>,
    known: FxHashMap<(Arc<str>, Option<BuildId>), usize>,
    /// Build-ids of paths, from the list after the records.
    listed: FxHashMap<Arc<str>, BuildId>,
}

#[derive(Debug)]
pub(super) struct MapModule {
    pub(super) path: Arc<str>,
    pub(super) category: Arc<str>,
    pub(super) kind: ModuleKind,
    build_id: Option<BuildId>,
    inode: Option<u64>,
    anchor: Option<(Box<str>, u64)>,
    is_used: bool,
}

impl MapModule {
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    fn module(&self, listed: &FxHashMap<Arc<str>, BuildId>) -> Module {
        Module {
            build_id: self.build_id.clone().or_else(|| listed.get(&self.path).cloned()),
            category: (&*self.category).into(),
            path: (&*self.path).into(),
            kind: self.kind,
            inode: self.inode,
            anchor: self.anchor.clone(),
            is_ambiguous: false,
        }
    }

    pub(super) fn is_kernel_of_guest(&self) -> bool {
        &*self.path == KERNEL_NAMES[1]
    }
}

impl MapModules {
    /// The row of a file that a process maps from `offset` on to `start`. `None` for new ones where there are too many.
    pub(super) fn row(&mut self, pid: i64, (start, offset): (u64, u64), file: &MappedFile<'_>) -> Option<usize> {
        let text = String::from_utf8_lossy(&file.path[..file.path.len().min(PATH_BYTES_MAX)]);
        let jit = u32::try_from(pid).ok().filter(|_| ANONYMOUS.iter().any(|name| text.starts_with(name)));
        // The symbol that identified the kernel follows its name.
        let kernel = KERNEL_NAMES.iter().find(|&&name| text.starts_with(name));
        let (path, kind, anchor): (Arc<str>, _, _) = if let Some(pid) = jit {
            (format!("/tmp/perf-{pid}.map").into(), ModuleKind::Jit(pid), None)
        } else if let Some(&name) = kernel {
            let is_own = name == KERNEL_NAMES[0];
            let symbol = text[name.len()..].into();
            let kind = if is_own { ModuleKind::Kernel } else { ModuleKind::Unknown };
            (name.into(), kind, is_own.then_some((symbol, offset)))
        } else {
            let kind = match &*text {
                "[vdso]" => ModuleKind::Vdso,
                _ if pid == KERNEL => ModuleKind::KernelModule,
                text if text.starts_with('[') || text.starts_with("/memfd:") => ModuleKind::Unknown,
                _ => ModuleKind::File,
            };
            let anchor = (kind == ModuleKind::KernelModule).then(|| (Box::default(), start));
            (text.into(), kind, anchor)
        };
        let key = (Arc::clone(&path), file.build_id.clone());
        if let Some(&known) = self.known.get(&key) {
            return Some(known);
        }
        if self.rows.len() >= MODULES_MAX {
            return None;
        }
        let is_first = !self.rows.iter().any(|row| row.path == path);
        let category = match &key.1 {
            Some(build_id) if !is_first => format!("{path} (build {build_id})").into(),
            None if !is_first => format!("{path} (no build-id)").into(),
            _ => Arc::clone(&path),
        };
        let (build_id, inode) = (file.build_id.clone(), file.inode);
        self.rows.push(MapModule { path, category, kind, build_id, inode, anchor, is_used: false });
        self.known.insert(key, self.rows.len() - 1);
        Some(self.rows.len() - 1)
    }

    /// The module of a frame.
    pub(super) fn used(&mut self, row: usize) -> &MapModule {
        self.rows[row].is_used = true;
        &self.rows[row]
    }

    /// Reads entries of the list of build-ids, up to the first that is damaged.
    pub(super) fn list(&mut self, bytes: &[u8]) -> Option<()> {
        let mut front = PerfBytes(bytes);
        while !front.0.is_empty() {
            let (_kind, misc_and_len) = (front.u32()?, front.u32()?);
            let body = front.bytes(((misc_and_len >> 16) as usize).checked_sub(8)?)?;
            self.list_one(misc_and_len as u16, body)?;
        }
        Some(())
    }

    /// Reads one entry without its header.
    pub(super) fn list_one(&mut self, misc: u16, body: &[u8]) -> Option<()> {
        let mut front = PerfBytes(body);
        let _pid = front.i32()?;
        let (id, after) = (front.bytes(BUILD_ID_BYTES)?, front.bytes(4)?);
        let len = (misc & HAS_SIZE != 0).then_some(usize::from(after[0]));
        let path = String::from_utf8_lossy(front.text());
        if self.listed.len() < MODULES_MAX
            && let Some(build_id) = BuildId::from_field(id, len)
        {
            self.listed.insert(path.as_ref().into(), build_id);
        }
        Some(())
    }

    /// A module by its row.
    pub(super) fn get(&self, row: usize) -> &MapModule {
        &self.rows[row]
    }

    /// A module as the capture has described it so far.
    pub(super) fn module(&self, row: usize) -> Module {
        self.rows[row].module(&self.listed)
    }

    /// The modules that frames are in, with what the capture says of them.
    pub(super) fn into_used(self) -> impl Iterator<Item = Module> {
        let Self { rows, listed, .. } = self;
        rows.into_iter().filter(|row| row.is_used).map(move |row| row.module(&listed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(misc: u16, id: &[u8], len: u8, path: &str) -> Vec<u8> {
        let mut body = 7i32.to_le_bytes().to_vec();
        body.extend_from_slice(id);
        body.resize(4 + BUILD_ID_BYTES, 0);
        body.extend([len, 0, 0, 0]);
        body.extend_from_slice(path.as_bytes());
        body.resize(body.len().next_multiple_of(8) + 8, 0);
        let head = [67u32.to_le_bytes(), ((body.len() as u32 + 8) << 16 | u32::from(misc)).to_le_bytes()];
        [head.concat(), body].concat()
    }

    #[test]
    fn build_ids_come_from_the_mapping_or_from_the_list() {
        let mut modules = MapModules::default();
        let file = |path, build_id: &[u8]| MappedFile { path, build_id: BuildId::new(build_id), inode: Some(9) };
        for (path, id) in [(&b"/a"[..], &[][..]), (b"/b", &[1]), (b"/b", &[2]), (b"/never", &[])] {
            modules.row(7, (0, 0), &file(path, id)).unwrap();
        }
        assert_eq!(modules.row(8, (0, 64), &file(b"/b", &[2])), Some(2));
        (0..3).for_each(|row| drop(modules.used(row).name().to_owned()));
        let list = [entry(0, &[5; 20], 0, "/a"), entry(HAS_SIZE, &[6; 20], 8, "/b")].concat();
        assert_eq!(modules.list(&list), Some(()));
        assert_eq!(modules.list(&list[..list.len() - 1]), None);
        let used: Vec<_> = modules.into_used().map(|it| (it.category, it.build_id.map(|id| id.to_string()))).collect();
        let expected = [("/a", "05".repeat(20)), ("/b", "01".to_owned()), ("/b (build 02)", "02".to_owned())];
        assert_eq!(used, expected.map(|(path, id)| (path.into(), Some(id))));
    }

    #[test]
    fn the_kernel_is_one_module_with_the_symbol_that_identifies_it() {
        let mut modules = MapModules::default();
        let file = MappedFile { path: b"[kernel.kallsyms]_stext", build_id: None, inode: None };
        let row = modules.row(KERNEL, (0xffff_0000, 0xffff_0000), &file).unwrap();
        modules.used(row);
        let kernel = modules.into_used().next().unwrap();
        assert_eq!((&*kernel.path, kernel.kind), ("[kernel.kallsyms]", ModuleKind::Kernel));
        assert_eq!(kernel.anchor, Some(("_stext".into(), 0xffff_0000)));
    }
}

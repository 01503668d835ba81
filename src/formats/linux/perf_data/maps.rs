//! The file of an address of a process, by the mappings so far.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::modules::{KERNEL, MapModules, MappedFile};
use crate::model::ModuleKind;

/// The mappings of all processes at once; real captures have some thousand.
const MAPS_MAX: usize = 1 << 20;

/// The process id of functions that the kernel generates at run time, such as BPF programs.
const KERNEL_FUNCTIONS: i64 = -2;

/// Mappings by process and start.
#[derive(Debug, Default)]
pub(super) struct Maps {
    of: FxHashMap<i64, BTreeMap<u64, CodeMap>>,
    count: usize,
    pub(super) modules: MapModules,
}

#[derive(Debug, Clone)]
pub(super) enum FramePlace {
    /// A place in a file, by its row in the modules, at an address as its kind of module counts.
    File { module: usize, address: u64 },
    /// A function that the kernel made.
    Function(Arc<str>),
    /// An address at which nothing is mapped.
    Nowhere { address: u64 },
}

/// How a frame is shown: its text, and the category of its module.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FrameText {
    pub(super) text: String,
    pub(super) category: Option<Arc<str>>,
}

#[derive(Debug, Clone)]
struct CodeMap {
    end: u64,
    offset: u64,
    code: Code,
}

#[derive(Debug, Clone)]
enum Code {
    /// Code of a file, by its row in the modules.
    File(usize),
    /// A single function, as code made at runtime has it.
    Function(Arc<str>),
}

impl Maps {
    /// Maps a file. `false` if there are too many mappings.
    pub(super) fn add(&mut self, pid: i64, start: u64, len: u64, offset: u64, file: &MappedFile<'_>) -> bool {
        if self.count >= MAPS_MAX {
            return false;
        }
        let Some(module) = self.modules.row(pid, (start, offset), file) else { return false };
        let map = CodeMap { end: start.saturating_add(len), offset, code: Code::File(module) };
        self.count += usize::from(self.of.entry(pid).or_default().insert(start, map).is_none());
        true
    }

    /// The kernel makes a function. `false` if there are too many.
    pub(super) fn add_function(&mut self, start: u64, len: u64, name: &[u8]) -> bool {
        if self.count >= MAPS_MAX {
            return false;
        }
        let code = Code::Function(String::from_utf8_lossy(name).into());
        let map = CodeMap { end: start.saturating_add(len), offset: 0, code };
        self.count += usize::from(self.of.entry(KERNEL_FUNCTIONS).or_default().insert(start, map).is_none());
        true
    }

    /// The kernel gives a function up.
    pub(super) fn remove_function(&mut self, start: u64) {
        let removed = self.of.get_mut(&KERNEL_FUNCTIONS).and_then(|functions| functions.remove(&start));
        self.count -= usize::from(removed.is_some());
    }

    /// Starts a process as a copy of another. `false` if there are too many mappings.
    pub(super) fn fork(&mut self, parent: i64, child: i64) -> bool {
        let Some(maps) = self.of.get(&parent).filter(|_| parent != child) else { return true };
        if self.count + maps.len() > MAPS_MAX {
            return false;
        }
        self.count += maps.len();
        let maps = maps.clone();
        self.forget(child);
        self.of.insert(child, maps);
        true
    }

    /// A process begins another program.
    pub(super) fn forget(&mut self, pid: i64) {
        if let Some(maps) = self.of.remove(&pid) {
            self.count = self.count.saturating_sub(maps.len());
        }
    }

    /// Looks up what an address of a process maps now. Its module counts as used.
    pub(super) fn place(&mut self, pid: i64, address: u64) -> FramePlace {
        let found = |pid: i64| {
            let (start, map) = self.of.get(&pid)?.range(..=address).next_back()?;
            (address < map.end).then_some((*start, map))
        };
        match found(KERNEL_FUNCTIONS).or_else(|| found(pid)).or_else(|| found(KERNEL)) {
            Some((_, CodeMap { code: Code::Function(name), .. })) => FramePlace::Function(Arc::clone(name)),
            Some((start, &CodeMap { offset, code: Code::File(row), .. })) => {
                let module = self.modules.used(row);
                // The kernel is one file and its address says all, as does that of code that has no file. Modules of
                // the kernel are files of their own.
                let address = match module.kind {
                    ModuleKind::Kernel | ModuleKind::Jit(_) => address,
                    ModuleKind::Unknown if module.is_kernel_of_guest() => address,
                    _ => (address - start).wrapping_add(offset),
                };
                FramePlace::File { module: row, address }
            }
            None => FramePlace::Nowhere { address },
        }
    }

    /// How a frame is shown.
    pub(super) fn text(&self, place: &FramePlace) -> FrameText {
        match place {
            FramePlace::File { module, address } => {
                let module = self.modules.get(*module);
                let text = format!("{}+{address:#x}", module.name());
                FrameText { text, category: Some(Arc::clone(&module.category)) }
            }
            FramePlace::Function(name) => FrameText { text: name.to_string(), category: None },
            FramePlace::Nowhere { address } => FrameText { text: format!("{address:#x}"), category: None },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &[u8]) -> MappedFile<'_> {
        MappedFile { path, build_id: None, inode: None }
    }

    #[test]
    fn addresses_are_named_by_the_file_that_is_mapped_there_now() {
        let mut maps = Maps::default();
        let shown = |maps: &mut Maps, pid, address| {
            let place = maps.place(pid, address);
            maps.text(&place)
        };
        let frame = |maps: &mut Maps, pid, address| shown(maps, pid, address).text;
        maps.add(KERNEL, 0xffff_0000, 0x1000, 0, &file(b"[kernel.kallsyms]_text"));
        maps.add(7, 0x1000, 0x100, 0x40, &file(b"/usr/lib/libc.so.6"));
        assert_eq!(frame(&mut maps, 7, 0x1010), "libc.so.6+0x50");
        assert_eq!(shown(&mut maps, 7, 0x1010).category.as_deref(), Some("/usr/lib/libc.so.6"));
        assert_eq!(shown(&mut maps, 7, 0x1100), FrameText { text: "0x1100".to_owned(), category: None });
        assert_eq!(frame(&mut maps, 7, 0xffff_0008), "[kernel.kallsyms]+0xffff0008");
        maps.add(KERNEL, 0xffff_8000, 0x1000, 0, &file(b"/lib/modules/6.1/kernel/fs/ext4.ko"));
        assert_eq!(frame(&mut maps, 7, 0xffff_8010), "ext4.ko+0x10");
        maps.add_function(0xffff_0100, 0x10, b"bpf_prog_0123_count");
        assert_eq!(frame(&mut maps, 7, 0xffff_0108), "bpf_prog_0123_count");
        assert_eq!(frame(&mut maps, 7, 0xffff_0110), "[kernel.kallsyms]+0xffff0110");
        maps.remove_function(0xffff_0100);
        assert_eq!(frame(&mut maps, 7, 0xffff_0108), "[kernel.kallsyms]+0xffff0108");
        maps.fork(7, 8);
        maps.forget(7);
        let both = (frame(&mut maps, 7, 0x1010), frame(&mut maps, 8, 0x1010));
        assert_eq!(both, ("0x1010".to_owned(), "libc.so.6+0x50".to_owned()));
        maps.add(8, 0x1000, 0x100, 0, &file(b"/other"));
        assert_eq!(frame(&mut maps, 8, 0x1010), "other+0x10");
        // Code that a program made has no file: its address says all.
        maps.add(8, 0x9000, 0x100, 0, &file(b"//anon"));
        assert_eq!(frame(&mut maps, 8, 0x9010), "perf-8.map+0x9010");
    }
}

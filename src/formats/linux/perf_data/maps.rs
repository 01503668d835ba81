//! The file of an address of a process, by the mappings so far.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

/// The mappings of all processes at once; real captures have some thousand.
const MAPS_MAX: usize = 1 << 20;

/// The process id that mappings of the kernel have here.
pub(super) const KERNEL: i64 = -1;

/// The process id of functions that the kernel generates at run time, such as BPF programs.
const KERNEL_FUNCTIONS: i64 = -2;

/// Mappings by process and start.
#[derive(Debug, Default)]
pub(super) struct Maps {
    of: FxHashMap<i64, BTreeMap<u64, CodeMap>>,
    count: usize,
}

#[derive(Debug, Clone)]
struct CodeMap {
    end: u64,
    offset: u64,
    file: Arc<str>,
}

impl Maps {
    /// Maps a file. `false` if there are too many mappings.
    pub(super) fn add(&mut self, pid: i64, start: u64, len: u64, offset: u64, file: &[u8]) -> bool {
        if self.count >= MAPS_MAX {
            return false;
        }
        let file = String::from_utf8_lossy(file);
        let name = file.rsplit('/').next().unwrap_or_default();
        // The symbol that identified it may follow the name.
        let is_kernel = |kernel: &&str| name.starts_with(kernel);
        let name = ["[kernel.kallsyms]", "[guest.kernel.kallsyms]"].into_iter().find(is_kernel).unwrap_or(name);
        let map = CodeMap { end: start.saturating_add(len), offset, file: name.into() };
        self.count += usize::from(self.of.entry(pid).or_default().insert(start, map).is_none());
        true
    }

    /// The kernel makes a function. `false` if there are too many.
    pub(super) fn add_function(&mut self, start: u64, len: u64, name: &[u8]) -> bool {
        if self.count >= MAPS_MAX {
            return false;
        }
        let map = CodeMap { end: start.saturating_add(len), offset: 0, file: String::from_utf8_lossy(name).into() };
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

    /// How an address is shown.
    pub(super) fn name(&self, pid: i64, address: u64) -> String {
        let found = |pid: i64| {
            let (start, map) = self.of.get(&pid)?.range(..=address).next_back()?;
            (address < map.end).then_some((start, map))
        };
        if let Some((_, function)) = found(KERNEL_FUNCTIONS) {
            return function.file.to_string();
        }
        match found(pid).or_else(|| found(KERNEL)) {
            // The kernel is one file and its address says all; its modules are files of their own.
            Some((_, map)) if map.file.ends_with("[kernel.kallsyms]") => format!("{}+{address:#x}", map.file),
            Some((start, map)) => {
                let offset = (address - start).wrapping_add(map.offset);
                format!("{}+{offset:#x}", map.file)
            }
            None => format!("{address:#x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_named_by_the_file_that_is_mapped_there_now() {
        let mut maps = Maps::default();
        maps.add(KERNEL, 0xffff_0000, 0x1000, 0, b"[kernel.kallsyms]_text");
        maps.add(7, 0x1000, 0x100, 0x40, b"/usr/lib/libc.so.6");
        assert_eq!(maps.name(7, 0x1010), "libc.so.6+0x50");
        assert_eq!(maps.name(7, 0x1100), "0x1100");
        assert_eq!(maps.name(7, 0xffff_0008), "[kernel.kallsyms]+0xffff0008");
        maps.add(KERNEL, 0xffff_8000, 0x1000, 0, b"/lib/modules/6.1/kernel/fs/ext4.ko");
        assert_eq!(maps.name(7, 0xffff_8010), "ext4.ko+0x10");
        maps.add_function(0xffff_0100, 0x10, b"bpf_prog_0123_count");
        assert_eq!(maps.name(7, 0xffff_0108), "bpf_prog_0123_count");
        assert_eq!(maps.name(7, 0xffff_0110), "[kernel.kallsyms]+0xffff0110");
        maps.remove_function(0xffff_0100);
        assert_eq!(maps.name(7, 0xffff_0108), "[kernel.kallsyms]+0xffff0108");
        maps.fork(7, 8);
        maps.forget(7);
        assert_eq!((maps.name(7, 0x1010), maps.name(8, 0x1010)), ("0x1010".to_owned(), "libc.so.6+0x50".to_owned()));
        maps.add(8, 0x1000, 0x100, 0, b"/other");
        assert_eq!(maps.name(8, 0x1010), "other+0x10");
    }
}

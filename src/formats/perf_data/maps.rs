//! Which file an address of a process is of, as far as its mappings have been told.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

/// The mappings of all processes at once; real captures have some thousand.
const MAPS_MAX: usize = 1 << 20;

/// Whose mappings those of the kernel are.
pub(super) const KERNEL: i64 = -1;

/// Mappings by process and start.
#[derive(Debug, Default)]
pub(super) struct Maps {
    of: FxHashMap<i64, BTreeMap<u64, Map>>,
    count: usize,
}

#[derive(Debug, Clone)]
struct Map {
    end: u64,
    offset: u64,
    file: Arc<str>,
}

impl Maps {
    /// A file is mapped. `false` if there are too many.
    pub(super) fn add(&mut self, pid: i64, start: u64, len: u64, offset: u64, file: &[u8]) -> bool {
        if self.count >= MAPS_MAX {
            return false;
        }
        let file = String::from_utf8_lossy(file);
        let name = file.rsplit('/').next().unwrap_or_default();
        // The kernel is one file and its address says all, whatever the symbol that it was found by.
        let name = if name.starts_with("[kernel.kallsyms]") { "[kernel.kallsyms]" } else { name };
        let map = Map { end: start.saturating_add(len), offset, file: name.into() };
        self.count += usize::from(self.of.entry(pid).or_default().insert(start, map).is_none());
        true
    }

    /// A process begins as a copy of another. `false` if that are too many.
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
        match (found(pid), found(KERNEL)) {
            (Some((start, map)), _) => {
                let offset = (address - start).wrapping_add(map.offset);
                format!("{}+{offset:#x}", map.file)
            }
            (None, Some((_, map))) => format!("{}+{address:#x}", map.file),
            (None, None) => format!("{address:#x}"),
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
        maps.fork(7, 8);
        maps.forget(7);
        assert_eq!((maps.name(7, 0x1010), maps.name(8, 0x1010)), ("0x1010".to_owned(), "libc.so.6+0x50".to_owned()));
        maps.add(8, 0x1000, 0x100, 0, b"/other");
        assert_eq!(maps.name(8, 0x1010), "other+0x10");
    }
}

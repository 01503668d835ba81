//! Files of frames as modules of the trace, one for each path and build-id. Names of unresolved frames are looked up
//! after the load. Excludes memory without a file.

use std::borrow::Cow;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::batch::BatchBuilder;
use crate::model::modules::{MODULES_MAX, address_of};
use crate::model::{BuildId, Metadata, Module, ModuleKind};

/// Limit for paths, as in Linux.
const PATH_BYTES_MAX: usize = 4096;

/// Paths of anonymous mappings, which hold generated code.
const ANONYMOUS: [&str; 3] = ["//anon", "/anon_hugepage", "/dev/zero"];

/// Start of the paths of files in memory.
const IN_MEMORY: &str = "/memfd:";

/// Returns the path of a mapping as text, truncated to the limit.
pub(crate) fn path_text(path: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(&path[..path.len().min(PATH_BYTES_MAX)])
}

/// Returns whether a path names an anonymous mapping.
pub(crate) fn is_anonymous(path: &str) -> bool {
    ANONYMOUS.iter().any(|name| path.starts_with(name))
}

/// Returns whether a path names memory without a file on disk, such as `[stack]`.
pub(crate) fn is_memory(path: &str) -> bool {
    path.starts_with('[') || path.starts_with(IN_MEMORY) || is_anonymous(path)
}

/// Returns whether a function's name, such as `main+0x12`, would be taken for an address in its module.
pub(crate) fn is_like_address(name: &[u8]) -> bool {
    std::str::from_utf8(name).is_ok_and(|name| address_of(name).is_some())
}

/// The modules of the frames so far.
#[derive(Debug, Default)]
pub(crate) struct FrameModules {
    categories: FxHashMap<(Box<str>, Option<BuildId>), Arc<str>>,
    /// Paths that have a module. Further builds at a path get a category with their build-id.
    paths: FxHashSet<Box<str>>,
}

/// The file of the code of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FrameFile<'p> {
    /// Empty if no file is known.
    pub(crate) path: &'p [u8],
    pub(crate) build_id: Option<BuildId>,
    /// Defines the base of addresses in the file.
    pub(crate) kind: ModuleKind,
}

/// A frame: a function, or an address that is shown until its function is looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModuleFrame {
    /// A name, `file+0xaddress`, or the address alone if no file is known.
    pub(crate) text: Vec<u8>,
    pub(crate) category: Option<Arc<str>>,
}

impl FrameModules {
    /// Returns the frame at an address in a file. Adds a new module to the batch.
    pub(crate) fn frame(&mut self, file: FrameFile<'_>, address: u64, batch: &mut BatchBuilder) -> ModuleFrame {
        let name = file_name(file.path);
        if name.is_empty() {
            return ModuleFrame { text: format!("{address:#x}").into(), category: None };
        }
        let text = [name, format!("+{address:#x}").as_bytes()].concat();
        ModuleFrame { text, category: self.category(file, batch) }
    }

    /// Returns the category of the named functions in a file; `None` if no file is known. Names like addresses must not
    /// have one: see [`is_like_address`].
    pub(crate) fn category_of(&mut self, file: FrameFile<'_>, batch: &mut BatchBuilder) -> Option<Arc<str>> {
        if file_name(file.path).is_empty() {
            return None;
        }
        self.category(file, batch)
    }

    /// Returns the frame category of a module; `None` for a new one if there are too many.
    fn category(&mut self, file: FrameFile<'_>, batch: &mut BatchBuilder) -> Option<Arc<str>> {
        let FrameFile { path, build_id, kind } = file;
        let path = path_text(path);
        let path = &*path;
        let key = (path.into(), build_id);
        if let Some(category) = self.categories.get(&key) {
            return Some(Arc::clone(category));
        }
        if self.categories.len() >= MODULES_MAX {
            return None;
        }
        let is_first = self.paths.insert(path.into());
        let category: Arc<str> = match &key.1 {
            _ if is_first => path.into(),
            Some(build_id) => format!("{path} (build {build_id})").into(),
            None => format!("{path} (no build-id)").into(),
        };
        let kind = match path {
            "[vdso]" => ModuleKind::Vdso,
            path if path.starts_with("[kernel") => ModuleKind::Kernel,
            path if is_memory(path) => ModuleKind::Unknown,
            _ => kind,
        };
        let build_id = key.1.clone();
        let module = Module { category: (&*category).into(), path: path.into(), build_id, kind, ..Module::default() };
        batch.add_metadata(Metadata::Module { module: Box::new(module) });
        self.categories.insert(key, Arc::clone(&category));
        Some(category)
    }
}

/// The modules of a trace by the category of their frames, for writers.
#[derive(Debug)]
pub(crate) struct ModulesByCategory<'m>(FxHashMap<&'m str, &'m Module>);

/// The module of a frame in a trace that is being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WrittenModule<'m> {
    pub(crate) path: &'m str,
    pub(crate) build_id: Option<&'m BuildId>,
    pub(crate) kind: ModuleKind,
}

impl<'m> ModulesByCategory<'m> {
    pub(crate) fn new(modules: &'m [Module]) -> Self {
        Self(modules.iter().map(|module| (&*module.category, module)).collect())
    }

    /// Returns the module of a frame category. If the trace does not describe it, the category is a path that cannot be
    /// resolved.
    pub(crate) fn get(&self, category: &'m str) -> WrittenModule<'m> {
        match self.0.get(category) {
            Some(module) => WrittenModule { path: &module.path, build_id: module.build_id.as_ref(), kind: module.kind },
            None => WrittenModule { path: category, build_id: None, kind: ModuleKind::Unknown },
        }
    }
}

/// Returns the last component of a path, with either separator.
pub(crate) fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| b"/\\".contains(byte)).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::ChunkLimits;

    #[test]
    fn two_builds_of_a_path_are_two_modules_and_memory_without_a_file_is_none() {
        let (mut modules, mut batch) = (FrameModules::default(), BatchBuilder::new(ChunkLimits::default()));
        let id = |byte| BuildId::new(&[byte; 20]);
        let mut frame = |path: &str, build_id| {
            let file = FrameFile { path: path.as_bytes(), build_id, kind: ModuleKind::Linked };
            let frame = modules.frame(file, 0x12, &mut batch);
            (String::from_utf8(frame.text).unwrap(), frame.category)
        };
        let shown = |text: &str, category: String| (text.to_owned(), Some(Arc::from(category)));
        assert_eq!(frame("/lib/a.so", id(1)), shown("a.so+0x12", "/lib/a.so".to_owned()));
        assert_eq!(frame("/lib/a.so", id(2)), shown("a.so+0x12", format!("/lib/a.so (build {})", "02".repeat(20))));
        assert_eq!(frame("/lib/a.so", None), shown("a.so+0x12", "/lib/a.so (no build-id)".to_owned()));
        assert_eq!(frame("/lib/a.so", id(1)), shown("a.so+0x12", "/lib/a.so".to_owned()));
        assert_eq!(frame("", id(1)), ("0x12".to_owned(), None));
        assert_eq!(frame(r"C:\b\c.dll", None), shown("c.dll+0x12", r"C:\b\c.dll".to_owned()));
        assert_eq!(frame("//anon", None).0, "anon+0x12");
        let mut function = |path: &str| {
            let file = FrameFile { path: path.as_bytes(), build_id: id(2), kind: ModuleKind::Linked };
            modules.category_of(file, &mut batch)
        };
        assert_eq!(function("/lib/a.so"), Some(Arc::from(format!("/lib/a.so (build {})", "02".repeat(20)))));
        assert_eq!(function(""), None);
        assert_eq!(["main+0x12", "main", "+0x"].map(|name| is_like_address(name.as_bytes())), [true, false, false]);
        let kinds = batch.batch().metadata.iter().map(|it| match it {
            Metadata::Module { module } => module.kind,
            _ => unreachable!("nothing else is made"),
        });
        let linked = ModuleKind::Linked;
        assert_eq!(kinds.collect::<Vec<_>>(), [linked, linked, linked, linked, ModuleKind::Unknown]);
    }
}

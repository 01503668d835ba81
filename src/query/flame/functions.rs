//! The functions of a view: a name and a module, which is the category of the name. A frame whose name is an address is
//! unnamed; without a category, its module is part of the text: `libc.so.6+0x3fbca`, `0x1ab77 (libc.so.6)`,
//! `[libc.so.6]`.

use rustc_hash::FxHashMap;

use super::module_titles::{ModuleTitles, bare_name, inside, is_module};
use crate::model::{NameIdx, StrIdx};
use crate::query::Snapshot;
use crate::store::pruned_paths::OTHERS;

/// Length limit of a module's name, as for a name in a file system.
const MODULE_BYTES_MAX: usize = 255;

/// The text for others in exported files.
const OTHERS_TEXT: &str = "[others]";

/// Limit for the number of modules. Real traces have a few hundred.
const MODULES_MAX: usize = 1 << 16;

/// The module of unnamed frames without one.
const UNKNOWN: &str = "unknown";

/// Functions in which a processor or a program is idle.
const IDLE: [&str; 14] = [
    "(idle)",
    "acpi_idle_do_entry",
    "arch_cpu_idle",
    "cpu_idle_poll",
    "cpuidle_enter_state",
    "default_idle",
    "default_idle_call",
    "intel_idle",
    "intel_idle_irq",
    "mwait_idle",
    "native_safe_halt",
    "poll_idle",
    "pv_native_safe_halt",
    "xen_safe_halt",
];

/// Index into [`Functions`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FunctionIdx(pub u32);

impl FunctionIdx {
    /// The root of all paths.
    pub(crate) const ROOT: Self = Self(0);
    /// All functions of paths without a node of their own.
    pub(crate) const OTHERS: Self = Self(1);

    #[must_use]
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A function by its visible text, valid across answers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FunctionKey {
    pub(crate) name: Box<str>,
    /// The module, or `None` for a function of that name in any module.
    pub(crate) module: Option<Box<str>>,
}

/// The functions of a view.
#[derive(Debug)]
pub(crate) struct Functions {
    rows: Vec<FunctionEntry>,
    modules: Vec<ModuleEntry>,
}

#[derive(Debug)]
struct ModuleEntry {
    /// The name in brackets, as shown for unnamed frames.
    shown: Box<str>,
    /// The path, or the name that its frames have instead.
    path: Box<str>,
    is_kernel: bool,
}

#[derive(Debug, Clone, Copy)]
struct FunctionEntry {
    text: FunctionText,
    module: Option<ModuleIdx>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum FunctionText {
    Name(NameIdx),
    /// All frames of a module.
    Module(ModuleIdx),
    Others,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct ModuleIdx(u32);

/// The parsed name of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FrameLabel<'a> {
    module: Option<&'a str>,
    is_unnamed: bool,
}

impl Default for Functions {
    /// Returns the rows of the root and the others alone.
    fn default() -> Self {
        let entry = |text| FunctionEntry { text, module: None };
        let rows = vec![entry(FunctionText::Name(NameIdx::EMPTY)), entry(FunctionText::Others)];
        Self { rows, modules: Vec::new() }
    }
}

impl Functions {
    /// Returns the visible name; empty for the root and for an unnamed frame.
    #[must_use]
    pub(crate) fn text<'a>(&'a self, snapshot: &'a Snapshot, function: FunctionIdx) -> &'a str {
        match self.rows[function.index()].text {
            FunctionText::Name(name) => snapshot.names().get(name).text,
            FunctionText::Module(module) => &self.modules[module.0 as usize].shown,
            FunctionText::Others => OTHERS_TEXT,
        }
    }

    /// Returns the module, or the category of a span; empty if unknown.
    #[must_use]
    pub(crate) fn module(&self, function: FunctionIdx) -> &str {
        let module = self.rows[function.index()].module;
        module.map_or("", |module| inside(&self.modules[module.0 as usize].shown))
    }

    /// Returns the category of the name, which names its module; `None` for a whole module.
    #[must_use]
    pub(crate) fn category<'a>(&self, snapshot: &'a Snapshot, function: FunctionIdx) -> Option<&'a str> {
        let FunctionText::Name(name) = self.rows[function.index()].text else { return None };
        snapshot.names().get(name).category.filter(|category| !category.is_empty())
    }

    /// Returns the index of the module; `None` if unknown.
    #[must_use]
    pub(crate) fn module_row(&self, function: FunctionIdx) -> Option<usize> {
        self.rows[function.index()].module.map(|module| module.0 as usize)
    }

    /// Returns whether the function's module is kernel code.
    #[must_use]
    pub(crate) fn is_kernel(&self, function: FunctionIdx) -> bool {
        self.module_row(function).is_some_and(|module| self.modules[module].is_kernel)
    }

    /// Returns whether a name means the function's module: as shown, its path, or the end of it.
    #[must_use]
    pub(super) fn is_in_module(&self, function: FunctionIdx, name: &str) -> bool {
        self.module_row(function).is_some_and(|row| {
            let ModuleEntry { shown, path, .. } = &self.modules[row];
            is_module(name, shown) || is_module(name, path)
        })
    }

    /// Returns a name of the trace for the function; `None` for a module and for others.
    #[must_use]
    pub(crate) fn name(&self, function: FunctionIdx) -> Option<NameIdx> {
        match self.rows[function.index()].text {
            FunctionText::Name(name) => Some(name),
            FunctionText::Module(_) | FunctionText::Others => None,
        }
    }

    /// Returns the texts that identify the function in other answers.
    #[must_use]
    pub(crate) fn key(&self, snapshot: &Snapshot, function: FunctionIdx) -> FunctionKey {
        let module = Some(self.module(function).into());
        FunctionKey { name: self.text(snapshot, function).into(), module }
    }

    /// Returns whether a function has this key.
    #[must_use]
    pub(crate) fn has_key(&self, snapshot: &Snapshot, function: FunctionIdx, key: &FunctionKey) -> bool {
        *self.text(snapshot, function) == *key.name
            && key.module.as_ref().is_none_or(|module| **module == *self.module(function))
    }

    /// Iterates over all functions except the root and the others.
    pub(crate) fn all(&self) -> impl Iterator<Item = FunctionIdx> + use<> {
        (2..self.rows.len() as u32).map(FunctionIdx)
    }

    #[must_use]
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }
}

/// Assigns indices to the functions of a view, each the first time that it occurs.
#[derive(Debug)]
pub(crate) struct FunctionBuilder<'s> {
    snapshot: &'s Snapshot,
    titles: ModuleTitles,
    functions: Functions,
    by_name: FxHashMap<(NameIdx, bool), FunctionIdx>,
    by_text: FxHashMap<(StrIdx, Option<ModuleIdx>), FunctionIdx>,
    by_module: FxHashMap<ModuleIdx, FunctionIdx>,
    modules: FxHashMap<Box<str>, ModuleIdx>,
}

impl<'s> FunctionBuilder<'s> {
    pub(crate) fn new(snapshot: &'s Snapshot) -> Self {
        Self {
            snapshot,
            titles: ModuleTitles::from_snapshot(snapshot),
            functions: Functions::default(),
            by_name: FxHashMap::default(),
            by_text: FxHashMap::default(),
            by_module: FxHashMap::default(),
            modules: FxHashMap::default(),
        }
    }

    /// Returns the function of a frame. With `by_module`, an unnamed frame is represented by its module.
    pub(crate) fn function(&mut self, name: NameIdx, by_module: bool) -> FunctionIdx {
        if name == OTHERS {
            return FunctionIdx::OTHERS;
        }
        if let Some(&function) = self.by_name.get(&(name, by_module)) {
            return function;
        }
        let row = self.snapshot.names().get(name);
        let frame = FrameLabel::parse(row.text, row.category);
        let module = frame.module.and_then(|module| self.module(module, row.category));
        let unnamed = frame.is_unnamed && by_module;
        let of_module = if unnamed { module.or_else(|| self.module(UNKNOWN, None)) } else { None };
        let text = self.snapshot.names().text_index(name);
        let function = match (of_module, self.by_text.get(&(text, module))) {
            (Some(module), _) => self.all_of(module),
            (None, Some(&function)) => function,
            (None, None) => {
                let new = self.push(FunctionText::Name(name), module);
                self.by_text.insert((text, module), new);
                new
            }
        };
        self.by_name.insert((name, by_module), function);
        function
    }

    /// Returns the function that represents the whole module of a function, or itself if the module is unknown.
    pub(super) fn collapsed(&mut self, function: FunctionIdx) -> FunctionIdx {
        self.functions.rows[function.index()].module.map_or(function, |module| self.all_of(module))
    }

    fn all_of(&mut self, module: ModuleIdx) -> FunctionIdx {
        if let Some(&function) = self.by_module.get(&module) {
            return function;
        }
        let new = self.push(FunctionText::Module(module), Some(module));
        self.by_module.insert(module, new);
        new
    }

    fn push(&mut self, text: FunctionText, module: Option<ModuleIdx>) -> FunctionIdx {
        // At most names plus modules, so it fits 32 bits.
        let new = FunctionIdx(u32::try_from(self.functions.rows.len()).unwrap_or(u32::MAX));
        self.functions.rows.push(FunctionEntry { text, module });
        new
    }

    /// Returns the module of frames with a category, or with a path or name in their text.
    fn module(&mut self, path: &str, category: Option<&str>) -> Option<ModuleIdx> {
        let title = self.titles.title(path);
        if let Some(&row) = self.modules.get(title) {
            return Some(row);
        }
        let rows = &mut self.functions.modules;
        if title.is_empty() || title.len() > MODULE_BYTES_MAX || rows.len() >= MODULES_MAX {
            return None;
        }
        let new = ModuleIdx(rows.len() as u32);
        let (shown, is_kernel) = (format!("[{title}]").into(), is_kernel(bare_name(path), category));
        rows.push(ModuleEntry { shown, path: path.into(), is_kernel });
        self.modules.insert(title.into(), new);
        Some(new)
    }

    #[must_use]
    pub(crate) fn functions(&self) -> &Functions {
        &self.functions
    }

    /// Returns whether a function has this key.
    #[must_use]
    pub(super) fn has_key(&self, function: FunctionIdx, key: &FunctionKey) -> bool {
        self.functions.has_key(self.snapshot, function, key)
    }

    /// Returns whether a processor or a program is idle in a function.
    #[must_use]
    pub(super) fn is_idle(&self, function: FunctionIdx) -> bool {
        IDLE.contains(&self.functions.text(self.snapshot, function))
    }

    pub(crate) fn finish(self) -> Functions {
        self.functions
    }
}

/// Returns whether the text of a frame is an address.
#[must_use]
pub(crate) fn is_unnamed(text: &str) -> bool {
    FrameLabel::parse(text, None).is_unnamed
}

impl<'a> FrameLabel<'a> {
    fn parse(text: &'a str, category: Option<&'a str>) -> Self {
        let is_hex = |digits: &str| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let is_address = |text: &str| text.strip_prefix("0x").is_some_and(is_hex);
        let in_text = if let Some((module, _)) = text.rsplit_once("+0x").filter(|(_, offset)| is_hex(offset)) {
            Some(module)
        } else if let Some((address, module)) = text.split_once(" (") {
            module.strip_suffix(')').filter(|_| is_address(address))
        } else if text.len() > 2 && text.starts_with('[') && text.ends_with(']') {
            Some(text)
        } else {
            None
        };
        let category = category.filter(|category| !category.is_empty());
        let module = category.or(in_text).filter(|module| !module.is_empty());
        Self { module, is_unnamed: in_text.is_some() || is_address(text) }
    }
}

/// Returns whether a module is the kernel or part of it. The text `[ext4]` is part of the kernel, but perf also writes
/// memory without a file in brackets, such as `[heap]`.
fn is_kernel(module: &str, category: Option<&str>) -> bool {
    const PROCESS: [&str; 6] = ["vdso", "vsyscall", "heap", "stack", "uprobes", UNKNOWN];
    let is_image = ["kernel", "guest.kernel", "vmlinux"]
        .iter()
        .any(|image| module.strip_prefix(image).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-'])));
    let is_file = |end: &str| module.strip_suffix(end).is_some_and(|name| !name.is_empty());
    let is_name = module.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    let is_bracketed = category.is_some_and(|category| category.starts_with('[') && category.ends_with(']'));
    is_image
        || [".ko", ".ko.gz", ".ko.xz", ".ko.zst"].into_iter().any(is_file)
        || is_bracketed && is_name && !PROCESS.contains(&module)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_the_kernel_are_told_from_memory_of_a_process() {
        for (module, category, expected) in [
            ("kernel.kallsyms", Some("[kernel.kallsyms]"), true),
            ("kernel", None, true),
            ("vmlinux-6.1", Some("/boot/vmlinux-6.1"), true),
            ("ext4.ko", Some("/lib/modules/6.1/ext4.ko"), true),
            ("nf_conntrack", Some("[nf_conntrack]"), true),
            ("vdso", Some("[vdso]"), false),
            ("anon:jit", Some("[anon:jit]"), false),
            ("libc.so.6", None, false),
            ("kernelshark", Some("/usr/bin/kernelshark"), false),
            (".ko", None, false),
        ] {
            assert_eq!(is_kernel(module, category), expected, "{module}");
        }
    }

    #[test]
    fn addresses_have_their_module_in_their_text() {
        for (text, category, module, is_unnamed) in [
            ("libc.so.6+0x3fbca", None, Some("libc.so.6"), true),
            ("[kernel.kallsyms]+0xffffffff81000130", None, Some("[kernel.kallsyms]"), true),
            ("0x1ab77 (ld-linux-x86-64.so.2)", None, Some("ld-linux-x86-64.so.2"), true),
            ("[libc.so.6]", None, Some("[libc.so.6]"), true),
            ("0x7f8fc56148a8", None, None, true),
            ("main.srt", None, None, false),
            ("operator+", Some("a.out"), Some("a.out"), false),
            ("a+0xzz", Some(""), None, false),
            ("f (int)", None, None, false),
            ("[]", None, None, false),
            ("+0x5", None, None, true),
            ("read", Some("/usr/lib/libc.so.6"), Some("/usr/lib/libc.so.6"), false),
            ("libc.so.6+0x7", Some("/usr/lib/libc.so.6"), Some("/usr/lib/libc.so.6"), true),
            ("read", Some("/usr/lib/libc.so.6 (build 7/f)"), Some("/usr/lib/libc.so.6 (build 7/f)"), false),
            ("ksys_read", Some("[kernel.kallsyms]"), Some("[kernel.kallsyms]"), false),
            ("ext4_map", Some("/lib/modules/6.1/ext4.ko"), Some("/lib/modules/6.1/ext4.ko"), false),
        ] {
            let parsed = FrameLabel::parse(text, category);
            assert_eq!(parsed, FrameLabel { module, is_unnamed }, "{text}");
        }
    }
}

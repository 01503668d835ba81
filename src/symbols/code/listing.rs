//! Lists a function as source lines and as instructions, with the samples of one event. Lines are from the function
//! itself, wherever it was inlined. Instructions are from the compiled function with most of its samples.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::time::SystemTime;

use super::assembly::{DecodedInstruction, InstructionSet, decode, decoded_part};
use super::choice::FunctionChoice;
use super::samples::{CodeSamples, KeyRows};
use crate::base::cancel::{Cancel, Cancelled};
use crate::base::demangle::demangle;
use crate::model::modules::ModuleBuilds;
use crate::model::{Module, ModuleKind, SampleEvent};
use crate::query::flame::OwnAndTotal;
use crate::symbols::functions::FunctionTable;
use crate::symbols::go_lines::GoLines;
use crate::symbols::locate::Locator;
use crate::symbols::lookup::{Frame, INLINED};
use crate::symbols::names::{AddressNames, FunctionName};
use crate::symbols::resolve::Resolver;
use crate::symbols::search::{MatchingFile, ModuleSearch};
use crate::symbols::sources::{SourceFolders, SourceProblem};

/// Lines shown before the first and after the last line of a function.
const CONTEXT_LINES: u32 = 3;

/// Limit for the lines of a function, beyond functions that people write; with more, only lines with code are listed.
const LINES_MAX: u32 = 50_000;

/// A function with its samples.
#[derive(Debug)]
pub(crate) struct FunctionCode {
    pub(crate) name: String,
    /// Module, which is the category of the name.
    pub(crate) module: Box<str>,
    pub(crate) event: SampleEvent,
    pub(crate) sums: OwnAndTotal,
    /// The files of its lines, largest weight first.
    pub(crate) files: Vec<SourceListing>,
    /// The samples at code without a line in the debug information, if other code has lines.
    pub(crate) without_line: OwnAndTotal,
    pub(crate) assembly: Result<Assembly, NoAssembly>,
}

impl FunctionCode {
    /// Returns whether a row for code without a line completes the sums of the lines.
    #[must_use]
    pub(crate) fn has_samples_without_line(&self) -> bool {
        self.without_line.total.samples > 0
    }
}

/// The lines of a function in a file.
#[derive(Debug)]
pub(crate) struct SourceListing {
    /// The path in the debug information.
    pub(crate) recorded: String,
    /// The file that was read.
    pub(crate) opened: Result<PathBuf, SourceProblem>,
    /// Whether the file was changed after the program was built.
    pub(crate) is_newer: bool,
    pub(crate) lines: Vec<SourceLine>,
}

/// A line of a file.
#[derive(Debug)]
pub(crate) struct SourceLine {
    pub(crate) number: u32,
    pub(crate) sums: OwnAndTotal,
    /// `None` if the file was not read, or is shorter.
    pub(crate) text: Option<String>,
}

/// The instructions of a compiled function.
#[derive(Debug)]
pub(crate) struct Assembly {
    /// Its name in the symbol table.
    pub(crate) symbol: String,
    /// The file that contains it.
    pub(crate) path: PathBuf,
    pub(crate) instructions: Vec<InstructionLine>,
    /// Whether instructions were left out at the end.
    pub(crate) is_cut: bool,
}

/// An instruction, at its link-time address.
#[derive(Debug)]
pub(crate) struct InstructionLine {
    pub(crate) decoded: DecodedInstruction,
    pub(crate) sums: OwnAndTotal,
    /// The function that the instruction calls or jumps to, unless it is the listed function.
    pub(crate) callee: Option<String>,
    /// The functions inlined here, outermost first.
    pub(crate) inlined: String,
    pub(crate) file: String,
    /// Source line; 0 if unknown.
    pub(crate) line: u32,
}

/// Why the instructions of a function are not listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoAssembly {
    /// The code belongs to a kernel, or was generated at run time.
    NoFile,
    /// No file of the build was found, or no found file has code.
    NoCode,
    /// The symbol table has no bounds of the function.
    NoSymbol,
    /// The file is for an unsupported architecture.
    OtherMachine,
}

impl NoAssembly {
    /// Returns a sentence for the user.
    #[must_use]
    pub(crate) fn message(self) -> &'static str {
        match self {
            Self::NoFile => "kernel code, and code generated at run time, is not disassembled",
            Self::NoCode => "no file with the code of this build was found; debug files contain none",
            Self::NoSymbol => "no symbol table has the bounds of the function",
            Self::OtherMachine => "only x86 and AArch64 code is disassembled",
        }
    }
}

/// Lists a function. Files with more than `bytes_max` of debug information are not read. Returns `Cancelled` if
/// cancelled.
pub(crate) fn list(
    samples: CodeSamples<'_>,
    function: &FunctionChoice,
    (locator, folders): (&Locator, &SourceFolders),
    bytes_max: u64,
    cancel: &Cancel,
) -> Result<FunctionCode, Cancelled> {
    let module = &samples.snapshot.tracks().modules[function.module as usize];
    let locator = &samples.found.locator(function.module as usize, locator);
    let listed = ListedFunction { samples, function, resolver: Resolver { locator, bytes_max, cancel } };
    let FunctionSums { whole, without_line, mut lines } = listed.sums()?;
    let built = samples.found.modules.get(function.module as usize).and_then(|names| names.built());
    let assembly = match ModuleCode::open(module, locator, bytes_max, cancel)? {
        Ok(code) => listed.assembly(&code)?,
        Err(reason) => Err(reason),
    };
    if let Ok((_, names)) = &assembly {
        // Includes lines without samples.
        for it in names.functions().filter(|it| it.name == function.name && it.line > 0) {
            lines.entry((it.file.to_owned(), it.line)).or_default();
        }
    }
    Ok(FunctionCode {
        name: function.name.clone(),
        module: module.category.clone(),
        event: samples.histogram.events()[samples.event].clone(),
        sums: whole,
        without_line: if lines.is_empty() { OwnAndTotal::default() } else { without_line },
        files: listings(&lines, folders, built),
        assembly: assembly.map(|(assembly, _)| assembly),
    })
}

/// Sums by file and line.
type LineSums = BTreeMap<(String, u32), OwnAndTotal>;

/// The samples of a function.
struct FunctionSums {
    whole: OwnAndTotal,
    without_line: OwnAndTotal,
    lines: LineSums,
}

/// A part of a function with separate sums.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum FunctionPart<'a> {
    Whole,
    Line(&'a str, u32),
    WithoutLine,
}

/// The function to list, with its samples and the files to search.
struct ListedFunction<'a> {
    samples: CodeSamples<'a>,
    function: &'a FunctionChoice,
    resolver: Resolver<'a>,
}

impl ListedFunction<'_> {
    /// Returns the samples of the function, and of its lines.
    fn sums(&self) -> Result<FunctionSums, Cancelled> {
        let mut parts: KeyRows<FunctionPart<'_>> = KeyRows::new();
        let sums = self.samples.sums(self.resolver.cancel, |frame, is_innermost, rows| {
            if frame.module != self.function.module {
                return;
            }
            let functions = self.samples.functions(frame).enumerate();
            for (level, it) in functions.filter(|(_, it)| it.name == self.function.name) {
                let is_own = is_innermost && level == 0;
                // Compilers give line 0 to code that belongs to no source line.
                let of_line =
                    if it.line > 0 { FunctionPart::Line(it.file, it.line) } else { FunctionPart::WithoutLine };
                rows.extend([FunctionPart::Whole, of_line].map(|part| (parts.row(part), is_own)));
            }
        })?;
        let (whole, without_line) = (OwnAndTotal::default(), OwnAndTotal::default());
        let mut all = FunctionSums { whole, without_line, lines: LineSums::new() };
        for (&part, &sums) in parts.keys.iter().zip(&sums) {
            match part {
                FunctionPart::Whole => all.whole = sums,
                FunctionPart::Line(file, line) => _ = all.lines.insert((file.to_owned(), line), sums),
                FunctionPart::WithoutLine => all.without_line = sums,
            }
        }
        Ok(all)
    }

    /// Disassembles the compiled function with the most samples of the listed function, and resolves each instruction.
    fn assembly(&self, code: &ModuleCode) -> Result<Result<(Assembly, AddressNames), NoAssembly>, Cancelled> {
        let Some((whole, symbol)) = self.most_sampled(code)? else { return Ok(Err(NoAssembly::NoSymbol)) };
        let Some((path, decoded)) = code.decode(&whole) else { return Ok(Err(NoAssembly::NoCode)) };
        let sums = self.samples.sums(self.resolver.cancel, |frame, is_innermost, rows| {
            if frame.module == self.function.module
                && let Some(row) = code.linked(frame).and_then(|address| row_at(&decoded, address))
            {
                rows.push((row, is_innermost));
            }
        })?;
        let Some(best) = code.search.best() else { return Ok(Err(NoAssembly::NoCode)) };
        let pairs: Vec<_> = decoded.iter().map(|it| (it.range.start, it.range.start)).collect();
        let names = self.resolver.names_of(best, &pairs, &code.functions)?.names;
        let line = |(row, decoded): (usize, DecodedInstruction)| {
            let functions: Vec<FunctionName<'_>> = names.get(decoded.range.start).into_iter().flatten().collect();
            let innermost = functions.first().copied().unwrap_or_default();
            let inlined = functions.split_last().map_or(&[][..], |(_, inlined)| inlined);
            let inlined: Vec<&str> = inlined.iter().rev().map(|it| it.name).collect();
            let outside = decoded.target.filter(|target| !whole.contains(target));
            InstructionLine {
                sums: sums.get(row).copied().unwrap_or_default(),
                callee: outside.and_then(|target| code.range_at(target)).map(|(_, name)| demangle(name)),
                inlined: inlined.join(INLINED),
                file: innermost.file.to_owned(),
                line: innermost.line,
                decoded,
            }
        };
        let assembly = Assembly {
            symbol,
            path,
            is_cut: decoded_part(&whole) != whole,
            instructions: decoded.into_iter().enumerate().map(line).collect(),
        };
        Ok(Ok((assembly, names)))
    }

    /// Returns bounds and name of the compiled function with the most samples of the listed function, the first on
    /// ties.
    fn most_sampled(&self, code: &ModuleCode) -> Result<Option<(Range<u64>, String)>, Cancelled> {
        let mut starts: KeyRows<u64> = KeyRows::new();
        let sums = self.samples.sums(self.resolver.cancel, |frame, is_innermost, rows| {
            let is_in = frame.module == self.function.module
                && self.samples.functions(frame).any(|it| it.name == self.function.name);
            let compiled = |address| code.range_at(address);
            if is_in && let Some((range, _)) = code.linked(frame).and_then(compiled) {
                rows.push((starts.row(range.start), is_innermost));
            }
        })?;
        let starts = starts.keys.iter().zip(&sums);
        let most = starts.max_by_key(|&(&start, sums)| (sums.total.weight, std::cmp::Reverse(start)));
        let symbol = most.and_then(|(&start, _)| code.range_at(start));
        Ok(symbol.map(|(range, name)| (range, demangle(name))))
    }
}

/// Combines lines with the text of their files.
fn listings(lines: &LineSums, folders: &SourceFolders, built: Option<SystemTime>) -> Vec<SourceListing> {
    let mut files: BTreeMap<&str, Vec<(u32, OwnAndTotal)>> = BTreeMap::new();
    for ((file, line), &sums) in lines {
        files.entry(file).or_default().push((*line, sums));
    }
    let weight =
        |lines: &[(u32, OwnAndTotal)]| -> u128 { lines.iter().map(|(_, sums)| u128::from(sums.total.weight)).sum() };
    let mut files: Vec<_> = files.into_iter().collect();
    files.sort_by_key(|(_, lines)| std::cmp::Reverse(weight(lines)));
    files.into_iter().map(|(file, lines)| listing(file, &lines, folders, built)).collect()
}

/// Returns the lines of a file from the first to the last of a function, with context.
fn listing(
    file: &str,
    line_sums: &[(u32, OwnAndTotal)],
    folders: &SourceFolders,
    built: Option<SystemTime>,
) -> SourceListing {
    let recorded = file.to_owned();
    let text = match folders.read(file) {
        Ok(text) => text,
        Err(problem) => {
            let lines = line_sums.iter().map(|&(number, sums)| SourceLine { number, sums, text: None }).collect();
            return SourceListing { recorded, opened: Err(problem), is_newer: false, lines };
        }
    };
    let mut rows: BTreeMap<u32, OwnAndTotal> = line_sums.iter().copied().collect();
    if let ([(first, _), ..], [.., (last, _)]) = (line_sums, line_sums)
        && last - first < LINES_MAX
    {
        let around = first.saturating_sub(CONTEXT_LINES).max(1)..=last.saturating_add(CONTEXT_LINES);
        for number in around.filter(|&number| text.line(number).is_some()) {
            rows.entry(number).or_default();
        }
    }
    let line = |(number, sums)| SourceLine { number, sums, text: text.line(number).map(str::to_owned) };
    let is_newer = text.modified.zip(built).is_some_and(|(modified, built)| modified > built);
    let lines = rows.into_iter().map(line).collect();
    SourceListing { recorded, opened: Ok(text.path.clone()), is_newer, lines }
}

/// The files of a module, at least one with code.
struct ModuleCode {
    kind: ModuleKind,
    search: ModuleSearch,
    functions: FunctionTable,
    /// The functions of a Go program without symbols.
    go_lines: Option<GoLines>,
    instruction_set: InstructionSet,
}

impl ModuleCode {
    fn open(
        module: &Module,
        locator: &Locator,
        bytes_max: u64,
        cancel: &Cancel,
    ) -> Result<Result<Self, NoAssembly>, Cancelled> {
        use ModuleKind::{File, Image, Linked, Vdso};
        if !matches!(module.kind, File | Image | Linked | Vdso) || module.builds == ModuleBuilds::Several {
            return Ok(Err(NoAssembly::NoFile));
        }
        let search = ModuleSearch::run(module, locator, cancel)?;
        let Some(code) = search.files.iter().find(|file| file.elf.has_code()) else {
            return Ok(Err(NoAssembly::NoCode));
        };
        let Some(instruction_set) = code.elf.instruction_set() else {
            return Ok(Err(NoAssembly::OtherMachine));
        };
        let functions = search.functions(bytes_max / 4);
        let mut stripped = search.files.iter().filter(|file| !file.elf.has_symbols());
        let go_lines = stripped.find_map(|file| GoLines::read(&file.elf, bytes_max / 4));
        Ok(Ok(Self { kind: module.kind, search, functions, go_lines, instruction_set }))
    }

    /// Returns bounds and name of the compiled function that contains an address.
    fn range_at(&self, address: u64) -> Option<(Range<u64>, &[u8])> {
        self.functions.range_at(address).or_else(|| self.go_lines.as_ref()?.range_at(address))
    }

    /// Decodes a compiled function, and returns the file that contains it.
    fn decode(&self, whole: &Range<u64>) -> Option<(PathBuf, Vec<DecodedInstruction>)> {
        let part = decoded_part(whole);
        let mut with_code = self.search.files.iter().filter(|file| file.elf.has_code());
        let read = |file: &MatchingFile| Some((file.elf.file.path.clone(), file.elf.bytes_at(&part)?));
        let (path, bytes) = with_code.find_map(read)?;
        Some((path, decode(self.instruction_set, &bytes, part.start)))
    }

    /// Converts the address of a frame to a link-time address.
    fn linked(&self, frame: Frame) -> Option<u64> {
        self.search.linked_address(self.kind, frame.address)
    }
}

/// Returns the instructions of the compiled functions at addresses of a module; empty where there are none. Returns
/// `Cancelled` if cancelled.
pub(in crate::symbols) fn decoded_at(
    module: &Module,
    addresses: &[u64],
    locator: &Locator,
    bytes_max: u64,
    cancel: &Cancel,
) -> Result<Vec<Vec<DecodedInstruction>>, Cancelled> {
    let Ok(code) = ModuleCode::open(module, locator, bytes_max, cancel)? else { return Ok(Vec::new()) };
    let decoded = |&address: &u64| {
        let linked = code.linked(Frame { module: 0, address })?;
        let (range, _) = code.range_at(linked)?;
        Some(code.decode(&range)?.1)
    };
    Ok(addresses.iter().map(|address| decoded(address).unwrap_or_default()).collect())
}

/// Returns the index of the instruction that contains an address.
fn row_at(decoded: &[DecodedInstruction], address: u64) -> Option<u32> {
    let row = decoded.partition_point(|it| it.range.start <= address).checked_sub(1)?;
    decoded[row].range.contains(&address).then_some(row as u32)
}

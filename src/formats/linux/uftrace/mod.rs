//! Recordings of uftrace: a folder with a file of calls for each thread, the mappings and symbols of its programs, and
//! the context switches of each CPU. A user opens the folder, or the file `info` in it.
//!
//! `wire` decodes records, `calls` reads the file of a thread, and `arguments` the values that follow its records.
//! `tasks` lists threads and the programs they run, `functions` names addresses, and `switches` reads context switches.
//! `messages` reads messages of other programs. Functions of the kernel are not read, and counted.

mod arguments;
mod calls;
mod functions;
mod info;
mod messages;
mod switches;
mod tasks;
mod wire;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::calls::CallReader;
use self::functions::UftraceFunctionNames;
use self::info::UftraceInfo;
use self::switches::SwitchReader;
use self::tasks::Tasks;
use super::scheduler::Scheduler;
use crate::base::progress::Stage;
use crate::formats::format::{DataKind, Format, Opener};
use crate::formats::input::byte_reader::ByteReader;
use crate::formats::input::source::Source;
use crate::formats::output::batch::BatchBuilder;
use crate::formats::reader::InspectingSink;
use crate::formats::{BatchSink, ReadContext, ReadError, Reader, StreamReader};
use crate::model::{Batch, Loss, Losses, SourcePos};

/// The file of a recording that states its format.
const INFO: &str = "info";

/// Extension of the files of threads and CPUs.
const DATA_EXTENSION: &str = "dat";

pub(crate) const FORMAT: Format = Format {
    name: "uftrace",
    record: "A record has 16 bytes: a time, and the entry or exit of a function.",
    sniff: wire::is_info,
    is_event: None,
    live: None,
    shows: &[DataKind::Spans, DataKind::Instants, DataKind::Arguments, DataKind::Scheduling],
    opener: Opener::Trace(|source, _| open(source)),
};

/// Returns the file that opens the recording in a folder; `None` if the folder is not a recording.
pub(crate) fn info_file(folder: &Path) -> Option<PathBuf> {
    let path = folder.join(INFO);
    let mut head = [0; wire::MAGIC.len()];
    // Opening a pipe would wait for its other end.
    fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
    io::Read::read_exact(&mut fs::File::open(&path).ok()?, &mut head).ok()?;
    wire::is_info(&head).then_some(path)
}

/// Opens a recording. Returns [`ReadError::Malformed`] for other versions and byte orders, and for a file `info`
/// without its folder.
fn open(source: Source) -> Result<Reader, ReadError> {
    let path = source.path().to_owned();
    let malformed =
        |offset, expected: &str, found: String| ReadError::malformed(path.as_path(), offset, expected, found);
    let header = wire::header(source.head()).map_err(|(offset, expected, found)| malformed(offset, expected, found))?;
    let folder = path.parent().filter(|_| path.file_name().is_some_and(|name| name == INFO));
    let Some(folder) = folder.filter(|folder| folder.join(tasks::FILE).is_file()).map(Path::to_owned) else {
        let expected = "the other files of its recording beside it (unpack them, and open the folder)";
        return Err(malformed(0, expected, format!("no {}", tasks::FILE)));
    };
    Ok(Reader::stream(Uftrace { source, folder, header }))
}

struct Uftrace {
    source: Source,
    folder: PathBuf,
    header: wire::UftraceHeader,
}

/// A file with records, and their kind.
struct DataFile {
    name: Arc<str>,
    kind: DataFileKind,
    bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum DataFileKind {
    /// The calls of a thread.
    Thread(i64),
    /// The context switches of a CPU.
    Switches(u64),
    /// Messages of another program.
    Messages,
    /// The kernel's functions on a CPU.
    Unsupported,
}

impl DataFileKind {
    fn from_name(name: &str) -> Option<Self> {
        if name == messages::FILE {
            return Some(Self::Messages);
        }
        let stem = name.strip_suffix(DATA_EXTENSION)?.strip_suffix('.')?;
        if let Ok(tid) = stem.parse() {
            return Some(Self::Thread(tid));
        }
        let cpu = stem.strip_prefix("perf-cpu").and_then(|cpu| cpu.parse().ok());
        Some(cpu.map_or(Self::Unsupported, Self::Switches))
    }
}

impl StreamReader for Uftrace {
    fn read(self: Box<Self>, sink: &mut dyn BatchSink, context: &ReadContext) -> Result<(), ReadError> {
        let files = data_files(&self.folder)?;
        context.progress.begin(Stage::Parsing, files.iter().map(|file| file.bytes).sum());
        // Each file of the recording is a part of the stage.
        let context = &ReadContext { progress: context.progress.part(), ..context.clone() };
        let mut batch = BatchBuilder::with_shared_names(context.chunk_limits);
        let info = UftraceInfo::read(self.source, self.header)?;
        let tasks = Tasks::read(&self.folder, &mut batch, context)?;
        let mut scheduler = Scheduler::default();
        tasks.add_names(&mut batch, &mut scheduler);
        let mut functions = UftraceFunctionNames::new((self.folder.clone(), info), &tasks, &mut batch, context)?;
        batch.flush(sink)?;
        for (number, file) in files.iter().enumerate() {
            context.cancel.check()?;
            let mut named = in_file(sink, &file.name);
            let path = self.folder.join(&*file.name);
            let open = || Ok::<_, ReadError>(ByteReader::new(Source::open(&path, context)?));
            match file.kind {
                // A thread that calls no traced function has an empty file.
                _ if file.bytes == 0 => {}
                DataFileKind::Thread(tid) => {
                    let mut calls = CallReader::new(open()?, (number, tid), &mut functions, context);
                    calls.read(&mut batch, &mut named)?;
                }
                DataFileKind::Switches(cpu) => {
                    SwitchReader { input: open()?, cpu, tasks: &tasks, scheduler: &mut scheduler, context }
                        .read(&mut batch, &mut named)?;
                }
                DataFileKind::Messages => {
                    messages::read_messages(Source::open(&path, context)?, &mut batch, &mut named, context)?;
                }
                DataFileKind::Unsupported => {
                    const REASON: &str = "functions of the kernel are not read; `uftrace dump --chrome` converts them";
                    batch.losses().add_because(REASON, Loss::UnreadableFile, SourcePos::Offset(0));
                }
            }
            batch.flush(&mut named)?;
        }
        scheduler.finish(&mut batch, SourcePos::Offset(0));
        batch.flush(sink)
    }
}

/// Returns a sink that names the file of all losses.
fn in_file<'a>(sink: &'a mut dyn BatchSink, name: &'a Arc<str>) -> InspectingSink<'a, impl FnMut(&mut Batch)> {
    let watch = |batch: &mut Batch| {
        let losses: Losses = std::mem::take(&mut batch.losses);
        batch.losses = losses.in_file(Some(name), 0);
    };
    InspectingSink { sink, watch }
}

/// Returns the files with records: threads by id, then CPUs.
fn data_files(folder: &Path) -> Result<Vec<DataFile>, ReadError> {
    let io_error = |source| ReadError::Io { path: folder.to_owned(), offset: 0, source };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(io_error)? {
        let entry = entry.map_err(io_error)?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let Some(kind) = DataFileKind::from_name(name) else { continue };
        // A link may lead nowhere.
        if let Ok(metadata) = fs::metadata(entry.path())
            && metadata.is_file()
        {
            files.push(DataFile { name: name.into(), kind, bytes: metadata.len() });
        }
    }
    files.sort_by(|a, b| a.kind.cmp(&b.kind).then_with(|| a.name.cmp(&b.name)));
    Ok(files)
}

#[cfg(test)]
mod tests;

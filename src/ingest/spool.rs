//! Copies input from pipes to temporary files, because readers need random access, and read some traces twice. A copy
//! leaves some of the disk free, and is removed after the load. A stream of no supported format may never end: only
//! its beginning is copied, and the load refuses it.

use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use super::load::{CacheHint, LoadError};
use crate::base::cancel::Cancel;
use crate::base::files::FileKind;
use crate::base::free_space;
use crate::base::progress::{Progress, Stage};
use crate::base::temporary::Scratch;
use crate::base::threads;
use crate::formats::ReadError;
use crate::formats::sniff::is_refused;
use crate::model::{Input, Sources};

/// Size of a read from a pipe: a few times its capacity.
const BLOCK_BYTES: usize = 256 * 1024;

/// Maximum number of blocks that wait to be written.
const BLOCKS_AHEAD: usize = 4;

/// Number of bytes by which a trace is recognised: more than the longest head, which ends with a line of up to 1 MiB.
const RECOGNISED_BYTES: u64 = 4 << 20;

/// Interval at which a wait for the other end checks for cancellation.
const CANCEL_INTERVAL: Duration = Duration::from_millis(20);

/// Returns whether only this process can read the input, or only once: standard input, open files and pipes.
#[must_use]
pub(crate) fn is_unseekable(input: &Input) -> bool {
    input.is_open_file()
        || fs::metadata(input.path()).is_ok_and(|metadata| FileKind::from_metadata(&metadata) == FileKind::Pipe)
}

/// Temporary copies of pipes; dropping this removes them.
pub(super) struct SpooledInput {
    /// The sources, which refer to the copies.
    pub(super) sources: Sources,
    files: Vec<Scratch>,
}

/// Messages of the reading thread: blocks, or the error that ended them.
type Blocks = Receiver<io::Result<Vec<u8>>>;

impl SpooledInput {
    /// Copies sources that can be read only once to files; `None` if there are none. Begins the receiving stage.
    pub(super) fn spool(
        sources: &Sources,
        folder: &Path,
        cancel: &Cancel,
        progress: &Progress,
    ) -> Result<Option<Self>, LoadError> {
        let mut received = Self { sources: sources.clone(), files: Vec::new() };
        for (position, source) in sources.files().iter().enumerate() {
            if !is_read_once(&source.input) {
                continue;
            }
            progress.begin(Stage::Receiving, 0);
            let failed = |source| LoadError::Keep { folder: folder.into(), source, cache: CacheHint::default() };
            let mut file = Scratch::new(folder).map_err(failed)?;
            let blocks = blocks_of(&source.input).map_err(|error| ReadError::Io {
                path: source.path().into(),
                offset: 0,
                source: error,
            })?;
            copy(source.path(), &blocks, &mut file, folder, cancel, progress)?;
            received.sources.read_instead(position, file.path().to_owned());
            received.files.push(file);
        }
        Ok((!received.files.is_empty()).then_some(received))
    }
}

/// Returns whether an input is first copied to a file: a pipe, or a file of unknown length, as in `/proc` and `/sys`.
/// An empty file cannot be distinguished from these; its copy is empty too.
#[must_use]
pub(crate) fn is_read_once(input: &Input) -> bool {
    let is_empty = |metadata: &fs::Metadata| metadata.is_file() && metadata.len() == 0;
    is_pipe(input) || fs::metadata(input.path()).as_ref().is_ok_and(is_empty)
}

/// Returns whether an input is a pipe, so that a program may still write to it.
#[must_use]
pub(crate) fn is_pipe(input: &Input) -> bool {
    match fs::metadata(input.path()).as_ref().map(FileKind::from_metadata) {
        Ok(FileKind::Pipe) => true,
        // Some programs pass sockets to their children as standard input; they cannot be opened by path.
        Ok(FileKind::Socket) => matches!(input, Input::Stdin(_)),
        Ok(_) => false,
        // The input has no path.
        Err(_) => *input == Input::stdin(),
    }
}

/// Reads a pipe on a new thread, because a blocking read cannot be cancelled. If the receiver is dropped, the thread
/// ends after its next block, or with the process. Returns the error of a system that refuses the thread.
fn blocks_of(input: &Input) -> io::Result<Blocks> {
    let (blocks, received) = sync_channel(BLOCKS_AHEAD);
    let input = input.clone();
    threads::start("receive", move || match input {
        Input::Stdin(_) => read_blocks(io::stdin().lock(), &blocks),
        Input::File(path) | Input::Fd(path) => match File::open(path) {
            Ok(pipe) => read_blocks(pipe, &blocks),
            Err(error) => drop(blocks.send(Err(error))),
        },
    })?;
    Ok(received)
}

fn read_blocks(mut pipe: impl Read, blocks: &SyncSender<io::Result<Vec<u8>>>) {
    loop {
        let mut block = vec![0; BLOCK_BYTES];
        match pipe.read(&mut block) {
            Ok(0) => return,
            Ok(len) => {
                block.truncate(len);
                if blocks.send(Ok(block)).is_err() {
                    return; // the load was cancelled
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return drop(blocks.send(Err(error))),
        }
    }
}

fn copy(
    path: &Path,
    blocks: &Blocks,
    file: &mut Scratch,
    folder: &Path,
    cancel: &Cancel,
    progress: &Progress,
) -> Result<(), LoadError> {
    let failed = |source| LoadError::Keep { folder: folder.into(), source, cache: CacheHint::default() };
    let (mut offset, mut checked_at) = (0, 0);
    let mut is_checked = false;
    free_space::check(folder).map_err(failed)?;
    loop {
        cancel.check()?;
        let block = match blocks.recv_timeout(CANCEL_INTERVAL) {
            Ok(Ok(block)) => block,
            Ok(Err(source)) => return Err(ReadError::Io { path: path.into(), offset, source }.into()),
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => return file.file().flush().map_err(failed),
        };
        file.file().write_all(&block).map_err(failed)?;
        offset += block.len() as u64;
        progress.advance(block.len() as u64);
        if offset >= RECOGNISED_BYTES && !std::mem::replace(&mut is_checked, true) && is_refused(file.path()) {
            return Ok(());
        }
        if offset - checked_at >= free_space::CHECK_EVERY_BYTES {
            free_space::check(folder).map_err(failed)?;
            checked_at = offset;
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::path::PathBuf;
    use std::thread;

    use super::*;

    fn fifo(folder: &Path) -> PathBuf {
        let path = folder.join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo");
        assert!(made.success());
        path
    }

    #[test]
    fn a_file_is_left_where_it_is_and_a_pipe_is_read_to_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let (plain, pipe) = (folder.path().join("plain"), fifo(folder.path()));
        fs::write(&plain, "plain").unwrap();
        let (cancel, progress) = (Cancel::default(), Progress::default());
        let spool = |sources: &Sources| SpooledInput::spool(sources, folder.path(), &cancel, &progress).unwrap();
        assert!(spool(&Sources::from(&plain)).is_none());
        // More data than the channel holds, in pieces.
        let text: Vec<u8> = (0..3_000_000u32).map(|number| number as u8).collect();
        let (to, sent) = (pipe.clone(), text.clone());
        let writer = thread::spawn(move || {
            let mut pipe = File::options().write(true).open(to).unwrap();
            sent.chunks(70_001).for_each(|piece| pipe.write_all(piece).unwrap());
        });
        let received = spool(&Sources::unmoved([plain.clone(), pipe.clone()])).unwrap();
        writer.join().unwrap();
        let [first, second] = [0, 1].map(|position| received.sources.path_to_read(position).to_owned());
        assert_eq!((first, fs::read(&second).unwrap()), (plain, text));
        assert_eq!(received.sources.files()[1].path(), pipe, "it is called what it was called");
        let view = progress.view();
        assert_eq!((view.stage, view.done), (Stage::Receiving, 3_000_000));
        // An unnamed file is gone when its handle is closed. The test does not query its path, whose descriptor number
        // may be reused.
        let names = || fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(names(), if cfg!(target_os = "linux") { 2 } else { 3 });
        drop(received);
        assert_eq!(names(), 2, "nothing is left behind");
    }

    #[test]
    fn a_pipe_that_nobody_writes_to_can_be_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = fifo(folder.path());
        let cancel = Cancel::default();
        let stop = cancel.clone();
        let stopper = thread::spawn(move || {
            thread::sleep(Duration::from_millis(50));
            stop.cancel();
        });
        let taken = SpooledInput::spool(&Sources::from(&pipe), folder.path(), &cancel, &Progress::default());
        assert!(matches!(taken, Err(LoadError::Cancelled(_))));
        stopper.join().unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left behind");
        // The waiting thread gets its writer, so that it ends.
        drop(File::options().write(true).open(&pipe).unwrap());
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = fifo(folder.path());
        let nowhere = folder.path().join("none");
        let taken = SpooledInput::spool(&Sources::from(&pipe), &nowhere, &Cancel::default(), &Progress::default());
        let Err(error @ LoadError::Keep { .. }) = taken else { panic!("kept") };
        assert!(error.to_string().starts_with(&nowhere.display().to_string()), "{error}");
    }

    #[test]
    fn inputs_that_only_this_process_can_read_are_unseekable() {
        let folder = tempfile::tempdir().unwrap();
        let is_unseekable = |path: &Path| is_unseekable(&Input::from(path.to_owned()));
        for path in ["/dev/stdin", "/dev/fd/63", "/proc/self/fd/0"] {
            assert!(is_unseekable(Path::new(path)), "{path}");
        }
        assert!(is_unseekable(&fifo(folder.path())));
        assert!(
            !is_unseekable(folder.path())
                && !is_unseekable(Path::new("/none"))
                && !is_unseekable(Path::new("/dev/fdx"))
        );
    }
}

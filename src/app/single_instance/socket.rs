//! Passes the files of a second start to the open window, through a socket in a private folder of the user. Nothing
//! listens on a network.
//!
//! The process that holds the lock beside the socket owns the socket. So a new window removes the socket of a crashed
//! process but never of a live one.
//!
//! A message is `LSP1`, the length of the rest, and for each file its offset, the length of its path, and its path.
//! Numbers are little-endian. The response is one byte from the event loop, so a window that hangs takes no files.

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use super::{HandOverError, Host, SingleInstance};
use crate::app::background::spawn;
use crate::app::event::{HandedOver, TaskEvent, Wake};
use crate::base::files::make_private_folder;
use crate::model::{SourceFile, Sources};

/// How long a second start waits for a response before it opens its own window.
const PATIENCE: Duration = Duration::from_millis(500);

/// How long a window may take to accept files: less than the wait of the other process.
const ANSWER_WITHIN: Duration = Duration::from_millis(400);

/// Length limit of a message: files beyond a command line are not passed on.
const MESSAGE_BYTES_MAX: u32 = 64 * 1024;

const MAGIC: &[u8; 4] = b"LSP1";
const TAKEN: u8 = b'y';

impl SingleInstance {
    /// Returns the instance of the user's display, in the user's runtime folder. If the system has none, as after `su`,
    /// it is in a folder below `state`. Returns `None` without a private folder.
    #[must_use]
    pub(crate) fn for_user(state: Option<&Path>) -> Option<Self> {
        let display = ["WAYLAND_DISPLAY", "DISPLAY"].into_iter().find_map(|name| std::env::var(name).ok());
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let folder = runtime.filter(|folder| folder.is_dir()).or_else(|| own_folder(state?));
        Self::in_folder(&folder?, &display.unwrap_or_default())
    }

    fn in_folder(folder: &Path, display: &str) -> Option<Self> {
        /// The permission bits of others: a user who can enter the folder could put a socket there.
        const OF_OTHERS: u32 = 0o077;
        let mode = fs::metadata(folder).ok()?.permissions().mode();
        // A display may be named by a path.
        let display = display.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
        let file = |ending| folder.join(format!("longspan{display}.{ending}"));
        (mode & OF_OTHERS == 0).then(|| Self { socket: file("sock"), lock: file("lock") })
    }

    /// Passes files to the open window; `Ok` means that it has accepted them. After an error the caller opens its own
    /// window.
    pub(crate) fn hand_over(&self, sources: &Sources) -> Result<(), HandOverError> {
        let message = message_of(sources)?;
        let began = Instant::now();
        let mut stream = UnixStream::connect(&self.socket).map_err(|_| HandOverError::NoWindow)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.write_all(&message).map_err(|error| late(error, began))?;
        stream.set_read_timeout(Some(PATIENCE.saturating_sub(began.elapsed()).max(Duration::from_millis(1))))?;
        let mut answer = [0];
        stream.read_exact(&mut answer).map_err(|error| late(error, began))?;
        match answer {
            [TAKEN] => Ok(()),
            [other] => Err(HandOverError::NotAMessage { expected: "y", found: format!("byte {other}") }),
        }
    }

    /// Starts to receive files from other starts, and sends them to the event loop; `None` if another window does.
    /// Returns the error of the socket, the lock or the thread.
    pub(crate) fn host(&self, wake: &Wake) -> Result<Option<Host>, HandOverError> {
        let lock = File::options().create(true).truncate(false).write(true).open(&self.lock)?;
        if lock.try_lock().is_err() {
            return Ok(None);
        }
        match fs::remove_file(&self.socket) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        let listener = UnixListener::bind(&self.socket)?;
        // The folder already keeps others out.
        fs::set_permissions(&self.socket, Permissions::from_mode(0o600))?;
        let wake = Arc::clone(wake);
        spawn("single instance", move || {
            for stream in listener.incoming().flatten() {
                // One after the other, half a second each. The other process takes silence for a failure.
                answer(stream, &wake).ok();
            }
        })
        .map_err(|_| HandOverError::NoWindow)?;
        Ok(Some(Host { instance: self.clone(), _lock: lock }))
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        fs::remove_file(&self.instance.socket).ok(); // the next window removes it, too
    }
}

fn answer(mut stream: UnixStream, wake: &Wake) -> Result<(), HandOverError> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let sources = read_message(&mut stream)?;
    let (taken, is_taken) = sync_channel(1);
    let is_decided = Arc::new(AtomicBool::new(false));
    wake(TaskEvent::HandedOver(HandedOver::new(sources, Arc::clone(&is_decided), taken)));
    is_taken.recv_timeout(ANSWER_WITHIN).ok(); // set by whichever side decided first
    if is_decided.swap(true, Ordering::SeqCst) {
        stream.write_all(&[TAKEN])?;
    }
    Ok(())
}

/// Returns a private folder, created if it is missing.
fn own_folder(state: &Path) -> Option<PathBuf> {
    let folder = state.join("window");
    fs::create_dir_all(state).and_then(|()| make_private_folder(&folder)).ok()?;
    Some(folder)
}

fn message_of(sources: &Sources) -> Result<Vec<u8>, HandOverError> {
    let mut body = Vec::new();
    for file in sources.files() {
        // The other window has another working directory.
        let path = std::path::absolute(file.path())?;
        let path = path.as_os_str().as_bytes();
        body.extend(file.offset_ns.to_le_bytes());
        body.extend((path.len() as u32).to_le_bytes());
        body.extend(path);
    }
    let too_long = || HandOverError::TooLong { bytes: body.len(), most: MESSAGE_BYTES_MAX };
    let length = u32::try_from(body.len()).ok().filter(|length| *length <= MESSAGE_BYTES_MAX).ok_or_else(too_long)?;
    Ok([&MAGIC[..], &length.to_le_bytes(), &body].concat())
}

fn read_message(from: &mut impl Read) -> Result<Sources, HandOverError> {
    let not_a_message = |expected, found| Err(HandOverError::NotAMessage { expected, found });
    let (mut magic, mut length) = ([0; 4], [0; 4]);
    from.read_exact(&mut magic)?;
    from.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length);
    if magic != *MAGIC {
        return not_a_message("LSP1", format!("{magic:?}"));
    }
    if length > MESSAGE_BYTES_MAX {
        return not_a_message("at most 65536 bytes", format!("{length}"));
    }
    let mut body = vec![0; length as usize];
    from.read_exact(&mut body)?;
    let mut files = Vec::new();
    let mut rest = &body[..];
    while !rest.is_empty() {
        let Some(([offset, path_length], after)) = head_of(rest) else {
            return not_a_message("an offset and a length", format!("{} bytes", rest.len()));
        };
        let path_bytes = u32::try_from(path_length).unwrap_or(u32::MAX) as usize;
        let Some((path, after)) = after.split_at_checked(path_bytes) else {
            return not_a_message("a path", format!("{} bytes of {path_bytes}", after.len()));
        };
        let path = PathBuf::from(std::ffi::OsString::from_vec(path.to_vec()));
        files.push(SourceFile::new(path, offset));
        rest = after;
    }
    Ok(Sources::new(files))
}

/// Splits off the two numbers before a path.
fn head_of(rest: &[u8]) -> Option<([i64; 2], &[u8])> {
    let (offset, rest) = rest.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    Some(([i64::from_le_bytes(*offset), u32::from_le_bytes(*length).into()], rest))
}

/// Converts a timeout to its own error.
fn late(error: io::Error, began: Instant) -> HandOverError {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::UnexpectedEof => {
            HandOverError::NoAnswer { waited: began.elapsed() }
        }
        _ => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    fn files(names: &[&str]) -> Sources {
        let file = |name: &&str| SourceFile::new(PathBuf::from(name), name.len() as i64 - 3);
        Sources::new(names.iter().map(file).collect())
    }

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o700)).unwrap();
        folder
    }

    #[test]
    fn messages_are_decoded_unchanged_and_cut_or_long_ones_refused() {
        let mut odd = files(&["/a b", "/"]).files().to_vec();
        odd.push(SourceFile::new(PathBuf::from(std::ffi::OsString::from_vec(vec![b'/', 0xff])), i64::MIN));
        let odd = Sources::new(odd);
        let message = message_of(&odd).unwrap();
        assert_eq!(read_message(&mut &message[..]).unwrap(), odd);
        for length in 0..message.len() {
            assert!(read_message(&mut &message[..length]).is_err(), "{length}");
            // A wrong length, with all bytes of the message.
            let mut lies = message[..length].to_vec();
            if let Some(field) = lies.get_mut(4..8) {
                field.copy_from_slice(&(length as u32 - 8).to_le_bytes());
                assert!(read_message(&mut &lies[..]).map_or(true, |read| read != odd), "{length}");
            }
        }
        let huge = [&MAGIC[..], &u32::MAX.to_le_bytes()].concat();
        assert!(matches!(read_message(&mut &huge[..]), Err(HandOverError::NotAMessage { .. })));
        let long = "x".repeat(MESSAGE_BYTES_MAX as usize);
        assert!(matches!(message_of(&files(&[&long])), Err(HandOverError::TooLong { .. })));
    }

    #[test]
    fn files_reach_the_only_host_and_no_window_once_it_is_closed() {
        let folder = folder();
        let instance = SingleInstance::in_folder(folder.path(), ":77/x").unwrap();
        assert!(matches!(instance.hand_over(&files(&["/a"])), Err(HandOverError::NoWindow)));
        let (events, taken) = channel();
        let wake: Wake = Arc::new(move |event| {
            if let TaskEvent::HandedOver(handed) = event {
                events.send(handed).unwrap();
            }
        });
        // Left by a crash: a socket without a listener.
        drop(UnixListener::bind(&instance.socket).unwrap());
        let host = instance.host(&wake).unwrap().expect("the first hosts");
        assert!(instance.host(&wake).unwrap().is_none(), "and the second does not");
        assert_eq!(fs::metadata(&instance.socket).unwrap().permissions().mode() & 0o777, 0o600);
        let loop_of_window = std::thread::spawn(move || taken.recv().unwrap().take_sources());
        instance.hand_over(&files(&["/a", "/bc"])).unwrap();
        assert_eq!(loop_of_window.join().unwrap(), Some(files(&["/a", "/bc"])));
        drop(host);
        assert!(matches!(instance.hand_over(&files(&["/a"])), Err(HandOverError::NoWindow)));
        assert!(instance.host(&wake).unwrap().is_some(), "another may host now");
    }

    #[test]
    fn an_immediate_response_is_received() {
        let folder = folder();
        let instance = SingleInstance::in_folder(folder.path(), "w").unwrap();
        let (events, taken) = channel();
        // Before the answering thread can start to wait.
        let wake: Wake = Arc::new(move |event| {
            if let TaskEvent::HandedOver(handed) = event {
                events.send(handed.take_sources()).unwrap();
            }
        });
        let _host = instance.host(&wake).unwrap().expect("the first hosts");
        instance.hand_over(&files(&["/a"])).unwrap();
        assert_eq!(taken.recv().unwrap(), Some(files(&["/a"])));
    }

    #[test]
    fn a_window_that_answers_too_late_takes_no_files() {
        let folder = folder();
        let instance = SingleInstance::in_folder(folder.path(), "").unwrap();
        let (events, hung) = channel();
        let wake: Wake = Arc::new(move |event| events.send(event).unwrap());
        let _host = instance.host(&wake).unwrap();
        let began = Instant::now();
        assert!(matches!(instance.hand_over(&files(&["/a"])), Err(HandOverError::NoAnswer { .. })));
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
        match hung.recv().unwrap() {
            TaskEvent::HandedOver(handed) => assert_eq!(handed.take_sources(), None),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_folder_that_others_can_enter_is_refused() {
        let folder = folder();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        assert_eq!(SingleInstance::in_folder(folder.path(), ":0"), None);
    }
}

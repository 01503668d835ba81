//! Listens on a socket in a private folder. Each connection is a source, in any supported format; processes of other
//! users are refused. Replaces a socket without a listener, and no other file.

use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::super::reading_thread::{ArrivalError, LOOK_EVERY, ReadingThread};
use super::super::source_note::{Say, SourceNote};
use super::{Connections, NewSource};
use crate::base::cancel::Cancel;
use crate::base::{files, threads};

/// Connections queued to become sources.
const WAITING: usize = 4;

/// Limit for the path of a socket.
const PATH_BYTES_MAX: usize = if cfg!(any(target_os = "linux", target_os = "android")) { 107 } else { 103 };

/// The socket file; removed when listening ends.
struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        fs::remove_file(&self.0).ok(); // a later listener removes it
    }
}

/// Starts to listen at a path.
pub(super) fn listen(
    path: &Path,
    connections: Connections,
    stop: &Cancel,
    say: &Say,
) -> Result<Receiver<NewSource>, ArrivalError> {
    let failed = |source| ArrivalError::Listen { address: format!("unix:{}", path.display()), source };
    let listener = bind(path).map_err(failed)?;
    let file = SocketFile(path.to_owned());
    listener.set_nonblocking(true).map_err(failed)?;
    let (out, new) = bounded(WAITING);
    let (stop, say) = (stop.clone(), say.clone());
    say(SourceNote::passing(format!("listening at unix:{}", path.display())));
    threads::start("listen", move || {
        Listening { listener, connections, stop, say, out, has_refused: false }.accept_all(file);
    })
    .map_err(failed)?;
    Ok(new)
}

/// Binds a listener, and creates its folder, which must be private.
fn bind(path: &Path) -> io::Result<UnixListener> {
    let bytes = path.as_os_str().len();
    if bytes > PATH_BYTES_MAX {
        let why = format!(
            "its path has {bytes} bytes, and the system allows {PATH_BYTES_MAX}: choose a shorter one, or change to its \
             folder and name it from there"
        );
        return Err(io::Error::new(io::ErrorKind::InvalidFilename, why));
    }
    files::make_secret_folder(files::folder_of(path))?;
    match fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.file_type().is_socket() => {
            let why = "something else is at this path, and is left unchanged";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
        }
        Ok(_) if UnixStream::connect(path).is_ok() => {
            return Err(io::Error::new(io::ErrorKind::AddrInUse, "another program listens there"));
        }
        Ok(_) => fs::remove_file(path)?,
        Err(_) => {}
    }
    UnixListener::bind(path)
}

struct Listening {
    listener: UnixListener,
    connections: Connections,
    stop: Cancel,
    say: Say,
    out: Sender<NewSource>,
    /// Whether a message about too many connections was shown.
    has_refused: bool,
}

impl Listening {
    fn accept_all(mut self, file: SocketFile) {
        loop {
            // Earlier connections are accepted even if the session is to end.
            let is_last = self.stop.is_cancelled();
            match self.listener.accept() {
                Ok((stream, _)) => {
                    if !self.add_source(stream) {
                        break;
                    }
                }
                Err(_) if is_last => break,
                // There may be no free file handles: open connections continue, and free some.
                Err(_) => thread::sleep(LOOK_EVERY),
            }
        }
        // Removed before the channel closes.
        drop(file);
    }

    /// Makes a connection a source. Returns false once the receiver is gone.
    fn add_source(&mut self, stream: UnixStream) -> bool {
        let name = match peer(&stream) {
            Ok(name) => name,
            Err(who) => {
                let text = format!("{who} was refused: only programs of this user may connect");
                (self.say)(SourceNote::lasting(text));
                return true;
            }
        };
        let Some(counted) = self.connections.count() else {
            if !std::mem::replace(&mut self.has_refused, true) {
                let most = self.connections.most;
                let text = format!("more than {most} connections at once: others are refused");
                (self.say)(SourceNote::lasting(text));
            }
            return true;
        };
        if stream.set_nonblocking(false).is_err() {
            return true;
        }
        let read = move |mut thread: ReadingThread| {
            thread.read_connection(stream);
            drop(counted);
        };
        self.out.send(NewSource { name, sends_batches: false, read: Box::new(read) }).is_ok()
    }
}

/// Returns the name of the program at the other end, or an error that names the refused user.
#[cfg(target_os = "linux")]
fn peer(stream: &UnixStream) -> Result<PathBuf, String> {
    let unknown = |_| "a program that the system does not identify".to_owned();
    let peer = rustix::net::sockopt::socket_peercred(stream).map_err(unknown)?;
    let (uid, pid) = (peer.uid.as_raw(), peer.pid.as_raw_nonzero().get());
    if uid != files::user() {
        return Err(format!("process {pid} of user {uid}"));
    }
    let command = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let command = command.trim().replace('/', "_");
    Ok(if command.is_empty() { format!("process {pid}") } else { format!("{command} ({pid})") }.into())
}

/// Returns the name of the program at the other end; the folder keeps other users out.
#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "as on Linux")]
fn peer(_stream: &UnixStream) -> Result<PathBuf, String> {
    Ok("connection".into())
}

//! Starts a program for its output, and ends it with all its descendants.
//!
//! Without a terminal, the program leads its own process group, which a signal reaches as a whole. In a terminal it
//! stays in the group of the terminal: elsewhere, a program such as `sudo` could not ask for a password. Its
//! descendants are then found one by one. Neither reaches a program that detaches itself, as daemons do.

use std::ffi::OsString;
use std::io;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a program and its descendants have ended, as far as the reader of its output knows.
#[derive(Debug, Clone)]
pub(super) struct CommandEnd {
    has_ended: Arc<AtomicBool>,
    leads_group: bool,
}

impl CommandEnd {
    /// Called at the end of the output, which none of the processes can write to any more.
    pub(super) fn set(&self) {
        self.has_ended.store(true, Ordering::SeqCst);
    }

    /// Called after the program has ended. The rest of its group may still run; without a group, another program may
    /// have its process id by now.
    pub(super) fn set_waited(&self) {
        if !self.leads_group {
            self.set();
        }
    }

    fn is_set(&self) -> bool {
        self.has_ended.load(Ordering::SeqCst)
    }
}

/// A program that was started for its output.
#[derive(Debug)]
pub(crate) struct StartedCommand {
    #[cfg(unix)]
    group: unix::ProcessGroup,
    end: CommandEnd,
    was_asked: AtomicBool,
}

impl StartedCommand {
    /// Starts a program with its arguments. Returns the error of the system.
    pub(super) fn start(words: &[OsString]) -> io::Result<(Child, Self)> {
        let [program, arguments @ ..] = words else { return Err(io::ErrorKind::InvalidInput.into()) };
        let mut command = Command::new(program);
        command.args(arguments).stdout(Stdio::piped());
        #[cfg(unix)]
        let leads_group = unix::lead_group(&mut command);
        #[cfg(not(unix))]
        let leads_group = false;
        let child = command.spawn()?;
        let started = Self {
            #[cfg(unix)]
            group: unix::ProcessGroup { pid: child.id(), is_leader: leads_group },
            end: CommandEnd { has_ended: Arc::default(), leads_group },
            was_asked: AtomicBool::new(false),
        };
        Ok((child, started))
    }

    /// Returns the flag that the reader of its output sets at the end.
    pub(super) fn end(&self) -> CommandEnd {
        self.end.clone()
    }

    /// Interrupts the program, like Ctrl+C.
    pub(crate) fn interrupt(&self) {
        self.was_asked.store(true, Ordering::SeqCst);
        #[cfg(unix)]
        if !self.end.is_set() {
            self.group.interrupt();
        }
    }
}

impl Drop for StartedCommand {
    /// Terminates a program that was interrupted and still runs: programs that shells start in the background ignore
    /// Ctrl+C.
    fn drop(&mut self) {
        #[cfg(unix)]
        if self.was_asked.load(Ordering::SeqCst) && !self.end.is_set() {
            self.group.terminate();
        }
    }
}

#[cfg(unix)]
mod unix {
    use std::fs::{self, File};
    use std::io::{self, IsTerminal as _};
    use std::os::unix::process::CommandExt as _;
    use std::process::Command;

    use rustix::process::{Pid, Signal, kill_process, kill_process_group};

    use crate::base::signals;

    /// Limit for the descendants to look up.
    const DESCENDANTS_MAX: usize = 1000;

    /// A program and its descendants.
    #[derive(Debug)]
    pub(super) struct ProcessGroup {
        pub(super) pid: u32,
        /// Whether it leads its own process group.
        pub(super) is_leader: bool,
    }

    /// Makes the program lead a group, unless there is a terminal that it may want to use.
    pub(super) fn lead_group(command: &mut Command) -> bool {
        let is_leader = File::open("/dev/tty").is_err();
        if is_leader {
            command.process_group(0);
        }
        is_leader
    }

    impl ProcessGroup {
        pub(super) fn interrupt(&self) {
            // Ctrl+C in a terminal has reached all of them.
            if self.is_leader || !(signals::is_interrupted() && io::stdin().is_terminal()) {
                self.signal(Signal::INT);
            }
        }

        pub(super) fn terminate(&self) {
            self.signal(Signal::TERM);
        }

        /// Signals all processes; each may have ended.
        fn signal(&self, signal: Signal) {
            let Some(pid) = pid(self.pid) else { return };
            if self.is_leader {
                kill_process_group(pid, signal).ok();
            } else {
                // Children first: a parent may start another when it sees them end.
                let descendants = descendants(self.pid);
                descendants.into_iter().rev().filter_map(self::pid).for_each(|pid| _ = kill_process(pid, signal).ok());
                kill_process(pid, signal).ok();
            }
        }
    }

    fn pid(pid: u32) -> Option<Pid> {
        i32::try_from(pid).ok().and_then(Pid::from_raw)
    }

    /// Returns the descendants of a process, parents before children; empty if the system does not report them.
    fn descendants(pid: u32) -> Vec<u32> {
        let mut all = vec![pid];
        let mut position = 0;
        while let Some(&parent) = all.get(position).filter(|_| all.len() <= DESCENDANTS_MAX) {
            position += 1;
            let threads = fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
            for children in threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok()) {
                all.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
            }
        }
        all.split_off(1)
    }
}

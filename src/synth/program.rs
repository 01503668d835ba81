//! The model of a traced program: its processes and threads, its functions and its call graph. The same seed gives the
//! same program. The only model of time is how a thread spends it.

use super::random::Random;
use crate::model::{Id, Metadata, NameIdx, Names, Registry, TrackIdx, TrackKey, TrackTables};

/// Functions per level of the call graph: few roots, many leaves, some three thousand names in all.
const LEVELS: [usize; 6] = [48, 160, 400, 700, 900, 900];
/// Callees per function; real functions call few, and some of them nearly always.
const CALLEES: usize = 8;
/// Threads per process, so that many threads make several processes.
const THREADS_PER_PROCESS: u32 = 16;

/// Parts of the names of functions, such as `render::update_frame`.
const CATEGORIES: [&str; 12] =
    ["render", "physics", "audio", "assets", "network", "script", "ui", "memory", "input", "animation", "jobs", "io"];
const VERBS: [&str; 24] = [
    "update", "draw", "load", "compute", "resolve", "flush", "build", "cull", "sort", "merge", "decode", "upload",
    "poll", "step", "apply", "visit", "collect", "bind", "submit", "parse", "hash", "copy", "wait_for", "scan",
];
const NOUNS: [&str; 40] = [
    "frame",
    "scene",
    "mesh",
    "texture",
    "shadow_map",
    "light",
    "particle",
    "collider",
    "island",
    "contact",
    "joint",
    "bone",
    "pose",
    "clip",
    "voice",
    "mixer",
    "packet",
    "socket",
    "request",
    "response",
    "script",
    "closure",
    "event",
    "widget",
    "layout",
    "glyph",
    "buffer",
    "arena",
    "page",
    "chunk",
    "index",
    "table",
    "queue",
    "job",
    "batch",
    "pass",
    "pipeline",
    "query",
    "fence",
    "cache",
];

/// How a thread spends its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// One long span per frame.
    Frames,
    /// A burst of jobs at the start of a frame, then idle.
    Jobs,
    /// Occasional long work, and long idle gaps.
    Background,
}

/// A thread of the program.
#[derive(Debug, Clone, Copy)]
pub(super) struct ThreadPlan {
    pub(crate) track: TrackIdx,
    pub(crate) role: Role,
    /// Its index in its process.
    pub(crate) index: u32,
    /// The index of its process.
    pub(crate) process: u32,
}

#[derive(Debug, Clone, Copy)]
struct Function {
    name: NameIdx,
    callees: [u16; CALLEES],
}

#[derive(Debug)]
pub(super) struct Program {
    functions: Vec<Function>,
    threads: Vec<ThreadPlan>,
    /// Names of all functions, and others that were interned.
    pub(crate) names: Names,
    /// Processes and threads, and others that were registered.
    pub(crate) registry: Registry,
}

impl Program {
    /// Creates the program of `seed` with `threads` threads.
    #[must_use]
    pub(super) fn new(seed: u64, threads: u32) -> Self {
        let mut random = Random::new(seed, 0);
        let mut names = Names::default();
        let functions = call_graph(&mut random, &mut names);
        let mut registry = Registry::default();
        let threads = (0..threads).map_while(|thread| plan_thread(&mut registry, thread)).collect();
        Self { functions, threads, names, registry }
    }

    #[must_use]
    pub(super) fn threads(&self) -> &[ThreadPlan] {
        &self.threads
    }

    /// Returns the tables of its processes and tracks.
    #[must_use]
    pub(super) fn tracks(&self) -> &TrackTables {
        self.registry.tables()
    }

    /// Returns the name of a function.
    #[must_use]
    pub(super) fn name(&self, function: u16) -> NameIdx {
        self.functions[usize::from(function)].name
    }

    /// Returns a root function for a thread with this role: each role has a third of the roots.
    #[must_use]
    pub(super) fn root(role: Role, random: &mut Random) -> u16 {
        let share = LEVELS[0] as u64 / 3;
        let first = match role {
            Role::Frames => 0,
            Role::Jobs => share,
            Role::Background => 2 * share,
        };
        (first + random.skewed_below(share)) as u16
    }

    /// Returns callee number `choice` of a function.
    #[must_use]
    pub(super) fn callee(&self, function: u16, choice: u64) -> u16 {
        self.functions[usize::from(function)].callees[choice as usize % CALLEES]
    }
}

/// Builds the functions of all levels. Each calls functions of the next level.
fn call_graph(random: &mut Random, names: &mut Names) -> Vec<Function> {
    let mut functions = Vec::new();
    let mut level_start = 0;
    for (level, &count) in LEVELS.iter().enumerate() {
        // The last level calls itself, so that only the requested depth limits nesting.
        let (callees_start, callees_count) = match LEVELS.get(level + 1) {
            Some(&next) => (level_start + count, next),
            None => (level_start, count),
        };
        for number in 0..count {
            let category = word(&CATEGORIES, random);
            let verb = word(&VERBS, random);
            let noun = word(&NOUNS, random);
            let mut text = format!("{category}::{verb}_{noun}");
            if names.intern(&text, Some(category)).index() < functions.len() + 1 {
                text = format!("{text}_{level}_{number}");
            }
            let callees =
                std::array::from_fn(|_| (callees_start as u64 + random.skewed_below(callees_count as u64)) as u16);
            functions.push(Function { name: names.intern(&text, Some(category)), callees });
        }
        level_start += count;
    }
    functions
}

fn word(words: &[&'static str], random: &mut Random) -> &'static str {
    words[random.below(words.len() as u64) as usize]
}

/// Plans a thread; `None` if the tables have no room for another.
fn plan_thread(registry: &mut Registry, thread: u32) -> Option<ThreadPlan> {
    const PROGRAMS: [&str; 4] = ["game", "editor", "asset server", "browser"];
    let (process, index) = (thread / THREADS_PER_PROCESS, thread % THREADS_PER_PROCESS);
    let (role, name) = match index {
        0 => (Role::Frames, "main".to_owned()),
        1 => (Role::Frames, "render".to_owned()),
        2 => (Role::Background, "io".to_owned()),
        3 => (Role::Background, "network".to_owned()),
        worker => (Role::Jobs, format!("worker {}", worker - 3)),
    };
    let pid = Id::Number(i64::from(process) * 1000 + 1000);
    let tid = Id::Number(i64::from(process) * 1000 + 1000 + i64::from(index));
    if index == 0 {
        let program = PROGRAMS[process as usize % PROGRAMS.len()];
        let name = if (process as usize) < PROGRAMS.len() { program.into() } else { format!("{program} {process}") };
        registry.apply(&Metadata::ProcessName { pid: pid.clone(), name: name.into() });
        registry.apply(&Metadata::ProcessSortIndex { pid: pid.clone(), sort_index: process.into() });
    }
    let key = TrackKey::thread(pid.clone(), tid.clone());
    let track = registry.track(&key)?;
    registry.apply(&Metadata::ThreadName { pid: pid.clone(), tid: tid.clone(), name: name.into() });
    registry.apply(&Metadata::ThreadSortIndex { pid, tid, sort_index: index.into() });
    Some(ThreadPlan { track, role, index, process })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_has_a_name_of_its_own_and_calls_functions_that_exist() {
        let program = Program::new(1, 40);
        assert_eq!(program.functions.len(), LEVELS.iter().sum::<usize>());
        let names: std::collections::BTreeSet<_> = program.functions.iter().map(|function| function.name).collect();
        assert_eq!(names.len(), program.functions.len());
        let count = program.functions.len();
        assert!(
            program.functions.iter().all(|function| function.callees.iter().all(|&callee| usize::from(callee) < count))
        );
        assert_eq!(program.tracks().processes.len(), 3);
        assert_eq!(&*program.tracks().tracks[17].name, "render");
    }
}

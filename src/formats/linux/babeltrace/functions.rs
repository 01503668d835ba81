//! Functions of programs that are compiled with `-finstrument-functions`, as `LTTng` records them: by address, when
//! they are entered and left. Events about loaded files locate an address in its file, so that it can be symbolized.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::value::{LttngFields, unsigned};
use crate::formats::output::batch::BatchBuilder;
use crate::formats::output::modules::{FrameFile, FrameModules};
use crate::model::{BuildId, EventKind, ModuleKind, NameIdx, SourcePos};

/// Limit for loaded files of all processes, and for their paths, as in Linux.
const FILES_MAX: usize = 1 << 15;
const PATH_BYTES_MAX: usize = 4096;

/// The files that processes have loaded.
#[derive(Debug, Default)]
pub(super) struct LoadedFiles {
    by_process: FxHashMap<i64, BTreeMap<u64, LoadedFile>>,
    count: usize,
    modules: FrameModules,
}

#[derive(Debug)]
struct LoadedFile {
    end: u64,
    path: String,
    /// Whether addresses are relative to the start of the file in memory.
    is_relative: bool,
    build_id: Option<BuildId>,
}

/// Returns whether an event enters or leaves a function.
pub(super) fn function_side(name: &[u8]) -> Option<EventKind> {
    let name = name.strip_prefix(b"lttng_ust_cyg_profile")?;
    match name.strip_prefix(b"_fast").unwrap_or(name) {
        b":func_entry" => Some(EventKind::Begin),
        b":func_exit" => Some(EventKind::End),
        _ => None,
    }
}

impl LoadedFiles {
    /// Learns from an event that a process has loaded a file, or the build-id of a file. Ignores other events.
    pub(super) fn learn(&mut self, pid: i64, event: &[u8], fields: &LttngFields) {
        if !event.starts_with(b"lttng_ust_") {
            return;
        }
        let Some(start) = fields.unsigned("baddr") else { return };
        if let (Some(len), Some(path)) = (fields.unsigned("memsz"), fields.text("path")) {
            if path.len() > PATH_BYTES_MAX {
                return;
            }
            let is_relative = fields.number("is_pic") != Some(0);
            let file = LoadedFile { end: start.saturating_add(len), path, is_relative, build_id: None };
            if self.count < FILES_MAX && self.by_process.entry(pid).or_default().insert(start, file).is_none() {
                self.count += 1;
            }
        } else if let Some(bytes) = fields.json("build_id")
            && let Some(file) = self.by_process.get_mut(&pid).and_then(|files| files.get_mut(&start))
        {
            file.build_id = build_id(bytes);
        }
    }

    /// Returns the name of a function: its offset in its file, or the address if no file is known.
    pub(super) fn name(&mut self, pid: i64, address: u64, pos: SourcePos, batch: &mut BatchBuilder) -> NameIdx {
        let files = self.by_process.get(&pid);
        let file = files.and_then(|files| files.range(..=address).next_back()).filter(|(_, file)| address < file.end);
        let (file, address) = match file {
            Some((start, LoadedFile { path, build_id, is_relative, .. })) => {
                let (kind, base) = if *is_relative { (ModuleKind::Image, *start) } else { (ModuleKind::Linked, 0) };
                (FrameFile { path: path.as_bytes(), build_id: build_id.clone(), kind }, address - base)
            }
            None => (FrameFile { path: b"", build_id: None, kind: ModuleKind::Unknown }, address),
        };
        let frame = self.modules.frame(file, address, batch);
        batch.name(&frame.text, frame.category.as_deref().map(str::as_bytes), pos)
    }
}

/// Decodes the bytes of a build-id, which are an array of numbers or texts.
fn build_id(json: &str) -> Option<BuildId> {
    let values: Vec<&serde_json::value::RawValue> = serde_json::from_str(json).ok()?;
    let byte = |value: &&serde_json::value::RawValue| u8::try_from(unsigned(value.get())?).ok();
    BuildId::new(&values.iter().map(byte).collect::<Option<Vec<u8>>>()?)
}

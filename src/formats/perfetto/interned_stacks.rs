//! Interns stacks, frames and mappings of a Perfetto trace that is written, each once. Frames are functions by name and
//! module. Addresses of functions are made up, since a trace has no addresses of symbolized functions.

use rustc_hash::FxHashMap;

use super::fields::{callstack, frame, interned_data, interned_string, mapping};
use super::own_fields::own_mapping;
use crate::formats::output::modules::ModulesByCategory;
use crate::formats::protobuf::encode::{push_bytes, push_message, push_number};
use crate::model::frame_sources::{FrameSource, FrameSources};
use crate::model::modules::address_of;
use crate::model::{Module, NameIdx, Names, StackIdx, Stacks};

/// The mapping of frames without a module: Perfetto drops frames without a mapping.
const NO_MODULE: u64 = 1;

/// Bit of the made-up addresses of functions. They are outside any file, so that no tool symbolizes them.
pub(super) const MADE_UP_ADDRESS_BIT: u64 = 1 << 62;

#[derive(Debug)]
pub(super) struct InternedStacks<'a> {
    names: &'a Names,
    stacks: &'a Stacks,
    sources: &'a FrameSources<'a>,
    modules: ModulesByCategory<'a>,
    /// Whether a stack is interned, by stack row.
    stacked: Vec<bool>,
    /// Whether the text of a function is interned, by name row.
    named: Vec<bool>,
    /// Iids of the interned frames: a function has one without a source line, and one for each line.
    frames: FxHashMap<(NameIdx, Option<(u32, u32)>), u64>,
    /// Whether the path of a source file is interned, by its index.
    sourced: Vec<bool>,
    /// Iids of the interned mappings by frame category; `None` for frames without a module.
    mappings: FxHashMap<Option<&'a str>, u64>,
}

impl<'a> InternedStacks<'a> {
    pub(super) fn new(
        names: &'a Names,
        (stacks, sources): (&'a Stacks, &'a FrameSources<'a>),
        modules: &'a [Module],
    ) -> Self {
        Self {
            names,
            stacks,
            sources,
            modules: ModulesByCategory::new(modules),
            stacked: vec![false; stacks.len()],
            named: vec![false; names.len()],
            frames: FxHashMap::default(),
            sourced: vec![false; sources.files.len()],
            mappings: FxHashMap::default(),
        }
    }

    /// Adds a stack and its frames to the interned data, unless it is interned already.
    pub(super) fn intern(&mut self, stack: StackIdx, interned: &mut Vec<u8>) {
        let Some(is_interned) = self.stacked.get_mut(stack.index()) else { return };
        if std::mem::replace(is_interned, true) {
            return;
        }
        let path: Vec<StackIdx> = self.stacks.path(stack).collect();
        let frames: Vec<u64> = path.into_iter().rev().map(|stack| self.intern_frame(stack, interned)).collect();
        push_message(interned, interned_data::CALLSTACKS, |bytes| {
            push_number(bytes, callstack::IID, u64::from(stack.0) + 1);
            frames.iter().for_each(|&iid| push_number(bytes, callstack::FRAME_IDS, iid));
        });
    }

    /// Returns the iid of the innermost frame of a stack, after adding its function and source file if they are new.
    fn intern_frame(&mut self, stack: StackIdx, interned: &mut Vec<u8>) -> u64 {
        let (name, source) = (self.stacks.get(stack).name, self.sources.get(stack));
        let key = (name, source.map(|source| (source.file_row, source.line)));
        if let Some(&iid) = self.frames.get(&key) {
            return iid;
        }
        let iid = 1 + self.frames.len() as u64;
        self.frames.insert(key, iid);
        let row = self.names.get(name);
        let category = row.category.filter(|category| !category.is_empty());
        let mapping_iid = self.intern_mapping(category, interned);
        let address = category.and_then(|_| address_of(row.text)).unwrap_or(MADE_UP_ADDRESS_BIT | iid);
        let function_iid = u64::from(name.0) + 1;
        if let Some(is_named) = self.named.get_mut(name.index())
            && !std::mem::replace(is_named, true)
        {
            push_message(interned, interned_data::FUNCTION_NAMES, |bytes| {
                push_number(bytes, interned_string::IID, function_iid);
                push_bytes(bytes, interned_string::STR, row.text.as_bytes());
            });
        }
        let source = source.map(|source| (self.intern_source(source, interned), source.line));
        push_message(interned, interned_data::FRAMES, |bytes| {
            push_number(bytes, frame::IID, iid);
            push_number(bytes, frame::FUNCTION_NAME_ID, function_iid);
            push_number(bytes, frame::MAPPING_ID, mapping_iid);
            push_number(bytes, frame::REL_PC, address);
            if let Some((source_iid, line)) = source {
                push_number(bytes, frame::SOURCE_PATH_IID, source_iid);
                if line > 0 {
                    push_number(bytes, frame::LINE_NUMBER, line.into());
                }
            }
        });
        iid
    }

    /// Returns the iid of the path of a source file, after adding it if it is new.
    fn intern_source(&mut self, source: FrameSource<'_>, interned: &mut Vec<u8>) -> u64 {
        let iid = u64::from(source.file_row) + 1;
        if let Some(is_sourced) = self.sourced.get_mut(source.file_row as usize)
            && !std::mem::replace(is_sourced, true)
        {
            push_message(interned, interned_data::SOURCE_PATHS, |bytes| {
                push_number(bytes, interned_string::IID, iid);
                push_bytes(bytes, interned_string::STR, source.file.as_bytes());
            });
        }
        iid
    }

    /// Returns the iid of the mapping of a frame category. Adds it with its path and build-id if it is new.
    fn intern_mapping(&mut self, category: Option<&'a str>, interned: &mut Vec<u8>) -> u64 {
        if let Some(&iid) = self.mappings.get(&category) {
            return iid;
        }
        let iid = category.map_or(NO_MODULE, |_| NO_MODULE + 1 + self.mappings.len() as u64);
        self.mappings.insert(category, iid);
        let module = category.map(|category| self.modules.get(category));
        let build_id = module.and_then(|module| module.build_id);
        let texts = [
            (interned_data::MAPPING_PATHS, module.map(|module| module.path.as_bytes())),
            (interned_data::BUILD_IDS, build_id.map(AsRef::as_ref)),
        ];
        for (table, text) in texts.into_iter().filter_map(|(table, text)| Some((table, text?))) {
            push_message(interned, table, |bytes| {
                push_number(bytes, interned_string::IID, iid);
                push_bytes(bytes, interned_string::STR, text);
            });
        }
        push_message(interned, interned_data::MAPPINGS, |bytes| {
            push_number(bytes, mapping::IID, iid);
            if build_id.is_some() {
                push_number(bytes, mapping::BUILD_ID, iid);
            }
            if let Some(module) = module {
                push_number(bytes, mapping::PATH_STRING_IDS, iid);
                push_number(bytes, own_mapping::MODULE_KIND, module.kind.number());
            }
        });
        iid
    }
}

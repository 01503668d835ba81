//! The names of the addresses of one module, with the files that they come from and the reasons for missing ones.

use std::path::PathBuf;
use std::time::SystemTime;

use super::names::{AddressNames, AddressNamesBuilder, FunctionName};
use super::search::ModuleSearch;
use super::state::NameState;
use crate::base::demangle::demangle;
use crate::model::BuildId;

/// The resolved addresses of one module, and where their names come from.
#[derive(Debug, Clone, Default)]
pub(crate) struct ModuleNames {
    pub(crate) names: AddressNames,
    pub(crate) state: NameState,
    /// The file that the names come from, or that is another build.
    pub(crate) path: Option<PathBuf>,
    /// Whether the file is known to be the recorded one.
    pub(crate) is_verified: bool,
    /// The build-id of the file, if the trace has none.
    pub(crate) own_build_id: Option<BuildId>,
    /// The searched paths of all used files, including files named by other files.
    pub(super) used: Vec<PathBuf>,
    /// The folder of missing `.dwo` files that is outside the searched folders.
    pub(super) split_folder: Option<PathBuf>,
    /// The build-id of the missing file to which `dwz` moved shared parts.
    pub(super) missing_shared: Option<BuildId>,
    /// Sorted addresses of JIT-compiled code at which several functions were, so that samples may belong to another
    /// function.
    pub(super) replaced: Vec<u64>,
}

impl ModuleNames {
    /// Returns when the file that the names come from was built, by its modification time.
    pub(super) fn built(&self) -> Option<SystemTime> {
        std::fs::metadata(self.path.as_ref()?).ok()?.modified().ok()
    }

    /// Adds the files of a search.
    pub(super) fn with_search(mut self, search: ModuleSearch) -> Self {
        let missing_shared = search.best().and_then(|best| best.missing_shared.clone());
        self.used.extend(search.used);
        Self { own_build_id: search.own_build_id, missing_shared, ..self }
    }
}

/// Names addresses by functions alone. `find` returns mangled names.
pub(super) fn function_names<'f>(addresses: &[u64], find: impl Fn(u64) -> Option<&'f [u8]>) -> AddressNames {
    let mut builder = AddressNamesBuilder::default();
    for &address in addresses {
        let name = find(address).map(demangle);
        builder.push(address, name.iter().map(|name| FunctionName { name, ..FunctionName::default() }));
    }
    builder.finish()
}

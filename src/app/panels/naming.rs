//! Resolves the names of the addresses of a trace, and passes them to the panels that need them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Panels;
use crate::app::typed_path::absolute_folder;
use crate::model::Sources;
use crate::query::Snapshot;
use crate::ui::panels::dock_panel::DockPanel as _;
use crate::ui::questions::{CodeQuestion, CodeRequest, NameQuery, NamedTrace, Question, TraceByAddress};

impl Panels {
    /// Returns the folders that are searched for the names of a trace; none if it has no addresses.
    #[must_use]
    pub(in crate::app) fn symbol_folders(&self, snapshot: &Snapshot) -> &[PathBuf] {
        let query = self.name_query.as_ref().filter(|query| query.is_wanted);
        let query = query.filter(|_| !snapshot.tracks().modules.is_empty());
        query.map_or(&[], |query| &query.folders)
    }

    /// Returns the symbol query of these files, if the user has added folders since they were opened. The offsets of
    /// the files may have changed.
    pub(in crate::app) fn located(&self, sources: &Sources) -> Option<&NameQuery> {
        let has_same_files = |query: &NameQuery| {
            query.sources.files().iter().map(|file| &file.input).eq(sources.files().iter().map(|file| &file.input))
        };
        self.name_query.as_ref().filter(|query| query.is_located && has_same_files(query))
    }

    /// Sets the symbol query of a trace that is still imported, for folders that the user adds meanwhile.
    pub(in crate::app) fn set_name_query(&mut self, query: NameQuery) {
        self.name_query = Some(self.with_located(query));
    }

    /// Resolves the names of a trace that was imported, with the folders that the user has added to its files.
    pub(in crate::app) fn find_names_again(&mut self, query: NameQuery, snapshot: &Snapshot) {
        self.find_names(self.with_located(query), snapshot);
    }

    /// Returns a query with the folders that the user has added to the same files.
    fn with_located(&self, query: NameQuery) -> NameQuery {
        match self.located(&query.sources) {
            Some(known) => NameQuery { sources: query.sources, ..known.clone() },
            None => query,
        }
    }

    /// Resolves the names of the addresses of a trace, if it has any.
    fn find_names(&mut self, query: NameQuery, snapshot: &Snapshot) {
        self.name_query = Some(query.clone());
        self.by_address = TraceByAddress::default();
        if query.is_wanted && !snapshot.tracks().modules.is_empty() {
            self.ask(Question::Names(query), snapshot);
        }
    }

    /// Resolves names again, with a folder searched first.
    pub(in crate::app) fn locate(&mut self, folder: &Path, snapshot: &Snapshot) {
        if let Some(query) = self.query_with(folder) {
            self.find_names(query, snapshot);
        }
    }

    /// Shows a chosen folder in the field of the panel, as if it was typed.
    pub(in crate::app) fn show_symbol_folder(&mut self, folder: &Path) {
        self.set.symbols.set_folder(folder);
    }

    /// Adds a folder that is searched first when the import has ended.
    pub(in crate::app) fn locate_later(&mut self, folder: &Path) {
        self.name_query = self.query_with(folder);
    }

    /// Returns the symbol query with another folder, which is searched first.
    fn query_with(&self, folder: &Path) -> Option<NameQuery> {
        let mut query = self.name_query.clone()?;
        let folder = absolute_folder(folder);
        query.folders.retain(|known| absolute_folder(known) != folder);
        query.folders.insert(0, folder);
        (query.is_wanted, query.is_located, query.compares_stacks) = (true, true, true);
        Some(query)
    }

    /// Lists the code of a function, once names are resolved. Without names, the panel says so.
    pub(super) fn ask_code(&mut self, request: CodeRequest, snapshot: &Snapshot) {
        let (Some(query), Some(found)) = (self.name_query.clone(), self.resolved_names.clone()) else {
            return self.set.code.wait_for_names();
        };
        let by_address = self.by_address.clone();
        self.ask(Question::Code(Box::new(CodeQuestion { request, query, found, by_address })), snapshot);
    }

    /// Returns names that were resolved since the last call.
    pub(in crate::app) fn take_named(&mut self) -> Option<Arc<NamedTrace>> {
        self.pending_names.take()
    }

    /// Shows the modules of a trace with resolved names.
    pub(in crate::app) fn set_modules(&mut self, named: &NamedTrace, snapshot: &Snapshot) {
        self.resolved_names = Some(named.found.clone());
        // A request that arrived before the names is repeated.
        self.set.code.forget();
        self.set.symbols.set_modules(named, snapshot);
        let Some(query) = &mut self.name_query else { return };
        // A missing folder is not searched again.
        if let Some((missing, _)) = &named.missing_folder {
            query.folders.retain(|folder| folder != missing);
        }
        // A part has only some of the stacks of the trace.
        query.compares_stacks &= snapshot.summary().sorted_to_ns.is_some();
    }
}

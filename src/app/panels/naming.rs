//! Resolves the names of the addresses of a trace, and passes them to the panels that need them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Panels;
use crate::app::event::TabWake;
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

    /// Returns the symbol query, if the user has added folders since the trace was opened.
    pub(in crate::app) fn located(&self, sources: &Sources) -> Option<&NameQuery> {
        self.name_query.as_ref().filter(|query| query.is_located && query.sources == *sources)
    }

    /// Resolves the names of a trace that was imported again, with the folders that the user has added.
    pub(in crate::app) fn find_names_again(&mut self, query: NameQuery, snapshot: &Snapshot, wake: &TabWake) {
        let query = match self.located(&query.sources) {
            Some(known) => known.clone(),
            None => query,
        };
        self.find_names(query, snapshot, wake);
    }

    /// Resolves the names of the addresses of a trace, if it has any.
    pub(in crate::app) fn find_names(&mut self, query: NameQuery, snapshot: &Snapshot, wake: &TabWake) {
        self.name_query = Some(NameQuery { compares_stacks: false, ..query.clone() });
        self.by_address = TraceByAddress::default();
        if query.is_wanted && !snapshot.tracks().modules.is_empty() {
            self.ask(Question::Names(query), snapshot, wake);
        }
    }

    /// Resolves names again, with a folder searched first.
    pub(super) fn locate(&mut self, folder: &Path, snapshot: &Snapshot, wake: &TabWake) {
        let Some(mut query) = self.name_query.clone() else { return };
        let folder = absolute_folder(folder);
        query.folders.retain(|known| absolute_folder(known) != folder);
        query.folders.insert(0, folder);
        (query.is_wanted, query.is_located, query.compares_stacks) = (true, true, true);
        self.find_names(query, snapshot, wake);
    }

    /// Lists the code of a function, once names are resolved.
    pub(super) fn ask_code(&mut self, request: CodeRequest, snapshot: &Snapshot, wake: &TabWake) {
        if let (Some(query), Some(found)) = (self.name_query.clone(), self.found.clone()) {
            let by_address = self.by_address.clone();
            self.ask(Question::Code(Box::new(CodeQuestion { request, query, found, by_address })), snapshot, wake);
        }
    }

    /// Returns names that were resolved since the last call.
    pub(in crate::app) fn take_named(&mut self) -> Option<Arc<NamedTrace>> {
        self.named.take()
    }

    /// Shows the modules of a trace with resolved names.
    pub(in crate::app) fn set_modules(&mut self, named: &NamedTrace, snapshot: &Snapshot) {
        self.found = Some(named.found.clone());
        // A request that arrived before the names is repeated.
        self.set.code.forget();
        self.set.symbols.set_modules(named, snapshot);
        // A missing folder is not searched again.
        if let (Some(query), Some((missing, _))) = (&mut self.name_query, &named.missing_folder) {
            query.folders.retain(|folder| folder != missing);
        }
    }
}

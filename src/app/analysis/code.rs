//! Lists the code of one function. A profile whose functions have names is read again by address: its stacks in the
//! trace have no addresses.

use std::sync::Arc;

use super::answer::QueryContext;
use crate::base::budget::Memory;
use crate::base::cancel::Cancelled;
use crate::formats::sniff::has_code_addresses;
use crate::ingest::{self, CachePolicy, Ledgers, LoadOptions};
use crate::model::SourceFile;
use crate::query::Snapshot;
use crate::query::samples::SampleHistogram;
use crate::query::scope::Scope;
use crate::symbols::code::choice::{NoFunction, choose};
use crate::symbols::code::listing::list;
use crate::symbols::code::samples::CodeSamples;
use crate::symbols::locate::Locator;
use crate::symbols::lookup::{TraceFrames, TraceNames, look_up};
use crate::symbols::sources::SourceFolders;
use crate::ui::questions::{CodeAnswer, CodeQuestion, NameQuery};

impl QueryContext<'_> {
    /// Lists the code of a function with the samples of its event.
    pub(super) fn code(&self, question: &CodeQuestion) -> Result<CodeAnswer, Cancelled> {
        let CodeQuestion { request, query, found, by_address } = question;
        let scope = self.scope(&request.scope);
        let answer = self.code_in(self.snapshot, &found.0, &scope, question)?;
        // The profile by address has other times and names, so only a scope of tracks applies to it.
        let is_by_track = request.scope.range.is_none() && request.scope.filter.is_empty();
        if answer.code.is_ok() || !is_by_track || !query.is_wanted {
            return Ok(answer);
        }
        if by_address.0.get().is_none() {
            by_address.0.set(self.by_address(query)?).ok(); // another query may have done so
        }
        let Some(Some((snapshot, found))) = by_address.0.get() else { return Ok(answer) };
        let by_address = self.code_in(snapshot, found, &scope, question)?;
        Ok(if by_address.code.is_ok() { by_address } else { answer })
    }

    fn code_in(
        &self,
        snapshot: &Snapshot,
        found: &TraceNames,
        scope: &Scope,
        CodeQuestion { request, query, .. }: &CodeQuestion,
    ) -> Result<CodeAnswer, Cancelled> {
        let key = &request.function.key;
        let function = match choose(snapshot, found, &key.name, key.module.as_deref()) {
            Ok(function) => function,
            Err(reason) => return Ok(CodeAnswer { code: Err(reason) }),
        };
        let histogram = SampleHistogram::count(snapshot, scope, self.cancel, self.progress)?;
        let event = match &request.function.event {
            Some(wanted) => histogram.events().iter().position(|event| event == wanted),
            None => histogram.default_event(snapshot),
        };
        let Some(event) = event else {
            return Ok(CodeAnswer { code: Err(NoFunction::Unsampled) });
        };
        let paths = query.sources.files().iter().map(SourceFile::path);
        let folders = SourceFolders::for_traces(paths, &query.folders, request.source_maps.clone());
        let frames = TraceFrames::from_snapshot(snapshot);
        let samples = CodeSamples { snapshot, frames: &frames, found, histogram: &histogram, event };
        let code = list(samples, &function, (&locator(query), &folders), query.bytes_max, self.cancel)?;
        let code = if code.sums.total.samples > 0 { Ok(Arc::new(code)) } else { Err(NoFunction::Unsampled) };
        Ok(CodeAnswer { code })
    }

    /// Reads the trace by address and resolves its names, if some file is a profile with names and addresses. Returns
    /// `None` also if reading fails.
    fn by_address(&self, query: &NameQuery) -> Result<Option<(Snapshot, TraceNames)>, Cancelled> {
        if !query.sources.files().iter().any(has_code_addresses) {
            return Ok(None);
        }
        let options = LoadOptions {
            // The debug information of a file takes as much memory again.
            memory: Memory::new(query.bytes_max),
            cache: CachePolicy::None,
            ledgers: Ledgers::IfCached,
            code_addresses: true,
            ..LoadOptions::default()
        };
        let loaded = ingest::open(query.sources.clone(), &options, self.cancel, self.progress);
        self.cancel.check()?;
        let Ok(loaded) = loaded else { return Ok(None) };
        let snapshot = Snapshot::new(loaded.store);
        let frames = TraceFrames::from_snapshot(&snapshot);
        let found = look_up(&snapshot, &frames, &locator(query), query.bytes_max, self.cancel, self.progress)?;
        Ok(Some((snapshot, found)))
    }
}

fn locator(query: &NameQuery) -> Locator {
    Locator::for_traces(query.sources.files().iter().map(SourceFile::path), &query.folders)
}

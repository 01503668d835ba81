//! Memory for building the ledger of a store, as a share of a load's budget.

use std::time::Instant;

use crate::base::budget_shares::BudgetShare;
use crate::formats::ReadContext;
use crate::store::ledger::LedgerShape;
use crate::store::ledger_build::LedgerContext;
use crate::store::path_ledger::PathShape;
use crate::store::sample_ledger::SampleShape;

/// Runs `finish` with the context of the ledgers of an import, and charges their memory to the budget meanwhile. There
/// is no context if the store gets no ledgers.
pub(super) fn with_ledger<R>(
    context: &ReadContext,
    started: Instant,
    has_ledgers: bool,
    finish: impl FnOnce(Option<&LedgerContext<'_>>) -> R,
) -> R {
    if !has_ledgers {
        return finish(None);
    }
    let budget_bytes = BudgetShare::Ledger.bytes(&context.budget);
    let _held = context.budget.charge(budget_bytes);
    finish(Some(&LedgerContext {
        shape: LedgerShape::default(),
        samples: SampleShape::default(),
        paths: PathShape::default(),
        budget_bytes: usize::try_from(budget_bytes).unwrap_or(usize::MAX),
        started,
        cancel: &context.cancel,
        progress: &context.progress,
    }))
}

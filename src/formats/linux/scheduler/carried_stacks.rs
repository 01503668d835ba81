//! Stacks that outlive the batch in which they were read. A batch has its own tables of names and stacks. So a stack is
//! copied into a table of the reader, and from there into a later batch. Rows that stacks share are copied once.

use rustc_hash::FxHashMap;

use crate::formats::output::batch::BatchBuilder;
use crate::model::{NameIdx, Names, SourcePos, StackIdx, Stacks};

/// Limits for rows and text bytes of the table: some 20 MiB in all. The stacks in which threads wait share most rows.
const ROWS_MAX: usize = 1 << 18;
const NAME_BYTES_MAX: usize = 8 << 20;

/// Refused stacks after which a table that was cleaned in vain is cleaned again.
const REFUSALS_PER_CLEANING: usize = 1 << 16;

/// A table of stacks of former and current batches.
#[derive(Debug)]
pub(super) struct CarriedStacks {
    names: Names,
    stacks: Stacks,
    name_bytes: usize,
    rows_max: usize,
    /// Stacks that were refused since the last cleaning.
    refusals: usize,
    /// Whether the last cleaning left little room.
    is_crowded: bool,
    /// The batch that `carried` (its rows to rows of the table) and `in_batch` (the reverse) are about.
    number: u32,
    carried: FxHashMap<StackIdx, StackIdx>,
    in_batch: FxHashMap<StackIdx, StackIdx>,
}

impl Default for CarriedStacks {
    fn default() -> Self {
        Self::with_rows(ROWS_MAX)
    }
}

impl CarriedStacks {
    pub(super) fn with_rows(rows_max: usize) -> Self {
        Self {
            names: Names::default(),
            stacks: Stacks::default(),
            name_bytes: 0,
            rows_max,
            refusals: 0,
            is_crowded: false,
            number: 0,
            carried: FxHashMap::default(),
            in_batch: FxHashMap::default(),
        }
    }

    /// Copies a stack of the batch into the table; returns `None` if the table is full.
    pub(super) fn carry(&mut self, batch: &BatchBuilder, stack: StackIdx) -> Option<StackIdx> {
        if self.is_full() {
            self.refusals += 1;
            return None;
        }
        self.begin_batch(batch);
        let Self { names, stacks, name_bytes, carried, .. } = self;
        Some(copy(stack, &batch.batch().stacks, carried, |parent, name| {
            let row = batch.name_row(name);
            let text = row.map_or("", |row| &row.text);
            let category = row.and_then(|row| row.category.as_deref());
            let len = names.len();
            let name = names.intern(text, category);
            if names.len() > len {
                *name_bytes += text.len() + category.map_or(0, str::len);
            }
            stacks.intern(parent, name)
        }))
    }

    /// Copies a stack of the table into the batch.
    pub(super) fn put_into(&mut self, batch: &mut BatchBuilder, stack: StackIdx, pos: SourcePos) -> StackIdx {
        self.begin_batch(batch);
        let Self { names, stacks, in_batch, .. } = self;
        copy(stack, stacks, in_batch, |parent, name| {
            let row = names.get(name);
            let name = batch.name(row.text.as_bytes(), row.category.map(str::as_bytes), pos);
            batch.frame(parent, name)
        })
    }

    /// Returns whether the table is full and may have rows that no stack needs. Each cleaning follows many additions
    /// or refusals, which pay for it.
    pub(super) fn needs_cleaning(&self) -> bool {
        self.is_full() && (!self.is_crowded || self.refusals >= REFUSALS_PER_CLEANING)
    }

    /// Drops all rows except for the retained stacks, which get new indices.
    pub(super) fn retain<'s>(&mut self, retained: impl Iterator<Item = &'s mut StackIdx>) {
        let former = std::mem::replace(self, Self::with_rows(self.rows_max));
        let mut known = FxHashMap::default();
        for stack in retained {
            *stack = copy(*stack, &former.stacks, &mut known, |parent, name| {
                let row = former.names.get(name);
                let len = self.names.len();
                let name = self.names.intern(row.text, row.category);
                if self.names.len() > len {
                    self.name_bytes += row.text.len() + row.category.map_or(0, str::len);
                }
                self.stacks.intern(parent, name)
            });
        }
        self.is_crowded = self.stacks.len() > self.rows_max / 2 || self.name_bytes > NAME_BYTES_MAX / 2;
    }

    fn is_full(&self) -> bool {
        self.stacks.len() > self.rows_max || self.name_bytes > NAME_BYTES_MAX
    }

    /// Forgets the rows of another batch.
    fn begin_batch(&mut self, batch: &BatchBuilder) {
        if self.number != batch.number {
            self.number = batch.number;
            self.carried.clear();
            self.in_batch.clear();
        }
    }
}

/// Copies a stack into another table, whose rows are in `known` by the rows of `from`. `add` adds a frame to it.
fn copy(
    stack: StackIdx,
    from: &Stacks,
    known: &mut FxHashMap<StackIdx, StackIdx>,
    mut add: impl FnMut(StackIdx, NameIdx) -> StackIdx,
) -> StackIdx {
    let (mut parent, mut new) = (StackIdx::EMPTY, Vec::new());
    for frame in from.path(stack) {
        if let Some(&row) = known.get(&frame) {
            parent = row;
            break;
        }
        new.push(frame);
    }
    for frame in new.into_iter().rev() {
        parent = add(parent, from.get(frame).name);
        known.insert(frame, parent);
    }
    parent
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::ChunkLimits;

    const POS: SourcePos = SourcePos::Offset(0);

    /// Adds a stack of these functions to the batch, outermost first, each in the module `m`.
    fn stack_of(batch: &mut BatchBuilder, functions: &[String]) -> StackIdx {
        functions.iter().fold(StackIdx::EMPTY, |parent, function| {
            let name = batch.name(function.as_bytes(), Some(b"m"), POS);
            batch.frame(parent, name)
        })
    }

    fn functions_of(batch: &BatchBuilder, stack: StackIdx) -> Vec<String> {
        let rows = batch.batch().stacks.frames(stack).map(|name| batch.name_row(name).expect("a name"));
        let mut functions: Vec<String> = rows
            .map(|row| {
                assert_eq!(row.category.as_deref(), Some("m"));
                row.text.to_string()
            })
            .collect();
        functions.reverse();
        functions
    }

    #[test]
    fn stacks_come_back_in_later_batches_and_after_the_table_is_cleaned() {
        let mut batch = BatchBuilder::new(ChunkLimits::default());
        let mut carried = CarriedStacks::with_rows(64);
        let (mut held, mut cleanings, mut refused) = (Vec::<(StackIdx, Vec<String>)>::new(), 0, 0);
        for number in 0..2000usize {
            if number % 7 == 0 {
                batch.take_batch();
            }
            let functions: Vec<String> =
                ["main".to_owned(), format!("f{}", number % 50), format!("g{}", number % 37)].to_vec();
            let stack = stack_of(&mut batch, &functions);
            if carried.needs_cleaning() {
                cleanings += 1;
                carried.retain(held.iter_mut().map(|(stack, _)| stack));
            }
            match carried.carry(&batch, stack) {
                Some(stack) => held.push((stack, functions)),
                None => refused += 1,
            }
            if held.len() > 5 {
                let (stack, functions) = held.swap_remove(number % 5);
                let put = carried.put_into(&mut batch, stack, POS);
                assert_eq!(functions_of(&batch, put), functions, "{number}");
            }
        }
        assert!(cleanings > 10 && refused == 0, "{cleanings} cleanings, {refused} refused");
    }

    #[test]
    fn a_table_that_all_its_stacks_need_refuses_more_and_is_not_cleaned_for_each() {
        let mut batch = BatchBuilder::new(ChunkLimits::default());
        let mut carried = CarriedStacks::with_rows(8);
        let (mut held, mut cleanings) = (Vec::new(), 0);
        for number in 0..1000 {
            let stack = stack_of(&mut batch, &[format!("f{number}")]);
            if carried.needs_cleaning() {
                cleanings += 1;
                carried.retain(held.iter_mut());
            }
            held.extend(carried.carry(&batch, stack));
        }
        assert_eq!((held.len(), cleanings), (8, 1));
    }
}

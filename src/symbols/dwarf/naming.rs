//! Combines the names of addresses from all units, and from the symbol table where no unit has one.

use rayon::prelude::*;

use super::scopes::SharedScopes;
use super::sections::DebugInfo;
use super::units::{UnitAddresses, WantedUnits};
use super::walk::{AddressFrames, UnitReader};
use crate::base::cancel::{Cancel, Cancelled};
use crate::symbols::fuel::Fuel;
use crate::symbols::functions::FunctionTable;
use crate::symbols::names::{AddressNames, AddressNamesBuilder};
use crate::symbols::texts::NameTexts;

/// Bytes of debug information per task.
const TASK_BYTES: usize = 4 << 20;

/// Resolves sorted addresses whose units were found, given as pairs of the requested address and the address in the
/// file. Without debug information, the function comes from the symbol table.
pub(in crate::symbols) fn names(
    info: &DebugInfo,
    addresses: &[(u64, u64)],
    wanted_units: &WantedUnits,
    functions: &FunctionTable,
    cancel: &Cancel,
) -> Result<AddressNames, Cancelled> {
    let (pool, scopes) = (info.steps(), SharedScopes::default());
    let WantedUnits { addresses: wanted, units } = wanted_units;
    let read = |units: &[UnitAddresses]| {
        let fuel = Fuel::new(&pool);
        let mut reader = UnitReader::new(info, functions, (&fuel, &scopes), wanted);
        for unit in units {
            cancel.check()?;
            reader.read(unit);
        }
        Ok(reader.finish())
    };
    let groups = units.chunk_by(|unit, next| unit.offset / TASK_BYTES == next.offset / TASK_BYTES);
    let groups: Vec<&[UnitAddresses]> = groups.collect();
    let group_frames = groups.into_par_iter().map(read).collect::<Result<Vec<_>, _>>()?;
    Ok(names_of(addresses, wanted, &group_frames, functions))
}

/// Combines the functions and lines that the units have for each address.
fn names_of(
    addresses: &[(u64, u64)],
    wanted: &[u64],
    group_frames: &[AddressFrames<'_>],
    functions: &FunctionTable,
) -> AddressNames {
    let chosen = chosen_units(wanted, group_frames);
    let mut texts = NameTexts::default();
    let mut rows = Vec::new();
    let mut ends = Vec::with_capacity(addresses.len());
    for &(_, address) in addresses {
        let chosen = wanted.binary_search(&address).ok().and_then(|row| chosen[row]);
        let start = rows.len();
        if let Some((group, row)) = chosen {
            rows.extend(group_frames[group].frames(row).iter().map(|frame| {
                let name = frame.name.filter(|(_, name)| !name.is_empty());
                let name = name.map(|(scope, name)| {
                    let scope = scope.map_or("", |scope| &group_frames[group].scopes[scope as usize]);
                    texts.row(scope, name)
                });
                (name, frame.file.map(|file| (group, file)), frame.line)
            }));
        }
        // If the outermost function has no name, the symbol table names it.
        let is_nameless = rows[start..].last().is_none_or(|(name, ..)| name.is_none());
        if let Some(symbol) = is_nameless.then(|| functions.find(address)).flatten() {
            let symbol = Some(texts.row("", symbol));
            match rows[start..].last_mut() {
                Some(outermost) => outermost.0 = symbol,
                None => rows.push((symbol, None, 0)),
            }
        }
        ends.push(rows.len());
    }
    let names = texts.readable();
    let mut builder = AddressNamesBuilder::default();
    let names: Vec<u32> = names.iter().map(|name| builder.text(name)).collect();
    let files: Vec<Vec<u32>> =
        group_frames.iter().map(|group| group.files.iter().map(|file| builder.text(file)).collect()).collect();
    let mut start = 0;
    for (&(frame_address, _), end) in addresses.iter().zip(ends) {
        // Inlined functions without a name are dropped.
        let rows = rows[start..end].iter().filter_map(|&(name, file, line)| {
            let file = file.map(|(group, file): (usize, u32)| files[group][file as usize]);
            Some((names[name? as usize], file, line))
        });
        builder.push_rows(frame_address, rows);
        start = end;
    }
    builder.finish()
}

/// Chooses a unit for each wanted address, by its group and its row there. The first unit with a function is chosen, or
/// else the first with a line.
fn chosen_units(wanted: &[u64], group_frames: &[AddressFrames<'_>]) -> Vec<Option<(usize, usize)>> {
    let mut chosen: Vec<Option<(usize, usize)>> = vec![None; wanted.len()];
    for (group, frames) in group_frames.iter().enumerate() {
        for (row, address) in frames.addresses.iter().enumerate() {
            let chosen = &mut chosen[address.wanted as usize];
            let is_better = |(group, row): (usize, usize)| {
                address.has_function && !AddressFrames::has_function(&group_frames[group], row)
            };
            if chosen.is_none_or(is_better) {
                *chosen = Some((group, row));
            }
        }
    }
    chosen
}

/// Resolves addresses from the symbol table only.
pub(in crate::symbols) fn names_of_functions(addresses: &[(u64, u64)], functions: &FunctionTable) -> AddressNames {
    names_of(addresses, &[], &[], functions)
}

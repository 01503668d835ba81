//! What every other module may lean on: time, units, cancellation, progress, density, the memory budget, files, disks,
//! mapped and temporary files, signals, escapes and cells of text. Knows nothing of traces.

pub mod budget;
pub mod cancel;
pub mod csv;
pub mod density;
pub mod disk;
pub mod ends;
pub mod escape;
pub mod files;
pub mod mapped;
pub mod progress;
pub mod replace;
pub mod signals;
pub mod temporary;
pub mod time;
pub mod units;

//! Failures of the disk, the memory, the trace or the store: failed writes, kills, truncations, flipped bits, limits.
//! Every failure is injected, at all positions in turn if there are few.

#[cfg(unix)]
mod altered;
mod archives;
mod cache;
mod crash;
mod damage;
mod disk;
mod harness;
mod headers;
mod limits;
mod memory;
#[cfg(unix)]
mod outputs;
mod profiles;
#[cfg(unix)]
mod shapes;
#[cfg(unix)]
mod signals;
#[cfg(target_os = "linux")] // memory from outside
mod soak;
mod sources;

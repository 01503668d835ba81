//! Failures of the disk, the memory, the capture or the store: refused writes, kills, cuts, flipped bits, limits. Every
//! failure is made on purpose, and at every place in turn where there are few enough of them.

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

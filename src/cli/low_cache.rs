//! The options of `longspan cache`, as parsed by clap; see [`super::low_args`].

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::examples::examples;

#[derive(Debug, Args)]
pub(super) struct LowCache {
    #[command(subcommand)]
    pub(crate) action: LowCacheAction,
}

/// The commands of the cache.
#[derive(Debug, Subcommand)]
pub(super) enum LowCacheAction {
    /// Print the cached traces with their sizes
    #[command(after_help = examples("cache list"))]
    List(LowCacheFolder),
    /// Delete all cached traces, symbols and demos, and temporary files of killed processes
    #[command(after_help = examples("cache clear"))]
    Clear(LowCacheClear),
}

#[derive(Debug, Args)]
pub(super) struct LowCacheClear {
    /// Also delete spools of killed windows: the only copies of the traces that they followed
    #[arg(long)]
    pub(crate) followed: bool,
    #[command(flatten)]
    pub(crate) which: LowCacheFolder,
}

/// The folder of the cache.
#[derive(Debug, Args)]
pub(super) struct LowCacheFolder {
    /// The folder [default: longspan in the user's cache folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,
}

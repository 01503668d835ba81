//! The command line and the window.

fn main() {}

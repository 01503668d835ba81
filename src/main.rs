//! The program's entry point, which delegates to the command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    longspan::run(std::env::args_os())
}

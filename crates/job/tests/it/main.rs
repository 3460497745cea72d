//! Jobs with a planted truth, written to files, read back, and answered for exactly.

mod answers;
mod collectives;
mod critical_path;
mod everything;
mod figures;
mod findings;
mod idle;
mod memory;
mod ops;
mod plans;
mod planted;
mod selected;
mod stragglers;
mod warnings;
mod whatif;

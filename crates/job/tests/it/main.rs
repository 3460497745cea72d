//! Jobs with a planted truth, written to files, read back, and answered for exactly.

mod answers;
mod charts;
mod collectives;
mod corpus;
mod critical_path;
mod everything;
mod figures;
mod findings;
mod idle;
mod inference;
mod layers;
mod memory;
mod monotone;
mod ops;
mod phases;
mod plans;
mod planted;
mod predictions;
mod selected;
mod serving;
mod stacks;
mod stragglers;
mod throughput;
mod warnings;
mod whatif;

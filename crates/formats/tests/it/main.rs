//! The reader held to a strict one, to damaged input and to arbitrary cuts.
#![expect(clippy::print_stderr, reason = "a skipped test says so")]

mod anonymize;
mod bad_input;
mod chunking;
mod corpus;
mod describe;
mod differential;
mod fuzz;
mod layouts;
mod links;
mod nsys;
mod nsys_parquet;
mod rewrite;
mod torch_trace;
mod toy_format;

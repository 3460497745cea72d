//! The reader held to a strict one, to damaged input and to arbitrary cuts.

mod bad_input;
mod chunking;
mod corpus;
mod describe;
mod differential;
mod fuzz;
mod layouts;
mod links;

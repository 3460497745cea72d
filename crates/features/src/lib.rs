//! Holds no code. Cargo compiles a dependency anew for every set of features that is asked of it, and `cargo run`, the tests
//! and the wheel would ask for different ones. All of them depend on this crate, which asks for the union.

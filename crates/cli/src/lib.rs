//! The gpuscope command line.

//! Holds the generator to what it claims: the files are valid, the truth is that of the files, the faults are there.

mod changes;
mod exactness;
mod faults;
mod memory;
mod physics;
mod reread;
mod sizes;
mod stalls;
mod synchronisation;
mod waste;

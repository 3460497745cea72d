//! Every file that gpuscope writes is written here: it appears under its name only when it is whole, and what was there
//! before stays as it was until then, whatever ends the writing.

mod claims;
mod draft;
mod handed;
mod identity;
mod kind;
mod litter;
mod new_file;
mod straight;

pub use claims::{Claim, Clash, Files};
pub use handed::Handed;
pub use identity::is_same_file;
pub use kind::{FileKind, Packing, UnknownKind};
pub use litter::{discard_on_signals, on_end};
pub use new_file::{NewFile, Privacy, write};

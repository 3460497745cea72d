//! Draws answers, one file per way of drawing. All of them work from the same tables; none computes anything.

pub mod arrow;
pub mod chart;
pub mod columns;
pub mod csv;
pub mod flame;
mod fonts;
pub mod html;
pub mod json;
mod key_numbers;
mod layout;
pub mod markdown;
mod names;
mod notes;
mod one_unit;
mod packing;
mod page;
mod page_shell;
pub mod parquet;
pub mod pdf;
mod places;
pub mod png;
pub mod section;
pub mod served;
mod setting;
pub mod summary;
pub mod terminal;
mod text;
pub mod timeline;
pub mod units;
pub mod xlsx;

pub use json::Envelope;
pub use key_numbers::shown as key_number;
pub use notes::Trust;
pub use page::{Input, Lead, LeadNumber, Page};
pub use places::places;
pub use text::one_line;

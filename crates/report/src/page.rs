//! What a reader sees of one run, whatever it is drawn on.

use gpuscope_table::Table;
use gpuscope_trace::{Quality, Severity};

use crate::units;

/// One input, as far as a reader wants to know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    pub path: String,
    pub format: String,
    pub rank: u32,
    pub events: u64,
    pub bytes: u64,
}

#[derive(Clone, Debug)]
pub struct Page<'a> {
    pub command: &'a str,
    pub inputs: Vec<Input>,
    pub quality: &'a [Quality],
    pub tables: &'a [Table],
}

/// Entries shown in full below a table; the rest is counted.
const SHOWN: usize = 3;

impl Page<'_> {
    /// One line about the inputs: `rank0.json.gz · rank 0 · 18 221 events · 8.61 MB`.
    pub fn headline(&self) -> String {
        let events = self.inputs.iter().map(|input| input.events).sum::<u64>();
        let bytes = self.inputs.iter().map(|input| input.bytes).sum::<u64>();
        let size = format!("{} events · {}", units::count(events as i64), units::bytes(bytes as i64));
        match self.inputs.as_slice() {
            [only] if only.path == "-" => format!("standard input · rank {} · {size}", only.rank),
            [only] => format!("{} · rank {} · {size}", only.path, only.rank),
            inputs => format!("{} inputs · {size}", inputs.len()),
        }
    }

    /// `2 warnings, 1 note`, or nothing if all is well.
    pub fn verdict(&self) -> Option<String> {
        let counted = [(Severity::Error, "error"), (Severity::Warning, "warning"), (Severity::Info, "note")];
        let parts: Vec<String> = counted
            .into_iter()
            .map(|(severity, word)| {
                (self.quality.iter().filter(|note| note.severity == severity).count(), word)
            })
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{count} {word}{}", if count == 1 { "" } else { "s" }))
            .collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// The most severe entries, and how many there are besides.
    pub fn most_severe(&self) -> (Vec<&Quality>, usize) {
        let mut notes: Vec<&Quality> = self.quality.iter().collect();
        notes.sort_by_key(|note| std::cmp::Reverse(note.severity));
        let more = notes.len().saturating_sub(SHOWN);
        notes.truncate(SHOWN);
        (notes, more)
    }
}

//! What a reader sees of one run, whatever it is drawn on.

use std::collections::BTreeMap;

use gpuscope_figure::Figure;
use gpuscope_table::{Column, Table, Unit};
use gpuscope_trace::Quality;

use crate::notes::{self, Finding};
use crate::{text, units};

/// Less of a path says nothing.
const LEAST_PATH: usize = 12;

/// One input, as far as a reader wants to know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    pub path: String,
    pub format: String,
    pub rank: u32,
    pub events: u64,
    pub bytes: u64,
    /// `gpuscope convert` can copy parts of it.
    pub is_rewritable: bool,
}

/// What comes first where there are no traces to speak of: measured runs and their history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lead {
    /// What this is about, in a line.
    pub about: String,
    /// What to take away.
    pub verdict: String,
    pub numbers: Vec<LeadNumber>,
    /// The table that pages show as a panel: a name and a value in each row.
    pub panel: Option<&'static str>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeadNumber {
    pub label: String,
    pub value: String,
    pub note: String,
}

#[derive(Clone, Debug)]
pub struct Page<'a> {
    pub command: &'a str,
    pub inputs: Vec<Input>,
    pub quality: &'a [Quality],
    pub tables: &'a [Table],
    pub figures: &'a [Figure],
    pub lead: Option<&'a Lead>,
    /// What to take away, of answers about traces.
    pub sentence: Option<&'a str>,
}

impl Page<'_> {
    /// One line about the inputs: `rank0.json.gz · rank 0 · 18 221 events · 8.61 MB`.
    pub fn headline(&self) -> String {
        self.headline_within(usize::MAX)
    }

    /// As [`Page::headline`], cut to a width: of a path, the file is left.
    pub(crate) fn headline_within(&self, width: usize) -> String {
        let whole = text::one_line(&self.whole_headline());
        let path = match self.inputs.as_slice() {
            [only] if self.lead.is_none() => text::one_line(&only.path),
            _ => String::new(),
        };
        match whole.strip_prefix(path.as_str()).filter(|_| !path.is_empty()) {
            Some(rest) => {
                let room = width.saturating_sub(text::width(rest)).max(LEAST_PATH);
                text::shorten(&format!("{}{rest}", text::shorten_path(&path, room)), width)
            }
            None => text::shorten(&whole, width),
        }
    }

    fn whole_headline(&self) -> String {
        if let Some(lead) = self.lead {
            return lead.about.clone();
        }
        let events = self.inputs.iter().map(|input| input.events).sum::<u64>();
        // Several ranks may come from one file.
        let files: BTreeMap<&str, u64> =
            self.inputs.iter().map(|input| (input.path.as_str(), input.bytes)).collect();
        let bytes = files.values().sum::<u64>();
        let size = format!("{} events · {}", units::count(events as i64), units::bytes(bytes as i64));
        match self.inputs.as_slice() {
            [only] if only.path == "-" => format!("standard input · rank {} · {size}", only.rank),
            [only] => format!("{} · rank {} · {size}", only.path, only.rank),
            [first, rest @ ..] if files.len() == 1 => {
                format!("{} · {} ranks · {size}", first.path, rest.len() + 1)
            }
            inputs => format!("{} inputs · {size}", inputs.len()),
        }
    }

    /// What to take away, if anything is said.
    pub(crate) fn takeaway(&self) -> Option<&str> {
        let lead = self.lead.map(|lead| lead.verdict.as_str());
        lead.or(self.sentence).filter(|sentence| !sentence.is_empty())
    }

    /// The tables worth drawing: beside others, one without rows says nothing, and neither does one that repeats
    /// another. If none has any, the first says so.
    pub(crate) fn shown(&self) -> impl Iterator<Item = &Table> {
        let any_rows = self.tables.iter().any(|table| table.rows() > 0);
        let is_alone = self.tables.len() == 1;
        let worth = move |(i, table): &(usize, &Table)| {
            (*i == 0 && !any_rows)
                || table.rows() > 0
                    && (is_alone || !table.for_files)
                    && !self.tables[..*i].iter().any(|before| repeats(table, before))
        };
        self.tables.iter().enumerate().filter(worth).map(|(_, table)| table)
    }

    /// What is wrong with the data, the most severe first.
    pub(crate) fn findings(&self) -> Vec<Finding<'_>> {
        notes::findings(self.quality)
    }

    /// `2 warnings, 1 note`, or nothing if all is well.
    pub fn verdict(&self) -> Option<String> {
        notes::counted(&self.findings())
    }
}

/// Whether a table says row by row what one before it has said: one device per rank needs no table of devices.
fn repeats(table: &Table, before: &Table) -> bool {
    let told =
        |column: &Column| before.column(column.name).is_some_and(|other| other.values == column.values);
    let mut measured = table.columns.iter().filter(|column| column.unit != Unit::None).peekable();
    table.rows() == before.rows() && measured.peek().is_some() && measured.all(told)
}

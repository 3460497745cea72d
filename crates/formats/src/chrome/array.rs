//! The event array as it is written: which commas and white space stand between the elements that are left.

use std::io::{self, Write};

use crate::rewrite::{Editor, is_white};

/// More white space than this between two elements is not worth keeping.
const LONGEST_GAP: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct ArrayWriter {
    /// White space and commas since the last element that was read.
    gap: Vec<u8>,
    commas: u32,
    has_elements: bool,
    /// What an editor appends was asked for.
    was_extended: bool,
}

impl ArrayWriter {
    /// Another array begins.
    pub(super) fn open(&mut self) {
        self.forget_gap();
        self.has_elements = false;
    }

    /// Takes in white space; other control characters, which the reader takes for such, are none in JSON.
    pub(super) fn space(&mut self, text: &[u8]) {
        if self.gap.len() + text.len() <= LONGEST_GAP {
            self.gap.extend(text.iter().filter(|byte| is_white(**byte)));
        }
    }

    pub(super) fn comma(&mut self) {
        // One is kept however long the gap is, more than one never.
        if self.commas == 0 {
            self.gap.push(b',');
        }
        self.commas = self.commas.saturating_add(1);
    }

    /// What stands before an element that is left out goes with it.
    pub(super) fn forget_gap(&mut self) {
        self.gap.clear();
        self.commas = 0;
    }

    pub(super) fn element(&mut self, text: &[u8], out: &mut dyn Write) -> io::Result<()> {
        let has_elements = std::mem::replace(&mut self.has_elements, true);
        self.write_gap(u32::from(has_elements), out)?;
        out.write_all(text)
    }

    /// Writes the gap with exactly so many commas, none or one: as it stands, if it has them.
    fn write_gap(&mut self, commas: u32, out: &mut dyn Write) -> io::Result<()> {
        if self.commas.min(1) != commas {
            self.gap.retain(|byte| *byte != b',');
            if commas > 0 {
                self.gap.insert(0, b',');
            }
        }
        out.write_all(&self.gap)?;
        self.forget_gap();
        Ok(())
    }

    /// Appends what the editor has to add, and ends the array. Answers how many events were appended.
    pub(super) fn close(&mut self, editor: &mut dyn Editor, out: &mut dyn Write) -> io::Result<u64> {
        let mut appended = 0;
        if !std::mem::replace(&mut self.was_extended, true) {
            editor.append(&mut |text| {
                appended += 1;
                let separator = if std::mem::replace(&mut self.has_elements, true) { ",\n" } else { "\n" };
                out.write_all(separator.as_bytes())?;
                out.write_all(text.as_bytes())
            })?;
        }
        self.write_gap(0, out)?;
        out.write_all(b"]")?;
        Ok(appended)
    }
}

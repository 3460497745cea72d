//! What is wrong with the data, told once: ranks that have the same trouble share one entry.

use gpuscope_trace::{Quality, Severity};

use crate::text::one_line;

/// One trouble, and the ranks that have it, once per entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding<'q> {
    pub first: &'q Quality,
    ranks: Vec<u32>,
    /// All ranks say the same, to the number.
    same: bool,
}

/// The most severe first, else in the order given. What concerns no rank stands for itself.
pub(crate) fn findings(quality: &[Quality]) -> Vec<Finding<'_>> {
    let mut findings: Vec<Finding<'_>> = Vec::new();
    for note in quality {
        let alike = |finding: &&mut Finding<'_>| {
            let first = finding.first;
            first.rank.is_some() && first.code == note.code && words(&first.message).eq(words(&note.message))
        };
        match (note.rank, findings.iter_mut().find(alike)) {
            (Some(rank), Some(finding)) => {
                finding.same &= finding.first.message == note.message;
                finding.ranks.push(rank);
            }
            (rank, _) => {
                findings.push(Finding { first: note, ranks: rank.into_iter().collect(), same: true });
            }
        }
    }
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.first.severity));
    findings
}

/// How far the data can be trusted, in short: how much is wrong, and what is worse than a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trust {
    /// `2 warnings, 1 note`
    pub counted: String,
    /// Errors and warnings, each in a line; a note only if it is all there is.
    pub foremost: Vec<String>,
}

impl Trust {
    /// Nothing if all is well.
    pub fn in_data(quality: &[Quality]) -> Option<Trust> {
        let findings = findings(quality);
        let is_shown =
            |finding: &&Finding<'_>| finding.first.severity > Severity::Info || findings.len() == 1;
        let foremost = findings.iter().filter(is_shown).map(Finding::line).collect();
        Some(Trust { counted: counted(&findings)?, foremost })
    }
}

/// `2 warnings, 1 note`, or nothing if all is well.
pub(crate) fn counted(findings: &[Finding<'_>]) -> Option<String> {
    let words = [(Severity::Error, "error"), (Severity::Warning, "warning"), (Severity::Info, "note")];
    let parts: Vec<String> = words
        .into_iter()
        .map(|(severity, word)| {
            (findings.iter().filter(|finding| finding.first.severity == severity).count(), word)
        })
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}{}", if count == 1 { "" } else { "s" }))
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// A message without its numbers, which differ from rank to rank.
fn words(message: &str) -> impl Iterator<Item = char> {
    message.chars().filter(|c| !c.is_ascii_digit())
}

impl Finding<'_> {
    pub(crate) fn severity(&self) -> &'static str {
        match self.first.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "note",
        }
    }

    /// `ranks 0-3, 7`; nothing if it concerns no rank.
    pub(crate) fn whose(&self) -> Option<String> {
        let (first, rest) = self.ranks.split_first()?;
        let one = rest.iter().all(|rank| rank == first);
        Some(if one { format!("rank {first}") } else { format!("ranks {}", spans(&self.ranks)) })
    }

    /// What it says; of ranks that differ in their numbers, the first speaks for the others.
    pub(crate) fn message(&self) -> String {
        let message = one_line(&self.first.message);
        match self.first.rank {
            Some(first) if !self.same => format!("{message} (rank {first}; the others alike)"),
            _ => message,
        }
    }

    /// `warning: rank 3: 16 kernels have no known launch`
    pub(crate) fn line(&self) -> String {
        match self.whose() {
            Some(whose) => format!("{}: {whose}: {}", self.severity(), self.message()),
            None => format!("{}: {}", self.severity(), self.message()),
        }
    }
}

/// `0-3, 7`
fn spans(ranks: &[u32]) -> String {
    let mut ranks = ranks.to_vec();
    ranks.sort_unstable();
    ranks.dedup();
    let spans = ranks.chunk_by(|a, b| a.checked_add(1) == Some(*b));
    let span = |span: &[u32]| match span {
        [first, .., last] => format!("{first}-{last}"),
        other => other.iter().map(ToString::to_string).collect(),
    };
    spans.map(span).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use gpuscope_trace::Code;

    use super::*;

    #[test]
    fn ranks_with_the_same_trouble_share_an_entry() {
        let sync = |rank| Quality::new(Code::NoSyncEvents, 0, "no synchronisation").of_rank(rank);
        let unlinked =
            |rank, n| Quality::new(Code::UnlinkedKernels, n, format!("{n} unlinked")).of_rank(rank);
        let broken = |name: &str| Quality::new(Code::UnreadableInput, 1, format!("{name}: broken"));
        let twice = |rank, paths| Quality::new(Code::DuplicateRank, 2, paths).of_rank(rank);
        assert_eq!(findings(&[twice(0, "a, b"), twice(1, "c, d")]).len(), 2);
        assert_eq!(findings(&[unlinked(5, 1), unlinked(5, 2)])[0].whose(), Some("rank 5".to_owned()));
        let all =
            [sync(0), unlinked(0, 3), sync(1), sync(2), unlinked(7, 4), broken("a"), broken("b"), sync(9)];
        let lines: Vec<String> = findings(&all).iter().map(Finding::line).collect();
        assert_eq!(
            lines,
            [
                "error: a: broken",
                "error: b: broken",
                "warning: ranks 0, 7: 3 unlinked (rank 0; the others alike)",
                "note: ranks 0-2, 9: no synchronisation",
            ]
        );
        let trust = Trust::in_data(&all).unwrap();
        assert_eq!(
            (trust.counted.as_str(), trust.foremost),
            ("2 errors, 1 warning, 1 note", lines[..3].to_vec())
        );
        assert_eq!(Trust::in_data(&[sync(0)]).unwrap().foremost, ["note: rank 0: no synchronisation"]);
        assert_eq!(Trust::in_data(&[]), None);
    }
}

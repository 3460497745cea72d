//! What `docs/findings.md` says of each finding, for tests that hold the page to the code.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Every section has these.
const PARTS: [&str; 4] = ["- **Claim** ", "- **Test** ", "- **Gain** ", "- **Silent** "];

/// The section of one finding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FindingSection {
    /// Sentences in which `…` stands for anything.
    pub titles: Vec<String>,
    /// The names of the numbers that are claimed.
    pub claim: BTreeSet<String>,
    /// How many of [`PARTS`] it has.
    parts: usize,
}

/// The sections of the page by the ids of their findings.
///
/// # Panics
/// If the page is not there, a section is there twice or lacks a part.
#[must_use]
pub fn findings_page() -> BTreeMap<String, FindingSection> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/findings.md");
    let text = std::fs::read_to_string(&path).expect("docs/findings.md is there");
    let sections = sections(&text);
    for (id, section) in &sections {
        assert!(section.parts == PARTS.len() && !section.titles.is_empty(), "{id}: {section:?}");
    }
    sections
}

fn sections(text: &str) -> BTreeMap<String, FindingSection> {
    let mut sections = BTreeMap::new();
    let mut current: Option<(String, FindingSection)> = None;
    let mut in_claim = false;
    for line in text.lines() {
        if line.starts_with('#') {
            add(&mut sections, current.take());
            let id = line.strip_prefix("### `").and_then(|id| id.strip_suffix('`'));
            current = id.map(|id| (id.to_owned(), FindingSection::default()));
        }
        let Some((_, section)) = &mut current else { continue };
        section.titles.extend(line.strip_prefix("> ").map(str::to_owned));
        section.parts += usize::from(PARTS.iter().any(|part| line.starts_with(part)));
        in_claim = line.starts_with(PARTS[0]) || in_claim && line.starts_with("  ");
        if in_claim {
            section.claim.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    add(&mut sections, current);
    sections
}

fn add(sections: &mut BTreeMap<String, FindingSection>, section: Option<(String, FindingSection)>) {
    if let Some((id, section)) = section {
        let before = sections.insert(id, section);
        assert_eq!(before, None, "a finding has one section");
    }
}

impl FindingSection {
    /// Holds a finding to what the page says of it.
    ///
    /// # Panics
    /// If the page says something else.
    pub fn hold<'c>(&self, title: &str, claim: impl IntoIterator<Item = &'c str>) {
        let is_said = self.titles.iter().any(|pattern| fits(pattern, title));
        assert!(is_said, "{title:?} is none of {:?} in docs/findings.md", self.titles);
        let claimed: BTreeSet<String> = claim.into_iter().map(str::to_owned).collect();
        assert_eq!(claimed, self.claim, "the claim of {title:?}, and what docs/findings.md says");
    }
}

/// Whether a text is that of a pattern, with anything for each `…`.
fn fits(pattern: &str, text: &str) -> bool {
    let (start, rest) = pattern.split_once('…').unwrap_or((pattern, ""));
    let Some(text) = text.strip_prefix(start) else { return false };
    match (pattern.contains('…'), rest) {
        (false, _) => text.is_empty(),
        (true, "") => true,
        (true, rest) => text.char_indices().any(|(at, _)| fits(rest, &text[at..])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_stand_for_anything() {
        assert!(fits("… of …, in all", "3 kernels of 4, in all"));
        assert!(fits("waits…", "waits"));
        assert!(!fits("… of …, in all", "3 kernels of 4"));
        assert!(!fits("waits", "waits long"));
        assert!(!fits("a … c", "a b d"));
    }

    #[test]
    fn a_section_is_its_title_claim_and_parts() {
        let page = "# Page\n`no` section\n### `one`\n> … are slow\n- **Claim** `a`,\n  `b`.\n- **Test** `c`.\n- **Gain** x\n\
                    - **Silent** y\n## Other\n> no\n";
        let found = sections(page);
        let claim = ["a".to_owned(), "b".to_owned()].into();
        let one = FindingSection { titles: vec!["… are slow".to_owned()], claim, parts: 4 };
        assert_eq!(found, [("one".to_owned(), one)].into());
    }
}

//! Lists that a trace writes as text, such as `[0, 1, 2, 3]`: parsed only when somebody asks.

/// A list of integers; `cut` if the producer left out its end (`[0, 1, ..., 29, ...]`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntList {
    pub values: Vec<i64>,
    pub cut: bool,
}

impl IntList {
    /// `None` if the text is no flat list of integers.
    pub fn parse(text: &str) -> Option<IntList> {
        let inner = text.trim().strip_prefix('[')?.strip_suffix(']')?;
        let mut list = IntList::default();
        for item in inner.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            if item.trim_matches('"') == "..." {
                list.cut = true;
            } else {
                list.values.push(item.parse().ok()?);
            }
        }
        Some(list)
    }
}

/// Whether torch cut a list off: it then ends in `...`.
pub fn is_cut(text: &str) -> bool {
    let end = text.trim_end().trim_end_matches([']', ' ', '"']);
    end.ends_with("...") && text.trim_start().starts_with('[')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_list_is_never_taken_as_whole() {
        let whole = IntList::parse("[0, 1, 2]").unwrap();
        assert_eq!((whole.values, whole.cut), (vec![0, 1, 2], false));
        let cut = IntList::parse("[0, 1, 29, ...]").unwrap();
        assert_eq!((cut.values, cut.cut), (vec![0, 1, 29], true));
        assert!(is_cut("[0, 1, 29, ...]") && is_cut("[0, \"...\"]"));
        assert!(!is_cut("[0, 1]") && !is_cut("loading ..."));
        assert_eq!(IntList::parse("[[1], [2]]"), None);
    }
}

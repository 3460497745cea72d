//! What analyses go by in names that somebody gave: a replacement says the same.

use gpuscope_trace::FETCHING;

/// Words that tell a phase, a wait or a sort of work, wherever they stand and in whatever case; beside those of fetching.
const MARKS: [&str; 19] = [
    "compiledfxgraph.compile",
    "compiledfxgraph",
    "dataparallel.forward",
    "_broadcast_coalesced",
    "aten::broadcast",
    "broadcast",
    "accumulategrad",
    "clip_grad",
    "checkpoint.py",
    "unpack_hook",
    "recompute",
    "_compile",
    "autograd",
    "forward",
    "backward",
    "finalize",
    "reduce",
    "grad",
    "sync",
];

/// Words that tell a phase if an annotation begins with them.
const FIRST: [&str; 11] =
    ["profilerstep", "nccl", "gloo", "mpi", "ucc", "forward", "fwd", "backward", "bwd", "optimizer", "zero"];

fn marks() -> impl Iterator<Item = &'static str> {
    MARKS.into_iter().chain(FETCHING)
}

/// A replacement with the marks of the text it stands for.
pub(super) fn marked(replacement: String, text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let mut out = replacement;
    for mark in marks() {
        for (at, _) in lower.match_indices(mark) {
            // In the case in which it stands there, as some look at that.
            let mark = &text[at..at + mark.len()];
            if !out.contains(mark) {
                out.push(' ');
                out.push_str(mark);
            }
        }
    }
    out
}

/// The word an annotation begins with, if that tells something.
pub(super) fn first_word(text: &str) -> Option<&str> {
    let text = text.trim_matches(['#', ' ']);
    let first = text.split([':', ' ', '#', '.', '(', '_']).next()?;
    FIRST.contains(&first.to_ascii_lowercase().as_str()).then_some(first)
}

/// Whether a text is a word that tells something, and nothing else.
pub(super) fn is_all(text: &str) -> bool {
    let text = text.trim_matches(['#', ' ']);
    let lower = text.to_ascii_lowercase();
    FIRST.contains(&lower.as_str()) || marks().any(|mark| mark == lower) || lower == "zero_grad"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_stay_in_their_case() {
        assert_eq!(
            marked("annotation_1".to_owned(), "bobs DataLoader, grad_SYNC"),
            "annotation_1 grad SYNC DataLoader"
        );
        assert_eq!(marked("function_1".to_owned(), "secret"), "function_1");
        assert_eq!(first_word("## forward:bob ##"), Some("forward"));
        assert_eq!(first_word("forwards"), None);
        assert!(is_all("## Backward ##") && !is_all("backward bob"));
    }
}

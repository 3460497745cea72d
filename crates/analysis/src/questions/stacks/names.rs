//! Names that are the same from step to step and from run to run.

use std::borrow::Cow;

use super::trie::NodeKind;

/// A name without what changes: numbers of steps, addresses, and, unless frames are shown one by one, lines of files
/// and where Python is installed.
pub(crate) fn plain_name(kind: NodeKind, name: &str, with_lines: bool) -> Cow<'_, str> {
    match kind {
        NodeKind::Annotation if name.starts_with("ProfilerStep#") => Cow::Borrowed("ProfilerStep"),
        NodeKind::Frame if with_lines => without_address(name),
        NodeKind::Frame => without_line(name).unwrap_or_else(|| without_address(name)),
        // Some profilers write a number per line.
        NodeKind::Shapes => Cow::Owned(name.split_ascii_whitespace().collect()),
        _ => Cow::Borrowed(name),
    }
}

/// A host event's name without what changes from run to run, whatever sort of event it is.
pub(crate) fn from_run_to_run(name: &str) -> Cow<'_, str> {
    match plain_name(NodeKind::Annotation, name, false) {
        Cow::Borrowed(same) if same == name => plain_name(NodeKind::Frame, name, false),
        plain => plain,
    }
}

/// `torch/nn/linear.py(125): forward` and `<frozen importlib>(241): load` without the number.
fn without_line(name: &str) -> Option<Cow<'_, str>> {
    let is_line = |(at, _): &(usize, &str)| {
        let rest = name[at + 1..].trim_start_matches(|c: char| c.is_ascii_digit());
        rest.len() < name.len() - at - 1 && rest.starts_with("): ")
    };
    let (at, _) = name.match_indices('(').find(is_line)?;
    let (file, function) = (&name[..at], name[at..].split_once("): ")?.1);
    let file = file.rsplit_once("-packages/").map_or(file, |(_, file)| file);
    Some(Cow::Owned(format!("{file}: {}", without_address(function))))
}

/// `<built-in method run_backward of torch._C._EngineBase object at 0x7f4f85497ec0>`
fn without_address(name: &str) -> Cow<'_, str> {
    const AT: &str = " at 0x";
    let mut parts = name.split(AT);
    let first = parts.next().unwrap_or_default();
    if first.len() == name.len() {
        return Cow::Borrowed(name);
    }
    let rest = parts.map(|part| part.trim_start_matches(|c: char| c.is_ascii_hexdigit()));
    Cow::Owned(std::iter::once(first).chain(rest).collect())
}

/// `thread 4100 (python3)` is `python3`, whatever its number.
pub(crate) fn plain_thread<'a>(label: &'a str, number: &str) -> &'a str {
    let inside = label.rsplit_once('(').and_then(|(_, inside)| inside.strip_suffix(')'));
    match inside.filter(|inside| label.contains(number) && !inside.is_empty()) {
        Some(inside) => inside,
        None if label.is_empty() || label.contains(number) => "thread",
        None => label,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_several_runs_have_one_name() {
        assert_eq!(plain_thread("thread 4100 (python3)", "4100"), "python3");
        assert_eq!((plain_thread("", "7"), plain_thread("thread 7", "7")), ("thread", "thread"));
        assert_eq!(plain_thread("pt_main (a)", "7"), "pt_main (a)");
    }

    #[test]
    fn what_changes_from_run_to_run_is_left_out() {
        let plain = |kind, name| plain_name(kind, name, false).into_owned();
        assert_eq!(plain(NodeKind::Annotation, "ProfilerStep#12"), "ProfilerStep");
        assert_eq!(plain(NodeKind::Frame, "/usr/lib/dist-packages/torch/a.py(12): f"), "torch/a.py: f");
        assert_eq!(
            plain(NodeKind::Frame, "<built-in method run of torch._C.X object at 0x7f4f85497ec0>"),
            "<built-in method run of torch._C.X object>"
        );
        assert_eq!(
            plain(NodeKind::Frame, "<frozen importlib._bootstrap>(241): f"),
            "<frozen importlib._bootstrap>: f"
        );
        assert_eq!(plain(NodeKind::Frame, "a.py(12): <f at 0x1f of g at 0x2f>"), "a.py: <f of g>");
        assert_eq!(plain(NodeKind::Frame, "f(x)"), "f(x)");
        assert_eq!(from_run_to_run("ProfilerStep#12"), "ProfilerStep");
        assert_eq!(from_run_to_run("a.py(12): f"), "a.py: f");
        assert_eq!(from_run_to_run("aten::mm"), "aten::mm");
        assert_eq!(plain(NodeKind::Operator, "aten::mm"), "aten::mm");
        assert_eq!(plain(NodeKind::Shapes, "[\n  [2, 3],\n  []]"), "[[2,3],[]]");
        assert_eq!(plain_name(NodeKind::Frame, "a.py(12): f", true), "a.py(12): f");
    }
}

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

fn without_line(name: &str) -> Option<Cow<'_, str>> {
    let (file, rest) = name.split_once(".py(")?;
    let file = file.rsplit_once("-packages/").map_or(file, |(_, file)| file);
    let function = rest.split_once(": ").map_or(rest, |(_, function)| function);
    Some(Cow::Owned(format!("{file}.py: {function}")))
}

/// `<built-in method run_backward of torch._C._EngineBase object at 0x7f4f85497ec0>`
fn without_address(name: &str) -> Cow<'_, str> {
    let Some((before, after)) = name.split_once(" at 0x") else { return Cow::Borrowed(name) };
    let rest = after.trim_start_matches(|c: char| c.is_ascii_hexdigit());
    Cow::Owned(format!("{before}{rest}"))
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
        assert_eq!(plain(NodeKind::Operator, "aten::mm"), "aten::mm");
        assert_eq!(plain(NodeKind::Shapes, "[\n  [2, 3],\n  []]"), "[[2,3],[]]");
        assert_eq!(plain_name(NodeKind::Frame, "a.py(12): f", true), "a.py(12): f");
    }
}

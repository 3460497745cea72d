//! Operators of torch as `torch.autograd.profiler.emit_nvtx` writes them into the text of a range:
//! `aten::addmm, seq = 47595, op_id = 999269, sizes = [[768], [4, 768], [768, 768]], input_op_ids = …`.

/// What such a text says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Operator<'t> {
    pub(super) name: &'t [u8],
    /// The same for an operator and its backward.
    pub(super) sequence: Option<i64>,
    /// Of the inputs, a list of lists.
    pub(super) sizes: Option<&'t [u8]>,
}

impl Operator<'_> {
    /// The engine's range around a node of autograd has no number; the node's own, such as `AddmmBackward0`, has that of the
    /// operator which it undoes.
    pub(super) fn is_backward(&self) -> bool {
        let digits = self.name.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let plain = &self.name[..self.name.len() - digits];
        plain.ends_with(b"Backward")
            || plain.starts_with(b"autograd::engine::")
            || plain.starts_with(b"torch::autograd::")
    }
}

/// None for a range that somebody named otherwise.
pub(super) fn operator(text: &[u8]) -> Option<Operator<'_>> {
    let sequence = after(text, b", seq = ").and_then(|(at, rest)| Some((at, number(rest)?)));
    let number_of_call = after(text, b", op_id = ").and_then(|(at, rest)| Some((at, number(rest)?)));
    let sizes = after(text, b", sizes = ").and_then(|(at, rest)| Some((at, list(rest)?)));
    let ends = [sequence.map(|(at, _)| at), number_of_call.map(|(at, _)| at)];
    let end =
        ends.into_iter().chain([sizes.map(|(at, _)| at).filter(|_| ends != [None, None])]).flatten().min()?;
    let name = text.get(..end).filter(|name| !name.is_empty())?;
    Some(Operator { name, sequence: sequence.map(|(_, number)| number), sizes: sizes.map(|(_, list)| list) })
}

/// Where a word stands, and what follows it.
fn after<'t>(text: &'t [u8], word: &[u8]) -> Option<(usize, &'t [u8])> {
    let at = memchr::memmem::find(text, word)?;
    Some((at, &text[at + word.len()..]))
}

fn number(text: &[u8]) -> Option<i64> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&text[..digits]).ok()?.parse().ok()
}

/// `[[2, 3], []]` of a text that begins so.
fn list(text: &[u8]) -> Option<&[u8]> {
    let mut depth = 0;
    for (i, byte) in text.iter().enumerate() {
        match byte {
            b'[' => depth += 1,
            b']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return (i > 0).then(|| &text[..=i]);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_told_from_other_ranges() {
        let whole =
            operator(b"aten::addmm, seq = 7, op_id = 9, sizes = [[4], [2, 3]], input_op_ids = [(1,0)]");
        let sizes = Some(&b"[[4], [2, 3]]"[..]);
        assert_eq!(whole, Some(Operator { name: b"aten::addmm", sequence: Some(7), sizes }));
        let short = operator(b"aten::empty, op_id = 992");
        assert_eq!(short, Some(Operator { name: b"aten::empty", sequence: None, sizes: None }));
        for other in ["forward", "epoch, seq = none", ", op_id = 4", "x, sizes = [", "batch, sizes = [3]"] {
            assert_eq!(operator(other.as_bytes()), None, "{other}");
        }
    }
}

//! The printed text of an FX graph: which of its nodes are calls of operators.

use gpuscope_trace::compile_log::Calls;

/// Operators that give a tensor another shape, or another name, without touching its memory.
const VIEWS: [&str; 35] = [
    "_conj",
    "_neg_view",
    "_reshape_alias",
    "_unsafe_view",
    "alias",
    "as_strided",
    "chunk",
    "detach",
    "diagonal",
    "expand",
    "expand_as",
    "flatten",
    "imag",
    "lift_fresh",
    "movedim",
    "narrow",
    "permute",
    "real",
    "reshape",
    "select",
    "slice",
    "split",
    "split_with_sizes",
    "squeeze",
    "swapaxes",
    "t",
    "transpose",
    "unbind",
    "unflatten",
    "unfold",
    "unsqueeze",
    "view",
    "view_as",
    "view_as_complex",
    "view_as_real",
];

/// Calls that the compiler makes for its own sake: sizes, checks, modes.
const BOOKKEEPING: [&str; 12] = [
    "_assert_async",
    "_assert_scalar",
    "_assert_tensor_metadata",
    "_check",
    "_set_grad_enabled",
    "assert_size_stride",
    "sym_constrain_range",
    "sym_constrain_range_for_size",
    "sym_numel",
    "sym_size",
    "sym_storage_offset",
    "sym_stride",
];

/// What a call is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Operator,
    View,
    Bookkeeping,
}

/// By the path that is called: `torch.ops.aten.view.default`, `torch.relu`, `x.softmax`.
pub(super) fn sort(path: &str) -> Sort {
    let operator = match path.strip_prefix("torch.ops.").or_else(|| path.strip_prefix("aten.").map(|_| path))
    {
        // Namespace, operator, overload.
        Some(operator) => operator.split('.').nth(1).unwrap_or(operator),
        None => path.rsplit('.').next().unwrap_or(path),
    };
    if VIEWS.binary_search(&operator).is_ok() {
        Sort::View
    } else if BOOKKEEPING.binary_search(&operator).is_ok() || path.starts_with("fx_pytree.") {
        Sort::Bookkeeping
    } else {
        Sort::Operator
    }
}

pub(super) fn calls(text: &str) -> Calls {
    let mut calls = Calls::default();
    for line in text.lines() {
        match node(line.trim()) {
            Some(Sort::Operator) => calls.operators += 1,
            Some(Sort::View) => calls.views += 1,
            Some(Sort::Bookkeeping) | None => {}
        }
    }
    calls
}

/// `name: "f32[4]" = torch.ops.aten.relu.default(x);  x = None`.
fn node(line: &str) -> Option<Sort> {
    let (target, value) = line.split_once(" = ")?;
    let (name, annotation) = target.split_once(": ").unwrap_or((target, ""));
    // Numbers that stand for sizes are computed on the host.
    if !is_name(name.trim_end()) || annotation.starts_with("\"Sym(") {
        return None;
    }
    let value = value.split(";  ").next().unwrap_or(value);
    let path = path(value);
    match value[path.len()..].chars().next() {
        Some('(') if !path.is_empty() => Some(sort(path)),
        // An element of a result, an attribute, or another name for it.
        Some('[') | None => None,
        // `a + b`.
        Some(_) => Some(Sort::Operator),
    }
}

/// The dotted name that a text begins with.
pub(super) fn path(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.'))).unwrap_or(text.len());
    &text[..end]
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && path(text).len() == text.len() && !text.contains('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_can_be_searched() {
        assert!(VIEWS.is_sorted() && BOOKKEEPING.is_sorted());
    }

    #[test]
    fn calls_of_a_traced_graph() {
        let text = r#"
class GraphModule(torch.nn.Module):
    def forward(self, primals_1: "f32[32, 16]", primals_2: "Sym(s7)"):
        # File: model.py:8 in forward, code: y = torch.relu(x) * 2
        permute: "f32[16, 32]" = torch.ops.aten.permute.default(primals_1, [1, 0]);  primals_1 = None
        addmm: "f32[4, 32]" = torch.ops.aten.addmm.default(primals_2, permute);  permute = None
        sym_size: "Sym(s7)" = torch.ops.aten.sym_size.int(addmm, 0)
        add: "Sym(s7 + 1)" = sym_size + 1
        max_1 = torch.ops.aten.max.dim(addmm, 0)
        getitem: "f32[32]" = max_1[0];  max_1 = None
        constant = self._tensor_constant0
        my_op = torch.ops.mine.view_of_things(getitem)
        return (my_op, permute)
"#;
        assert_eq!(calls(text), Calls { operators: 3, views: 1 });
    }

    #[test]
    fn calls_of_a_graph_as_written() {
        let text = r#"
    def forward(self, L_x_ : torch.Tensor):
        l_x_ = L_x_
        linear: "f32[4, 32]" = torch._C._nn.linear(l_x_, w, b);  l_x_ = None
        mul: "f32[4, 32]" = linear * 2;  linear = None
        softmax = mul.softmax(-1)
        shown = softmax.view(-1)
        _set_grad_enabled = torch._C._set_grad_enabled(False)
        return (shown,)
"#;
        assert_eq!(calls(text), Calls { operators: 3, views: 1 });
    }

    #[test]
    fn odd_text_has_no_calls() {
        for odd in ["", " = ", "a = ", "é = x", "a b = f(x)", "a, b = f(x)", "= f(x)", "# a = f(x)"] {
            assert_eq!(calls(odd), Calls::default(), "{odd}");
        }
    }
}

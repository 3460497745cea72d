//! What a host thread was doing at a moment.

use gpuscope_trace::{Arg, Class, Interval, Ns, Row, ThreadId, View};

/// The host events around a moment on one thread, the innermost first.
pub(crate) fn around(view: View<'_>, thread: ThreadId, time: Ns) -> Vec<Row> {
    let moment = Interval::new(time, time + Ns(1));
    let innermost = view.index.innermost(view.trace).during(thread, moment).next();
    let Some((_, row)) = innermost else { return Vec::new() };
    std::iter::once(row).chain(view.index.nesting(view.trace).ancestors(row)).collect()
}

/// The names of the operators, the innermost first.
pub(crate) fn operators<'a>(view: View<'a>, around: &[Row]) -> impl Iterator<Item = &'a str> {
    let operators = around.iter().filter(move |row| view.trace.class(**row) == Class::Operator);
    operators.map(move |row| view.trace.name(*row))
}

/// The innermost module, without the words that torch puts before its name.
pub(crate) fn module(view: View<'_>, around: &[Row]) -> Option<String> {
    let trace = view.trace;
    let recorded = around.iter().find_map(|row| trace.name(*row).strip_prefix("nn.Module: "));
    let hierarchy = || {
        let text = around.iter().find_map(|row| trace.args.text(*row, Arg::ModuleHierarchy))?;
        Some(trace.strings.get(text)).filter(|text| !text.is_empty())
    };
    recorded.or_else(hierarchy).map(str::to_owned)
}

/// The Python frames, the outermost first: recorded as events, else as the operator's call stack.
pub(crate) fn python_stack(view: View<'_>, around: &[Row]) -> Vec<String> {
    let trace = view.trace;
    let frames = around.iter().rev().filter(|row| trace.class(**row) == Class::PythonFrame);
    let stack: Vec<String> = frames.map(|row| trace.name(*row).to_owned()).collect();
    if !stack.is_empty() {
        return stack;
    }
    let text = around.iter().find_map(|row| trace.args.text(*row, Arg::CallStack));
    let frames = text.map_or("", |text| trace.strings.get(text)).split(';').map(str::trim);
    let mut stack: Vec<String> = frames.filter(|frame| !frame.is_empty()).map(str::to_owned).collect();
    stack.reverse();
    stack
}

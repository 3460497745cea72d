//! The text of a graph break: where, why, and what torch suggests.

use gpuscope_trace::compile_log::{GraphBreak, Place};

/// What begins a new part of the text, whatever came before.
const PARTS: [&str; 6] = [
    "Explanation:",
    "Hint:",
    "Developer debug context:",
    "For more details about this graph break",
    "User code traceback:",
    "Traceback (most recent call last):",
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Reason,
    Explanation,
    Hint,
    Stack,
    Other,
}

/// Reads the text of an artifact; also that of a restart, which has neither place nor stack.
pub(super) fn graph_break(text: &str) -> GraphBreak {
    let mut found = GraphBreak::default();
    let mut reason: Vec<&str> = Vec::new();
    let mut explanation: Vec<&str> = Vec::new();
    let mut part = Part::Reason;
    for line in text.lines() {
        let trimmed = line.trim();
        if let Some(place) = trimmed.strip_prefix("Graph break in user code at ") {
            found.place = place_at(place);
            continue;
        }
        let trimmed = trimmed.strip_prefix("Graph Break Reason:").map_or(trimmed, str::trim_start);
        match PARTS.iter().position(|start| trimmed.starts_with(start)) {
            Some(0) => part = Part::Explanation,
            Some(1) => {
                part = Part::Hint;
                found.hints.push(String::new());
            }
            Some(4) => part = Part::Stack,
            // What follows is torch's own stack.
            Some(5) => break,
            Some(_) => part = Part::Other,
            None => {}
        }
        match part {
            Part::Reason => reason.push(trimmed),
            Part::Explanation => explanation.push(trimmed.trim_start_matches(PARTS[0]).trim_start()),
            Part::Hint => {
                if let Some(hint) = found.hints.last_mut() {
                    join(hint, trimmed.trim_start_matches(PARTS[1]).trim());
                }
            }
            Part::Stack => found.stack.extend(frame(trimmed)),
            Part::Other => {}
        }
    }
    found.reason = last_paragraph(&reason);
    let explanation =
        explanation.into_iter().filter(|line| !line.is_empty()).fold(String::new(), |mut all, line| {
            join(&mut all, line);
            all
        });
    found.explanation = (!explanation.is_empty()).then_some(explanation);
    found.hints.retain(|hint| !hint.is_empty());
    if let Some(innermost) = found.stack.last() {
        found.place.function.clone_from(&innermost.function);
    }
    found
}

/// What broke comes after what was being tried.
fn last_paragraph(lines: &[&str]) -> String {
    let mut last = String::new();
    for paragraph in lines.split(|line| line.is_empty()).filter(|lines| !lines.is_empty()) {
        last.clear();
        for line in paragraph {
            join(&mut last, line);
        }
    }
    last
}

fn join(text: &mut String, more: &str) {
    if !text.is_empty() && !more.is_empty() {
        text.push(' ');
    }
    text.push_str(more);
}

/// `model.py:10`.
fn place_at(text: &str) -> Place {
    let (file, line) = text.rsplit_once(':').unwrap_or((text, ""));
    match line.parse() {
        Ok(line) => Place { file: Some(file.to_owned()), line: Some(line), function: None },
        Err(_) => Place { file: Some(text.to_owned()), line: None, function: None },
    }
}

/// `File "model.py", line 10, in forward`.
fn frame(text: &str) -> Option<Place> {
    let (file, rest) = text.strip_prefix("File \"")?.split_once("\", line ")?;
    let (line, function) = rest.split_once(", in ").map_or((rest, None), |(line, name)| (line, Some(name)));
    Some(Place {
        file: Some(file.to_owned()),
        line: line.trim().parse().ok(),
        function: function.map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
Graph break in user code at net/model.py:10
Graph Break Reason: Encountered graph break when attempting to trace CALL: a function call, e.g. f(x, y):

Failed to trace builtin operator
  Explanation: Dynamo does not know how to trace `print`
      with these arguments.

  Hint: Avoid calling it.
  Hint: Or add it to
    the others.

  Developer debug context: builtin print

 For more details about this graph break, please visit: somewhere

User code traceback:
  File \"train.py\", line 18, in <module>
    model(x)
  File \"net/model.py\", line 10, in forward
    print(\"between\")

Traceback (most recent call last):
  File \"torch/_dynamo/symbolic_convert.py\", line 1123, in wrapper
torch._dynamo.exc.Unsupported: Failed to trace builtin operator
  Hint: Not again.
";

    #[test]
    fn the_parts_are_told_apart() {
        let found = graph_break(TEXT);
        assert_eq!(found.reason, "Failed to trace builtin operator");
        let explanation = "Dynamo does not know how to trace `print` with these arguments.";
        assert_eq!(found.explanation.as_deref(), Some(explanation));
        assert_eq!(found.hints, ["Avoid calling it.", "Or add it to the others."]);
        assert_eq!((found.place.file.as_deref(), found.place.line), (Some("net/model.py"), Some(10)));
        assert_eq!(found.place.function.as_deref(), Some("forward"));
        let lines: Vec<_> = found.stack.iter().map(|place| place.line.unwrap()).collect();
        assert_eq!(lines, [18, 10]);
    }

    #[test]
    fn old_reasons_are_one_line() {
        let found =
            graph_break("Graph break in user code at C:\\a.py:3\nGraph Break Reason: call_function print\n");
        assert_eq!((found.reason.as_str(), found.place.line), ("call_function print", Some(3)));
        assert_eq!(graph_break(""), GraphBreak::default());
        assert_eq!(graph_break("Graph break in user code at nowhere").place.line, None);
    }
}

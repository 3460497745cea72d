//! Where graphs broke, each place once.

use gpuscope_trace::compile_log::{CompileLog, GraphBreak, Place};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

/// A line of the program that the compiler could not follow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Break {
    pub rank: u32,
    pub reason: String,
    pub explanation: Option<String>,
    pub suggestion: String,
    pub file: Option<String>,
    pub line: Option<i64>,
    pub function: Option<String>,
    /// How often a compilation ended a graph there.
    pub count: u64,
    pub compile_ids: Vec<String>,
    /// The program's own lines that led there, outermost first.
    pub user_stack: Vec<String>,
}

pub(super) fn breaks(rank: u32, log: &CompileLog) -> Vec<Break> {
    let has_any = log.compilations.iter().any(|compilation| !compilation.breaks.is_empty());
    let mut rows: Vec<Break> = Vec::new();
    let mut known: FxHashMap<(String, Option<String>, Option<i64>), usize> = FxHashMap::default();
    for compilation in &log.compilations {
        // Logs of torch before 2.6 have only the reasons of restarts.
        let restarts = if has_any { &[][..] } else { &compilation.metrics.restart_reasons[..] };
        let restarts: Vec<GraphBreak> =
            restarts.iter().filter_map(|reason| of_restart(reason, &compilation.code)).collect();
        for graph_break in compilation.breaks.iter().chain(&restarts) {
            let place = &graph_break.place;
            let key = (graph_break.reason.clone(), place.file.clone(), place.line);
            let row = *known.entry(key).or_insert_with(|| {
                rows.push(row(rank, graph_break));
                rows.len() - 1
            });
            rows[row].count += 1;
            rows[row].compile_ids.push(compilation.id.to_string());
        }
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.count));
    rows
}

/// Distinct places over all ranks.
pub(super) fn places(breaks: &[Break]) -> u64 {
    let places: FxHashSet<_> = breaks.iter().map(|row| (&row.reason, &row.file, row.line)).collect();
    places.len() as u64
}

/// Not every restart is a break: some only change how numbers are treated.
fn of_restart(reason: &str, code: &Place) -> Option<GraphBreak> {
    if reason.starts_with("<class") || reason.is_empty() {
        return None;
    }
    let place = Place { line: None, ..code.clone() };
    Some(GraphBreak { reason: first_line(reason), place, ..GraphBreak::default() })
}

fn row(rank: u32, graph_break: &GraphBreak) -> Break {
    Break {
        rank,
        reason: graph_break.reason.clone(),
        explanation: graph_break.explanation.clone(),
        suggestion: suggestion(graph_break),
        file: graph_break.place.file.clone(),
        line: graph_break.place.line,
        function: graph_break.place.function.clone(),
        count: 0,
        compile_ids: Vec::new(),
        user_stack: of_program(&graph_break.stack),
    }
}

/// What torch suggests, but for the request to report it; else what usually helps.
fn suggestion(graph_break: &GraphBreak) -> String {
    let hints: Vec<&str> = graph_break
        .hints
        .iter()
        .map(String::as_str)
        .filter(|hint| !hint.contains("report an issue"))
        .collect();
    if !hints.is_empty() {
        return hints.join(" ");
    }
    let reason = graph_break.reason.to_ascii_lowercase();
    let known = [
        ("print", "Take the print out of the compiled code, or print only when debugging."),
        (
            "logg",
            "Take the logging out of the compiled code, or add the function to \
                  torch._dynamo.config.reorderable_logging_functions.",
        ),
        ("item", "Keep the number on the device, or set torch._dynamo.config.capture_scalar_outputs = True."),
        ("data", "Replace branches on the values of tensors by torch.where or torch.cond."),
        ("numpy", "Stay with tensors: conversions to NumPy leave the graph."),
    ];
    let found = known.into_iter().find(|(word, _)| reason.contains(word)).map(|(_, text)| text);
    let usual = "Move the call out of the compiled function, or wrap it as a custom operator (torch.library.custom_op).";
    found.unwrap_or(usual).to_owned()
}

/// Frames outside of torch itself, as `file:line function`.
pub(super) fn of_program(stack: &[Place]) -> Vec<String> {
    let is_own = |place: &&Place| {
        let file = place.file.as_deref().unwrap_or_default().replace('\\', "/");
        !file.contains("/torch/") && !file.starts_with("torch/")
    };
    let text = |place: &Place| {
        let file = place.file.as_deref().unwrap_or("?");
        let line = place.line.map_or_else(|| "?".to_owned(), |line| line.to_string());
        place
            .function
            .as_deref()
            .map_or_else(|| format!("{file}:{line}"), |name| format!("{file}:{line} {name}"))
    };
    stack.iter().filter(is_own).map(text).collect()
}

pub(super) fn first_line(text: &str) -> String {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned()
}

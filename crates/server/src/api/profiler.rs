//! The six addresses that the profiling suite's users know: the same questions, of the newest run unless one is named.

use std::sync::Arc;

use axum::extract::{Path, RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;
use gpuscope_job::Sort;

use super::{answer, form, options, pairs};
use crate::asker::{Asked, Form, Problem, ProblemKind};
use crate::index::Run;
use crate::shared::Shared;

const KNOWN: [&str; 6] = ["flame", "memory", "timeline", "kernels", "hta", "compile"];

pub(super) async fn ask(
    State(shared): State<Arc<Shared>>,
    Path(question): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    if !KNOWN.contains(&question.as_str()) {
        let message = format!("there is no /api/profiler/{question}");
        let hint = format!("there are {}; /api/v1/runs/RUN/QUESTION answers all questions", KNOWN.join(", "));
        return Err(Problem::new(ProblemKind::Missing, message, hint));
    }
    let mut words = pairs(query.as_deref());
    let run = match words.remove("run").and_then(|mut names| names.pop()) {
        Some(id) => shared.run(&id)?,
        None => newest(&shared, &question)?,
    };
    // Points over time are what a memory timeline is.
    if question == "memory" {
        words.entry("series".to_owned()).or_insert_with(|| vec!["true".to_owned()]);
    }
    let options = options(&shared, &question, words);
    let form = Some(form(&headers)?).filter(|form| *form != Form::Page).unwrap_or(Form::Json);
    answer(&shared.answers, Asked { runs: vec![run.source], question, options, form }, &headers).await
}

fn newest(shared: &Shared, question: &str) -> Result<Run, Problem> {
    let sort = if question == "compile" { Sort::CompileLogs } else { Sort::Traces };
    shared.newest(sort).ok_or_else(|| {
        let folder = shared.index.root().display();
        let (what, hint) = match sort {
            Sort::CompileLogs => (
                "no logs of torch.compile",
                format!("run the program with TORCH_TRACE={folder}/compile, or gpuscope compile train.py"),
            ),
            _ => (
                "no traces",
                format!("gpuscope profile train.py writes some; so does gpuscope demo -o {folder}/demo"),
            ),
        };
        Problem::new(ProblemKind::Missing, format!("there are {what} in {folder}"), hint)
    })
}

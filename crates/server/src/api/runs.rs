//! The runs of the folder: what they are, what is known of them, and what changes while one looks.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt as _, stream};
use gpuscope_job::Sort;
use serde::Deserialize;
use serde_json::{Value, json};

use super::json_of;
use crate::asker::{Problem, ProblemKind};
use crate::index::{Run, Status};
use crate::shared::Shared;
use crate::store::Written;

/// Runs of one name that a row shows the course of.
const COURSE: usize = 20;

pub(super) async fn list(State(shared): State<Arc<Shared>>) -> Response {
    let runs = shared.index.runs();
    let described: Vec<Value> = runs.iter().map(|run| with_course(run, &runs, &shared)).collect();
    let folder = shared.index.root().display().to_string();
    json_of(&json!({"folder": folder, "is_writable": shared.writable, "runs": described}))
}

pub(super) async fn one(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let run = shared.run(&id)?;
    let mut value = with_course(&run, &shared.index.runs(), &shared);
    value["paths"] = json!(run.source.paths);
    value["overview"] = json!(run.overview);
    Ok(json_of(&value))
}

/// A run beside those of the same name that came before it.
fn with_course(run: &Run, all: &[Run], shared: &Shared) -> Value {
    let step = |run: &Run| run.overview.as_ref().and_then(|overview| overview.step_ns);
    let before: Vec<&Run> = all
        .iter()
        .filter(|other| {
            family(other) == family(run) && other.modified < run.modified && step(other).is_some()
        })
        .take(COURSE - 1)
        .collect();
    let course: Vec<Option<i64>> = before.iter().rev().map(|run| step(run)).chain([step(run)]).collect();
    let change = match (before.first().and_then(|run| step(run)), step(run)) {
        (Some(before), Some(now)) if before > 0 => Some((now as f64 / before as f64 - 1.0) * 100.0),
        _ => None,
    };
    let mut value = described(run, shared);
    value["course_step_ns"] = json!(course);
    value["before"] = json!(before.first().map(|run| run.id.clone()));
    value["change_pct"] = json!(change);
    value
}

/// Runs that are one thing measured again: the name without what counts or dates them.
fn family(run: &Run) -> &str {
    let name = run.source.name.as_str();
    name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '-' | '_' | '.' | '/' | ':'))
}

pub(super) fn described(run: &Run, shared: &Shared) -> Value {
    let (status, detail, progress) = match &run.status {
        Status::Waiting => ("waiting", None, None),
        Status::Landing => ("landing", None, None),
        Status::Reading(watch) => ("reading", None, Some(watch.progress())),
        Status::Ready => ("ready", None, None),
        Status::Damaged(why) => ("damaged", Some(why.clone()), None),
    };
    let sort = match run.sort {
        Sort::Traces => "traces",
        Sort::CompileLogs => "compile",
        Sort::Benchmarks => "benchmarks",
    };
    let modified = run.modified.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let written = shared.index.store.written(&run.id);
    let overview = run.overview.as_deref();
    json!({
        "id": run.id,
        "name": run.source.name,
        "version": run.source.version,
        "content": run.content,
        "sort": sort,
        "files": run.files,
        "bytes": run.bytes,
        "modified_ms": modified.as_millis() as u64,
        "status": status,
        "detail": detail,
        "read_bytes": progress.map(|(read, _)| read),
        "total_bytes": progress.map(|(_, total)| total),
        "verdict": overview.map(|overview| &overview.verdict),
        "gpus": overview.map(|overview| &overview.gpus),
        "ranks": overview.map(|overview| overview.ranks),
        "steps": overview.map(|overview| overview.steps),
        "events": overview.map(|overview| overview.events),
        "step_ns": overview.and_then(|overview| overview.step_ns),
        "gpu_busy_pct": overview.and_then(|overview| overview.gpu_busy_pct),
        "exposed_communication_pct": overview.and_then(|overview| overview.exposed_communication_pct),
        "mfu_pct": overview.and_then(|overview| overview.mfu_pct),
        "tags": written.tags,
        "note": written.note,
    })
}

/// Says whenever the list changes; what has changed is for whoever listens to ask.
pub(super) async fn events(State(shared): State<Arc<Shared>>) -> Response {
    let state = (shared.index.changes(), shared.stop.clone());
    let events = stream::unfold(state, |(mut changes, mut stop)| async move {
        tokio::select! {
            changed = changes.changed() => changed.ok()?,
            _ = stop.changed() => return None,
        }
        let count = *changes.borrow_and_update();
        let event = Event::default().event("runs").data(count.to_string());
        Some((Ok::<Event, Infallible>(event), (changes, stop)))
    });
    Sse::new(events).keep_alive(KeepAlive::new().interval(Duration::from_secs(15))).into_response()
}

#[derive(Deserialize)]
pub(super) struct Writing {
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    note: String,
}

/// Of an upload.
const LARGEST: u64 = 2 << 30;
const MOST_TAGS: usize = 32;
const LONGEST: usize = 10_000;

pub(super) async fn write(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    Json(writing): Json<Writing>,
) -> Result<Response, Problem> {
    allowed(&shared)?;
    let run = shared.run(&id)?;
    let clean = |tag: String| tag.replace(',', " ").trim().to_owned();
    let tags: Vec<String> = writing.tags.into_iter().map(clean).filter(|tag| !tag.is_empty()).collect();
    if tags.len() > MOST_TAGS || writing.note.len() > LONGEST || tags.iter().any(|tag| tag.len() > 80) {
        let hint = format!("at most {MOST_TAGS} tags of 80 bytes, and a note of {LONGEST}");
        return Err(Problem::new(ProblemKind::Refused, "this is too long", hint));
    }
    let kept = shared.index.store.write(&run.id, &Written { tags, note: writing.note });
    if !kept {
        let hint = "is the disk full?";
        return Err(Problem::new(ProblemKind::Bug, "it could not be kept", hint));
    }
    shared.index.changed();
    Ok(json_of(&described(&run, &shared)))
}

fn allowed(shared: &Shared) -> Result<(), Problem> {
    let hint = "start the server with --writable for notes, tags and uploads";
    let refused = || Problem::new(ProblemKind::Forbidden, "this server only reads", hint);
    shared.writable.then_some(()).ok_or_else(refused)
}

/// Takes a trace into the folder: first aside, and in its place once it is whole. Whether it may come is asked before any of
/// it is read.
pub(super) async fn upload(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
    body: Body,
) -> Result<Response, Problem> {
    allowed(&shared)?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let ends = [".json", ".json.gz", ".json.zst", ".log", ".sqlite", ".csv"];
    if name.len() > 120
        || !name.chars().all(is_plain)
        || name.starts_with('.')
        || !ends.iter().any(|end| name.ends_with(end))
    {
        let hint = format!("letters, digits, - _ . and one of the endings {}", ends.join(" "));
        return Err(Problem::new(
            ProblemKind::Refused,
            format!("{name:?} is no name for a trace here"),
            hint,
        ));
    }
    let folder = shared.index.root().join("uploads");
    let lost =
        |_| Problem::new(ProblemKind::Bug, "the file could not be kept", "is there room in the folder?");
    std::fs::create_dir_all(&folder).map_err(lost)?;
    // Names that begin with a dot are not looked at.
    let mut aside = tempfile::Builder::new().prefix(".upload-").tempfile_in(&folder).map_err(lost)?;
    let mut left = LARGEST;
    let mut pieces = body.into_data_stream();
    while let Some(piece) = pieces.next().await {
        let broken = |_| Problem::new(ProblemKind::Refused, "the file broke off on its way", "send it again");
        let piece = piece.map_err(broken)?;
        left = left.checked_sub(piece.len() as u64).ok_or_else(|| {
            let hint = format!("at most {} GiB; a larger one is put into the folder itself", LARGEST >> 30);
            Problem::new(ProblemKind::Refused, "the file is too large", hint)
        })?;
        std::io::Write::write_all(&mut aside, &piece).map_err(lost)?;
    }
    match aside.persist_noclobber(folder.join(&name)) {
        Ok(_) => Ok((StatusCode::CREATED, json_of(&json!({"ok": true}))).into_response()),
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(Problem::new(ProblemKind::Refused, "there is a file of this name", "give it another name"))
        }
        Err(error) => Err(lost(error.error)),
    }
}

//! The runs of the folder: what they are, what is known of them, and what changes while one looks.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt as _, stream};
use gpuscope_job::Sort;
use serde::Deserialize;
use serde_json::{Value, json};

use super::json_of;
use crate::asker::{Overview, Problem, ProblemKind};
use crate::index::{Run, Status};
use crate::shared::Shared;
use crate::store::Written;

/// Runs of one name that a row shows the course of.
const COURSE: usize = 20;

pub(super) async fn list(State(shared): State<Arc<Shared>>) -> Response {
    let runs = shared.index.runs();
    let courses = Courses::of(&runs);
    let written = shared.index.store.all_written();
    let none = Written::default();
    let row = |run: &Run| courses.added_to(told(run, written.get(&run.id).unwrap_or(&none)), run);
    let described: Vec<Value> = runs.iter().map(row).collect();
    let folder = shared.index.root().display().to_string();
    json_of(&json!({"folder": folder, "is_writable": shared.writable, "runs": described}))
}

pub(super) async fn one(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let run = shared.run(&id)?;
    let runs = shared.index.runs();
    let mut value = Courses::of(&runs).added_to(described(&run, &shared), &run);
    value["paths"] = json!(run.source.paths);
    value["overview"] = json!(run.overview);
    Ok(json_of(&value))
}

/// Runs beside those of the same name that came before them.
struct Courses<'r>(HashMap<&'r str, Vec<&'r Run>>);

impl<'r> Courses<'r> {
    /// Of runs with the newest first.
    fn of(runs: &'r [Run]) -> Courses<'r> {
        let mut families: HashMap<&str, Vec<&Run>> = HashMap::new();
        for run in runs.iter().filter(|run| step(run).is_some()) {
            families.entry(family(run)).or_default().push(run);
        }
        Courses(families)
    }

    fn added_to(&self, mut value: Value, run: &Run) -> Value {
        let all = self.0.get(family(run)).map_or(&[][..], Vec::as_slice);
        let first = all.partition_point(|other| other.modified >= run.modified);
        let before = &all[first..all.len().min(first + COURSE - 1)];
        let course: Vec<Option<i64>> = before.iter().rev().map(|run| step(run)).chain([step(run)]).collect();
        let change = match (before.first().and_then(|run| step(run)), step(run)) {
            (Some(before), Some(now)) if before > 0 => Some((now as f64 / before as f64 - 1.0) * 100.0),
            _ => None,
        };
        value["course_step_ns"] = json!(course);
        value["before"] = json!(before.first().map(|run| run.id.clone()));
        value["change_pct"] = json!(change);
        value
    }
}

fn step(run: &Run) -> Option<i64> {
    run.overview.as_ref().and_then(|overview| overview.step_ns)
}

/// Runs that are one thing measured again: the name without what counts or dates them.
fn family(run: &Run) -> &str {
    let name = run.source.name.as_str();
    name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '-' | '_' | '.' | '/' | ':'))
}

pub(super) fn described(run: &Run, shared: &Shared) -> Value {
    told(run, &shared.index.store.written(&run.id))
}

fn told(run: &Run, written: &Written) -> Value {
    let (status, detail, progress) = match &run.status {
        Status::Waiting => ("waiting", None, None),
        Status::Landing => ("landing", None, None),
        Status::Reading(watch) => ("reading", None, Some(watch.progress())),
        Status::Ready => ("ready", None, None),
        Status::Damaged(why) => ("damaged", Some(why.clone()), None),
        Status::Unread(why) => ("unread", Some(why.clone()), None),
    };
    let sort = match run.sort {
        Sort::Traces => "traces",
        Sort::CompileLogs => "compile",
        Sort::Benchmarks => "benchmarks",
    };
    let modified = run.modified.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
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
        "view": overview.and_then(|overview| overview.view.as_ref()),
        "damage": overview.map_or(&[][..], |overview| &overview.damage),
        "verdict": overview.map(verdict),
        "gpus": overview.map(|overview| &overview.gpus),
        "models": overview.map_or(&[][..], |overview| &overview.models),
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

/// What is lost of a recording comes before what the rest of it says.
fn verdict(overview: &Overview) -> String {
    match overview.damage.first() {
        Some(damage) => format!("Read in part: {}. {}", damage.trim_end_matches('.'), overview.verdict),
        None => overview.verdict.clone(),
    }
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
    writing: Result<Json<Writing>, JsonRejection>,
) -> Result<Response, Problem> {
    allowed(&shared)?;
    let Json(writing) = writing.map_err(|rejection| misread(&rejection))?;
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

fn misread(rejection: &JsonRejection) -> Problem {
    let kind = match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => ProblemKind::TooLarge,
        StatusCode::UNSUPPORTED_MEDIA_TYPE => ProblemKind::WrongType,
        _ => ProblemKind::Refused,
    };
    let hint = "send {\"tags\": [\"…\"], \"note\": \"…\"} as Content-Type: application/json";
    Problem::new(kind, rejection.body_text(), hint)
}

fn allowed(shared: &Shared) -> Result<(), Problem> {
    let hint = "start the server with --writable for notes, tags and uploads";
    let refused = || Problem::new(ProblemKind::Forbidden, "this server only reads", hint);
    shared.writable.then_some(()).ok_or_else(refused)
}

/// To be read by whoever may read what the user writes otherwise: temporary files are the user's alone.
fn aside_in(folder: &std::path::Path) -> std::io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".upload-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
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
    let mut aside = aside_in(&folder).map_err(lost)?;
    // A slow disk keeps nobody else waiting.
    let (write, mut written) = tokio::sync::mpsc::channel::<Bytes>(4);
    let writing = tokio::task::spawn_blocking(move || {
        while let Some(piece) = written.blocking_recv() {
            std::io::Write::write_all(&mut aside, &piece)?;
        }
        Ok::<_, std::io::Error>(aside)
    });
    let mut left = LARGEST;
    let mut pieces = body.into_data_stream();
    while let Some(piece) = pieces.next().await {
        let broken = |_| Problem::new(ProblemKind::Refused, "the file broke off on its way", "send it again");
        let piece = piece.map_err(broken)?;
        left = left.checked_sub(piece.len() as u64).ok_or_else(|| {
            let hint = format!("at most {} GiB; a larger one is put into the folder itself", LARGEST >> 30);
            Problem::new(ProblemKind::TooLarge, "the file is too large", hint)
        })?;
        if write.send(piece).await.is_err() {
            break;
        }
    }
    drop(write);
    let aside = writing.await.map_err(std::io::Error::other).and_then(|aside| aside).map_err(lost)?;
    match aside.persist_noclobber(folder.join(&name)) {
        Ok(_) => Ok((StatusCode::CREATED, json_of(&json!({"ok": true}))).into_response()),
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(Problem::new(ProblemKind::Refused, "there is a file of this name", "give it another name"))
        }
        Err(error) => Err(lost(error.error)),
    }
}

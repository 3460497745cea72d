//! The interface for programs: questions put to runs over HTTP.

mod openapi;
mod profiler;
mod runs;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, put};
use futures_util::stream;
use gpuscope_job::Sort;
use serde_json::{Map, Value, json};

use crate::answers::{self, Answers};
use crate::asker::{Asked, Form, Problem, ProblemKind, Source};
use crate::index::Run;
use crate::jobs::Waiter;
use crate::shared::Shared;

pub(crate) fn router() -> Router<Arc<Shared>> {
    Router::new()
        .route("/api/openapi.json", get(openapi::document))
        .route("/api/profiler/{question}", get(profiler::ask))
        .route("/api/v1/questions", get(questions))
        .route("/api/v1/events", get(runs::events))
        .route("/api/v1/runs", get(runs::list))
        .route("/api/v1/runs/{run}", get(runs::one))
        .route("/api/v1/runs/{run}/written", put(runs::write))
        .route("/api/v1/runs/{run}/{question}", get(ask))
        .route("/api/v1/compare", get(compare))
        .route("/api/v1/bench", get(bench))
        .route("/api/v1/history", get(history))
        .route("/api/v1/gate", get(gate))
        .route("/api/v1/uploads/{name}", put(runs::upload))
}

async fn questions(State(shared): State<Arc<Shared>>) -> Response {
    json_of(&json!({ "questions": shared.asker.questions() }))
}

async fn ask(
    State(shared): State<Arc<Shared>>,
    Path((run, question)): Path<(String, String)>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let run = shared.run(&run)?;
    let mut words = pairs(query.as_deref());
    let mut runs = vec![run.source];
    // Questions about two runs name the other one.
    if let Some(other) = words.remove("with").and_then(|mut names| names.pop()) {
        runs.push(shared.run(&other)?.source);
    }
    let options = options(&shared, &question, words);
    let form = form(&headers)?;
    answer(&shared.answers, Asked { runs, question, options, form }, &headers).await
}

async fn compare(
    State(shared): State<Arc<Shared>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let mut words = pairs(query.as_deref());
    let mut run = |name: &str| {
        let id = words.remove(name).and_then(|mut names| names.pop());
        let hint = "give ?a=RUN&b=RUN, b is what changed";
        let id = id.ok_or_else(|| Problem::new(ProblemKind::Refused, format!("{name} is missing"), hint))?;
        shared.run(&id)
    };
    let runs = vec![run("a")?.source, run("b")?.source];
    let question = "diff".to_owned();
    let options = options(&shared, &question, words);
    let form = form(&headers)?;
    answer(&shared.answers, Asked { runs, question, options, form }, &headers).await
}

/// The benchmarks of the folder: which there are, one of them (`?run=ID`), or what changed (`?a=ID&b=ID`).
async fn bench(
    State(shared): State<Arc<Shared>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let words = pairs(query.as_deref());
    let named = |name: &str| words.get(name).and_then(|names| names.last());
    let ids: Vec<&String> = ["run", "a", "b"].into_iter().filter_map(named).collect();
    if ids.is_empty() {
        let runs = shared.index.runs();
        let runs: Vec<Value> = runs
            .iter()
            .filter(|run| run.sort == Sort::Benchmarks)
            .map(|run| described(run, &shared))
            .collect();
        return Ok(json_of(&json!({ "runs": runs })));
    }
    let runs = ids.into_iter().map(|id| Ok(shared.run(id)?.source)).collect::<Result<Vec<_>, Problem>>()?;
    answer(&shared.answers, about_benchmarks("bench", runs, Form::Json), &headers).await
}

/// How the numbers of all benchmarks went, and where they changed for good.
async fn history(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Result<Response, Problem> {
    answer(&shared.answers, about_benchmarks("history", vec![the_history()], Form::Json), &headers).await
}

/// Whether the newest runs got worse.
async fn gate(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Result<Response, Problem> {
    answer(&shared.answers, about_benchmarks("gate", vec![the_history()], Form::Json), &headers).await
}

pub(crate) fn about_benchmarks(question: &str, runs: Vec<Source>, form: Form) -> Asked {
    Asked { runs, question: question.to_owned(), options: Map::new(), form }
}

/// No files of the folder; what was answered a moment ago is as good as new.
pub(crate) fn the_history() -> Source {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Source { name: "history".to_owned(), version: (now.as_secs() / 2).to_string(), paths: Vec::new() }
}

/// The answer in the form that is wanted, or word of how far it is.
pub(crate) async fn answer(
    answers: &Arc<Answers>,
    asked: Asked,
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    let accepts =
        |kind: &str| accept(headers).iter().any(|accepted| accepted.kind == kind && accepted.is_wanted());
    let key = answers::key_of(&asked);
    if accepts("text/event-stream") {
        return progress(answers, &key, asked);
    }
    let tag = format!("\"{key}\"");
    let has = headers.get(header::IF_NONE_MATCH).and_then(|tags| tags.to_str().ok());
    if has.is_some_and(|tags| tags.split(',').any(|known| is_tag(known.trim(), &tag)))
        && answers.known(&key).is_some()
    {
        return Ok(tagged(StatusCode::NOT_MODIFIED.into_response(), &tag));
    }
    let form = asked.form;
    let bytes = answers.ask(asked).await?;
    Ok(tagged(([(header::CONTENT_TYPE, media_type(form))], bytes).into_response(), &tag))
}

fn tagged(mut response: Response, tag: &str) -> Response {
    if let Ok(tag) = HeaderValue::from_str(tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    // Kept by browsers, and asked for again: what is in a run may change.
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    response
}

fn media_type(form: Form) -> &'static str {
    match form {
        Form::Json | Form::Rows => "application/json",
        Form::Csv => "text/csv; charset=utf-8",
        Form::Arrow => "application/vnd.apache.arrow.stream",
        Form::Page => "text/html; charset=utf-8",
    }
}

/// How far it is, several times a second, and when it is done.
fn progress(answers: &Arc<Answers>, key: &str, asked: Asked) -> Result<Response, Problem> {
    let waiter = match answers.known(key) {
        Some(_) => None,
        None => Some(answers.begin(key, asked)?),
    };
    Ok(progress_of(waiter))
}

/// Of work that is under way; of none, that it is done.
pub(crate) fn progress_of<T: Clone + Send + Sync + 'static>(waiter: Option<Waiter<T>>) -> Response {
    let events = stream::unfold(Some(waiter), |state| async move {
        let waiter = state?;
        let done = |ok: bool, detail: String| {
            Event::default().event("done").data(json!({"ok": ok, "detail": detail}).to_string())
        };
        let Some(waiter) = waiter else { return Some((done(true, String::new()), None)) };
        match tokio::time::timeout(Duration::from_millis(200), waiter.outcome()).await {
            Ok(Ok(_)) => Some((done(true, String::new()), None)),
            Ok(Err(problem)) => Some((done(false, problem.messages.join("; ")), None)),
            Err(_) => {
                let (read, total) = waiter.progress();
                let text = json!({"read_bytes": read, "total_bytes": total}).to_string();
                Some((Event::default().event("progress").data(text), Some(Some(waiter))))
            }
        }
    });
    let events = futures_util::StreamExt::map(events, Ok::<Event, Infallible>);
    Sse::new(events).keep_alive(KeepAlive::new().interval(Duration::from_secs(15))).into_response()
}

/// Weak tags are as good, and `*` is any.
fn is_tag(known: &str, tag: &str) -> bool {
    known == "*" || known.trim_start_matches("W/") == tag
}

/// One of the forms that whoever asks takes, and how much it is wanted.
struct Accepted<'h> {
    kind: &'h str,
    /// From 0, not at all, to 1.
    weight: f32,
}

impl Accepted<'_> {
    fn is_wanted(&self) -> bool {
        self.weight > 0.0
    }
}

/// What is wanted most comes first; of equals, what is named first.
fn accept(headers: &HeaderMap) -> Vec<Accepted<'_>> {
    let texts = headers.get_all(header::ACCEPT).into_iter().filter_map(|accept| accept.to_str().ok());
    let mut all: Vec<Accepted<'_>> = texts.flat_map(|text| text.split(',')).map(accepted).collect();
    all.retain(|accepted| !accepted.kind.is_empty());
    all.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    all
}

/// `text/csv;q=0.5`
fn accepted(part: &str) -> Accepted<'_> {
    let mut words = part.split(';').map(str::trim);
    let kind = words.next().unwrap_or_default();
    let weight = words.find_map(|word| word.strip_prefix("q=").or_else(|| word.strip_prefix("Q=")));
    Accepted { kind, weight: weight.and_then(|weight| weight.parse().ok()).unwrap_or(1.0) }
}

/// The forms of answers, the usual one first.
const FORMS: [(&str, Form); 4] = [
    ("application/json", Form::Json),
    ("text/csv", Form::Csv),
    ("application/vnd.apache.arrow.stream", Form::Arrow),
    ("text/html", Form::Page),
];

/// The one that is wanted most. A browser that opens an address of the interface names pages first and takes anything: it
/// gets what programs get.
fn form(headers: &HeaderMap) -> Result<Form, Problem> {
    let all = accept(headers);
    let wants = |kind: &str| all.iter().any(|accepted| accepted.kind == kind && accepted.is_wanted());
    if all.is_empty() || wants("text/event-stream") || (wants("*/*") && wants("text/html")) {
        return Ok(Form::Json);
    }
    let is_refused = |kind: &str| all.iter().any(|accepted| accepted.kind == kind && !accepted.is_wanted());
    let fits = |kind: &str, wanted: &str| match wanted.strip_suffix('*') {
        Some("*/") => true,
        Some(group) => kind.starts_with(group),
        None => kind == wanted,
    };
    let mut wanted = all.iter().filter(|accepted| accepted.is_wanted());
    let found = wanted.find_map(|accepted| {
        FORMS.iter().find(|(kind, _)| fits(kind, accepted.kind) && !is_refused(kind)).map(|(_, form)| *form)
    });
    found.ok_or_else(|| {
        let hint = format!("available: {}", FORMS.map(|(kind, _)| kind).join(", "));
        Problem::new(ProblemKind::NotAcceptable, "none of the forms in Accept is available", hint)
    })
}

/// `a=1&b=2&a=3`: values by name. A field of a form that was left empty says nothing.
pub(crate) fn pairs(query: Option<&str>) -> BTreeMap<String, Vec<String>> {
    let mut pairs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let given = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    for (name, value) in given.filter(|(_, value)| !value.is_empty()) {
        pairs.entry(name.into_owned()).or_default().push(value.into_owned());
    }
    pairs
}

/// As the catalogue has them: what may be given several times is a list, of anything else the last counts.
pub(crate) fn options(
    shared: &Shared,
    question: &str,
    words: BTreeMap<String, Vec<String>>,
) -> Map<String, Value> {
    let known = shared.asker.questions().iter().find(|known| known.name == question);
    let is_many = |name: &str| known.and_then(|known| known.option(name)).is_some_and(|option| option.many);
    let value = |(name, mut values): (String, Vec<String>)| {
        let value = if is_many(&name) { json!(values) } else { json!(values.pop()) };
        (name, value)
    };
    words.into_iter().map(value).collect()
}

pub(crate) fn json_of(value: &Value) -> Response {
    let text = Bytes::from(value.to_string());
    ([(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")], text).into_response()
}

/// A run as programs see it.
pub(crate) fn described(run: &Run, shared: &Shared) -> Value {
    runs::described(run, shared)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form_of(accept: &str) -> Option<Form> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_str(accept).unwrap());
        form(&headers).ok()
    }

    #[test]
    fn what_is_wanted_most_is_given() {
        for (accept, wanted) in [
            ("text/csv", Some(Form::Csv)),
            ("text/csv;q=0, application/json", Some(Form::Json)),
            ("application/json;q=0.2, text/csv; q=0.8", Some(Form::Csv)),
            ("text/*", Some(Form::Csv)),
            ("application/*;q=0.5", Some(Form::Json)),
            ("*/*, application/json;q=0", Some(Form::Csv)),
            ("*/*", Some(Form::Json)),
            ("text/html,application/xhtml+xml,*/*;q=0.8", Some(Form::Json)),
            ("text/event-stream", Some(Form::Json)),
            ("image/png", None),
            ("text/csv;q=0", None),
        ] {
            assert_eq!(form_of(accept), wanted, "{accept}");
        }
        assert_eq!(form(&HeaderMap::new()).ok(), Some(Form::Json));
    }
}

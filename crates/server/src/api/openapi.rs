//! The interface described for programs (`OpenAPI` 3.1), made from the catalogue.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use serde_json::{Map, Value, json};

use super::json_of;
use crate::catalog::{Kind, Opt, Question};
use crate::shared::Shared;

pub(super) async fn document(State(shared): State<Arc<Shared>>) -> Response {
    json_of(&of(shared.asker.questions(), &shared.base))
}

pub(crate) fn of(questions: &[Question], base: &str) -> Value {
    let mut paths = Map::new();
    for question in questions {
        let path = format!("/api/v1/runs/{{run}}/{}", question.name);
        let mut parameters = vec![run_parameter("path", "Which run: its id, or `newest`")];
        if question.runs == 2 {
            parameters.push(json!({
                "name": "with", "in": "query", "required": false, "schema": {"type": "string"},
                "description": "The run to compare with: what changed since the first one; without it, ranks of one run (`rank`, `against`)",
            }));
        }
        parameters.extend(question.options.iter().filter(|option| !option.for_files).map(parameter));
        paths.insert(path, json!({"get": operation(&question.about, &question.name, &parameters)}));
    }
    for name in ["flame", "memory", "timeline", "kernels", "hta", "compile"] {
        let Some(question) = questions.iter().find(|question| question.name == name) else { continue };
        let mut parameters = vec![run_parameter("query", "Which run: its id [default: the newest]")];
        parameters.extend(question.options.iter().filter(|option| !option.for_files).map(parameter));
        let operation = operation(&question.about, &format!("profiler-{name}"), &parameters);
        paths.insert(format!("/api/profiler/{name}"), json!({"get": operation}));
    }
    let plain = |about: &str, id: &str, parameters: Vec<Value>| json!({"get": {"summary": about, "operationId": id, "parameters": parameters, "responses": responses(&["application/json"])}});
    paths.insert("/api/v1/runs".to_owned(), plain("The runs, the newest first", "runs", vec![]));
    paths.insert(
        "/api/v1/runs/{run}".to_owned(),
        plain("One run", "run", vec![run_parameter("path", "Its id, or `newest`")]),
    );
    paths.insert(
        "/api/v1/questions".to_owned(),
        plain("The questions and their options", "questions", vec![]),
    );
    let side = |name: &str, about: &str| json!({"name": name, "in": "query", "required": true, "schema": {"type": "string"}, "description": about});
    let mut sides = vec![side("a", "The run before"), side("b", "The run after")];
    let diff = questions.iter().find(|question| question.name == "diff");
    sides
        .extend(diff.iter().flat_map(|diff| &diff.options).filter(|option| !option.for_files).map(parameter));
    paths.insert(
        "/api/v1/compare".to_owned(),
        json!({"get": operation("What changed from one run to another", "compare", &sides)}),
    );
    let of = |name: &str, about: &str| json!({"name": name, "in": "query", "required": false, "schema": {"type": "string", "minLength": 1}, "description": about});
    let benchmarks = vec![
        of("run", "One of them; without any, which there are"),
        of("a", "To compare: the one before"),
        of("b", "To compare: the one after"),
    ];
    paths.insert("/api/v1/bench".to_owned(), plain("The benchmarks of the folder", "bench", benchmarks));
    paths.insert(
        "/api/v1/history".to_owned(),
        plain("How the numbers of all benchmarks went, and where they changed for good", "history", vec![]),
    );
    paths.insert("/api/v1/gate".to_owned(), plain("Whether the newest runs got worse", "gate", vec![]));
    paths.insert(
        "/api/v1/runs/{run}/written".to_owned(),
        json!({"put": written(&run_parameter("path", "Its id, or `newest`"))}),
    );
    paths.insert("/api/v1/uploads/{name}".to_owned(), json!({"put": upload()}));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "gpuscope",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Why the GPUs were slow, and what would help: every question of the command line, put to runs. Durations and timestamps are integers in nanoseconds.",
            "license": {"name": "Apache-2.0 OR MIT", "identifier": "Apache-2.0 OR MIT"},
        },
        "servers": [{"url": if base.is_empty() { "/" } else { base }}],
        "paths": paths,
        "components": {"schemas": {
            "Problem": {
                "type": "object",
                "required": ["title", "status", "detail"],
                "properties": {
                    "type": {"type": "string"}, "title": {"type": "string"}, "status": {"type": "integer"},
                    "detail": {"type": "string", "description": "What is wrong"},
                    "hint": {"type": ["string", "null"], "description": "The way out"},
                },
            },
        }},
    })
}

/// Tags and a note, where the server may write.
fn written(run: &Value) -> Value {
    let mut answers = responses(&["application/json"]);
    answers["413"] = problem("It is too long");
    answers["415"] = problem("It is no JSON");
    let tags = json!({"type": "array", "items": {"type": "string"}});
    let schema = json!({"type": "object", "properties": {"tags": tags, "note": {"type": "string"}}});
    json!({
        "summary": "What people say of a run, where `serve --writable` allows it", "operationId": "written",
        "parameters": [run],
        "requestBody": {"required": true, "content": {"application/json": {"schema": schema}}},
        "responses": answers,
    })
}

fn upload() -> Value {
    let mut answers = responses(&["application/json"]);
    let made = answers["200"].take();
    answers["201"] = made;
    if let Some(answers) = answers.as_object_mut() {
        answers.remove("200");
    }
    answers["413"] = problem("The file is too large");
    let name = json!({"name": "name", "in": "path", "required": true, "schema": {"type": "string", "minLength": 1}, "description": "The name of the file: letters, digits, - _ . and the ending of a trace"});
    json!({
        "summary": "A trace for the folder, where `serve --writable` allows it; no file is replaced", "operationId": "upload",
        "parameters": [name],
        "requestBody": {"required": true, "content": {"application/octet-stream": {"schema": {}}}},
        "responses": answers,
    })
}

fn problem(about: &str) -> Value {
    let schema = json!({"$ref": "#/components/schemas/Problem"});
    json!({"description": about, "content": {"application/problem+json": {"schema": schema}}})
}

fn run_parameter(place: &str, about: &str) -> Value {
    json!({"name": "run", "in": place, "required": place == "path", "schema": {"type": "string", "minLength": 1}, "description": about})
}

fn operation(about: &str, id: &str, parameters: &[Value]) -> Value {
    let forms = ["application/json", "text/csv", "application/vnd.apache.arrow.stream", "text/html"];
    json!({"summary": about, "operationId": id, "parameters": parameters, "responses": responses(&forms)})
}

fn responses(forms: &[&str]) -> Value {
    let form = |form: &&str| {
        let schema = if *form == "application/json" { json!({"type": "object"}) } else { json!({}) };
        ((*form).to_owned(), json!({"schema": schema}))
    };
    let content: Map<String, Value> = forms.iter().map(form).collect();
    json!({
        "200": {"description": "The answer", "content": content},
        "400": problem("The question cannot be put like this"),
        "401": problem("No token was shown"),
        "403": problem("Asked by another site"),
        "404": problem("There is no such run or question"),
        "406": problem("The answer has none of the forms that are accepted"),
        "422": problem("The run cannot be read, or holds nothing for this question"),
        "503": problem("Busy: ask again in some seconds"),
    })
}

fn parameter(option: &Opt) -> Value {
    let mut schema = match option.kind {
        Kind::Flag => json!({"type": "boolean"}),
        Kind::Integer => json!({"type": "integer"}),
        Kind::Float => json!({"type": "number"}),
        Kind::Text => json!({"type": "string"}),
    };
    if !option.choices.is_empty() {
        schema["enum"] = json!(option.choices);
    }
    if let Some(default) = &option.default {
        schema["default"] = typed(option.kind, default);
    }
    if option.many {
        schema = json!({"type": "array", "items": schema});
    }
    json!({
        "name": option.name, "in": "query", "required": option.required,
        "description": option.help, "schema": schema,
    })
}

fn typed(kind: Kind, text: &str) -> Value {
    match kind {
        Kind::Text => json!(text),
        _ => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
    }
}

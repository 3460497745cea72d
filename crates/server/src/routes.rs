//! What a page of the timeline asks for while somebody looks at it: windows, slices, searches and ranges of one atlas.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use gpuscope_analysis::timeline::Atlas;
use gpuscope_report::timeline::{self, Window};
use gpuscope_trace::Ns;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Answers what is asked for below the page's address; the page itself is asked for by nothing.
pub(crate) fn answer(atlas: &Atlas, title: &str, what: &str, query: Option<&str>) -> Response {
    match what {
        "" => page(atlas, title),
        "window" => with(query, |sight| window(atlas, &sight)),
        "slice" => with(query, |asked| slice(atlas, &asked)),
        "find" => with(query, |asked: Text| json(&atlas.find(&asked.text))),
        "next" => with(query, |asked| next(atlas, &asked)),
        "range" => with(query, |asked: Times| json(&atlas.range(Ns(asked.from), Ns(asked.to)))),
        _ => (StatusCode::NOT_FOUND, "there is no such page\n").into_response(),
    }
}

fn with<Q: DeserializeOwned>(query: Option<&str>, then: impl FnOnce(Q) -> Response) -> Response {
    match serde_urlencoded::from_str(query.unwrap_or_default()) {
        Ok(asked) => then(asked),
        Err(error) => (StatusCode::BAD_REQUEST, format!("{error}\n")).into_response(),
    }
}

fn page(atlas: &Atlas, title: &str) -> Response {
    let mut html = Vec::new();
    match timeline::write_served(atlas, title, &mut html) {
        Ok(()) => ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response(),
        Err(error) => broken(&error.to_string()),
    }
}

#[derive(Deserialize)]
struct Sight {
    from: i64,
    to: i64,
    bucket: i64,
    /// Numbers, separated by commas.
    #[serde(default)]
    lanes: String,
    #[serde(default)]
    counters: String,
}

fn window(atlas: &Atlas, sight: &Sight) -> Response {
    let numbers = |text: &str| text.split(',').filter_map(|number| number.parse().ok()).collect();
    let asked = Window {
        sight: Ns(sight.from)..Ns(sight.to.max(sight.from)),
        bucket: Ns(sight.bucket),
        lanes: numbers(&sight.lanes),
        counters: numbers(&sight.counters),
    };
    match timeline::window(atlas, &asked) {
        Ok(bytes) => ([(header::CONTENT_TYPE, "application/octet-stream")], bytes).into_response(),
        Err(error) => broken(&error.to_string()),
    }
}

#[derive(Deserialize)]
struct Number {
    number: u32,
}

fn slice(atlas: &Atlas, asked: &Number) -> Response {
    match atlas.described(asked.number) {
        Some(described) => json(&described),
        None => (StatusCode::NOT_FOUND, "there is no such slice\n").into_response(),
    }
}

#[derive(Deserialize)]
struct Text {
    text: String,
}

#[derive(Deserialize)]
struct After {
    text: String,
    time: i64,
    number: u32,
    forward: bool,
}

fn next(atlas: &Atlas, asked: &After) -> Response {
    let names = atlas.find(&asked.text).names;
    json(&atlas.next(&names, (Ns(asked.time), asked.number), asked.forward))
}

#[derive(Deserialize)]
struct Times {
    from: i64,
    to: i64,
}

fn json(answer: &impl Serialize) -> Response {
    match serde_json::to_vec(answer) {
        Ok(bytes) => ([(header::CONTENT_TYPE, "application/json")], bytes).into_response(),
        Err(error) => broken(&error.to_string()),
    }
}

fn broken(why: &str) -> Response {
    (StatusCode::INTERNAL_SERVER_ERROR, format!("{why}\n")).into_response()
}

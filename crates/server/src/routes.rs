//! What can be asked for, each below the random word of the address.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use gpuscope_report::timeline::{self, Window};
use gpuscope_trace::Ns;
use serde::{Deserialize, Serialize};

use crate::{Shared, guard};

pub(crate) fn router(shared: Arc<Shared>) -> Router {
    let view = Router::new()
        .route("/", get(page))
        .route("/window", get(window))
        .route("/slice", get(slice))
        .route("/find", get(find))
        .route("/next", get(next))
        .route("/range", get(range));
    Router::new()
        .nest(&format!("/{}/", shared.token), view)
        .layer(middleware::from_fn(guard::own_host_only))
        .with_state(shared)
}

async fn page(State(shared): State<Arc<Shared>>) -> Response {
    let mut html = Vec::new();
    match timeline::write_served(&shared.atlas, &shared.title, &mut html) {
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

async fn window(State(shared): State<Arc<Shared>>, Query(sight): Query<Sight>) -> Response {
    let numbers = |text: &str| text.split(',').filter_map(|number| number.parse().ok()).collect();
    let asked = Window {
        sight: Ns(sight.from)..Ns(sight.to.max(sight.from)),
        bucket: Ns(sight.bucket),
        lanes: numbers(&sight.lanes),
        counters: numbers(&sight.counters),
    };
    match timeline::window(&shared.atlas, &asked) {
        Ok(bytes) => ([(header::CONTENT_TYPE, "application/octet-stream")], bytes).into_response(),
        Err(error) => broken(&error.to_string()),
    }
}

#[derive(Deserialize)]
struct Number {
    number: u32,
}

async fn slice(State(shared): State<Arc<Shared>>, Query(asked): Query<Number>) -> Response {
    match shared.atlas.described(asked.number) {
        Some(described) => json(&described),
        None => (StatusCode::NOT_FOUND, "there is no such slice\n").into_response(),
    }
}

#[derive(Deserialize)]
struct Text {
    text: String,
}

async fn find(State(shared): State<Arc<Shared>>, Query(asked): Query<Text>) -> Response {
    json(&shared.atlas.find(&asked.text))
}

#[derive(Deserialize)]
struct After {
    text: String,
    time: i64,
    number: u32,
    forward: bool,
}

async fn next(State(shared): State<Arc<Shared>>, Query(asked): Query<After>) -> Response {
    let names = shared.atlas.find(&asked.text).names;
    json(&shared.atlas.next(&names, (Ns(asked.time), asked.number), asked.forward))
}

#[derive(Deserialize)]
struct Times {
    from: i64,
    to: i64,
}

async fn range(State(shared): State<Arc<Shared>>, Query(asked): Query<Times>) -> Response {
    json(&shared.atlas.range(Ns(asked.from), Ns(asked.to)))
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

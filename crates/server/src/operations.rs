//! For those who keep the server running: is it alive, is it ready, what does it do.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Instant, SystemTime};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::json;

use crate::index::Status;
use crate::shared::Shared;

pub(crate) fn router() -> Router<Arc<Shared>> {
    Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
}

async fn ready(State(shared): State<Arc<Shared>>) -> Response {
    if shared.index.is_ready() {
        "ready\n".into_response()
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "the folder is being looked through\n").into_response()
    }
}

/// In the text format of Prometheus.
async fn metrics(State(shared): State<Arc<Shared>>) -> Response {
    let runs = shared.index.runs();
    let count = |is: fn(&Status) -> bool| runs.iter().filter(|run| is(&run.status)).count();
    let answers = &shared.answers;
    let text = format!(
        "# HELP gpuscope_runs Runs in the folder, by status.\n# TYPE gpuscope_runs gauge\n\
         gpuscope_runs{{status=\"ready\"}} {}\ngpuscope_runs{{status=\"reading\"}} {}\n\
         gpuscope_runs{{status=\"waiting\"}} {}\ngpuscope_runs{{status=\"damaged\"}} {}\n\
         gpuscope_runs{{status=\"unread\"}} {}\n\
         # HELP gpuscope_run_bytes Bytes of all runs as stored.\n# TYPE gpuscope_run_bytes gauge\ngpuscope_run_bytes {}\n\
         # HELP gpuscope_questions_total Questions asked.\n# TYPE gpuscope_questions_total counter\ngpuscope_questions_total {}\n\
         # HELP gpuscope_questions_cached_total Questions answered from memory.\n\
         # TYPE gpuscope_questions_cached_total counter\ngpuscope_questions_cached_total {}\n\
         # HELP gpuscope_uptime_seconds Time since the server was started.\n# TYPE gpuscope_uptime_seconds gauge\n\
         gpuscope_uptime_seconds {}\n",
        count(|status| matches!(status, Status::Ready)),
        count(|status| matches!(status, Status::Reading(_))),
        count(|status| matches!(status, Status::Waiting | Status::Landing)),
        count(|status| matches!(status, Status::Damaged(_))),
        count(|status| matches!(status, Status::Unread(_))),
        runs.iter().map(|run| run.bytes).sum::<u64>(),
        answers.asked.load(Ordering::Relaxed),
        answers.from_cache.load(Ordering::Relaxed),
        shared.begun.elapsed().as_secs(),
    );
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
}

/// Whether requests are told about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Log(pub(crate) bool);

/// A line of JSON about each request, on standard error. Queries may hold the token, and are left out.
pub(crate) async fn log(State(Log(wanted)): State<Log>, request: Request, next: Next) -> Response {
    if !wanted {
        return next.run(request).await;
    }
    let begun = Instant::now();
    let (method, path) = (request.method().to_string(), without_word(request.uri().path()));
    let response = next.run(request).await;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let line = json!({
        "time_ms": now.as_millis() as u64,
        "method": method,
        "path": path,
        "status": response.status().as_u16(),
        "took_us": begun.elapsed().as_micros() as u64,
    });
    let _ = writeln!(std::io::stderr().lock(), "{line}");
    response
}

/// The word of the address is nobody's business.
fn without_word(path: &str) -> String {
    let is_word = |part: &str| part.len() == 32 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    path.split('/').map(|part| if is_word(part) { "…" } else { part }).collect::<Vec<_>>().join("/")
}

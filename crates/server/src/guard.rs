//! Who may ask: only requests to this server's own name and port. A page of the web whose host resolves to loopback
//! sends its own name, and is refused.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::Shared;

pub(crate) async fn own_host_only(
    State(shared): State<Arc<Shared>>,
    request: Request,
    next: Next,
) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    if host.is_none_or(|host| !is_own(host, shared.address.port())) {
        return (StatusCode::FORBIDDEN, "this server answers on loopback only\n").into_response();
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, header::HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, header::HeaderValue::from_static("no-referrer"));
    response
}

fn is_own(host: &str, port: u16) -> bool {
    ["127.0.0.1", "localhost", "[::1]"].iter().any(|name| host == format!("{name}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::is_own;

    #[test]
    fn only_loopback_with_the_right_port_is_own() {
        for host in ["127.0.0.1:80", "localhost:80", "[::1]:80"] {
            assert!(is_own(host, 80), "{host}");
        }
        for host in
            ["localhost", "localhost:81", "evil.example:80", "127.0.0.1.evil.example:80", "", "localhost:80 "]
        {
            assert!(!is_own(host, 80), "{host}");
        }
    }
}

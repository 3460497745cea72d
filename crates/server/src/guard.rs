//! Who may ask: only requests that name this machine, by whatever port a tunnel leads here. A page of the web whose host
//! resolves to loopback sends its own name, and is refused.

use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

pub(crate) async fn own_host_only(request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    if host.is_none_or(|host| !is_own(host)) {
        return (StatusCode::FORBIDDEN, "this server answers to 127.0.0.1 and localhost only\n")
            .into_response();
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, header::HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, header::HeaderValue::from_static("no-referrer"));
    response
}

fn is_own(host: &str) -> bool {
    let is_port = |rest: &str| rest.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok());
    ["127.0.0.1", "localhost", "[::1]"]
        .iter()
        .filter_map(|name| host.strip_prefix(name))
        .any(|rest| rest.is_empty() || is_port(rest))
}

#[cfg(test)]
mod tests {
    use super::is_own;

    #[test]
    fn only_loopback_is_own() {
        for host in ["127.0.0.1:80", "localhost:81", "[::1]:80", "localhost"] {
            assert!(is_own(host), "{host}");
        }
        for host in
            ["evil.example:80", "127.0.0.1.evil.example:80", "", "localhost:80 ", "localhost:x", "localhost:"]
        {
            assert!(!is_own(host), "{host}");
        }
    }
}

//! What went wrong, as programs read it: problem details of RFC 9457 that name the way out.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::asker::{Problem, ProblemKind};

impl Problem {
    pub(crate) fn status(&self) -> StatusCode {
        match self.kind {
            ProblemKind::Refused => StatusCode::BAD_REQUEST,
            ProblemKind::Forbidden => StatusCode::FORBIDDEN,
            ProblemKind::Unknown => StatusCode::UNAUTHORIZED,
            ProblemKind::Missing => StatusCode::NOT_FOUND,
            ProblemKind::NotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            ProblemKind::NotAcceptable => StatusCode::NOT_ACCEPTABLE,
            ProblemKind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            ProblemKind::WrongType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            ProblemKind::Unreadable => StatusCode::UNPROCESSABLE_ENTITY,
            ProblemKind::Stopped | ProblemKind::Busy => StatusCode::SERVICE_UNAVAILABLE,
            ProblemKind::Bug => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.status();
        let body = json!({
            "type": "about:blank",
            "title": status.canonical_reason().unwrap_or_default(),
            "status": status.as_u16(),
            "detail": self.messages.join("; "),
            "hint": self.hint,
        });
        let mut response =
            (status, [(header::CONTENT_TYPE, "application/problem+json")], body.to_string()).into_response();
        if status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("2"));
        }
        response
    }
}

//! Who may ask. On loopback: whoever is the user that started the server, and whoever shows the word that it printed. On any
//! other address: whoever shows the token.
//!
//! Requests that name another host are refused, and so are those that a page of another site makes a browser send: a page of
//! the web whose host resolves to loopback can ask nothing.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use axum::extract::{self, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};

use crate::asker::{Problem, ProblemKind};
use crate::shared::Shared;

/// The browser remembers the token by this.
const COOKIE: &str = "gpuscope";

pub(crate) struct Access {
    pub(crate) token: String,
    /// Only this machine can connect.
    pub(crate) loopback: bool,
    /// Hosts that the server is known by, beside loopback's names.
    pub(crate) hosts: Vec<String>,
}

/// The two ends of a connection from this machine; whose it is is found out when somebody wants to know.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    theirs: SocketAddr,
    ours: SocketAddr,
    is_owner: Arc<OnceLock<bool>>,
}

impl Peer {
    pub(crate) fn new(theirs: SocketAddr, ours: SocketAddr) -> Peer {
        Peer { theirs, ours, is_owner: Arc::default() }
    }

    /// Whether it comes from the user that runs the server.
    pub(crate) fn is_owner(&self) -> bool {
        *self.is_owner.get_or_init(|| is_owner(self.theirs, self.ours))
    }
}

pub(crate) async fn check(
    State(shared): State<Arc<Shared>>,
    mut request: extract::Request,
    next: Next,
) -> Response {
    let access = &shared.access;
    if let Err(problem) = access.same_site(request.method(), request.headers(), request.uri().authority()) {
        let mut response = problem.into_response();
        harden(response.headers_mut(), false);
        return response;
    }
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str()).to_owned();
    if !shared.base.is_empty() && request.uri().path() == shared.base {
        // The addresses in pages are relative to what ends with a slash.
        let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
        let mut response = Redirect::permanent(&format!("{}/{query}", shared.base)).into_response();
        harden(response.headers_mut(), false);
        return response;
    }
    // Below what a proxy puts before every path, whether it takes that away or not, and below the word, everything is as
    // without them.
    let below_base = below(&path, &shared.base);
    let under_word = access.below_word(below_base).map(|rest| format!("/{rest}"));
    let shown = under_word.is_some() || access.is_shown(request.headers(), request.uri().query());
    let rest = under_word.unwrap_or_else(|| below_base.to_owned());
    if rest != path
        && let Ok(uri) = rest.parse::<Uri>()
    {
        *request.uri_mut() = uri;
    }
    let is_open = matches!(request.uri().path(), "/healthz" | "/readyz");
    let peer = request.extensions().get::<Peer>();
    let may = shown || is_open || (access.loopback && peer.is_some_and(Peer::is_owner));
    if !may {
        return access.unknown(request.headers());
    }
    // A browser that came with the token in its address keeps it in a cookie instead.
    let by_address = request.uri().query().is_some_and(|query| access.is_in_query(query));
    let mut response = next.run(request).await;
    if by_address {
        let cookie = format!("{COOKIE}={}; HttpOnly; SameSite=Strict; Path=/", access.token);
        if let Ok(cookie) = HeaderValue::from_str(&cookie) {
            response.headers_mut().insert(header::SET_COOKIE, cookie);
        }
    }
    let is_unchanged = response.status() == StatusCode::NOT_MODIFIED;
    harden(response.headers_mut(), is_unchanged);
    response
}

/// The path without what a proxy puts before it, if that is there.
fn below<'p>(path: &'p str, base: &str) -> &'p str {
    path.strip_prefix(base).filter(|rest| rest.starts_with('/')).unwrap_or(path)
}

/// What a browser is told about every answer.
fn harden(headers: &mut HeaderMap, is_unchanged: bool) {
    let all: [(HeaderName, &str); 6] = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "SAMEORIGIN"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    for (name, value) in all {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    // Pages say in themselves which scripts may run; whatever else is answered runs none. What a browser has already keeps
    // what was said of it.
    if !is_unchanged
        && !headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"))
    {
        let none = HeaderValue::from_static("default-src 'none'; frame-ancestors 'self'");
        headers.insert(header::CONTENT_SECURITY_POLICY, none);
    }
}

impl Access {
    /// Whether the connection of a request is one to keep when there are too many.
    pub(crate) fn knows<B>(&self, request: &Request<B>, base: &str) -> bool {
        self.below_word(below(request.uri().path(), base)).is_some()
            || self.is_shown(request.headers(), request.uri().query())
    }

    fn same_site(
        &self,
        method: &Method,
        headers: &HeaderMap,
        asked: Option<&Authority>,
    ) -> Result<(), Problem> {
        let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        let host = text(header::HOST).unwrap_or_default();
        let is_one = headers.get_all(header::HOST).iter().count() <= 1;
        if !is_one || !self.is_own(host) || asked.is_some_and(|asked| !self.is_own(asked.as_str())) {
            let hint = "open it by 127.0.0.1 or localhost, or start the server with --host";
            return Err(forbidden(format!("this server does not answer for {host:?}"), hint));
        }
        let origin = text(header::ORIGIN).filter(|origin| *origin != "null" || *method != Method::GET);
        let is_foreign = |origin: &str| {
            let own = origin.split_once("://").map(|(_, host)| host);
            own.is_none_or(|own| !self.is_own(own))
        };
        let site = text(HeaderName::from_static("sec-fetch-site")).unwrap_or("none");
        let navigates = text(HeaderName::from_static("sec-fetch-mode")) == Some("navigate");
        if origin.is_some_and(is_foreign) || (site == "cross-site" && !navigates) {
            return Err(forbidden("a page of another site asked for this", "open it in a tab of its own"));
        }
        Ok(())
    }

    fn is_own(&self, host: &str) -> bool {
        let is_port = |rest: &str| rest.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok());
        let own = ["127.0.0.1", "localhost", "[::1]"].into_iter();
        own.chain(self.hosts.iter().map(String::as_str))
            .filter_map(|name| host.strip_prefix(name))
            .any(|rest| rest.is_empty() || is_port(rest))
            // Behind an address that all of the network reaches, the token alone decides.
            || (!self.loopback && self.hosts.is_empty() && !host.is_empty())
    }

    fn is_shown(&self, headers: &HeaderMap, query: Option<&str>) -> bool {
        let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        let bearer = text(header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
        let cookie = text(header::COOKIE).and_then(|cookies| {
            cookies.split(';').find_map(|cookie| cookie.trim().strip_prefix(COOKIE)?.strip_prefix('='))
        });
        [bearer, cookie].into_iter().flatten().any(|shown| is_same(shown, &self.token))
            || query.is_some_and(|query| self.is_in_query(query))
    }

    /// The rest of an address that begins with the word.
    fn below_word<'p>(&self, path: &'p str) -> Option<&'p str> {
        let (word, rest) = path.strip_prefix('/')?.split_once('/')?;
        is_same(word, &self.token).then_some(rest)
    }

    fn is_in_query(&self, query: &str) -> bool {
        form_urlencoded::parse(query.as_bytes())
            .any(|(name, value)| name == "token" && is_same(&value, &self.token))
    }

    fn unknown(&self, headers: &HeaderMap) -> Response {
        let (what, hint) = if self.loopback {
            (
                "this address needs the word that the server printed when it was started",
                "open the address that `gpuscope serve` printed",
            )
        } else {
            (
                "this server asks for a token",
                "open the address with ?token=…, or send `Authorization: Bearer …`",
            )
        };
        let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
        let problem = Problem::new(ProblemKind::Unknown, what, hint);
        let mut response = if accept.contains("text/html") {
            let page = format!(
                "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>gpuscope</title>\
                 <meta name=\"viewport\" content=\"width=device-width\"><style>:root{{color-scheme:light dark}}\
                 body{{font:15px/1.5 system-ui,sans-serif;max-width:40rem;margin:4rem auto;padding:0 1rem}}</style>\
                 <h1>gpuscope is running here</h1><p>{}: {}.</p>\n",
                capital(what),
                hint.replace('`', "")
            );
            (problem.status(), [(header::CONTENT_TYPE, "text/html; charset=utf-8")], page).into_response()
        } else {
            problem.into_response()
        };
        harden(response.headers_mut(), false);
        response
    }
}

fn capital(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or(String::new(), |first| first.to_uppercase().chain(rest).collect())
}

fn forbidden(message: impl Into<String>, hint: &str) -> Problem {
    Problem::new(ProblemKind::Forbidden, message, hint)
}

/// Takes as long whatever is the same.
fn is_same(shown: &str, token: &str) -> bool {
    let (shown, token) = (shown.as_bytes(), token.as_bytes());
    let differs = shown.iter().zip(token).fold(0, |differs, (a, b)| differs | (a ^ b));
    std::hint::black_box(differs) == 0 && shown.len() == token.len()
}

/// Whether a connection from this machine was made by the user that runs the server, as the system's table of connections
/// tells. Where there is none, nobody is.
pub(crate) fn is_owner(peer: SocketAddr, own: SocketAddr) -> bool {
    if !peer.ip().is_loopback() {
        return false;
    }
    let file = if peer.is_ipv4() { "/proc/self/net/tcp" } else { "/proc/self/net/tcp6" };
    let Ok(table) = std::fs::read_to_string(file) else { return false };
    #[cfg(unix)]
    let me = std::fs::metadata("/proc/self").map(|own| std::os::unix::fs::MetadataExt::uid(&own)).ok();
    #[cfg(not(unix))]
    let me: Option<u32> = None;
    let (peer, own) = (in_table(peer), in_table(own));
    table.lines().skip(1).any(|line| {
        let mut words = line.split_whitespace().skip(1);
        let (local, remote, uid) = (words.next(), words.next(), words.nth(4));
        local == Some(&peer)
            && remote == Some(&own)
            && me.is_some()
            && uid.and_then(|uid| uid.parse().ok()) == me
    })
}

/// `127.0.0.1:6970` as `0100007F:1B3A`: words of the machine's own byte order.
fn in_table(address: SocketAddr) -> String {
    let word = |bytes: &[u8]| {
        let bytes: [u8; 4] = bytes.try_into().unwrap_or_default();
        format!("{:08X}", u32::from_ne_bytes(bytes))
    };
    let host: String = match address.ip() {
        std::net::IpAddr::V4(ip) => word(&ip.octets()),
        std::net::IpAddr::V6(ip) => ip.octets().chunks(4).map(word).collect(),
    };
    format!("{host}:{:04X}", address.port())
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    fn access() -> Access {
        Access { token: "word".to_owned(), loopback: true, hosts: Vec::new() }
    }

    fn headers(all: &[(&str, &str)]) -> HeaderMap {
        let header = |(name, value): &(&str, &str)| {
            (HeaderName::try_from(*name).unwrap(), HeaderValue::from_str(value).unwrap())
        };
        all.iter().map(header).collect()
    }

    #[test]
    fn only_loopback_is_own() {
        for host in ["127.0.0.1:80", "localhost:81", "[::1]:80", "localhost"] {
            assert!(access().is_own(host), "{host}");
        }
        for host in
            ["evil.example:80", "127.0.0.1.evil.example:80", "", "localhost:80 ", "localhost:x", "localhost:"]
        {
            assert!(!access().is_own(host), "{host}");
        }
    }

    #[test]
    fn pages_of_other_sites_ask_in_vain() {
        let host = ("host", "127.0.0.1:6970");
        let may = |more: &[(&str, &str)]| {
            let all: Vec<_> = std::iter::once(host).chain(more.iter().copied()).collect();
            access().same_site(&Method::GET, &headers(&all), None).is_ok()
        };
        assert!(may(&[]) && may(&[("origin", "http://127.0.0.1:6970")]));
        assert!(!may(&[("origin", "https://evil.example")]));
        assert!(!may(&[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")]));
        assert!(may(&[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")]), "a link");
    }

    #[test]
    fn a_path_is_the_same_below_the_base() {
        assert_eq!(below("/gpu/runs/x", "/gpu"), "/runs/x");
        assert_eq!(below("/gpu/", "/gpu"), "/");
        assert_eq!(below("/gpus/x", "/gpu"), "/gpus/x");
        assert_eq!(below("/runs/x", ""), "/runs/x");
    }

    #[test]
    fn the_token_is_shown_in_three_ways() {
        let shown = |all: &[(&str, &str)], query| access().is_shown(&headers(all), query);
        assert!(shown(&[("authorization", "Bearer word")], None));
        assert!(shown(&[("cookie", "a=b; gpuscope=word")], None));
        assert!(shown(&[], Some("x=1&token=word")));
        assert!(!shown(&[("authorization", "Bearer wor")], Some("token=words")));
        assert!(!shown(&[("cookie", "gpuscope2=word")], None));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_owner_of_a_connection_is_known() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (_, peer) = listener.accept().unwrap();
        assert!(is_owner(peer, listener.local_addr().unwrap()));
        drop(stream);
        assert!(!is_owner("127.0.0.1:1".parse().unwrap(), listener.local_addr().unwrap()));
    }
}

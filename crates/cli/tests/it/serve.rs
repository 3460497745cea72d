//! The dashboard's server as a program: what it answers, to whom, and what it survives.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Folder, rank};

struct Serving {
    child: Child,
    address: SocketAddr,
    word: String,
}

struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let body = &self.body[..self.body.len().min(600)];
        write!(f, "{}\n\n{}", self.head, String::from_utf8_lossy(body))
    }
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

const PATIENCE: Duration = Duration::from_mins(1);

impl Serving {
    fn start(folder: &Folder, more: &[&str]) -> Serving {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gpuscope"));
        command.args(["serve", ".", "--port", "0", "--no-open"]).args(more).current_dir(folder.root());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let rest = line.trim().strip_prefix("http://").unwrap_or_else(|| panic!("{line}"));
        let (address, path) = rest.split_once('/').unwrap();
        let word = path.trim_matches('/').trim_start_matches("?token=").to_owned();
        Serving { child, address: address.parse().unwrap(), word }
    }

    /// With the folder looked through and every run read.
    fn settled(folder: &Folder, more: &[&str]) -> Serving {
        let serving = Serving::start(folder, more);
        serving.until(|runs| {
            !runs.is_empty() && runs.iter().all(|run| run["status"] == "ready" || run["status"] == "damaged")
        });
        serving
    }

    fn until(&self, is_there: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let begun = Instant::now();
        loop {
            let runs = self.get("/api/v1/runs").json()["runs"].as_array().unwrap().clone();
            if is_there(&runs) {
                return runs;
            }
            assert!(begun.elapsed() < PATIENCE, "{runs:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn get(&self, path: &str) -> Answer {
        self.ask(path, &[])
    }

    fn ask(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        let host = ("Host", self.address.to_string());
        let headers: Vec<(&str, String)> = std::iter::once(host)
            .filter(|_| !headers.iter().any(|(name, _)| *name == "Host"))
            .chain(headers.iter().map(|(name, value)| (*name, (*value).to_owned())))
            .collect();
        let lines: Vec<String> = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        self.send(format!("GET {path} HTTP/1.1\r\n{}Connection: close\r\n\r\n", lines.concat()).as_bytes())
    }

    fn send(&self, request: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        // Who is refused may be so before all is said.
        let _ = stream.write_all(request);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(bytes.len());
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let body = bytes.get(end + 4..).unwrap_or_default().to_vec();
        let chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
        Answer { status, head, body: if chunked { unchunked(&body) } else { body } }
    }
}

fn unchunked(mut body: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(end) = body.windows(2).position(|two| two == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&body[..end]).unwrap().trim(), 16).unwrap();
        let Some(chunk) = body.get(end + 2..end + 2 + size).filter(|_| size > 0) else { break };
        whole.extend_from_slice(chunk);
        body = &body[end + 2 + size + 2..];
    }
    whole
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn folder() -> Folder {
    let folder = Folder::new();
    folder
        .write("train-rank0.json", rank(0).to_json())
        .write("train-rank1.json", rank(1).to_json())
        .write("other.json", rank(0).to_json())
        .write("broken.json", "{\"traceEvents\": 5}");
    folder
}

#[test]
fn the_six_addresses_answer_for_the_newest_run_what_the_shell_prints() {
    let folder = folder();
    let serving = Serving::settled(&folder, &[]);
    for question in ["flame", "memory", "timeline", "kernels", "hta"] {
        let answer = serving.get(&format!("/api/profiler/{question}?run=train"));
        assert_eq!(answer.status, 200, "{question}: {answer:?}");
        let traces = ["@train-rank0.json", "@train-rank1.json"];
        let more: &[&str] = if question == "memory" { &["--series"] } else { &[] };
        let words: Vec<&str> =
            [question].iter().chain(&traces).chain(more).chain(&["--json"]).copied().collect();
        assert_eq!(answer.json()["data"], folder.run(&words).json()["data"], "{question}");
    }
    let newest = serving.get("/api/profiler/kernels?num_kernels=1&rank=0").json();
    assert_eq!(newest["command"], "kernels");
    let compile = serving.get("/api/profiler/compile");
    assert_eq!(compile.status, 404);
    assert!(compile.json()["hint"].as_str().unwrap().contains("TORCH_TRACE"), "{compile:?}");
    assert_eq!(serving.get("/api/profiler/nothing").status, 404);
}

#[test]
fn runs_land_change_and_go_while_the_server_runs() {
    let folder = folder();
    let serving = Serving::settled(&folder, &[]);
    let names = |runs: &[Value]| {
        let mut names: Vec<String> = runs.iter().map(|run| run["id"].as_str().unwrap().to_owned()).collect();
        names.sort();
        names
    };
    let runs = serving.until(|_| true);
    assert_eq!(names(&runs), ["broken", "other", "train"]);
    let train = runs.iter().find(|run| run["id"] == "train").unwrap();
    assert_eq!((train["files"].as_u64(), train["ranks"].as_u64()), (Some(2), Some(2)));
    let before = serving.get("/api/v1/runs/other/info").header("etag").unwrap().to_owned();
    folder.write("deep/later.json", rank(2).to_json());
    serving.until(|runs| runs.iter().any(|run| run["id"] == "deep~later" && run["status"] == "ready"));
    folder.write("other.json", rank(3).to_json() + " ");
    serving.until(|runs| {
        let other = runs.iter().find(|run| run["id"] == "other");
        other.is_some_and(|run| run["status"] == "ready")
            && serving.get("/api/v1/runs/other/info").header("etag") != Some(&before)
    });
    std::fs::remove_file(folder.path("deep/later.json")).unwrap();
    serving.until(|runs| !names(runs).contains(&"deep~later".to_owned()));
}

#[test]
fn an_empty_folder_says_how_to_record() {
    let folder = Folder::new();
    let serving = Serving::start(&folder, &[]);
    let answer = serving.get("/api/profiler/kernels");
    assert_eq!(answer.status, 404);
    assert_eq!(answer.header("content-type"), Some("application/problem+json"));
    assert!(answer.json()["hint"].as_str().unwrap().contains("gpuscope profile"), "{answer:?}");
    assert_eq!(serving.get("/").status, 200);
    assert_eq!(serving.get("/healthz").body, b"ok\n");
}

#[test]
fn answers_come_in_the_form_that_is_asked_for() {
    let folder = folder();
    let serving = Serving::settled(&folder, &[]);
    let path = "/api/v1/runs/train/kernels";
    let form = |accept| serving.ask(path, &[("Accept", accept)]);
    let csv = form("text/csv");
    assert_eq!(csv.header("content-type"), Some("text/csv; charset=utf-8"));
    let csv = String::from_utf8(csv.body).unwrap();
    assert!(csv.starts_with("kernel_type,sum_ns,"), "{csv}");
    assert!(form("application/vnd.apache.arrow.stream").body.starts_with(&[0xff; 4]));
    assert!(form("text/html").body.starts_with(b"<!doctype html>"));
    let packed = serving.ask(path, &[("Accept-Encoding", "gzip")]);
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    let json = serving.get(path);
    let tag = json.header("etag").unwrap();
    let again = serving.ask(path, &[("If-None-Match", tag)]);
    assert_eq!((again.status, again.body.len()), (304, 0));
    let events = serving.ask("/api/v1/runs/train/ops", &[("Accept", "text/event-stream")]);
    let events = String::from_utf8(events.body).unwrap();
    assert!(events.contains("event: done") && events.contains("\"ok\":true"), "{events}");
}

#[test]
fn every_page_is_there() {
    let folder = folder();
    let serving = Serving::settled(&folder, &[]);
    for path in ["/", "/compare", "/compare?a=other&b=train", "/compare?a=other&b=train&tree=true", "/api/"] {
        let page = serving.ask(path, &[("Accept", "text/html")]);
        assert_eq!(page.status, 200, "{path}: {page:?}");
    }
    for view in [
        "analyze",
        "flame",
        "kernels",
        "ops",
        "stragglers",
        "memory",
        "check",
        "timeline/all/",
        "timeline/1/",
    ] {
        let page = serving.get(&format!("/runs/train/{view}"));
        let text = String::from_utf8(page.body).unwrap();
        assert_eq!(page.status, 200, "{view}: {text}");
        assert!(text.contains("<nav class=\"top\"") && text.contains("Content-Security-Policy"), "{view}");
    }
    let broken = serving.get("/runs/broken/kernels");
    assert_eq!(broken.status, 422);
    assert!(String::from_utf8(broken.body).unwrap().contains("<nav class=\"top\""));
}

#[test]
fn strangers_and_other_sites_are_refused() {
    let folder = folder();
    let serving = Serving::settled(&folder, &[]);
    let word = serving.word.clone();
    assert_eq!(serving.ask("/api/v1/runs", &[("Host", "evil.example")]).status, 403);
    assert_eq!(serving.ask("/api/v1/runs", &[("Origin", "https://evil.example")]).status, 403);
    let cross = [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "cors")];
    assert_eq!(serving.ask("/api/v1/runs", &cross).status, 403);
    assert_eq!(serving.get(&format!("/{word}/api/v1/runs")).status, 200);
    let answer = serving.get("/api/v1/runs");
    for (name, value) in
        [("x-content-type-options", "nosniff"), ("cross-origin-resource-policy", "same-origin")]
    {
        assert_eq!(answer.header(name), Some(value));
    }
    // Nothing but the runs of the folder, however it is written.
    for path in [
        "/runs/..%2f..%2fetc%2fpasswd/info",
        "/api/v1/runs/..%2F..%2Fetc%2Fpasswd/info",
        "/api/v1/runs/%2e%2e/info",
        "/../../etc/passwd",
        "/api/v1/runs/train/info?classify=/etc/passwd",
        "/api/v1/runs/train/info?output=/tmp/x",
        "/api/v1/runs/train/diff?with=/etc/passwd",
        "/api/v1/runs/train/flame?against=/etc/passwd",
        "/api/v1/runs/train/inference?capture=/etc/passwd",
        "/api/v1/runs/train/convert?output=x.json",
        "/api/v1/runs/train/nothing",
        "/api/v1/runs/nobody/info",
        "/api/v1/compare?a=train",
    ] {
        let answer = serving.get(path);
        assert!((400..500).contains(&answer.status), "{path}: {answer:?}");
    }
}

#[test]
fn a_server_for_a_team_asks_for_the_token() {
    let folder = folder();
    let serving = Serving::start(&folder, &["--host", "0.0.0.0", "--token", "a-word-that-nobody-guesses"]);
    assert_eq!(serving.word, "a-word-that-nobody-guesses");
    assert_eq!(serving.get("/api/v1/runs").status, 401);
    assert_eq!(serving.get("/api/v1/runs?token=a-word-that-nobody-guesseS").status, 401);
    assert_eq!(serving.get("/mcp").status, 401);
    assert_eq!(serving.get("/healthz").status, 200);
    let page = serving.ask("/", &[("Accept", "text/html")]);
    assert!(String::from_utf8(page.body).unwrap().contains("asks for a token"));
    let bearer = [("Authorization", "Bearer a-word-that-nobody-guesses")];
    assert_eq!(serving.ask("/api/v1/runs", &bearer).status, 200);
    let shown = serving.get("/?token=a-word-that-nobody-guesses");
    let cookie = shown.header("set-cookie").unwrap().to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let cookie = cookie.split(';').next().unwrap();
    assert_eq!(serving.ask("/api/v1/runs", &[("Cookie", cookie)]).status, 200);
}

#[test]
fn it_only_reads_unless_told_otherwise() {
    let put = |serving: &Serving, path: &str, body: &str| {
        let host = serving.address;
        let head = format!("PUT {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n");
        serving.send(
            format!("{head}Content-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len()).as_bytes(),
        )
    };
    let written = r#"{"tags": ["slow", "a,b"], "note": "<script>alert(1)</script>"}"#;
    let trace = rank(0).to_json();
    let folder = folder();
    {
        let serving = Serving::settled(&folder, &[]);
        assert_eq!(put(&serving, "/api/v1/runs/train/written", written).status, 403);
        assert_eq!(put(&serving, "/api/v1/uploads/new.json", &trace).status, 403);
    }
    let serving = Serving::settled(&folder, &["--writable"]);
    let answer = put(&serving, "/api/v1/runs/train/written", written);
    assert_eq!((answer.status, &answer.json()["tags"]), (200, &json!(["slow", "a b"])));
    assert_eq!(put(&serving, "/api/v1/uploads/new.json", &trace).status, 201);
    assert_eq!(put(&serving, "/api/v1/uploads/new.json", &trace).status, 400, "nothing is replaced");
    for name in ["..%2fx.json", ".hidden.json", "x.sh", "a%00.json", "%2e%2e"] {
        assert!(put(&serving, &format!("/api/v1/uploads/{name}"), &trace).status >= 400, "{name}");
    }
    serving.until(|runs| runs.iter().any(|run| run["id"] == "uploads~new" && run["status"] == "ready"));
    drop(serving);
    let serving = Serving::settled(&folder, &[]);
    let run = serving.get("/api/v1/runs/train").json();
    assert_eq!((&run["tags"], &run["note"]), (&json!(["slow", "a b"]), &json!("<script>alert(1)</script>")));
}

#[test]
fn malformed_and_slow_requests_are_survived() {
    let folder = folder();
    let mut serving = Serving::settled(&folder, &[]);
    for request in [
        &b"\x00\xff\xfe"[..],
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /api/v1/runs/%ff%fe/info HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nConnection: close\r\n\r\n{{{",
        b"PUT /api/v1/runs/train/written HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n",
    ] {
        let answer = serving.send(request);
        assert!(answer.status < 500, "{request:?}: {answer:?}");
    }
    let long =
        format!("GET /{} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", "x".repeat(1 << 20));
    assert!(serving.send(long.as_bytes()).status < 500);
    let crowd: Vec<TcpStream> = (0..600).filter_map(|_| TcpStream::connect(serving.address).ok()).collect();
    assert_eq!(serving.get("/api/v1/runs").status, 200);
    drop(crowd);
    assert_eq!(serving.get("/api/v1/runs/train/kernels").status, 200);
    assert!(serving.child.try_wait().unwrap().is_none());
}

#[test]
fn it_ends_after_the_requests_under_way_and_begins_where_it_was() {
    let folder = folder();
    let mut serving = Serving::settled(&folder, &[]);
    let before = serving.get("/api/v1/runs/train/kernels").json();
    let pid = serving.child.id().to_string();
    assert!(Command::new("kill").args(["-s", "TERM", &pid]).status().unwrap().success());
    let begun = Instant::now();
    while serving.child.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < PATIENCE, "it goes on");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(serving.child.try_wait().unwrap().unwrap().success());
    // Killed at any time, it finds what it kept.
    for wait in [0, 20, 100] {
        let mut serving = Serving::start(&folder, &[]);
        std::thread::sleep(Duration::from_millis(wait));
        serving.child.kill().unwrap();
        serving.child.wait().unwrap();
    }
    let serving = Serving::settled(&folder, &[]);
    assert_eq!(serving.get("/api/v1/runs/train/kernels").json(), before);
}

#[test]
fn the_description_of_the_interface_names_every_question() {
    let folder = folder();
    let serving = Serving::settled(&folder, &[]);
    let description = serving.get("/api/openapi.json").json();
    for question in gpuscope_cli::catalog::questions() {
        let operation = &description["paths"][format!("/api/v1/runs/{{run}}/{}", question.name)]["get"];
        let named = operation["parameters"].as_array().unwrap_or_else(|| panic!("{}", question.name));
        for option in question.options.iter().filter(|option| !option.for_files) {
            assert!(named.iter().any(|parameter| parameter["name"] == *option.name), "{}", option.name);
        }
    }
    let metrics = String::from_utf8(serving.get("/metrics").body).unwrap();
    assert!(metrics.contains("gpuscope_runs{status=\"ready\"} 2"), "{metrics}");
    assert_eq!(serving.get("/readyz").status, 200);
}

#[test]
fn agents_ask_over_http_and_standard_input() {
    let folder = folder();
    let serving = Serving::settled(&folder, &[]);
    let call = |name: &str, arguments: Value| {
        let body = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments},
        });
        let body = body.to_string();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n",
            serving.address
        );
        let answer = serving.send(
            format!("{head}Content-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len()).as_bytes(),
        );
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["result"].clone()
    };
    let runs = call("runs", json!({}))["structuredContent"].clone();
    assert_eq!(runs["total"], 3);
    let asked = call("ask", json!({"run": "train", "question": "kernels", "options": {"num_kernels": 1}}));
    let tables = asked["structuredContent"]["tables"].as_array().unwrap();
    assert!(tables.iter().any(|table| table["name"] == "kernels"), "{asked}");
    let refused = call("ask", json!({"run": "train", "question": "kernels", "options": {"num_kernel": 1}}));
    assert_eq!(refused["isError"], true);
    assert!(refused["content"][0]["text"].as_str().unwrap().contains("num_kernels"), "{refused}");
    let found = call("analyze", json!({"run": "train"}))["structuredContent"].clone();
    assert!(found["verdict"].is_string(), "{found}");
    assert!(found["link"].as_str().unwrap().ends_with("/runs/train/analyze"), "{found}");
    let compared = call("compare", json!({"before": "other", "after": "train"}));
    assert!(compared.to_string().len() < 120_000, "{}", compared.to_string().len());
}

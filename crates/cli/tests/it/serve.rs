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

const SETTLED: [&str; 3] = ["ready", "damaged", "unread"];
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
        // A name that the server was told is none of this machine's.
        let port = address.rsplit_once(':').unwrap().1.parse().unwrap();
        let address = address.parse().unwrap_or_else(|_| SocketAddr::from(([127, 0, 0, 1], port)));
        Serving { child, address, word }
    }

    /// With the folder looked through and every run read.
    fn settled(folder: &Folder, more: &[&str]) -> Serving {
        let serving = Serving::start(folder, more);
        serving.until(|runs| {
            !runs.is_empty() && runs.iter().all(|run| SETTLED.iter().any(|settled| run["status"] == *settled))
        });
        serving
    }

    /// Where everybody shows a token.
    fn settled_with(folder: &Folder, more: &[&str], token: &str) -> Serving {
        let serving = Serving::start(folder, more);
        let begun = Instant::now();
        let bearer = format!("Bearer {token}");
        while serving.ask("/readyz", &[("Host", "localhost")]).status != 200
            || serving
                .ask("/api/v1/runs/train/info", &[("Host", "localhost"), ("Authorization", &bearer)])
                .status
                != 200
        {
            assert!(begun.elapsed() < PATIENCE, "it does not begin");
            std::thread::sleep(Duration::from_millis(50));
        }
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

/// A run that takes a while to read.
fn large() -> Folder {
    let folder = Folder::new();
    let event = r#"{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":1,"args":{"stream":7,"device":0}}"#;
    let events = vec![event; 150_000].join(",\n");
    folder.write("large.json", format!("{{\"traceEvents\": [{events}]}}"));
    folder
}

#[test]
fn who_asks_again_after_leaving_gets_the_answer() {
    let folder = large();
    let serving = Serving::settled(&folder, &[]);
    for question in ["analyze", "launches", "critical-path"] {
        let path = format!("/api/v1/runs/large/{question}");
        for wait in [1, 20] {
            let mut leaving = TcpStream::connect(serving.address).unwrap();
            write!(leaving, "GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", serving.address).unwrap();
            std::thread::sleep(Duration::from_millis(wait));
            drop(leaving);
        }
        let answer = serving.get(&path);
        assert_eq!(answer.status, 200, "{question}: {answer:?}");
    }
}

#[test]
fn files_that_are_no_whole_run_say_so_in_their_row() {
    let folder = Folder::new();
    let whole = rank(0).to_json();
    folder
        .write("whole.json", &whole)
        .write("cut.json", &whole[..whole.len() / 2])
        .write("empty.json", "")
        .write("broken.json.gz", "\x1f")
        .write("snapshot.pickle", b"\x80\x04\x95\x01\x02\x03")
        .write("notes.txt", "nothing of ours")
        .write("config.json", "{\"learning_rate\": 0.1}");
    let serving = Serving::settled(&folder, &[]);
    let runs = serving.until(|_| true);
    let of = |id: &str| runs.iter().find(|run| run["id"] == id).unwrap_or_else(|| panic!("{id}: {runs:?}"));
    let said = |id: &str| of(id)["detail"].as_str().unwrap_or_default().to_owned();
    assert_eq!(runs.len(), 5, "{runs:?}");
    assert!(said("empty.json").contains("an empty file") && of("empty.json")["status"] == "unread");
    assert!(said("broken.json.gz").contains("damaged from its first byte"), "{}", said("broken.json.gz"));
    assert!(said("snapshot.pickle").contains("pickle") && said("snapshot.pickle").contains("not read yet"));
    assert!(of("cut")["verdict"].as_str().unwrap().starts_with("Read in part: "), "{:?}", of("cut"));
    assert_eq!((of("cut")["status"].clone(), &of("whole")["damage"]), (json!("ready"), &json!([])));
    // The newest run is one that can be asked about.
    assert_eq!(serving.get("/api/v1/runs/newest/info").status, 200);
}

#[test]
fn below_the_base_everything_is_as_at_the_root() {
    let folder = folder();
    let mut child = Command::new(env!("CARGO_BIN_EXE_gpuscope"));
    child.args(["serve", ".", "--port", "0", "--no-open", "--base-path", "gpu"]).current_dir(folder.root());
    let mut child = child.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let (address, path) = line.trim().strip_prefix("http://").unwrap().split_once('/').unwrap();
    let serving = Serving { child, address: address.parse().unwrap(), word: String::new() };
    assert!(path.starts_with("gpu/"), "{line}");
    for path in [&format!("/{path}"), "/gpu/", "/gpu/api/v1/runs", "/api/v1/runs", "/gpu/healthz", "/"] {
        assert_eq!(serving.get(path).status, 200, "{path}");
    }
    let bare = serving.get("/gpu");
    assert_eq!((bare.status, bare.header("location")), (308, Some("/gpu/")));
    assert_eq!(serving.get("/gpus/").status, 404);
}

#[test]
fn a_store_that_cannot_be_opened_is_no_silent_loss() {
    let folder = folder();
    for command in ["serve", "mcp"] {
        let run = folder.run(&[command, ".", "--store", "nowhere/x.db"]);
        assert_eq!(run.exit, 3, "{run:?}");
        assert!(run.err.contains("nowhere/x.db") && run.err.contains("--store FILE"), "{run:?}");
    }
}

#[test]
fn what_goes_wrong_is_told_alike() {
    let folder = folder();
    let serving = Serving::settled(&folder, &["--writable"]);
    let send = |method: &str, path: &str, kind: &str, body: &str| {
        let host = serving.address;
        let head = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: {kind}\r\n");
        let length = body.len();
        serving.send(format!("{head}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}").as_bytes())
    };
    let written = "/api/v1/runs/train/written";
    let large = format!("{{\"note\": \"{}\"}}", "x".repeat(3 << 20));
    for (status, answer) in [
        (400, send("PUT", written, "application/json", "{{{")),
        (413, send("PUT", written, "application/json", &large)),
        (415, send("PUT", written, "text/plain", "{}")),
        (405, send("DELETE", written, "application/json", "")),
        (406, serving.ask("/api/v1/runs/train/kernels", &[("Accept", "image/png")])),
        (403, serving.ask("/api/v1/runs", &[("Host", "evil.example")])),
    ] {
        assert_eq!(answer.status, status, "{answer:?}");
        assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{answer:?}");
        assert_eq!(answer.json()["status"], status);
        assert!(answer.json()["hint"].is_string(), "{answer:?}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{answer:?}");
    }
    for path in ["/nothing/there", "/runs/train/timeline/99/", "/runs/nobody/timeline/all/"] {
        let page = serving.ask(path, &[("Accept", "text/html")]);
        assert!((400..500).contains(&page.status), "{path}: {page:?}");
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"), "{path}");
    }
    assert_eq!(serving.get("/nothing").header("content-type"), Some("application/problem+json"));
    assert_eq!(send("PUT", "/api/v1/uploads/new.json", "application/json", &rank(0).to_json()).status, 201);
    // As the system makes files for this user.
    std::fs::write(folder.path("usual"), "").unwrap();
    let mode = |name: &str| {
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(folder.path(name)).unwrap().permissions())
    };
    assert_eq!(mode("uploads/new.json"), mode("usual"));
}

#[test]
fn a_timeline_opens_at_the_step_that_is_asked_for() {
    let folder = folder();
    let serving = Serving::settled(&folder, &[]);
    let to = |path: &str| serving.get(path).header("location").map(str::to_owned);
    assert_eq!(to("/runs/train/timeline?rank=1&step=1").as_deref(), Some("timeline/1/?step=1"));
    assert_eq!(to("/runs/train/timeline/all/?rank=1&step=1").as_deref(), Some("../1/?step=1"));
    let page = serving.get("/runs/train/timeline/1/?step=9999");
    assert_eq!(page.status, 200, "a step that is not there changes nothing");
    let text = String::from_utf8(page.body).unwrap();
    assert!(text.contains("name=\"step\" value=\"9999\"") && text.contains("analyze?rank=1&amp;step=9999"));
}

#[test]
fn agents_get_links_to_where_they_asked() {
    let folder = folder();
    let token = "a-word-that-nobody-guesses";
    let link = |more: &[&str], host: &str| {
        let serving =
            Serving::settled_with(&folder, &[&["--host", "0.0.0.0", "--token", token], more].concat(), token);
        let body = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "analyze", "arguments": {"run": "train"}},
        });
        let body = body.to_string();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n"
        );
        let length = body.len();
        let answer = serving
            .send(format!("{head}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}").as_bytes());
        answer.json()["result"]["structuredContent"]["link"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(link(&[], "gpu-7:6970"), "http://gpu-7:6970/runs/train/analyze");
    let named = ["--name", "gpu.example.org"];
    assert_eq!(link(&named, "127.0.0.1:1"), "http://gpu.example.org/runs/train/analyze");
}

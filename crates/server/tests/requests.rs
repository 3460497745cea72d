//! The server over real sockets: who gets an answer, and who does not.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use gpuscope_analysis::timeline::{Atlas, Lane, Picture, Track, TrackSort};
use gpuscope_server::ViewServer;
use gpuscope_trace::Ns;

/// One lane with two slices.
fn atlas() -> Atlas {
    let lane = Lane {
        start: vec![Ns(0), Ns(50)],
        end: vec![Ns(40), Ns(100)],
        name: vec![0, 1],
        kind: vec![1, 1],
        note: vec![0, 0],
    };
    let track = Track {
        group: "rank 0".to_owned(),
        title: "stream 7".to_owned(),
        sort: TrackSort::Gpu,
        lanes: vec![lane],
        counter: None,
    };
    let (names, notes) = (vec!["gemm".to_owned(), "</script>".to_owned()], vec![String::new()]);
    Atlas::new(Picture { length: Ns(100), names, notes, tracks: vec![track], ..Picture::default() })
}

struct Started {
    host: String,
    token: String,
}

fn started() -> Started {
    let server = ViewServer::bind(atlas(), "a < b", 0).unwrap();
    let address = server.address();
    std::thread::spawn(move || server.serve());
    let rest = address.strip_prefix("http://").unwrap();
    let (host, token) = rest.trim_end_matches('/').split_once('/').unwrap();
    Started { host: host.to_owned(), token: token.to_owned() }
}

impl Started {
    /// The status and the body.
    fn get(&self, path: &str, host: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(!head.to_lowercase().contains("access-control-allow"), "{head}");
        (head[9..12].parse().unwrap(), body.to_owned())
    }

    fn ask(&self, path: &str) -> (u16, String) {
        self.get(&format!("/{}/{path}", self.token), &self.host)
    }
}

#[test]
fn it_listens_on_loopback_and_answers_who_has_the_address() {
    let server = started();
    assert!(server.host.starts_with("127.0.0.1:"), "{}", server.host);
    assert_eq!(server.token.len(), 32);
    let (status, page) = server.ask("");
    assert_eq!(status, 200);
    assert!(page.contains("connect-src 'self'") && page.contains("a &lt; b"));
    assert_eq!(page.matches("</script>").count(), 2, "names are data");
}

#[test]
fn without_the_word_or_with_another_host_there_is_nothing() {
    let server = started();
    assert_eq!(server.get("/", &server.host).0, 404);
    assert_eq!(server.get("/0123456789abcdef0123456789abcdef/", &server.host).0, 404);
    let own = format!("/{}/", server.token);
    assert_eq!(server.get(&own, "evil.example").0, 403);
    assert_eq!(server.get(&own, "evil.example:80").0, 403);
    let port = server.host.rsplit_once(':').unwrap().1;
    assert_eq!(server.get(&own, &format!("localhost:{port}")).0, 200);
}

#[test]
fn questions_are_answered_over_all_slices() {
    let server = started();
    let json = |path: &str| -> serde_json::Value { serde_json::from_str(&server.ask(path).1).unwrap() };
    assert_eq!(json("find?text=GEMM")["count"], 1);
    assert_eq!(json("next?text=gemm&time=-1&number=0&forward=true"), 0);
    assert_eq!(json("next?text=gemm&time=0&number=0&forward=true"), serde_json::Value::Null);
    assert_eq!(json("slice?number=1")["slice"]["end_ns"], 100);
    assert_eq!(json("range?from=20&to=60")[0]["total_ns"], 30);
    assert_eq!(server.ask("slice?number=7").0, 404);
}

#[test]
fn a_crowd_of_idle_connections_keeps_nobody_out() {
    let server = started();
    let crowd: Vec<TcpStream> = (0..400).map(|_| TcpStream::connect(&server.host).unwrap()).collect();
    let begun = Instant::now();
    assert_eq!(server.ask("find?text=gemm").0, 200);
    // Without room made for it, it would wait until the crowd is sent away.
    assert!(begun.elapsed() < Duration::from_mins(1), "{:?}", begun.elapsed());
    drop(crowd);
    assert_eq!(server.ask("find?text=gemm").0, 200);
}

#[test]
fn who_has_the_word_is_not_shown_out_for_strangers() {
    let server = started();
    let mut own = TcpStream::connect(&server.host).unwrap();
    let ask = format!("GET /{}/find?text=gemm HTTP/1.1\r\nHost: {}\r\n\r\n", server.token, server.host);
    own.write_all(ask.as_bytes()).unwrap();
    let mut answer = [0; 12];
    own.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
    let _crowd: Vec<TcpStream> = (0..300).map(|_| TcpStream::connect(&server.host).unwrap()).collect();
    assert_eq!(server.ask("find?text=gemm").0, 200);
    own.write_all(ask.as_bytes()).unwrap();
    own.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    let mut text = [0; 4096];
    assert!(own.read(&mut text).unwrap() > 0, "the connection is still there");
}

#[test]
fn half_a_request_is_not_waited_for_without_end() {
    let server = started();
    let mut half = TcpStream::connect(&server.host).unwrap();
    half.write_all(b"GET / HTTP/1.1\r\nHost: ").unwrap();
    half.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let begun = Instant::now();
    let mut said = Vec::new();
    // Whatever it says, it ends.
    half.read_to_end(&mut said).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
}

#[test]
fn nonsense_is_refused_and_harms_nothing() {
    let server = started();
    for path in ["slice?number=-1", "slice", "range?from=x&to=1", "window?from=0"] {
        assert_eq!(server.ask(path).0, 400, "{path}");
    }
    for path in [
        "window?from=-9223372036854775808&to=9223372036854775807&bucket=0&lanes=0,99,x&counters=0,7",
        "window?from=9&to=3&bucket=-5&lanes=0",
        "range?from=9223372036854775807&to=-9223372036854775808",
        "next?text=gemm&time=-9223372036854775808&number=4294967295&forward=false",
    ] {
        assert_eq!(server.ask(path).0, 200, "{path}");
    }
}

//! The timeline's server as a program: it outlives crowds, and tells nobody but its user where it is.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Folder, rank};

struct Viewing {
    child: Child,
    address: String,
}

impl Viewing {
    /// `view` in a shell that says something first.
    fn start(folder: &Folder, first: &str, more: &[&str], path: Option<&str>) -> Viewing {
        folder.write("rank0.json", rank(0).to_json());
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{first}exec \"$0\" view rank0.json \"$@\"")]);
        command.arg(env!("CARGO_BIN_EXE_gpuscope")).args(more).current_dir(folder.root());
        if let Some(path) = path {
            command.env("PATH", path).env("DISPLAY", ":7").env("TMPDIR", folder.root());
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        Viewing { child, address: address.trim().to_owned() }
    }

    fn host(&self) -> &str {
        self.address.strip_prefix("http://").unwrap().split('/').next().unwrap()
    }

    fn word(&self) -> &str {
        self.address.trim_end_matches('/').rsplit('/').next().unwrap()
    }

    /// The beginning of what is answered to a question.
    fn ask(&self) -> String {
        let mut stream = TcpStream::connect(self.host()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let (word, host) = (self.word(), self.host());
        write!(stream, "GET /{word}/find?text=gemm HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
            .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }
}

impl Drop for Viewing {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn more_connections_than_files_can_be_open_are_survived() {
    let folder = Folder::new();
    let mut viewing = Viewing::start(&folder, "ulimit -n 40; ", &["--no-open"], None);
    let crowd: Vec<TcpStream> = (0..100).filter_map(|_| TcpStream::connect(viewing.host()).ok()).collect();
    assert!(viewing.ask().starts_with("HTTP/1.1 200"));
    drop(crowd);
    assert!(viewing.ask().starts_with("HTTP/1.1 200"));
    assert!(viewing.child.try_wait().unwrap().is_none());
}

#[test]
fn the_word_of_the_address_is_in_no_programs_arguments() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    // In the place of the desktop's program: says what it was given.
    folder.write(
        "bin/xdg-open",
        "#!/bin/sh\necho \"$@\" > arguments.new; cp \"$1\" opened; mv arguments.new arguments\n",
    );
    std::fs::set_permissions(folder.path("bin/xdg-open"), PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.path("bin").display(), std::env::var("PATH").unwrap());
    let viewing = Viewing::start(&folder, "", &[], Some(&path));
    let begun = Instant::now();
    while !folder.path("arguments").exists() && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let arguments = folder.read("arguments");
    assert!(!arguments.contains(viewing.word()), "{arguments}");
    assert!(folder.read("opened").contains(&format!("content=\"0;url={}\"", viewing.address)));
    let page = std::path::PathBuf::from(arguments.trim());
    assert_eq!(std::fs::metadata(&page).unwrap().permissions().mode() & 0o777, 0o600);
    let told = Command::new("kill").args(["-s", "TERM", &viewing.child.id().to_string()]).status().unwrap();
    assert!(told.success());
    let begun = Instant::now();
    while page.exists() && begun.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!page.exists(), "a signal takes the page along");
}

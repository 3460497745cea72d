//! A folder with traces, and commands run on it.

use std::path::{Path, PathBuf};

use gpuscope_cli::{Exit, Terminal, run};
use gpuscope_testkit::text::{TraceText, trace};
use serde_json::Value;
use tempfile::TempDir;

/// What a command left behind.
#[derive(Debug)]
pub(crate) struct Ran {
    pub exit: u8,
    pub out: String,
    pub err: String,
}

impl Ran {
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.exit, 0, "{}", self.err);
        serde_json::from_str(&self.out).expect("one JSON object on standard output")
    }

    /// The codes of all quality entries.
    pub(crate) fn codes(&self) -> Vec<String> {
        let json = self.json();
        let entries = json["quality"].as_array().expect("a list");
        entries.iter().map(|entry| entry["code"].as_str().expect("a code").to_owned()).collect()
    }

    /// The rank of every row of `data.ranks`.
    pub(crate) fn ranks(&self) -> Vec<i64> {
        let json = self.json();
        let rows = json["data"]["ranks"].as_array().expect("a list");
        rows.iter().map(|row| row["rank"].as_i64().expect("a rank")).collect()
    }

    /// The base names of all inputs.
    pub(crate) fn inputs(&self) -> Vec<String> {
        let json = self.json();
        let inputs = json["inputs"].as_array().expect("a list");
        let name = |input: &Value| {
            let path = input["path"].as_str().expect("a path");
            path.rsplit(['/', '!']).next().expect("a name").to_owned()
        };
        inputs.iter().map(name).collect()
    }
}

pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a folder"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> &Folder {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, bytes).expect("a file");
        self
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("a file")
    }

    /// Runs a command; `@name` is a path in this folder. The folder's own path is taken out of what it says.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.run_on(Terminal::none(), arguments)
    }

    pub(crate) fn run_on(&self, terminal: Terminal, arguments: &[&str]) -> Ran {
        let root = self.root().to_string_lossy().into_owned();
        let path = |argument: &&str| match argument.strip_prefix('@') {
            Some("") => root.clone(),
            Some(name) => format!("{root}/{name}"),
            None => (*argument).to_owned(),
        };
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let all = std::iter::once("gpuscope".to_owned()).chain(arguments.iter().map(path));
        let Exit(exit) = run(all, &mut out, &mut err, terminal);
        let text = |bytes: Vec<u8>| {
            let text = String::from_utf8(bytes).expect("UTF-8");
            text.replace(&format!("{root}/"), "").replace(&root, "FOLDER")
        };
        Ran { exit, out: text(out), err: text(err) }
    }
}

/// Two steps of one rank: computation, a collective half hidden behind it, a copy.
pub(crate) fn rank(rank: u32) -> TraceText {
    let shift = i64::from(rank) * 1_000;
    trace()
        .rank(rank, 2)
        .step(7, 0..100_000)
        .step(8, 100_000..200_000)
        .kernel("gemm<128, 64>", 10_000 + shift..40_000)
        .launched_at(1_000..2_000)
        .kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 30_000..60_000)
        .on(0, 20)
        .launched_at(3_000..4_000)
        .memcpy("Memcpy DtoH (Device -> Pageable)", 70_000..75_000, 4096)
        .launched_at(5_000..6_000)
        .kernel("gemm<128, 64>", 110_000..150_000)
        .launched_at(101_000..102_000)
}

/// A trace without a rank of its own.
pub(crate) fn nameless() -> TraceText {
    trace().kernel("gemm", 10..30).launched_at(1..2)
}

/// Host work only.
pub(crate) fn host_only() -> TraceText {
    trace().cpu_op("aten::add", 0..50)
}

pub(crate) fn gzip(text: &str) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).expect("memory");
    encoder.finish().expect("memory")
}

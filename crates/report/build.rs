//! Joins the ES modules of `web/` into one plain script for each page, in order of what they import: a page opened from
//! disk cannot load modules, and a single script has a single hash for the page's policy.
//!
//! Also takes plotly.js out of the crate that carries it, and deflates it once for all pages.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use sha2::Digest;

/// The module that each page begins with.
const PAGES: [(&str, &str); 4] = [
    ("dashboard", "dashboard/main.js"),
    ("flame", "flame/main.js"),
    ("report", "report/main.js"),
    ("timeline", "timeline/main.js"),
];

fn main() {
    // Asked for when it runs: clones that share a build folder also share this program.
    let web = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../../web");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    println!("cargo::rerun-if-changed=build.rs");
    for (page, entry) in PAGES {
        let mut script = Script::default();
        script.add(&web.join(entry));
        fs::write(out.join(format!("{page}.js")), script.finish()).expect("the build folder can be written");
    }
    plotly(&out);
}

/// The library as it must be in a page (its hash is in the page's policy), and deflated.
fn plotly(out: &Path) {
    let sources = plotly::Plot::offline_js_sources();
    // The first of several scripts; the others typeset formulas, which our charts do not have.
    let (_, rest) = sources.split_once('>').expect("a script element");
    let (library, _) = rest.split_once("</script>").expect("its end");
    assert!(library.contains("plotly.js v"), "the first script is no longer plotly.js");
    let mut deflate = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    deflate.write_all(library.as_bytes()).expect("memory is enough");
    let deflated = deflate.finish().expect("memory is enough");
    fs::write(out.join("plotly.deflate"), deflated).expect("the build folder can be written");
    let hash =
        base64::Engine::encode(&base64::engine::general_purpose::STANDARD, sha2::Sha256::digest(library));
    fs::write(out.join("plotly.sha256"), hash).expect("the build folder can be written");
}

#[derive(Default)]
struct Script {
    added: Vec<PathBuf>,
    /// Names at the top of modules share one space once joined.
    names: BTreeMap<String, PathBuf>,
    text: String,
}

impl Script {
    /// What a module imports comes before it.
    fn add(&mut self, module: &Path) {
        let module = module.canonicalize().unwrap_or_else(|error| panic!("{}: {error}", module.display()));
        if self.added.contains(&module) {
            return;
        }
        self.added.push(module.clone());
        println!("cargo::rerun-if-changed={}", module.display());
        let source = fs::read_to_string(&module).expect("canonical paths exist");
        let (imports, body) = split(&source);
        for import in imports {
            self.add(&module.parent().expect("a file has a folder").join(import));
        }
        for name in names(&body) {
            if let Some(other) = self.names.insert(name.clone(), module.clone()) {
                panic!("{} and {} both have a `{name}` at the top", other.display(), module.display());
            }
        }
        self.text.push_str(&body);
    }

    fn finish(self) -> String {
        format!("\"use strict\";\n(() => {{\n{}}})();\n", self.text)
    }
}

/// The paths a module imports, and its text without imports, exports and lines that are only comments.
fn split(source: &str) -> (Vec<String>, String) {
    let (mut imports, mut body, mut import) = (Vec::new(), String::new(), None::<String>);
    let mut in_comment = false;
    for line in source.lines() {
        let trimmed = line.trim();
        if import.is_some() || line.starts_with("import ") {
            let text = import.take().unwrap_or_default() + trimmed;
            match text.split_once(" from \"").filter(|_| text.ends_with("\";")) {
                Some((_, path)) => imports.push(path.trim_end_matches("\";").to_owned()),
                None => import = Some(text),
            }
            continue;
        }
        let comment = in_comment || trimmed.starts_with("/*") || trimmed.starts_with("//");
        in_comment = (in_comment || trimmed.starts_with("/*")) && !trimmed.contains("*/");
        // A comment at the head of a line may be followed by code, as a cast is.
        if trimmed.is_empty()
            || (comment && (in_comment || trimmed.ends_with("*/") || trimmed.starts_with("//")))
        {
            continue;
        }
        body.push_str(line.strip_prefix("export ").unwrap_or(line));
        body.push('\n');
    }
    (imports, body)
}

/// What a joined text declares at the top.
fn names(body: &str) -> Vec<String> {
    let declared = |line: &str| {
        let line = line.strip_prefix("async ").unwrap_or(line);
        let rest =
            ["function ", "class ", "const ", "let "].iter().find_map(|word| line.strip_prefix(word))?;
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        (!name.is_empty()).then_some(name)
    };
    body.lines().filter_map(declared).collect()
}

//! What all pages share: one file that opens from disk without a network, whose policy allows just the scripts in it.

use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use sha2::{Digest, Sha256};

use crate::html::escaped;

/// A script of ours, as it stands in the page: its hash goes into the policy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Script(pub &'static str);

impl Script {
    fn hash(self) -> String {
        format!("'sha256-{}'", BASE64.encode(Sha256::digest(self.0.as_bytes())))
    }
}

pub(crate) struct Shell {
    pub title: String,
    pub style: String,
    pub body: String,
    /// By the id of the element that holds it.
    pub data: Vec<(&'static str, String)>,
    pub scripts: Vec<Script>,
    /// Hashes of scripts that come out of the data.
    pub inflated: Vec<&'static str>,
}

/// A view of a page: its elements and its data, by the id of the element that holds it.
pub(crate) struct Embedded {
    pub body: String,
    pub data: (&'static str, String),
}

/// Colours and type of every page, light and dark.
const LOOK: &str = include_str!("look.css");

impl Shell {
    pub(crate) fn write(&self, out: impl Write) -> io::Result<()> {
        self.write_with("", out)
    }

    /// For a page that is served: it may ask its own server, and no other.
    pub(crate) fn write_served(&self, out: impl Write) -> io::Result<()> {
        self.write_with("; connect-src 'self'", out)
    }

    fn write_with(&self, more: &str, mut out: impl Write) -> io::Result<()> {
        let inflated = self.inflated.iter().map(|hash| format!("'sha256-{hash}'"));
        let hashes: Vec<String> = self.scripts.iter().map(|script| script.hash()).chain(inflated).collect();
        write!(
            out,
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src {}; \
             style-src 'unsafe-inline'; img-src data: blob:{more}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{}</title>\n<style>{LOOK}{}</style>\n</head>\n<body>\n{}\n",
            hashes.join(" "),
            escaped(&self.title),
            self.style,
            self.body,
        )?;
        for (id, data) in &self.data {
            writeln!(out, "<script type=\"application/octet-stream\" id=\"{id}\">{data}</script>")?;
        }
        for Script(text) in &self.scripts {
            writeln!(out, "<script>{text}</script>")?;
        }
        out.write_all(b"</body>\n</html>\n")
    }
}

/// Deflated and in base64, which the page's script undoes.
pub(crate) fn packed(bytes: &[u8]) -> String {
    let mut deflate = DeflateEncoder::new(Vec::new(), Compression::new(7));
    // Memory takes whatever is written to it.
    let deflated = deflate.write_all(bytes).and_then(|()| deflate.finish()).unwrap_or_default();
    BASE64.encode(deflated)
}

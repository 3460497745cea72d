//! The timeline page: every event of a run as typed columns, deflated inside one HTML file, and the script that draws
//! them.

mod encode;
mod served;

use std::io::{self, Write};

use gpuscope_analysis::timeline::{LeftOut, Picture};

use crate::page_shell::{Script, Shell, packed};
use crate::units;

pub use served::{Window, window, write_served};

const SCRIPT: &str = include_str!(concat!(env!("OUT_DIR"), "/timeline.js"));
const STYLE: &str = include_str!("timeline/page.css");
const BODY: &str = include_str!("timeline/page.html");

pub fn write(picture: &Picture, title: &str, out: impl Write) -> io::Result<()> {
    let left_out = said(picture.left_out);
    let bytes = encode::encode(picture, &left_out);
    page(title, &left_out, &bytes, |shell| shell.write(out))
}

/// One page for both: with all there is in it, or with a server behind it.
fn page(
    title: &str,
    left_out: &str,
    bytes: &[u8],
    write: impl FnOnce(&Shell<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let body = BODY
        .replace("{title}", &crate::html::escaped(title))
        .replace("{left_out}", &crate::html::escaped(left_out));
    write(&Shell {
        title: &format!("{title} · timeline"),
        style: STYLE,
        body: &body,
        data: &[("timeline-data", packed(bytes)?)],
        scripts: &[Script(SCRIPT)],
    })
}

/// In words, for people; empty if everything is there.
fn said(left_out: LeftOut) -> String {
    let part = |count: u64, of: &str, below: i64| {
        let count = units::count(i64::try_from(count).unwrap_or(i64::MAX));
        format!("{count} {of} events shorter than {}", units::duration(below))
    };
    let mut parts = Vec::new();
    if left_out.host > 0 {
        parts.push(part(left_out.host, "host", left_out.host_below.0));
    }
    if left_out.gpu > 0 {
        parts.push(part(left_out.gpu, "GPU", left_out.gpu_below.0));
    }
    if parts.is_empty() { String::new() } else { format!("Left out: {}.", parts.join(" and ")) }
}

//! The timeline page: every event of a run as typed columns, deflated inside one HTML file, and the script that draws
//! them.

mod encode;

use std::io::{self, Write};

use gpuscope_analysis::timeline::{LeftOut, Picture};

use crate::page_shell::{Script, Shell, packed};
use crate::units;

const SCRIPT: &str = include_str!(concat!(env!("OUT_DIR"), "/timeline.js"));
const STYLE: &str = include_str!("timeline/page.css");
const BODY: &str = include_str!("timeline/page.html");

pub fn write(picture: &Picture, title: &str, out: impl Write) -> io::Result<()> {
    let left_out = said(picture.left_out);
    let bytes = encode::encode(picture, &left_out);
    let body = BODY
        .replace("{title}", &crate::html::escaped(title))
        .replace("{left_out}", &crate::html::escaped(&left_out));
    let shell = Shell {
        title: &format!("{title} · timeline"),
        style: STYLE,
        body: &body,
        data: &[("timeline-data", packed(&bytes)?)],
        scripts: &[Script(SCRIPT)],
    };
    shell.write(out)
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

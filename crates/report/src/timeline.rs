//! The timeline page: every event of a run as typed columns, deflated inside one HTML file, and the script that draws
//! them.

mod encode;

use std::io::{self, Write};

use gpuscope_analysis::timeline::{LeftOut, Picture};

use crate::page_shell::{Script, Shell, packed};
use crate::units;

const SCRIPT: &str = include_str!(concat!(env!("OUT_DIR"), "/timeline.js"));
pub(crate) const STYLE: &str = include_str!("timeline/page.css");
const BODY: &str = include_str!("timeline/page.html");

pub fn write(picture: &Picture, title: &str, out: impl Write) -> io::Result<()> {
    let Embedded { body, data } = embedded(picture, title);
    let shell = Shell {
        title: format!("{title} · timeline"),
        style: STYLE.to_owned(),
        body,
        data: vec![data],
        scripts: vec![Script(SCRIPT)],
        inflated: Vec::new(),
    };
    shell.write(out)
}

/// A timeline inside a page, which adds [`STYLE`] and a script that opens it.
pub(crate) struct Embedded {
    pub body: String,
    pub data: (&'static str, String),
}

pub(crate) fn embedded(picture: &Picture, title: &str) -> Embedded {
    let left_out = said(picture.left_out);
    let body = BODY
        .replace("{left_out}", &crate::html::escaped(&left_out))
        .replace("{title}", &crate::html::escaped(title));
    Embedded { body, data: ("timeline-data", packed(&encode::encode(picture, &left_out))) }
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

//! The timeline page: every event of a run as typed columns, deflated inside one HTML file, and the script that draws
//! them.

mod encode;
mod served;

use std::io::{self, Write};

use gpuscope_analysis::timeline::{LeftOut, Picture};

use crate::page_shell::{Embedded, Script, Shell, packed};
use crate::units;

pub use served::{Window, window, write_served};

const SCRIPT: &str = include_str!(concat!(env!("OUT_DIR"), "/timeline.js"));
pub(crate) const STYLE: &str = include_str!("timeline/page.css");
const BODY: &str = include_str!("timeline/page.html");

pub fn write(picture: &Picture, title: &str, out: impl Write) -> io::Result<()> {
    page(embedded(picture, title), title).write(out)
}

/// Inside a page, which adds [`STYLE`] and a script that opens it.
pub(crate) fn embedded(picture: &Picture, title: &str) -> Embedded {
    let left_out = said(picture.left_out);
    with_data(title, &left_out, &encode::encode(picture, &left_out))
}

fn with_data(title: &str, left_out: &str, bytes: &[u8]) -> Embedded {
    let body = BODY
        .replace("{left_out}", &crate::html::escaped(left_out))
        .replace("{title}", &crate::html::escaped(title));
    Embedded { body, data: ("timeline-data", packed(bytes)) }
}

/// The page that is a timeline and nothing else, be all of it inside or a server behind it.
fn page(timeline: Embedded, title: &str) -> Shell {
    Shell {
        title: format!("{title} · timeline"),
        style: STYLE.to_owned(),
        body: timeline.body,
        data: vec![timeline.data],
        scripts: vec![Script(SCRIPT)],
        inflated: Vec::new(),
    }
}

/// In words, for people; empty if everything is there.
fn said(left_out: LeftOut) -> String {
    let part = |count: u64, of: &str, longest: i64| {
        let count = units::count(i64::try_from(count).unwrap_or(i64::MAX));
        format!("{count} {of} events of at most {}", units::duration(longest))
    };
    let mut parts = Vec::new();
    if left_out.host > 0 {
        parts.push(part(left_out.host, "host", left_out.host_longest.0));
    }
    if left_out.gpu > 0 {
        parts.push(part(left_out.gpu, "GPU", left_out.gpu_longest.0));
    }
    if parts.is_empty() { String::new() } else { format!("Left out: {}.", parts.join(" and ")) }
}

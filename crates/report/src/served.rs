//! Pages that only a server has, in the look of the stand-alone ones, and the bar above all of its pages.

use crate::html;
use crate::page_shell::{Script, Shell};

const SCRIPT: Script = Script(include_str!(concat!(env!("OUT_DIR"), "/dashboard.js")));
const STYLE: &str = include_str!("served/page.css");

/// Goes in front of the bar, in a page that was made without one.
pub const BAR_STYLE: &str = concat!("<style>", include_str!("served/bar.css"), "</style>\n");

/// A page with this body, which may ask its own server and no other.
pub fn page(title: &str, body: &str) -> Vec<u8> {
    let shell = Shell {
        title: title.to_owned(),
        style: format!("{}{}{STYLE}", html::STYLE, include_str!("served/bar.css")),
        body: body.to_owned(),
        data: Vec::new(),
        scripts: vec![SCRIPT],
        inflated: Vec::new(),
    };
    let mut page = Vec::new();
    // Memory takes whatever is written to it.
    let _ = shell.write_served(&mut page);
    page
}

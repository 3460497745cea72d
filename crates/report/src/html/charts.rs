//! Charts in a page: painted as SVG at once, and as plotly's JSON for when they come into sight.

use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use gpuscope_figure::Figure;
use serde_json::{Map, Value};

use super::escaped;
use crate::chart::plotly;
use crate::chart::svg::{self, Dress};
use crate::page_shell::packed;

/// The library, deflated when this crate was built.
const PLOTLY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/plotly.deflate"));
pub(super) const PLOTLY_HASH: &str = include_str!(concat!(env!("OUT_DIR"), "/plotly.sha256"));

/// The charts of a page, by name.
#[derive(Default)]
pub(super) struct Charts(Map<String, Value>);

/// Whether a chart is another of the same sort.
pub(super) fn alike(a: &Figure, b: &Figure) -> bool {
    a.name == b.name
}

impl Charts {
    /// Those of one name, such as pies of each rank, take turns in one place.
    pub(super) fn write_all(&mut self, figures: &[Figure], out: &mut impl Write) -> io::Result<()> {
        figures.chunk_by(alike).try_for_each(|figures| self.write_group(figures, out))
    }

    pub(super) fn write_group(&mut self, figures: &[Figure], out: &mut impl Write) -> io::Result<()> {
        let [first, others @ ..] = figures else { return Ok(()) };
        if others.is_empty() {
            return self.write(first, out);
        }
        out.write_all(b"<div class=\"turns\"><label class=\"controls\">Show <select>")?;
        for figure in figures {
            write!(out, "<option>{}</option>", escaped(&figure.title))?;
        }
        out.write_all(b"</select></label>\n")?;
        self.write(first, out)?;
        for figure in others {
            // Painted when its turn comes.
            let name = self.free_name(figure.name);
            let caption = escaped(&figure.title);
            writeln!(
                out,
                "<figure data-figure=\"{}\" hidden><figcaption>{caption}</figcaption></figure>",
                escaped(&name)
            )?;
            self.0.insert(name, plotly::figure(figure));
        }
        out.write_all(b"</div>\n")
    }

    fn write(&mut self, figure: &Figure, out: &mut impl Write) -> io::Result<()> {
        let name = self.free_name(figure.name);
        write!(
            out,
            "<figure data-figure=\"{}\"><figcaption>{}</figcaption>\n{}\n",
            escaped(&name),
            escaped(&figure.title),
            svg::draw(figure, &Dress::PAGE),
        )?;
        if !figure.summary.is_empty() {
            writeln!(out, "<p class=\"soft\">{}</p>", escaped(&figure.summary))?;
        }
        out.write_all(b"</figure>\n")?;
        self.0.insert(name, plotly::figure(figure));
        Ok(())
    }

    /// Several charts of one name, such as pies of each rank, are numbered.
    fn free_name(&self, name: &str) -> String {
        let mut names = std::iter::once(name.to_owned()).chain((2..).map(|n| format!("{name}_{n}")));
        names.find(|name| !self.0.contains_key(name)).unwrap_or_default()
    }

    /// What the scripts need.
    pub(super) fn data(self) -> Vec<(&'static str, String)> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let figures = packed(Value::Object(self.0).to_string().as_bytes());
        vec![("figures-data", figures), ("plotly-library", BASE64.encode(PLOTLY))]
    }
}

//! Figures as a page of their own.

use std::io::{self, Write};

use gpuscope_figure::Figure;

use crate::chart::svg::{self, Dress};
use crate::html::escaped;
use crate::page_shell::Shell;

const STYLE: &str = "main{max-width:960px;margin:2rem auto;padding:0 1rem}figure{margin:0 0 2.5rem}svg{width:100%;height:auto}";

/// `about` says what was drawn: the traces, as the user named them.
pub fn write(figures: &[Figure], about: &str, out: impl Write) -> io::Result<()> {
    let mut body = format!("<main>\n<p>{}</p>\n", escaped(&crate::text::one_line(about)));
    for figure in figures {
        let heading = escaped(&crate::text::one_line(&figure.title));
        let picture = svg::draw(figure, &Dress::PAGE);
        body.push_str(&format!("<h2>{heading}</h2>\n<figure>{picture}"));
        if !figure.summary.is_empty() {
            let summary = escaped(&crate::text::one_line(&figure.summary));
            body.push_str(&format!("<figcaption>{summary}</figcaption>"));
        }
        body.push_str("</figure>\n");
    }
    body.push_str("</main>");
    let title = figures.first().map_or("gpuscope", |figure| &figure.title);
    Shell { title, style: STYLE, body: &body, data: &[], scripts: &[] }.write(out)
}

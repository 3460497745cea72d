//! Figures on paper: a page for each, as large as it is, with text that can be selected.

use std::io::{self, Write};

use gpuscope_figure::Figure;
use krilla::Document;
use krilla::geom::Size;
use krilla::metadata::Metadata;
use krilla::page::PageSettings;
use krilla_svg::{SurfaceExt as _, SvgSettings};

use crate::chart::svg::{self, Dress};
use crate::png;

/// Points on paper for each unit of the drawing.
const POINTS: f32 = 0.75;

pub fn write(figures: &[Figure], mut out: impl Write) -> io::Result<()> {
    let mut document = Document::new();
    if let Some(first) = figures.first() {
        document.set_metadata(Metadata::new().title(first.title.clone()).creator("gpuscope".to_owned()));
    }
    for figure in figures {
        let tree = png::tree(&svg::draw(figure, &Dress::FILE))?;
        let size = Size::from_wh(tree.size().width() * POINTS, tree.size().height() * POINTS)
            .ok_or_else(|| io::Error::other("a picture without any size"))?;
        let mut page = document.start_page_with(PageSettings::new(size));
        page.surface().draw_svg(&tree, size, SvgSettings::default());
        page.finish();
    }
    out.write_all(&document.finish().map_err(|error| io::Error::other(format!("{error:?}")))?)
}

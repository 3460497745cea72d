//! Paper: figures by themselves, each on a page as large as it is, and reports on A4. No browser is needed, letters are
//! carried along, and text can be selected and searched.

mod report;
mod sheets;
mod tables;

#[cfg(test)]
mod tests;

use std::io::{self, Write};

use gpuscope_analysis::dossier::DossierAnswer;
use gpuscope_figure::{Figure, on_paper};
use krilla::Document;
use krilla::color::rgb;
use krilla::destination::XyzDestination;
use krilla::geom::{PathBuilder, Point, Rect, Size, Transform};
use krilla::metadata::Metadata;
use krilla::outline::{Outline, OutlineNode};
use krilla::page::PageSettings;
use krilla::paint::Fill;
use krilla::surface::Surface;
use krilla::text::{Font, TextDirection};
use krilla_svg::{SurfaceExt as _, SvgSettings};

use self::sheets::{Bookmark, Mark, Sheets};
use crate::chart::svg::{self, Dress};
use crate::page::Page;
use crate::png;

/// Points on paper for each unit of a drawing.
const POINTS: f32 = 0.75;

/// Each on a page of its own size.
pub fn write(figures: &[Figure], mut out: impl Write) -> io::Result<()> {
    let title = figures.first().map_or("", |figure| &figure.title);
    let mut document = begun(title);
    for figure in on_paper(figures) {
        add_picture(&mut document, &svg::draw(figure, &Dress::FILE))?;
    }
    out.write_all(&finished(document)?)
}

/// A picture on a page of its own size.
pub(crate) fn write_svg(svg: &str, title: &str, mut out: impl Write) -> io::Result<()> {
    let mut document = begun(title);
    add_picture(&mut document, svg)?;
    out.write_all(&finished(document)?)
}

fn add_picture(document: &mut Document, svg: &str) -> io::Result<()> {
    let tree = png::tree(svg)?;
    let size = size(tree.size().width() * POINTS, tree.size().height() * POINTS)?;
    let mut page = document.start_page_with(PageSettings::new(size));
    page.surface().draw_svg(&tree, size, SvgSettings::default());
    page.finish();
    Ok(())
}

/// The answer to one question: its figures and tables.
pub fn write_page(page: &Page<'_>, mut out: impl Write) -> io::Result<()> {
    let title = format!("gpuscope {}", page.command);
    out.write_all(&printed(&report::page(page), &title)?)
}

/// All of a run.
pub fn write_report(dossier: &DossierAnswer, page: &Page<'_>, mut out: impl Write) -> io::Result<()> {
    out.write_all(&printed(&report::report(dossier, page), "gpuscope report")?)
}

fn begun(title: &str) -> Document {
    let mut document = Document::new();
    let title = crate::text::one_line(title);
    document.set_metadata(Metadata::new().title(title).creator("gpuscope".to_owned()));
    document
}

fn finished(document: Document) -> io::Result<Vec<u8>> {
    document.finish().map_err(|error| io::Error::other(format!("{error:?}")))
}

fn size(width: f32, height: f32) -> io::Result<Size> {
    Size::from_wh(width, height).ok_or_else(|| io::Error::other("a picture without any size"))
}

/// What letters are drawn with.
struct Fonts {
    regular: Font,
    bold: Font,
}

fn printed(sheets: &Sheets, title: &str) -> io::Result<Vec<u8>> {
    let font = |bytes: &'static [u8]| {
        Font::new(bytes.into(), 0).ok_or_else(|| io::Error::other("the font that came along cannot be read"))
    };
    let fonts = Fonts { regular: font(dejavu::sans::regular())?, bold: font(dejavu::sans::bold())? };
    let mut document = begun(title);
    for marks in &sheets.pages {
        let size = size(sheets::WIDTH as f32, sheets::HEIGHT as f32)?;
        let mut page = document.start_page_with(PageSettings::new(size));
        let mut surface = page.surface();
        for mark in marks {
            draw(mark, &fonts, &mut surface)?;
        }
        surface.finish();
        page.finish();
    }
    document.set_outline(outline(&sheets.bookmarks));
    finished(document)
}

fn draw(mark: &Mark, fonts: &Fonts, surface: &mut Surface<'_>) -> io::Result<()> {
    match mark {
        Mark::Text { x, y, size, bold, color, text } => {
            surface.set_fill(Some(fill(color)));
            let font = if *bold { &fonts.bold } else { &fonts.regular };
            let place = Point::from_xy(*x as f32, *y as f32);
            surface.draw_text(place, font.clone(), *size as f32, text, false, TextDirection::Auto);
        }
        Mark::Rect { x, y, width, height, color } => {
            let rect = Rect::from_xywh(*x as f32, *y as f32, *width as f32, *height as f32);
            let mut path = PathBuilder::new();
            if let Some(rect) = rect {
                path.push_rect(rect);
            }
            if let Some(path) = path.finish() {
                surface.set_fill(Some(fill(color)));
                surface.draw_path(&path);
            }
        }
        Mark::Picture { x, y, width, height, svg } => {
            let (tree, size) = (png::tree(svg)?, size(*width as f32, *height as f32)?);
            surface.push_transform(&Transform::from_translate(*x as f32, *y as f32));
            surface.draw_svg(&tree, size, SvgSettings::default());
            surface.pop();
        }
    }
    Ok(())
}

fn fill(hex: &str) -> Fill {
    let part = |at: usize| hex.get(at..at + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok()).unwrap_or(0);
    Fill { paint: rgb::Color::new(part(1), part(3), part(5)).into(), ..Fill::default() }
}

/// What readers show as contents.
fn outline(bookmarks: &[Bookmark]) -> Outline {
    let mut outline = Outline::new();
    for Bookmark { title, page, y } in bookmarks {
        let place = XyzDestination::new(*page, Point::from_xy(0.0, *y as f32));
        outline.push_child(OutlineNode::new(title.clone(), place));
    }
    outline
}

//! Pages of paper that fill from the top: marks with their places, so that every one can be checked before it is drawn.

use gpuscope_figure::Figure;

use crate::chart::svg::{self, Dress};
use crate::fonts::{bold_width_of, width_of, wrapped};

/// A4, in points.
pub(super) const WIDTH: f64 = 595.0;
pub(super) const HEIGHT: f64 = 842.0;
pub(super) const MARGIN: f64 = 42.0;
/// What lies between the margins.
pub(super) const COLUMN: f64 = WIDTH - 2.0 * MARGIN;
/// Text does not go below this; the page number is there.
const BOTTOM: f64 = HEIGHT - 52.0;
const FOOT: f64 = HEIGHT - 28.0;

pub(super) const BODY: f64 = 9.5;
pub(super) const SMALL: f64 = 8.0;
/// Pictures are drawn this wide and then made as wide as the column: their letters become as large as ours.
const PICTURE_WIDTH: f64 = 700.0;

pub(super) const INK: &str = "#1f2328";
pub(super) const SOFT: &str = "#59636e";

const PICTURE: Dress = Dress { width: PICTURE_WIDTH, ..Dress::FILE };

/// A picture as wide as the column, and whole on one page.
pub(super) struct Drawn {
    svg: String,
    width: f64,
    pub height: f64,
}

impl Drawn {
    /// By what draws it and says how high it is.
    pub(super) fn of(draw: impl FnOnce(&Dress) -> (String, f64)) -> Drawn {
        let (svg, drawn) = draw(&PICTURE);
        let most = BOTTOM - MARGIN - 2.0 * Style::SOFT.line();
        let scale = (COLUMN / PICTURE_WIDTH).min(most / drawn);
        Drawn { svg, width: PICTURE_WIDTH * scale, height: drawn * scale }
    }

    pub(super) fn figure(figure: &Figure) -> Drawn {
        Drawn::of(|dress| svg::sized(figure, dress))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Mark {
    Text { x: f64, y: f64, size: f64, bold: bool, color: &'static str, text: String },
    Rect { x: f64, y: f64, width: f64, height: f64, color: &'static str },
    Picture { x: f64, y: f64, width: f64, height: f64, svg: String },
}

/// A place that the table of contents of a reader leads to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bookmark {
    pub title: String,
    pub page: usize,
    pub y: f64,
}

#[derive(Debug)]
pub(super) struct Sheets {
    pub pages: Vec<Vec<Mark>>,
    pub bookmarks: Vec<Bookmark>,
    y: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Style {
    pub size: f64,
    pub bold: bool,
    pub color: &'static str,
}

impl Style {
    pub(super) const BODY: Style = Style { size: BODY, bold: false, color: INK };
    pub(super) const STRONG: Style = Style { size: BODY, bold: true, color: INK };
    pub(super) const SOFT: Style = Style { size: SMALL, bold: false, color: SOFT };

    pub(super) fn width_of(self, text: &str) -> f64 {
        if self.bold { bold_width_of(text, self.size) } else { width_of(text, self.size) }
    }

    pub(super) fn line(self) -> f64 {
        self.size * 1.4
    }
}

impl Sheets {
    pub(super) fn new() -> Sheets {
        Sheets { pages: vec![Vec::new()], bookmarks: Vec::new(), y: MARGIN }
    }

    pub(super) fn y(&self) -> f64 {
        self.y
    }

    pub(super) fn room(&self) -> f64 {
        BOTTOM - self.y
    }

    pub(super) fn turn(&mut self) {
        self.pages.push(Vec::new());
        self.y = MARGIN;
    }

    /// Begins a new page unless there is that much room; says whether it did.
    pub(super) fn need(&mut self, height: f64) -> bool {
        let turns = self.room() < height && self.y > MARGIN;
        if turns {
            self.turn();
        }
        turns
    }

    pub(super) fn skip(&mut self, height: f64) {
        self.y += height;
    }

    pub(super) fn mark(&mut self, mark: Mark) {
        if let Some(page) = self.pages.last_mut() {
            page.push(mark);
        }
    }

    /// At a place in the current line, whose upper edge is `y`.
    pub(super) fn text(&mut self, x: f64, y: f64, style: Style, text: &str) {
        let Style { size, bold, color } = style;
        self.mark(Mark::Text { x, y: y + size, size, bold, color, text: text.to_owned() });
    }

    pub(super) fn right(&mut self, right: f64, y: f64, style: Style, text: &str) {
        self.text(right - style.width_of(text), y, style, text);
    }

    pub(super) fn rect(&mut self, x: f64, y: f64, width: f64, height: f64, color: &'static str) {
        self.mark(Mark::Rect { x, y, width, height, color });
    }

    pub(super) fn heading(&mut self, text: &str, size: f64) {
        let style = Style { size, bold: true, color: INK };
        let lines = wrapped(text, COLUMN, |line| style.width_of(line));
        // A heading is not left alone at the foot of a page.
        self.need(style.line() * lines.len() as f64 + 60.0);
        self.skip(if self.y > MARGIN { size * 0.7 } else { 0.0 });
        self.bookmarks.push(Bookmark { title: text.to_owned(), page: self.pages.len() - 1, y: self.y });
        self.lines(&lines, MARGIN, style);
        self.skip(size * 0.3);
    }

    pub(super) fn paragraph(&mut self, text: &str, style: Style) {
        self.indented(text, 0.0, style);
        self.skip(style.size * 0.4);
    }

    pub(super) fn indented(&mut self, text: &str, by: f64, style: Style) {
        let lines = wrapped(&crate::text::one_line(text), COLUMN - by, |line| style.width_of(line));
        self.lines(&lines, MARGIN + by, style);
    }

    fn lines(&mut self, lines: &[String], x: f64, style: Style) {
        for line in lines {
            self.need(style.line());
            self.text(x, self.y, style, line);
            self.skip(style.line());
        }
    }

    /// With what it says, in words.
    pub(super) fn figure(&mut self, figure: &Figure) {
        self.figure_drawn(figure, Drawn::figure(figure));
    }

    pub(super) fn figure_drawn(&mut self, figure: &Figure, drawn: Drawn) {
        self.picture(drawn);
        if !figure.summary.is_empty() {
            self.indented(&figure.summary, 0.0, Style::SOFT);
        }
        self.skip(8.0);
    }

    pub(super) fn picture(&mut self, Drawn { svg, width, height }: Drawn) {
        self.need(height + Style::SOFT.line());
        self.mark(Mark::Picture { x: MARGIN, y: self.y, width, height, svg });
        self.skip(height);
    }

    /// What it is, and which page of how many.
    pub(super) fn feet(&mut self, about: &str) {
        let (count, style) = (self.pages.len(), Style { size: 7.5, bold: false, color: SOFT });
        for number in 0..count {
            let page = format!("{} / {count}", number + 1);
            let room = COLUMN - style.width_of(&page) - 12.0;
            let about =
                wrapped(about, room, |line| style.width_of(line)).into_iter().next().unwrap_or_default();
            let place = |x: f64, text: String| Mark::Text {
                x,
                y: FOOT,
                size: style.size,
                bold: false,
                color: style.color,
                text,
            };
            let right = WIDTH - MARGIN - style.width_of(&page);
            self.pages[number].extend([place(MARGIN, about), place(right, page)]);
        }
    }
}

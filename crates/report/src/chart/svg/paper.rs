//! The SVG itself: a few shapes, written as text.

use std::fmt::Write as _;

use gpuscope_figure::Hue;

pub(super) const TEXT: f64 = 12.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rect {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

impl Rect {
    pub(super) fn right(&self) -> f64 {
        self.x + self.width
    }

    pub(super) fn bottom(&self) -> f64 {
        self.y + self.height
    }

    pub(super) fn middle(&self) -> f64 {
        self.x + self.width / 2.0
    }

    pub(super) fn without_top(self, height: f64) -> Rect {
        Rect { y: self.y + height, height: self.height - height, ..self }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    fn name(self) -> &'static str {
        match self {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        }
    }
}

pub(super) struct Paper {
    ink: &'static str,
    body: String,
}

impl Paper {
    pub(super) fn new(ink: &'static str) -> Paper {
        Paper { ink, body: String::new() }
    }

    pub(super) fn ink(&self) -> &'static str {
        self.ink
    }

    pub(super) fn rect(&mut self, rect: Rect, fill: &str, opacity: f64, note: &str) {
        let Rect { x, y, width, height } = rect;
        let opacity = if opacity < 1.0 { format!(" fill-opacity=\"{opacity}\"") } else { String::new() };
        self.put(format_args!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.2}\" height=\"{:.2}\" fill=\"{fill}\"{opacity}{}",
            width.max(0.0),
            height.max(0.0),
            Noted(note, "rect"),
        ));
    }

    pub(super) fn circle(&mut self, x: f64, y: f64, radius: f64, fill: &str, opacity: f64, note: &str) {
        self.put(format_args!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" fill=\"{fill}\" fill-opacity=\"{opacity}\"{}",
            Noted(note, "circle"),
        ));
    }

    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), color: &str, opacity: f64) {
        self.put(format_args!(
            "<path d=\"M{:.1} {:.1}L{:.1} {:.1}\" stroke=\"{color}\" stroke-opacity=\"{opacity}\"/>",
            from.0, from.1, to.0, to.1
        ));
    }

    /// An open path, or a closed one that is filled.
    pub(super) fn path(&mut self, path: &str, stroke: &str, fill: Option<(&str, f64)>, note: &str) {
        let fill = fill.map_or("fill=\"none\"".to_owned(), |(fill, opacity)| {
            format!("fill=\"{fill}\" fill-opacity=\"{opacity}\"")
        });
        self.put(format_args!(
            "<path d=\"{path}\" stroke=\"{stroke}\" stroke-width=\"1.5\" stroke-linejoin=\"round\" {fill}{}",
            Noted(note, "path")
        ));
    }

    pub(super) fn text(&mut self, x: f64, y: f64, text: &str, anchor: Anchor) {
        self.words(x, y, text, anchor, TEXT, "");
    }

    pub(super) fn bold(&mut self, x: f64, y: f64, text: &str, size: f64) {
        self.words(x, y, text, Anchor::Start, size, " font-weight=\"bold\"");
    }

    /// Inside a bar, in black or white, whichever is easier to read there.
    pub(super) fn on_color(&mut self, x: f64, y: f64, text: &str, anchor: Anchor, ground: Hue) {
        let ink = std::mem::replace(&mut self.ink, if is_dark(ground.hex()) { "#ffffff" } else { "#1f2328" });
        self.words(x, y, text, anchor, TEXT, "");
        self.ink = ink;
    }

    /// Around its anchor, against the clock.
    pub(super) fn turned(&mut self, x: f64, y: f64, text: &str, anchor: Anchor, degrees: f64) {
        let turn = format!(" transform=\"rotate(-{degrees} {x:.1} {y:.1})\"");
        self.words(x, y, text, anchor, TEXT, &turn);
    }

    fn words(&mut self, x: f64, y: f64, text: &str, anchor: Anchor, size: f64, more: &str) {
        let (ink, anchor) = (self.ink, anchor.name());
        self.put(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" text-anchor=\"{anchor}\" fill=\"{ink}\"{more}>{}</text>",
            Escaped(text)
        ));
    }

    fn put(&mut self, shape: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.body.write_fmt(shape);
        self.body.push('\n');
    }

    pub(super) fn finish(
        self,
        place: Rect,
        background: Option<&str>,
        title: &str,
        description: &str,
    ) -> String {
        let Rect { width, height, .. } = place;
        let below = background.map_or(String::new(), |color| {
            format!("<rect width=\"{width:.0}\" height=\"{height:.0}\" fill=\"{color}\"/>\n")
        });
        let described = format!("<desc>{}</desc>\n{below}{}", Escaped(description), self.body);
        document(place, title, &described)
    }
}

/// A picture, or a part of one that begins further down.
pub(super) fn document(place: Rect, title: &str, body: &str) -> String {
    let Rect { y, width, height, .. } = place;
    let down = if y > 0.0 { format!(" y=\"{y:.0}\"") } else { String::new() };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\"{down} viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" role=\"img\" \
         font-family=\"system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif\">\n\
         <title>{}</title>\n{body}</svg>\n",
        Escaped(title)
    )
}

/// By how bright eyes find a colour: green most, blue least.
fn is_dark(hex: &str) -> bool {
    let part = |at: usize| hex.get(at..at + 2).and_then(|hex| u32::from_str_radix(hex, 16).ok()).unwrap_or(0);
    part(1) * 299 + part(3) * 587 + part(5) * 114 < 140_000
}

/// Ends an element, with what is said when it is pointed at.
struct Noted<'a>(&'a str, &'static str);

impl std::fmt::Display for Noted<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            "" => f.write_str("/>"),
            note => write!(f, "><title>{}</title></{}>", Escaped(note), self.1),
        }
    }
}

/// Names come from traces, and a trace may come from anywhere; XML has no place for control characters at all.
struct Escaped<'a>(&'a str);

impl std::fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for c in crate::text::one_line(self.0).chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\u{fffe}' | '\u{ffff}' => f.write_char('\u{fffd}')?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

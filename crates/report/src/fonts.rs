//! The letters of pictures and paper: carried along, so that they look and measure the same on every machine.

use std::sync::{Arc, LazyLock};

use resvg::usvg::fontdb::{Database, Source};

pub(crate) const FAMILY: &str = "DejaVu Sans";

/// Advances of the printable ASCII characters in 2048ths of the size: laying out needs no font at hand.
const ADVANCES: [u16; 95] = [
    651, 821, 942, 1716, 1303, 1946, 1597, 563, 799, 799, 1024, 1716, 651, 739, 651, 690, 1303, 1303, 1303,
    1303, 1303, 1303, 1303, 1303, 1303, 1303, 690, 690, 1716, 1716, 1716, 1087, 2048, 1401, 1405, 1430, 1577,
    1294, 1178, 1587, 1540, 604, 604, 1343, 1141, 1767, 1532, 1612, 1235, 1612, 1423, 1300, 1251, 1499, 1401,
    2025, 1403, 1251, 1403, 799, 690, 799, 1716, 1024, 1024, 1255, 1300, 1126, 1300, 1260, 721, 1300, 1298,
    569, 569, 1186, 569, 1995, 1298, 1253, 1300, 1300, 842, 1067, 803, 1298, 1212, 1675, 1212, 1212, 1075,
    1303, 690, 1303, 1716,
];
const EM: f64 = 2048.0;
/// Bold letters are wider, by no more than this.
const BOLD: f64 = 1.27;

/// How wide a text is. The fonts that pages use are narrower, if anything.
pub(crate) fn width_of(text: &str, size: f64) -> f64 {
    text.chars().map(advance).sum::<f64>() / EM * size
}

pub(crate) fn bold_width_of(text: &str, size: f64) -> f64 {
    width_of(text, size) * BOLD
}

/// Prose in lines of at most that width; a word that is longer is cut where it must be.
pub(crate) fn wrapped(text: &str, width: f64, width_of: impl Fn(&str) -> f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        if let Some(line) = lines.last_mut() {
            let longer = format!("{line} {word}");
            if width_of(&longer) <= width {
                *line = longer;
                continue;
            }
        }
        let mut piece = String::new();
        for c in word.chars() {
            piece.push(c);
            if piece.chars().nth(1).is_some() && width_of(&piece) > width {
                piece.pop();
                lines.push(std::mem::replace(&mut piece, c.to_string()));
            }
        }
        lines.push(piece);
    }
    lines
}

fn advance(c: char) -> f64 {
    match c {
        ' '..='~' => f64::from(ADVANCES[c as usize - ' ' as usize]),
        '·' | '\u{a0}' => 651.0,
        '\u{202f}' => 409.0,
        'µ' => 1303.0,
        '–' => 1024.0,
        // As wide as most scripts get.
        _ => EM,
    }
}

/// What the renderers of pictures choose from.
pub(crate) fn database() -> Arc<Database> {
    static FONTS: LazyLock<Arc<Database>> = LazyLock::new(|| {
        let mut fonts = Database::new();
        for font in [dejavu::sans::regular(), dejavu::sans::bold()] {
            fonts.load_font_source(Source::Binary(Arc::new(font)));
        }
        fonts.set_sans_serif_family(FAMILY);
        Arc::new(fonts)
    });
    Arc::clone(&FONTS)
}

#[cfg(test)]
mod tests {
    use resvg::usvg::fontdb::{Family, Query, Weight};

    use super::*;

    /// How far the font itself says the writer moves on.
    fn measured(c: char, weight: Weight) -> f64 {
        let query = Query { families: &[Family::Name(FAMILY)], weight, ..Query::default() };
        let fonts = database();
        let id = fonts.query(&query).unwrap();
        fonts
            .with_face_data(id, |data, index| {
                let face = ttf_parser::Face::parse(data, index).unwrap();
                f64::from(face.glyph_hor_advance(face.glyph_index(c).unwrap()).unwrap())
            })
            .unwrap()
    }

    #[test]
    fn lines_are_no_wider_than_they_may_be() {
        let width = |text: &str| width_of(text, 10.0);
        let text = format!("a few short words and {}", "averylongone".repeat(10));
        let lines = wrapped(&text, 100.0, width);
        assert!(lines.iter().all(|line| width(line) <= 100.0), "{lines:?}");
        assert_eq!(lines.concat().replace(' ', ""), text.replace(' ', ""), "nothing is lost");
        assert!(wrapped("", 100.0, width).is_empty());
        assert_eq!(wrapped("ab", 0.0, width), ["a", "b"]);
    }

    #[test]
    fn widths_are_those_of_the_font() {
        for c in (' '..='~').chain(['·', 'µ', '–', '…', '\u{202f}']) {
            assert!((advance(c) - measured(c, Weight::NORMAL)).abs() < 1.0, "{c:?}");
            assert!(measured(c, Weight::BOLD) <= BOLD * advance(c), "{c:?}");
        }
    }
}

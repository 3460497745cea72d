//! Figures as an image made of pixels.

use std::io::{self, Write};

use gpuscope_figure::Figure;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

use crate::chart::svg::{self, Dress};
use crate::fonts;

/// Pixels for each unit of the drawing: sharp on screens and slides.
const SCALE: f32 = 2.0;

pub fn write(figures: &[Figure], out: impl Write) -> io::Result<()> {
    write_svg(&svg::sheet(figures, &Dress::FILE), out)
}

pub(crate) fn write_svg(svg: &str, mut out: impl Write) -> io::Result<()> {
    let tree = tree(svg)?;
    let size = tree.size().to_int_size();
    let pixels = |length: u32| (length as f32 * SCALE) as u32;
    let mut image = Pixmap::new(pixels(size.width()), pixels(size.height()))
        .ok_or_else(|| io::Error::other("a picture without any pixels"))?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut image.as_mut());
    out.write_all(&image.encode_png().map_err(io::Error::other)?)
}

/// What we drew ourselves, read as any SVG is.
pub(crate) fn tree(svg: &str) -> io::Result<Tree> {
    let options =
        Options { fontdb: fonts::database(), font_family: fonts::FAMILY.to_owned(), ..Options::default() };
    Tree::from_str(svg, &options).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use gpuscope_figure::{Axis, Hue, Panel, Series, Unit};

    use super::*;

    fn stacked() -> Figure {
        let panel = Panel::new(Axis::categories("rank", ["0", "1"]), Axis::new("share", Unit::Percent))
            .stacked()
            .with(Series::bars("computation", Hue::Compute, vec![Some(60.0), Some(90.0)]))
            .with(Series::bars("idle", Hue::Critical, vec![Some(40.0), Some(10.0)]));
        Figure::new("shares", "Shares", panel)
    }

    fn drawn(figures: &[Figure]) -> Pixmap {
        let mut png = Vec::new();
        write(figures, &mut png).unwrap();
        Pixmap::decode_png(&png).unwrap()
    }

    fn hex(image: &Pixmap, x: u32, y: u32) -> String {
        let pixel = image.pixel(x, y).unwrap();
        format!("#{:02X}{:02X}{:02X}", pixel.red(), pixel.green(), pixel.blue())
    }

    /// How many pixels of a column have this colour.
    fn height_of(image: &Pixmap, x: u32, color: &str) -> usize {
        (0..image.height()).filter(|y| hex(image, x, *y) == color).count()
    }

    #[test]
    fn bars_have_their_colours_where_their_values_are() {
        let image = drawn(&[stacked()]);
        assert_eq!((image.width(), hex(&image, 0, 0).as_str()), (1920, "#FFFFFF"));
        let (compute, other) = (Hue::Compute.hex(), Hue::Critical.hex());
        // Bars stand in the middle of the two halves of the plot.
        let columns: Vec<u32> = (0..image.width()).filter(|x| height_of(&image, *x, compute) > 60).collect();
        let gap = columns.windows(2).position(|pair| pair[1] > pair[0] + 1).expect("two bars");
        let (left, right) = (columns[gap / 2], columns[usize::midpoint(gap, columns.len())]);
        let share = |x: u32| {
            let (below, above) = (height_of(&image, x, compute) as f64, height_of(&image, x, other) as f64);
            (below / (below + above) * 100.0).round()
        };
        assert_eq!((share(left), share(right)), (60.0, 90.0));
        assert!(left < image.width() / 2 && image.width() / 2 < right);
    }

    #[test]
    fn letters_are_drawn_without_fonts_of_the_machine() {
        let image = drawn(&[stacked()]);
        let dark = |x: u32, y: u32| image.pixel(x, y).is_some_and(|pixel| pixel.red() < 100);
        // The title is at the upper left.
        let title =
            (20..60).flat_map(|y| (30..200).map(move |x| (x, y))).filter(|(x, y)| dark(*x, *y)).count();
        assert!(title > 200, "{title} dark pixels");
    }

    #[test]
    fn several_figures_lie_below_one_another() {
        let (one, three) = (drawn(&[stacked()]), drawn(&[stacked(), stacked(), stacked()]));
        assert_eq!(three.height(), one.height() * 3);
        let x = (0..one.width()).find(|x| height_of(&one, *x, Hue::Compute.hex()) > 60).unwrap() + 4;
        let color = Hue::Compute.hex();
        assert_eq!(height_of(&three, x, color), height_of(&one, x, color) * 3);
    }
}

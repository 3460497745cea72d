//! An answer in a few lines that a person can act on: a verdict, a bar, and short lists, on one screen.

use std::io::{self, Write};

use crate::terminal::Style;
use crate::text;

/// What fits a small terminal.
const WIDTH: usize = 80;

#[derive(Clone, Debug, Default)]
pub struct Summary {
    pub headline: String,
    pub verdict: String,
    /// A line of figures, each with its word.
    pub figures: String,
    /// How the first of them went over the steps.
    pub course: Vec<f64>,
    /// Shares of a whole in per cent.
    pub bar: Vec<Share>,
    /// In what ranks are unlike.
    pub unlike: Option<String>,
    pub lists: Vec<List>,
    /// Lines at the end.
    pub closing: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct Share {
    pub label: &'static str,
    pub pct: f64,
    /// What its part of the bar is drawn with, so that it is told apart without colour, and its colour.
    pub fill: char,
    pub color: &'static str,
}

#[derive(Clone, Debug, Default)]
pub struct List {
    pub title: String,
    /// Above the values.
    pub heading: String,
    pub items: Vec<Item>,
}

#[derive(Clone, Debug, Default)]
pub struct Item {
    pub text: String,
    pub value: String,
    /// A second line.
    pub more: Option<String>,
}

pub fn write(summary: &Summary, style: Style, mut out: impl Write) -> io::Result<()> {
    let width = style.width.min(WIDTH);
    writeln!(out, "{}", style.dim(&text::shorten(&text::one_line(&summary.headline), width)))?;
    // Two lines at most: a verdict is a sentence.
    for line in text::wrap(&text::one_line(&summary.verdict), width).iter().take(2) {
        writeln!(out, "{}", style.bold(line))?;
    }
    writeln!(out)?;
    writeln!(out, "{}", figures(summary, width, style))?;
    let has_shares = summary.bar.iter().any(|share| share.pct > 0.0);
    if has_shares && style.pictures {
        writeln!(out, "{}", bar(&summary.bar, width, style))?;
        writeln!(out, "{}", legend(&summary.bar, width, style))?;
    } else if has_shares {
        writeln!(out, "{}", text::shorten(&shares(&summary.bar), width))?;
    }
    if let Some(unlike) = &summary.unlike {
        writeln!(out, "{}", text::shorten(unlike, width))?;
    }
    for list in summary.lists.iter().filter(|list| !list.items.is_empty()) {
        write_list(list, width, style, &mut out)?;
    }
    for line in &summary.closing {
        writeln!(out, "{}", style.dim(&text::shorten(&text::one_line(line), width)))?;
    }
    Ok(())
}

fn write_list(list: &List, width: usize, style: Style, out: &mut impl Write) -> io::Result<()> {
    let room = width.saturating_sub(text::width(&list.title));
    writeln!(out, "{}{:>room$}", style.bold(&list.title), list.heading)?;
    for item in &list.items {
        let value = text::width(&item.value);
        let room = width.saturating_sub(value + 2);
        let left = text::shorten(&text::one_line(&item.text), room);
        let pad = width.saturating_sub(text::width(&left) + value);
        writeln!(out, "{left}{}{}", " ".repeat(pad), item.value)?;
        if let Some(more) = &item.more {
            writeln!(out, "{}", style.dim(&text::shorten(&text::one_line(more), width)))?;
        }
    }
    Ok(())
}

/// The figures, with a sparkline behind them if there is room.
fn figures(summary: &Summary, width: usize, style: Style) -> String {
    let line = text::shorten(&summary.figures, width);
    let room = width.saturating_sub(text::width(&line) + 2);
    let course = &summary.course[summary.course.len().saturating_sub(room)..];
    if !style.pictures || course.len() < 2 {
        return line;
    }
    format!("{line}  {}", style.painted("36", &sparkline(course)))
}

/// One block for each value, as high as it is large; the lowest stands for nothing, so that small changes look small.
fn sparkline(values: &[f64]) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = values.iter().copied().filter(|value| value.is_finite()).fold(0.0, f64::max);
    let block = |value: &f64| {
        let share = if most > 0.0 { (value / most).clamp(0.0, 1.0) } else { 0.0 };
        BLOCKS[(share * (BLOCKS.len() - 1) as f64).round() as usize]
    };
    values.iter().map(block).collect()
}

/// The same as the bar in words.
fn shares(shares: &[Share]) -> String {
    let said: Vec<String> =
        shares.iter().map(|share| format!("{} {:.1} %", share.label, share.pct)).collect();
    said.join(" · ")
}

/// A bar as wide as the page; what is there at all has at least one cell.
fn bar(shares: &[Share], width: usize, style: Style) -> String {
    let cells = cells(shares, width);
    let part =
        |(share, cells): (&Share, usize)| style.painted(share.color, &share.fill.to_string().repeat(cells));
    shares.iter().zip(cells).map(part).collect()
}

fn cells(shares: &[Share], width: usize) -> Vec<usize> {
    let total: f64 = shares.iter().map(|share| share.pct.max(0.0)).sum();
    let exact = |share: &Share| share.pct.max(0.0) / total.max(f64::MIN_POSITIVE) * width as f64;
    let mut cells: Vec<usize> = shares
        .iter()
        .map(|share| if share.pct >= 0.05 { (exact(share).round() as usize).max(1) } else { 0 })
        .collect();
    // Rounding is made good where it shows least.
    while let Some(widest) = (0..cells.len()).max_by_key(|i| cells[*i]) {
        let drawn: usize = cells.iter().sum();
        if drawn == width || cells[widest] == 0 {
            break;
        }
        cells[widest] = (cells[widest] + width).saturating_sub(drawn).max(1);
        if drawn > width && cells[widest] == 1 {
            break;
        }
    }
    cells
}

fn legend(shares: &[Share], width: usize, style: Style) -> String {
    let entry = |share: &Share| format!("{} {} {:.1} %", share.fill, share.label, share.pct);
    let entries: Vec<String> = shares.iter().map(entry).collect();
    style.dim(&text::shorten(&entries.join("   "), width))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(pct: f64) -> Share {
        Share { label: "x", pct, fill: '#', color: "0" }
    }

    #[test]
    fn a_sparkline_has_a_block_for_each_value_and_goes_from_nothing() {
        assert_eq!(sparkline(&[0.0, 1.0, 2.0, 4.0, 7.0]), "▁▂▃▅█");
        assert_eq!(sparkline(&[5.0, 5.0]), "██");
        assert_eq!(sparkline(&[f64::NAN, 0.0]), "▁▁");
    }

    #[test]
    fn what_is_piped_is_words() {
        let summary = Summary {
            figures: "Step 5 ms".to_owned(),
            course: vec![1.0, 2.0],
            bar: vec![share(60.0), share(40.0)],
            ..Summary::default()
        };
        let drawn = |pictures: bool| {
            let mut out = Vec::new();
            write(&summary, Style { width: 80, color: false, pictures }, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert!(drawn(false).contains("Step 5 ms\nx 60.0 % · x 40.0 %\n"));
        assert!(drawn(true).contains("Step 5 ms  ▅█\n####"));
    }

    #[test]
    fn a_bar_is_as_wide_as_the_page_and_shows_what_is_there() {
        for shares in [&[50.0, 50.0][..], &[99.9, 0.1, 0.0], &[33.3, 33.3, 33.4], &[0.1, 0.1, 99.8], &[100.0]]
        {
            let shares: Vec<Share> = shares.iter().map(|pct| share(*pct)).collect();
            let cells = cells(&shares, 80);
            assert_eq!(cells.iter().sum::<usize>(), 80, "{cells:?}");
            for (share, cells) in shares.iter().zip(cells) {
                assert_eq!(share.pct >= 0.05, cells > 0);
            }
        }
    }

    #[test]
    fn nothing_is_wider_than_the_page() {
        let summary = Summary {
            headline: "a".repeat(200),
            verdict: "word ".repeat(100),
            figures: "b".repeat(200),
            course: Vec::new(),
            bar: vec![share(20.0), share(80.0)],
            unlike: Some("f".repeat(200)),
            lists: vec![List {
                title: "Things".to_owned(),
                heading: "saves".to_owned(),
                items: vec![Item {
                    text: "c".repeat(200),
                    value: "12.3 ms".to_owned(),
                    more: Some("d".repeat(200)),
                }],
            }],
            closing: vec!["e".repeat(200)],
        };
        let mut out = Vec::new();
        write(&summary, Style { width: 120, color: false, pictures: true }, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}

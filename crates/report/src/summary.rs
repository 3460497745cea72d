//! An answer in a few lines that a person can act on: a verdict, a bar, and short lists. As wide as the terminal as far as
//! names need it; prose is not wider than the eye follows, and commands are never broken or cut, so that they can be
//! pasted.

use std::io::{self, Write};

use crate::terminal::Style;
use crate::{names, text};

/// The widest that lines of names and values become, and prose.
const WIDEST: usize = 160;
const WIDEST_PROSE: usize = 110;
/// Lists are not drawn narrower than this for want of long names.
const LIST: usize = 80;
const INDENT: &str = "  ";
/// Between a text and its value.
const GAP: usize = 2;

#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// What this is about: a path, which is cut if there is no room for it, and the rest.
    pub about: String,
    pub headline: String,
    pub verdict: String,
    /// A line of figures, each with its word.
    pub figures: String,
    /// How the first of them went over the steps.
    pub course: Vec<f64>,
    /// What the shares are of.
    pub whole: String,
    /// Shares of a whole in per cent.
    pub bar: Vec<Share>,
    /// In what ranks are unlike.
    pub unlike: Option<String>,
    pub lists: Vec<List>,
    /// Lines at the end.
    pub closing: Vec<Line>,
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
    /// Broken into lines if there is no room.
    pub text: String,
    /// The name of a kernel behind it, shortened if there is no room.
    pub name: String,
    pub value: String,
    pub more: Vec<Line>,
}

/// What stands below an item, or at the end.
#[derive(Clone, Debug)]
pub enum Line {
    /// A word, and prose beside it; with the names in it that may be shortened.
    Labelled {
        label: &'static str,
        prose: String,
        names: Vec<String>,
    },
    Prose(String),
    /// Prose that belongs to the line before.
    Indented(String),
    /// On a line of its own, and whole.
    Command(String),
}

pub fn write(summary: &Summary, style: Style, mut out: impl Write) -> io::Result<()> {
    let widest = style.width.min(WIDEST);
    let prose = widest.min(WIDEST_PROSE);
    writeln!(out, "{}", style.dim(&about(summary, widest)))?;
    for line in text::wrap(&text::one_line(&summary.verdict), prose) {
        writeln!(out, "{}", style.bold(&line))?;
    }
    if !summary.figures.is_empty() {
        writeln!(out)?;
        writeln!(out, "{}", figures(summary, prose, style))?;
    }
    write_shares(summary, prose, style, &mut out)?;
    if let Some(unlike) = &summary.unlike {
        text::wrap(unlike, prose).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    }
    for list in summary.lists.iter().filter(|list| !list.items.is_empty()) {
        writeln!(out)?;
        write_list(list, (width_of(list, widest), prose), style, &mut out)?;
    }
    if !summary.closing.is_empty() {
        writeln!(out)?;
    }
    summary.closing.iter().try_for_each(|line| write_line(line, "", prose, style, &mut out))
}

/// The path is what can be cut: the user knows it.
fn about(summary: &Summary, width: usize) -> String {
    let rest = text::one_line(&summary.headline);
    let room = width.saturating_sub(text::width(&rest));
    text::shorten(
        &format!("{}{rest}", text::shorten_path(&text::one_line(&summary.about), room.max(12))),
        width,
    )
}

fn write_shares(summary: &Summary, width: usize, style: Style, out: &mut impl Write) -> io::Result<()> {
    if !summary.bar.iter().any(|share| share.pct > 0.0) {
        return Ok(());
    }
    let (mut entries, between) =
        if style.pictures { (legend(&summary.bar), "   ") } else { (shares(&summary.bar), " · ") };
    if style.pictures {
        writeln!(out, "{}", bar(&summary.bar, width, style))?;
    }
    if let (Some(first), false) = (entries.first_mut(), summary.whole.is_empty()) {
        *first = format!("{}: {first}", summary.whole);
    }
    flow(entries, between, width).iter().try_for_each(|line| writeln!(out, "{}", style.dim(line)))
}

/// As wide as its longest line, so that values stand near what they are of.
fn width_of(list: &List, widest: usize) -> usize {
    let item = |item: &Item| {
        let name = text::one_line(&item.name);
        text::width(&item.text) + text::width(&name) + GAP + text::width(&item.value)
    };
    let heading = text::width(&list.title) + GAP + text::width(&list.heading);
    list.items.iter().map(item).chain([heading, LIST]).max().unwrap_or(LIST).min(widest)
}

fn write_list(
    list: &List,
    (width, prose): (usize, usize),
    style: Style,
    out: &mut impl Write,
) -> io::Result<()> {
    let room = width.saturating_sub(text::width(&list.title));
    writeln!(out, "{}{:>room$}", style.bold(&list.title), list.heading)?;
    for item in &list.items {
        write_item(item, width, out)?;
        item.more.iter().try_for_each(|line| write_line(line, INDENT, prose, style, out))?;
    }
    Ok(())
}

/// The value stands on the first line.
fn write_item(item: &Item, width: usize, out: &mut impl Write) -> io::Result<()> {
    let value = text::width(&item.value);
    let room = width.saturating_sub(value + GAP);
    let lead = text::one_line(&item.text);
    let lines = if item.name.is_empty() && text::width(&lead) <= room {
        vec![lead]
    } else if item.name.is_empty() {
        let indent = lead.len() - lead.trim_start().len();
        let mut lines = text::wrap(&lead, room.saturating_sub(INDENT.len().max(indent)));
        lines.iter_mut().take(1).for_each(|line| line.insert_str(0, &lead[..indent]));
        lines
    } else {
        let name = text::one_line(&item.name);
        vec![format!("{lead}{}", names::fitted(&name, room.saturating_sub(text::width(&lead)).max(12)))]
    };
    for (i, line) in lines.iter().enumerate() {
        let (indent, value) = if i == 0 { ("", item.value.as_str()) } else { (INDENT, "") };
        let line = text::shorten(&format!("{indent}{line}"), room);
        let pad = width.saturating_sub(text::width(&line) + text::width(value));
        writeln!(out, "{}", format!("{line}{}{value}", " ".repeat(pad)).trim_end())?;
    }
    Ok(())
}

fn write_line(line: &Line, indent: &str, width: usize, style: Style, out: &mut impl Write) -> io::Result<()> {
    match line {
        Line::Command(command) => writeln!(out, "{indent}{}", text::one_line(command)),
        Line::Prose(prose) | Line::Indented(prose) => {
            let deeper = if matches!(line, Line::Indented(_)) { INDENT } else { "" };
            let lines = text::wrap(&text::one_line(prose), width.saturating_sub(indent.len() + deeper.len()));
            lines.iter().try_for_each(|line| writeln!(out, "{indent}{deeper}{}", style.dim(line)))
        }
        Line::Labelled { label, prose, names } => {
            const LABEL: usize = 12;
            let room = width.saturating_sub(indent.len() + LABEL);
            // What of a name does not fit a line tells little.
            let fit = |prose: String, name: &String| prose.replace(name.as_str(), &names::fitted(name, room));
            let prose = names.iter().filter(|name| !name.is_empty()).fold(prose.clone(), fit);
            for (i, line) in text::wrap(&text::one_line(&prose), room).iter().enumerate() {
                let label = format!("{:LABEL$}", if i == 0 { label } else { "" });
                writeln!(out, "{indent}{}{line}", style.dim(&label))?;
            }
            Ok(())
        }
    }
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
fn shares(shares: &[Share]) -> Vec<String> {
    shares.iter().map(|share| format!("{} {:.1} %", share.label, share.pct)).collect()
}

/// Entries one after the other, broken between them where there is no room.
fn flow(entries: Vec<String>, between: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for entry in entries {
        match lines.last_mut() {
            Some(line) if text::width(line) + text::width(between) + text::width(&entry) <= width => {
                line.push_str(between);
                line.push_str(&entry);
            }
            _ => lines.push(text::shorten(&entry, width)),
        }
    }
    lines
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

fn legend(shares: &[Share]) -> Vec<String> {
    shares.iter().map(|share| format!("{} {} {:.1} %", share.fill, share.label, share.pct)).collect()
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
            whole: "Of all".to_owned(),
            bar: vec![share(60.0), share(40.0)],
            ..Summary::default()
        };
        let drawn = |pictures: bool| {
            let mut out = Vec::new();
            write(&summary, Style { width: 80, color: false, pictures }, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert!(drawn(false).contains("Step 5 ms\nOf all: x 60.0 % · x 40.0 %\n"));
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

    fn drawn(summary: &Summary, width: usize) -> String {
        let mut out = Vec::new();
        write(summary, Style { width, color: false, pictures: true }, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn full() -> Summary {
        let kernel = format!(
            "void at::native::elementwise<add<float>, std::array<char*, 3ul> >({})",
            "float, ".repeat(8)
        );
        Summary {
            about: "p/".repeat(90),
            headline: " · 3 ranks".to_owned(),
            verdict: "word ".repeat(100),
            figures: "b".repeat(200),
            course: Vec::new(),
            whole: "Of all".to_owned(),
            bar: vec![share(20.0), share(80.0)],
            unlike: Some("f".repeat(200)),
            lists: vec![List {
                title: "Things".to_owned(),
                heading: "saves".to_owned(),
                items: vec![
                    Item {
                        text: format!("1 {}end", "title ".repeat(25)),
                        value: "12.3 ms".to_owned(),
                        more: vec![
                            Line::Labelled {
                                label: "seen",
                                prose: format!("often, mostly {kernel}, said once"),
                                names: vec![kernel.clone()],
                            },
                            Line::Command(format!("gpuscope idle {}", "path/".repeat(60))),
                        ],
                        ..Item::default()
                    },
                    Item {
                        text: "aten::add: ".to_owned(),
                        name: kernel,
                        value: "1 ms".to_owned(),
                        ..Item::default()
                    },
                ],
            }],
            closing: vec![Line::Prose("note ".repeat(60))],
        }
    }

    #[test]
    fn nothing_but_commands_is_wider_than_the_page() {
        for width in [40, 80, 120, 300] {
            let text = drawn(&full(), width);
            let wide: Vec<&str> = text.lines().filter(|line| text::width(line) > width.min(WIDEST)).collect();
            assert!(wide.iter().all(|line| line.starts_with("  gpuscope idle path/")), "{wide:?}");
        }
    }

    #[test]
    fn commands_and_titles_are_whole() {
        let text = drawn(&full(), 80);
        assert!(text.lines().any(|line| line == format!("  gpuscope idle {}", "path/".repeat(60))), "{text}");
        let title: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("1 title")).take(3).collect();
        assert!(title[0].ends_with("title      12.3 ms"), "{title:?}");
        assert!(title[1].starts_with("  title") && title[2].starts_with("  title"), "{title:?}");
        assert!(text.contains("mostly elementwise<add<float>, array<char*, 3ul> >, said\n"), "{text}");
    }

    #[test]
    fn wide_terminals_show_whole_names() {
        let summary = full();
        let name = &summary.lists[0].items[1].name;
        assert!(drawn(&summary, 180).contains(name.as_str()));
        assert!(!drawn(&summary, 120).contains(name.as_str()));
    }
}

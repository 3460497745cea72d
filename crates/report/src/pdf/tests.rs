use std::collections::BTreeMap;
use std::io::Read as _;

use flate2::read::ZlibDecoder;
use gpuscope_figure::{Axis, Hue, Panel, Series, Unit};
use gpuscope_table::Table;

use super::sheets::{COLUMN, HEIGHT, MARGIN, Style, WIDTH};
use super::*;
use crate::fonts;
use crate::page::Input;

fn figure() -> Figure {
    let panel = Panel::new(Axis::new("time", Unit::Ns), Axis::categories("", ["gemm_kernel", "copy_kernel"]))
        .with(Series::bars("total", Hue::Compute, vec![Some(5e6), Some(2e6)]));
    Figure::new("bottlenecks", "Which kernels take the time?", panel)
}

/// Every stream of the file, unpacked.
fn streams(pdf: &[u8]) -> Vec<String> {
    let find = |from: usize, what: &[u8]| {
        pdf[from..].windows(what.len()).position(|window| window == what).map(|at| from + at)
    };
    let (mut found, mut from) = (Vec::new(), 0);
    while let Some(begin) = find(from, b"stream\n").map(|at| at + 7) {
        let end = find(begin, b"endstream").unwrap();
        let mut unpacked = Vec::new();
        if ZlibDecoder::new(&pdf[begin..end]).read_to_end(&mut unpacked).is_ok() {
            // Byte by byte: what is written is no text.
            found.push(unpacked.into_iter().map(char::from).collect());
        }
        from = end + 9;
    }
    found
}

/// Which letters glyphs stand for, one font each: without this nothing can be selected or searched.
fn letters(streams: &[String]) -> Vec<BTreeMap<u16, String>> {
    let maps =
        streams.iter().filter(|stream| stream.contains("beginbfchar") || stream.contains("beginbfrange"));
    let number = |text: &str| u16::from_str_radix(text, 16).unwrap();
    let text = |hex: &str| {
        let units: Vec<u16> = (0..hex.len()).step_by(4).map(|at| number(&hex[at..at + 4])).collect();
        String::from_utf16(&units).unwrap()
    };
    let map = |stream: &String| {
        let mut letters = BTreeMap::new();
        for line in stream.lines() {
            let parts: Vec<&str> = line.split(['<', '>', ' ']).filter(|part| !part.is_empty()).collect();
            if let ([glyph, letter], true) = (parts.as_slice(), line.starts_with('<')) {
                letters.insert(number(glyph), text(letter));
            }
        }
        letters
    };
    maps.map(map).collect()
}

/// The strings between parentheses, as pairs of bytes.
fn glyphs(page: &str) -> Vec<Vec<u16>> {
    let (mut strings, mut chars) = (Vec::new(), page.chars().peekable());
    while let Some(c) = chars.next() {
        if c != '(' {
            continue;
        }
        let mut bytes: Vec<u16> = Vec::new();
        while let Some(c) = chars.next().filter(|c| *c != ')') {
            let plain = if c == '\\' { chars.next().unwrap_or_default() } else { c };
            let byte = match (c, plain) {
                ('\\', '0'..='7') => {
                    let more = |chars: &mut std::iter::Peekable<std::str::Chars<'_>>| {
                        chars.next_if(|c| c.is_digit(8)).and_then(|c| c.to_digit(8))
                    };
                    let first = plain.to_digit(8).unwrap_or_default();
                    (0..2).fold(first, |sum, _| more(&mut chars).map_or(sum, |digit| sum * 8 + digit)) as u16
                }
                ('\\', 'n') => 10,
                ('\\', 'r') => 13,
                ('\\', 't') => 9,
                ('\\', 'b') => 8,
                ('\\', 'f') => 12,
                _ => plain as u16,
            };
            bytes.push(byte);
        }
        strings.push(bytes.chunks(2).map(|pair| pair[0] * 256 + pair.get(1).copied().unwrap_or(0)).collect());
    }
    strings
}

/// All that the pages say, read with each font.
fn said(pdf: &[u8]) -> String {
    let streams = streams(pdf);
    let mut said = String::new();
    for letters in letters(&streams) {
        for page in streams.iter().filter(|stream| stream.contains(" Tf")) {
            let glyphs = glyphs(page).into_iter().flatten();
            said.extend(glyphs.filter_map(|glyph| letters.get(&glyph)).map(String::as_str));
            said.push('\n');
        }
    }
    said
}

#[test]
fn a_picture_on_paper_has_its_texts() {
    let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 200 40\" width=\"200\" height=\"40\">\
               <rect width=\"200\" height=\"40\" fill=\"#0072B2\"/><text x=\"4\" y=\"20\">aten::mm</text></svg>";
    let mut pdf = Vec::new();
    write_svg(svg, "flame graph", &mut pdf).unwrap();
    assert!(said(&pdf).contains("aten::mm"), "{}", said(&pdf));
}

#[test]
fn a_figure_on_paper_has_its_texts() {
    let mut pdf = Vec::new();
    write(&[figure(), figure()], &mut pdf).unwrap();
    let text = said(&pdf);
    for wanted in ["gemm_kernel", "copy_kernel", "5.000", "2.000"] {
        assert!(text.contains(wanted), "{wanted} is not in {text}");
    }
    let in_streams = streams(&pdf).join("");
    assert_eq!((String::from_utf8_lossy(&pdf) + in_streams.as_str()).matches("/Type/Page/").count(), 2);
}

fn wide_and_long() -> Table {
    let rows: Vec<i64> = (0..290).collect();
    let name =
        |row: &i64| format!("void at::native::kernel_{row}<{}>", "float, int, ".repeat((*row % 40) as usize));
    let mut table = Table::of("kernels", "Kernels by their summed time", &rows)
        .int("rank", Unit::None, "The rank", |row| row % 8)
        .text("name", "The kernel", name);
    for heading in
        ["sum_ns", "mean_ns", "min_ns", "max_ns", "std_ns", "first_ns", "last_ns", "exposed_comm_ns"]
    {
        table = table.int(heading, Unit::Ns, "Time", |row| row * 1_000_003);
    }
    table.build()
}

fn page<'a>(tables: &'a [Table], figures: &'a [Figure]) -> Page<'a> {
    let input = Input {
        path: "/a/very/long/path/to/".to_owned() + &"folder/".repeat(30) + "rank0.json.gz",
        format: "chrome".to_owned(),
        rank: 0,
        events: 10,
        bytes: 10,
        is_rewritable: true,
    };
    Page {
        command: "kernels",
        inputs: vec![input],
        quality: &[],
        tables,
        figures,
        lead: None,
        sentence: None,
    }
}

/// How far a mark reaches: left, top, right, bottom.
fn reach(mark: &Mark) -> (f64, f64, f64, f64) {
    match mark {
        Mark::Text { x, y, size, bold, text, .. } => {
            let width = if *bold { fonts::bold_width_of(text, *size) } else { fonts::width_of(text, *size) };
            (*x, y - size, x + width, *y)
        }
        Mark::Rect { x, y, width, height, .. } | Mark::Picture { x, y, width, height, .. } => {
            (*x, *y, x + width, y + height)
        }
    }
}

fn texts(marks: &[Mark]) -> Vec<&str> {
    let mut texts = Vec::new();
    for mark in marks {
        if let Mark::Text { text, .. } = mark {
            texts.push(text.as_str());
        }
    }
    texts
}

#[test]
fn nothing_is_cut_and_nothing_lies_on_something_else() {
    let (tables, figures) = ([wide_and_long()], [figure()]);
    let sheets = report::page(&page(&tables, &figures));
    assert!(sheets.pages.len() > 2);
    for marks in &sheets.pages {
        for mark in marks {
            let (left, top, right, bottom) = reach(mark);
            let inside = left >= MARGIN - 0.1
                && right <= WIDTH - MARGIN + 0.1
                && top >= MARGIN - 1.0
                && bottom < HEIGHT;
            assert!(inside, "{mark:?} reaches {left:.0} {top:.0} {right:.0} {bottom:.0}");
        }
        let written: Vec<_> =
            marks.iter().filter(|mark| matches!(mark, Mark::Text { .. })).map(reach).collect();
        for (i, a) in written.iter().enumerate() {
            for b in &written[i + 1..] {
                let apart = a.2 <= b.0 + 0.1 || b.2 <= a.0 + 0.1 || a.3 <= b.1 + 1.5 || b.3 <= a.1 + 1.5;
                assert!(apart, "{a:?} {b:?}");
            }
        }
    }
}

#[test]
fn every_page_of_a_table_has_its_headings_and_its_number() {
    let tables = [wide_and_long()];
    let sheets = report::page(&page(&tables, &[]));
    let count = sheets.pages.len();
    for (number, marks) in sheets.pages.iter().enumerate() {
        let texts = texts(marks);
        assert!(texts.contains(&format!("{} / {count}", number + 1).as_str()));
        if texts.iter().any(|text| text.starts_with("kernel_")) {
            assert!(texts.contains(&"name") && texts.contains(&"rank"), "page {number}: {texts:?}");
        }
    }
    let all: Vec<&str> = sheets.pages.iter().flat_map(|marks| texts(marks)).collect();
    assert!(all.iter().any(|text| text.contains("40 more rows")));
    // Every number of every row that is shown, the last columns included.
    assert!(all.contains(&"39.0") && all.contains(&"exposed"));
}

#[test]
fn a_page_says_on_paper_what_it_says_elsewhere() {
    let tables = [wide_and_long()];
    let mut pdf = Vec::new();
    write_page(&page(&tables, &[figure()]), &mut pdf).unwrap();
    let text = said(&pdf);
    for wanted in ["Kernels by their summed time", "kernel_39", "gemm_kernel", "rank0.json.gz"] {
        assert!(text.contains(wanted), "{wanted}");
    }
}

#[test]
fn a_figure_higher_than_a_page_is_made_smaller() {
    let names: Vec<String> = (0..120).map(|i| format!("kernel {i}")).collect();
    let panel = Panel::new(Axis::new("time", Unit::Ns), Axis::categories("", names)).with(Series::bars(
        "total",
        Hue::Compute,
        vec![Some(5e6); 120],
    ));
    let mut sheets = Sheets::new();
    sheets.paragraph("before", Style::BODY);
    sheets.figure(&Figure::new("tall", "Tall", panel));
    let picture = sheets.pages.iter().flatten().find(|mark| matches!(mark, Mark::Picture { .. })).unwrap();
    let (left, top, right, bottom) = reach(picture);
    assert!(bottom - top < HEIGHT && bottom < HEIGHT - 40.0 && right - left < COLUMN);
}

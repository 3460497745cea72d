//! What goes on the paper, in the order of the page that it is the twin of.

use gpuscope_analysis::dossier::{DossierAnswer, KeyNumber};
use gpuscope_analysis::findings::Finding;
use gpuscope_figure::on_paper;

use super::sheets::{COLUMN, Drawn, MARGIN, Sheets, Style};
use super::tables;
use crate::chart::svg::Dress;
use crate::flame::FlameGraph;
use crate::page::Page;
use crate::section::{self, Section};
use crate::{key_numbers, setting, text, units};

const TITLE: f64 = 15.0;
const SECTION: f64 = 12.5;
const TABLE: f64 = 10.0;
/// What a question and its sentence take, with the first rows of a table.
const ABOVE: f64 = 90.0;

/// The answer to one question.
pub(super) fn page(page: &Page<'_>) -> Sheets {
    let mut sheets = Sheets::new();
    sheets.heading(&format!("gpuscope {}", page.command), TITLE);
    sheets.paragraph(&page.headline(), Style::SOFT);
    if let Some(takeaway) = page.takeaway() {
        sheets.paragraph(&text::one_line(takeaway), Style::STRONG);
    }
    for figure in on_paper(page.figures) {
        sheets.figure(figure);
    }
    for table in page.shown() {
        sheets.heading(&text::one_line(&table.title), TABLE);
        tables::write(table, &mut sheets);
    }
    close(page, &mut sheets);
    sheets
}

/// All of a run.
pub(super) fn report(dossier: &DossierAnswer, page: &Page<'_>) -> Sheets {
    let mut sheets = Sheets::new();
    let headline = text::one_line(&page.headline());
    sheets.paragraph(&headline, Style::SOFT);
    sheets.heading(&text::one_line(&dossier.analyze.verdict), TITLE);
    numbers(&dossier.numbers, &mut sheets);
    if let Some(step) = &dossier.median_step {
        sheets.figure(&step.figure());
    }
    sheets.paragraph(&setting::of(dossier), Style::SOFT);
    sheets.heading("What to do", SECTION);
    if dossier.analyze.findings.is_empty() {
        sheets.paragraph(&key_numbers::nothing_found(dossier), Style::BODY);
    }
    for (i, finding) in dossier.analyze.findings.iter().enumerate() {
        write_finding(i + 1, finding, &mut sheets);
    }
    if let Some(joint) = key_numbers::joint_gain(dossier) {
        sheets.paragraph(&joint, Style::BODY);
    }
    for section in section::of(dossier) {
        write_section(&section, &mut sheets);
    }
    close(page, &mut sheets);
    sheets
}

/// Three in a row.
fn numbers(numbers: &[KeyNumber], sheets: &mut Sheets) {
    const IN_A_ROW: usize = 3;
    let width = COLUMN / IN_A_ROW as f64;
    let large = Style { size: 14.0, ..Style::STRONG };
    for row in numbers.chunks(IN_A_ROW) {
        sheets.need(52.0);
        let top = sheets.y();
        let mut lowest = top;
        for (i, number) in row.iter().enumerate() {
            let x = MARGIN + i as f64 * width;
            let mut y = top;
            let shown = key_numbers::value(number);
            for (said, style) in [(number.label.to_owned(), Style::SOFT), (shown, large)] {
                sheets.text(x, y, style, &said);
                y += style.line();
            }
            let worst = key_numbers::spread(number);
            for said in number.note.iter().chain(&worst) {
                let said = text::one_line(said);
                for line in crate::fonts::wrapped(&said, width - 10.0, |line| Style::SOFT.width_of(line)) {
                    sheets.text(x, y, Style::SOFT, &line);
                    y += Style::SOFT.line();
                }
            }
            lowest = lowest.max(y);
        }
        sheets.skip(lowest - top + 6.0);
    }
}

fn write_finding(number: usize, finding: &Finding, sheets: &mut Sheets) {
    const INDENT: f64 = 16.0;
    sheets.need(60.0);
    let y = sheets.y();
    sheets.text(MARGIN, y, Style::STRONG, &format!("{number}"));
    let gain = match (finding.gain_ns, finding.gain_pct) {
        (Some(ns), Some(pct)) => format!(" – saves {} of a step, {pct:.1} %", units::duration(ns.0)),
        _ => String::new(),
    };
    sheets.indented(&format!("{}{gain}", finding.title), INDENT, Style::STRONG);
    sheets.indented(finding.advice, INDENT, Style::BODY);
    sheets.indented(&finding.evidence.text, INDENT, Style::SOFT);
    let sure = format!("confidence {} · see: {}", finding.confidence.label(), finding.command);
    sheets.indented(&sure, INDENT, Style::SOFT);
    sheets.skip(6.0);
}

fn write_section(section: &Section<'_>, sheets: &mut Sheets) {
    let mut figures = on_paper(&section.figures);
    let first = figures.next().map(|figure| (figure, Drawn::figure(figure)));
    let flame = section.flame.map(|answer| {
        let graph = FlameGraph::new(answer, "");
        Drawn::of(|dress| graph.svg(&Dress { titled: false, ..*dress }))
    });
    // A question stands above what answers it.
    let below = first.as_ref().map(|(_, drawn)| drawn.height).or(flame.as_ref().map(|drawn| drawn.height));
    sheets.need(ABOVE + below.unwrap_or(0.0));
    sheets.heading(section.question, SECTION);
    sheets.paragraph(&section.says, Style::BODY);
    if let Some((figure, drawn)) = first {
        sheets.figure_drawn(figure, drawn);
    }
    for figure in figures {
        sheets.figure(figure);
    }
    if let Some(flame) = flame {
        sheets.picture(flame);
        sheets.skip(8.0);
    }
    for table in &section.tables {
        sheets.heading(&text::one_line(&table.title), TABLE);
        tables::write(table, sheets);
    }
}

/// How far the data can be trusted, and what was read.
fn close(page: &Page<'_>, sheets: &mut Sheets) {
    if page.lead.is_none() {
        trust(page, sheets);
    }
    sheets.feet(&format!("gpuscope {} · {}", page.command, text::one_line(&page.headline())));
}

fn trust(page: &Page<'_>, sheets: &mut Sheets) {
    let verdict = page.verdict().unwrap_or_else(|| "nothing to report".to_owned());
    sheets.heading(&format!("Quality of the data: {verdict}"), SECTION);
    for finding in page.findings() {
        sheets.paragraph(&finding.line(), Style::BODY);
    }
    sheets.heading("Inputs", SECTION);
    for input in &page.inputs {
        let size =
            format!("{} events · {}", units::count(input.events as i64), units::bytes(input.bytes as i64));
        let said = format!("rank {} · {} · {} · {size}", input.rank, input.path, input.format);
        sheets.paragraph(&said, Style::SOFT);
    }
}

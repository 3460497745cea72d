//! `gpuscope plot`: one chart as a picture.

use std::io::Write;

use gpuscope_analysis::charts::{self, CHARTS, Chart, Source};
use gpuscope_analysis::ops::Limits;
use gpuscope_figure::Figure;
use gpuscope_files::FileKind;
use gpuscope_job::{ChartOptions, Run};
use gpuscope_report::chart::svg::{self, Dress};
use gpuscope_report::{html, pdf, png};

use super::ops::gpu;
use super::options_of;
use crate::Console;
use crate::args::PlotArgs;
use crate::exit::{Exit, Failure};
use crate::output::{unknown, writable, write_file};
use crate::session::Wanted;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Html,
    Pdf,
    Png,
    Svg,
}

const FORMATS: [(FileKind, Format); 4] = [
    (FileKind::Svg, Format::Svg),
    (FileKind::Png, Format::Png),
    (FileKind::Pdf, Format::Pdf),
    (FileKind::Html, Format::Html),
];

pub(crate) fn run(asked: &PlotArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    if asked.list {
        return list(console);
    }
    let name = asked.name.as_deref().unwrap_or_default();
    let chart = chart(name)?;
    if console.wants(Wanted::Figures) {
        let figures = figures(asked, chart, &options(asked)?, console)?;
        if let Some(session) = &mut console.session {
            session.answered.figures = figures;
        }
        return Ok(Exit::DONE);
    }
    let file = asked.output.as_deref().ok_or_else(|| {
        Failure::usage(
            format!("plot {name}: a picture needs a file"),
            &format!("-o {name}.png; .svg, .pdf and .html are drawn, too"),
        )
    })?;
    let format = FileKind::choose(&FORMATS, file).map_err(|kind| unknown(&kind, ""))?;
    writable(file, false)?;
    let file = console.files.writes("-o", file)?;
    let figures = figures(asked, chart, &options(asked)?, console)?;
    write_file(&file, |out| draw(&figures, format, &asked.traces.join(" "), out))?;
    Ok(Exit::DONE)
}

fn options(asked: &PlotArgs) -> Result<ChartOptions, Failure> {
    Ok(ChartOptions {
        top: asked.top.map(|top| top as usize),
        depth: asked.depth,
        limits: Limits { gpu: asked.gpu.as_deref().map(gpu).transpose()?, ..Limits::default() },
    })
}

/// What there is to see; nothing at all is an error.
fn figures(
    asked: &PlotArgs,
    chart: &Chart,
    options: &ChartOptions,
    console: &Console<'_>,
) -> Result<Vec<Figure>, Failure> {
    let figures = drawn(asked, chart, options, console)?;
    if figures.is_empty() {
        return Err(Failure::usage(
            format!("plot {}: there is nothing to draw in {}", chart.name, asked.traces.join(" ")),
            chart.needs(),
        ));
    }
    Ok(figures)
}

fn drawn(
    asked: &PlotArgs,
    chart: &Chart,
    options: &ChartOptions,
    console: &Console<'_>,
) -> Result<Vec<Figure>, Failure> {
    let open = |traces: &[String]| -> Result<Run, Failure> {
        console.open(traces, options_of(&asked.selection, &asked.reading, console)?)
    };
    if chart.source != Source::Diff {
        return Ok(open(&asked.traces)?.chart(chart, options)?.answer);
    }
    let [before, after] = asked.traces.as_slice() else {
        return Err(Failure::usage(
            format!("plot {} compares two runs, not {}", chart.name, asked.traces.len()),
            &format!("give two files or two folders: gpuscope plot {} before/ after/", chart.name),
        ));
    };
    let (before, after) = (open(std::slice::from_ref(before))?, open(std::slice::from_ref(after))?);
    Ok(after.chart_against(&before, chart, options)?.answer)
}

fn draw(figures: &[Figure], format: Format, about: &str, out: &mut impl Write) -> std::io::Result<()> {
    match format {
        Format::Html => html::write_figures(figures, about, out),
        Format::Pdf => pdf::write(figures, out),
        Format::Png => png::write(figures, out),
        Format::Svg => out.write_all(svg::sheet(figures, &Dress::FILE).as_bytes()),
    }
}

fn list(console: &mut Console<'_>) -> Result<Exit, Failure> {
    let widest = CHARTS.iter().map(|chart| chart.name.len()).max().unwrap_or(0);
    for chart in CHARTS {
        writeln!(console.out, "{:widest$}  {}", chart.name, chart.shows)?;
    }
    Ok(Exit::DONE)
}

fn chart(name: &str) -> Result<&'static Chart, Failure> {
    charts::named(name).map_err(|near| {
        let hint = match near.as_slice() {
            [] => "gpuscope plot --list names all charts".to_owned(),
            near => format!("is it {}? gpuscope plot --list names all charts", near.join(" or ")),
        };
        Failure::usage(format!("plot {name}: there is no such chart"), &hint)
    })
}

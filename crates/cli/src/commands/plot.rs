//! `gpuscope plot`: one chart as a picture.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use gpuscope_analysis::charts::{self, CHARTS, Chart, Source};
use gpuscope_analysis::ops::Limits;
use gpuscope_figure::Figure;
use gpuscope_job::{ChartOptions, Run};
use gpuscope_report::chart::svg::{self, Dress};
use gpuscope_report::{html, pdf, png};

use super::ops::gpu;
use super::options_of;
use crate::Console;
use crate::args::PlotArgs;
use crate::exit::{Exit, Failure};
use crate::output::{spare, unwritable, writable};
use crate::session::Wanted;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Html,
    Pdf,
    Png,
    Svg,
}

pub(crate) fn run(asked: &PlotArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    if asked.list {
        return list(console);
    }
    let name = asked.name.as_deref().unwrap_or_default();
    let chart = chart(name)?;
    if console.wants(Wanted::Figures) {
        let figures = figures(asked, chart, &options(asked)?, None, console)?;
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
    let format = format(file)?;
    writable(file, false)?;
    let figures = figures(asked, chart, &options(asked)?, Some(file), console)?;
    let write = || {
        let mut out = BufWriter::new(File::create(file)?);
        draw(&figures, format, &asked.traces.join(" "), &mut out)?;
        out.flush()
    };
    write().map_err(|source| unwritable(file, source))?;
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
    file: Option<&Path>,
    console: &Console<'_>,
) -> Result<Vec<Figure>, Failure> {
    let figures = drawn(asked, chart, options, file, console)?;
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
    file: Option<&Path>,
    console: &Console<'_>,
) -> Result<Vec<Figure>, Failure> {
    let open = |traces: &[String]| -> Result<Run, Failure> {
        let run = console.open(traces, options_of(&asked.selection, &asked.reading, console)?)?;
        file.map_or(Ok(()), |file| spare(file, |file| run.reads(file)))?;
        Ok(run)
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

fn format(file: &Path) -> Result<Format, Failure> {
    let extension = file.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    match extension.as_deref() {
        Some("html" | "htm") => Ok(Format::Html),
        Some("pdf") => Ok(Format::Pdf),
        Some("png") => Ok(Format::Png),
        Some("svg") => Ok(Format::Svg),
        _ => Err(Failure::usage(
            format!("-o {}: the extension says no kind of picture", file.display()),
            "use .svg, .png, .pdf or .html",
        )),
    }
}

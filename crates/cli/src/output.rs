//! Puts an answer where the user wants it, in the form the user wants.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use gpuscope_analysis::dossier::DossierAnswer;
use gpuscope_figure::{Figure, Pictured};
use gpuscope_files::{Claim, FileKind, NewFile, UnknownKind};
use gpuscope_job::{InputInfo, Outcome};
use gpuscope_report::chart::svg::{self, Dress};
use gpuscope_report::terminal::{self, Style};
use gpuscope_report::{
    Envelope, Input, Lead, Page, columns, csv, html, markdown, parquet, pdf, places, png, xlsx,
};
use gpuscope_table::{Table, Tabular, Unit};
use gpuscope_trace::Quality;
use serde::Serialize;

use crate::Console;
use crate::args::{Color, OutputArgs};
use crate::exit::Failure;
use crate::session::{Answered, Wanted};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Table,
    Json,
    Csv,
    Html,
    Markdown,
    Parquet,
    Pdf,
    Xlsx,
    Svg,
    Png,
}

/// By the ending of a file.
const FORMATS: [(FileKind, Format); 9] = [
    (FileKind::Json, Format::Json),
    (FileKind::Csv, Format::Csv),
    (FileKind::Parquet, Format::Parquet),
    (FileKind::Xlsx, Format::Xlsx),
    (FileKind::Html, Format::Html),
    (FileKind::Pdf, Format::Pdf),
    (FileKind::Svg, Format::Svg),
    (FileKind::Png, Format::Png),
    (FileKind::Markdown, Format::Markdown),
];

impl Format {
    fn is_picture(self) -> bool {
        matches!(self, Format::Svg | Format::Png)
    }
}

/// An answer without its type: what follows is compiled once, and not again for each question.
struct Shown<'a> {
    command: &'a str,
    inputs: &'a [InputInfo],
    quality: &'a [Quality],
    answer: &'a dyn Tabular,
    json: &'a dyn Fn(&mut dyn Write) -> io::Result<()>,
    figures: &'a [Figure],
}

/// Where to, and how; checked before anything is read.
#[derive(Debug)]
pub(crate) struct Output<'a> {
    format: Format,
    file: Option<Claim>,
    /// A folder in place of a file: it gets one file per table.
    folder: Option<&'a Path>,
    explain: bool,
    table: Option<&'a str>,
    /// Tables that hold a course over time point by point are left out: a chart shows it.
    without_points: bool,
    color: Color,
    /// Lists are cut where JSON would have more bytes.
    most_json: Option<usize>,
    /// What comes first in answers that are not about traces.
    lead: Option<Lead>,
}

impl<'a> Output<'a> {
    /// For answers that are tables.
    pub(crate) fn new(args: &'a OutputArgs, console: &Console<'_>) -> Result<Output<'a>, Failure> {
        let output = Output::with_charts(args, console)?;
        match &output.file {
            Some(file) if output.format.is_picture() => Err(Failure::usage(
                format!("-o {}: there is no chart of this answer", file.path().display()),
                "use .html or .pdf for its tables; gpuscope plot --list names all charts",
            )),
            _ => Ok(output),
        }
    }

    /// For answers that can be drawn, too.
    pub(crate) fn with_charts(args: &'a OutputArgs, console: &Console<'_>) -> Result<Output<'a>, Failure> {
        let path = args.output.as_deref();
        let folder = path.filter(|path| is_folder(path));
        if let Some(path) = path {
            writable(path, folder.is_some())?;
        }
        let format = match (path, folder) {
            (_, Some(folder)) if args.json => return Err(no_folder(folder)),
            _ if args.json => Format::Json,
            _ if args.csv => Format::Csv,
            (_, Some(folder)) => in_folder(folder),
            (Some(file), None) => {
                FileKind::choose(&FORMATS, file).map_err(|kind| unknown(&kind, ", or add --json or --csv"))?
            }
            (None, None) => Format::Table,
        };
        if format == Format::Json && args.table.is_some() {
            return Err(Failure::usage(
                "--table: JSON always holds the whole answer",
                "leave --table out, or use --csv",
            ));
        }
        let file = path.filter(|_| folder.is_none()).map(|file| console.files.writes("-o", file));
        let file = file.transpose()?;
        let OutputArgs { explain, color, .. } = *args;
        let table = args.table.as_deref();
        Ok(Output {
            format,
            file,
            folder,
            explain,
            table,
            without_points: false,
            color,
            most_json: None,
            lead: None,
        })
    }

    /// Whether charts are part of what is written.
    pub(crate) fn draws(&self) -> bool {
        let is_page = matches!(self.format, Format::Html | Format::Pdf);
        (is_page || self.format.is_picture()) && !self.explain && self.table.is_none()
    }

    pub(crate) fn without_points(self) -> Output<'a> {
        Output { without_points: true, ..self }
    }

    pub(crate) fn with_json_within(self, bytes: usize) -> Output<'a> {
        Output { most_json: Some(bytes), ..self }
    }

    /// For answers that are not about traces.
    pub(crate) fn leading(self, lead: Lead) -> Output<'a> {
        Output { lead: Some(lead), ..self }
    }

    pub(crate) fn write<A: Serialize + Tabular>(
        &self,
        command: &str,
        outcome: &Outcome<A>,
        console: &mut Console<'_>,
    ) -> Result<(), Failure> {
        self.write_with(command, outcome, &[], console)
    }

    /// With the answer's charts, where there is room for them.
    pub(crate) fn write_drawn<A: Serialize + Tabular + Pictured>(
        &self,
        command: &str,
        outcome: &Outcome<A>,
        console: &mut Console<'_>,
    ) -> Result<(), Failure> {
        let draws = self.draws() || console.wants(Wanted::Figures);
        let mut figures = if draws { outcome.answer.figures() } else { Vec::new() };
        // A picture says so if there is nothing to see; a page has its tables.
        if !self.format.is_picture() {
            figures.retain(|figure| !figure.is_empty());
        }
        self.write_with(command, outcome, &figures, console)
    }

    fn write_with<A: Serialize + Tabular>(
        &self,
        command: &str,
        outcome: &Outcome<A>,
        figures: &[Figure],
        console: &mut Console<'_>,
    ) -> Result<(), Failure> {
        let Outcome { inputs, quality, answer } = outcome;
        let json = |out: &mut dyn Write| {
            let envelope = Envelope::new(command, inputs, quality, answer);
            match self.most_json {
                Some(most) => envelope.write_within(most, out),
                None => envelope.write(out),
            }
        };
        self.show(&Shown { command, inputs, quality, answer, json: &json, figures }, console)
    }

    fn show(&self, shown: &Shown<'_>, console: &mut Console<'_>) -> Result<(), Failure> {
        let Shown { command, inputs, quality, answer, figures, .. } = *shown;
        if console.wants(Wanted::Json) {
            return Ok((shown.json)(&mut console.out)?);
        }
        let is_table = |wanted| matches!(wanted, Wanted::Tables | Wanted::Figures);
        if let Some(session) = console.session.as_mut().filter(|session| is_table(session.wanted)) {
            session.answered = Answered {
                sentence: answer.sentence().map(str::to_owned),
                inputs: inputs.to_vec(),
                quality: quality.to_vec(),
                tables: self.tables(command, answer)?,
                figures: figures.to_vec(),
                ..Answered::default()
            };
            return Ok(());
        }
        let style = self.style(console);
        let is_json = self.format == Format::Json;
        let mut tables = if is_json { Vec::new() } else { self.tables(command, answer)? };
        // Which file is which rank, and of which format; pages list it for every command.
        if command == "info" && self.format == Format::Table && self.table.is_none() {
            tables.insert(1.min(tables.len()), inputs_table(inputs));
        }
        if self.explain {
            tables = vec![columns::explain(&tables)];
        }
        if let Some(folder) = self.folder {
            return self.write_folder(folder, &tables, console);
        }
        let Some(file) = &self.file else {
            return Ok(self.draw(shown, &tables, style, &mut console.out)?);
        };
        write_file(file, |file| self.draw(shown, &tables, style, file))
    }

    /// The page of a whole run.
    pub(crate) fn write_report(
        &self,
        command: &str,
        outcome: &Outcome<DossierAnswer>,
    ) -> Result<(), Failure> {
        let Some(file) = &self.file else { return Ok(()) };
        let page = Page {
            command,
            inputs: inputs(&outcome.inputs),
            quality: &outcome.quality,
            tables: &[],
            figures: &[],
            lead: None,
            sentence: None,
        };
        write_file(file, |file| match self.format {
            Format::Pdf => pdf::write_report(&outcome.answer, &page, file),
            _ => html::write_report(&outcome.answer, &page, file),
        })
    }

    /// One file per table.
    fn write_folder(&self, folder: &Path, tables: &[Table], console: &Console<'_>) -> Result<(), Failure> {
        if !folder.is_dir() {
            std::fs::create_dir(folder).map_err(|source| unwritable(folder, source))?;
        }
        let extension = if self.format == Format::Parquet { "parquet" } else { "csv" };
        let path = |place: String| folder.join(format!("{place}.{extension}"));
        // All or none: what is refused is refused before anything is written.
        let files = places(tables).into_iter().map(|place| console.files.writes("-o", &path(place)));
        for (file, table) in files.collect::<Result<Vec<_>, _>>()?.iter().zip(tables) {
            write_file(file, |file| match self.format {
                Format::Parquet => parquet::write(table, file),
                _ => csv::write(table, file),
            })?;
        }
        Ok(())
    }

    pub(crate) fn style(&self, console: &Console<'_>) -> Style {
        Style {
            width: console.terminal.width,
            pictures: console.terminal.pictures,
            color: match self.color {
                Color::Auto => console.terminal.color,
                Color::Always => true,
                Color::Never => false,
            },
        }
    }

    /// The tables asked for: all, or the one named.
    fn tables(&self, command: &str, answer: &dyn Tabular) -> Result<Vec<Table>, Failure> {
        let mut tables = answer.tables();
        tables.retain(|table| !self.without_points || !table.name.ends_with("series"));
        let Some(wanted) = self.table else { return Ok(tables) };
        let names: Vec<&str> = tables.iter().map(|table| table.name).collect();
        let missing = Failure::usage(
            format!("--table {wanted}: `{command}` has no such table"),
            &format!("its tables are {}", names.join(", ")),
        );
        tables.retain(|table| table.name == wanted);
        if tables.is_empty() { Err(missing) } else { Ok(tables) }
    }

    fn draw(
        &self,
        answer: &Shown<'_>,
        tables: &[Table],
        style: Style,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let Shown { command, figures, .. } = *answer;
        // What is wrong with the data is the answer: people get it once, in prose.
        let only_quality = command == "check" && self.table.is_none() && !self.explain;
        let shown = if only_quality { &[][..] } else { tables };
        let page = Page {
            command,
            inputs: inputs(answer.inputs),
            quality: answer.quality,
            tables: shown,
            figures,
            lead: self.lead.as_ref(),
            sentence: answer.answer.sentence().filter(|_| self.table.is_none() && !self.explain),
        };
        match self.format {
            Format::Table if only_quality => terminal::write_findings(&page, style, out),
            Format::Table => terminal::write(&page, style, out),
            Format::Json => (answer.json)(out),
            Format::Csv => tables.first().map_or(Ok(()), |table| csv::write(table, out)),
            Format::Html => html::write(&page, out),
            Format::Markdown => markdown::write(&page, out),
            Format::Parquet => tables.first().map_or(Ok(()), |table| parquet::write(table, out)),
            Format::Pdf => pdf::write_page(&page, out),
            Format::Xlsx => xlsx::write(&Page { tables, ..page }, out),
            Format::Svg => out.write_all(svg::sheet(figures, &Dress::FILE).as_bytes()),
            Format::Png => png::write(figures, out),
        }
    }
}

fn inputs(inputs: &[InputInfo]) -> Vec<Input> {
    let input = |input: &InputInfo| Input {
        path: input.path.clone(),
        format: input.format.to_owned(),
        rank: input.rank,
        events: input.events,
        bytes: input.bytes,
        is_rewritable: gpuscope_formats::FORMATS
            .iter()
            .any(|format| format.name == input.format && format.is_rewritable),
    };
    inputs.iter().map(input).collect()
}

fn inputs_table(inputs: &[InputInfo]) -> Table {
    Table::of("inputs", "Inputs", inputs)
        .int("rank", Unit::None, "The rank", |input| i64::from(input.rank))
        .text("path", "Where it was read from", |input| input.path.clone())
        .text("format", "What wrote it", |input| input.format.to_owned())
        .int("bytes", Unit::Bytes, "Size as stored", |input| input.bytes as i64)
        .build()
}

/// Has a whole file written: until then, what was there stays.
pub(crate) fn write_file(
    file: &Claim,
    content: impl FnOnce(&mut NewFile) -> io::Result<()>,
) -> Result<(), Failure> {
    file.write(content).map_err(|source| unwritable(file.path(), source))?;
    Ok(())
}

fn unwritable(path: &Path, source: io::Error) -> Failure {
    Failure::Unwritable { path: path.display().to_string(), source }
}

pub(crate) fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.as_os_str().to_string_lossy().ends_with('/')
}

/// Better said before the traces are read than after.
pub(crate) fn writable(path: &Path, is_folder: bool) -> Result<(), Failure> {
    // A slash at the end of a path is no part of its name, but a question to a file with that name.
    let plain: PathBuf = path.components().collect();
    if is_folder && plain.is_file() {
        return Err(Failure::usage(
            format!("-o {}: {} is a file", path.display(), plain.display()),
            "leave the slash out, or give another name",
        ));
    }
    match plain.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => Err(Failure::usage(
            format!("-o {}: there is no folder {}", path.display(), folder.display()),
            "create it first",
        )),
        _ => Ok(()),
    }
}

fn no_folder(folder: &Path) -> Failure {
    Failure::usage(
        format!("-o {}: JSON is one file, found a folder", folder.display()),
        "name a file in it, or leave --json out for one CSV file per table",
    )
}

/// What a folder gets.
fn in_folder(folder: &Path) -> Format {
    if FileKind::Parquet.is_of(folder) { Format::Parquet } else { Format::Csv }
}

/// An ending that says nothing, and those that would do.
pub(crate) fn unknown(kind: &UnknownKind, or_else: &str) -> Failure {
    Failure::usage(kind.to_string(), &format!("use {}{or_else}", kind.endings()))
}

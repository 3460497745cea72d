//! Puts an answer where the user wants it, in the form the user wants.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use gpuscope_job::Outcome;
use gpuscope_report::terminal::{self, Style};
use gpuscope_report::{Envelope, Input, Page, csv, html, markdown};
use gpuscope_table::{Table, Tabular};
use serde::Serialize;

use crate::Console;
use crate::args::{Color, OutputArgs};
use crate::exit::Failure;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Table,
    Json,
    Csv,
    Html,
    Markdown,
}

/// Where to, and how; checked before anything is read.
#[derive(Debug)]
pub(crate) struct Output<'a> {
    format: Format,
    file: Option<&'a Path>,
    table: Option<&'a str>,
    color: Color,
}

impl<'a> Output<'a> {
    /// `traces` are the inputs, which are not to be written over.
    pub(crate) fn new(args: &'a OutputArgs, traces: &[String]) -> Result<Output<'a>, Failure> {
        let file = args.output.as_deref();
        if let Some(file) = file
            && let Ok(target) = file.canonicalize()
            && traces
                .iter()
                .any(|trace| PathBuf::from(trace).canonicalize().is_ok_and(|trace| trace == target))
        {
            return Err(Failure::usage(
                format!("-o {}: this would write over an input", file.display()),
                "give another name",
            ));
        }
        let format = match file {
            _ if args.json => Format::Json,
            _ if args.csv => Format::Csv,
            Some(file) => by_extension(file)?,
            None => Format::Table,
        };
        if format == Format::Json && args.table.is_some() {
            return Err(Failure::usage(
                "--table: JSON always holds the whole answer",
                "leave --table out, or use --csv",
            ));
        }
        Ok(Output { format, file, table: args.table.as_deref(), color: args.color })
    }

    pub(crate) fn write<A: Serialize + Tabular>(
        &self,
        command: &str,
        outcome: &Outcome<A>,
        console: &mut Console<'_>,
    ) -> Result<(), Failure> {
        let style = Style {
            width: console.terminal.width,
            color: match self.color {
                Color::Auto => console.terminal.color,
                Color::Always => true,
                Color::Never => false,
            },
        };
        let tables =
            if self.format == Format::Json { Vec::new() } else { self.tables(command, &outcome.answer)? };
        let Some(path) = self.file else {
            return Ok(self.draw(command, outcome, &tables, style, &mut console.out)?);
        };
        let unwritable = |source| Failure::Unwritable { path: path.display().to_string(), source };
        let mut file = BufWriter::new(File::create(path).map_err(unwritable)?);
        self.draw(command, outcome, &tables, style, &mut file).map_err(unwritable)?;
        file.flush().map_err(unwritable)
    }

    /// The tables asked for: all, or the one named.
    fn tables<A: Tabular>(&self, command: &str, answer: &A) -> Result<Vec<Table>, Failure> {
        let mut tables = answer.tables();
        let Some(wanted) = self.table else { return Ok(tables) };
        let names: Vec<&str> = tables.iter().map(|table| table.name).collect();
        let missing = Failure::usage(
            format!("--table {wanted}: `{command}` has no such table"),
            &format!("its tables are {}", names.join(", ")),
        );
        tables.retain(|table| table.name == wanted);
        if tables.is_empty() { Err(missing) } else { Ok(tables) }
    }

    fn draw<A: Serialize>(
        &self,
        command: &str,
        outcome: &Outcome<A>,
        tables: &[Table],
        style: Style,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let inputs = outcome.inputs.iter().map(|input| Input {
            path: input.path.clone(),
            format: input.format.to_owned(),
            rank: input.rank,
            events: input.events,
            bytes: input.bytes,
        });
        // What the answer lists already is not repeated below it.
        let quality = if command == "check" { &[][..] } else { &outcome.quality };
        let page = Page { command, inputs: inputs.collect(), quality, tables };
        match self.format {
            Format::Table => terminal::write(&page, style, out),
            Format::Json => {
                Envelope::new(command, &outcome.inputs, &outcome.quality, &outcome.answer).write(out)
            }
            Format::Csv => tables.first().map_or(Ok(()), |table| csv::write(table, out)),
            Format::Html => html::write(&page, out),
            Format::Markdown => markdown::write(&page, out),
        }
    }
}

fn by_extension(file: &Path) -> Result<Format, Failure> {
    let extension = file.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    match extension.as_deref() {
        Some("json") => Ok(Format::Json),
        Some("csv") => Ok(Format::Csv),
        Some("html" | "htm") => Ok(Format::Html),
        Some("md") => Ok(Format::Markdown),
        _ => Err(Failure::usage(
            format!("-o {}: the extension says no format that can be written", file.display()),
            "use .json, .csv, .html or .md, or add --json or --csv",
        )),
    }
}

//! `gpuscope history`: measured runs, kept.

mod traces;

use std::path::{Path, PathBuf};

use gpuscope_bench::history::{Kept, NewRun, RunRow, Wanted};
use gpuscope_bench::trend::Trends;
use gpuscope_bench::{History, data, time};
use gpuscope_report::{Lead, one_line, units};
use gpuscope_table::{Table, Tabular, Unit};
use serde::Serialize;

use super::bench::plain;
use crate::Console;
use crate::args::{AddArgs, Database, HistoryCommand, ListArgs, PruneArgs, ShowArgs, TrendArgs, WantedArgs};
use crate::exit::{Exit, Failure};
use crate::output::Output;

pub(crate) fn run(command: &HistoryCommand, console: &mut Console<'_>) -> Result<Exit, Failure> {
    match command {
        HistoryCommand::Add(asked) => add(asked, console),
        HistoryCommand::List(asked) => list(asked, console),
        HistoryCommand::Show(asked) => show(asked, console),
        HistoryCommand::Trend(asked) => trend(asked, console),
        HistoryCommand::Prune(asked) => prune(asked, console),
    }
}

/// Where the history is, said or not.
pub(super) fn path(database: &Database) -> PathBuf {
    let told = database.path.clone().or_else(|| std::env::var_os("GPUSCOPE_DB").map(PathBuf::from));
    told.unwrap_or_else(|| users_data().join("gpuscope").join("history.db"))
}

/// Where the system keeps what programs write for their users.
fn users_data() -> PathBuf {
    let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let told = if cfg!(windows) { folder("LOCALAPPDATA") } else { folder("XDG_DATA_HOME") };
    let home = || folder("HOME").map(|home| home.join(".local").join("share"));
    told.or_else(home).unwrap_or_else(|| PathBuf::from("."))
}

pub(super) fn existing(database: &Database, console: &Console<'_>) -> Result<Option<History>, Failure> {
    let path = path(database);
    read_from(&path, console)?;
    Ok(History::existing(&path)?)
}

/// A history, and the files that its database keeps beside it.
fn read_from(path: &Path, console: &Console<'_>) -> Result<(), Failure> {
    console.files.reads(path)?;
    for beside in ["-wal", "-shm", "-journal"] {
        let mut name = path.as_os_str().to_owned();
        name.push(beside);
        console.files.reads(Path::new(&name))?;
    }
    Ok(())
}

/// The folder that holds the repository we are in, else the folder we are in.
pub(super) fn project() -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let root = here.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(&here);
    root.file_name().map_or_else(|| "default".to_owned(), |name| name.to_string_lossy().into_owned())
}

pub(super) fn wanted(args: &WantedArgs) -> Wanted {
    let project = if args.all_projects { None } else { Some(args.project.clone().unwrap_or_else(project)) };
    Wanted {
        project,
        benchmark: args.benchmark.clone(),
        metric: args.metric.clone(),
        device: args.device.clone(),
        label: args.label.clone(),
    }
}

fn add(asked: &AddArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let (measured, traces): (Vec<&String>, Vec<&String>) =
        asked.inputs.iter().partition(|input| is_measured(Path::new(input.as_str())));
    let project = asked.project.clone().unwrap_or_else(project);
    // Read first: what cannot be read leaves no history behind.
    let mut runs = Vec::new();
    for file in measured {
        let sides = data::sides(Path::new(file))?;
        let is_comparison = sides.len() > 1;
        for side in sides {
            let mut run = NewRun::measured(&side.measured, &project, asked.label.clone());
            if is_comparison {
                run.only_of(&side.label);
            }
            run.revision = asked.commit.clone().or(run.revision);
            run.project = asked.project.clone().unwrap_or(run.project);
            runs.push((file.clone(), run));
        }
    }
    if !traces.is_empty() {
        let names: Vec<String> = traces.into_iter().cloned().collect();
        runs.push((names.join(" "), traces::measured(asked, &names, project, console)?));
    }
    let mut history = History::open(&path(&asked.database))?;
    for (name, run) in runs {
        let added = history.add(&run)?;
        let count =
            |count: usize| if count == 1 { "1 number".to_owned() } else { format!("{count} numbers") };
        let mut numbers = match (added.measurements, added.known_already) {
            (0, 0) => "no numbers".to_owned(),
            (0, _) => "nothing new".to_owned(),
            (new, 0) => count(new),
            (new, known) => format!("{}, {known} known already", count(new)),
        };
        if added.contradicted > 0 {
            numbers += "; ";
            numbers += &count(added.contradicted);
            numbers += " differ from what is known, which stays";
        }
        writeln!(console.out, "{}: run {}, {numbers}", one_line(&name), added.run)?;
        if let Some(note) = &run.note {
            writeln!(console.out, "  note: {}", one_line(note))?;
        }
        // Whoever reads this knows that it is on the disk.
        console.out.flush()?;
    }
    Ok(Exit::DONE)
}

/// A file that says so of itself within its beginning: traces may be too large to be read to find out.
fn is_measured(path: &Path) -> bool {
    const LOOK: u64 = 1 << 20;
    let Ok(file) = std::fs::File::open(path) else { return false };
    let mut text = Vec::new();
    if std::io::Read::read_to_end(&mut std::io::Read::take(file, LOOK), &mut text).is_err() {
        return false;
    }
    let text = String::from_utf8_lossy(&text);
    text.trim_start().starts_with('{') && text.contains("\"benchmarks\"") && !text.contains("\"traceEvents\"")
}

#[derive(Debug, Serialize)]
struct Runs {
    runs: Vec<RunRow>,
}

impl Tabular for Runs {
    fn tables(&self) -> Vec<Table> {
        let table = Table::of("runs", "Runs", &self.runs)
            .int("run", Unit::None, "Its number in this history", |run| run.run)
            .text("at", "When it was measured", |run| time::shown(run.at))
            .text("label", "What it is called", |run| run.label.clone())
            .text("commit", "What ran", |run| {
                run.revision.as_ref().map(|revision| revision.chars().take(9).collect::<String>())
            })
            .text("device", "What it ran on", |run| run.device.clone())
            .text("source", "bench or trace", |run| run.source.clone())
            .int("numbers", Unit::Count, "How many were measured", |run| run.measurements)
            .text("project", "The project it belongs to", |run| run.project.clone())
            .text("run_id", "Its id everywhere", |run| run.run_id.clone())
            .for_files()
            .build();
        vec![table]
    }
}

fn list(asked: &ListArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let output = Output::new(&asked.output, console)?;
    let wanted = wanted(&asked.wanted);
    let runs = match existing(&asked.database, console)? {
        Some(history) => history.runs(&wanted)?,
        None => Vec::new(),
    };
    let verdict = match (runs.len(), &wanted.project) {
        (0, Some(project)) => {
            format!("No runs of {project} yet: gpuscope history add or gpuscope bench run adds them.")
        }
        (0, None) => "No runs yet: gpuscope history add or gpuscope bench run adds them.".to_owned(),
        _ => String::new(),
    };
    let lead = Lead { about: path(&asked.database).display().to_string(), verdict, ..Lead::default() };
    output.leading(lead).write("history list", &plain(Runs { runs }), console)?;
    Ok(Exit::DONE)
}

#[derive(Debug, Serialize)]
struct Shown {
    run: RunRow,
    measurements: Vec<Number>,
}

#[derive(Debug, Serialize)]
struct Number {
    benchmark: String,
    batch: Option<u64>,
    seq_len: Option<u64>,
    metric: String,
    unit: Unit,
    value: f64,
    low: Option<f64>,
    high: Option<f64>,
    samples: usize,
}

impl Tabular for Shown {
    fn tables(&self) -> Vec<Table> {
        let numbers = Table::of("numbers", "Numbers", &self.measurements)
            .text("benchmark", "What was measured", |row| row.benchmark.clone())
            .int("batch", Unit::None, "Batch size", |row| row.batch.map(|batch| batch as i64))
            .int("seq_len", Unit::None, "Length of a sequence", |row| row.seq_len.map(|length| length as i64))
            .text("metric", "Which number of it", |row| row.metric.clone())
            .text("value", "In the metric's unit", |row| units::said(row.value, row.unit))
            .text("interval", "How surely it is known, 95 %", |row| {
                let (low, high) = row.low.zip(row.high)?;
                Some(format!("{} to {}", units::said(low, row.unit), units::said(high, row.unit)))
            })
            .int("samples", Unit::Count, "How often it was measured", |row| {
                Some(row.samples as i64).filter(|n| *n > 0)
            })
            .float("raw_value", Unit::None, "In nanoseconds, bytes, percent or per second", |row| row.value)
            .for_files()
            .build();
        let facts: Vec<(String, String)> =
            self.run.metadata.iter().filter(|(_, value)| !value.is_null()).map(fact).collect();
        let facts = Table::of("system", "System", &facts)
            .text("fact", "What is known", |row| row.0.clone())
            .text("value", "As it was when measuring", |row| row.1.clone())
            .build();
        vec![numbers, facts]
    }
}

fn fact((name, value): (&String, &serde_json::Value)) -> (String, String) {
    let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    (name.replace('_', " "), value)
}

fn show(asked: &ShowArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let output = Output::new(&asked.output, console)?;
    let Some(history) = existing(&asked.database, console)? else {
        let present = format!("is no history at {}", path(&asked.database).display());
        return Err(gpuscope_bench::Error::NoSuchRun { wanted: asked.run.clone(), present }.into());
    };
    let (run, measurements) = history.run(&asked.run, Some(&project()))?;
    let number = |one: gpuscope_bench::history::Measurement| Number {
        benchmark: one.benchmark,
        batch: one.batch,
        seq_len: one.seq_len,
        metric: one.metric.name,
        unit: one.metric.unit,
        value: one.value,
        low: one.interval.map(|(low, _)| low),
        high: one.interval.map(|(_, high)| high),
        samples: one.samples.len(),
    };
    let words = [
        Some(format!("run {}", run.run)),
        run.label.clone(),
        Some(time::shown(run.at)),
        Some(run.device.clone()),
    ];
    let about = words.into_iter().flatten().collect::<Vec<_>>().join(" · ");
    let lead = Lead { about, panel: Some("system"), ..Lead::default() };
    let shown = Shown { run, measurements: measurements.into_iter().map(number).collect() };
    output.leading(lead).write("history show", &plain(shown), console)?;
    Ok(Exit::DONE)
}

fn trend(asked: &TrendArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let output = Output::with_charts(&asked.output, console)?;
    let series = match existing(&asked.database, console)? {
        Some(history) => history.series(&wanted(&asked.wanted))?,
        None => Vec::new(),
    };
    let trends = Trends::of(series);
    let changed = trends.trends.iter().filter(|trend| trend.levels.len() > 1).count();
    let verdict = match (trends.trends.len(), changed) {
        (0, _) => "There is nothing to show: gpuscope history list shows what there is.".to_owned(),
        (all, 0) => format!("None of {all} numbers changed its level."),
        (all, changed) => format!("{changed} of {all} numbers changed their level."),
    };
    let lead = Lead { about: path(&asked.database).display().to_string(), verdict, ..Lead::default() };
    output.leading(lead).write_drawn("history trend", &plain(trends), console)?;
    Ok(Exit::DONE)
}

fn prune(asked: &PruneArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    const MICROS_PER_DAY: i64 = 86_400_000_000;
    if asked.wanted.metric.is_some() || asked.wanted.benchmark.is_some() {
        return Err(Failure::usage(
            "prune forgets whole runs, not single numbers of them",
            "leave --metric and --benchmark out; --label, --device and --project choose runs",
        ));
    }
    let kept = match (asked.keep, asked.older_than) {
        (Some(count), _) => Kept::Newest(count),
        (None, Some(days)) => Kept::Since(time::now().saturating_sub(days.saturating_mul(MICROS_PER_DAY))),
        (None, None) => return Ok(Exit::DONE),
    };
    let forgotten = match existing(&asked.database, console)? {
        Some(mut history) => history.prune(&wanted(&asked.wanted), kept, asked.dry_run)?,
        None => 0,
    };
    let word = if forgotten == 1 { "run" } else { "runs" };
    let done = if asked.dry_run { "would be forgotten" } else { "forgotten" };
    writeln!(console.out, "{forgotten} {word} {done}")?;
    Ok(Exit::DONE)
}

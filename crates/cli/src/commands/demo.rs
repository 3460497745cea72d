//! `gpuscope demo`: a simulated job whose faults are known, so that one can see what gpuscope makes of them.

mod seen;

use std::path::Path;

use gpuscope_analysis::Breakdown;
use gpuscope_analysis::breakdown::BreakdownAnswer;
use gpuscope_job::{JobOptions, Run};
use gpuscope_report::terminal::{Style, write_labelled, write_table};
use gpuscope_report::units;
use gpuscope_table::{Table, Tabular, Unit};
use gpuscope_testkit::{Compression, Plan, PlantedFault, Truth, file_name, files_of_others, write_job};

use crate::Console;
use crate::args::Demo;
use crate::exit::{Exit, Failure};

use seen::{Seen, planted, seen};

pub(crate) fn run(demo: &Demo, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let plan = plan(demo);
    let compression = if demo.only_write { Compression::None } else { Compression::Gzip };
    if let [first, ..] = files_of_others(&plan, &demo.output, compression).as_slice() {
        return Err(Failure::usage(
            format!(
                "-o {}: this would write over {}, which is not of the demo",
                demo.output.display(),
                first.display()
            ),
            "give another folder: gpuscope demo -o somewhere-else",
        ));
    }
    let unwritable = |source| Failure::Unwritable { path: demo.output.display().to_string(), source };
    let truth = write_job(&plan, &demo.output, compression).map_err(unwritable)?;
    let files = truth.ranks.iter().filter(|rank| rank.written);
    let paths = files.map(|rank| demo.output.join(file_name(rank.rank, compression)));
    if demo.only_write {
        for path in paths {
            writeln!(console.out, "{}", path.display())?;
        }
        return Ok(Exit::DONE);
    }
    let paths: Vec<String> = paths.map(|path| path.display().to_string()).collect();
    summary(&demo.output, &paths, &truth, console)
}

fn plan(demo: &Demo) -> Plan {
    let plan = gpuscope_testkit::demo();
    let plan = match demo.ranks {
        Some(ranks) => plan.ranks(ranks),
        None => plan,
    };
    match demo.bytes {
        Some(bytes) => plan.with_bytes(bytes),
        None => plan,
    }
}

fn summary(
    folder: &Path,
    paths: &[String],
    truth: &Truth,
    console: &mut Console<'_>,
) -> Result<Exit, Failure> {
    let outcome = Run::open(paths, JobOptions::default())?.ask(&Breakdown::default())?;
    let events: u64 = outcome.inputs.iter().map(|input| input.events).sum();
    let bytes: u64 = outcome.inputs.iter().map(|input| input.bytes).sum();
    let style = Style { width: console.terminal.width, color: console.terminal.color };
    let faults: Vec<&PlantedFault> = truth.faults.iter().filter(|fault| is_here(fault, truth)).collect();
    writeln!(
        console.out,
        "Wrote {} to {}: {} events, {}, {}.",
        counted(paths.len(), "rank"),
        folder.display(),
        units::count(events as i64),
        units::bytes(bytes as i64),
        counted(faults.len(), "planted fault"),
    )?;
    for fault in faults {
        let Some(planted) = planted(fault) else { continue };
        writeln!(console.out)?;
        write_labelled("planted", &planted, style, &mut console.out)?;
        let Seen { text, command } = seen(fault, &outcome.answer);
        write_labelled("found", &text, style, &mut console.out)?;
        let command = command.replace("FOLDER", &folder.display().to_string());
        write_labelled("see", &command, style, &mut console.out)?;
    }
    writeln!(console.out)?;
    write_table(&times(&outcome.answer), style, &mut console.out)?;
    writeln!(console.out)?;
    let differing = differing(truth, &outcome.answer);
    if differing.is_empty() {
        writeln!(console.out, "Every time in this table is the simulated one, to the nanosecond.")?;
    } else {
        write_table(&compared(&differing), style, &mut console.out)?;
    }
    Ok(Exit::DONE)
}

fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// A smaller job may not have the rank that a fault was meant for.
fn is_here(fault: &PlantedFault, truth: &Truth) -> bool {
    fault.rank.is_none_or(|rank| truth.ranks.iter().any(|truth| truth.rank == rank))
}

/// The shares of each rank's time, without what `breakdown` has besides.
fn times(answer: &BreakdownAnswer) -> Table {
    let kept = ["rank", "total_ns", "computation", "exposed_comm", "exposed_memcpy", "idle"];
    let mut table = answer.tables().swap_remove(0);
    table.columns.retain(|column| {
        let stem = column.name.trim_end_matches("_pct").trim_end_matches("_ns");
        kept.contains(&column.name) || kept.contains(&stem)
    });
    table
}

/// One number, as simulated and as found.
struct Compared {
    rank: u32,
    what: &'static str,
    planted: i64,
    found: i64,
}

fn differing(truth: &Truth, found: &BreakdownAnswer) -> Vec<Compared> {
    let mut rows = Vec::new();
    for rank in &found.ranks {
        let Some(truth) = truth.ranks.iter().find(|truth| truth.rank == rank.rank) else { continue };
        let (planted, found) = (&truth.total, &rank.total);
        let both = [
            ("total", planted.total_ns, found.total_ns),
            ("computation", planted.computation_ns, found.computation_ns),
            ("exposed communication", planted.exposed_comm_ns, found.exposed_comm_ns),
            ("exposed copies", planted.exposed_memcpy_ns, found.exposed_memcpy_ns),
            ("idle", planted.idle_ns, found.idle_ns),
        ];
        rows.extend(both.map(|(what, planted, found)| Compared {
            rank: rank.rank,
            what,
            planted,
            found: found.0,
        }));
    }
    rows.retain(|row| row.planted != row.found);
    rows
}

fn compared(rows: &[Compared]) -> Table {
    Table::of("compared", "Simulated and found", rows)
        .int("rank", Unit::None, "The rank", |row| i64::from(row.rank))
        .text("what", "Which time", |row| row.what.to_owned())
        .int("planted_ns", Unit::Ns, "As simulated", |row| row.planted)
        .int("found_ns", Unit::Ns, "As read from the trace", |row| row.found)
        .int("difference_ns", Unit::Ns, "Found less simulated", |row| row.found - row.planted)
        .build()
}

//! `gpuscope demo`: a simulated job whose faults are known, so that one can see what gpuscope makes of them.

use std::path::Path;

use gpuscope_analysis::{Breakdown, Kernels, Question};
use gpuscope_job::{JobOptions, Run};
use gpuscope_report::terminal::{Style, write_table};
use gpuscope_report::units;
use gpuscope_table::{Table, Tabular, Unit};
use gpuscope_testkit::{Compression, Plan, Truth, file_name, write_job};
use gpuscope_trace::View;
use serde::Serialize;

use crate::Console;
use crate::args::Demo;
use crate::exit::{Exit, Failure};

/// Kernels of each rank and kind that the summary names.
const TOP: usize = 3;

pub(crate) fn run(demo: &Demo, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let plan = plan(demo);
    let compression = if demo.only_write { Compression::None } else { Compression::Gzip };
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
    let outcome = Run::open(paths, JobOptions::default())?.ask(&Both::default())?;
    let events: u64 = outcome.inputs.iter().map(|input| input.events).sum();
    let bytes: u64 = outcome.inputs.iter().map(|input| input.bytes).sum();
    let style = Style { width: console.terminal.width, color: console.terminal.color };
    writeln!(
        console.out,
        "Wrote {} ranks to {}: {} events, {}.",
        paths.len(),
        folder.display(),
        units::count(events as i64),
        units::bytes(bytes as i64),
    )?;
    let BothAnswers { breakdown, kernels } = outcome.answer;
    let differing = differing(truth, &breakdown);
    let mut tables = vec![planted(truth)];
    tables.extend(breakdown.tables().into_iter().take(1));
    tables.extend(kernels_of(truth.latest_rank.unwrap_or(0), kernels));
    if !differing.is_empty() {
        tables.push(compared(&differing));
    }
    for table in &tables {
        writeln!(console.out)?;
        write_table(table, style, &mut console.out)?;
    }
    if differing.is_empty() {
        writeln!(console.out, "\nEvery time found is the simulated one, to the nanosecond.")?;
    }
    writeln!(console.out, "Next: gpuscope breakdown {}", folder.display())?;
    Ok(Exit::DONE)
}

/// The kernels of the rank that held the others up.
fn kernels_of(rank: u32, mut kernels: <Kernels as Question>::Answer) -> Option<Table> {
    kernels.kernels.retain(|kernel| kernel.rank == rank);
    let table = kernels.tables().into_iter().find(|table| table.name == "kernels");
    table.map(|table| Table { title: format!("Kernels of rank {rank} by their summed time"), ..table })
}

/// What the simulation did to the job.
fn planted(truth: &Truth) -> Table {
    Table::of("planted", "Planted", &truth.faults)
        .text("fault", "What was planted", |fault| fault.code.replace('_', " "))
        .int("rank", Unit::None, "The rank it was planted in", |fault| fault.rank.map(i64::from))
        .int("step", Unit::None, "The step it was planted in", |fault| fault.step.map(i64::from))
        .int("lost_ns", Unit::Ns, "How much longer the job takes for it", |fault| fault.lost_ns)
        .build()
}

/// One number, as simulated and as found.
struct Compared {
    rank: u32,
    what: &'static str,
    planted: i64,
    found: i64,
}

fn differing(truth: &Truth, found: &<Breakdown as Question>::Answer) -> Vec<Compared> {
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

/// Two questions in one pass over the traces.
struct Both {
    breakdown: Breakdown,
    kernels: Kernels,
}

impl Default for Both {
    fn default() -> Both {
        let kernels = Kernels { num_kernels: Some(TOP), ..Kernels::default() };
        Both { breakdown: Breakdown::default(), kernels }
    }
}

#[derive(Serialize)]
struct BothAnswers {
    breakdown: <Breakdown as Question>::Answer,
    kernels: <Kernels as Question>::Answer,
}

impl Tabular for BothAnswers {
    fn tables(&self) -> Vec<Table> {
        let mut tables = self.breakdown.tables();
        tables.extend(self.kernels.tables());
        tables
    }
}

impl Question for Both {
    type Local = (<Breakdown as Question>::Local, <Kernels as Question>::Local);
    type Answer = BothAnswers;

    fn local(&self, rank: u32, view: View<'_>) -> Self::Local {
        (self.breakdown.local(rank, view), self.kernels.local(rank, view))
    }

    fn merge(&self, locals: Vec<Self::Local>) -> BothAnswers {
        let (breakdowns, kernels) = locals.into_iter().unzip();
        BothAnswers { breakdown: self.breakdown.merge(breakdowns), kernels: self.kernels.merge(kernels) }
    }
}

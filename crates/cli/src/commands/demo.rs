//! `gpuscope demo`: a simulated job whose faults are known, so that one can see what gpuscope makes of them.

use std::path::Path;

use gpuscope_job::{JobOptions, Run};
use gpuscope_report::units;
use gpuscope_testkit::{Compression, Plan, PlantedFault, Truth, file_name, files_of_others, write_job};

use super::analyze::{Report, dossier, show};
use crate::Console;
use crate::args::{Demo, OutputArgs};
use crate::exit::{Exit, Failure};
use crate::output::Output;

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

/// What was planted, and what `analyze` makes of it.
fn summary(
    folder: &Path,
    paths: &[String],
    truth: &Truth,
    console: &mut Console<'_>,
) -> Result<Exit, Failure> {
    let outcome = Run::open(paths, JobOptions::default())?.ask(&dossier(paths.len()))?;
    let bytes: u64 = outcome.inputs.iter().map(|input| input.bytes).sum();
    writeln!(
        console.out,
        "Wrote a simulated job to {}: {}, {}. Planted in it:",
        folder.display(),
        counted(paths.len(), "rank"),
        units::bytes(bytes as i64),
    )?;
    for fault in truth.faults.iter().filter(|fault| is_here(fault, truth)) {
        if let Some(planted) = planted(fault) {
            writeln!(console.out, "  - {planted}")?;
        }
    }
    writeln!(console.out, "\n$ gpuscope analyze {}", folder.display())?;
    let report = folder.join("report.html");
    let args = OutputArgs { output: Some(report.clone()), ..OutputArgs::default() };
    let output = Output::new(&args, console)?;
    output.write_report("analyze", &outcome)?;
    let outcome = outcome.map(|dossier| dossier.analyze);
    show(&outcome, &[folder.display().to_string()], Report::Written(&report), &output, console)?;
    Ok(Exit::DONE)
}

/// What was done to the job, in words.
fn planted(fault: &PlantedFault) -> Option<String> {
    let what = match (fault.code, fault.rank, fault.step) {
        ("slow_compute", Some(rank), _) => format!("the kernels of rank {rank} are slow"),
        ("exposed_all_reduce", _, _) => "gradients are reduced only after the backward pass".to_owned(),
        ("data_loader_stall", Some(rank), Some(step)) => {
            format!("the data loader of rank {rank} stalls in step {step}")
        }
        _ => return None,
    };
    Some(format!("{what}, costing {}", units::duration(fault.lost_ns)))
}

fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// A smaller job may not have the rank that a fault was meant for.
fn is_here(fault: &PlantedFault, truth: &Truth) -> bool {
    fault.rank.is_none_or(|rank| truth.ranks.iter().any(|truth| truth.rank == rank))
}

//! What a report is made of below its first screen: questions, each with charts, tables, and a sentence that says what
//! to see. Pages and paper show the same sections.

use gpuscope_analysis::dossier::DossierAnswer;
use gpuscope_analysis::flame::FlameAnswer;
use gpuscope_figure::{Figure, Pictured};
use gpuscope_table::{Table, Tabular};
use gpuscope_trace::Ns;

use crate::units;

#[derive(Clone, Debug)]
pub struct Section<'a> {
    /// In addresses: `kernels`.
    pub id: &'static str,
    pub question: &'static str,
    /// What to see; or why there is nothing to see, and how to record it.
    pub says: String,
    pub figures: Vec<Figure>,
    pub flame: Option<&'a FlameAnswer>,
    pub tables: Vec<Table>,
}

impl<'a> Section<'a> {
    fn new(id: &'static str, question: &'static str, says: String) -> Section<'a> {
        Section { id, question, says, figures: Vec::new(), flame: None, tables: Vec::new() }
    }

    fn drawn(mut self, answer: &impl Pictured) -> Section<'a> {
        self.figures.extend(answer.figures().into_iter().filter(|figure| !figure.is_empty()));
        self
    }

    /// The tables of these names that have rows.
    fn listed(mut self, answer: &impl Tabular, names: &[&str]) -> Section<'a> {
        let tables =
            answer.tables().into_iter().filter(|table| names.contains(&table.name) && table.rows() > 0);
        self.tables.extend(tables);
        self
    }
}

/// All of a run, in the order in which a person asks.
pub fn of(dossier: &DossierAnswer) -> Vec<Section<'_>> {
    vec![
        ranks(dossier),
        kernels(dossier),
        operators(dossier),
        layers(dossier),
        collectives(dossier),
        critical_path(dossier),
        idle(dossier),
        launches(dossier),
        memory(dossier),
        calls(dossier),
    ]
}

fn ranks(dossier: &DossierAnswer) -> Section<'_> {
    let answer = &dossier.analyze;
    let step = &answer.step;
    let several = answer.breakdown.ranks.len() > 1;
    let question = if several {
        "Where did the GPUs' time go, and do ranks differ?"
    } else {
        "Where did the GPU's time go?"
    };
    let says = match (several, step.median_ns) {
        (true, Some(_)) => {
            let unlike = step.differs.map(|differs| format!(" {}.", differs.sentence())).unwrap_or_default();
            format!("{}{unlike}", step_times(step.spread_pct))
        }
        _ => format!(
            "From the first to the last GPU event {:.1} % of the time was computation.",
            step.computation_pct
        ),
    };
    let section = Section::new("ranks", question, says)
        .drawn(&answer.breakdown)
        .listed(&answer.breakdown, &["total", "steps"]);
    // Alone nobody is late.
    let meet = answer.collectives.collectives.iter().any(|row| row.ranks.len() > 1);
    if several && meet { section.listed(&answer.stragglers, &["ranks", "late"]) } else { section }
}

/// A step ends together on ranks that wait for each other: that says nothing about what they do in it.
fn step_times(spread_pct: f64) -> String {
    if spread_pct < 0.05 {
        "All ranks have the same step time.".to_owned()
    } else {
        format!("Step times of the ranks differ by {spread_pct:.1} %.")
    }
}

fn kernels(dossier: &DossierAnswer) -> Section<'_> {
    let answer = &dossier.analyze;
    let says = match answer.top_kernels.first() {
        Some(most) => format!(
            "{} takes {:.1} % of the time of all GPU events, in {} launches.",
            crate::names::fitted(&most.name, 60),
            most.pct,
            units::count(most.count as i64)
        ),
        None => "There are no GPU events in these traces.".to_owned(),
    };
    Section::new("kernels", "Which kernels take the time?", says)
        .drawn(&answer.kernels)
        .listed(answer, &["top_kernels"])
        .listed(&answer.kernels, &["kernels"])
}

fn operators(dossier: &DossierAnswer) -> Section<'_> {
    let unlinked = dossier.ops.ranks.iter().map(|rank| rank.unlinked_pct).fold(0.0, f64::max);
    let says = match dossier.ops.ops.first() {
        Some(most) => {
            let share = if unlinked >= 0.05 {
                format!(" {unlinked:.1} % of GPU time has no known operator.")
            } else {
                String::new()
            };
            format!("{} has the most GPU time of its own: {:.1} %.{share}", most.name, most.pct)
        }
        None => "No operators are recorded; profile with activities CPU and CUDA.".to_owned(),
    };
    Section::new("operators", "Which operators launched it?", says)
        .drawn(&dossier.ops)
        .listed(&dossier.ops, &["ops", "categories", "mfu"])
}

fn layers(dossier: &DossierAnswer) -> Section<'_> {
    let table = Section::new("layers", "Which layers of the model is that?", String::new())
        .drawn(&dossier.layers)
        .listed(&dossier.layers, &["layers"]);
    let says = if table.tables.is_empty() {
        "No modules are recorded; profile with with_stack=True or with_modules=True.".to_owned()
    } else {
        "Time on the GPU of each module, forward and backward apart; communication is a column of its own."
            .to_owned()
    };
    Section { says, ..table }
}

fn collectives(dossier: &DossierAnswer) -> Section<'_> {
    let answer = &dossier.analyze;
    let waited: Ns = answer.collectives.groups.iter().map(|group| group.times.wait_ns).sum();
    let all: Ns = answer.collectives.groups.iter().map(|group| group.times.comm_ns).sum();
    let says = match answer.top_collectives.first() {
        None if answer.collectives.summary.is_empty() => {
            "There are no collectives in these traces.".to_owned()
        }
        _ => format!("{:.1} % of the time in collectives was waiting for other ranks.", waited.pct_of(all)),
    };
    Section::new("collectives", "What did communication cost?", says)
        .drawn(&answer.collectives)
        .listed(answer, &["top_collectives"])
        .listed(&answer.collectives, &["groups", "summary", "late", "stages", "clocks"])
}

fn critical_path(dossier: &DossierAnswer) -> Section<'_> {
    let section = Section::new("critical_path", "What held the step up from start to end?", String::new())
        .drawn(&dossier.analyze.critical_path)
        .listed(&dossier.analyze.critical_path, &["bottleneck", "top"]);
    let says = if section.tables.is_empty() {
        "There is no path: it needs GPU work and the calls that launched it.".to_owned()
    } else {
        "Shortening anything that is not on this path does not shorten the step.".to_owned()
    };
    Section { says, ..section }
}

fn idle(dossier: &DossierAnswer) -> Section<'_> {
    let devices = &dossier.analyze.idle.devices;
    let idle: Ns = devices.iter().map(|device| device.idle_ns - device.unrecorded_ns).sum();
    let host: Ns = devices.iter().map(|device| device.host_ns).sum();
    let says = if idle == Ns::ZERO {
        "The GPUs were never idle between their first and last event.".to_owned()
    } else {
        format!("{:.1} % of idle time was waiting for the host to launch something.", host.pct_of(idle))
    };
    Section::new("idle", "Why were GPUs idle?", says)
        .drawn(&dossier.analyze.idle)
        .listed(&dossier.analyze.idle, &["devices", "host_causes", "host_gaps", "calls"])
}

fn launches(dossier: &DossierAnswer) -> Section<'_> {
    const QUESTION: &str = "Does the host launch fast enough?";
    if dossier.launches.ranks.iter().all(|rank| rank.summary.count == 0) {
        let says = "No launches are recorded; profile with activities CPU and CUDA.";
        return Section::new("launches", QUESTION, says.to_owned());
    }
    let says = "Short kernels, slow calls and long delays, and how much work waited in front of each stream.";
    Section::new("launches", QUESTION, says.to_owned())
        .drawn(&dossier.queue)
        .listed(&dossier.launches, &["summary"])
        .listed(&dossier.queue, &["streams"])
}

fn memory(dossier: &DossierAnswer) -> Section<'_> {
    let answer = &dossier.analyze.memory;
    let section = Section::new("memory", "What took the memory, and how fast was it copied?", String::new())
        .drawn(&dossier.memory)
        .drawn(&dossier.bandwidth)
        .listed(answer, &["devices", "categories", "operators", "largest", "timelines", "out_of_memory"])
        .listed(&dossier.bandwidth, &["copies", "sets"]);
    let says = if answer.is_empty() {
        "Memory is not recorded; profile with profile_memory=True.".to_owned()
    } else {
        "What was alive when most memory was taken.".to_owned()
    };
    Section { says, ..section }
}

fn calls(dossier: &DossierAnswer) -> Section<'_> {
    let flame = Some(&dossier.flame).filter(|flame| !flame.nodes.is_empty());
    let says = if flame.is_some() {
        "Time on the GPU of all ranks together, below the code that launched it: wide boxes are where to look."
    } else {
        "There are no GPU events in these traces."
    };
    Section { flame, ..Section::new("calls", "Which code launched it?", says.to_owned()) }
}

//! The six numbers of a report as people read them, on pages and on paper.

use gpuscope_analysis::dossier::{DossierAnswer, KeyNumber, Worst};
use gpuscope_table::Unit;

use crate::{text, units};

/// A number's name, its value and what is to be said of it.
pub fn shown(number: &KeyNumber) -> (String, String, String) {
    let note = number.note.clone().or_else(|| spread(number)).unwrap_or_default();
    (number.label.to_owned(), value(number), note)
}

pub(crate) fn value(number: &KeyNumber) -> String {
    number.value.map_or(text::MISSING.to_owned(), |value| three(value, number.unit))
}

/// The rank that is worst off, or differs most, and how far from the others.
pub(crate) fn spread(number: &KeyNumber) -> Option<String> {
    let worst = number.worst.as_ref()?;
    Some(distance(worst, number.unit))
}

fn distance(worst: &Worst, unit: Unit) -> String {
    let sign = if worst.from_median < 0.0 { "−" } else { "+" };
    let distance = worst.from_median.abs();
    let (is_alike, distance) = match unit {
        Unit::Percent => (distance < 0.05, format!("{distance:.1} points")),
        unit => (distance < worst.value.abs() / 1_000.0, three(distance, unit)),
    };
    if is_alike {
        return "all ranks alike".to_owned();
    }
    format!("rank {}: {}, {sign}{distance}", worst.rank, three(worst.value, unit))
}

/// What the findings save together, if there are several.
pub(crate) fn joint_gain(dossier: &DossierAnswer) -> Option<String> {
    let answer = &dossier.analyze;
    let alone: Vec<_> = answer.findings.iter().filter_map(|finding| finding.gain_ns).collect();
    let (worth, ns, pct) = (alone.len(), answer.joint_gain_ns?, answer.joint_gain_pct?);
    let saved = units::duration(ns.0);
    // Two causes may hide each other: without one of them the step waits for the other.
    let why = if ns > alone.into_iter().sum() { "each hides a part of the others" } else { "gains overlap" };
    let whole = answer.step.whole();
    let all = if worth == 2 { "Both".to_owned() } else { format!("All {worth}") };
    (worth > 1).then(|| format!("{all} together save {saved}, {pct:.0} % {whole}: {why}."))
}

/// What stands in the place of findings.
pub(crate) fn nothing_found(dossier: &DossierAnswer) -> String {
    let step = &dossier.analyze.step;
    let whole = step.whole();
    if step.idle_pct + step.exposed_comm_pct < 10.0 {
        format!("Nothing above 2 % {whole} was found.")
    } else {
        format!(
            "No single cause that is worth 2 % {whole} could be named; the sections below say where the time went."
        )
    }
}

/// Three digits are what a person reads.
fn three(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Percent => format!("{value:.1} %"),
        Unit::Ns => units::brief(value, &units::TIMES),
        Unit::Bytes => units::brief(value, &units::BYTES),
        unit => units::float(value, unit),
    }
}

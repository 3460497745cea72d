//! A selection that leaves nothing of a rank is answered with zeros; this says so, and what there is to select.

use std::collections::{BTreeMap, BTreeSet};

use gpuscope_trace::{Class, Code, Criteria, Ns, Quality, View};

use crate::error::Error;

/// Values listed one by one before the rest is counted.
const LISTED: usize = 8;

/// An entry if there are GPU events and none of them is selected.
pub(crate) fn note(view: View<'_>, criteria: &Criteria) -> Option<Quality> {
    let gpu = view.index.gpu(view.trace);
    if criteria.is_everything() || gpu.is_empty() || gpu.iter().any(|event| view.selection.has(event.row)) {
        return None;
    }
    let mut there = Vec::new();
    if criteria.device.is_some() {
        there.push(listed("devices", &gpu.iter().map(|event| view.device(event.row)).collect()));
    }
    if criteria.stream.is_some() {
        there.push(listed("streams", &gpu.iter().filter_map(|event| view.stream(event.row)).collect()));
    }
    if criteria.steps.is_some() || criteria.drop_last_step {
        there.push(listed("steps", &view.steps().iter().map(|step| step.number).collect()));
    }
    if criteria.from.is_some() || criteria.to.is_some() {
        let length = view.trace.extent().map_or(0, |(start, end)| end.0.saturating_sub(start.0));
        there.push(format!("{length} ns of time"));
    }
    let message = format!(
        "{} none of {} GPU events, so every time is 0; there are {}",
        flags(criteria).join(" "),
        gpu.len(),
        there.join(", "),
    );
    Some(Quality::new(Code::NoGpuEvents, 0, message))
}

/// An error if none of the ranks has any of the wanted steps.
pub(crate) fn has_a_step<'a>(
    (first, last): (i64, i64),
    ranks: impl Iterator<Item = &'a BTreeSet<i64>>,
) -> Result<(), Error> {
    let there: BTreeSet<i64> = ranks.flatten().copied().collect();
    if there.iter().any(|step| (first..=last).contains(step)) {
        return Ok(());
    }
    let wanted = if first == last { first.to_string() } else { format!("{first}..{last}") };
    let present = match there.len() {
        0 => "there are no steps; --step-marker says what begins one".to_owned(),
        1 => format!("there is step {}", spans(there.into_iter(), " to ")),
        _ => format!("there are steps {}", spans(there.into_iter(), " to ")),
    };
    Err(Error::NoSuchStep { wanted, present })
}

/// Numbers in ascending order, those in a row as one: `0-3, 7`.
pub(crate) fn spans(numbers: impl Iterator<Item = i64>, to: &str) -> String {
    let mut spans: Vec<(i64, i64)> = Vec::new();
    for number in numbers {
        match spans.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            _ => spans.push((number, number)),
        }
    }
    let span = |(first, last): &(i64, i64)| {
        if first == last { first.to_string() } else { format!("{first}{to}{last}") }
    };
    let more = spans.len().saturating_sub(LISTED);
    let shown: Vec<String> = spans.iter().take(LISTED).map(span).collect();
    if more == 0 { shown.join(", ") } else { format!("{} and more", shown.join(", ")) }
}

/// An entry if steps were to be found by a marker, and it marks none.
pub(crate) fn unmarked(view: View<'_>) -> Option<Quality> {
    if !view.steps().is_empty() {
        return None;
    }
    let trace = view.trace;
    let mut names: BTreeMap<&str, u64> = BTreeMap::new();
    for row in trace.rows().filter(|row| trace.class(*row) == Class::Annotation) {
        *names.entry(trace.name(row)).or_default() += 1;
    }
    let count: u64 = names.values().sum();
    let mut names: Vec<(&str, u64)> = names.into_iter().collect();
    names.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let shown: Vec<&str> = names.iter().take(LISTED).map(|(name, _)| *name).collect();
    let there = if shown.is_empty() { String::new() } else { format!("; there are {}", shown.join(", ")) };
    let message = format!("--step-marker matches none of {count} annotations, so there are no steps{there}");
    Some(Quality::new(Code::UnmatchedStepMarker, 0, message))
}

/// The selection as the user wrote it, and the verb that goes with it.
fn flags(criteria: &Criteria) -> Vec<String> {
    let ns = |time: Option<Ns>| time.map(|time| time.0);
    let step = |(first, last): (i64, i64)| {
        if first == last { first.to_string() } else { format!("{first}..{last}") }
    };
    let values = [
        ("--device", criteria.device.map(|device| device.to_string())),
        ("--stream", criteria.stream.map(|stream| stream.to_string())),
        ("--step", criteria.steps.map(step)),
        ("--from", ns(criteria.from).map(|time| time.to_string())),
        ("--to", ns(criteria.to).map(|time| time.to_string())),
    ];
    let mut flags: Vec<String> =
        values.into_iter().filter_map(|(flag, value)| Some(format!("{flag} {}", value?))).collect();
    flags.extend(criteria.drop_last_step.then(|| "--drop-last-step".to_owned()));
    let verb = if flags.len() == 1 { "leaves" } else { "leave" };
    flags.push(verb.to_owned());
    flags
}

/// `streams 7, 20`, `no steps`
fn listed(what: &str, values: &BTreeSet<i64>) -> String {
    if values.is_empty() {
        return format!("no {what}");
    }
    let shown: Vec<String> = values.iter().take(LISTED).map(ToString::to_string).collect();
    let more = match values.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{what} {}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_told_as_they_were_given() {
        let criteria = Criteria { stream: Some(9), steps: Some((3, 5)), ..Criteria::default() };
        assert_eq!(flags(&criteria).join(" "), "--stream 9 --step 3..5 leave");
        let criteria = Criteria { from: Some(Ns(7)), ..Criteria::default() };
        assert_eq!(flags(&criteria).join(" "), "--from 7 leaves");
    }

    #[test]
    fn what_is_there_is_listed_up_to_a_point() {
        assert_eq!(listed("steps", &BTreeSet::new()), "no steps");
        assert_eq!(listed("streams", &BTreeSet::from([20, 7])), "streams 7, 20");
        assert!(listed("steps", &(0..20).collect()).ends_with("7 and 12 more"));
    }
}

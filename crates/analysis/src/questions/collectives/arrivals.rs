//! Who came last to a collective, by how much, and how long the others waited.
//!
//! On one clock the starts say it. Between clocks they say it only to within the half-width, and a rank that is
//! late every time looks half as late as it is, as its clock might be to blame. But members end together, so the
//! one that came last has the shortest duration: between clocks arrivals are counted back from the end, and
//! lateness below the clocks' half-width is not reported.

use gpuscope_trace::Ns;

use super::collective::Collective;
use super::matched::{Matched, Part};
use crate::model::clocks::Offsets;

/// The last two to arrive at a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Last {
    /// Places in the collective's parts.
    pub last: usize,
    pub second: usize,
    /// How far the last was behind the second last.
    pub behind: Ns,
    /// What is smaller cannot be told.
    pub resolution: Ns,
}

/// The arrivals at every collective of a job.
#[derive(Clone, Debug, Default)]
pub struct Arrivals {
    /// By collective; none where fewer than two ranks are there.
    pub last: Vec<Option<Last>>,
    /// By part: how long the rank waited for the last one.
    pub waits: Vec<Ns>,
}

impl Arrivals {
    pub fn of(matched: &Matched, offsets: &Offsets) -> Arrivals {
        let mut arrivals =
            Arrivals { last: Vec::with_capacity(matched.len()), waits: vec![Ns::ZERO; matched.parts.len()] };
        for collective in matched.iter() {
            let last = last(collective, offsets);
            if let Some(last) = last {
                let parts = collective.parts();
                let arrival = arrival(collective, offsets);
                let latest = arrival(&parts[last.last]);
                for (part, wait) in parts.iter().zip(&mut arrivals.waits[collective.first()..]) {
                    *wait = latest - arrival(part);
                }
            }
            arrivals.last.push(last);
        }
        arrivals
    }
}

fn on_one_clock(collective: Collective<'_>, offsets: &Offsets) -> bool {
    let parts = collective.parts();
    parts.iter().all(|part| offsets.share(part.member, parts[0].member))
}

/// When a part arrived, on a scale of the collective's own.
fn arrival(collective: Collective<'_>, offsets: &Offsets) -> impl Fn(&Part) -> Ns + use<> {
    let one_clock = on_one_clock(collective, offsets);
    move |part| if one_clock { part.start } else { Ns::ZERO - part.dur }
}

fn last(collective: Collective<'_>, offsets: &Offsets) -> Option<Last> {
    let parts = collective.parts();
    if parts.len() < 2 {
        return None;
    }
    let arrival = arrival(collective, offsets);
    // Of equal ones the higher rank: parts are in order of the ranks.
    let later = |a: usize, b: usize| if (arrival(&parts[a]), a) > (arrival(&parts[b]), b) { a } else { b };
    let last = (0..parts.len()).fold(0, |best, i| later(i, best));
    let others = (0..parts.len()).filter(|i| *i != last);
    let second = others.reduce(later)?;
    Some(Last {
        last,
        second,
        behind: arrival(&parts[last]) - arrival(&parts[second]),
        resolution: offsets.between(&parts[last], &parts[second]),
    })
}

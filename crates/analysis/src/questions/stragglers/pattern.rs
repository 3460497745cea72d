//! Whether a rank is late all the time or now and then.

use std::collections::BTreeMap;

use gpuscope_trace::Ns;
use serde::Serialize;

use crate::collectives::Collective;

/// Without steps the collectives are cut into this many runs.
const SLICES: usize = 8;
/// A rank is late in a step if it is at least this fraction as late as in its worst one.
const FRACTION: i64 = 4;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pattern {
    /// Late in more than half of the steps.
    pub persistent: bool,
    /// Steps in which it was late; stretches of the run where there are no steps.
    pub late_in: u64,
    pub of: u64,
    /// The numbers of these steps; empty where there are none.
    pub late_steps: Vec<i64>,
}

/// `mine` are the collectives of the rank that count, in order, and how late each of them was for it.
pub(super) fn of(mine: &[(Collective<'_>, Ns)]) -> Pattern {
    let step = |collective: Collective<'_>| collective.first_part().step();
    let has_steps = mine.iter().all(|(collective, _)| step(*collective).is_some());
    let mut windows: BTreeMap<i64, Ns> = BTreeMap::new();
    for (nth, (collective, own)) in mine.iter().enumerate() {
        let slice = (nth * SLICES / mine.len()) as i64;
        let window = step(*collective).filter(|_| has_steps).unwrap_or(slice);
        *windows.entry(window).or_default() += *own;
    }
    let worst = windows.values().copied().max().unwrap_or(Ns::ZERO);
    let is_late = |ns: Ns| ns > Ns::ZERO && ns.0.saturating_mul(FRACTION) >= worst.0;
    let late_in: Vec<i64> =
        windows.iter().filter(|(_, ns)| is_late(**ns)).map(|(window, _)| *window).collect();
    Pattern {
        persistent: 2 * late_in.len() > windows.len(),
        late_in: late_in.len() as u64,
        of: windows.len() as u64,
        late_steps: if has_steps { late_in } else { Vec::new() },
    }
}

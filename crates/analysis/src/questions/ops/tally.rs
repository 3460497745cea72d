//! The rows of operators: calls added up by name, or by name and arguments.

use gpuscope_trace::{Bitmap, Ns};

use super::calls::Calls;
use super::kinds::Kinds;
use super::unions::Times;

/// What the calls of one row add up to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tally {
    /// The kind of its first call, which is that of all if rows are by arguments.
    pub(crate) kind: u32,
    /// The first call that put anything on the GPU straight away, else its first call.
    pub(crate) example: u32,
    /// Whether its calls were part of recomputation.
    pub(crate) recomputed: bool,
    pub(crate) count: u64,
    pub(crate) direct: Ns,
    pub(crate) subtree: Ns,
}

pub(crate) struct Tallies {
    pub(crate) rows: Vec<Tally>,
    /// Per call its row, if it has one.
    pub(crate) of: Vec<Option<u32>>,
}

/// How calls are put together, and which have a row although they launch nothing themselves.
pub(crate) struct Rules<'r> {
    pub(crate) by_arguments: bool,
    /// Recomputed calls have rows of their own.
    pub(crate) recomputed: Option<&'r Bitmap>,
    /// By kind.
    pub(crate) has_model: &'r [bool],
}

impl Tallies {
    pub(crate) fn of(calls: &Calls, kinds: &Kinds, times: &[Times], rules: &Rules<'_>) -> Tallies {
        let group = groups(kinds, rules.by_arguments);
        // Two places per group: first computed, and computed anew.
        let mut place: Vec<Option<u32>> = vec![None; 2 * kinds.list.len()];
        let mut tallies = Tallies { rows: Vec::new(), of: vec![None; calls.len()] };
        for (call, times) in times.iter().enumerate() {
            let (kind, launches) = (kinds.of[call], !calls.direct(call).is_empty());
            let has_row = launches || (rules.by_arguments && rules.has_model[kind as usize]);
            if !has_row {
                continue;
            }
            let recomputed = rules.recomputed.is_some_and(|rows| rows.has(calls.row(call)));
            let rows = &mut tallies.rows;
            let row = *place[2 * group[kind as usize] as usize + usize::from(recomputed)].get_or_insert_with(
                || {
                    let (direct, subtree) = (Ns::ZERO, Ns::ZERO);
                    rows.push(Tally { kind, example: call as u32, recomputed, count: 0, direct, subtree });
                    rows.len() as u32 - 1
                },
            );
            let tally = &mut rows[row as usize];
            if launches && tally.direct == Ns::ZERO {
                tally.example = call as u32;
            }
            tally.count += 1;
            tally.direct += times.direct;
            tally.subtree += times.subtree;
            tallies.of[call] = Some(row);
        }
        tallies
    }
}

/// Per kind the first kind that shares its rows: itself, or the first of its name.
fn groups(kinds: &Kinds, by_arguments: bool) -> Vec<u32> {
    let mut first = rustc_hash::FxHashMap::default();
    let numbered = (0..).zip(&kinds.list);
    numbered
        .map(|(number, kind)| if by_arguments { number } else { *first.entry(kind.name).or_insert(number) })
        .collect()
}

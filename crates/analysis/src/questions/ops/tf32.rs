//! Which products of `float` ran on the matrix units, rounded to TF32: those of which some kernel did, by its name.
//! They are held to the peak for TF32, which is several times that for fp32.

use gpuscope_trace::{StrId, View};
use gpuscope_work::{Products, products};
use rustc_hash::FxHashMap;

use super::calls::Calls;
use super::kinds::Kinds;
use super::work::Works;

pub(super) fn round(view: View<'_>, calls: &Calls, kinds: &Kinds, works: &mut Works) {
    let mut known: FxHashMap<StrId, bool> = FxHashMap::default();
    let mut is_tf32 = |name: StrId| {
        *known.entry(name).or_insert_with(|| products(view.trace.strings.get(name)) == Some(Products::Tf32))
    };
    let mut below = vec![false; calls.len()];
    // From the last to the first, so that what is below a call is known when it is its turn.
    for call in (0..calls.len()).rev() {
        below[call] |= calls.direct(call).iter().any(|event| is_tf32(view.trace.name_id(event.row)));
        if !below[call] {
            continue;
        }
        if let Some(parent) = calls.parent(call) {
            below[parent] = true;
        }
        if let Some(work) = &mut works.of[kinds.of[call] as usize] {
            work.rounded_to_tf32();
        }
    }
}

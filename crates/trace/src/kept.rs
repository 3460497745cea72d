//! Which elements of a file remain when only a selection of its rows does.

use rustc_hash::FxHashMap;

use crate::select::{Bitmap, Selection};
use crate::time::Ns;
use crate::trace::{FlowPoint, Trace};
use crate::track::ThreadId;

/// The elements of the selected rows (and of the ends of those that were a begin and an end), and of the arrows
/// that still begin and end at one of them. Metadata has no rows and is not for a selection to decide.
pub fn kept_elements(trace: &Trace, selection: &Selection) -> Bitmap {
    let rows = trace.rows().map(|row| trace.element(row));
    let flows = trace.flows.iter().map(|point| point.element);
    let ends = trace.ends.iter().map(|(_, element)| *element);
    let size = rows.chain(flows).chain(ends).max().map_or(0, |last| last as usize + 1);
    let mut kept = Bitmap::empty(size.max(trace.elements as usize));
    for row in trace.rows().filter(|row| selection.has(*row)) {
        kept.insert(trace.element(row));
    }
    for (_, element) in trace.ends.iter().filter(|(row, _)| selection.has(*row)) {
        kept.insert(*element);
    }
    keep_arrows(trace, selection, &mut kept);
    kept
}

fn keep_arrows(trace: &Trace, selection: &Selection, kept: &mut Bitmap) {
    let mut places: FxHashMap<(ThreadId, Ns), Option<bool>> = FxHashMap::default();
    let place = |point: &FlowPoint| Some((trace.tracks.get(point.track).thread, point.time?));
    places.extend(trace.flows.iter().filter_map(|point| Some((place(&point)?, None))));
    let mut extent: Option<(Ns, Ns)> = None;
    for row in trace.rows() {
        let Some(start) = trace.start(row) else { continue };
        let is_kept = selection.has(row);
        if let Some(at) = places.get_mut(&(trace.track(row).thread, start)) {
            *at = Some(at.unwrap_or(false) || is_kept);
        }
        if is_kept {
            let end = trace.span(row).map_or(start, |(_, end)| end);
            extent = Some(extent.map_or((start, end), |(a, b)| (a.min(start), b.max(end))));
        }
    }
    // An end at which nothing starts is inside of something: there the time decides.
    let within = |time: Ns| extent.is_some_and(|(start, end)| (start..=end).contains(&time));
    let stays = |point: &FlowPoint| {
        place(point).is_some_and(|at| places.get(&at).copied().flatten().unwrap_or_else(|| within(at.1)))
    };
    let mut arrows: Vec<_> = trace
        .flows
        .iter()
        .map(|point| (trace.tags.get(point.tag).category, point.id, point.element, stays(&point)))
        .collect();
    arrows.sort_unstable();
    for arrow in arrows.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        if arrow.iter().all(|(_, _, _, stays)| *stays) {
            for (_, _, element, _) in arrow {
                kept.insert(*element);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::Index;
    use crate::record::Record;
    use crate::select::Criteria;
    use crate::tag::Phase;
    use crate::track::Id;
    use crate::{Builder, StrId};

    fn trace(events: &[(Phase, i64, i64)]) -> Trace {
        let mut builder = Builder::default();
        for (phase, start, id_or_dur) in events {
            let mut record = Record::default();
            record.tag = builder.tag(*phase, StrId::EMPTY);
            (record.tid, record.start) = (Id::Int(1), Some(Ns(*start)));
            if phase.is_flow() {
                record.flow_id = Id::Int(*id_or_dur);
            } else {
                record.dur = Some(Ns(*id_or_dur));
            }
            builder.push(&record);
        }
        builder.finish()
    }

    fn kept(events: &[(Phase, i64, i64)], from: i64, to: i64) -> Vec<usize> {
        let trace = trace(events);
        let criteria = Criteria { from: Some(Ns(from)), to: Some(Ns(to)), ..Criteria::default() };
        let selection = Selection::new(&trace, &Index::default(), &criteria);
        let kept = kept_elements(&trace, &selection);
        (0..events.len()).filter(|i| kept.has(*i as u32)).collect()
    }

    #[test]
    fn an_arrow_stays_only_with_both_of_its_ends() {
        use Phase::{Complete, FlowEnd, FlowStart};
        let events = [
            (Complete, 0, 5),
            (FlowStart, 0, 1),
            (Complete, 10, 5),
            (FlowEnd, 10, 1),
            (FlowStart, 10, 2),
            (Complete, 20, 5),
            (FlowEnd, 20, 2),
            // Inside of the event at 20.
            (FlowStart, 22, 3),
            (FlowEnd, 10, 3),
        ];
        assert_eq!(kept(&events, 0, 100), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(kept(&events, 10, 100), [2, 4, 5, 6, 7, 8]);
        assert_eq!(kept(&events, 0, 15), [0, 1, 2, 3]);
    }

    #[test]
    fn a_begin_stays_with_its_end() {
        use Phase::{Begin, End};
        let events = [(Begin, 0, 0), (Begin, 10, 0), (End, 12, 0), (End, 30, 0)];
        assert_eq!(kept(&events, 5, 100), [1, 2]);
        assert_eq!(kept(&events, 0, 5), [0, 3]);
    }
}

//! What happens only once: creating the context, loading code and libraries, choosing algorithms, the first memory.
//!
//! A call or operator is start-up if it is the first of its name, or the first launch of a kernel, takes a millisecond or
//! more, and at least twenty times what the others of its name take on average; of names that occur once only calls
//! count. What waits for the GPU most of that time is no start-up.

use gpuscope_trace::{Class, Interval, Ns, Row, StrId, View};
use rustc_hash::FxHashSet;

use crate::shared::cover::Cover;

const LONG: Ns = Ns(1_000_000);
const TIMES: i64 = 20;
/// Names listed.
const LISTED: usize = 4;

/// What a rank did for the first time.
#[derive(Clone, Debug, Default)]
pub(crate) struct StartUp {
    pub rows: FxHashSet<Row>,
    /// All of it together, each moment once.
    pub time: Ns,
    pub span: Option<(Ns, Ns)>,
    /// What takes longest first.
    pub names: Vec<(String, Ns)>,
}

#[derive(Clone, Copy, Default)]
struct OfName {
    count: i64,
    sum: Ns,
    first: Option<(Ns, Row)>,
}

impl StartUp {
    /// What was done for the first time within a stretch of time.
    pub(crate) fn of(view: View<'_>, within: Interval) -> StartUp {
        let trace = view.trace;
        let mut names = vec![OfName::default(); trace.strings.len()];
        let looked_at = |row: Row| trace.class(row).is_call() || trace.class(row) == Class::Operator;
        for row in trace.rows().filter(|row| looked_at(*row)) {
            let Some((start, end)) = trace.span(row) else { continue };
            let of_name = &mut names[trace.name_id(row).index()];
            of_name.count += 1;
            of_name.sum += end - start;
            if of_name.first.is_none_or(|(first, _)| start < first) {
                of_name.first = Some((start, row));
            }
        }
        let mut found: Vec<(Interval, Row)> = Vec::new();
        for of_name in &names {
            if let Some((_, row)) = of_name.first {
                found.extend(once(view, row, of_name));
            }
        }
        let mut kernels: FxHashSet<StrId> = FxHashSet::default();
        for event in view.index.gpu(trace).iter() {
            if kernels.insert(trace.name_id(event.row))
                && let Some(call) = view.index.launches(trace).call(event.row)
            {
                found.extend(once(view, call, &names[trace.name_id(call).index()]));
            }
        }
        found.retain(|(time, row)| {
            time.start < within.end && time.end > within.start && !is_waiting(view, *time, *row)
        });
        for (time, _) in &mut found {
            *time = Interval::new(time.start.max(within.start), time.end.min(within.end));
        }
        StartUp::told(view, found)
    }

    fn told(view: View<'_>, mut found: Vec<(Interval, Row)>) -> StartUp {
        found.sort_unstable_by_key(|(time, row)| (time.start, *row));
        found.dedup();
        let mut cover = Cover::default();
        for (time, _) in &found {
            cover.add(*time);
        }
        let span = found.first().map(|(first, _)| {
            (first.start, found.iter().map(|(time, _)| time.end).max().unwrap_or(first.end))
        });
        let name = |(time, row): &(Interval, Row)| (view.trace.name(*row).to_owned(), time.len());
        // What is around another says less.
        let mut innermost: Vec<&(Interval, Row)> = Vec::new();
        for inner in found.iter().rev() {
            let is_around = |one: &&(Interval, Row)| {
                inner.0.start <= one.0.start
                    && one.0.end <= inner.0.end
                    && one.0.len().0 * 5 >= inner.0.len().0 * 4
            };
            if !innermost.iter().any(is_around) {
                innermost.push(inner);
            }
        }
        let mut names: Vec<(String, Ns)> = innermost.into_iter().map(name).collect();
        names.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        names.truncate(LISTED);
        StartUp { rows: found.into_iter().map(|(_, row)| row).collect(), time: cover.len(), span, names }
    }
}

/// The row, if what it did is done once only.
fn once(view: View<'_>, row: Row, of_name: &OfName) -> Option<(Interval, Row)> {
    let (start, end) = view.trace.span(row)?;
    let took = end - start;
    let others = of_name.sum - took;
    let is_far_longer = match of_name.count {
        1 => view.trace.class(row).is_call(),
        count => took.0 >= (others.0 / (count - 1)).saturating_mul(TIMES),
    };
    (took >= LONG && is_far_longer).then_some((Interval::new(start, end), row))
}

/// Whether most of the time went by in calls that wait for the GPU: then that is what took long.
fn is_waiting(view: View<'_>, time: Interval, row: Row) -> bool {
    let trace = view.trace;
    let inside = view.index.innermost(trace).during(trace.track(row).thread, time);
    let in_waits = inside.filter(|(_, row)| trace.class(*row).is_call() && waits(trace.name(*row)));
    in_waits.map(|(part, _)| part.len()).sum::<Ns>().0 * 2 > time.len().0
}

fn waits(call: &str) -> bool {
    ["Synchronize", "Memcpy", "Wait", "GraphLaunch"].iter().any(|part| call.contains(part))
}

#[cfg(test)]
mod tests {
    use gpuscope_trace::Selection;

    use super::*;
    use crate::testing::trace;

    #[test]
    fn only_what_is_far_longer_the_first_time_is_start_up() {
        let ms = |time: std::ops::Range<i64>| time.start * 1_000_000..time.end * 1_000_000;
        let mut sample = trace()
            .named_call("cudaFree", 1, ms(0..300))
            .host("cpu_op", "aten::conv2d", ms(310..400))
            .named_call("cudaDeviceSynchronize", 2, ms(900..990))
            .host("cpu_op", "aten::slow", ms(500..520));
        for i in 0..5 {
            let at = 600 + i * 10;
            sample = sample.host("cpu_op", "aten::conv2d", ms(at..at + 1)).host(
                "cpu_op",
                "aten::slow",
                ms(at + 2..at + 9),
            );
        }
        let loaded = sample.build();
        let everything = Selection::everything();
        let start_up = StartUp::of(loaded.view(&everything), Interval::new(Ns(0), Ns(990_000_000)));
        let names: Vec<&str> = start_up.names.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["cudaFree", "aten::conv2d"]);
        assert_eq!(start_up.time, Ns(390_000_000));
        assert_eq!(start_up.span, Some((Ns(0), Ns(400_000_000))));
    }
}

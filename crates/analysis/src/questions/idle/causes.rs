//! What a thread was doing while the GPU waited for it to launch something.
//!
//! Every nanosecond of a gap goes to the innermost event recorded on the launching thread then, and that event,
//! with all around it, is one of a few causes. The most telling one decides: a wait inside `aten::item` is there
//! because of the `item`, and whatever runs while the next batch is fetched is data loading.

use std::collections::BTreeMap;

use gpuscope_trace::{Class, Nesting, Ns, Row, StrId, Trace, View};
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::gaps::Gap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    Synchronisation,
    BlockingCopy,
    Item,
    Allocator,
    DataLoading,
    Optimizer,
    Compilation,
    GarbageCollection,
    /// Some other call of the runtime or driver, the launch itself among them.
    RuntimeCall,
    Operator,
    Python,
    Annotation,
    NothingRecorded,
}

impl Cause {
    pub fn label(self) -> &'static str {
        match self {
            Cause::Synchronisation => "synchronisation",
            Cause::BlockingCopy => "blocking copy",
            Cause::Item => "item",
            Cause::Allocator => "allocator",
            Cause::DataLoading => "data loading",
            Cause::Optimizer => "optimizer",
            Cause::Compilation => "compilation",
            Cause::GarbageCollection => "garbage collection",
            Cause::RuntimeCall => "runtime call",
            Cause::Operator => "operator",
            Cause::Python => "Python",
            Cause::Annotation => "annotation",
            Cause::NothingRecorded => "nothing recorded",
        }
    }

    /// Which of two causes around one another explains more: the larger.
    pub(super) fn weight(self) -> u32 {
        match self {
            Cause::GarbageCollection => 5,
            Cause::DataLoading => 4,
            Cause::Compilation => 3,
            Cause::Item => 2,
            Cause::Optimizer => 0,
            _ => 1,
        }
    }

    /// The cause that a name alone tells, whatever runs inside it.
    pub(super) fn telling(class: Class, name: &str) -> Option<Cause> {
        let call = |part: &str| class.is_call() && name.contains(part);
        if call("Synchronize") {
            Some(Cause::Synchronisation)
        } else if call("Memcpy") && !name.contains("Async") {
            Some(Cause::BlockingCopy)
        } else if call("Malloc") || call("Free") || call("MemMap") || call("MemCreate") || call("HostAlloc") {
            Some(Cause::Allocator)
        } else if matches!(name, "aten::item" | "aten::_local_scalar_dense") {
            Some(Cause::Item)
        } else if name.contains("DataLoader") {
            Some(Cause::DataLoading)
        } else if name.starts_with("Optimizer.step#") {
            Some(Cause::Optimizer)
        } else if name.contains("_compile") && class == Class::Annotation
            || name.contains("CompiledFxGraph.compile")
        {
            Some(Cause::Compilation)
        } else if name == "Python GC" || name.contains("<built-in function collect>") {
            Some(Cause::GarbageCollection)
        } else {
            None
        }
    }

    pub(super) fn of_class(class: Class, name: &str) -> Cause {
        match class {
            // A step is always around; that nothing is inside says nothing.
            Class::Annotation if name.starts_with("ProfilerStep#") => Cause::NothingRecorded,
            Class::Runtime | Class::Driver => Cause::RuntimeCall,
            Class::Operator => Cause::Operator,
            Class::PythonFrame => Cause::Python,
            _ => Cause::Annotation,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostCause {
    pub rank: u32,
    pub cause: Cause,
    pub idle_ns: Ns,
    /// Gaps that it had a part in.
    pub count: u64,
    /// The event behind most of it.
    pub name: Option<String>,
}

/// The causes of gaps, largest first.
pub(super) fn of(rank: u32, view: View<'_>, gaps: &[Gap]) -> Vec<HostCause> {
    if gaps.is_empty() {
        return Vec::new();
    }
    let mut found: BTreeMap<Cause, Found> = BTreeMap::new();
    let (innermost, mut causes) = (view.index.innermost(view.trace), Causes::new(view));
    for (gap, Gap { call, time, .. }) in gaps.iter().enumerate() {
        let mut explained = Ns::ZERO;
        for (part, row) in innermost.during(view.trace.track(*call).thread, *time) {
            let (cause, told_by) = causes.of(row);
            found.entry(cause).or_default().add(gap, Some(told_by), part.len());
            explained += part.len();
        }
        if time.len() > explained {
            found.entry(Cause::NothingRecorded).or_default().add(gap, None, time.len() - explained);
        }
    }
    let name = |found: &Found| {
        let (name, _) = found.by_name.iter().max_by_key(|(name, time)| (**time, **name))?;
        Some(view.trace.strings.get(*name).to_owned())
    };
    let mut causes: Vec<HostCause> = found
        .iter()
        .map(|(cause, found)| HostCause {
            rank,
            cause: *cause,
            idle_ns: found.idle,
            count: found.gaps,
            name: name(found),
        })
        .collect();
    causes.sort_by_key(|cause| std::cmp::Reverse(cause.idle_ns));
    causes
}

#[derive(Default)]
struct Found {
    idle: Ns,
    gaps: u64,
    last_gap: Option<usize>,
    by_name: FxHashMap<StrId, Ns>,
}

impl Found {
    fn add(&mut self, gap: usize, told_by: Option<StrId>, time: Ns) {
        self.idle += time;
        self.gaps += u64::from(self.last_gap.replace(gap) != Some(gap));
        if let Some(name) = told_by {
            *self.by_name.entry(name).or_default() += time;
        }
    }
}

/// Tells the cause of time spent in a host event. What was found is remembered for all rows around it, so that asking
/// for every row of a trace looks at each once, however deep the nesting.
pub(crate) struct Causes<'a> {
    trace: &'a Trace,
    nesting: &'a Nesting,
    /// Per row: not known yet, none, or the row of the event that tells the cause two further on.
    told_by: Vec<u32>,
    /// Per name: the class it was last met with, and the cause that it tells then.
    of_name: Vec<Option<(Class, Option<Cause>)>>,
    path: Vec<Row>,
}

const UNKNOWN: u32 = 0;
const NONE: u32 = 1;

impl<'a> Causes<'a> {
    pub(crate) fn new(view: View<'a>) -> Causes<'a> {
        let trace = view.trace;
        Causes {
            trace,
            nesting: view.index.nesting(trace),
            told_by: vec![UNKNOWN; trace.len()],
            of_name: vec![None; trace.strings.len()],
            path: Vec::new(),
        }
    }

    /// The cause of time spent in a row, and the name of the event that tells it.
    pub(crate) fn of(&mut self, row: Row) -> (Cause, StrId) {
        let trace = self.trace;
        match self.told_by(row).checked_sub(2) {
            Some(by) => {
                let cause = self.telling(by).unwrap_or(Cause::NothingRecorded);
                (cause, trace.name_id(by))
            }
            None => (Cause::of_class(trace.class(row), trace.name(row)), trace.name_id(row)),
        }
    }

    /// The cause that a row's own name tells.
    fn telling(&mut self, row: Row) -> Option<Cause> {
        let (class, name) = (self.trace.class(row), self.trace.name_id(row));
        let known = &mut self.of_name[name.index()];
        match known {
            Some((of, cause)) if *of == class => *cause,
            _ => known.insert((class, Cause::telling(class, self.trace.strings.get(name)))).1,
        }
    }

    fn told_by(&mut self, row: Row) -> u32 {
        let mut here = Some(row);
        while let Some(row) = here.filter(|row| self.told_by[*row as usize] == UNKNOWN) {
            self.path.push(row);
            here = self.nesting.parent(row);
        }
        let mut outside = here.map_or(NONE, |row| self.told_by[row as usize]);
        let mut weight = outside.checked_sub(2).and_then(|by| self.telling(by)).map(Cause::weight);
        // From the outside in, so that of equal weights the innermost is taken.
        while let Some(row) = self.path.pop() {
            let own = self.telling(row).map(Cause::weight);
            if own.is_some() && own >= weight {
                (outside, weight) = (row.saturating_add(2), own);
            }
            self.told_by[row as usize] = outside;
        }
        self.told_by[row as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Idle;
    use crate::testing::trace;

    /// The same without memory.
    fn cause_of(view: View<'_>, row: Row) -> (Cause, StrId) {
        let trace = view.trace;
        let telling = |row: Row| Some((Cause::telling(trace.class(row), trace.name(row))?, row));
        let mut told: Option<(Cause, Row)> = telling(row);
        for outer in view.index.nesting(trace).ancestors(row).filter_map(telling) {
            if told.is_none_or(|(cause, _)| outer.0.weight() > cause.weight()) {
                told = Some(outer);
            }
        }
        let (cause, by) = told.unwrap_or_else(|| (Cause::of_class(trace.class(row), trace.name(row)), row));
        (cause, trace.name_id(by))
    }

    #[test]
    fn every_nanosecond_of_a_gap_goes_to_what_the_thread_did() {
        let loaded = trace()
            .step(1, 0..1000)
            .call(1, 0..5)
            .kernel("first", 7, 10..100, 1)
            // The gap from 100 to the launch at 500: a wait inside an operator, an operator, Python, nothing.
            .host("python_function", "train.py(3): step", 50..400)
            .host("cpu_op", "aten::item", 90..220)
            .named_call("cudaStreamSynchronize", 90, 110..180)
            .host("cpu_op", "aten::add", 250..300)
            .call(2, 500..505)
            .kernel("second", 7, 520..600, 2)
            .build();
        let answer = loaded.ask(&Idle::default());
        let causes: Vec<_> =
            answer.host_causes.iter().map(|c| (c.cause, c.idle_ns.0, c.count, c.name.as_deref())).collect();
        assert_eq!(
            causes,
            [
                (Cause::Python, 130, 1, Some("train.py(3): step")),
                (Cause::Item, 120, 1, Some("aten::item")),
                (Cause::NothingRecorded, 100, 1, Some("ProfilerStep#1")),
                (Cause::Operator, 50, 1, Some("aten::add")),
            ]
        );
        let sum: i64 = answer.host_causes.iter().map(|c| c.idle_ns.0).sum();
        assert_eq!(sum, answer.devices[0].host_ns.0);
    }

    #[test]
    fn causes_do_not_depend_on_what_was_asked_before() {
        let mut sample = trace();
        let names =
            ["aten::item", "Optimizer.step#A", "x", "DataLoader", "y", "aten::item", "Python GC", "z"];
        for (depth, name) in names.iter().cycle().take(40).enumerate() {
            let depth = depth as i64;
            sample = sample.host("user_annotation", name, depth..100 - depth);
        }
        let loaded = sample.build();
        let selection = gpuscope_trace::Selection::everything();
        let view = loaded.view(&selection);
        let rows: Vec<Row> = view.trace.rows().collect();
        let alone: Vec<_> = rows.iter().map(|row| cause_of(view, *row)).collect();
        for order in [rows.clone(), rows.iter().rev().copied().collect()] {
            let mut causes = Causes::new(view);
            for row in order {
                assert_eq!(causes.of(row), alone[row as usize]);
            }
        }
        let told: Vec<Cause> = alone.iter().take(8).map(|(cause, _)| *cause).collect();
        let (item, loading) = (Cause::Item, Cause::DataLoading);
        let collection = Cause::GarbageCollection;
        assert_eq!(told, [item, item, item, loading, loading, loading, collection, collection]);
    }

    #[test]
    fn names_tell_causes() {
        let told = |class, name| Cause::telling(class, name);
        assert_eq!(told(Class::Runtime, "cudaMemcpyAsync"), None);
        assert_eq!(told(Class::Runtime, "hipMemcpy"), Some(Cause::BlockingCopy));
        assert_eq!(told(Class::Runtime, "cudaFree"), Some(Cause::Allocator));
        assert_eq!(
            told(Class::Annotation, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"),
            Some(Cause::DataLoading)
        );
        assert_eq!(told(Class::Annotation, "Optimizer.step#AdamW.step"), Some(Cause::Optimizer));
    }
}

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
    fn weight(self) -> u32 {
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
    fn telling(class: Class, name: &str) -> Option<Cause> {
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

    fn of_class(class: Class, name: &str) -> Cause {
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
    let (innermost, nesting) = (view.index.innermost(view.trace), view.index.nesting(view.trace));
    let mut causes = Causes::new(view.trace, nesting);
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

/// The cause of time spent in a row, and the name of the event that tells it. To ask for many rows, [`Causes`].
pub(crate) fn cause_of(trace: &Trace, nesting: &Nesting, row: Row) -> (Cause, StrId) {
    let mut told: Option<(Cause, Row)> = None;
    for around in std::iter::once(row).chain(nesting.ancestors(row)) {
        if let Some(cause) = Cause::telling(trace.class(around), trace.name(around))
            && told.is_none_or(|(inside, _)| cause.weight() > inside.weight())
        {
            told = Some((cause, around));
        }
    }
    let (cause, told_by) = told.unwrap_or_else(|| (Cause::of_class(trace.class(row), trace.name(row)), row));
    (cause, trace.name_id(told_by))
}

/// Causes of many rows: every name is looked at once, and so is every row, however deep the nesting.
pub(crate) struct Causes<'t> {
    trace: &'t Trace,
    nesting: &'t Nesting,
    by_name: Vec<[Told; SORTS]>,
    /// Per row: not known yet, nothing around it tells, or the row that does two further on.
    told_by: Vec<u32>,
    path: Vec<Row>,
}

/// What a name alone tells depends on whether a call, an annotation or something else is called so.
const SORTS: usize = 3;

#[derive(Clone, Copy, Default)]
enum Told {
    #[default]
    Unknown,
    Known(Option<Cause>),
}

const UNKNOWN: u32 = 0;
const NOTHING: u32 = 1;

impl<'t> Causes<'t> {
    pub(crate) fn new(trace: &'t Trace, nesting: &'t Nesting) -> Causes<'t> {
        Causes {
            trace,
            nesting,
            by_name: vec![[Told::Unknown; SORTS]; trace.strings.len()],
            told_by: vec![UNKNOWN; trace.len()],
            path: Vec::new(),
        }
    }

    /// As [`cause_of`].
    pub(crate) fn of(&mut self, row: Row) -> (Cause, StrId) {
        let mut here = Some(row);
        while let Some(row) = here.filter(|row| self.told_by[*row as usize] == UNKNOWN) {
            self.path.push(row);
            here = self.nesting.parent(row);
        }
        let mut teller = here.map_or(NOTHING, |row| self.told_by[row as usize]);
        let mut weight = self.teller_weight(teller);
        while let Some(row) = self.path.pop() {
            // Of equal weights the innermost.
            if let Some(cause) = self.telling(row)
                && weight.is_none_or(|outside| cause.weight() >= outside)
            {
                (teller, weight) = (row.saturating_add(2), Some(cause.weight()));
            }
            self.told_by[row as usize] = teller;
        }
        let told = self.told_by[row as usize].checked_sub(2).and_then(|by| Some((self.telling(by)?, by)));
        let (cause, told_by) =
            told.unwrap_or_else(|| (Cause::of_class(self.trace.class(row), self.trace.name(row)), row));
        (cause, self.trace.name_id(told_by))
    }

    fn teller_weight(&mut self, teller: u32) -> Option<u32> {
        self.telling(teller.checked_sub(2)?).map(Cause::weight)
    }

    fn telling(&mut self, row: Row) -> Option<Cause> {
        let class = self.trace.class(row);
        let sort = match class {
            Class::Annotation => 1,
            _ if class.is_call() => 0,
            _ => 2,
        };
        let told = &mut self.by_name[self.trace.name_id(row).index()][sort];
        match *told {
            Told::Known(cause) => cause,
            Told::Unknown => {
                let cause = Cause::telling(class, self.trace.name(row));
                *told = Told::Known(cause);
                cause
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use gpuscope_trace::Selection;
    use proptest::prelude::*;

    use super::*;
    use crate::Idle;
    use crate::testing::trace;

    const NAMES: [(&str, &str); 8] = [
        ("cpu_op", "aten::item"),
        ("cpu_op", "aten::add"),
        ("cuda_runtime", "cudaStreamSynchronize"),
        ("cpu_op", "cudaStreamSynchronize"),
        ("user_annotation", "Optimizer.step#SGD.step"),
        ("user_annotation", "enumerate(DataLoader)#_Iter.__next__"),
        ("python_function", "<built-in function collect>"),
        ("user_annotation", "cudaFree_compile"),
    ];

    proptest! {
        #[test]
        fn remembering_changes_nothing(
            spans in proptest::collection::vec((0..40i64, 0..20i64, 0..NAMES.len()), 0..25),
        ) {
            let mut sample = trace();
            for (start, length, named) in spans {
                let (category, name) = NAMES[named];
                sample = sample.host(category, name, start..start + length);
            }
            let loaded = sample.build();
            let selection = Selection::everything();
            let view = loaded.view(&selection);
            let nesting = view.index.nesting(view.trace);
            let mut causes = Causes::new(view.trace, nesting);
            for row in view.trace.rows().rev() {
                prop_assert_eq!(causes.of(row), cause_of(view.trace, nesting, row));
            }
        }
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

//! The causes of many rows: every name is judged once, and every row once with all around it.

use gpuscope_trace::{Class, Nesting, Row, Trace, View};

use super::Cause;

pub(crate) struct Causes<'a> {
    trace: &'a Trace,
    nesting: &'a Nesting,
    /// By name and sort of class, what the name alone tells.
    names: Vec<[Told; 3]>,
    /// By row, which of it and all around it tells most.
    told_by: Vec<u32>,
    climbed: Vec<Row>,
}

#[derive(Clone, Copy)]
enum Told {
    NotYet,
    Known(Option<Cause>),
}

const NOT_YET: u32 = 0;
const NOTHING: u32 = 1;
const FIRST_ROW: u32 = 2;

impl<'a> Causes<'a> {
    pub(crate) fn new(view: View<'a>) -> Causes<'a> {
        Causes {
            trace: view.trace,
            nesting: view.index.nesting(view.trace),
            names: vec![[Told::NotYet; 3]; view.trace.strings.len()],
            told_by: vec![NOT_YET; view.trace.len()],
            climbed: Vec::new(),
        }
    }

    /// The cause of time spent in a row.
    pub(crate) fn of(&mut self, row: Row) -> Cause {
        let mut known = NOTHING;
        let mut next = Some(row);
        while let Some(here) = next {
            known = self.told_by[here as usize];
            if known != NOT_YET {
                break;
            }
            self.climbed.push(here);
            next = self.nesting.parent(here);
        }
        let mut told_by = known.checked_sub(FIRST_ROW);
        while let Some(here) = self.climbed.pop() {
            let weight = |cause: Option<Cause>| cause.map(Cause::weight);
            let around = told_by.and_then(|row| self.telling(row));
            let own = self.telling(here);
            // Of equal weights the innermost is taken.
            if own.is_some() && weight(own) >= weight(around) {
                told_by = Some(here);
            }
            self.told_by[here as usize] = told_by.map_or(NOTHING, |row| row.saturating_add(FIRST_ROW));
        }
        let trace = self.trace;
        let of_class = || Cause::of_class(trace.class(row), trace.name(row));
        told_by.and_then(|row| self.telling(row)).unwrap_or_else(of_class)
    }

    fn telling(&mut self, row: Row) -> Option<Cause> {
        let (class, name) = (self.trace.class(row), self.trace.name_id(row));
        let sort = match class {
            class if class.is_call() => 0,
            Class::Annotation => 1,
            _ => 2,
        };
        let told = &mut self.names[name.index()][sort];
        if let Told::Known(cause) = *told {
            return cause;
        }
        let cause = Cause::telling(class, self.trace.strings.get(name));
        *told = Told::Known(cause);
        cause
    }
}

#[cfg(test)]
mod tests {
    use gpuscope_trace::Selection;
    use proptest::prelude::*;

    use super::*;
    use crate::idle::cause_of;
    use crate::testing::trace;

    const NAMES: [(&str, &str); 8] = [
        ("cpu_op", "aten::item"),
        ("cpu_op", "aten::add"),
        ("user_annotation", "enumerate(DataLoader)#next"),
        ("user_annotation", "_compile.compile_inner"),
        ("python_function", "_compile.py(3): inner"),
        ("python_function", "Python GC"),
        ("user_annotation", "Optimizer.step#Adam.step"),
        ("cuda_runtime", "cudaMalloc"),
    ];

    proptest! {
        #[test]
        fn known_or_not_the_cause_is_the_same(
            work in proptest::collection::vec((0..NAMES.len(), 0..60i64, 1..40i64), 0..25)
        ) {
            let mut sample = trace();
            for (name, start, dur) in work {
                sample = sample.host(NAMES[name].0, NAMES[name].1, start..start + dur);
            }
            let loaded = sample.build();
            let everything = Selection::everything();
            let view = loaded.view(&everything);
            let mut causes = Causes::new(view);
            for row in view.trace.rows() {
                let (expected, _) = cause_of(view.trace, view.index.nesting(view.trace), row);
                prop_assert_eq!(causes.of(row), expected);
            }
        }
    }
}

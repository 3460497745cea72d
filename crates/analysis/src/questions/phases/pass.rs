//! Which pass a host event is part of, by what is around it and by itself.

use gpuscope_trace::{Arg, Bitmap, Class, Row, View};

use super::clue::{Clue, Clues};
use crate::model::engine::ENGINE;
use crate::shared::inherit::Inherited;

/// What is known about a place in the program, from the outside in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    Unknown,
    /// Inside frames or annotations, and none of them is of a pass.
    Outside,
    Data,
    Forward,
    /// An operator that autograd would record, and nothing else says anything.
    Recordable,
    /// The backward pass where gradients are ready to be reduced: outside the backward of any operator.
    Backward,
    BackwardOfOperator,
    GradientSync,
    Recompute,
    Optimizer,
}

impl Pass {
    fn is_backward(self) -> bool {
        matches!(self, Pass::Backward | Pass::BackwardOfOperator | Pass::Recompute)
    }

    /// Autograd records nothing while it differentiates, but for what it runs again.
    fn then_recordable(self) -> Pass {
        match self {
            Pass::Unknown | Pass::Outside => Pass::Recordable,
            Pass::BackwardOfOperator => Pass::Recompute,
            pass => pass,
        }
    }

    fn then(self, clue: Clue) -> Pass {
        match clue {
            Clue::Named if self == Pass::Unknown => Pass::Outside,
            Clue::Compiled if matches!(self, Pass::Unknown | Pass::Outside) => Pass::Forward,
            Clue::None | Clue::Named | Clue::Compiled => self,
            Clue::Recompute => Pass::Recompute,
            Clue::BackwardOfOperator => Pass::BackwardOfOperator,
            Clue::Optimizer => Pass::Optimizer,
            // A forward operator in the backward pass belongs to it, be it recomputed or differentiated again.
            Clue::Backward | Clue::Forward | Clue::GradientSync if self.is_backward() => self,
            Clue::GradientReady | Clue::Backward => Pass::Backward,
            Clue::Forward if self == Pass::Data => self,
            Clue::Forward => Pass::Forward,
            Clue::Data | Clue::GradientSync
                if !matches!(self, Pass::Unknown | Pass::Outside | Pass::Recordable) =>
            {
                self
            }
            Clue::Data => Pass::Data,
            Clue::GradientSync => Pass::GradientSync,
        }
    }
}

/// What each operator says by its links, before names are looked at.
struct Links {
    /// Operators that a backward operator undoes, and those they are part of.
    forward: Bitmap,
    /// Operators with a number, linked or not.
    recordable: Bitmap,
    /// Operators with a forward thread.
    backward: Bitmap,
}

impl Links {
    fn new(view: View<'_>) -> Links {
        let (trace, nesting) = (view.trace, view.index.nesting(view.trace));
        let autograd = view.index.autograd(trace);
        let empty = || Bitmap::empty(trace.len());
        let mut links = Links { forward: empty(), recordable: empty(), backward: empty() };
        for (row, number) in trace.args.iter(Arg::SequenceNumber) {
            if trace.args.int(row, Arg::FwdThreadId).unwrap_or(0) != 0 {
                links.backward.insert(row);
            } else if number >= 0 {
                links.recordable.insert(row);
            }
        }
        // What is left of a composite operator around a linked one is forward, too.
        for forward in autograd.forward_operators() {
            let mut here = Some(forward);
            while let Some(row) = here.filter(|row| {
                trace.class(*row) == Class::Operator
                    && !links.backward.has(*row)
                    && !trace.name(*row).starts_with(ENGINE)
            }) {
                if !links.forward.insert(row) {
                    break;
                }
                here = nesting.parent(row);
            }
        }
        links
    }
}

type Outermost<'v> = Box<dyn FnMut(Row) -> Pass + 'v>;
type Inwards<'v> = Box<dyn FnMut(Pass, Row) -> Pass + 'v>;

/// The pass of every launching call that is asked for.
pub(super) struct Passes<'v> {
    inherited: Inherited<'v, Pass, Outermost<'v>, Inwards<'v>>,
}

impl<'v> Passes<'v> {
    pub(super) fn new(view: View<'v>) -> Passes<'v> {
        let trace = view.trace;
        let mut clues = Clues::new(trace);
        let links = Links::new(view);
        let engine = engine_threads(view, &mut clues, &links);
        let root = move |row: Row| {
            if engine[trace.track(row).thread.0 as usize] { Pass::Backward } else { Pass::Unknown }
        };
        let step = move |outside: Pass, row: Row| step(&mut clues, &links, outside, row);
        let nesting = view.index.nesting(trace);
        Passes { inherited: Inherited::new(nesting, trace.len(), Box::new(root), Box::new(step)) }
    }

    pub(super) fn of(&mut self, row: Row) -> Pass {
        self.inherited.of(row)
    }
}

fn step(clues: &mut Clues<'_>, links: &Links, outside: Pass, row: Row) -> Pass {
    let clue = clues.of(row);
    if !matches!(clue, Clue::None | Clue::Named) {
        outside.then(clue)
    } else if links.backward.has(row) {
        // The frame around it has told what it is.
        if outside.is_backward() { outside } else { Pass::BackwardOfOperator }
    } else if links.forward.has(row) {
        outside.then_recordable().then(Clue::Forward)
    } else if links.recordable.has(row) {
        outside.then_recordable()
    } else {
        outside.then(clue)
    }
}

/// Threads of autograd's engine alone: whatever runs there is of the backward pass, also what stands outside its frames.
fn engine_threads(view: View<'_>, clues: &mut Clues<'_>, links: &Links) -> Vec<bool> {
    let (trace, nesting) = (view.trace, view.index.nesting(view.trace));
    let mut engine = vec![false; trace.tracks.threads()];
    let mut shared = vec![false; trace.tracks.threads()];
    for row in trace.rows() {
        let thread = trace.track(row).thread.0 as usize;
        match clues.of(row) {
            Clue::BackwardOfOperator | Clue::GradientReady => engine[thread] = true,
            Clue::Optimizer | Clue::Data => shared[thread] = true,
            _ if nesting.parent(row).is_none() => {
                let is_own = trace.class(row) == Class::Annotation && !trace.name(row).starts_with("nccl:");
                shared[thread] |= is_own || links.forward.has(row);
            }
            _ => {}
        }
    }
    engine.iter().zip(&shared).map(|(engine, shared)| *engine && !*shared).collect()
}

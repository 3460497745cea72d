//! What GPU work is for: the phase of the training step, and the modules whose forward pass it is or undoes.

use serde::Serialize;

use crate::action::Action;
use crate::event::Name;
use crate::program::Builder;

/// A phase of a training step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Forward,
    Backward,
    Recompute,
    GradientCommunication,
    Optimizer,
    Data,
    Other,
}

/// A model, a block, half a block, a layer.
const DEPTH: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Purpose {
    pub(crate) phase: Phase,
    /// The modules around it, outermost first.
    pub(crate) modules: Modules,
}

impl Purpose {
    pub(crate) const NONE: Purpose = Purpose { phase: Phase::Other, modules: Modules([None; DEPTH]) };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Modules([Option<Name>; DEPTH]);

impl Modules {
    fn push(&mut self, module: Name) {
        if let Some(free) = self.0.iter_mut().find(|place| place.is_none()) {
            *free = Some(module);
        }
    }

    fn pop(&mut self) {
        if let Some(last) = self.0.iter_mut().rev().find(|place| place.is_some()) {
            *last = None;
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Name> {
        self.0.into_iter().flatten()
    }
}

impl Builder<'_> {
    /// What follows is for this phase; answers what was before, to go back to.
    pub(crate) fn phase(&mut self, phase: Phase) -> Phase {
        let before = self.purpose.phase;
        self.purpose.phase = phase;
        self.say_purpose();
        before
    }

    /// What follows is for these modules; answers those before, to go back to.
    pub(crate) fn modules(&mut self, modules: Modules) -> Modules {
        let before = self.purpose.modules;
        self.purpose.modules = modules;
        self.say_purpose();
        before
    }

    pub(crate) fn enter(&mut self, module: Name) {
        self.purpose.modules.push(module);
        self.say_purpose();
    }

    pub(crate) fn leave(&mut self) {
        self.purpose.modules.pop();
        self.say_purpose();
    }

    fn say_purpose(&mut self) {
        self.push(Action::For(self.purpose));
    }
}

//! Activation checkpointing: a block keeps nothing but its input, and its forward pass runs again when the backward
//! pass gets to it.

use crate::action::Action;
use crate::event::Link;
use crate::fault::Fault;
use crate::layers::Node;
use crate::program::Builder;
use crate::purpose::Phase;
use crate::shapes::Shape;

/// What a forward pass keeps for the backward pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keeping {
    Activations,
    /// Only enough to run again.
    Inputs,
}

impl Builder<'_> {
    /// The planted recomputation, by its place in the plan; a replayed graph has none.
    pub(crate) fn recomputation(&self) -> Option<usize> {
        let planted = |(_, fault): &(usize, Fault)| *fault == Fault::Recomputation;
        if self.graph.is_some() {
            return None;
        }
        self.faults_here().into_iter().find(planted).map(|(index, _)| index)
    }

    /// A block of the forward pass whose activations are thrown away.
    pub(crate) fn checkpointed_block(&mut self, fault: usize, layer: u32) {
        let sequence = self.sequence;
        self.sequence += 1;
        self.push(Action::Plant(fault));
        self.python("torch/utils/checkpoint.py(231): forward");
        self.op("CheckpointFunction", Shape::None, Link::Forward { sequence });
        self.push(Action::Planted);
        self.keeping = Keeping::Inputs;
        self.block(layer);
        self.keeping = Keeping::Activations;
        self.close();
        self.end_python();
        if let Some(node) = self.tape.last_mut() {
            node.checkpoint = Some((fault, sequence));
        }
    }

    /// Runs a block's forward pass again, within the operator of the backward pass that `end_recomputation` closes.
    pub(crate) fn recompute(&mut self, (fault, sequence): (usize, u32), layer: u32) -> Vec<Node> {
        self.push(Action::Plant(fault));
        self.op(
            "autograd::engine::evaluate_function: CheckpointFunctionBackward",
            Shape::None,
            Link::Evaluation { sequence },
        );
        self.op("CheckpointFunctionBackward", Shape::None, Link::Backward { sequence });
        self.python("torch/utils/checkpoint.py(271): backward");
        let tape = std::mem::take(&mut self.tape);
        let before = self.phase(Phase::Recompute);
        self.block(layer);
        self.phase(before);
        self.push(Action::Planted);
        std::mem::replace(&mut self.tape, tape)
    }

    pub(crate) fn end_recomputation(&mut self) {
        self.end_python();
        self.close();
        self.close();
    }
}

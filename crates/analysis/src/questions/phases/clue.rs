//! What the name of a host event says about the pass that runs inside it.

use gpuscope_trace::{Arg, Class, FETCHING, Group, Row, StrId, Trace};

use crate::model::engine::{self, ENGINE, Pass};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clue {
    /// Nothing at all.
    None,
    /// Somebody named this stretch, and not after a pass; or a Python frame, so that all frames around can be seen.
    Named,
    Data,
    /// A module, a loss, an annotation of the forward pass.
    Forward,
    Backward,
    /// The engine works on one operator's gradient.
    BackwardOfOperator,
    /// The engine adds up the gradient of a parameter, where hooks reduce it over the ranks.
    GradientReady,
    /// Gradients are reduced outside the backward pass.
    GradientSync,
    Recompute,
    Optimizer,
    /// Compiled code: forward, unless something around it says otherwise.
    Compiled,
}

/// Reads each name once.
pub(super) struct Clues<'t> {
    trace: &'t Trace,
    /// Per name: as an operator, as an annotation, as a Python frame.
    names: Vec<[Option<Clue>; 3]>,
    /// Per text of `Call stack` and `Module Hierarchy`, which are never the same; empty if the trace has neither.
    stacks: Vec<Option<Clue>>,
}

impl<'t> Clues<'t> {
    pub(super) fn new(trace: &'t Trace) -> Clues<'t> {
        let strings = trace.strings.len();
        let has_stacks = !trace.args.table(Group::Stack).is_empty();
        let stacks = if has_stacks { vec![None; strings] } else { Vec::new() };
        Clues { trace, names: vec![[None; 3]; strings], stacks }
    }

    pub(super) fn of(&mut self, row: Row) -> Clue {
        let class = self.trace.class(row);
        let place = match class {
            Class::Operator => 0,
            Class::Annotation => 1,
            Class::PythonFrame => 2,
            _ => return Clue::None,
        };
        let name = self.trace.name_id(row);
        let known = &mut self.names[name.index()][place];
        let clue = *known.get_or_insert_with(|| of_name(class, self.trace.strings.get(name)));
        if clue == Clue::None && !self.stacks.is_empty() { self.of_stack(row) } else { clue }
    }

    /// Older traces have no frames but the operators' call stacks.
    fn of_stack(&mut self, row: Row) -> Clue {
        let mut clue = Clue::None;
        for arg in [Arg::CallStack, Arg::ModuleHierarchy] {
            let Some(text) = self.trace.args.text(row, arg).filter(|text| *text != StrId::EMPTY) else {
                continue;
            };
            let read = || of_text(arg, self.trace.strings.get(text));
            let said = *self.stacks[text.index()].get_or_insert_with(read);
            if matches!(clue, Clue::None | Clue::Named) && said != Clue::None {
                clue = said;
            }
        }
        clue
    }
}

fn of_text(arg: Arg, text: &str) -> Clue {
    if text.is_empty() {
        return Clue::None;
    }
    if arg == Arg::ModuleHierarchy {
        return Clue::Forward;
    }
    // The innermost frame comes first.
    let clues = text.split(';').map(|frame| of_frame(frame.trim()));
    let mut said = clues.filter(|clue| !matches!(clue, Clue::None | Clue::Named));
    said.next().unwrap_or(Clue::Named)
}

fn of_name(class: Class, name: &str) -> Clue {
    match engine::pass(class, name) {
        Some(Pass::Recomputation) => return Clue::Recompute,
        Some(Pass::Backward) => return of_engine(name.strip_prefix(ENGINE).unwrap_or_default()),
        None => {}
    }
    match class {
        Class::Annotation => of_annotation(name),
        Class::PythonFrame => of_frame(name),
        _ if name.starts_with("Torch-Compiled Region") => Clue::Compiled,
        _ => Clue::None,
    }
}

fn of_engine(function: &str) -> Clue {
    let adds_up =
        ["AccumulateGrad", "PostBackward", "PostAccumulate"].iter().any(|ready| function.contains(ready));
    if adds_up { Clue::GradientReady } else { Clue::BackwardOfOperator }
}

fn of_annotation(name: &str) -> Clue {
    let lower = name.trim_matches(['#', ' ']).to_ascii_lowercase();
    let first = lower.split([':', ' ', '#', '.', '(', '_']).next().unwrap_or_default();
    match first {
        // Steps and collectives are everywhere and tell nothing.
        "profilerstep" | "nccl" | "gloo" | "mpi" | "ucc" => Clue::None,
        "forward" | "fwd" => Clue::Forward,
        "backward" | "bwd" => Clue::Backward,
        "optimizer" | "zero" => Clue::Optimizer,
        _ if lower.contains("dataparallel.forward") => Clue::Forward,
        _ if lower.contains("compiledfxgraph") => Clue::Compiled,
        _ if FETCHING.iter().any(|word| lower.contains(word)) => Clue::Data,
        _ if reduces_gradients(&lower) => Clue::GradientSync,
        _ => Clue::Named,
    }
}

/// `path/to/file.py(12): function`, `nn.Module: Linear_3`, `<built-in method …>`.
fn of_frame(name: &str) -> Clue {
    if name.starts_with("nn.Module: ") {
        return Clue::Forward;
    }
    let Some((file, function)) = name.split_once(": ") else { return Clue::Named };
    let file = file.split_once(".py(").map_or(file, |(file, _)| file);
    let of_torch = |place: &str| file.starts_with(place) || file.contains(&format!("/{place}"));
    match () {
        () if of_torch("torch/optim/") => Clue::Optimizer,
        () if of_torch("torch/utils/data/") => Clue::Data,
        () if of_torch("torch/nn/modules/") || of_torch("torch/nn/functional") => Clue::Forward,
        () if function == "backward" || function == "_engine_run_backward" => Clue::Backward,
        () if function == "forward" => Clue::Forward,
        () if reduces_gradients(function) => Clue::GradientSync,
        () => Clue::Named,
    }
}

fn reduces_gradients(name: &str) -> bool {
    name.contains("grad") && ["reduce", "sync", "finalize"].iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_speak_for_themselves() {
        for (class, name, clue) in [
            (Class::Operator, "aten::mm", Clue::None),
            (Class::Operator, "autograd::engine::evaluate_function: MmBackward0", Clue::BackwardOfOperator),
            (
                Class::Operator,
                "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
                Clue::GradientReady,
            ),
            (
                Class::Operator,
                "autograd::engine::evaluate_function: CheckpointFunctionBackward",
                Clue::BackwardOfOperator,
            ),
            (Class::Operator, "CheckpointFunctionBackward", Clue::Recompute),
            (Class::Operator, "CheckpointFunction", Clue::None),
            (Class::Annotation, "ProfilerStep#12", Clue::None),
            (Class::Annotation, "nccl:all_reduce", Clue::None),
            (Class::Annotation, "## forward ##", Clue::Forward),
            (Class::Annotation, "## forward:all2all_global_emb ##", Clue::Forward),
            (Class::Annotation, "DistributedDataParallel.forward", Clue::Forward),
            (Class::Annotation, "## backward ##", Clue::Backward),
            (Class::Annotation, "## Call CompiledFxGraph fud64jsrxc ##", Clue::Compiled),
            (Class::Operator, "Torch-Compiled Region: 0/0", Clue::Compiled),
            (Class::Annotation, "Optimizer.step#AdamW.step", Clue::Optimizer),
            (Class::Annotation, "## zero_grad ##", Clue::Optimizer),
            (Class::Annotation, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", Clue::Data),
            (Class::Annotation, "## wait_for_batch ##", Clue::Data),
            (Class::Annotation, "## metrics:publish ##", Clue::Named),
            (Class::Annotation, "finalize_model_grads", Clue::GradientSync),
            (Class::PythonFrame, "nn.Module: Linear_3", Clue::Forward),
            (Class::PythonFrame, "torch/optim/adamw.py(221): step", Clue::Optimizer),
            (
                Class::PythonFrame,
                "/opt/lib/python3/site-packages/torch/optim/sgd.py(1): step",
                Clue::Optimizer,
            ),
            (Class::PythonFrame, "torch/_tensor.py(592): backward", Clue::Backward),
            (Class::PythonFrame, "torch/utils/data/dataloader.py(788): _next_data", Clue::Data),
            (Class::PythonFrame, "torch/utils/checkpoint.py(1500): recompute_fn", Clue::Recompute),
            (Class::PythonFrame, "torch/nn/functional.py(3479): cross_entropy", Clue::Forward),
            (Class::PythonFrame, "model.py(171): forward", Clue::Forward),
            (Class::PythonFrame, "train.py(112): train_step", Clue::Named),
            (Class::PythonFrame, "<built-in function len>", Clue::Named),
        ] {
            assert_eq!(of_name(class, name), clue, "{name}");
        }
    }

    #[test]
    fn a_call_stack_speaks_by_its_innermost_telling_frame() {
        let stack = "torch/nn/functional.py(3): linear;model.py(2): run;torch/_tensor.py(1): backward";
        assert_eq!(of_text(Arg::CallStack, stack), Clue::Forward);
        assert_eq!(of_text(Arg::CallStack, "train.py(3): step;train.py(9): main"), Clue::Named);
        assert_eq!(of_text(Arg::ModuleHierarchy, "top.Net.fc.Linear"), Clue::Forward);
    }
}

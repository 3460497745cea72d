//! The backward pass: the tape read from its end, on the autograd thread, with gradients reduced as they are complete.

use crate::action::Action;
use crate::catalog;
use crate::costs::Costs;
use crate::event::{Link, Stream};
use crate::experts;
use crate::fault::Fault;
use crate::layers::{Node, NodeKind};
use crate::plan::Sharding;
use crate::program::Builder;
use crate::purpose::Phase;
use crate::shapes::{Shape, Weight};
use crate::transfers;

impl Builder<'_> {
    pub(crate) fn backward(&mut self, tapes: Vec<Vec<Node>>) {
        let stage = self.plan.stage_of(self.rank);
        let exposed = self.plan.faults.contains(&Fault::ExposedAllReduce);
        let microbatches = tapes.len();
        let mut late_buckets = Vec::new();
        for (done, tape) in tapes.into_iter().enumerate() {
            let last_microbatch = done + 1 == microbatches;
            if stage + 1 < self.plan.stage_count() {
                self.phase(Phase::Other);
                transfers::receive(self, stage + 1);
            }
            self.phase(Phase::Backward);
            self.python("torch/_tensor.py(592): backward");
            self.python("torch/autograd/graph.py(823): _engine_run_backward");
            self.work(9_000);
            self.on_autograd_thread();
            if self.plan.sharding == Sharding::Sharded {
                transfers::gather_weights(self, false);
            }
            let (mut tape, mut recomputing) = (tape, false);
            while let Some(mut node) = tape.pop() {
                if let Some(layer) = node.ends_layer {
                    self.weights_for_block(layer);
                    if let Some(checkpoint) = node.checkpoint {
                        let again = self.recompute(checkpoint, layer);
                        tape.truncate((tape.len() + 1).saturating_sub(again.len()));
                        tape.extend(again);
                        node = tape.pop().unwrap_or(node);
                        recomputing = true;
                    }
                }
                self.node_backward(&node);
                if node.completes_layer.is_some() && std::mem::take(&mut recomputing) {
                    self.end_recomputation();
                }
                if let (Some(layer), true) = (node.completes_layer, last_microbatch) {
                    if exposed {
                        late_buckets.extend(self.bucket_at(layer));
                    } else if let Some(layers) = self.bucket_at(layer) {
                        transfers::reduce_gradients(self, layers);
                    }
                }
            }
            if last_microbatch {
                for layers in std::mem::take(&mut late_buckets) {
                    transfers::reduce_gradients(self, layers);
                }
            }
            self.on_main_thread();
            self.work(6_000);
            self.end_python();
            self.end_python();
            if stage > 0 {
                self.phase(Phase::Other);
                transfers::send(self, stage - 1);
            }
        }
    }

    /// How many blocks the bucket that is full once this layer's gradients are there holds; none if it is not full.
    fn bucket_at(&self, layer: u32) -> Option<u32> {
        let layers = self.plan.layers_of_stage(self.plan.stage_of(self.rank));
        let per_bucket = self.plan.layers_per_bucket.max(1);
        let waiting = layers.end - layer;
        if waiting.is_multiple_of(per_bucket) {
            Some(per_bucket)
        } else if layer == layers.start {
            Some(waiting % per_bucket)
        } else {
            None
        }
    }

    fn links(&self, node: &Node) -> (Link, Link) {
        if self.plan.cuda_graph && self.plan.sharding == Sharding::Replicated {
            return (Link::None, Link::None);
        }
        (Link::Evaluation { sequence: node.sequence }, Link::Backward { sequence: node.sequence })
    }

    fn node_backward(&mut self, node: &Node) {
        let (evaluation, backward) = self.links(node);
        let (wrapper, name) = names(node.kind);
        let outside = self.modules(node.modules);
        self.op(wrapper, Shape::None, evaluation);
        self.op(name, Shape::None, backward);
        match node.kind {
            NodeKind::Embedding => {
                let bytes = 2 * self.costs.embedding_weights();
                self.step_op(
                    "aten::embedding_dense_backward",
                    Shape::EmbeddingBackward,
                    &catalog::EMBEDDING_BACKWARD,
                    Costs::streaming(bytes),
                );
            }
            NodeKind::LayerNorm => self.layer_norm_backward(),
            NodeKind::Linear(weight) => {
                if weight == Weight::Down {
                    experts::dispatch(self);
                }
                self.linear_backward(weight);
                if weight == Weight::Up {
                    experts::combine(self);
                }
                if matches!(weight, Weight::Qkv | Weight::Up) {
                    transfers::add_up_activations(self);
                }
            }
            NodeKind::Attention => {
                let ns = self.costs.attention() * 5 / 2;
                self.step_op(
                    "aten::_scaled_dot_product_flash_attention_backward",
                    Shape::AttentionBackward,
                    &catalog::FLASH_BACKWARD,
                    ns,
                );
            }
            NodeKind::Gelu => {
                let bytes = 3 * self.costs.activation(4 * self.costs.hidden);
                self.step_op(
                    "aten::gelu_backward",
                    Shape::WidePair,
                    &catalog::GELU_BACKWARD,
                    Costs::streaming(bytes),
                );
            }
            NodeKind::Add => {
                if self.full() {
                    self.op("aten::add_", Shape::HiddenPair, Link::None);
                    self.launch(
                        &catalog::ADD,
                        Costs::streaming(3 * self.costs.activation(self.costs.hidden)),
                    );
                    self.close();
                }
            }
            NodeKind::Loss => {
                let bytes = 3 * self.costs.logits();
                self.step_op(
                    "aten::_log_softmax_backward_data",
                    Shape::LogitsBackward,
                    &catalog::SOFTMAX_BACKWARD,
                    Costs::streaming(bytes),
                );
            }
        }
        self.close();
        if let Some((bytes, address)) = node.kept {
            self.free(bytes, address);
        }
        self.close();
        self.modules(outside);
        if let (true, NodeKind::Linear(weight)) = (self.full(), node.kind) {
            let (inputs, outputs) = weight.size(self.costs.hidden);
            self.accumulate_gradient(2 * inputs * outputs);
        }
    }

    /// An operator with one kernel.
    fn step_op(&mut self, name: &'static str, shape: Shape, spec: &'static catalog::KernelSpec, ns: i64) {
        self.op(name, shape, Link::None);
        self.work(2_400);
        self.launch(spec, ns);
        self.close();
    }

    fn layer_norm_backward(&mut self) {
        let bytes = self.costs.activation(self.costs.hidden);
        self.op("aten::native_layer_norm_backward", Shape::LayerNormBackward, Link::None);
        self.work(3_300);
        self.launch(&catalog::LAYER_NORM_BACKWARD_INPUT, Costs::streaming(3 * bytes));
        self.launch(&catalog::LAYER_NORM_BACKWARD_WEIGHT, Costs::streaming(2 * bytes));
        self.close();
    }

    fn linear_backward(&mut self, weight: Weight) {
        let (inputs, outputs) = weight.size(self.costs.hidden);
        let ns = self.costs.matmul(inputs, outputs);
        self.step_op("aten::mm", Shape::InputGradient(weight), &catalog::GEMM_INPUT_GRADIENT, ns);
        self.step_op("aten::mm", Shape::WeightGradient(weight), &catalog::GEMM_WEIGHT_GRADIENT, ns);
        if self.full() {
            let bytes = self.costs.activation(outputs);
            self.step_op("aten::sum", Shape::Hidden, &catalog::BIAS_GRADIENT, Costs::streaming(bytes));
        }
    }

    fn accumulate_gradient(&mut self, bytes: i64) {
        self.op(
            "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
            Shape::None,
            Link::None,
        );
        self.op("torch::autograd::AccumulateGrad", Shape::None, Link::None);
        self.keep_gradient(bytes);
        self.op("aten::detach", Shape::None, Link::None);
        self.close();
        self.close();
        self.close();
    }

    /// At the last operation of a block, the first met going backwards: its weights are needed, the next block's are
    /// asked for.
    fn weights_for_block(&mut self, layer: u32) {
        if self.plan.sharding == Sharding::Sharded {
            transfers::wait_for_weights(self);
            if layer > self.plan.layers_of_stage(self.plan.stage_of(self.rank)).start {
                transfers::gather_weights(self, false);
            }
        }
    }

    /// Makes later compute work wait for a CUDA event.
    pub(crate) fn compute_waits(&mut self, slot: u32) {
        self.push(Action::Wait { stream: Stream::Compute, slot });
    }
}

/// The engine's and the operator's name of a backward operation.
fn names(kind: NodeKind) -> (&'static str, &'static str) {
    match kind {
        NodeKind::Embedding => {
            ("autograd::engine::evaluate_function: EmbeddingBackward0", "EmbeddingBackward0")
        }
        NodeKind::LayerNorm => {
            ("autograd::engine::evaluate_function: NativeLayerNormBackward0", "NativeLayerNormBackward0")
        }
        NodeKind::Linear(_) => ("autograd::engine::evaluate_function: AddmmBackward0", "AddmmBackward0"),
        NodeKind::Attention => (
            "autograd::engine::evaluate_function: ScaledDotProductFlashAttentionBackward0",
            "ScaledDotProductFlashAttentionBackward0",
        ),
        NodeKind::Gelu => ("autograd::engine::evaluate_function: GeluBackward0", "GeluBackward0"),
        NodeKind::Add => ("autograd::engine::evaluate_function: AddBackward0", "AddBackward0"),
        NodeKind::Loss => ("autograd::engine::evaluate_function: LogSoftmaxBackward0", "LogSoftmaxBackward0"),
    }
}

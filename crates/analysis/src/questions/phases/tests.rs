use gpuscope_trace::{Arg, Selection};

use super::*;
use crate::testing::{Loaded, Sample, trace};

/// A launch on a thread and the kernel it launches.
fn launch(sample: Sample, thread: i64, at: i64, kernel: &str) -> Sample {
    let call =
        sample.on_thread(thread, "cuda_runtime", "cudaLaunchKernel", at..at + 1, &[(Arg::Correlation, at)]);
    call.kernel(kernel, 7, 10_000 + at..10_000 + at + 1, at)
}

fn phases(loaded: &Loaded) -> Vec<(String, Phase)> {
    let selection = Selection::everything();
    let view = loaded.view(&selection);
    let events = view.index.gpu(view.trace);
    events.iter().map(|event| view.trace.name(event.row).to_owned()).zip(of(view)).collect()
}

fn expect(sample: Sample, expected: &[(&str, Phase)]) {
    let expected: Vec<_> = expected.iter().map(|(name, phase)| ((*name).to_owned(), *phase)).collect();
    assert_eq!(phases(&sample.build()), expected);
}

const FORWARD: &[(Arg, i64)] = &[(Arg::SequenceNumber, 5), (Arg::FwdThreadId, 0)];
const BACKWARD: &[(Arg, i64)] = &[(Arg::SequenceNumber, 5), (Arg::FwdThreadId, 1)];
const ENGINE: &str = "autograd::engine::evaluate_function: ";

#[test]
fn operators_are_known_by_their_links_alone() {
    let s = trace().on_thread(1, "cpu_op", "aten::loss", 0..100, &[]);
    let s = s.on_thread(1, "cpu_op", "aten::softmax", 10..50, FORWARD);
    let s = launch(s, 1, 20, "softmax");
    let s = launch(s, 1, 60, "rest of the composite");
    let s = s.on_thread(1, "cpu_op", "aten::no_grad", 110..120, &[]);
    let s = launch(s, 1, 112, "nobody knows");
    let s = s.on_thread(2, "cpu_op", "SoftmaxBackward0", 200..300, BACKWARD);
    let s = launch(s, 2, 220, "softmax backward");
    expect(
        s,
        &[
            ("softmax", Phase::Forward),
            ("rest of the composite", Phase::Forward),
            ("nobody knows", Phase::Unattributed),
            ("softmax backward", Phase::Backward),
        ],
    );
}

#[test]
fn gradients_are_reduced_where_no_operator_is_differentiated() {
    let accumulate = format!("{ENGINE}torch::autograd::AccumulateGrad");
    let s = trace().on_thread(2, "cpu_op", &format!("{ENGINE}MmBackward0"), 0..100, BACKWARD);
    let s = s.on_thread(2, "cpu_op", "MmBackward0", 5..95, BACKWARD);
    let s = launch(s, 2, 10, "gemm");
    let s = launch(s, 2, 20, "ncclDevKernel_AllReduce_of_activations");
    let s = s.on_thread(2, "cpu_op", &accumulate, 100..200, &[]);
    let s = launch(s, 2, 110, "bucket copy");
    let s = launch(s, 2, 120, "ncclDevKernel_AllReduce_of_gradients");
    let s = launch(s, 2, 130, "ncclDevKernel_AllGather_of_weights");
    // After the engine's last frame, on its own thread.
    let s = launch(s, 2, 250, "ncclDevKernel_ReduceScatter");
    expect(
        s,
        &[
            ("gemm", Phase::Backward),
            ("ncclDevKernel_AllReduce_of_activations", Phase::Backward),
            ("bucket copy", Phase::Backward),
            ("ncclDevKernel_AllReduce_of_gradients", Phase::GradientCommunication),
            ("ncclDevKernel_AllGather_of_weights", Phase::Backward),
            ("ncclDevKernel_ReduceScatter", Phase::GradientCommunication),
        ],
    );
}

#[test]
fn what_a_checkpoint_runs_again_is_not_forward_and_its_gradient_is_backward() {
    let checkpoint = format!("{ENGINE}CheckpointFunctionBackward");
    let s = trace().on_thread(2, "cpu_op", &checkpoint, 0..500, BACKWARD);
    let s = s.on_thread(2, "cpu_op", "CheckpointFunctionBackward", 1..499, BACKWARD);
    let s = s.on_thread(2, "python_function", "nn.Module: Block_0", 2..200, &[]);
    let s = s.on_thread(2, "cpu_op", "aten::mm", 10..100, &[(Arg::SequenceNumber, 6), (Arg::FwdThreadId, 0)]);
    let s = launch(s, 2, 20, "gemm again");
    let s = s.on_thread(
        2,
        "cpu_op",
        &format!("{ENGINE}MmBackward0"),
        210..300,
        &[(Arg::SequenceNumber, 6), (Arg::FwdThreadId, 2)],
    );
    let s = launch(s, 2, 220, "gemm backward");
    let s = s.on_thread(2, "cpu_op", &format!("{ENGINE}AddBackward0"), 600..700, BACKWARD);
    let s = s.on_thread(2, "python_function", "torch/utils/checkpoint.py(1111): unpack_hook", 610..680, &[]);
    let s = launch(s, 2, 620, "add again");
    let s = launch(s, 2, 690, "add backward");
    expect(
        s,
        &[
            ("gemm again", Phase::Recompute),
            ("gemm backward", Phase::Backward),
            ("add again", Phase::Recompute),
            ("add backward", Phase::Backward),
        ],
    );
}

#[test]
fn annotations_and_frames_decide_where_there_are_no_links() {
    let s = trace()
        .host("user_annotation", "ProfilerStep#1", 0..1000)
        .host("user_annotation", "enumerate(DataLoader)#_Iter.__next__", 0..50)
        .host("user_annotation", "## forward ##", 100..200)
        .host("user_annotation", "Optimizer.step#SGD.step", 300..400)
        .host("user_annotation", "## metrics ##", 500..600)
        .host("python_function", "torch/_tensor.py(592): backward", 700..800);
    let s = launch(s, 1, 10, "augment");
    let s = launch(s, 1, 110, "gemm");
    let s = launch(s, 1, 310, "sgd");
    let s = launch(s, 1, 510, "accuracy");
    let s = launch(s, 1, 710, "gemm backward");
    let s = launch(s, 1, 900, "in the step alone");
    let s = s.memcpy("Memcpy HtoD (Pinned -> Device)", 7, 10_910..10_911, 900);
    let s = s.kernel("unlaunched", 7, 20_000..20_001, None);
    expect(
        s,
        &[
            ("augment", Phase::Data),
            ("gemm", Phase::Forward),
            ("sgd", Phase::Optimizer),
            ("accuracy", Phase::Other),
            ("gemm backward", Phase::Backward),
            ("in the step alone", Phase::Unattributed),
            ("Memcpy HtoD (Pinned -> Device)", Phase::Data),
            ("unlaunched", Phase::Unattributed),
        ],
    );
}

#[test]
fn call_stacks_serve_where_there_are_no_frames() {
    let s = trace()
        .op_with(&[(Arg::CallStack, "torch/optim/sgd.py(4): step;train.py(3): main")], 0..100)
        .op_with(&[(Arg::ModuleHierarchy, "top.Net.fc.Linear")], 200..300)
        .op_with(&[(Arg::CallStack, "train.py(3): main")], 400..500);
    let s = launch(launch(launch(s, 1, 10, "sgd"), 1, 210, "linear"), 1, 410, "something");
    expect(s, &[("sgd", Phase::Optimizer), ("linear", Phase::Forward), ("something", Phase::Other)]);
}

#[test]
fn the_phases_of_a_rank_make_up_its_gpu_time() {
    let s = trace().step(1, 0..100).step(2, 100..200);
    let s = s.on_thread(1, "python_function", "nn.Module: Net_0", 10..90, &[]);
    let s = launch(s, 1, 20, "a");
    let s = launch(s, 1, 150, "b");
    let loaded = s.kernel("c", 20, 10_020..10_030, 20).kernel("d", 20, 10_025..10_040, 20).build();
    let rank = &loaded.ask(&Phases).ranks[0];
    let time = |phase: Phase| {
        let time = rank.phases[phase as usize];
        (time.count, time.sum_ns.0, time.union_ns.0)
    };
    assert_eq!(time(Phase::Forward), (3, 26, 20));
    assert_eq!(time(Phase::Unattributed), (1, 1, 1));
    assert_eq!(rank.gpu_ns, Ns(27));
    let steps: Vec<(i64, Vec<u64>)> =
        rank.steps.iter().map(|s| (s.step, s.phases.iter().map(|p| p.count).collect())).collect();
    assert_eq!(steps, [(1, vec![3, 0, 0, 0, 0, 0, 0, 0]), (2, vec![0, 0, 0, 0, 0, 0, 0, 1])]);
}

//! How to record what a trace lacks, in the words of the program that recorded it.

use gpuscope_trace::metadata::Recorder;

/// What may be lacking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lacking {
    GpuWork,
    Launches,
    Steps,
    WarmUp,
    Synchronisation,
    Shapes,
    Stacks,
}

/// What to do, as a clause; for a warm-up the option alone.
pub(crate) fn way_to_record(recorder: Recorder, lacking: Lacking) -> &'static str {
    use Lacking::{GpuWork, Launches, Shapes, Stacks, Steps, Synchronisation, WarmUp};
    match (recorder, lacking) {
        (Recorder::TorchProfiler, GpuWork) => {
            "record with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]"
        }
        (Recorder::TorchProfiler, Launches) => {
            "record the host too (ProfilerActivity.CPU), and from before the work is launched"
        }
        (Recorder::TorchProfiler, Steps) => "call profiler.step() in the loop",
        (Recorder::TorchProfiler, WarmUp) => "schedule(wait=1, warmup=2, active=5)",
        (Recorder::TorchProfiler, Synchronisation) => {
            "record with experimental_config=_ExperimentalConfig(enable_cuda_sync_events=True)"
        }
        (Recorder::TorchProfiler, Shapes) => "record with record_shapes=True",
        (Recorder::TorchProfiler, Stacks) => "record Python stacks too (with_stack=True)",
        (Recorder::NsightSystems, GpuWork) => "record with nsys profile -t cuda,nvtx",
        (Recorder::NsightSystems, Launches) => "begin the recording before the work is launched",
        (Recorder::NsightSystems, Steps) => {
            "push an NVTX range around each step (torch.cuda.nvtx.range, nvtxRangePush)"
        }
        (Recorder::NsightSystems, WarmUp) => {
            "nsys profile --capture-range=cudaProfilerApi and cudaProfilerStart() after the warm-up"
        }
        (Recorder::NsightSystems, Synchronisation) => {
            "record with nsys profile -t cuda --cuda-event-trace=true"
        }
        (Recorder::NsightSystems, Shapes) => {
            "run the steps under torch.autograd.profiler.emit_nvtx(record_shapes=True)"
        }
        (Recorder::NsightSystems, Stacks) => {
            "record NVTX ranges or stacks too (nsys profile -t cuda,nvtx --python-backtrace=cuda)"
        }
    }
}

/// Advice against recordings that hold what happens only once.
pub(crate) fn after_warm_up(recorder: Recorder) -> &'static str {
    match recorder {
        Recorder::TorchProfiler => {
            "let a few warm-up steps pass before recording, for instance with schedule(wait=1, warmup=2, active=5)"
        }
        Recorder::NsightSystems => {
            "let a few warm-up steps pass before recording: nsys profile --capture-range=cudaProfilerApi, and \
             cudaProfilerStart() where it is to begin"
        }
    }
}

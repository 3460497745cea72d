"""Where did the time of a GPU go: computing, communication that nothing hides, copies, or nothing at all?

    python examples/gpu_timeline.py [TRACE ...]

Traces are those of torch.profiler or JAX, plain or compressed. Without one, a job of two ranks is simulated. Needs
pandas (``pip install 'gpuscope[pandas]'``) and no GPU.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import gpuscope
from gpuscope.tracelens import GPUEventAnalyser, JaxGPUEventAnalyser

WIDTH = 40
#: What the whole time is made of; the other rows are sums of these, or count hidden time, too.
PARTS = ("computation_time", "exposed_comm_time", "exposed_memcpy_time", "idle_time")


class WithoutCopies(GPUEventAnalyser):
    """What the timeline would be if copies cost nothing: an analyser of one's own is a method of one's own."""

    def get_gpu_event_lists(self) -> Any:
        lists = super().get_gpu_event_lists()
        copies = {id(event) for event in lists["memcpy"]}
        everything = [event for event in lists["all_gpu"] if id(event) not in copies]
        return {**lists, "all_gpu": everything, "memcpy": []}


def show(title: str, frame: Any) -> None:
    print(f"\n{title}")
    print(frame.round(3).to_string(index=False))
    percent = frame.set_index("type")["percent"]
    for part in PARTS:
        print(f"{part:20} {'█' * round(WIDTH * percent[part] / 100)} {percent[part]:.1f} %")


def of_trace(path: Path) -> None:
    is_jax = gpuscope.open(path).inputs[0]["format"] == "jax"
    if is_jax:
        for gpu, frame in JaxGPUEventAnalyser(path).get_breakdown_df_multigpu().items():
            show(f"{path.name}, GPU {gpu}", frame)
        return
    analyser = GPUEventAnalyser(path)
    show(path.name, analyser.get_breakdown_df())
    busy = analyser.compute_metrics()["busy_time"]
    without = WithoutCopies(path).compute_metrics()["busy_time"]
    print(f"Without its copies the GPU would be busy for {(busy - without) / 1000:.3f} ms less.")


def main() -> None:
    if len(sys.argv) > 1:
        for name in sys.argv[1:]:
            of_trace(Path(name))
        return
    with tempfile.TemporaryDirectory() as folder:
        print("Simulating a job of two ranks.")
        for rank in gpuscope.demo(folder, ranks=2, bytes=4_000_000).ranks:
            of_trace(Path(rank.path))


if __name__ == "__main__":
    main()

"""Every block of code in the documents runs, with gpuscope's names in the place of the old ones.

Blocks are read from the documents each time (`documents`), and each has its test: those on collectors and
figures, on the GPU's timeline and on kernels here, others in the files beside this one, and in `live` where
they need torch. The table below names those that cannot run here as they are.
"""

from __future__ import annotations

import inspect
import json
import pydoc
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from cupti_stand_in import StandIn
from documents import Block, all_blocks, blocks, document, renamed, run, tried

pytest.importorskip("pandas")
pytest.importorskip("plotly")

pytest_plugins = ["document_fixtures"]


class Instead(NamedTuple):
    """What a block needs that is not here, and what ran instead."""

    needs: str
    ran: str


TORCH = "torch; without it the command says so"
NSIGHT = "Nsight; without it the script says so"

#: The blocks that need what a machine without a GPU, without torch or without Nsight does not have.
STAND_INS = {
    "000.1": Instead("an NVIDIA GPU with CUPTI", "the block, on a stand-in for cupti-python's module"),
    "000.3": Instead("an NVIDIA GPU with CUPTI", "the block, on a stand-in for cupti-python's module"),
    "001.17": Instead("a dashboard that serves", "what each of its paths names, asked of a run, as JSON"),
    "002.1": Instead(TORCH, "what needs no torch here, all of it in tests/live"),
    "002.2": Instead(TORCH, "all of it in tests/live"),
    "002.8": Instead(
        f"{TORCH}; {NSIGHT}; nsys-ui", "what needs neither here, what needs torch in tests/live"
    ),
    "002.11": Instead(TORCH, "what needs no torch here, all of it in tests/live"),
}


def test_every_block_is_tried() -> None:
    assert len(all_blocks()) >= 37
    assert set(tried()) == set(all_blocks())
    assert set(STAND_INS) <= set(all_blocks())


# Document 000: collectors and figures.


#: What `ExtractModel` gives; the tests with torch have a real one.
PROFILE = SimpleNamespace(
    layers={"conv": {"time_ns": [900, 1_000], "flops": 10**6, "backward_time_ns": [2_000]}},
    timeline=[(1_000, 2_000, 10**6, "conv"), (3_000, 5_000, 10**6, "conv")],
)


@blocks("000.1")
def test_collecting_and_drawing(block: Block, gpu: StandIn, drawn: dict[str, Any]) -> None:
    from gpuscope.cupti import MemoryCopy, finalize_cupti_memcpy, setup_cupti_memcpy

    memcpy_info = MemoryCopy()
    setup_cupti_memcpy(memcpy_info)
    names, _ = run(block, profile=PROFILE, memcpy_info=memcpy_info)
    finalize_cupti_memcpy()

    assert [kernel.duration_ns for kernel in names["kernel_collector"].kernels] == [1_000, 2_000]
    assert memcpy_info.copies[0].bytes == 4096
    assert len(drawn) == 4
    for name, figure in drawn.items():
        assert figure.data, name
        assert not any(note.name == "nothing to draw" for note in figure.layout.annotations), name


@blocks("000.2")
def test_copies_as_a_list(block: Block, drawn: dict[str, Any]) -> None:
    from gpuscope import plots

    names = {name: getattr(plots, name) for name in plots.__all__}
    run(block, memcpy_info=[(500, 4096, 1), (900, -4096, 1)], profile=PROFILE, **names)
    (figure,) = drawn.values()
    assert plots.MEMCPY_KIND_STR[1] in {trace.name for trace in figure.data}


@blocks("000.3")
def test_collecting_kernels(block: Block, gpu: StandIn) -> None:
    from gpuscope.cupti import KernelDataCollector, finalize_cupti_kernels, setup_cupti_kernels

    needed = (KernelDataCollector, finalize_cupti_kernels, setup_cupti_kernels)
    names, _ = run(block, **{each.__name__: each for each in needed})
    assert [kernel.name for kernel in names["kernel_collector"].kernels] == ["gemm", "gemm"]


@blocks("000.4")
def test_collecting_stacks(block: Block) -> None:
    from gpuscope.cupti import StacktraceCollector

    # The place where the block says "run your code" has code here.
    with_code = Block(block.name, block.language, block.text.replace("# ... run", "work()  # ... run"))
    assert with_code.text != block.text
    before = sys.gettrace()
    try:
        names, _ = run(with_code, StacktraceCollector=StacktraceCollector, work=lambda: pydoc.locate("sys"))
        assert sys.gettrace() is None
    finally:
        sys.settrace(before)
    assert "locate" in {call.name for call in names["stacktrace_collector"].calls}


def test_functions_take_the_arguments_in_their_headings() -> None:
    from gpuscope import plots

    headings = re.findall(r"^### \d\. (\w+)\((.*)\)$", document("000"), re.MULTILINE)
    assert len(headings) == 5
    for name, arguments in headings:
        parameters = inspect.signature(getattr(plots, name)).parameters
        for place, argument in enumerate(arguments.split(", ")):
            argument, _, default = argument.partition("=")
            assert list(parameters)[place] == argument
            if default:
                assert repr(parameters[argument].default) == default


# Document 003: the timeline of GPUs.


@blocks("003.1")
def test_breakdown_of_a_gpu(block: Block, place: Path, oracle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["program.py", "trace.json"])
    names, printed = run(block)
    (expected,) = rows(oracle, "h100_bert_small", "breakdown", "ranks")
    columns, *shown = re.findall(r"^\| (\w.*?) *\| (.*?) *\| (.*?) *\|$", document("003"), re.MULTILINE)
    frame = names["df"]
    assert tuple(frame.columns) == columns
    assert frame["type"].tolist() == [kind for kind, _, _ in shown]
    assert len(shown) == 8
    assert all(kind in printed for kind, _, _ in shown)
    times = expected["total"]
    for kind, milliseconds, percent in frame.itertuples(index=False):
        key = kind.removeprefix("total_") if kind in ("total_comm_time", "total_memcpy_time") else kind
        nanoseconds = times[key.replace("_time", "_ns")]
        assert milliseconds == pytest.approx(nanoseconds / 1e6)
        assert percent == pytest.approx(100 * nanoseconds / times["total_ns"])


@blocks("003.2")
def test_breakdown_of_the_gpus_of_jax(
    block: Block, corpus: Path, oracle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = corpus / "jax_conv_08.trace.json.gz"
    monkeypatch.setattr(sys, "argv", ["program.py", str(trace)])
    names, printed = run(block)
    analyser = names["my_gpu_event_analyser"]
    assert re.findall(r"^GPU (\d+)$", printed, re.MULTILINE) == [str(gpu) for gpu in range(8)]
    # "pid is the process id (1-n for n GPUs, a number >100 for the CPU event list)"
    lists = analyser.get_gpu_event_lists_jax()
    assert sorted(lists)[:8] == list(range(1, 9))
    assert all(pid > 100 for pid in sorted(lists)[8:])
    # "get_breakdown_df will return the results from GPU 0"
    of_each = analyser.get_breakdown_df_multigpu()
    assert analyser.get_breakdown_df().equals(of_each[0])
    (expected,) = rows(oracle, "jax_conv_08_json", "breakdown", "ranks")
    for device in expected["devices"]:
        frame = of_each[device["device"]].set_index("type")
        assert frame.loc["busy_time", "time ms"] == pytest.approx(device["busy_ns"] / 1e6)


def test_other_formats_by_a_subclass() -> None:
    from gpuscope.tracelens import GPUEventAnalyser

    class OfAnotherFormat(GPUEventAnalyser):
        def get_gpu_event_lists(self) -> Any:
            made = {"ts": 0, "dur": 2_000, "t_end": 2_000, "name": "gemm"}
            return {"all_gpu": [made], "computation": [made], "communication": [], "memcpy": []}

    frame = OfAnotherFormat([]).get_breakdown_df().set_index("type")
    assert frame.loc["computation_time", "time ms"] == 2.0


# Document 004: kernels of all ranks.


@blocks("004.1")
def test_kernels_of_all_ranks(block: Block, place: Path, oracle: Path, shown: list[dict[str, Any]]) -> None:
    (name,) = set(re.findall(r"#(hta\.trace_analysis\.TraceAnalysis)\.", document("004")))
    names, _ = run(block, TraceAnalysis=pydoc.locate(renamed(name)))
    kinds, kernels = names["kernel_type_metrics_df"], names["kernel_metrics_df"]
    # Like HTA, the class leaves out the last step.
    expected = rows(oracle, "two_ranks", "kernels.drop_last", "types")
    found = dict(zip(kinds["kernel_type"], kinds["sum"], strict=True))
    assert found == pytest.approx({row["kernel_type"]: row["sum_ns"] / 1000 for row in expected})
    assert kinds["sum"].is_monotonic_decreasing
    # "count, min, max, average, standard deviation, sum and kernel type for each kernel on each rank"
    listed = {"count", "min (us)", "max (us)", "mean (us)", "stddev", "sum (us)", "kernel_type", "rank"}
    assert listed <= set(kernels.columns)
    assert set(kernels["rank"]) == {0, 1}
    # "All images are generated using plotly": the pie chart is of the first frame.
    assert list(shown[0]["data"][0]["labels"]) == kinds["kernel_type"].tolist()
    assert {"pie", "bar"} == {figure["data"][0]["type"] for figure in shown}


def test_the_number_of_kernels_takes_precedence(place: Path) -> None:
    from gpuscope.hta import TraceAnalysis

    analyzer = TraceAnalysis(trace_dir="traces/")
    both = analyzer.get_gpu_kernel_breakdown(num_kernels=2, duration_ratio=0.1, visualize=False)[1]
    alone = analyzer.get_gpu_kernel_breakdown(num_kernels=2, visualize=False)[1]
    assert both.equals(alone)
    assert both.groupby(["rank", "kernel_type"]).size().max() == 3  # And `others`.


def rows(folder: Path, trace: str, case: str, at: str) -> list[dict[str, Any]]:
    """What must come out."""
    checks = json.loads((folder / trace / f"{case}.json").read_text())["checks"]
    found: list[dict[str, Any]] = next(check["rows"] for check in checks if check["at"] == at)
    return found

"""The programs that TraceLens' page on its GPU timeline shows, with nothing changed but the import."""

from __future__ import annotations

import gzip
import json
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from gpuscope.tracelens import GPUEventAnalyser, JaxGPUEventAnalyser

pandas = pytest.importorskip("pandas")

TIMELINE = """
import json
import sys
from gpuscope.tracelens import GPUEventAnalyser

path = sys.argv[1] # this expects the JSON file (unzipped)

with open(path, 'r') as f:
    data = json.load(f)

events = data['traceEvents']
my_gpu_event_analyser = GPUEventAnalyser(events)
df = my_gpu_event_analyser.get_breakdown_df()
print(df)
"""

JAX_TIMELINE = """
import gzip
import json
import sys
from gpuscope.tracelens import JaxGPUEventAnalyser

path = sys.argv[1] # this expects the zipped JSON file produced by the

with gzip.open(path, 'r') as fin:
    data = json.loads(fin.read().decode('utf-8'))

events = data['traceEvents']
my_gpu_event_analyser = JaxGPUEventAnalyser(events)
for gpu, df in my_gpu_event_analyser.get_breakdown_df_multigpu().items():
    print(f"GPU {gpu}")
    print(df)
"""

# The table that the page shows as the output of its program, in milliseconds and percent.
SHOWN = {
    "computation_time": (4184.32, 96.10),
    "exposed_comm_time": (160.85, 3.69),
    "exposed_memcpy_time": (0.19, 0.00),
    "busy_time": (4345.36, 99.80),
    "idle_time": (8.53, 0.20),
    "total_time": (4353.88, 100.00),
    "total_comm_time": (292.92, 6.73),
    "total_memcpy_time": (0.19, 0.00),
}


def shown_trace() -> list[dict[str, Any]]:
    """GPU work that takes the times which the page shows."""
    spans = [
        ("kernel", "gemm", 0, 4184320),
        ("kernel", "ncclDevKernel_AllReduce", 4052250, 292920),
        ("gpu_memcpy", "Memcpy DtoH", 4345170, 190),
        # Ends the idle time and takes none of its own.
        ("kernel", "empty", 4353885, 0),
    ]
    return [{"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur} for cat, name, ts, dur in spans]


def run(program: str, argument: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    script = folder / "program.py"
    script.write_text(program)
    monkeypatch.setattr(sys, "argv", [str(script), str(argument)])
    return runpy.run_path(str(script), run_name="__main__")


def test_the_timeline_program_prints_the_table_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = tmp_path / "trace.json"
    trace.write_text(json.dumps({"traceEvents": shown_trace()}))
    frame = run(TIMELINE, trace, tmp_path, monkeypatch)["df"]
    assert list(frame.columns) == ["type", "time ms", "percent"]
    assert list(frame["type"]) == list(SHOWN)
    for row in frame.to_dict("records"):
        milliseconds, percent = SHOWN[row["type"]]
        # The page cuts off what it does not round.
        assert row["time ms"] == pytest.approx(milliseconds, abs=0.01)
        assert row["percent"] == pytest.approx(percent, abs=0.01)
    printed = capsys.readouterr().out
    assert all(name in printed for name in SHOWN)


def test_the_timeline_program_on_a_real_trace(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = corpus / "h100_bert_small.json.gz"
    trace = tmp_path / "trace.json"
    trace.write_bytes(gzip.decompress(packed.read_bytes()))
    frame = run(TIMELINE, trace, tmp_path, monkeypatch)["df"]
    pandas.testing.assert_frame_equal(frame, GPUEventAnalyser(packed).get_breakdown_df())


def test_the_jax_program_on_a_real_trace(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = corpus / "jax_conv_08.trace.json.gz"
    names = run(JAX_TIMELINE, trace, tmp_path, monkeypatch)
    printed = capsys.readouterr().out
    assert [f"GPU {gpu}\n" in printed for gpu in range(8)] == [True] * 8
    assert printed.count("computation_time") == 8
    lists = names["my_gpu_event_analyser"].get_gpu_event_lists_jax()
    assert sorted(lists) == [1, 2, 3, 4, 5, 6, 7, 8, 701]
    frame = JaxGPUEventAnalyser(trace).get_breakdown_df()
    pandas.testing.assert_frame_equal(frame, names["my_gpu_event_analyser"].get_breakdown_df_multigpu()[0])

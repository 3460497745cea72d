"""Reports of torch.compile without torch: what a log says, and how it is written down."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpuscope.errors import UsageError
from gpuscope.profiling.torch_compile import (
    CompileBreak,
    CompileReport,
    TorchCompileAnalyzer,
    of_log,
    run_script,
)


@pytest.fixture
def data() -> dict[str, Any]:
    """As `gpuscope compile --json` answers, shortened."""
    return {
        "compile_time_ns": 1_500_000,
        "ops_before_fusion": 6,
        "ops_after_fusion": 2,
        "fusion_ratio": 3.0,
        "recommendations": ["The graph breaks."],
        "ranks": [{"cache_hits": 1, "cache_misses": 2}],
        "frames": [{"ops_captured": 4}, {"ops_captured": 1}],
        "breaks": [
            {
                "rank": 0,
                "reason": "Failed to trace <print>",
                "explanation": None,
                "suggestion": "Leave it out.",
                "file": "model.py",
                "line": 10,
                "function": "forward",
                "count": 2,
                "compile_ids": ["0/0", "0/1"],
                "user_stack": ["train.py:3 <module>", "model.py:10 forward"],
            }
        ],
        "recompiles": [
            {
                "function": "forward",
                "reason": "tensor 'x' size mismatch",
                "change": "size",
                "suggestion": "dynamic=True",
                "compile_ns": 500_000,
            }
        ],
        "phases": [{"phase": "dynamo", "time_ns": 1_000_000}, {"phase": "aot", "time_ns": 500_000}],
    }


def test_a_report_is_what_the_log_says(data: dict[str, Any]) -> None:
    report = of_log(data, "inductor")
    assert (report.compile_time_ms, report.fusion_ratio, report.frames) == (1.5, 3.0, 2)
    assert (report.ops_before_fusion, report.ops_after_fusion) == (6, 2)
    assert report.phases_ms == {"dynamo": 1.0, "aot": 0.5}
    assert report.graph_breaks[0].location == "model.py:10" and report.graph_breaks[0].count == 2
    assert report.recompiles[0].compile_time_ms == 0.5
    assert report.total_graph_breaks == 1
    assert any("came out of a cache" in note for note in report.notes)


def test_without_kernels_the_ratio_is_one_or_not_known(data: dict[str, Any]) -> None:
    data["fusion_ratio"] = None
    eager = of_log(data, "eager")
    assert (eager.fusion_ratio, eager.ops_before_fusion, eager.ops_after_fusion) == (1.0, 5, 5)
    unknown = of_log(data, "inductor")
    assert unknown.to_dict()["fusion_ratio"] is None
    assert any("not known" in note for note in unknown.notes)


def test_it_is_written_in_every_format(data: dict[str, Any], tmp_path: Path) -> None:
    analyzer, report = TorchCompileAnalyzer(), of_log(data, "inductor")
    page = analyzer.export_report(report, tmp_path / "a.html").read_text(encoding="utf-8")
    assert "Failed to trace &lt;print&gt;" in page and "model.py:10" in page
    text = analyzer.export_report(report, tmp_path / "a.md").read_text(encoding="utf-8")
    assert "## Graph break at model.py:10" in text and "- The graph breaks." in text
    plain = json.loads(analyzer.export_report(report, tmp_path / "a.json").read_text(encoding="utf-8"))
    assert plain["graph_breaks"][0]["reason"] == "Failed to trace <print>"
    assert plain["speedup"] is None, "JSON has no NaN"


def test_breaks_without_a_place_are_breaks() -> None:
    assert CompileBreak("why", "how").location is None
    assert CompileBreak("why", "how", file="a.py").location == "a.py"
    assert "an unknown place" in CompileReport(graph_breaks=[CompileBreak("why", "how")]).to_markdown()


def test_a_program_must_be_named() -> None:
    with pytest.raises(UsageError, match=r"SCRIPT\.py"):
        run_script([])


def test_torch_is_not_imported_before_it_is_needed() -> None:
    check = "import sys, gpuscope.profiling.torch_compile; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", check], check=True)

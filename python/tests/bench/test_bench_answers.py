"""Measured runs asked from Python: reports, comparisons, the history and its gate."""

from __future__ import annotations

from pathlib import Path

import pytest
from stand_ins import PlantedClock

from gpuscope import bench
from gpuscope.errors import UsageError


@bench.benchmark(batch=4, seq_len=64)
def work() -> None:
    """Do nothing, for as long as the clock says."""


def measured(path: Path, ms: list[float]) -> Path:
    bench.run(work, output=path, clock=PlantedClock(ms), warmup=0, min_repeats=20, max_repeats=20)
    return path


def test_a_report_and_a_comparison_are_answers(tmp_path: Path) -> None:
    slow, fast = measured(tmp_path / "slow.json", [2.0, 2.1]), measured(tmp_path / "fast.json", [1.0, 1.05])
    report = bench.report(slow)
    assert (report.command, next(iter(report.tables))) == ("bench", "benchmarks")
    assert report["benchmarks"]["mean_ns"][0] == pytest.approx(2.05e6)
    assert report.save(tmp_path / "d.html").read_text().startswith("<!doctype html")
    compared = bench.compare(slow, fast)
    assert compared.data["rows"][1]["change"] == "faster"
    assert compared.data["rows"][1]["speedup"] == pytest.approx(2.0)


def test_the_history_is_added_to_and_gated(tmp_path: Path) -> None:
    db = tmp_path / "history.db"
    for run in range(20):
        level = 1.0 if run < 15 else 1.5
        file = measured(tmp_path / f"{run}.json", [level * (1 + 0.002 * (run % 5))])
        assert f": run {run + 1}, " in bench.add_to_history(file, db=db, project="p", commit=f"{run:07x}")
    assert len(bench.runs(db=db, project="p").table) == 20
    assert bench.runs(db=db, project="other").data["runs"] == []
    gate = bench.gate(db=db, project="p", metric="latency")
    assert gate.found and gate.data["rows"][0]["verdict"] == "worse"
    assert not bench.gate(db=db, project="p", metric="latency", relative=0.6).found
    (trend,) = bench.trend(db=db, project="p", metric="latency").data["trends"]
    assert [level["first"] for level in trend["levels"]] == [0, 15]
    assert bench.report(20, db=db).data["metadata"]["run_id"]
    with pytest.raises(UsageError, match="relative"):
        bench.gate(relative=-1, db=db)

"""torch.compile on real models: breaks, modes, fusion, exports, and programs run under it."""

from __future__ import annotations

import json
import logging
import math
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from gpuscope.errors import UsageError  # noqa: E402
from gpuscope.profiling import _compile_log  # noqa: E402
from gpuscope.profiling.torch_compile import (  # noqa: E402
    CompileError,
    CompileReport,
    TorchCompileAnalyzer,
    record,
    run_script,
)


def chain(x: torch.Tensor) -> torch.Tensor:
    """Six elementwise operators that fit into one kernel."""
    return ((x * 2 + 1).relu().sin() * x).sigmoid()


class Broken(torch.nn.Module):
    """A model that the compiler cannot follow in two places."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Break by printing, then by asking for a number."""
        y = self.linear(x).relu()
        print("between")
        if y.sum().item() > 0:
            y = y + 1
        return y * 2


@pytest.fixture(scope="module")
def fused() -> CompileReport:
    with torch.no_grad():
        return TorchCompileAnalyzer(backend="inductor", mode="default", fresh_cache=True).analyze(
            chain, torch.randn(64, 64), warmup=3, iterations=10
        )


@pytest.fixture(scope="module")
def broken() -> CompileReport:
    with torch.no_grad():
        return TorchCompileAnalyzer().analyze(Broken().eval(), (torch.randn(4, 8),), warmup=1, iterations=3)


def test_a_chain_becomes_one_kernel(fused: CompileReport) -> None:
    assert (fused.ops_before_fusion, fused.ops_after_fusion) == (6, 1)
    assert fused.fusion_ratio == 6.0
    assert fused.total_graph_breaks == 0 and fused.frames == 1


def test_times_are_medians_and_the_speedup_their_quotient(fused: CompileReport) -> None:
    assert fused.speedup == pytest.approx(fused.eager_time_ms / fused.compiled_time_ms)
    assert 0 < fused.compiled_time_ms < fused.first_call_ms
    # Compiling is part of the first call, running it is not part of compiling.
    assert 0 < fused.compile_time_ms < fused.first_call_ms
    assert sum(fused.phases_ms.values()) == pytest.approx(fused.compile_time_ms)
    assert {"dynamo", "aot", "inductor", "codegen", "kernels"} <= set(fused.phases_ms)
    assert (fused.cache_hits, fused.cache_misses) == (0, 1), "nothing is taken from earlier runs"


def test_outputs_are_compared(fused: CompileReport) -> None:
    assert fused.outputs_match is True
    assert fused.max_difference < 1e-3


def test_breaks_have_place_reason_and_way_out(broken: CompileReport) -> None:
    here = Path(__file__).read_text().splitlines()
    lines = {each.line: each for each in broken.graph_breaks}
    printing = lines[next(n for n, line in enumerate(here, 1) if 'print("between")' in line)]
    asking = lines[next(n for n, line in enumerate(here, 1) if "if y.sum().item() > 0" in line)]
    assert broken.total_graph_breaks == 2
    assert "print" in printing.suggestion
    assert "capture_scalar_outputs" in asking.suggestion
    assert printing.location is not None and printing.location.startswith(__file__)
    assert printing.user_stack and "forward" in printing.user_stack[-1]
    assert any("breaks at" in text for text in broken.recommendations)


def test_modes_are_compared() -> None:
    with torch.no_grad():
        reports = TorchCompileAnalyzer().compare_modes(
            chain, torch.randn(32, 32), modes=["default", "reduce-overhead"], warmup=1, iterations=3
        )
    assert list(reports) == ["default", "reduce-overhead"]
    for mode, report in reports.items():
        assert report.mode == mode and report.error is None
        assert report.speedup > 0 and report.fusion_ratio == 6.0
    assert reports["default"].eager_time_ms == reports["reduce-overhead"].eager_time_ms


def test_arguments_by_place_and_by_name() -> None:
    def add(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a + b * 2

    a, b = torch.ones(3), torch.ones(3)
    eager = TorchCompileAnalyzer(backend="eager")
    assert eager.analyze(add, (a, b), warmup=1, iterations=1).outputs_match
    assert eager.analyze(add, {"b": b, "a": a}, warmup=0, iterations=1).outputs_match


def test_a_backend_without_kernels_fuses_nothing() -> None:
    report = TorchCompileAnalyzer(backend="aot_eager").analyze(chain, torch.ones(4), warmup=1, iterations=1)
    assert report.fusion_ratio == 1.0 and report.ops_before_fusion == report.ops_after_fusion == 6
    assert any("writes no kernels" in note for note in report.notes)


def test_randomness_is_the_same_for_both() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5))
    report = TorchCompileAnalyzer(backend="eager").analyze(model, torch.ones(2, 4), warmup=1, iterations=1)
    assert report.outputs_match is True


def test_different_outputs_are_noted() -> None:
    calls = iter(range(1000))

    def odd(x: torch.Tensor) -> torch.Tensor:
        return x + torch._dynamo.disable(lambda: next(calls))()

    report = TorchCompileAnalyzer(backend="eager").analyze(odd, torch.ones(2), warmup=1, iterations=1)
    assert report.outputs_match is False
    assert any("differ" in note for note in report.notes)


@pytest.mark.parametrize("name", ["report.html", "report.json", "report.md"])
def test_reports_are_exported(broken: CompileReport, tmp_path: Path, name: str) -> None:
    path = TorchCompileAnalyzer().export_report(broken, tmp_path / "new" / name)
    text = path.read_text(encoding="utf-8")
    assert broken.graph_breaks[0].reason in text
    if name.endswith("json"):
        data = json.loads(text)
        assert data["total_graph_breaks"] == 2 and data["graph_breaks"][0]["suggestion"]
        assert set(CompileReport.__dataclass_fields__) <= set(data)
    if name.endswith("html"):
        assert "http" not in text.replace(broken.graph_breaks[0].suggestion, "")


def test_the_format_may_be_told(broken: CompileReport, tmp_path: Path) -> None:
    analyzer = TorchCompileAnalyzer()
    assert (
        analyzer.export_report(broken, tmp_path / "x.txt", format="md")
        .read_text()
        .startswith("# torch.compile")
    )
    with pytest.raises(UsageError, match="docx"):
        analyzer.export_report(broken, tmp_path / "x.html", format="docx")


def test_wrong_requests_say_what_is_right() -> None:
    with pytest.raises(UsageError, match="iterations=0"):
        TorchCompileAnalyzer().analyze(chain, torch.ones(2), iterations=0)
    with pytest.raises(UsageError, match=r"no_such_backend.*inductor"):
        TorchCompileAnalyzer(backend="no_such_backend").analyze(chain, torch.ones(2), warmup=0, iterations=1)
    with pytest.raises(UsageError, match=r"no-such-mode.*reduce-overhead"):
        TorchCompileAnalyzer(mode="no-such-mode").analyze(chain, torch.ones(2), warmup=0, iterations=1)
    with pytest.raises(UsageError, match="only the backend inductor"):
        TorchCompileAnalyzer("eager", "reduce-overhead").analyze(chain, torch.ones(2), warmup=0, iterations=1)


def test_a_compiler_that_fails_does_not_end_the_comparison() -> None:
    @torch._dynamo.register_backend(name="gpuscope_failing")
    def failing(graph: object, inputs: object) -> object:
        raise RuntimeError("on purpose")

    analyzer = TorchCompileAnalyzer(backend="gpuscope_failing")
    reports = analyzer.compare_modes(chain, torch.ones(4), modes=["default"], warmup=0, iterations=1)
    assert "on purpose" in (reports["default"].error or "")
    assert math.isnan(reports["default"].speedup)
    assert reports["default"].to_dict()["speedup"] is None
    with pytest.raises(CompileError, match="gpuscope_failing"):
        analyzer.analyze(chain, torch.ones(4), warmup=0, iterations=1)


def test_the_log_leaves_torch_as_it_was(tmp_path: Path) -> None:
    logger = logging.getLogger("torch.__trace")
    before = set(logger.handlers)
    with _compile_log.structured_log(tmp_path) as works:
        assert works
        torch._dynamo.reset()
        torch.compile(chain, backend="eager")(torch.ones(2))
    assert set(logger.handlers) == before
    assert _compile_log.has_logs(tmp_path)
    frame = _compile_log.read_logs(tmp_path)["frames"][0]
    assert (frame["function"], frame["file"]) == ("chain", __file__)


def test_without_a_log_there_is_less_to_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_compile_log, "_new_handler", lambda folder: None)
    report = TorchCompileAnalyzer(backend="eager").analyze(
        Broken().eval(), torch.randn(4, 8), warmup=1, iterations=1
    )
    assert report.total_graph_breaks == 2
    assert report.compile_time_ms > 0
    assert any("no structured log" in note for note in report.notes)


PROGRAM = textwrap.dedent(
    """
    import sys
    import torch

    @torch.compile(backend="eager")
    def double(x):
        print("inside", sys.argv[1])
        return x * 2

    double(torch.ones(3))
    sys.exit(int(sys.argv[2]))
    """
)


def test_a_program_runs_unchanged_and_is_recorded(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    recording = record(script, ["word", "3"])
    assert recording.exit_code == 3
    assert "inside word" in capfd.readouterr().out
    assert recording.answer is not None
    assert recording.answer.data["breaks"][0]["file"] == str(script)
    assert "Graph breaks" in str(recording.answer)


def test_a_program_is_reported_from_the_command_line(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    words = [sys.executable, "-m", "gpuscope.profiling", "compile", "--json", str(script), "word", "0"]
    ran = subprocess.run(words, capture_output=True, text=True, check=True)
    data = json.loads(ran.stdout)["data"]
    assert data["total_graph_breaks"] == 1
    assert "inside word" in ran.stderr


def test_a_program_that_compiles_nothing_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "empty.py"
    script.write_text("print('hello')")
    assert run_script([str(script)]) == 1
    assert "compiled nothing" in capfd.readouterr().err

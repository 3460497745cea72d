"""`python -m gpuscope.bench`, the dashboards and their commands; tables and pages are the command line's own."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from stand_ins import PlantedClock

from gpuscope import visualize_comparison, visualize_performance
from gpuscope.bench import ComparisonDashboard, PerformanceDashboard, measure
from gpuscope.bench.__main__ import main, parser
from gpuscope.bench.progress import Progress
from gpuscope.errors import InputError, UsageError

TIMINGS = {
    "gpt_nano": (1.32, 0.11, (3, 3, 48), 193_731),
    "gpt_micro": (3.70, 0.42, (4, 4, 128), 69_200),
    "gpt_tile_small": (1.50, 0.09, (4, 4, 64), 171_100),
    "gpt_tile_large": (29.31, 0.80, (8, 8, 256), 8_700),
}


def side(factor: float = 1.0) -> dict[str, Any]:
    """Results as the document has them, without anything that came later."""
    benchmarks = {}
    for key, (mean, std, (layers, heads, width), tokens) in TIMINGS.items():
        times = {"mean": mean, "std": std, "min": mean - std, "max": mean + 3 * std, "median": mean - std / 3}
        times |= {"p95": mean + 2 * std, "p99": mean + 2.9 * std}
        benchmarks[key] = {
            "config": {"n_layer": layers, "n_head": heads, "n_embd": width},
            "timing": {name: value / factor for name, value in times.items()},
            "throughput_tokens_per_sec": tokens * factor,
        }
    metadata = {
        "timestamp": "2026-01-26T14:27:35.233860",
        "gpu_name": "NVIDIA GB10",
        "compute_capability": "12.1",
    }
    return {"metadata": metadata, "benchmarks": benchmarks}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    path = tmp_path / "given" / "profiling_data.json"
    path.parent.mkdir()
    path.write_text(json.dumps(side()))
    return path


@pytest.fixture
def compared(tmp_path: Path) -> Path:
    path = tmp_path / "given-comparison.json"
    sides = {"as_is": {"label": "AS-IS: eager", **side()}, "to_be": {"label": "TO-BE: fused", **side(2.0)}}
    comparison = {key: {"speedup": 2.0, "outputs_equal": True, "max_abs_difference": 1e-7} for key in TIMINGS}
    path.write_text(json.dumps({"metadata": side()["metadata"], **sides, "comparison": comparison}))
    return path


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    (tmp_path / "work_for_the_command.py").write_text(
        "def forward(n, batch):\n    if n == 3:\n        raise ValueError('three')\n    return lambda: sum(range(n * batch))\n"
    )
    path = tmp_path / "spec.toml"
    path.write_text(
        'target = "work_for_the_command:forward"\nbatch = 2\nseq_len = 10\nmax_repeats = 20\nwarmup = 1\n'
        "[configs.one]\nn = 1\n[configs.two]\nn = 2\n[configs.three]\nn = 3\n"
    )
    return path


def test_a_run_is_written_and_its_table_printed(
    spec: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "r" / "data.json"
    words = ["run", str(spec), "-o", str(output), "--config", "one", "--config", "two", "--batch", "2,4"]
    assert main([*words, "--db", str(tmp_path / "h.db"), "--label", "today", "--flag", "x=1"]) == 0
    data = json.loads(output.read_text())
    assert list(data["benchmarks"]) == ["one_b2_s10", "one_b4_s10", "two_b2_s10", "two_b4_s10"]
    assert (data["metadata"]["label"], data["metadata"]["flags"]) == ("today", {"x": 1})
    printed = capsys.readouterr()
    assert all(key in printed.out for key in data["benchmarks"]) and "±" in printed.out
    assert printed.err.strip().endswith(f"results: {output}")
    assert (tmp_path / "h.db").exists()


def test_a_failure_shows_in_the_exit_code(
    spec: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(spec), "-o", str(tmp_path / "x.json"), "--no-history", "--quiet"]) == 1
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err == "[3/3] three: failed: ValueError: three\n"


def test_lines_for_those_who_ask(spec: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", str(spec), "-o", str(tmp_path / "x.json"), "--no-history", "--config", "one", "two", "-v"]
    assert main([*words, "--max-repeats", "2"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["[1/2] one", "[2/2] two", "results"]
    assert "2 repeats" in lines[0]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["run", "no.toml"], 3, "no.toml: cannot be read"),
        (["run", "nothing"], 2, "this is no benchmark; use a .toml file"),
        (["run", "{spec}", "--config", "four"], 2, "has no configuration 'four'"),
        (["run", "{spec}", "--precision", "0"], 2, "precision=0.0"),
        (["run", "{spec}", "--db", "x", "--no-history"], 2, "use one of them"),
        (["run", "{spec}", "-o", "{spec}/x.json"], 2, "cannot be written"),
    ],
)
def test_mistakes_end_with_the_usual_codes(
    words: list[str], code: int, said: str, spec: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word.replace("{spec}", str(spec)) for word in words]) == code
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--batch", "0"], ["--batch", "x"], ["--flag", "x"], ["--nonsense"]])
def test_options_that_cannot_be_meant_are_refused(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["run", "gpt", *words])
    assert ended.value.code == 2
    assert words[-1] in capsys.readouterr().err


def test_the_family_needs_torch_and_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert main(["run", "gpt"]) == 2
    assert "the GPT family needs torch: pip install 'gpuscope[torch]'" in capsys.readouterr().err


def test_help_tells_what_a_spec_is(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    printed = capsys.readouterr().out
    options = [
        option for action in parser()._subparsers._group_actions for option in action.choices["run"]._actions
    ]  # type: ignore[union-attr]
    assert all(name in printed for option in options for name in option.option_strings)
    assert "module:function" in printed and "gpuscope bench run gpt" in printed
    assert main([]) == 2


@pytest.mark.parametrize("module", ["bench", "visualize_performance", "visualize_comparison"])
def test_modules_are_commands(module: str) -> None:
    command = [sys.executable, "-W", "error", "-m", f"gpuscope.{module}", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("usage: ")


def test_a_terminal_has_one_line_that_is_written_over() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for quiet in (False, True):
        stream = Terminal()
        progress = Progress(stream, quiet=quiet)
        progress.begin(2, 6, "gpt_micro")
        progress.update(measure(lambda: None, clock=PlantedClock([3.0])))
        progress.close()
        if quiet:
            assert stream.getvalue() == ""
        else:
            shown = stream.getvalue().split("\r\x1b[K")
            line = "[2/6] gpt_micro: 3 ± 0 ms (95 % confidence, 20 repeats)"
            assert shown == ["", "[2/6] gpt_micro: warming up", line, ""]


def test_elsewhere_nothing_is_shown_unless_asked_for() -> None:
    stream = io.StringIO()
    progress = Progress(stream)
    progress.begin(1, 1, "x")
    progress.done(measure(lambda: None, clock=PlantedClock([3.0])))
    assert stream.getvalue() == ""


def test_the_document_s_snippet_works(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(results.parent)
    from gpuscope.visualize_performance import PerformanceDashboard

    dashboard = PerformanceDashboard()
    dashboard.load_data("profiling_data.json")
    configs = list(dashboard.data["benchmarks"].keys())
    p99s = [dashboard.data["benchmarks"][c]["timing"]["p99"] for c in configs]
    assert configs[0] == "gpt_nano" and p99s[0] == pytest.approx(1.32 + 2.9 * 0.11)


def test_earlier_results_become_a_dashboard(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    before = results.read_bytes()
    assert visualize_performance.main(["--data", str(results), "--output-dir", str(out)]) == 0
    page = (out / "performance_dashboard.html").read_text()
    assert all(key in page for key in TIMINGS) and "NVIDIA GB10" in page
    assert [path.name for path in out.iterdir()] == ["performance_dashboard.html"]
    printed = capsys.readouterr().out
    assert "gpt_nano" in printed and "fastest config" in printed.lower()
    assert results.read_bytes() == before


def test_results_in_the_folder_are_used_without_being_named(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert visualize_performance.main(["--output-dir", str(results.parent)]) == 0
    assert (results.parent / "performance_dashboard.html").exists()
    capsys.readouterr()


def test_changed_data_is_what_is_drawn_and_the_file_stays(results: Path, tmp_path: Path) -> None:
    dashboard = PerformanceDashboard(tmp_path / "out")
    dashboard.load_data(results)
    dashboard.data["benchmarks"]["gpt_mine"] = dashboard.data["benchmarks"].pop("gpt_micro")
    page = dashboard.create_dashboard(tmp_path / "page.html").read_text()
    assert "gpt_mine" in page and "gpt_micro" not in page
    assert json.loads(results.read_text()) == side()
    saved = dashboard.save_data(tmp_path / "saved.json")
    assert json.loads(saved.read_text()) == dashboard.data


def test_data_that_is_in_no_file_is_saved_with_its_page(tmp_path: Path) -> None:
    dashboard = PerformanceDashboard(tmp_path / "out")
    dashboard.data = side()
    assert dashboard.create_dashboard() == tmp_path / "out" / "performance_dashboard.html"
    assert json.loads((tmp_path / "out" / "profiling_data.json").read_text()) == side()


def test_both_sides_become_a_dashboard(
    compared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert (
        visualize_comparison.main(["--compare-all", "--data", str(compared), "--output-dir", str(out)]) == 0
    )
    page = (out / "comparison_dashboard.html").read_text()
    assert all(text in page for text in ("AS-IS", "TO-BE", "gpt_nano", "gpt_tile_large"))
    words = ["--model", "tile-small", "--data", str(compared), "--output-dir", str(out)]
    assert visualize_comparison.main(words) == 0
    page = (out / "comparison_dashboard.html").read_text()
    assert "gpt_tile_small" in page and "gpt_nano" not in page
    capsys.readouterr()


def test_one_model_can_be_left_of_a_comparison(compared: Path) -> None:
    dashboard = ComparisonDashboard()
    dashboard.load_data(compared)
    data = dashboard.only(["tile-small"])
    parts = (data["as_is"]["benchmarks"], data["to_be"]["benchmarks"], data["comparison"])
    assert [list(part) for part in parts] == [["gpt_tile_small"]] * 3
    with pytest.raises(UsageError, match="has no nano"):
        dashboard.only(["nano"])
    with pytest.raises(UsageError, match="there is no such model; did you mean tile-small"):
        dashboard.only(["tile-smal"])


@pytest.fixture
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    assert list(tmp_path.iterdir()) == [], "nothing is written when nothing is done"


@pytest.mark.parametrize(
    ("command", "words", "code", "said"),
    [
        (visualize_performance.main, [], 2, "measure with --run-profiling, or name results with --data FILE"),
        (visualize_performance.main, ["--data", "no.json"], 3, "no.json: cannot be read"),
        (visualize_comparison.main, [], 2, "measure with --benchmark"),
        (visualize_comparison.main, ["--benchmark"], 2, "--model tile-medium, or --compare-all"),
        (visualize_comparison.main, ["--benchmark", "--model", "tile"], 2, "there is no such model"),
    ],
)
def test_without_data_it_says_what_to_type(
    command: Any,
    words: list[str],
    code: int,
    said: str,
    empty_folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert command(words) == code
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "[]", '{"traceEvents": []}', '{"benchmarks": 3}'])
def test_what_is_no_file_of_results_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(InputError) as raised:
        PerformanceDashboard().load_data(path)
    assert str(raised.value).startswith(str(path))
    with pytest.raises(UsageError, match=r"load_data\(path\)"):
        PerformanceDashboard().create_dashboard()


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    code = (
        "import sys, gpuscope, gpuscope.bench, gpuscope.visualize_performance, gpuscope.visualize_comparison\n"
        "import gpuscope.bench.gpt, gpuscope.bench.runner\n"
        "assert gpuscope.bench is sys.modules['gpuscope.bench']\n"
        "print(sorted({'torch', 'cupy', 'plotly', 'pandas', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    code = "import sys, gpuscope.bench; print([m for m in sys.modules if m.startswith('gpuscope.bench.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"

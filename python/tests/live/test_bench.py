"""The GPT family with a real torch: its sizes, that both forms agree, and whole runs of it."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import gpuscope  # noqa: E402
from gpuscope import visualize_comparison, visualize_performance  # noqa: E402
from gpuscope.bench import GPT_CONFIGS, ComparisonDashboard, comparing, run  # noqa: E402
from gpuscope.bench.__main__ import main  # noqa: E402
from gpuscope.bench.gpt import (  # noqa: E402
    FusedGPT,
    OutputsDiffer,
    PlainGPT,
    check_equal,
    forward,
    fused_from,
    random_tokens,
)
from gpuscope.errors import UsageError  # noqa: E402

EXAMPLES = Path(__file__).parents[3] / "examples"
QUICK = {"warmup": 1, "min_repeats": 3, "max_repeats": 5}


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Threads that wait for each other on a busy machine take longer than the work itself."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("name", GPT_CONFIGS)
def test_sizes_are_what_the_formulas_say(name: str) -> None:
    layers, _, width = GPT_CONFIGS[name].values()
    # Attention 4 D² + 4 D, the two layers after it 8 D² + 5 D, two norms 4 D.
    block = 12 * width**2 + 13 * width
    outside = 65 * width + 1024 * width + 2 * width + 65 * width
    model = PlainGPT(GPT_CONFIGS[name])
    assert model.parameters == layers * block + outside
    assert model(random_tokens(model, 2, 5)).shape == (2, 5, 65)


@pytest.mark.parametrize("name", GPT_CONFIGS)
def test_both_forms_agree(name: str) -> None:
    plain = PlainGPT(GPT_CONFIGS[name])
    tokens = random_tokens(plain, 4, 64)
    fused = fused_from(plain)
    assert check_equal(plain, fused, tokens) < 1e-5
    assert float(plain(tokens).std()) > 0.01, "scores that are all alike would agree, too"


def test_models_that_differ_are_told_apart() -> None:
    config = GPT_CONFIGS["nano"]
    plain, other = PlainGPT(config), FusedGPT(config, seed=1)
    with pytest.raises(OutputsDiffer, match=r"PlainGPT and FusedGPT of .* differ by up to"):
        check_equal(plain, other, random_tokens(plain, 2, 16))

    class LooksAhead(FusedGPT):
        def _mixed(self, query: Any, key: Any, value: Any) -> Any:
            return torch.nn.functional.scaled_dot_product_attention(query, key, value)

    ahead = LooksAhead(config)
    ahead.layers.load_state_dict(plain.layers.state_dict())
    with pytest.raises(OutputsDiffer):
        check_equal(plain, ahead, random_tokens(plain, 2, 16))


def test_no_token_sees_a_later_one() -> None:
    model = PlainGPT(GPT_CONFIGS["micro"])
    tokens = random_tokens(model, 1, 12)
    changed = tokens.clone()
    changed[0, 8:] = (changed[0, 8:] + 1) % 65
    before, after = model(tokens), model(changed)
    assert torch.equal(before[0, :8], after[0, :8])
    assert not torch.allclose(before[0, 8:], after[0, 8:])


def test_models_and_inputs_are_the_same_every_time_and_leave_random_numbers_alone() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    passes = [forward(GPT_CONFIGS["nano"], 2, 8, form="plain") for _ in range(2)]
    assert torch.equal(torch.rand(3), expected)
    first, second = passes[0](), passes[1]()
    assert torch.equal(first, second) and first.is_inference()


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"n_layer": 1, "n_head": 3, "n_embd": 16}, "3 heads cannot share it"),
        ({"n_layer": 1, "n_head": 2}, "n_embd = None"),
        ({"n_layer": 0, "n_head": 2, "n_embd": 16}, "n_layer = 0"),
    ],
)
def test_configurations_that_are_none_are_refused(config: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as raised:
        PlainGPT(config)
    assert said in str(raised.value)


def test_sequences_that_are_too_long_are_refused() -> None:
    model = PlainGPT({"n_layer": 1, "n_head": 1, "n_embd": 8, "block_size": 16})
    with pytest.raises(UsageError, match="17 tokens: this model takes 16; set block_size"):
        model(random_tokens(model, 1, 17))


def test_two_members_run_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "results" / "profiling_data.json"
    words = [
        "run",
        "gpt",
        "--config",
        "nano",
        "tile-small",
        "-o",
        str(output),
        "--trace",
        "--max-repeats",
        "5",
    ]
    assert main([*words, "--db", str(tmp_path / "history.db")]) == 0
    printed = capsys.readouterr().out
    data = json.loads(output.read_text())
    assert list(data["benchmarks"]) == ["gpt_nano", "gpt_tile_small"]
    metadata = data["metadata"]
    assert metadata["torch_version"] == torch.__version__ and metadata["flags"]["num_threads"] >= 1
    assert (metadata["batch_size"], metadata["seq_len"]) == (4, 64)
    for key, entry in data["benchmarks"].items():
        assert key in printed
        assert entry["parameters"] == PlainGPT(entry["config"]).parameters
        assert entry["throughput_tokens_per_sec"] == pytest.approx(256e3 / entry["timing"]["mean"])
        assert entry["peak_memory_bytes"] >= 0
        trace = output.parent / entry["trace"]
        names = {
            event.get("name") for event in json.loads(gzip.decompress(trace.read_bytes()))["traceEvents"]
        }
        assert {"aten::linear", "ProfilerStep#0", "ProfilerStep#2"} <= names
        assert gpuscope.open(trace).inputs[0]["events"] > 100


def test_a_document_s_commands_write_their_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    quick = ["--batch-size", "2", "--seq-len", "16", "--max-repeats", "3"]
    assert visualize_performance.main(["--run-profiling", "--configs", "nano", "--no-history", *quick]) == 0
    assert visualize_comparison.main(["--model", "nano", "--benchmark", "--no-compile", *quick]) == 0
    assert {path.name for path in Path("profiling_results").iterdir()} == {
        *("performance_dashboard.html", "profiling_data.json"),
        *("comparison_dashboard.html", "comparison_data.json"),
    }
    capsys.readouterr()


def test_both_forms_are_compared_under_the_compiler(tmp_path: Path) -> None:
    dashboard = ComparisonDashboard(tmp_path)
    data = dashboard.run_benchmark(["nano"], batch_size=2, seq_len=16, quiet=True, **QUICK)
    assert json.loads((tmp_path / "comparison_data.json").read_text()) == data
    as_is, to_be = data["as_is"], data["to_be"]
    assert as_is["label"].startswith("AS-IS: ") and to_be["label"].startswith("TO-BE: ")
    before, after = as_is["benchmarks"]["gpt_nano"], to_be["benchmarks"]["gpt_nano"]
    compared = data["comparison"]["gpt_nano"]
    assert compared["outputs_equal"] is True and 0 <= compared["max_abs_difference"] < 1e-5
    assert compared["speedup"] == before["timing"]["mean"] / after["timing"]["mean"]
    assert before["parameters"] == after["parameters"]
    assert len(before["samples_ms"]) == len(after["samples_ms"]) >= 3
    assert as_is["metadata"]["run_id"] != to_be["metadata"]["run_id"]
    assert after["compiled"] == ("torch.compile" in to_be["label"] and "without" not in to_be["label"])


def test_where_the_compiler_fails_the_fused_form_runs_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def no_compiler(*_: Any, **__: Any) -> Any:
        raise RuntimeError("Cannot find a working C++ compiler")

    monkeypatch.setattr(torch, "compile", no_compiler)
    data = ComparisonDashboard(tmp_path).run_benchmark(["nano"], 2, 16, **QUICK)
    assert data["to_be"]["label"] == comparing.TO_BE_UNCOMPILED
    assert data["to_be"]["benchmarks"]["gpt_nano"]["compiled"] is False
    assert "torch.compile does not work here" in capsys.readouterr().err


def test_the_example_spec_runs(tmp_path: Path) -> None:
    data = run(EXAMPLES / "bench_gpt.toml", output=tmp_path / "x.json", batch=1, **QUICK)
    assert "failures" not in data
    assert list(data["benchmarks"]) == ["nano_plain", "nano_fused", "tile_small_plain", "tile_small_fused"]


def test_the_example_program_runs(tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLES / "bench_example.py"), str(tmp_path / "x.json")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    keys = ["narrow_b1_s16", "narrow_b8_s16", "wide_b1_s16", "wide_b8_s16"]
    assert list(json.loads((tmp_path / "x.json").read_text())["benchmarks"]) == keys
    assert all(key in done.stdout for key in keys) and "±" in done.stdout

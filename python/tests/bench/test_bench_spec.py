"""Specs: what is read from TOML files, modules and decorators, and what is said about mistakes."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any

import pytest

from gpuscope.bench import GPT_CONFIGS, Spec, benchmark, load_spec
from gpuscope.bench.limits import Limits
from gpuscope.bench.targets import Case, FunctionTarget, ProgramTarget, call_with
from gpuscope.errors import InputError, UsageError

_numbers = itertools.count()

GOOD = """
name = "mine"
target = "{module}:forward"
batch = [1, 4]
seq_len = 64
warmup = 2
precision = 0.05
trace = false

[configs.small]
n_layer = 2
width = 8

[configs."wide-one"]
n_layer = 3
"""


@pytest.fixture
def module(tmp_path: Path) -> str:
    """A module beside the spec, with a name that no other test has."""
    name = f"module_of_test_{next(_numbers)}"
    (tmp_path / f"{name}.py").write_text(
        "import gpuscope.bench\n"
        "VALUE = 3\n"
        "def forward(config, batch, seq_len, width=1):\n"
        "    return lambda: (config, batch, seq_len, width)\n"
        "@gpuscope.bench.benchmark(configs={'a': {'n': 1}}, batch=2, max_repeats=7)\n"
        "def decorated(n, batch):\n"
        "    return n * batch\n"
    )
    return name


def written(folder: Path, text: str) -> Path:
    path = folder / "spec.toml"
    path.write_text(text)
    return path


def test_a_file_says_everything(tmp_path: Path, module: str) -> None:
    before = list(sys.path)
    spec = load_spec(written(tmp_path, GOOD.replace("{module}", module)))
    assert sys.path == before, "the path is changed only while loading"
    assert (spec.name, spec.batch, spec.seq_len, spec.trace) == ("mine", (1, 4), (64,), False)
    assert spec.limits == Limits(warmup=2, precision=0.05)
    assert [case.key for case in spec.cases()] == [
        *("small_b1_s64", "small_b4_s64", "wide-one_b1_s64", "wide-one_b4_s64")
    ]
    case = spec.cases()[1]
    assert spec.target.prepare(case).work() == ({"n_layer": 2, "width": 8}, 4, 64, 8)
    assert spec.tokens_of(case) == 256


def test_keys_name_sizes_only_where_there_are_several() -> None:
    spec = Spec("x", FunctionTarget(len), {"a": {}, "b": {}}, batch=(4,), seq_len=(64,))
    assert [case.key for case in spec.cases()] == ["a", "b"]
    assert [case.key for case in spec.but(seq_len=[32, 64]).cases()][:2] == ["a_b4_s32", "a_b4_s64"]
    assert [case.key for case in Spec("x", FunctionTarget(len)).cases()] == ["x"]
    assert [case.key for case in Spec("x", FunctionTarget(len), batch=(1, 2)).cases()] == ["x_b1", "x_b2"]


def test_a_function_brings_its_own_matrix_and_the_file_changes_it(tmp_path: Path, module: str) -> None:
    spec = load_spec(written(tmp_path, f'target = "{module}:decorated"\nseq_len = [8, 16]\n'))
    assert [case.key for case in spec.cases()] == ["a_b2_s8", "a_b2_s16"]
    assert (spec.name, spec.limits.max_repeats, spec.limits.min_repeats) == ("spec", 7, 7)
    assert spec.target.prepare(spec.cases()[0]).work() == 2


def test_functions_are_named_by_module_or_by_file(
    tmp_path: Path, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_file = load_spec(f"{tmp_path / module}.py:decorated")
    monkeypatch.chdir(tmp_path)
    by_module = load_spec(f"{module}:decorated")
    assert by_file.configs == by_module.configs == {"a": {"n": 1}}
    plain = load_spec(f"{module}:forward")
    assert (plain.name, plain.configs, plain.batch) == ("forward", {}, ())


def test_a_decorated_function_stays_what_it_was() -> None:
    @benchmark(configs={"a": {"n": 2}}, batch=(1, 2), seq_len=8, tokens=lambda n, batch: 100 * n + batch)
    def double(n: int) -> int:
        """Twice as much."""
        return 2 * n

    assert (double(4), double.__name__, double.__doc__) == (8, "double", "Twice as much.")
    assert load_spec(double).cases() == double.spec.cases()
    assert [double.spec.tokens_of(case) for case in double.spec.cases()] == [201, 202]


def test_a_function_gets_what_it_asks_for() -> None:
    case = Case("k", {"n": 3, "width": 8}, batch=4, seq_len=None)

    def takes_all(**everything: Any) -> dict[str, Any]:
        return everything

    assert call_with(lambda: "nothing", case)() == "nothing"
    assert call_with(lambda width, batch, depth=5: (width, batch, depth), case)() == (8, 4, 5)
    assert call_with(takes_all, case)() == {"n": 3, "width": 8, "batch": 4, "config": {"n": 3, "width": 8}}
    with pytest.raises(UsageError, match=r"takes seq_len, and the benchmark has none: add seq_len = \[...\]"):
        call_with(lambda seq_len: seq_len, case)
    with pytest.raises(UsageError, match=r"takes depth, .* there are batch, config, n, width"):
        call_with(lambda depth: depth, case)


def test_what_a_function_gives_to_call_is_the_work_and_else_the_call_is() -> None:
    calls: list[str] = []

    def sets_up() -> Any:
        calls.append("set up")
        return lambda: calls.append("work")

    work = FunctionTarget(sets_up).prepare(Case("k", {})).work
    work()
    work()
    assert calls == ["set up", "work", "work"]

    def does_it(batch: int) -> int:
        calls.append("did")
        return batch

    work = FunctionTarget(does_it).prepare(Case("k", {}, batch=3)).work
    assert (work(), calls.count("did")) == (3, 2)


def test_throughput_needs_both_sizes_or_tokens() -> None:
    spec = Spec("x", FunctionTarget(len))
    assert spec.tokens_of(Case("k", {}, batch=4)) is None
    assert spec.tokens_of(Case("k", {}, batch=4, seq_len=8)) == 32
    assert Spec("x", FunctionTarget(len), tokens=5).tokens_of(Case("k", {}, 4, 8)) == 5


def test_configurations_are_chosen_by_name_or_key() -> None:
    spec = Spec("gpt", FunctionTarget(len), {"gpt_a_b": {"n": 1}, "c": {}}, aliases={"a-b": "gpt_a_b"})
    assert (
        list(spec.but(configs=["a-b"]).configs) == list(spec.but(configs=["gpt_a_b"]).configs) == ["gpt_a_b"]
    )
    with pytest.raises(UsageError, match=r"gpt has no configuration 'a-c'; did you mean a-b\?"):
        spec.but(configs=["a-c"])


def test_the_family_is_that_of_the_document() -> None:
    sizes = {name: tuple(config.values()) for name, config in GPT_CONFIGS.items()}
    assert sizes == {
        "nano": (3, 3, 48),
        "micro": (4, 4, 128),
        "mini": (6, 6, 192),
        "tile-small": (4, 4, 64),
        "tile-medium": (6, 4, 128),
        "tile-large": (8, 8, 256),
    }
    assert {tuple(config) for config in GPT_CONFIGS.values()} == {("n_layer", "n_head", "n_embd")}


def test_commands_are_filled_in_and_run_beside_the_spec(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import pathlib, sys\nblock = bytearray(50_000_000)\npathlib.Path('said').write_text(' '.join(sys.argv[1:]))\n"
    )
    path = written(
        tmp_path,
        'command = ["python", "train.py", "--batch", "{batch}", "--width={width}", "{{}}"]\n'
        "batch = 8\n[configs.a]\nwidth = 3\n",
    )
    spec = load_spec(path)
    assert (spec.limits.warmup, spec.limits.min_repeats) == (1, 5)
    prepared = spec.target.prepare(spec.cases()[0])
    prepared.work()
    assert (tmp_path / "said").read_text() == "--batch 8 --width=3 {}"
    assert prepared.peak is not None
    peak = prepared.peak()
    assert peak.source == "peak resident memory of the program"
    assert peak.size is not None and peak.size > 50_000_000


def test_a_program_that_fails_says_why(tmp_path: Path) -> None:
    code = "import sys; print('about to'); sys.exit('no such data set')"
    target = ProgramTarget(["python", "-c", code], tmp_path)
    with pytest.raises(RuntimeError, match="ended with exit code 1: no such data set"):
        target.prepare(Case("k", {})).work()
    with pytest.raises(UsageError, match="no-such-program: cannot be run"):
        ProgramTarget(["no-such-program"], tmp_path).prepare(Case("k", {})).work()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('target = "m:f"\nwarm_up = 3', "spec.toml: warm_up: there is no such key; did you mean warmup?"),
        ("batch = [1]", 'either target = "module:function" or command'),
        ('target = "m:f"\ncommand = ["x"]', "either target"),
        ('target = "no_such_module_here:f"', "no_such_module_here: there is no such module, neither in"),
        ('target = "{module}:forwards"', "has no function 'forwards'; did you mean forward?"),
        ('target = "{module}:VALUE"', "this is no function, but int"),
        ('target = "{module}"', "use module:function"),
        ('target = "{module}:forward"\nbatch = [0]', "batch = [0]: use whole numbers above 0"),
        (
            'target = "{module}:forward"\nbatch = [2, 2]',
            "batch = [2, 2]: use whole numbers above 0, each once",
        ),
        ('target = "{module}:forward"\nbatch = "4"', "batch = '4'"),
        ('target = "{module}:forward"\nprecision = "high"', "precision='high': a number is needed"),
        ('target = "{module}:forward"\nprecision = -1', "precision=-1: use more than 0"),
        ('target = "{module}:forward"\ntrace = 1', "trace = 1: use true or false"),
        ('target = "{module}:forward"\n[configs]\nsmall = 3', "configs.small = 3: use a table"),
        ('target = "{module}:forward"\nname = 3', "name = 3: use a text"),
        ('command = "python train.py"', "use a list of texts"),
        ('command = ["python"]\ntrace = true', "only functions can be traced"),
    ],
)
def test_mistakes_are_named_with_the_file_and_the_way_out(
    text: str, said: str, tmp_path: Path, module: str
) -> None:
    with pytest.raises(UsageError) as raised:
        load_spec(written(tmp_path, text.replace("{module}", module)))
    assert said in str(raised.value) and "spec.toml: " in str(raised.value)


def test_a_command_that_cannot_be_filled_in_is_refused_before_anything_runs(tmp_path: Path) -> None:
    spec = load_spec(written(tmp_path, 'command = ["touch", "{widht}"]\n[configs.a]\nwidth = 3\n'))
    with pytest.raises(
        UsageError, match=r"'\{widht\}' cannot be filled in .* there are \{config\}, \{width\}"
    ):
        spec.target.check(spec.cases()[0])


@pytest.mark.parametrize("text", [None, "batch = [1,,]", "\x00"])
def test_files_that_cannot_be_read_are_the_input_s_fault(text: str | None, tmp_path: Path) -> None:
    path = tmp_path / "spec.toml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InputError) as raised:
        load_spec(path)
    assert str(raised.value).startswith(str(path))


@pytest.mark.parametrize("source", ["gtp", "spec.yaml", 3])
def test_what_is_no_spec_says_what_is(source: Any) -> None:
    with pytest.raises(UsageError, match=r"use a \.toml file, module:function, or gpt"):
        load_spec(source)


def test_a_module_that_fails_is_told_from_one_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "needs_something.py").write_text("import there_is_no_such_thing\n")
    (tmp_path / "divides.py").write_text("1 / 0\n")
    with pytest.raises(UsageError, match="importing it failed: No module named 'there_is_no_such_thing'"):
        load_spec(f"{tmp_path / 'needs_something.py'}:f")
    with pytest.raises(UsageError, match="divides: importing it failed with ZeroDivisionError"):
        load_spec(f"{tmp_path / 'divides.py'}:f")

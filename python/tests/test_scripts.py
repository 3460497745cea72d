"""The scripts that record programs with Nsight: what they run, with which words, and what they say where it is missing.

Nsight needs an NVIDIA GPU. Stand-ins take its place: they write down how they were called and what for, and run
the program if they are asked to.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"
BASH = shutil.which("bash")

pytestmark = pytest.mark.skipif(BASH is None or os.name == "nt", reason="the scripts need bash")

#: What the scripts use of the system, so that a path can hold this and nothing else.
NEEDED = ("bash", "cat", "dirname", "mkdir")


class Tool(NamedTuple):
    """One of the two: the script, the program it runs, and the ending of its reports."""

    name: str
    ending: str

    @property
    def script(self) -> Path:
        return SCRIPTS / f"run_{self.name}_profile.sh"

    @property
    def usual_report(self) -> str:
        return f"profiling_results/cutile_{self.name}"


NSYS, NCU = Tool("nsys", "nsys-rep"), Tool("ncu", "ncu-rep")
both = pytest.mark.parametrize("tool", [NSYS, NCU], ids=lambda tool: tool.name)

#: Writes its words down, makes the report that `-o` names, and ends as it is told.
STAND_IN = """\
#!{python}
import json, os, sys
from pathlib import Path

name, words = Path(sys.argv[0]).name, sys.argv[1:]
Path("called.json").write_text(json.dumps([name, *words]))
if os.environ.get("WITH_REPORT", "1") == "1":
    ending = {{"nsys": ".nsys-rep", "ncu": ".ncu-rep"}}[name]
    Path(words[words.index("-o") + 1] + ending).write_text("a report")
print("what the program prints")
sys.exit(int(os.environ.get("ENDS_WITH", "0")))
"""


class Place:
    """A folder to run scripts in, with a path that holds only what is put there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "a place with spaces"
        self.bin = folder / "bin"
        self.folder.mkdir()
        self.bin.mkdir()
        for name in NEEDED:
            found = shutil.which(name)
            assert found is not None, name
            (self.bin / name).symlink_to(found)

    def add(self, name: str, text: str = "") -> Path:
        program = self.bin / name
        program.write_text(text or STAND_IN.format(python=sys.executable))
        program.chmod(0o755)
        return program

    def run(
        self, tool: Tool, *words: str, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.bin / "bash"), str(tool.script), *words],
            cwd=self.folder,
            env={"PATH": str(self.bin), **(env or {})},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    @property
    def called(self) -> list[str]:
        words: list[str] = json.loads((self.folder / "called.json").read_text())
        return words


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A folder whose name has spaces, with Python but without Nsight."""
    place = Place(tmp_path)
    place.add("python", "#!/bin/sh\nexit 0\n")
    return place


def after(words: Sequence[str], option: str) -> str:
    """What follows an option."""
    return words[words.index(option) + 1]


@both
def test_help_says_what_can_be_given(tool: Tool, place: Place) -> None:
    done = place.run(tool, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    for word in ("usage:", "SCRIPT.py", "-m MODULE", "OUTPUT", f"cutile_{tool.name}", "127"):
        assert word in done.stdout
    assert place.run(tool, "-h").stdout == done.stdout
    assert all(len(line) <= 120 for line in done.stdout.splitlines())


@both
def test_without_nsight_it_says_what_is_missing_and_what_works(tool: Tool, place: Place) -> None:
    done = place.run(tool)
    assert (done.returncode, done.stdout) == (127, "")
    assert f"error: {tool.name} is not installed" in done.stderr
    assert "CUDA toolkit" in done.stderr
    assert "gpuscope bench run gpt --trace" in done.stderr
    assert "gpuscope analyze profiling_results/traces/" in done.stderr
    assert list(place.folder.iterdir()) == []


@both
def test_the_benchmark_is_what_runs_unless_told(tool: Tool, place: Place) -> None:
    place.add(tool.name)
    done = place.run(tool)
    assert done.returncode == 0
    assert done.stdout == "what the program prints\n"
    program = place.called[place.called.index("python") :]
    assert program[:4] == ["python", "-m", "gpuscope.visualize_performance", "--run-profiling"]
    # Times under a profiler stay away from those that count.
    assert "--no-history" in program
    assert after(program, "--output-dir") == f"profiling_results/under_{tool.name}"
    assert after(place.called, "-o") == tool.usual_report
    assert (place.folder / f"{tool.usual_report}.{tool.ending}").exists()
    assert f"report: {tool.usual_report}.{tool.ending}" in done.stderr


@both
def test_the_benchmark_understands_its_options(tool: Tool, place: Place) -> None:
    from gpuscope.visualize_performance import parser

    place.add(tool.name)
    place.run(tool)
    words = place.called[place.called.index("--run-profiling") :]
    options = parser().parse_args(words)
    assert options.run_profiling
    assert options.no_history


def test_what_nsys_is_told(place: Place) -> None:
    place.add("nsys")
    done = place.run(NSYS)
    assert place.called[:6] == [
        "nsys",
        "profile",
        "--trace=cuda,nvtx,osrt,cudnn,cublas",
        "--cuda-memory-usage=true",
        "--force-overwrite=true",
        "-o",
    ]
    for hint in ("nsys-ui ", "nsys stats ", "nsys export --type sqlite "):
        assert hint in done.stderr
    place.run(NSYS, "--trace", "cuda,nvtx")
    assert place.called[2] == "--trace=cuda,nvtx"


def test_what_ncu_is_told(place: Place) -> None:
    place.add("ncu")
    done = place.run(NCU)
    assert place.called[1:5] == ["--set", "full", "--target-processes", "all"]
    assert after(place.called, "--launch-count") == "50"
    assert "--launch-skip" not in place.called
    assert "--kernel-name" not in place.called
    assert "warning: ncu runs each kernel many times" in done.stderr
    place.run(NCU, "--count=3", "--skip", "7", "-k", "gemm|flash attention", "--set", "basic")
    assert after(place.called, "--launch-count") == "3"
    assert after(place.called, "--launch-skip") == "7"
    assert after(place.called, "--kernel-name") == "regex:gemm|flash attention"
    assert after(place.called, "--set") == "basic"


def test_ncu_measures_every_kernel_only_if_told(place: Place) -> None:
    place.add("ncu")
    done = place.run(NCU, "--count", "0")
    assert "--launch-count" not in place.called
    assert "every kernel" in done.stderr


@both
@pytest.mark.parametrize(
    ("words", "program"),
    [
        (("my train.py", "--name", "a b", "*", ""), ["python", "my train.py", "--name", "a b", "*", ""]),
        (("-m", "my.module", "-x"), ["python", "-m", "my.module", "-x"]),
        (("--", "my train.py"), ["python", "my train.py"]),
        (("launcher", "--of", "my train.py"), ["launcher", "--of", "my train.py"]),
    ],
    ids=["script", "module", "after dashes", "command"],
)
def test_programs_get_their_words_as_they_are(
    tool: Tool, words: tuple[str, ...], program: list[str], place: Place
) -> None:
    place.add(tool.name)
    place.add("launcher", "#!/bin/sh\n")
    (place.folder / "my train.py").write_text("")
    done = place.run(tool, *words)
    assert done.returncode == 0, done.stderr
    assert place.called[-len(program) :] == program
    # The word before is of the profiler, not another of the program.
    assert place.called[-len(program) - 1] in (tool.usual_report, "50")


@both
@pytest.mark.parametrize(
    ("words", "env", "report"),
    [
        ((), {"OUTPUT": "my run"}, "profiling_results/my run"),
        ((), {"OUTPUT": "x", "OUTPUT_DIR": "my results"}, "my results/x"),
        (("-d", "my results", "-n", "my run"), {"OUTPUT": "x"}, "my results/my run"),
        (("--output-dir=my results", "--name=a=b"), {}, "my results/a=b"),
        ((), {"OUTPUT": "else where/x"}, "else where/x"),
    ],
)
def test_where_the_report_goes(
    tool: Tool, words: tuple[str, ...], env: dict[str, str], report: str, place: Place
) -> None:
    place.add(tool.name)
    done = place.run(tool, *words, env=env)
    assert done.returncode == 0, done.stderr
    assert after(place.called, "-o") == report
    # As it would have to be typed.
    assert (
        f"report: {report}.{tool.ending}".replace(" ", "\\ ").replace("report:\\ ", "report: ") in done.stderr
    )
    # With the ending it is the same.
    place.run(tool, "--name", f"x.{tool.ending}")
    assert Path(after(place.called, "-o")).name == "x"


@both
def test_the_exit_code_is_passed_on(tool: Tool, place: Place) -> None:
    place.add(tool.name)
    done = place.run(tool, env={"ENDS_WITH": "42", "WITH_REPORT": "0"})
    assert done.returncode == 42
    assert f"error: {tool.name} ended with exit code 42" in done.stderr
    assert "report:" not in done.stderr
    # What was recorded until then is there.
    assert "report:" in place.run(tool, env={"ENDS_WITH": "1"}).stderr


@both
def test_the_tool_and_the_interpreter_can_be_named(tool: Tool, place: Place) -> None:
    elsewhere = place.folder / "my tools"
    elsewhere.mkdir()
    moved = place.add(tool.name).rename(elsewhere / tool.name)
    interpreter = shutil.copy(place.bin / "python", elsewhere / "my python")
    done = place.run(tool, env={tool.name.upper(): str(moved), "PYTHON": str(interpreter)})
    assert done.returncode == 0, done.stderr
    assert str(interpreter) in place.called


@both
def test_python3_will_do_and_none_is_said(tool: Tool, place: Place) -> None:
    place.add(tool.name)
    python = (place.bin / "python").rename(place.bin / "python3")
    assert place.run(tool).returncode == 0
    assert "python3" in place.called
    python.unlink()
    done = place.run(tool)
    assert done.returncode == 127
    assert "neither python nor python3" in done.stderr


@both
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--nothing",), "--nothing: there is no such option"),
        (("--name",), "--name: a value is missing"),
        (("-d", ""), "-d: a value is missing"),
        (("missing.py",), "missing.py: there is no such file"),
        (("some.module",), "a module is -m some.module"),
        (("-m",), "-m: name a module"),
        (("",), "an empty word is no program"),
    ],
)
def test_wrong_words_run_nothing(tool: Tool, words: tuple[str, ...], said: str, place: Place) -> None:
    place.add(tool.name)
    done = place.run(tool, *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert f"run_{tool.name}_profile.sh --help" in done.stderr
    assert list(place.folder.iterdir()) == []


def test_counts_are_numbers(place: Place) -> None:
    place.add("ncu")
    done = place.run(NCU, "--count", "many")
    assert done.returncode == 2
    assert "--count many: use a whole number" in done.stderr


@both
def test_the_scripts_can_be_run_as_programs(tool: Tool) -> None:
    assert os.access(tool.script, os.X_OK)
    assert tool.script.read_text().startswith("#!/usr/bin/env bash\n")

"""`python -m gpuscope.profiling`: its verbs, and that programs run under it as they do under Python."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import gpuscope
from gpuscope.errors import MissingDependency
from gpuscope.profiling import MemoryProfiler, UnifiedProfiler
from gpuscope.profiling.__main__ import main, parser

PROGRAM = """
import atexit, os, signal, sys
import beside_it

def fail():
    raise ValueError("on purpose")

atexit.register(print, "at exit", beside_it.VALUE)
print(__name__, __file__, __spec__, sys.argv, sys.path[0], sys.modules["__main__"].fail is fail)
match sys.argv[1:]:
    case ["exit", code]:
        sys.exit(int(code))
    case ["words"]:
        sys.exit("some words")
    case ["raise"]:
        fail()
    case ["interrupt"]:
        raise KeyboardInterrupt
    case ["fork"]:
        child = os.fork()
        print("child" if child == 0 else os.waitpid(child, 0)[1])
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "beside_it.py").write_text("VALUE = 42\n")
    path = folder / "train.py"
    path.write_text(PROGRAM)
    return path


def python(*words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    # Found by name, not by folder: the folder that Python starts in must not matter.
    package = str(Path(gpuscope.__file__).parent.parent)
    path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
    return subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
    )


def profiling(*words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return python("-m", "gpuscope.profiling", *words, cwd=cwd)


@pytest.mark.parametrize("verb", ["profile", "memory"])
@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--output", "mine", "-o", "--json", "--", "x.py"],
        ["exit", "3"],
        ["words"],
        ["raise"],
        ["interrupt"],
        pytest.param(
            ["fork"], marks=pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
        ),
    ],
)
def test_a_program_runs_as_under_python(program: Path, tmp_path: Path, verb: str, words: list[str]) -> None:
    script = program.relative_to(tmp_path)
    plain = python(script, *words, cwd=tmp_path)
    under = profiling(verb, script, *words, cwd=tmp_path)
    assert under.returncode == plain.returncode
    assert sorted(under.stdout.splitlines()) == sorted(plain.stdout.splitlines())
    own = "gpuscope: the program did not import torch in its main thread, so there is nothing to report\n"
    assert under.stderr.replace(own, "") == plain.stderr


def test_a_program_with_an_error_of_syntax_shows_it_as_python_does(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text("def f(:\n")
    plain, under = python("wrong.py", cwd=tmp_path), profiling("profile", "wrong.py", cwd=tmp_path)
    assert plain.returncode == under.returncode == 1
    assert plain.stderr in under.stderr


def test_recording_begins_when_torch_is_there_and_not_before(tmp_path: Path) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text(
        "import os; LEVEL = os.environ.get('KINETO_LOG_LEVEL'); from torch import part; DONE = True"
    )
    (tmp_path / "torch" / "part.py").write_text("")
    (tmp_path / "program.py").write_text("""
import importlib, os, sys
from gpuscope.profiling._program import once_torch_is_imported
seen = []
with once_torch_is_imported(lambda: seen.append(sys.modules["torch"].DONE)):
    import json
    print(seen)
    import torch
    import torch.part
    importlib.reload(torch)
    print(seen, os.environ.get("KINETO_LOG_LEVEL"), torch.__loader__.__class__.__name__)
with once_torch_is_imported(lambda: seen.append("at once")):
    print(seen, len(sys.meta_path))
""")
    lines = python("program.py", cwd=tmp_path).stdout.splitlines()
    assert lines[:2] == ["[]", "[True] None SourceFileLoader"]
    assert lines[2].startswith("[True, 'at once']")


def test_nothing_imports_torch_or_pandas_before_it_is_needed(tmp_path: Path) -> None:
    modules = "profiler, memory, flame_graph, timeline, hta_integration, session"
    program = f"""
import sys
from gpuscope.profiling import {modules}, UnifiedProfiler, MemoryProfiler
print(sorted({{"torch", "pandas", "numpy", "plotly"}} & set(sys.modules)))
"""
    assert python("-c", program, cwd=tmp_path).stdout == "[]\n"


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="says what happens without torch")
def test_without_torch_it_is_said_how_to_get_it(tmp_path: Path) -> None:
    way_out = r"needs torch: pip install 'gpuscope\[torch\]'"
    with pytest.raises(MissingDependency, match=way_out), UnifiedProfiler(tmp_path).profile("x"):
        pass
    with pytest.raises(MissingDependency, match=way_out), MemoryProfiler().track("x"):
        pass


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    under = profiling("memory", "nowhere.py", cwd=tmp_path)
    assert under.returncode == 2
    assert under.stderr.startswith("error: nowhere.py: the program cannot be read")


@pytest.mark.parametrize(
    "words",
    [["profile", "-o", "file/out"], ["profile", "-o", "file/x.html"], ["memory", "-o", "file/m.json"]],
)
def test_where_nothing_can_be_written_nothing_is_run(program: Path, tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "file").write_text("")
    under = profiling(*words, program, cwd=tmp_path)
    assert (under.returncode, under.stdout) == (2, "")
    assert f"{words[-1].partition('/')[0]}" in under.stderr
    assert "no folder" in under.stderr


def test_after_two_dashes_anything_is_a_program(tmp_path: Path) -> None:
    (tmp_path / "tool").write_text("import sys; print(sys.argv)")
    assert profiling("profile", "--", "tool", "--json", cwd=tmp_path).stdout == "['tool', '--json']\n"


def test_the_verbs_are_all_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    shown = capsys.readouterr().out
    for verb in ("profile", "memory", "flame", "timeline", "hta", "compile"):
        assert f"\n    {verb} " in shown


@pytest.mark.parametrize("verb", ["profile", "memory", "compile"])
def test_a_verb_without_a_program_says_so(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb]) == 2
    assert "SCRIPT.py" in capsys.readouterr().err


class TestTraces:
    @pytest.mark.parametrize("verb", ["flame", "timeline", "hta"])
    @pytest.mark.parametrize("flag", ["-o", "--output"])
    def test_pages(self, demo: Path, tmp_path: Path, verb: str, flag: str) -> None:
        trace = sorted(demo.iterdir())[0]
        assert main([verb, str(trace), flag, str(tmp_path / "page.html")]) == 0
        assert (tmp_path / "page.html").read_text().lower().startswith("<!doctype html")

    @pytest.mark.parametrize(
        ("verb", "key"),
        [("flame", "children"), ("timeline", "gpu_active_time_us"), ("hta", "gpu_idle_time_pct")],
    )
    def test_json(
        self, demo: Path, tmp_path: Path, verb: str, key: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        trace = str(sorted(demo.iterdir())[0])
        assert main([verb, trace, "--output", str(tmp_path / "x.anything"), "--json"]) == 0
        assert capsys.readouterr().out == ""
        assert main([verb, trace, "--json"]) == 0
        printed = json.loads(capsys.readouterr().out)
        assert printed[key]
        assert json.loads((tmp_path / "x.anything").read_text()) == printed

    @pytest.mark.parametrize("verb", ["flame", "timeline", "hta", "profile", "memory"])
    def test_without_output_something_is_shown(
        self, demo: Path, verb: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main([verb, str(demo)]) == 0
        assert len(capsys.readouterr().out) > 80

    @pytest.mark.parametrize(("verb", "command"), [("profile", "analyze"), ("memory", "memory")])
    def test_a_trace_is_read_where_a_program_would_be_run(
        self, demo: Path, verb: str, command: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main([verb, str(demo), "--json"]) == 0
        envelope = json.loads(capsys.readouterr().out)
        assert envelope["command"] == command
        assert envelope["data"] == getattr(gpuscope.open(demo), command)().data

    def test_options_have_an_effect(self, demo: Path, tmp_path: Path) -> None:
        trace = str(sorted(demo.iterdir())[0])
        sizes = []
        for options in ([], ["--min-duration-us", "100"], ["--max-depth", "1"]):
            main(["flame", trace, "--json", "-o", str(tmp_path / "f.json"), *options])
            sizes.append((tmp_path / "f.json").stat().st_size)
        assert sizes[0] > sizes[1] > sizes[2]
        counts = []
        for options in ([], ["--no-python"], ["--min-duration-us", "100"]):
            main(["timeline", trace, "-o", str(tmp_path / "t.json"), *options])
            counts.append(len(json.loads((tmp_path / "t.json").read_text())["traceEvents"]))
        assert counts[0] >= counts[1] > counts[2]

    def test_unreadable_input_and_unknown_endings(
        self, demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["flame", str(tmp_path / "nowhere.json"), "-o", str(tmp_path / "f.html")]) == 3
        assert "nowhere.json" in capsys.readouterr().err
        trace = str(sorted(demo.iterdir())[0])
        for verb in ("flame", "timeline", "hta"):
            assert main([verb, trace, "-o", str(tmp_path / "x.abc")]) == 2
            assert "x.abc" in capsys.readouterr().err


def test_help_of_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    for verb in ("profile", "memory", "flame", "timeline", "hta", "compile"):
        with pytest.raises(SystemExit) as ended:
            parser().parse_args([verb, "--help"])
        assert ended.value.code == 0
        assert "--output" in capsys.readouterr().out


def test_a_gpuscope_in_the_current_folder_is_not_taken_for_ours(tmp_path: Path) -> None:
    (tmp_path / "gpuscope").mkdir()
    for name in ("__init__", "profiling", "bench"):
        (tmp_path / "gpuscope" / f"{name}.py").write_text("open('taken', 'w').close()\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "beside_it.py").write_text("VALUE = 1\n")
    (tmp_path / "sub" / "x.py").write_text("import beside_it, sys; print(sys.path[0], sys.argv)\n")
    (tmp_path / "targets.py").write_text("def run():\n    return 1\n")
    for words in (
        ["profile", "sub/x.py", "a"],
        ["bench", "run", "targets:run", "--max-repeats", "5", "-o", "out.json", "--db", "h.db"],
    ):
        # The command of the wheel has no current folder on its path; this stands for it.
        done = subprocess.run(
            [sys.executable, "-P", "-m", "gpuscope", *words], cwd=tmp_path, capture_output=True, text=True
        )
        assert not (tmp_path / "taken").exists(), words
        assert done.returncode == 0, done.stderr
        if words[0] == "profile":
            assert done.stdout == f"{tmp_path / 'sub'} ['sub/x.py', 'a']\n"
        else:
            assert (tmp_path / "out.json").exists()

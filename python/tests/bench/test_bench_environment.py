"""What is written down about the machine: everything that is known, and nothing that ends a run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from stand_ins import Gpu, cupy_with, torch_with

import gpuscope
from gpuscope.bench.environment import describe

KEYS = {
    *(
        "timestamp",
        "gpu_name",
        "device",
        "compute_capability",
        "driver_version",
        "cuda_version",
        "hip_version",
    ),
    *("cupy_version", "torch_version", "python_version", "platform", "host", "git_commit", "git_dirty"),
    *("flags", "gpuscope_version", "run_id"),
}


def test_a_machine_without_a_gpu_is_its_cpu(tmp_path: Path) -> None:
    found = describe(tmp_path)
    assert set(found) == KEYS
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}", found["timestamp"])
    assert found["device"] == "cpu" and found["gpu_name"]
    unknown = ("compute_capability", "driver_version", "cuda_version", "cupy_version", "torch_version")
    assert {found[key] for key in unknown} == {None}
    assert re.fullmatch(r"[0-9a-f]{32}", found["run_id"]) and found["run_id"] != describe()["run_id"]
    assert found["gpuscope_version"] == gpuscope.__version__
    assert found["python_version"] == ".".join(map(str, sys.version_info[:3]))
    json.dumps(found)


def test_cupy_tells_what_the_document_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", cupy_with(Gpu()))
    found = describe()
    assert found["gpu_name"] == "NVIDIA GB10"
    assert (found["device"], found["compute_capability"]) == ("cuda", "12.1")
    assert (found["cuda_version"], found["cupy_version"]) == ("13000", "13.6.0")


def test_torch_tells_its_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", torch_with(Gpu()))
    found = describe(flags={"allocator": "pool", "num_threads": 1})
    assert (found["gpu_name"], found["compute_capability"]) == ("NVIDIA GB10", "12.1")
    assert found["cuda_version"] == "13.0", "this one does not know its runtime's number"
    expected = {"tf32": True, "cudnn.benchmark": True, "deterministic": False}
    assert found["flags"] == {**expected, "num_threads": 1, "allocator": "pool"}


def test_rocm_is_told_from_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", torch_with(Gpu(), hip="6.4.1"))
    found = describe()
    assert (found["device"], found["compute_capability"]) == ("rocm", "gfx942")
    assert (found["cuda_version"], found["hip_version"]) == (None, "6.4.1")


def test_a_library_that_fails_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        class cuda:
            @staticmethod
            def is_available() -> bool:
                return True

        def __getattr__(self, name: str) -> Any:
            raise RuntimeError("driver shut down")

    monkeypatch.setitem(sys.modules, "torch", Broken())
    found = describe()
    assert set(found) == KEYS
    assert found["torch_version"] is None and found["flags"]["tf32"] is None


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    done = subprocess.run(
        ["git", "-C", str(folder), *who, *words], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_the_commit_and_whether_it_is_what_runs(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "model.py").write_text("1\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "x")
    commit = git(tmp_path, "rev-parse", "HEAD")
    (tmp_path / "results.json").write_text("not under version control\n")
    assert [describe(tmp_path)[key] for key in ("git_commit", "git_dirty")] == [commit, False]
    (tmp_path / "model.py").write_text("2\n")
    assert describe(tmp_path)["git_dirty"] is True


def test_outside_of_git_nothing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert [describe(tmp_path)[key] for key in ("git_commit", "git_dirty")] == [None, None]
    monkeypatch.setenv("PATH", "")
    assert describe(tmp_path)["git_commit"] is None


@pytest.mark.skipif(os.name != "posix", reason="the stand-in is a script")
def test_programs_have_the_gpu_that_the_driver_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text(
        '#!/bin/sh\ncase "$1" in *driver*) echo 580.95.05;; *) echo "NVIDIA GB10, 12.1"; echo second;; esac\n'
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    found = describe(programs=True)
    assert [found[key] for key in ("gpu_name", "device", "compute_capability", "driver_version")] == [
        *("NVIDIA GB10", "cuda", "12.1", "580.95.05")
    ]
    assert describe()["device"] == "cpu", "functions say by what they load whether they use it"

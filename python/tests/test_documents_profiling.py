"""The blocks of the document on profiling that need no torch: commands, results, modules."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import subprocess
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from types import UnionType
from typing import Any, Dict, List, Union, get_args, get_origin, get_type_hints  # noqa: UP035

import pytest
from documents import Block, blocks, document, run, run_shell

import gpuscope

pytest_plugins = ["document_fixtures"]


@blocks("001.1", "001.3", "001.4", "001.5")
def test_commands(block: Block, place: Path) -> None:
    done = run_shell(block, place)
    assert done.returncode == 0, done.stderr
    written = re.findall(r"(?:-o|--output) (\S+)", block.text)
    assert written
    for name in written:
        text = (place / name).read_text()
        if name.endswith(".html"):
            assert text.lower().startswith("<!doctype html"), name
            assert "trace.json" in text or "cutlass" in text, name
    busy_us = 309.437
    if "flame.json" in written:
        assert json.loads((place / "flame.json").read_text())["value"] == busy_us
    if "hta_report.json" in written:
        report = json.loads((place / "hta_report.json").read_text())
        assert report["compute_time_pct"] == pytest.approx(100 * 307_197 / 3_907_825)
        assert "cutlass" in report["top_kernels"][0]["name"]


@blocks("001.2")
def test_usage(block: Block) -> None:
    command = [sys.executable, "-m", "gpuscope.profiling", "--help"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert " ".join(shown.split()).startswith("usage: python -m gpuscope.profiling [-h] {profile,memory,")
    listed = dict(re.findall(r"^  (\w+) +(\S.*)$", block.text, re.MULTILINE))
    assert len(listed) == 6
    for verb, meaning in listed.items():
        assert re.search(rf"^ +{verb} +{re.escape(meaning)}$", shown, re.MULTILINE), verb


@blocks("001.12")
def test_trace_analysis(block: Block, place: Path) -> None:
    names, printed = run(block)
    assert "GPU idle: 92.1%\nCompute: 7.9%\nCommunication: 0.0%\n" in printed
    kernels = names["report"].top_kernels
    assert len(re.findall(r"^  .*: \d+\S*s$", printed, re.MULTILINE)) == 5
    assert kernels[0]["time_us"] == pytest.approx(17 * 5.807, rel=1e-3)
    assert len(names["report"].recommendations) == printed.count("\n") - 3 - 5
    assert (place / "hta_report.html").read_text().lower().startswith("<!doctype html")
    assert (place / "hta_output" / "trace.hta.json").exists()


@blocks("001.14", "001.15", "001.16")
def test_fields_of_results(block: Block) -> None:
    from gpuscope import profiling

    given = {"dataclass": dataclass, "Path": Path, "List": List, "Dict": Dict}  # noqa: UP006
    kinds = {name: getattr(profiling, name) for name in ("KernelInfo", "CompileBreak")}
    name = re.search(r"class (\w+):", block.text)[1]  # type: ignore[index]  # Each block has a class.
    listed = run(block, **given, **kinds)[0][name]
    ours = getattr(profiling, name)
    types = get_type_hints(ours, localns=vars(gpuscope))
    assert len(fields(listed)) >= 6
    for field, wanted in get_type_hints(listed).items():
        assert field in types, field
        assert fits(types[field], wanted), f"{field}: {types[field]} is not {wanted}"
    made = ours()
    assert {field.name for field in fields(listed)} <= set(made.to_dict())


def fits(ours: Any, wanted: Any) -> bool:
    """Whether a field of our type holds what is wanted; it may also be `None`, and say more exactly what it holds."""
    if get_origin(ours) in (Union, UnionType):
        return any(fits(one, wanted) for one in get_args(ours))
    if (get_origin(wanted) or wanted) is not (get_origin(ours) or ours):
        return False
    return all(fits(a, b) for a, b in zip(get_args(ours), get_args(wanted), strict=False))


@blocks("001.17")
def test_what_a_dashboard_would_serve(block: Block, place: Path) -> None:
    assert "dashboard.api.server" in block.text
    traced = gpuscope.open("trace.json")
    served = re.findall(r"`/api/profiler/(\w+)`", document("001"))
    assert served == ["flame", "memory", "timeline", "kernels", "hta", "compile"]
    for name in served[:-1]:
        envelope = json.loads(getattr(traced, name)().to_json())
        assert envelope["command"] == name
        assert envelope["data"], name
    # What was compiled is not in a trace but in a report of its own.
    report = json.loads(json.dumps(importlib.import_module("gpuscope.profiling").CompileReport().to_dict()))
    assert report["graph_breaks"] == []


@blocks("001.18")
def test_modules(block: Block) -> None:
    listed = re.findall(r"(\w+)\.py +# (.*)", block.text)
    assert [module for module, _ in listed][2:] == [
        *("profiler", "memory", "flame_graph", "timeline", "hta_integration", "torch_compile")
    ]
    for module, holds in listed:
        path = "gpuscope.profiling" if module == "__init__" else f"gpuscope.profiling.{module}"
        found = importlib.import_module(path)
        if module not in ("__init__", "__main__"):
            for name in holds.split(", "):
                assert inspect.isclass(getattr(found, name)), name
                assert getattr(found, name) is getattr(gpuscope.profiling, name)

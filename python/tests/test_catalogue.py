"""The methods of a run are those of the command line's catalogue, with the same options."""

from __future__ import annotations

import inspect
import json
from typing import Any

import pytest

import gpuscope
from gpuscope import _native
from gpuscope._flags import Selection

#: Selected by keyword arguments that all methods share; Python says the unit.
_SELECTION = {"from", "to", "step_marker", *Selection.__annotations__}
#: Picked from an answer that has them all; another word for `by="args"`.
_ANSWER = {"table", "unique_args"}
#: Asked in other ways: a chart of a run, the logs of a compiler, two runs.
_OTHERWISE = {"plot": "plot", "compile": "compile_log", "diff": "diff"}


def catalogue() -> list[dict[str, Any]]:
    return json.loads(_native.catalogue())


@pytest.mark.parametrize("question", catalogue(), ids=lambda question: question["name"])
def test_a_question_is_a_method_with_its_options(question: dict[str, Any]) -> None:
    name = question["name"].replace("-", "_")
    if name in _OTHERWISE:
        assert hasattr(gpuscope, _OTHERWISE[name]) or hasattr(gpuscope.Run, _OTHERWISE[name])
        return
    method = getattr(gpuscope.Run, name)
    parameters = inspect.signature(method).parameters
    takes = {parameter for parameter in parameters if parameter not in {"self", "selection"}}
    options = {option["name"] for option in question["options"]}
    # What is about files is a matter of opening a run and of saving an answer, but for models and the like.
    plain = {option["name"] for option in question["options"] if not option["for_files"]}
    assert plain - _SELECTION - _ANSWER <= takes <= options


def test_every_method_is_a_question() -> None:
    names = {question["name"].replace("-", "_") for question in catalogue()}
    from gpuscope.questions import Questions

    methods = {name for name in vars(Questions) if not name.startswith("_")}
    assert methods - names == {"convert"}

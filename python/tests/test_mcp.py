"""`gpuscope mcp` and the address `/mcp` of `gpuscope serve`, asked by the official client of the protocol."""

from __future__ import annotations

import asyncio
import json
import shlex
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

mcp = pytest.importorskip("mcp", reason="AGENT TESTS SKIPPED: mcp is not installed (pip install 'mcp>=2')")

#: Longer than any call here takes; a server that says nothing fails the test instead of holding it up.
PATIENCE = 60
#: What a client takes of an answer: 20,000 tokens.
MOST_CHARACTERS = 80_000

Conversation = Callable[[Any], Awaitable[Any]]


def command() -> str:
    """The command beside this interpreter, or else the one in PATH."""
    beside = Path(sys.executable).with_name("gpuscope")
    found = str(beside) if beside.exists() else shutil.which("gpuscope")
    assert found, "gpuscope is not installed as a command"
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs, one of them too large for one answer, and a file that is no trace."""
    folder = tmp_path_factory.mktemp("agents")
    for name, size in [("small", "1MB"), ("large", "8MB")]:
        words = [command(), "demo", "--only-write", "--ranks", "2", "--bytes", size, "-o", folder / name]
        subprocess.run(words, check=True, capture_output=True, timeout=PATIENCE)
    (folder / "broken.json").write_text('{"traceEvents": 5}')
    # Files that were written to just now are still waited for.
    time.sleep(1.5)
    return folder


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    words = [command(), "serve", str(folder), "--port", "0", "--no-open"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as serving:
        assert serving.stdout is not None
        try:
            yield serving.stdout.readline().strip()
        finally:
            serving.terminate()


@pytest.fixture(params=["stdio", "http"])
def door(request: pytest.FixtureRequest, folder: Path) -> Any:
    """What a client connects to."""
    if request.param == "stdio":
        return mcp.StdioServerParameters(command=command(), args=["mcp", str(folder)])
    return request.getfixturevalue("address") + "mcp"


def converse(door: Any, conversation: Conversation) -> Any:
    """What the conversation returns, once the folder has been looked through."""

    async def held() -> Any:
        server = mcp.stdio_client(door) if isinstance(door, mcp.StdioServerParameters) else door
        async with mcp.Client(server, mode="legacy", read_timeout_seconds=PATIENCE) as client:
            while not await settled(client):
                await asyncio.sleep(0.05)
            return await conversation(client)

    return asyncio.run(asyncio.wait_for(held(), 2 * PATIENCE))


async def settled(client: Any) -> bool:
    runs = (await told(client, "runs"))["runs"]
    return len(runs) == 3 and all(run["status"] in {"ready", "damaged"} for run in runs)


async def told(client: Any, tool: str, **arguments: Any) -> Any:
    """The answer, which is the same as text and as structure."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result
    text = result.content[0].text
    assert len(text) <= MOST_CHARACTERS
    assert json.loads(text) == result.structured_content
    return result.structured_content


async def refused(client: Any, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result
    return str(result.content[0].text)


def test_five_tools_that_only_read(door: Any) -> None:
    async def conversation(client: Any) -> None:
        tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} == {"runs", "analyze", "describe", "ask", "compare"}
        assert all(tool.annotations.read_only_hint and tool.description for tool in tools)
        assert "nanoseconds" in client.instructions

    converse(door, conversation)


def test_each_tool_answers(door: Any) -> None:
    async def conversation(client: Any) -> None:
        runs = await told(client, "runs", search="LARGE")
        assert [run["id"] for run in runs["runs"]] == ["large"]
        found = await told(client, "analyze", run="large")
        assert found["verdict"] and found["findings"]
        assert all(finding["confidence"] and finding["command"] for finding in found["findings"])
        assert {"note", "quality", "joint_gain_ns"} <= found.keys()
        questions = (await told(client, "describe"))["questions"]
        assert "kernels" in {question["question"] for question in questions}
        options = (await told(client, "describe", question="kernels"))["options"]
        assert "num_kernels" in {option["name"] for option in options}
        asked = await told(client, "ask", run="large", question="kernels", options={"num_kernels": 2})
        assert "kernels" in {table["name"] for table in asked["tables"]}
        assert asked["command"].startswith("gpuscope kernels")
        compared = await told(client, "compare", before="small", after="large")
        assert compared["tables"] and compared["sentence"]

    converse(door, conversation)


def test_long_answers_are_told_in_parts_each_row_once(door: Any) -> None:
    async def conversation(client: Any) -> None:
        parts, cursor = 0, 0
        rows: dict[str, int] = {}
        total: dict[str, int] = {}
        while cursor is not None:
            part = await told(client, "ask", run="large", question="launches", cursor=cursor)
            for table in part["tables"]:
                assert table["first_row"] == rows.get(table["name"], 0)
                rows[table["name"]] = table["first_row"] + len(table["rows"])
                total[table["name"]] = table["total_rows"]
            assert part["next_cursor"] is None or part["next_cursor"] > cursor
            parts, cursor = parts + 1, part["next_cursor"]
        assert rows == total
        assert parts > 1, "the run is too small to tell"

    converse(door, conversation)


def test_what_does_not_exist_is_refused_with_the_way_out(door: Any) -> None:
    async def conversation(client: Any) -> None:
        said = await refused(client, "ask", run="large", question="kernels", options={"num_kernel": 2})
        assert "num_kernels" in said
        assert "kernels" in await refused(client, "ask", run="large", question="kernel")
        said = await refused(client, "analyze", run="elsewhere")
        assert "elsewhere" in said and "large" in said
        assert "broken" in await refused(client, "analyze", run="broken")

    converse(door, conversation)


def test_arguments_are_held_to_what_a_tool_takes(door: Any) -> None:
    async def conversation(client: Any) -> None:
        for tool, wrong, near in [
            ("runs", {"serach": "large"}, "search"),
            ("analyze", {"runs": "large"}, "run"),
            ("describe", {"questions": "kernels"}, "question"),
            ("ask", {"question": "kernels", "optoins": {}}, "options"),
            ("compare", {"befor": "small", "after": "large"}, "before"),
        ]:
            said = await refused(client, tool, **wrong)
            (name,) = [name for name in wrong if f"there is no argument {name}" in said]
            assert name not in {near, "question", "after"}
            assert f"is it {near}?" in said
        for tool, given, missing in [
            ("ask", {"run": "large"}, "question"),
            ("compare", {"after": "large"}, "before"),
            ("compare", {"before": "small"}, "after"),
        ]:
            assert f"{missing} is missing" in await refused(client, tool, **given)
        for tool, mistyped, kind in [
            ("ask", {"question": 5}, "string"),
            ("ask", {"question": "kernels", "options": "num_kernels=2"}, "object"),
            ("runs", {"cursor": -1}, "integer"),
        ]:
            assert f"of type {kind}" in await refused(client, tool, **mistyped)
        said = await refused(client, "ask", run="large", question="kernels", table="kernal")
        assert "there is no table kernal" in said and "is it kernels?" in said

    converse(door, conversation)


def test_commands_run_in_a_shell(door: Any, folder: Path) -> None:
    async def conversation(client: Any) -> list[str]:
        analyzed = await told(client, "analyze", run="small")
        asked = await told(client, "ask", run="small", question="kernels", options={"num_kernels": 2})
        compared = await told(client, "compare", before="small", after="large")
        return [answer["command"] for answer in (analyzed, asked, compared)]

    for line in converse(door, conversation):
        name, *words = shlex.split(line)
        assert name == "gpuscope" and any(str(folder) in word for word in words), line
        subprocess.run([command(), *words], check=True, capture_output=True, timeout=PATIENCE)


def test_resources_and_prompts(door: Any) -> None:
    async def conversation(client: Any) -> None:
        listed = {str(resource.uri) for resource in (await client.list_resources()).resources}
        assert {"gpuscope://runs", "gpuscope://runs/large"} <= listed
        for uri, known in [("gpuscope://runs", "total"), ("gpuscope://runs/large", "verdict")]:
            read = (await client.read_resource(uri)).contents[0]
            assert known in json.loads(read.text)
        with pytest.raises(mcp.MCPError):
            await client.read_resource("gpuscope://elsewhere")
        prompts = {prompt.name for prompt in (await client.list_prompts()).prompts}
        assert prompts == {"why-slow", "what-changed", "who-holds-up"}
        prompt = await client.get_prompt("why-slow", {"run": "large"})
        assert "large" in prompt.messages[0].content.text
        prompt = await client.get_prompt("what-changed", {"before": "small", "after": "large"})
        said = prompt.messages[0].content.text
        assert "small (before)" in said and "large (after)" in said
        with pytest.raises(mcp.MCPError):
            await client.get_prompt("what-changed", {"before": "small"})

    converse(door, conversation)


def test_links_open(address: str) -> None:
    async def conversation(client: Any) -> list[str]:
        asked = [
            await told(client, "analyze", run="large"),
            await told(client, "ask", run="large", question="kernels"),
            await told(client, "compare", before="small", after="large"),
        ]
        return [answer["link"] for answer in asked]

    for link in converse(address + "mcp", conversation):
        with urllib.request.urlopen(link, timeout=PATIENCE) as page:
            assert page.status == 200
            assert page.headers.get_content_type() == "text/html"

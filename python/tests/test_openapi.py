"""The interface for programs keeps to its own description, whatever it is asked: requests made up from the description."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

schemathesis = pytest.importorskip(
    "schemathesis",
    reason="INTERFACE TESTS SKIPPED: schemathesis is not installed (pip install 'schemathesis>=4')",
)

SECONDS = 60


def command() -> str:
    """The command beside this interpreter, or else the one in PATH."""
    beside = Path(sys.executable).with_name("gpuscope")
    found = str(beside) if beside.exists() else shutil.which("gpuscope")
    assert found, "gpuscope is not installed as a command"
    return found


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with one run, and nothing else that `newest` could mean."""
    folder = tmp_path_factory.mktemp("interface")
    demo = [command(), "demo", "--only-write", "--ranks", "2", "--bytes", "300KB", "-o", str(folder / "job")]
    subprocess.run(demo, check=True, capture_output=True, timeout=SECONDS)
    # Files that were written to just now are still waited for.
    time.sleep(1.5)
    serve = [command(), "serve", str(folder), "--port", "0", "--no-open"]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as serving:
        assert serving.stdout is not None
        try:
            yield serving.stdout.readline().strip().rstrip("/")
        finally:
            serving.terminate()


@pytest.mark.parametrize("runs", ["made-up", "known"])
def test_answers_are_as_described(address: str, runs: str, tmp_path: Path) -> None:
    # Names that are made up hardly ever meet a run: half of the requests are about the one that is there.
    known = '[parameters]\n"path.run" = "job"\nrun = "job"\na = "job"\nb = "job"\n'
    (tmp_path / "schemathesis.toml").write_text(known if runs == "known" else "")
    checks = ["not_a_server_error", "status_code_conformance", "content_type_conformance"]
    words = [
        *[sys.executable, "-m", "schemathesis.cli", "run", f"{address}/api/openapi.json", "--url", address],
        *["--checks", ",".join([*checks, "response_schema_conformance"]), "--continue-on-failure"],
        *["--phases", "coverage,fuzzing", "--max-examples", "3", "--seed", "1", "--no-color"],
        *["--request-timeout", "30", "--generation-database", "none"],
    ]
    done = subprocess.run(
        words, cwd=tmp_path, capture_output=True, text=True, timeout=4 * SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout[-8_000:] + done.stderr
    assert " passed" in done.stdout, done.stdout[-2_000:]
    with urllib.request.urlopen(f"{address}/healthz", timeout=SECONDS) as page:
        assert page.status == 200, "the server did not survive"

"""A dashboard that is asked by many at once while its folder changes: it lives on, and takes no more memory than at first."""

from __future__ import annotations

import collections
import http.client
import json
import random
import shutil
import subprocess
import sys
import threading
import time
import urllib.parse
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

#: How long it is asked; what happens in hours shows in rates.
SECONDS = 18
THREADS = 4
PATIENCE = 30
#: Memory at the end, of that after a third of the time, and beyond that.
MOST_GROWTH, MOST_MORE = 1.5, 40 << 20

RUNS = ["one", "two", "three"]
FORMS = ["application/json"] * 3 + ["text/html", "text/csv", "application/vnd.apache.arrow.stream"]

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")


def command() -> str:
    """The command beside this interpreter, or else the one in PATH."""
    beside = Path(sys.executable).with_name("gpuscope")
    found = str(beside) if beside.exists() else shutil.which("gpuscope")
    assert found, "gpuscope is not installed as a command"
    return found


def demo(folder: Path, ranks: int = 2) -> None:
    words = [command(), "demo", "--only-write", "--ranks", str(ranks), "--bytes", "300KB", "-o", str(folder)]
    subprocess.run(words, check=True, capture_output=True, timeout=PATIENCE)


class Dashboard:
    """A server, and how it is asked."""

    def __init__(self, folder: Path) -> None:
        words = [command(), "serve", str(folder), "--port", "0", "--no-open"]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout is not None
        self.address = urllib.parse.urlsplit(self.process.stdout.readline().strip())

    def ask(self, path: str, accept: str = "application/json", *, leave: bool = False) -> tuple[int, bytes]:
        """Status and body; whoever leaves waits for neither, and gets 0."""
        port = self.address.port
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        try:
            connection.request("GET", self.address.path.rstrip("/") + path, headers={"Accept": accept})
            if leave:
                time.sleep(0.002)
                return 0, b""
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def runs(self) -> dict[str, str]:
        """Status by id."""
        status, body = self.ask("/api/v1/runs")
        assert status == 200
        return {run["id"]: run["status"] for run in json.loads(body)["runs"]}

    def questions(self) -> list[str]:
        questions = json.loads(self.ask("/api/v1/questions")[1])["questions"]
        return [question["name"] for question in questions if question["runs"] == 1]

    def memory(self) -> int:
        """Bytes of the process in memory."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) << 10


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in RUNS:
        demo(tmp_path / "runs" / name)
    for ranks in (1, 2):
        demo(tmp_path / "spare" / str(ranks), ranks)
    return tmp_path


@pytest.fixture
def dashboard(folder: Path) -> Iterator[Dashboard]:
    dashboard = Dashboard(folder / "runs")
    try:
        yield dashboard
    finally:
        dashboard.process.terminate()
        dashboard.process.wait(PATIENCE)


def settle(dashboard: Dashboard, ids: set[str]) -> None:
    until = time.monotonic() + PATIENCE
    while (runs := dashboard.runs()) != dict.fromkeys(ids, "ready"):
        assert time.monotonic() < until, runs
        time.sleep(0.05)


class Guests:
    """Who asks, each in a thread, until the time is over."""

    def __init__(self, dashboard: Dashboard) -> None:
        self.dashboard = dashboard
        self.questions = dashboard.questions()
        self.until = time.monotonic() + SECONDS
        self.statuses: collections.Counter[int] = collections.Counter()
        self.wrong: list[str] = []
        self.threads = [threading.Thread(target=self.guest, args=(seed,)) for seed in range(THREADS)]

    def guest(self, seed: int) -> None:
        choice = random.Random(seed)
        while time.monotonic() < self.until:
            path = self.path(choice)
            accept = "text/event-stream" if choice.random() < 0.05 else choice.choice(FORMS)
            try:
                status, body = self.dashboard.ask(path, accept, leave=choice.random() < 0.15)
            except (OSError, http.client.HTTPException) as error:
                self.wrong.append(f"{path}: {error!r}")
                if self.dashboard.process.poll() is not None:
                    return
                continue
            self.statuses[status] += 1
            if status >= 500 and status != 503:
                self.wrong.append(f"{path} as {accept}: {status} {body[:300]!r}")

    def path(self, choice: random.Random) -> str:
        run = choice.choice([*RUNS, "guest", "newest"])
        # Hardly any two of these are the same question.
        options = f"from={choice.randrange(10**6)}&to={choice.randrange(10**7, 10**12)}"
        question = choice.choice(self.questions)
        return choice.choice(
            [
                *[f"/api/v1/runs/{run}/{question}?{options}"] * 5,
                *[f"/runs/{run}/{question}?{options}"] * 2,
                f"/api/v1/compare?a=one&b={run}&{options}",
                f"/compare?a=one&b={run}&{options}",
                f"/runs/{run}/timeline/all/window?{options}&bucket=1000&lanes=0,1",
                f"/api/v1/runs/{run}",
                "/api/v1/runs",
                "/metrics",
                "/",
            ]
        )


def change(runs: Path, spare: Path, turn: int) -> None:
    """A run lands, is replaced by another, or goes."""
    guest = runs / "guest"
    if turn % 3 == 2:
        shutil.rmtree(guest)
        return
    shutil.copytree(spare / str(turn % 3 + 1), guest, dirs_exist_ok=True)


def test_a_busy_dashboard_lives_on(dashboard: Dashboard, folder: Path) -> None:
    settle(dashboard, set(RUNS))
    guests = Guests(dashboard)
    for thread in guests.threads:
        thread.start()
    early, turn = 0, 0
    while time.monotonic() < guests.until and dashboard.process.poll() is None:
        change(folder / "runs", folder / "spare", turn)
        turn += 1
        # Long enough that a run is read before it goes.
        time.sleep(1.5)
        if (
            not early
            and time.monotonic() > guests.until - SECONDS * 2 / 3
            and dashboard.process.poll() is None
        ):
            early = dashboard.memory()
    for thread in guests.threads:
        thread.join(2 * PATIENCE)
    assert dashboard.process.poll() is None, f"the server ended: {guests.wrong[-3:]}"
    assert not guests.wrong, "\n".join(guests.wrong[:5])
    assert guests.statuses[200] > 100, guests.statuses
    assert guests.statuses[0] > 10, guests.statuses
    late = dashboard.memory()
    assert late <= MOST_GROWTH * early + MOST_MORE, f"{early >> 20} MiB became {late >> 20} MiB"

    # What is in the folder at the end is what it shows.
    with suppress(FileNotFoundError):
        shutil.rmtree(folder / "runs" / "guest")
    settle(dashboard, set(RUNS))
    assert dashboard.ask("/api/v1/runs/one/kernels")[0] == 200
    assert dashboard.ask("/healthz")[0] == 200

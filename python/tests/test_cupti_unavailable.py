"""Machines where CUPTI cannot be used: a clear error in a process that goes on.

Each case has a process of its own, as the failure to guard against is one that ends the process.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SET_UP = """
import sys
from gpuscope import cupti
collector = cupti.KernelDataCollector()
assert cupti.is_available() is False
for set_up in (cupti.setup_cupti_kernels, cupti.setup_cupti_memcpy):
    try:
        set_up(collector)
    except cupti.CuptiUnavailable as error:
        print(error)
cupti.finalize_cupti_kernels()
assert not any(name == "cupti" or name.startswith("cupti.") for name in sys.modules), "CUPTI was loaded"
print("the program goes on")
"""


def run(code: str, **environment: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **environment},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def has_driver() -> bool:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


@pytest.mark.skipif(has_driver(), reason="this machine has an NVIDIA driver")
def test_without_a_driver_the_error_says_so() -> None:
    lines = run(SET_UP)
    assert lines[-1] == "the program goes on"
    assert len(lines) == 3
    for line in lines[:2]:
        assert "CUPTI needs an NVIDIA driver, and libcuda.so.1 cannot be opened" in line
        assert "gpuscope.open(path)" in line


@pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="needs a C compiler on Linux"
)
@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("int cuInit(unsigned flags) { return 100; }", "cuInit answers 100: it sees no GPU"),
        ("int cuInit(unsigned flags) { return 34; }", "cuInit answers 34: it is the stub for linking"),
        ("int cuInit(unsigned flags) { return 4321; }", "cuInit answers 4321"),
        ("int something_else(void) { return 0; }", "it has no cuInit"),
    ],
)
def test_a_driver_that_does_not_start_is_told_from_none(tmp_path: Path, source: str, message: str) -> None:
    (tmp_path / "driver.c").write_text(source)
    library = tmp_path / "libcuda.so.1"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, tmp_path / "driver.c"], check=True)
    lines = run(SET_UP, LD_LIBRARY_PATH=str(tmp_path))
    assert lines[-1] == "the program goes on"
    assert message in lines[0]

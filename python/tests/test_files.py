"""Files are never half written, whoever writes them."""

from __future__ import annotations

import gzip
import os
import resource
import signal
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gpuscope._files import new_file, write_text
from gpuscope.bench._files import write_json
from gpuscope.errors import UsageError
from gpuscope.hta import _derived
from gpuscope.profiling._saving import save_json, save_text


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@contextmanager
def full_disk() -> Iterator[None]:
    """As good as full: no file may have a byte."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_block_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), new_file(path) as file:
        file.write(b"n" * 100_000)
        raise KeyboardInterrupt
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")
    writers = (
        lambda: save_text("new", path),
        lambda: save_json({"a": 1}, path),
        lambda: write_json({"a": 1}, path),
    )
    for write in writers:
        with full_disk(), pytest.raises(UsageError, match=r"a\.json: cannot be written: file too large"):
            write()
        assert path.read_text() == "old"
    with full_disk(), pytest.raises(OSError):
        _derived.write_json(path, {"a": 1})
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_program_records_is_for_its_user_alone(tmp_path: Path) -> None:
    private, usual, kept = (tmp_path / name for name in ("private", "usual", "kept"))
    save_json({}, private, private=True)
    save_json({}, usual)
    kept.write_text("old")
    kept.chmod(0o640)
    save_json({}, kept, private=True)
    umask = os.umask(0)
    os.umask(umask)
    assert [mode(path) for path in (private, usual, kept)] == [0o600, 0o666 & ~umask, 0o640]


def test_a_link_is_replaced(tmp_path: Path) -> None:
    other, link = tmp_path / "other", tmp_path / "link"
    other.write_text("other")
    link.symlink_to(other)
    write_text(link, "new")
    assert (other.read_text(), link.read_text(), link.is_symlink()) == ("other", "new", False)


def test_compressed_files_are_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.json.gz"
    _derived.write_json(path, {"traceEvents": []})
    _derived.mark(path, "source.json")
    assert gzip.decompress(path.read_bytes()) == b'{"gpuscopeDerivedFrom":"source.json","traceEvents":[]}'

"""Errors of the operating system name their file, even where a system call only knows a
descriptor.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.env.disk import disk_sentence, write_atomically
from barnabas.env.real_disk import RealDisk

# A Linux file that is always full, and one whose first bytes cannot be read.
FULL = "/dev/full"
UNREADABLE = "/proc/self/mem"

linux = pytest.mark.skipif(sys.platform != "linux", reason=f"there is no {FULL} here")


@linux
def test_a_write_to_a_full_disk_names_its_file() -> None:
    file = RealDisk().open(FULL)
    with pytest.raises(OSError, match="No space left on device") as failed:
        file.write_at(0, b"x")
    assert failed.value.filename == FULL
    file.close()


@linux
def test_a_truncation_that_fails_names_its_file() -> None:
    file = RealDisk().open(FULL)
    with pytest.raises(OSError, match="Invalid argument") as failed:
        file.truncate(0)
    assert failed.value.filename == FULL
    file.close()


@linux
def test_reads_that_fail_name_their_file() -> None:
    disk = RealDisk()
    file = disk.open(UNREADABLE)
    reads: list[Callable[[], bytes]] = [
        lambda: file.read_at(0, 1),
        lambda: disk.read(UNREADABLE),
        lambda: disk.read_range(UNREADABLE, 0, 1),
    ]
    for read in reads:
        with pytest.raises(OSError, match="Input/output error") as failed:
            read()
        assert failed.value.filename == UNREADABLE
    file.close()


@linux
def test_a_file_that_cannot_be_replaced_is_named(tmp_path: Path) -> None:
    os.symlink(FULL, tmp_path / "a.tmp")
    with pytest.raises(OSError, match="Invalid argument") as failed:
        write_atomically(RealDisk(), f"{tmp_path}/a", b"x")
    assert failed.value.filename == f"{tmp_path}/a.tmp"


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/d/a"), "cannot format /d: /d/a: No space left on device."),
        (OSError(errno.ENOSPC, "No space left on device"), "cannot format /d: No space left on device."),
        (OSError("odd"), "cannot format /d: odd."),
    ],
)
def test_the_sentence_names_the_operation_and_the_file(error: OSError, sentence: str) -> None:
    assert disk_sentence("cannot format /d", error) == sentence

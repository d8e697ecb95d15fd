"""The operating system's files: descriptors, locks between processes, short writes."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.env import real_disk
from barnabas.env.real_disk import RealDisk, RealFile

LOCK_IN_ANOTHER_PROCESS = """
import fcntl, sys
file = open(sys.argv[1], "r+b")
try:
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    print("got it")
except OSError:
    print("held")
"""


def test_the_descriptor_is_that_of_the_file(tmp_path: Path) -> None:
    file = RealDisk().open(f"{tmp_path}/a")
    file.write_at(0, b"hello")
    assert os.pread(file.descriptor(), 5, 0) == b"hello"
    assert not os.get_inheritable(file.descriptor())
    file.close()


def test_closing_gives_the_descriptor_back(tmp_path: Path) -> None:
    file = RealDisk().open(f"{tmp_path}/a")
    number = file.descriptor()
    file.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(number)


def test_at_the_limit_the_first_opened_are_closed_and_pinned_ones_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_files = real_disk._open_files
    monkeypatch.setattr(open_files, "limit", len(open_files.files) + 4)
    monkeypatch.setattr(real_disk, "CLOSED_AT_ONCE", len(open_files.files) + 2)
    disk = RealDisk()
    files = [disk.open(f"{tmp_path}/{n}") for n in range(4)]
    files[0].pin()
    for n, file in enumerate(files):
        file.write_at(0, b"%d" % n)
    files.append(disk.open(f"{tmp_path}/4"))
    assert [file in open_files.files for file in files] == [True, False, False, True, True]
    assert [file.read_at(0, 1) for file in files] == [b"0", b"1", b"2", b"3", b""]
    files[0].unpin()
    for file in files:
        file.close()
    assert not any(file in open_files.files for file in files)


def test_the_process_may_open_as_many_files_as_it_is_allowed() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert soft == hard


def test_a_short_write_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel may take a part of a write, and does when a disk is nearly full."""
    real_pwrite = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda descriptor, data, position: real_pwrite(descriptor, bytes(data)[:3], position))
    file = RealDisk().open(f"{tmp_path}/a")
    file.write_at(0, b"hello world")
    assert file.read_at(0, 100) == b"hello world"
    file.close()


def test_a_short_read_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = RealDisk().open(f"{tmp_path}/a")
    file.write_at(0, b"hello world")
    real_pread = os.pread
    monkeypatch.setattr(os, "pread", lambda descriptor, size, position: real_pread(descriptor, min(size, 4), position))
    assert file.read_at(1, 9) == b"ello worl"
    assert file.read_at(6, 100) == b"world"
    assert file.read_at(11, 5) == b""
    file.close()


def test_a_lock_is_seen_by_other_processes_as_java_would_take_it(tmp_path: Path) -> None:
    def asked_elsewhere() -> str:
        command = [sys.executable, "-c", LOCK_IN_ANOTHER_PROCESS, f"{tmp_path}/.lock"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    lock = RealDisk().lock(f"{tmp_path}/.lock")
    assert lock is not None
    assert asked_elsewhere() == "held"
    lock.release()
    assert asked_elsewhere() == "got it"


def test_a_lock_by_another_path_is_the_same_lock(tmp_path: Path) -> None:
    disk = RealDisk()
    Path(tmp_path, "link").symlink_to(tmp_path)
    lock = disk.lock(f"{tmp_path}/.lock")
    assert lock is not None
    assert disk.lock(f"{tmp_path}/link/.lock") is None
    lock.release()


def test_a_file_closed_while_pinned_may_be_used_and_closed_again(tmp_path: Path) -> None:
    file = RealFile(f"{tmp_path}/a")
    file.pin()
    file.close()
    file.unpin()
    file.write_at(0, b"x")
    file.pin()
    file.unpin()
    assert file.read_at(0, 1) == b"x"
    file.close()

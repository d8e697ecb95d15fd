"""The operating system's files: descriptors, locks between processes, short writes."""

from __future__ import annotations

import errno
import gc
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.env import real_disk
from barnabas.env.disk import SyncFailed
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
    held = file.hold()
    assert os.pread(held.descriptor(), 5, 0) == b"hello"
    assert not os.get_inheritable(held.descriptor())
    file.close()


def test_closing_releases_the_descriptor(tmp_path: Path) -> None:
    file = RealDisk().open(f"{tmp_path}/a")
    number = file.hold().descriptor()
    file.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(number)


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Allows that many more files to be open than are open now; at the limit one file is evicted at
    a time.
    """
    gc.collect()  # files that earlier tests left open must not close in the middle of this one
    cache = real_disk._open_files
    for file in list(cache.files):
        file.close()

    def apply(more: int) -> None:
        monkeypatch.setattr(cache, "limit", len(cache.numbers) + more)
        monkeypatch.setattr(real_disk, "EVICTED_AT_ONCE", 1)

    return apply


def is_open(file: RealFile) -> bool:
    return file in real_disk._open_files.files


def test_at_the_limit_the_file_opened_first_is_evicted_and_opens_itself_again(tmp_path: Path, limit: Callable[[int], None]) -> None:
    limit(3)
    files = [RealFile(f"{tmp_path}/{n}") for n in range(4)]
    assert [is_open(file) for file in files] == [False, True, True, True]
    for n, file in enumerate(files):
        file.write_at(0, b"%d" % n)
        assert len(real_disk._open_files.numbers) <= real_disk._open_files.limit
    assert [file.read_at(0, 9) for file in files] == [b"0", b"1", b"2", b"3"]
    for file in files:
        file.close()
    assert not any(is_open(file) for file in files)


def test_a_file_that_is_held_is_not_evicted(tmp_path: Path, limit: Callable[[int], None]) -> None:
    limit(3)
    files = [RealFile(f"{tmp_path}/{n}") for n in range(3)]
    held = files[0].hold()
    number = held.descriptor()
    files.append(RealFile(f"{tmp_path}/3"))
    assert [is_open(file) for file in files] == [True, False, True, True]
    assert (files[0].hold().descriptor(), os.fstat(number).st_ino) == (number, os.stat(f"{tmp_path}/0").st_ino)
    for file in files:
        file.close()
    os.fstat(number)
    del held
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(number)


def test_files_with_unsynced_writes_are_evicted_last(tmp_path: Path, limit: Callable[[int], None]) -> None:
    limit(3)
    files = [RealFile(f"{tmp_path}/{n}") for n in range(3)]
    files[0].write_at(0, b"not synced")
    files[1].write_at(0, b"synced")
    files[1].sync()
    files.append(RealFile(f"{tmp_path}/3"))
    assert [is_open(file) for file in files] == [True, False, True, True]
    for file in files:
        file.write_at(0, b"not synced")
        file.close()


def test_no_file_is_held_for_later_while_descriptors_are_scarce(tmp_path: Path, limit: Callable[[int], None]) -> None:
    limit(2)
    file = RealFile(f"{tmp_path}/a")
    assert file.hold_if_open() is not None
    other = RealFile(f"{tmp_path}/b")
    assert other.hold_if_open() is None
    assert other.hold() is not None
    file.close()
    other.close()


def test_an_evicted_file_that_was_removed_is_not_found(tmp_path: Path, limit: Callable[[int], None]) -> None:
    limit(1)
    file = RealFile(f"{tmp_path}/a")
    other = RealFile(f"{tmp_path}/b")
    os.unlink(f"{tmp_path}/a")
    with pytest.raises(FileNotFoundError):
        file.write_at(0, b"lost")
    assert not os.path.exists(f"{tmp_path}/a")
    other.close()


def test_without_descriptors_files_are_evicted_and_the_open_is_tried_again(tmp_path: Path) -> None:
    """Under a limit that another part of the process has used up."""
    script = f"""
import os, resource
from barnabas.env.real_disk import RealDisk
disk = RealDisk()
files = [disk.open(f"{tmp_path}/{{n}}") for n in range(40)]
for n, file in enumerate(files):
    file.write_at(0, b"%d" % n)
taken = []
try:
    while True:
        taken.append(os.dup(0))
except OSError:
    pass
for n, file in enumerate(files):
    assert file.read_at(0, 9) == b"%d" % n
files += [disk.open(f"{tmp_path}/{{n}}") for n in range(40, 60)]
assert len(disk.names("{tmp_path}")) == 60
assert disk.read("{tmp_path}/7") == b"7"
disk.sync_directory("{tmp_path}")
"""
    run_limited(script, 128)


def run_limited(script: str, descriptors: int) -> None:
    def lower() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(64, descriptors), descriptors))

    ended = subprocess.run([sys.executable, "-c", script], preexec_fn=lower, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_soft_limit_is_raised_to_the_hard_one() -> None:
    script = """
import resource
from barnabas.env.descriptors import OTHERS, descriptors
from barnabas.env.real_disk import RealDisk, _open_files
RealDisk()
assert resource.getrlimit(resource.RLIMIT_NOFILE) == (500, 500)
assert descriptors.limit == 500
assert _open_files.limit == descriptors.files_max == 500 - OTHERS
"""
    run_limited(script, 500)


def test_every_sync_after_a_failed_one_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = RealFile(f"{tmp_path}/a")
    file.write_at(0, b"lost")

    def fail(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fail)
        with pytest.raises(SyncFailed):
            file.sync()
    # The kernel has reported the error once and would report success now. And nothing keeps the
    # descriptor.
    number = file.hold().descriptor()
    file.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(number)
    with pytest.raises(SyncFailed, match="Input/output error"):
        file.sync()
    file.close()


def test_a_sync_fails_when_its_descriptor_belongs_to_another_file(tmp_path: Path) -> None:
    """Another part of the process closed the number, although it was not its own."""
    file = RealFile(f"{tmp_path}/a")
    file.write_at(0, b"hello")
    other = os.open(f"{tmp_path}/b", os.O_RDWR | os.O_CREAT)
    os.dup2(other, file.hold().descriptor())
    with pytest.raises(SyncFailed, match="another file's"):
        file.sync()
    os.close(other)
    file.close()


def test_a_short_write_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel may write only a part, and does when a disk is nearly full."""
    real_pwrite = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda descriptor, data, position: real_pwrite(descriptor, bytes(data)[:3], position))
    file = RealDisk().open(f"{tmp_path}/a")
    file.write_at(0, b"hello world")
    assert file.read_at(0, 100) == b"hello world"
    file.close()


def test_a_short_read_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = RealDisk().open(f"{tmp_path}/a")
    file.write_at(0, b"hello world")
    real_pread = os.pread
    monkeypatch.setattr(os, "pread", lambda descriptor, size, position: real_pread(descriptor, min(size, 4), position))
    assert file.read_at(1, 9) == b"ello worl"
    assert file.read_at(6, 100) == b"world"
    assert file.read_at(11, 5) == b""
    file.close()


def test_other_processes_see_the_lock_that_java_would_take(tmp_path: Path) -> None:
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

"""Small file systems of their own, which tests really fill up or make read-only."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(path: Path, size_kib: int) -> Iterator[None]:
    """A file system of that size in memory at ``path``. The test is skipped where it cannot be
    mounted."""
    path.mkdir(parents=True, exist_ok=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size_kib}k", "none", str(path)], capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=False, capture_output=True)


def resize(path: Path, size_kib: int) -> None:
    _mount("-o", f"remount,size={size_kib}k", str(path))


@contextmanager
def read_only(path: Path) -> Iterator[None]:
    """No file can be created there or opened for writing; open files stay open, as when a kernel
    has found errors on a disk."""
    _mount("--bind", str(path), str(path))
    try:
        _mount("-o", "remount,bind,ro", str(path))
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=False, capture_output=True)


def _mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True, capture_output=True)


class Ballast:
    """A file that takes up all free space."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "ballast"

    def fill(self) -> None:
        with self._path.open("wb", buffering=0) as file:
            for size in (64 * 1024, 4096, 1):
                try:
                    while file.write(bytes(size)) == size:
                        pass
                except OSError:
                    continue

    def drop(self) -> None:
        self._path.unlink(missing_ok=True)

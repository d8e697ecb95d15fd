"""A disk that can only be read, so that storage's readers can be used on the files of a running
node.

Files are opened for reading, so the kernel refuses writes; this class refuses everything that
creates, renames, removes or locks.
"""

from __future__ import annotations

import os
from typing import NoReturn

from barnabas.env.real_disk import RealDisk, RealFile


class _ReadOnlyFile(RealFile):
    __slots__ = ()

    def _open(self, flags: int = 0) -> int:
        return os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)


class ReadOnlyDisk(RealDisk):
    def open(self, path: str) -> _ReadOnlyFile:
        return _ReadOnlyFile(path)

    def make_directory(self, path: str) -> NoReturn:
        raise AssertionError(f"a dump would make {path}")

    def rename(self, source: str, target: str) -> NoReturn:
        raise AssertionError(f"a dump would rename {source}")

    def remove(self, path: str) -> NoReturn:
        raise AssertionError(f"a dump would remove {path}")

    def remove_directory(self, path: str) -> NoReturn:
        raise AssertionError(f"a dump would remove {path}")

    def lock(self, path: str) -> NoReturn:
        raise AssertionError(f"a dump would lock {path}")

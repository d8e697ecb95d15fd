"""The operating system's files behind the disk port.

A broker with thousands of partitions may own more files than the process may open. :class:`_OpenFiles` closes some when the limit
comes near, and a closed file opens itself again when it is used; a file whose descriptor is in use elsewhere is pinned.
"""

from __future__ import annotations

import fcntl
import os
import resource
import shutil
from contextlib import suppress
from typing import ClassVar

from barnabas.env.disk import SyncFailed
from barnabas.model.buffers import Buffer

# So many files may be open at least, and else half of what the process may open: the other half is for connections.
FILES_OPEN_MIN = 256
# Closing a file costs a later open; do it in strides so that a node at its limit does not close one per append.
CLOSED_AT_ONCE = 64


class _OpenFiles:
    """Which files hold a descriptor, in order of opening: at the limit the first opened are closed."""

    def __init__(self) -> None:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft < hard:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.limit = max(FILES_OPEN_MIN, (hard if hard > 0 else 1 << 20) // 2)
        self.files: dict[RealFile, None] = {}

    def add(self, file: RealFile) -> None:
        if len(self.files) >= self.limit:
            for oldest in [each for each in self.files if not each.pins and not each.syncing][:CLOSED_AT_ONCE]:
                oldest.close()
        self.files[file] = None


_open_files = _OpenFiles()


class RealFile:
    __slots__ = ("_descriptor", "_doomed", "path", "pins", "syncing")

    def __init__(self, path: str) -> None:
        self.path = path
        self.pins = 0
        self.syncing = False
        self._doomed = False  # closed by its owner while pinned
        self._descriptor = self._open(os.O_CREAT)

    def _open(self, flags: int = 0) -> int:
        # Without O_CREAT when it is opened again: a file removed meanwhile must be missed, not made anew and found empty.
        descriptor = os.open(self.path, os.O_RDWR | os.O_CLOEXEC | flags, 0o644)
        _open_files.add(self)
        return descriptor

    def descriptor(self) -> int:
        descriptor = self._descriptor
        if descriptor < 0:
            descriptor = self._descriptor = self._open()
        return descriptor

    def pin(self) -> None:
        self.pins += 1

    def unpin(self) -> None:
        self.pins -= 1
        if self._doomed and not self.pins:
            self.close()

    def moved_to(self, path: str) -> None:
        self.path = path

    def size_bytes(self) -> int:
        return os.fstat(self.descriptor()).st_size

    def read_at(self, position: int, size_bytes: int) -> bytes:
        try:
            return self._read_at(position, size_bytes)
        except OSError as error:
            _name(error, self.path)
            raise

    def _read_at(self, position: int, size_bytes: int) -> bytes:
        data = os.pread(self.descriptor(), size_bytes, position)
        if len(data) == size_bytes or not data:
            return data
        parts = [data]
        while data and (remaining := size_bytes - sum(map(len, parts))):
            data = os.pread(self.descriptor(), remaining, position + size_bytes - remaining)
            parts.append(data)
        return b"".join(parts)

    def write_at(self, position: int, data: Buffer) -> None:
        try:
            descriptor = self._descriptor
            written = os.pwrite(descriptor if descriptor >= 0 else self.descriptor(), data, position)
            if written != len(data):
                self._write_rest(position, memoryview(data), written)
        except OSError as error:
            _name(error, self.path)
            raise

    def _write_rest(self, position: int, data: memoryview, written: int) -> None:
        # A short write is how a full disk begins; the next one says so with an error.
        while written < len(data):
            written += os.pwrite(self.descriptor(), data[written:], position + written)

    def truncate(self, size_bytes: int) -> None:
        try:
            os.ftruncate(self.descriptor(), size_bytes)
        except OSError as error:
            _name(error, self.path)
            raise

    def sync(self) -> None:
        # This may be a worker's thread: while it waits, the loop must not close the descriptor and reuse its number.
        self.syncing = True
        try:
            _sync(self.descriptor(), self.path)
        finally:
            self.syncing = False

    def close(self) -> None:
        if self.pins:
            self._doomed = True
        elif self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
            _open_files.files.pop(self, None)


def _name(error: OSError, path: str) -> None:
    """System calls on a descriptor fail without the name of the file, and a user cannot do much with an error that names none."""
    if error.filename is None:
        error.filename = path


def _sync(descriptor: int, path: str) -> None:
    try:
        os.fsync(descriptor)
    except OSError as error:
        raise SyncFailed(error.errno, error.strerror, path) from error


class RealLock:
    # POSIX locks do not exclude two holders inside one process, which two embedded brokers in one test would be.
    held: ClassVar[set[str]] = set()

    def __init__(self, path: str, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor
        self.held.add(path)

    def release(self) -> None:
        os.close(self._descriptor)
        self.held.discard(self._path)


class RealDisk:
    def open(self, path: str) -> RealFile:
        return RealFile(path)

    def exists(self, path: str) -> bool:
        return os.path.lexists(path)

    def names(self, directory: str) -> list[str]:
        return sorted(os.listdir(directory))

    def is_directory(self, path: str) -> bool:
        return os.path.isdir(path)

    def make_directory(self, path: str) -> None:
        os.makedirs(path, exist_ok=True)

    def read(self, path: str) -> bytes:
        with open(path, "rb") as file:
            try:
                return file.read()
            except OSError as error:
                _name(error, path)
                raise

    def read_range(self, path: str, position: int, size_bytes: int) -> bytes:
        with open(path, "rb", buffering=0) as file:
            try:
                data = os.pread(file.fileno(), size_bytes, position)
                while len(data) < size_bytes and (more := os.pread(file.fileno(), size_bytes - len(data), position + len(data))):
                    data += more
            except OSError as error:
                _name(error, path)
                raise
            return data

    def size_bytes(self, path: str) -> int:
        return os.stat(path).st_size

    def rename(self, source: str, target: str) -> None:
        os.replace(source, target)

    def remove(self, path: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(path)

    def remove_directory(self, path: str) -> None:
        shutil.rmtree(path)

    def sync_directory(self, path: str) -> None:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            _sync(descriptor, path)
        finally:
            os.close(descriptor)

    def lock(self, path: str) -> RealLock | None:
        path = os.path.realpath(path)
        if path in RealLock.held:
            return None
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            # A POSIX record lock, not flock: it is what Java's FileChannel.lock takes, so Kafka and we exclude each other.
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            return None
        return RealLock(path, descriptor)

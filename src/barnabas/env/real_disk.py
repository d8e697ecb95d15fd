"""The operating system's files behind the disk port.

A broker with thousands of partitions may own more files than the process may open.
:class:`OpenFiles` closes some of them when the limit is reached, and a closed file opens itself
again when it is used.

**A descriptor is closed when nothing refers to it any more, and at no other time.** The event loop
and the disk workers use files at the same time, and a system call runs without the interpreter's
lock. If one thread closed a number while another was about to write to it, the number could already
belong to another file, and the bytes would go there. Therefore a number never leaves its
:class:`_Descriptor`:

- each call takes a reference to the file's ``_Descriptor`` and keeps it until the system call has
  returned;
- closing a file, or evicting it from the cache, drops the file's own reference: from then on no new
  call finds the descriptor;
- dropping the last reference closes the number, which CPython does at once, on the thread that
  drops it.

So there are no pins to count, and the hot path pays one attribute more than it would for a bare
number. Only the cache opens descriptors and takes them away, under its lock; no system call is made
while the lock is held.

**A file that opens itself again must be the same file.** Device and inode are remembered from the
first time. If another file has the name by then, the call raises ``FileReplaced`` and nothing is
written into the new one. ``sync`` compares them too, because it promises durability, and so notices
when a library in this process has closed a number that is not its own.

**An eviction does not sync.** Linux keeps a failed write-back with the inode and reports it to the
next ``fsync``, also through a descriptor that was opened afterwards (since 4.17); so an error that
occurs while the file is closed is still found. It is lost only if the kernel drops the inode from
memory before that ``fsync``. To make that less likely, files without unsynced writes are evicted
first, which are also the least used: sealed segments and indexes. Syncing each file before its
eviction would close the rest of the gap, and was tried: an append to a partition whose file is
closed then takes 1 ms and more instead of some microseconds, on the event loop, and a node that
appends to more partitions than it may open files would miss its heartbeats. Such a node needs a
higher limit. An error that ``sync`` did report stays with the file: every later ``sync`` of it
fails too, because the kernel would not report it again.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import sys
from contextlib import suppress
from itertools import islice
from threading import Lock
from typing import ClassVar

from barnabas.env.descriptors import Descriptors, descriptors
from barnabas.env.disk import FileReplaced, SyncFailed
from barnabas.model.buffers import Buffer

# Closing a file costs a later open. Evict several at once, so that a node at its limit does not
# search for a victim at every append.
EVICTED_AT_ONCE = 64
# With few files a stride is a smaller share, so that the files in use now are not among the
# victims.
STRIDE_PART = 8
# How many files are examined to evict one. Files that are skipped go to the end of the queue, so
# the next stride examines others.
LOOKED_AT_FOR_ONE = 2


class _Descriptor:
    """A descriptor of the kernel, closed when the last reference to this object is dropped."""

    __slots__ = ("_close", "_numbers", "number")

    def __init__(self, number: int, numbers: set[int]) -> None:
        self.number = number
        self._numbers = numbers
        self._close = os.close  # at interpreter exit, `os` may be torn down before this object
        numbers.add(number)

    def __del__(self) -> None:
        # This may run on any thread and between any two instructions, so it must take no lock. The
        # number leaves the set first: as soon as it is closed, another thread may open a file with
        # the same number and add it.
        self._numbers.discard(self.number)
        # An error here (a network file system has some) is one of write-back, and `sync` reports
        # it.
        try:  # noqa: SIM105 (a context manager costs as much as the call, and this runs for every eviction)
            self._close(self.number)
        except OSError:
            pass

    def descriptor(self) -> int:
        return self.number

    def read_at(self, position: int, size_bytes: int) -> bytes:
        data = os.pread(self.number, size_bytes, position)
        if len(data) == size_bytes or not data:
            return data
        parts = [data]
        while data and (remaining := size_bytes - sum(map(len, parts))):
            data = os.pread(self.number, remaining, position + size_bytes - remaining)
            parts.append(data)
        return b"".join(parts)


class OpenFiles:
    """The cache: the files that have a descriptor, in order of opening, and the choice of those
    that lose it at the limit.
    """

    def __init__(self, budget: Descriptors) -> None:
        self.lock = Lock()
        self.files: dict[RealFile, None] = {}
        # All open descriptors, including those of files that were evicted or closed while in use.
        self.numbers: set[int] = set()
        self.evictions = 0
        self.limit = 0
        budget.attend(self._change_limit, self.make_room)

    def _change_limit(self, limit: int) -> None:
        """A new connection lowers the limit by one, so this is called for each of them."""
        self.limit = limit
        if len(self.numbers) > limit:
            self.make_room()

    def open(self, path: str, flags: int) -> _Descriptor:
        if len(self.numbers) >= self.limit:
            self.make_room()
        flags |= os.O_RDWR | os.O_CLOEXEC
        return _Descriptor(descriptors.call(os.open, path, flags, 0o644), self.numbers)

    def make_room(self) -> bool:
        """Evict some files, in order of opening, those with unsynced writes last. Returns whether a
        descriptor became free.
        """
        wanted = max(1, min(EVICTED_AT_ONCE, self.limit // STRIDE_PART))
        evicted: list[_Descriptor] = []
        with self.lock:
            # Files that are skipped go to the end of the queue, so that the next stride examines
            # others.
            unsynced = []
            for file in list(islice(self.files, LOOKED_AT_FOR_ONE * wanted)):
                if len(evicted) == wanted:
                    break
                if file.unsynced:
                    unsynced.append(file)
                else:
                    self._evict(file, evicted)
            for file in unsynced:
                if len(evicted) < wanted:
                    self._evict(file, evicted)
                else:
                    del self.files[file]
                    self.files[file] = None
            self.evictions += len(evicted)
        # The descriptors close when the list is dropped, which is after the lock is released.
        return bool(evicted)

    def _evict(self, file: RealFile, evicted: list[_Descriptor]) -> None:
        del self.files[file]
        descriptor = file.take_idle_descriptor()
        if descriptor is not None:
            evicted.append(descriptor)
        else:
            self.files[file] = None


class RealFile:
    __slots__ = ("_descriptor", "_identity", "_sync_error", "path", "unsynced")

    def __init__(self, path: str) -> None:
        self.path = path
        # Changed only under the cache's lock. A call reads it once and keeps the reference.
        self._descriptor: _Descriptor | None = None
        self.unsynced = False
        # Not the error itself: its traceback would refer to the descriptor and keep it open.
        self._sync_error: tuple[int | None, str | None] | None = None
        descriptor = _open_files.open(path, os.O_CREAT)
        self._identity = _identity(descriptor)
        self._adopt(descriptor)

    def _adopt(self, descriptor: _Descriptor) -> _Descriptor:
        """Two threads may have opened the file at the same time; then the second descriptor is
        dropped.
        """
        with _open_files.lock:
            if self._descriptor is None:
                self._descriptor = descriptor
                _open_files.files[self] = None
            return self._descriptor

    def _open_again(self) -> _Descriptor:
        with _open_files.lock:
            # An eviction takes the descriptor away for a moment to see whether it is in use.
            if self._descriptor is not None:
                return self._descriptor
        # Without O_CREAT: the open of a removed file must fail, not create an empty file.
        descriptor = _open_files.open(self.path, 0)
        if _identity(descriptor) != self._identity:
            raise FileReplaced(self.path)
        return self._adopt(descriptor)

    def take_idle_descriptor(self) -> _Descriptor | None:
        """Take the descriptor away; returns None, without any change, when it is in use."""
        descriptor = self._descriptor
        # Take it away first, then count references: a call that begins now does not find it, and
        # one that began before is counted.
        self._descriptor = None
        if _references(descriptor) > _UNSHARED:
            self._descriptor = descriptor
            return None
        return descriptor

    # -- the port

    def hold(self) -> _Descriptor:
        return self._descriptor or self._open_again()

    def hold_if_open(self) -> _Descriptor | None:
        return self._descriptor if len(_open_files.numbers) < _open_files.limit else None

    def moved_to(self, path: str) -> None:
        self.path = path

    def size_bytes(self) -> int:
        descriptor = self._descriptor or self._open_again()
        return os.fstat(descriptor.number).st_size

    def read_at(self, position: int, size_bytes: int) -> bytes:
        try:
            descriptor = self._descriptor or self._open_again()
            return descriptor.read_at(position, size_bytes)
        except OSError as error:
            _name(error, self.path)
            raise

    def write_at(self, position: int, data: Buffer) -> None:
        try:
            descriptor = self._descriptor or self._open_again()
            written = os.pwrite(descriptor.number, data, position)
            self.unsynced = True
            if written != len(data):
                # A short write is the first sign of a full disk; the next write then fails with an
                # error.
                rest = memoryview(data)
                while written < len(rest):
                    written += os.pwrite(descriptor.number, rest[written:], position + written)
        except OSError as error:
            _name(error, self.path)
            raise

    def truncate(self, size_bytes: int) -> None:
        try:
            descriptor = self._descriptor or self._open_again()
            os.ftruncate(descriptor.number, size_bytes)
            self.unsynced = True
        except OSError as error:
            _name(error, self.path)
            raise

    def sync(self) -> None:
        descriptor = self._descriptor or self._open_again()
        if self._sync_error is not None:
            raise SyncFailed(*self._sync_error, self.path)
        # Cleared before the call: a write in the meantime counts as unsynced again.
        self.unsynced = False
        try:
            if _identity(descriptor) != self._identity:
                raise SyncFailed(errno.ESTALE, "the descriptor has become another file's", self.path)
            _sync(descriptor.number, self.path)
        except OSError as error:
            self._sync_error = error.errno, error.strerror
            raise

    def close(self) -> None:
        with _open_files.lock:
            # Dropped after the lock is released, because dropping may close it.
            descriptor = self._descriptor
            self._descriptor = None
            _open_files.files.pop(self, None)
        del descriptor


def _references(descriptor: object) -> int:
    return sys.getrefcount(descriptor)


def _count_unshared() -> int:
    """How many references a function sees of an object that only its caller has in a variable; it
    depends on the interpreter.
    """
    fresh = object()
    return _references(fresh)


_UNSHARED = _count_unshared()


def _identity(descriptor: _Descriptor) -> tuple[int, int]:
    found = os.fstat(descriptor.number)
    return found.st_dev, found.st_ino


def _name(error: OSError, path: str) -> None:
    """System calls on a descriptor fail without the name of the file, which a user needs to act on
    the error.
    """
    if error.filename is None:
        error.filename = path


def _sync(descriptor: int, path: str) -> None:
    try:
        os.fsync(descriptor)
    except OSError as error:
        raise SyncFailed(error.errno, error.strerror, path) from error


_open_files = OpenFiles(descriptors)


def open_files() -> OpenFiles:
    """The process's cache, for its numbers."""
    return _open_files


class RealLock:
    # POSIX locks do not exclude two holders inside one process, such as two embedded brokers in one
    # test.
    held: ClassVar[set[str]] = set()

    def __init__(self, path: str, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor
        self.held.add(path)

    def release(self) -> None:
        os.close(self._descriptor)
        self.held.discard(self._path)


class RealDisk:
    def __init__(self) -> None:
        descriptors.raise_limit()

    def open(self, path: str) -> RealFile:
        return RealFile(path)

    def exists(self, path: str) -> bool:
        return os.path.lexists(path)

    def names(self, directory: str) -> list[str]:
        return sorted(descriptors.call(os.listdir, directory))

    def is_directory(self, path: str) -> bool:
        return os.path.isdir(path)

    def make_directory(self, path: str) -> None:
        os.makedirs(path, exist_ok=True)

    def read(self, path: str) -> bytes:
        with descriptors.call(open, path, "rb") as file:
            try:
                return file.read()
            except OSError as error:
                _name(error, path)
                raise

    def read_range(self, path: str, position: int, size_bytes: int) -> bytes:
        with descriptors.call(open, path, "rb", buffering=0) as file:
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
        descriptors.call(shutil.rmtree, path)

    def sync_directory(self, path: str) -> None:
        descriptor = descriptors.call(os.open, path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            _sync(descriptor, path)
        finally:
            os.close(descriptor)

    def lock(self, path: str) -> RealLock | None:
        path = os.path.realpath(path)
        if path in RealLock.held:
            return None
        descriptor = descriptors.call(os.open, path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            # A POSIX record lock, not flock: Java's FileChannel.lock takes the same, so Kafka and
            # Barnabas exclude each other.
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            return None
        return RealLock(path, descriptor)

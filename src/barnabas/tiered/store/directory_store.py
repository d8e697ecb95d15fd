"""A remote store that is a directory: a mounted file system (``file:///path``).

It does not use the package for object stores, although it could: that one neither syncs its writes
nor can be tested with power cuts, and the local copy of a segment is deleted because this store has
it. Here an object is written beside its place, synced, renamed and its name synced, all through the
``Disk`` port. A crash before the rename leaves a ``.part`` file, which no listing shows and a
deletion removes as well.

This store cannot guarantee a response in bounded time: on a mount that hangs, the calling thread
hangs too. Mount such a file system ``soft``.

The directory itself is never created: where a mount is missing, a new directory in its place would
take the data and lose it.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial

from barnabas.env.disk import Disk, DiskFile
from barnabas.model.buffers import Buffer
from barnabas.tiered.store.store import ObjectMissing, RemoteDataDamaged, RemoteStoreError, StoredObject, StoreRefused, StoreUnavailable

PART_SUFFIX = ".part"
# Directories whose names are known to be durable. Past this limit they are synced once more, which
# only costs time.
SYNCED_DIRECTORIES_MAX = 10_000
_REFUSALS = (errno.EACCES, errno.EPERM, errno.EROFS)


class DirectoryStore:
    def __init__(self, disk: Disk, root: str) -> None:
        self._disk = disk
        self._root = root.rstrip("/")
        self._synced: set[str] = set()

    def put(self, name: str, data: bytes | Iterable[Buffer]) -> None:
        path = self._path(name)
        part, directory = path + PART_SUFFIX, path.rpartition("/")[0]
        try:
            self._make(directory)
            file = self._disk.open(part)
        except OSError as error:
            raise self._error(name, error) from error
        try:
            self._write(name, file, (data,) if isinstance(data, bytes) else data)
        except Exception:
            # Half an object only occupies space.
            with suppress(OSError):
                self._disk.remove(part)
            raise
        finally:
            file.close()
        try:
            self._disk.rename(part, path)
            self._disk.sync_directory(directory)
        except OSError as error:
            with suppress(OSError):
                self._disk.remove(part)
            raise self._error(name, error) from error

    def _write(self, name: str, file: DiskFile, pieces: Iterable[Buffer]) -> None:
        """An error of ``pieces`` passes through unchanged, even an ``OSError``: it comes from
        another disk."""
        position = 0
        self._try(name, lambda: file.truncate(0))
        for piece in pieces:
            self._try(name, partial(file.write_at, position, piece))
            position += len(piece)
        self._try(name, file.sync)

    def _try(self, name: str, job: Callable[[], None]) -> None:
        try:
            job()
        except OSError as error:
            raise self._error(name, error) from error

    def _make(self, directory: str) -> None:
        if directory in self._synced:
            return
        if not self._disk.is_directory(self._root):
            raise FileNotFoundError(errno.ENOENT, "the store's directory does not exist", self._root)
        self._disk.make_directory(directory)
        above = directory
        while above != self._root:
            above = above.rpartition("/")[0]
            self._disk.sync_directory(above)
        if len(self._synced) >= SYNCED_DIRECTORIES_MAX:
            self._synced.clear()
        self._synced.add(directory)

    def get(self, name: str, *, size_bytes_max: int) -> bytes:
        data = self.get_range(name, 0, size_bytes_max + 1)
        if len(data) > size_bytes_max:
            raise RemoteDataDamaged(f"{name} in {self._root} has more than {size_bytes_max} bytes")
        return data

    def get_range(self, name: str, start: int, size_bytes: int) -> bytes:
        try:
            return self._disk.read_range(self._path(name), start, size_bytes)
        except OSError as error:
            raise self._error(name, error) from error

    def delete(self, names: Sequence[str]) -> None:
        directories: dict[str, None] = {}
        for name in names:
            path = self._path(name)
            directory = path.rpartition("/")[0]
            try:
                if self._disk.is_directory(directory):
                    self._disk.remove(path + PART_SUFFIX)
                    self._disk.remove(path)
                    directories[directory] = None
                elif not self._disk.is_directory(self._root):
                    raise FileNotFoundError(errno.ENOENT, "the store's directory does not exist", self._root)
            except OSError as error:
                raise self._error(name, error) from error
        for directory in directories:
            try:
                self._disk.sync_directory(directory)
            except OSError as error:
                raise self._error(directory, error) from error

    def list(self, prefix: str) -> Iterator[StoredObject]:
        try:
            if not self._disk.is_directory(self._root):
                raise FileNotFoundError(errno.ENOENT, "the store's directory does not exist", self._root)
            yield from self._below(prefix.rstrip("/"))
        except OSError as error:
            raise self._error(prefix, error) from error

    def _below(self, name: str) -> Iterator[StoredObject]:
        path = self._path(name) if name else self._root
        if not self._disk.is_directory(path):
            return
        for each in self._disk.names(path):
            inner = f"{name}/{each}" if name else each
            if self._disk.is_directory(f"{path}/{each}"):
                yield from self._below(inner)
            elif not each.endswith(PART_SUFFIX):
                try:
                    yield StoredObject(inner, self._disk.size_bytes(f"{path}/{each}"))
                except FileNotFoundError:
                    continue  # deleted during the listing

    def close(self) -> None:
        pass

    def _path(self, name: str) -> str:
        assert not any(part in ("", ".", "..") for part in name.split("/")), f"{name!r} is not the name of an object"
        return f"{self._root}/{name}"

    def _error(self, name: str, error: OSError) -> RemoteStoreError:
        kind: type[RemoteStoreError] = StoreUnavailable
        if isinstance(error, FileNotFoundError) and error.filename != self._root:
            kind = ObjectMissing
        elif error.errno in _REFUSALS:
            kind = StoreRefused
        return kind(f"{name} in {self._root}: {error.strerror or error}")

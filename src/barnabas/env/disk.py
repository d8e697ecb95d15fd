"""The disk as a port: all file operations of storage, and nothing else.

An implementation promises the following, and the simulated one drops unsynced data in a power cut:

- ``write_at`` and ``truncate`` are visible to every reader at once, durable only after ``sync``;
- a new, renamed or removed name is durable only after ``sync_directory`` of its directory;
- ``write_at`` writes everything or raises ``OSError``; after an error the bytes behind ``position``
  are unknown;
- an ``OSError`` has the name of its file, for the sentence that a user reads
  (:func:`disk_sentence`).

After a failed ``sync`` it is unknown which data reached the disk: the kernel marks the pages clean,
so that another ``fsync`` would succeed. The caller must take the directory offline.

A full disk is a different case (:func:`out_of_room`): the caller truncates the bytes that did not
fit, everything else is unchanged, and writing resumes when there is room.
"""

from __future__ import annotations

import errno
from contextlib import suppress
from typing import Protocol

from barnabas.model.buffers import Buffer

_FULL = (errno.ENOSPC, errno.EDQUOT)


class SyncFailed(OSError):
    """A ``sync`` that failed, for any reason, including a disk that turned out to be full only
    then.
    """


class FileReplaced(FileNotFoundError):
    """A closed file could not be opened again, because another file now has its name. Nothing was
    read or written.
    """

    def __init__(self, path: str) -> None:
        super().__init__(errno.ESTALE, "another file has taken the name", path)


def out_of_room(error: OSError) -> bool:
    """Whether the disk or the user's quota is full, and the operation had no effect."""
    return error.errno in _FULL and not isinstance(error, SyncFailed)


def disk_sentence(doing: str, error: OSError) -> str:
    """One sentence for a user. ``doing`` names the operation that failed and its directory: not
    every error has the name of a file.
    """
    where = f"{error.filename}: " if error.filename is not None else ""
    return f"{doing}: {where}{error.strerror or error}."


class HeldFile(Protocol):
    """An open file. It stays open for as long as a reference to this object exists, even if it is
    renamed or removed or its :class:`DiskFile` is closed.
    """

    def descriptor(self) -> int:
        """For ``sendfile``. The number is valid only while a reference to this object exists."""

    def read_at(self, position: int, size_bytes: int) -> bytes:
        """Returns fewer bytes only at the end of the file."""


class DiskFile(Protocol):
    """Safe to use from several threads: each call keeps the file open until it is done, even if
    another thread closes it meanwhile. The callers decide the order of a write and a read on two
    threads.
    """

    path: str

    def size_bytes(self) -> int: ...

    def read_at(self, position: int, size_bytes: int) -> bytes:
        """Returns fewer bytes only at the end of the file."""

    def write_at(self, position: int, data: Buffer) -> None: ...

    def truncate(self, size_bytes: int) -> None: ...

    def sync(self) -> None: ...

    def close(self) -> None:
        """Release the descriptor as soon as no call uses it and no :class:`HeldFile` refers to it.
        The file may be used again and then opens itself; that raises ``FileNotFoundError`` if it
        was removed, or its subclass ``FileReplaced``.
        """

    def hold(self) -> HeldFile:
        """Opens the file if it is closed."""

    def hold_if_open(self) -> HeldFile | None:
        """None when the file is closed, or when descriptors are too scarce to hold one for
        later.
        """

    def moved_to(self, path: str) -> None:
        """The file was renamed. Its owner reports that, since a disk does not know which files are
        open.
        """


class DirectoryLock(Protocol):
    def release(self) -> None: ...


class Disk(Protocol):
    def open(self, path: str) -> DiskFile:
        """Open for reading and writing; creates the file."""

    def exists(self, path: str) -> bool: ...

    def names(self, directory: str) -> list[str]:
        """Names in a directory, sorted."""

    def is_directory(self, path: str) -> bool: ...

    def make_directory(self, path: str) -> None:
        """With its parents; does nothing when it exists."""

    def read(self, path: str) -> bytes:
        """The whole file; raises ``FileNotFoundError`` when there is none."""

    def read_range(self, path: str, position: int, size_bytes: int) -> bytes:
        """A piece of a file, with fewer bytes only at its end. Unlike ``open`` it creates no file,
        but raises ``FileNotFoundError``.
        """

    def size_bytes(self, path: str) -> int: ...

    def rename(self, source: str, target: str) -> None:
        """Atomic; replaces ``target``. Durable after ``sync_directory``."""

    def remove(self, path: str) -> None:
        """Remove a file; does nothing when it does not exist."""

    def remove_directory(self, path: str) -> None:
        """Remove a directory and everything in it."""

    def sync_directory(self, path: str) -> None: ...

    def lock(self, path: str) -> DirectoryLock | None:
        """None when another process holds it."""


def write_atomically(disk: Disk, path: str, data: bytes) -> None:
    """Replace a small file so that after a crash it has either the old content or the new,
    complete.
    """
    temporary = path + ".tmp"
    file = disk.open(temporary)
    try:
        file.truncate(0)
        file.write_at(0, data)
        file.sync()
    except OSError as error:
        file.close()
        if out_of_room(error):
            # The part that was written takes room from other files.
            with suppress(OSError):
                disk.remove(temporary)
        raise
    file.close()
    disk.rename(temporary, path)
    disk.sync_directory(path.rpartition("/")[0])

"""The disk as a port: everything storage does to files, and nothing else.

What an implementation promises, and the simulated one takes back in a power cut:

- ``write_at`` and ``truncate`` are visible to every reader at once, durable only after ``sync``;
- a new, renamed or removed name is durable only after ``sync_directory`` of its directory;
- ``write_at`` writes everything or raises ``OSError``; after an error the bytes behind ``position`` are unknown;
- an ``OSError`` has the name of its file, for the sentence that a user reads (:func:`disk_sentence`).

After a failed ``sync`` nothing may be assumed about what reached the disk: the kernel marks the pages clean, so that another ``fsync``
would succeed. The caller must give the directory up.

A full disk is another matter (:func:`out_of_room`): what it did not take is cut off again, everything else is as it was, and when there
is room it goes on.
"""

from __future__ import annotations

import errno
from contextlib import suppress
from typing import Protocol

from barnabas.model.buffers import Buffer

_FULL = (errno.ENOSPC, errno.EDQUOT)


class SyncFailed(OSError):
    """A ``sync`` that failed, for whatever reason: also one that found out too late that the disk is full."""


class FileReplaced(FileNotFoundError):
    """A closed file was to be opened again, and another file has its name. Nothing was read or written."""

    def __init__(self, path: str) -> None:
        super().__init__(errno.ESTALE, "another file has taken the name", path)


def out_of_room(error: OSError) -> bool:
    """Whether the disk is full, or its owner's share of it, and said so before it took anything for granted."""
    return error.errno in _FULL and not isinstance(error, SyncFailed)


def disk_sentence(doing: str, error: OSError) -> str:
    """One sentence for a user. ``doing`` says what cannot be done, and names a directory: not every error has the name of a file."""
    where = f"{error.filename}: " if error.filename is not None else ""
    return f"{doing}: {where}{error.strerror or error}."


class HeldFile(Protocol):
    """An open file. It stays open for as long as a reference to this object exists, whatever becomes of its name and of the
    :class:`DiskFile` it came from."""

    def descriptor(self) -> int:
        """For ``sendfile``. The number is valid for as long as this object is referred to, and not a moment longer."""

    def read_at(self, position: int, size_bytes: int) -> bytes:
        """Fewer bytes only at the end of the file."""


class DiskFile(Protocol):
    """Safe to use from several threads: each call keeps the file open until it is done, even if another thread closes it meanwhile.
    The order of a write and a read on two threads is the callers' business."""

    path: str

    def size_bytes(self) -> int: ...

    def read_at(self, position: int, size_bytes: int) -> bytes:
        """Fewer bytes only at the end of the file."""

    def write_at(self, position: int, data: Buffer) -> None: ...

    def truncate(self, size_bytes: int) -> None: ...

    def sync(self) -> None: ...

    def close(self) -> None:
        """Give the descriptor back, as soon as no call uses it and no :class:`HeldFile` refers to it. The file may be used again and
        opens itself: ``FileNotFoundError`` if it has been removed, of which ``FileReplaced`` is a kind."""

    def hold(self) -> HeldFile:
        """Opens the file if it is closed."""

    def hold_if_open(self) -> HeldFile | None:
        """None when the file is closed, or when descriptors are so scarce that holding one for later is too much."""

    def moved_to(self, path: str) -> None:
        """The file was renamed; its owner says so, since a disk does not know who has it open."""


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
        """With its parents; nothing happens when it exists."""

    def read(self, path: str) -> bytes:
        """The whole file; ``FileNotFoundError`` when there is none."""

    def read_range(self, path: str, position: int, size_bytes: int) -> bytes:
        """A piece of a file, fewer bytes only at its end; unlike ``open`` it makes none, but raises ``FileNotFoundError``."""

    def size_bytes(self, path: str) -> int: ...

    def rename(self, source: str, target: str) -> None:
        """Atomic; replaces ``target``. Durable after ``sync_directory``."""

    def remove(self, path: str) -> None:
        """A file; nothing happens when it does not exist."""

    def remove_directory(self, path: str) -> None:
        """A directory and everything in it."""

    def sync_directory(self, path: str) -> None: ...

    def lock(self, path: str) -> DirectoryLock | None:
        """None when another process holds it."""


def write_atomically(disk: Disk, path: str, data: bytes) -> None:
    """Replace a small file so that a crash leaves the old content or the new, whole."""
    temporary = path + ".tmp"
    file = disk.open(temporary)
    try:
        file.truncate(0)
        file.write_at(0, data)
        file.sync()
    except OSError as error:
        file.close()
        if out_of_room(error):
            # What the disk took of it is room for somebody else.
            with suppress(OSError):
                disk.remove(temporary)
        raise
    file.close()
    disk.rename(temporary, path)
    disk.sync_directory(path.rpartition("/")[0])

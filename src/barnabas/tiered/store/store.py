"""The remote store as a port: objects with names, written once, read in pieces, deleted.

An implementation promises:

- ``put`` is all or nothing: an object is visible whole or not at all, and is durable when the call
  returns.
- Every call returns within bounded time, with a result or a :class:`RemoteStoreError`: an
  unreachable store is an error, not a wait.
- Every method may be called from any thread, several at once.

Nothing here runs on the event loop. Errors::

    RemoteStoreError
    ├── StoreUnavailable    unreachable or overloaded; the same call may succeed later
    ├── StoreRefused        credentials, permissions, a missing bucket: an operator has to act
    ├── ObjectMissing       no object of that name
    └── RemoteDataDamaged   the object exists and is corrupt
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from barnabas.model.buffers import Buffer


class RemoteStoreError(Exception):
    """The text is one sentence with the object's name."""


class StoreUnavailable(RemoteStoreError):
    pass


class StoreRefused(RemoteStoreError):
    pass


class ObjectMissing(RemoteStoreError):
    pass


class RemoteDataDamaged(RemoteStoreError):
    pass


class StoredObject(NamedTuple):
    name: str
    size_bytes: int


class RemoteStore(Protocol):
    def put(self, name: str, data: bytes | Iterable[Buffer]) -> None:
        """Store an object, a large one in pieces as they come; replaces an object of the same name.

        An exception of the iterable passes through unchanged, and then nothing is stored.
        """

    def get(self, name: str, *, size_bytes_max: int) -> bytes:
        """A whole small object; raises :class:`RemoteDataDamaged` when it is larger than any that
        was written."""

    def get_range(self, name: str, start: int, size_bytes: int) -> bytes:
        """Fewer bytes only at the object's end. Behind it, the result is empty or
        :class:`RemoteDataDamaged` is raised, depending on the store."""

    def delete(self, names: Sequence[str]) -> None:
        """Objects that do not exist are no error: an earlier deletion may have been interrupted."""

    def list(self, prefix: str) -> Iterator[StoredObject]:
        """Every object whose name begins with ``prefix``, which ends with a slash."""

    def close(self) -> None: ...

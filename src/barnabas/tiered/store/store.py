"""The remote store as a port: objects with names, written once, read in pieces, deleted.

What an implementation promises:

- ``put`` is all or nothing: an object is seen whole or not at all, and is durable when the call returns;
- every call comes back within bounded time, with an answer or a :class:`RemoteStoreError`: a store that is down is an error, not a wait;
- every method may be called from any thread, several at once.

Nothing here runs on the event loop. Errors::

    RemoteStoreError
    ├── StoreUnavailable    out of reach or overloaded; the same call may work later
    ├── StoreRefused        credentials, permissions, a bucket that is not there: somebody has to look
    ├── ObjectMissing       no object of that name
    └── RemoteDataDamaged   the object is there, and is not what was put there
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
        """Store an object, in pieces as they come where it is large; replaces one of the same name.

        An exception of the iterable comes through as it is, and nothing is stored then.
        """

    def get(self, name: str, *, size_bytes_max: int) -> bytes:
        """A whole small object; :class:`RemoteDataDamaged` when it is larger than anybody would have written."""

    def get_range(self, name: str, start: int, size_bytes: int) -> bytes:
        """Fewer bytes only at the object's end; behind it none, or :class:`RemoteDataDamaged`, as the store likes it."""

    def delete(self, names: Sequence[str]) -> None:
        """Those that are not there are no error: who deletes may have been interrupted before."""

    def list(self, prefix: str) -> Iterator[StoredObject]:
        """Every object whose name begins with ``prefix``, which ends with a slash."""

    def close(self) -> None: ...

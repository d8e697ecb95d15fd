"""Reading from remote segments: batches from an offset on, the aborted transactions among them, and offsets by time.

Runs on worker threads; any number of reads may run at once and share what was fetched ahead.
"""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.storage.log import TimestampOffset
from barnabas.storage.remote.chain import RemoteChain
from barnabas.storage.remote.index_cache import RemoteIndexCache
from barnabas.storage.remote.object_names import ObjectNames
from barnabas.storage.remote.store import RemoteStore
from barnabas.storage.transaction_index import AbortedTransaction


class OffsetNotRemote(Exception):
    """No link of the chain holds the offset: it has expired, or was never copied. OFFSET_OUT_OF_RANGE for a client."""


@dataclass(frozen=True, slots=True)
class RemoteRead:
    records: bytes = b""
    """Whole batches, checked; the first one holds the offset asked for or is the next behind a gap."""
    next_offset: int = -1
    """One above the last batch's last offset; the offset asked for when there are no records."""
    aborted: tuple[AbortedTransaction, ...] = ()
    """With records among these, as far as remote segments tell; only when asked for."""
    aborted_complete: bool = True
    """False: local segments may add more, ask ``Log.aborted_transactions(offset, next_offset)`` too and drop repetitions."""
    oversized: bool = False
    """The first batch alone is larger than was asked for."""


class RemoteReader:
    def __init__(self, store: RemoteStore, names: ObjectNames, indexes: RemoteIndexCache) -> None:
        raise NotImplementedError

    def read(self, chain: RemoteChain, offset: int, *, size_bytes_max: int, at_least_one: bool = True, aborted: bool = False) -> RemoteRead:
        """Raises ``OffsetNotRemote`` or ``RemoteStoreError``."""
        raise NotImplementedError

    def offset_for_timestamp(self, chain: RemoteChain, timestamp: int, start_offset: int) -> TimestampOffset | None:
        """The first record at or above ``start_offset`` that is not older than ``timestamp``; None when no remote one is."""
        raise NotImplementedError

    def close(self) -> None: ...

"""Indexes of remote segments, cached on local disk under Kafka's names::

<log dir>/remote-log-index-cache/<start offset>_<segment uuid>.{index,timeindex,txnindex}
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.env.disk import Disk
from barnabas.model.ids import Uuid
from barnabas.storage.remote.object_names import ObjectNames
from barnabas.storage.remote.segment_metadata import RemoteSegmentMetadata
from barnabas.storage.remote.store import RemoteStore
from barnabas.storage.transaction_index import AbortedTransaction

CACHE_DIRECTORY = "remote-log-index-cache"


class RemoteIndexes:
    """The three indexes of one remote segment, in memory. Immutable; safe on any thread."""

    def position_for(self, offset: int) -> int:
        """Where to begin looking for ``offset``: a batch at or before the one that holds it."""
        raise NotImplementedError

    def offset_for_timestamp(self, timestamp: int) -> int:
        """An offset before which every record is older than ``timestamp``."""
        raise NotImplementedError

    def aborted(self, start_offset: int, end_offset: int) -> tuple[list[AbortedTransaction], bool]:
        """Aborted transactions with records in [start, end), and whether later segments cannot add any."""
        raise NotImplementedError


class RemoteIndexCache:
    """May be used from any thread."""

    def __init__(self, disk: Disk, log_directory: str, store: RemoteStore, names: ObjectNames, *, size_bytes_max: int) -> None:
        """Makes the directory, takes over what an earlier process left whole, and removes the rest."""
        raise NotImplementedError

    def get(self, segment: RemoteSegmentMetadata) -> RemoteIndexes:
        """From memory, disk or the store, in this order. Raises ``RemoteStoreError``."""
        raise NotImplementedError

    def remove(self, uuids: Iterable[Uuid]) -> None:
        """The segments are gone, or their partition is."""
        raise NotImplementedError

    def resize(self, size_bytes_max: int) -> None:
        raise NotImplementedError

    @property
    def size_bytes(self) -> int:
        raise NotImplementedError

"""A log on a simulated disk whose sealed segments are copied into a directory of the same disk,
which stands for the remote store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from random import Random

from barnabas.env.disk import Disk
from barnabas.model.buffers import Buffer
from barnabas.simulation.disk import SimulatedDisk
from barnabas.storage.leader_epochs import EpochStart
from barnabas.storage.log import Log
from barnabas.tiered.copy_plan import LocalSegment, next_copy
from barnabas.tiered.metadata.catalogue import RemoteCatalogue
from barnabas.tiered.metadata.chain import NOTHING_COPIED, RemoteChain, build_chain, highest_copied_offset
from barnabas.tiered.metadata.segment_metadata import RemoteSegmentMetadata, RemoteSegmentUpdate
from barnabas.tiered.reading.index_cache import RemoteIndexCache
from barnabas.tiered.reading.read_ahead import ReadAhead
from barnabas.tiered.reading.reader import RemoteReader
from barnabas.tiered.segment_copy import SegmentCopy
from barnabas.tiered.store.directory_store import DirectoryStore
from barnabas.tiered.store.object_names import ObjectNames
from barnabas.tiered.store.store import RemoteStore, StoredObject, StoreUnavailable
from tests.unit.storage.logs import DIRECTORY, NOW_MS, new_disk
from tests.unit.tiered.made import FINISHED, segment_id

REMOTE = "/remote"
NAMES = ObjectNames("cluster")


def disk_with_store(seed: int = 0) -> tuple[SimulatedDisk, DirectoryStore]:
    disk = new_disk(seed)
    disk.make_directory(REMOTE)
    disk.sync_directory("/")
    return disk, DirectoryStore(disk, REMOTE)


def local_segments(log: Log) -> list[LocalSegment]:
    return [
        LocalSegment(each.base_offset, each.size_bytes, each.max_timestamp, has_aborted=bool(each.transaction_index.entries()))
        for each in log.segments
    ]


def copied_offset(catalogue: RemoteCatalogue, log: Log) -> int:
    return highest_copied_offset(
        catalogue, log.leader_epochs.entries, log.log_end_offset, local_start_offset=log.segments.first.base_offset
    )


def prepare(disk: Disk, log: Log, *, number: int = 1, copied: int = NOTHING_COPIED, directory: str = DIRECTORY) -> SegmentCopy | None:
    """The next copy, if one is due."""
    plan = next_copy(
        local_segments(log), log.leader_epochs.entries, copied_offset=copied, log_start_offset=0, last_stable_offset=log.log_end_offset
    )
    if plan is None:
        return None
    segment = log.segments.holding(plan.segment.base_offset)
    return SegmentCopy(disk, directory, segment, plan, plan.metadata(segment_id(number), broker_id=1, now_ms=NOW_MS))


def nothing(size_bytes: int) -> None:
    """No quota."""


class Tiered:
    """All sealed segments are remote."""

    def __init__(self, disk: Disk, log: Log, store: RemoteStore, *, directory: str = DIRECTORY) -> None:
        self.log = log
        self.catalogue = RemoteCatalogue()
        number = 0
        while (copy := prepare(disk, log, number=(number := number + 1), copied=self.copied, directory=directory)) is not None:
            self.catalogue.apply(copy.metadata)
            copy.run(store, NAMES, nothing)
            copy.release()
            self.catalogue.apply(RemoteSegmentUpdate(copy.metadata.id, FINISHED, broker_id=1, event_timestamp=NOW_MS))

    @property
    def epochs(self) -> list[EpochStart]:
        return self.log.leader_epochs.entries

    @property
    def copied(self) -> int:
        return copied_offset(self.catalogue, self.log)

    @property
    def chain(self) -> RemoteChain:
        return build_chain(self.catalogue, self.epochs, self.log.log_end_offset)

    @property
    def segments(self) -> list[RemoteSegmentMetadata]:
        return self.catalogue.segments()


class CountingStore:
    """Wraps a store and counts its requests; unreachable while ``down``."""

    def __init__(self, inner: RemoteStore) -> None:
        self.inner = inner
        self.asked: list[str] = []
        self.down = False

    def _ask(self, what: str, name: str) -> None:
        self.asked.append(f"{what} {name.rpartition('.')[2]}")
        if self.down:
            raise StoreUnavailable(f"{name} is out of reach")

    def put(self, name: str, data: bytes | Iterable[Buffer]) -> None:
        self._ask("put", name)
        self.inner.put(name, data)

    def get(self, name: str, *, size_bytes_max: int) -> bytes:
        self._ask("get", name)
        return self.inner.get(name, size_bytes_max=size_bytes_max)

    def get_range(self, name: str, start: int, size_bytes: int) -> bytes:
        self._ask("range", name)
        return self.inner.get_range(name, start, size_bytes)

    def delete(self, names: Sequence[str]) -> None:
        for name in names:
            self._ask("delete", name)
        self.inner.delete(names)

    def list(self, prefix: str) -> Iterator[StoredObject]:
        self._ask("list", prefix)
        return self.inner.list(prefix)

    def close(self) -> None:
        self.inner.close()


def reader(disk: Disk, store: RemoteStore, *, piece_bytes: int = 512, cache_bytes: int = 1 << 20) -> RemoteReader:
    indexes = RemoteIndexCache(disk, "/data", store, NAMES, size_bytes_max=cache_bytes)
    return RemoteReader(store, NAMES, indexes, ReadAhead(store, NAMES, piece_bytes=piece_bytes, threads=1))


def chances(seed: int) -> Random:
    return Random(seed)

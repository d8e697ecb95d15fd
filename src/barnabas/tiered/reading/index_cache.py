"""Indexes of remote segments, cached on local disk under Kafka's names::

    <log dir>/remote-log-index-cache/<start offset>_<segment uuid>.{index,timeindex,txnindex}

The files of a segment count only if all three exist; ``.txnindex`` is written last. Each file is
synced before it gets its name: a transaction index that a power cut shortened would still look
valid, and readers would get aborted records. A lost name only means that the index is fetched
again. When the limit is reached, the least recently used segment is removed first.

The cache may fail to keep an index, on a full disk for example, but never fails a reader for it:
the store has the original.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from threading import Lock
from typing import Final

from barnabas.env.disk import Disk
from barnabas.model.ids import Uuid, parse_uuid, uuid_text
from barnabas.storage.file_names import INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX
from barnabas.tiered.metadata.segment_metadata import RemoteSegmentMetadata
from barnabas.tiered.reading.remote_indexes import RemoteIndexes, parse_indexes
from barnabas.tiered.store.object_names import ObjectKind, ObjectNames
from barnabas.tiered.store.store import ObjectMissing, RemoteDataDamaged, RemoteStore

CACHE_DIRECTORY: Final = "remote-log-index-cache"
# The indexes of segments that are being read are also kept in memory, up to this many bytes of
# files, and at least one segment's.
MEMORY_BYTES_MAX: Final = 32 * 1024 * 1024
# No index is larger: segment.index.bytes is an int32 and its default is a twentieth of this.
INDEX_OBJECT_BYTES_MAX: Final = 256 * 1024 * 1024
_SUFFIXES: Final = (INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX)
_KINDS: Final = (ObjectKind.INDEX, ObjectKind.TIME_INDEX, ObjectKind.TRANSACTION_INDEX)
_WRITING_SUFFIX: Final = ".tmp"


class _Fetch:
    """The lock of a segment that is being fetched, and how many readers hold it or wait for it."""

    __slots__ = ("lock", "readers")

    def __init__(self) -> None:
        self.lock = Lock()
        self.readers = 0


class RemoteIndexCache:
    """May be used from any thread."""

    def __init__(self, disk: Disk, log_directory: str, store: RemoteStore, names: ObjectNames, *, size_bytes_max: int) -> None:
        """Create the directory, take over the complete files of an earlier process, and remove the
        rest."""
        self._disk = disk
        self._directory = f"{log_directory}/{CACHE_DIRECTORY}"
        self._store = store
        self._names = names
        self._size_bytes_max = size_bytes_max
        # One lock guards the books and is held briefly. Each segment that is being fetched has its
        # own, so that several readers of the same segment wait for one fetch. The last of them
        # removes it. If a reader whose fetch failed removed it, the next two readers would hold
        # different locks and write the same files.
        self._lock = Lock()
        self._fetching: dict[Uuid, _Fetch] = {}
        # In the order of last use, the least recent first. Values are the stem of the files and
        # their size, or the parsed indexes.
        self._on_disk: OrderedDict[Uuid, tuple[str, int]] = OrderedDict()
        self._in_memory: OrderedDict[Uuid, RemoteIndexes] = OrderedDict()
        self._disk_bytes = 0
        self._memory_bytes = 0
        disk.make_directory(self._directory)
        self._take_over()

    @property
    def size_bytes(self) -> int:
        """The size of the cache on disk."""
        return self._disk_bytes

    def get(self, segment: RemoteSegmentMetadata) -> RemoteIndexes:
        """From memory, disk or the store, in this order. Raises ``RemoteStoreError``."""
        uuid = segment.id.uuid
        found = self._remembered(uuid)
        if found is not None:
            return found
        with self._lock:
            fetch = self._fetching.setdefault(uuid, _Fetch())
            fetch.readers += 1
        try:
            with fetch.lock:
                found = self._remembered(uuid) or self._from_disk(segment) or self._from_store(segment)
                self._remember(uuid, found)
                return found
        finally:
            with self._lock:
                fetch.readers -= 1
                if not fetch.readers:
                    del self._fetching[uuid]

    def remove(self, uuids: Iterable[Uuid]) -> None:
        """Forget segments that are gone, or whose partition is gone."""
        for uuid in uuids:
            with self._lock:
                forgotten = self._in_memory.pop(uuid, None)
                self._memory_bytes -= forgotten.size_bytes if forgotten is not None else 0
                entry = self._forget(uuid)
            if entry is not None:
                self._remove_files(entry[0])

    def resize(self, size_bytes_max: int) -> None:
        self._size_bytes_max = size_bytes_max
        self._evict()

    # -- memory ------------------------------------------------------------------------------------

    def _remembered(self, uuid: Uuid) -> RemoteIndexes | None:
        with self._lock:
            found = self._in_memory.get(uuid)
            if found is not None:
                self._in_memory.move_to_end(uuid)
                if uuid in self._on_disk:
                    self._on_disk.move_to_end(uuid)
            return found

    def _remember(self, uuid: Uuid, indexes: RemoteIndexes) -> None:
        with self._lock:
            if uuid not in self._in_memory:
                self._in_memory[uuid] = indexes
                self._memory_bytes += indexes.size_bytes
            while self._memory_bytes > MEMORY_BYTES_MAX and len(self._in_memory) > 1:
                self._memory_bytes -= self._in_memory.popitem(last=False)[1].size_bytes

    # -- disk --------------------------------------------------------------------------------------

    def _take_over(self) -> None:
        """Keep complete files; remove ``.tmp``, Kafka's ``.deleted`` and everything else."""
        stems: dict[str, set[str]] = {}
        for name in self._disk.names(self._directory):
            stem, dot, suffix = name.partition(".")
            stems.setdefault(stem, set()).add(dot + suffix)
        for stem, suffixes in stems.items():
            uuid = _uuid_of(stem)
            whole = uuid is not None and suffixes.issuperset(_SUFFIXES)
            for suffix in sorted(suffixes):
                if not whole or suffix not in _SUFFIXES:
                    self._disk.remove(f"{self._directory}/{stem}{suffix}")
            if whole and uuid is not None:
                size_bytes = sum(self._disk.size_bytes(f"{self._directory}/{stem}{suffix}") for suffix in _SUFFIXES)
                self._on_disk[uuid] = (stem, size_bytes)
                self._disk_bytes += size_bytes
        self._evict()

    def _from_disk(self, segment: RemoteSegmentMetadata) -> RemoteIndexes | None:
        with self._lock:
            entry = self._on_disk.get(segment.id.uuid)
            if entry is None:
                return None
            self._on_disk.move_to_end(segment.id.uuid)
        try:
            return parse_indexes(segment, *(self._disk.read(f"{self._directory}/{entry[0]}{suffix}") for suffix in _SUFFIXES))
        except (OSError, ValueError):
            # The files were evicted this moment, or are corrupt. In both cases the store has the
            # original.
            self.remove([segment.id.uuid])
            return None

    def _from_store(self, segment: RemoteSegmentMetadata) -> RemoteIndexes:
        fetched = []
        for kind in _KINDS:
            try:
                data = self._store.get(self._names.name(segment, kind), size_bytes_max=INDEX_OBJECT_BYTES_MAX)
            except ObjectMissing:
                if kind is not ObjectKind.TRANSACTION_INDEX or not segment.txn_index_empty:
                    raise
                data = b""  # the segment has none, by its metadata
            fetched.append(data)
        try:
            indexes = parse_indexes(segment, *fetched)
        except ValueError as error:
            raise RemoteDataDamaged(f"the indexes of remote segment {segment.id} are damaged: {error}") from error
        self._keep(segment, fetched)
        return indexes

    def _keep(self, segment: RemoteSegmentMetadata, files: list[bytes]) -> None:
        stem = f"{segment.start_offset}_{uuid_text(segment.id.uuid)}"
        try:
            for suffix, data in zip(_SUFFIXES, files, strict=True):
                self._write(f"{self._directory}/{stem}{suffix}", data)
        except OSError:
            # The disk is probably full. Code that cannot do without the directory will find out
            # whether it has failed.
            self._remove_files(stem)
            return
        size_bytes = sum(map(len, files))
        with self._lock:
            self._forget(segment.id.uuid)
            self._on_disk[segment.id.uuid] = (stem, size_bytes)
            self._disk_bytes += size_bytes
        self._evict()

    def _write(self, path: str, data: bytes) -> None:
        temporary = path + _WRITING_SUFFIX
        file = self._disk.open(temporary)
        try:
            file.truncate(0)
            file.write_at(0, data)
            file.sync()
        finally:
            file.close()
        self._disk.rename(temporary, path)

    def _evict(self) -> None:
        while True:
            with self._lock:
                if self._disk_bytes <= self._size_bytes_max or not self._on_disk:
                    return
                entry = self._forget(next(iter(self._on_disk)))
            assert entry is not None
            self._remove_files(entry[0])

    def _forget(self, uuid: Uuid) -> tuple[str, int] | None:
        """Call this with the lock held."""
        entry = self._on_disk.pop(uuid, None)
        if entry is not None:
            self._disk_bytes -= entry[1]
        return entry

    def _remove_files(self, stem: str) -> None:
        # The transaction index goes first: without it the other files do not count.
        for suffix in reversed(_SUFFIXES):
            for name in (f"{stem}{suffix}", f"{stem}{suffix}{_WRITING_SUFFIX}"):
                try:
                    self._disk.remove(f"{self._directory}/{name}")
                except OSError:
                    continue  # the next start finds it and tries again


def _uuid_of(stem: str) -> Uuid | None:
    offset, _, uuid = stem.partition("_")
    if not offset.isdecimal():
        return None
    try:
        return parse_uuid(uuid)
    except ValueError:
        return None

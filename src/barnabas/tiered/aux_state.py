"""The state that a follower needs to begin at an offset whose past is only remote: the leader
epochs and the producers as of the end of a segment.

Both are files that a log keeps itself, so the fetched objects can be put into the partition's
directory as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from barnabas.model.dataclass import dataclass
from barnabas.storage.leader_epochs import EpochStart
from barnabas.storage.producer_snapshot import SnapshotDamaged, decode_snapshot
from barnabas.storage.producer_state import Producer
from barnabas.tiered.metadata.segment_metadata import RemoteSegmentMetadata
from barnabas.tiered.store.object_names import ObjectKind, ObjectNames
from barnabas.tiered.store.store import RemoteDataDamaged, RemoteStore

# One line per epoch: more of them than a cluster elects leaders in its lifetime.
LEADER_EPOCHS_BYTES_MAX = 16 * 1024 * 1024
# 46 bytes per producer, which makes more than a million of them.
SNAPSHOT_BYTES_MAX = 64 * 1024 * 1024
_VERSION = "0"


@dataclass(frozen=True, slots=True)
class AuxState:
    leader_epochs: tuple[EpochStart, ...]
    producers: tuple[Producer, ...]
    producer_snapshot: bytes
    """As it lies in the store; goes into ``<offset>.snapshot``."""
    offset: int
    """One above the segment's end: the state is as of this offset."""


def fetch_aux_state(store: RemoteStore, names: ObjectNames, segment: RemoteSegmentMetadata) -> AuxState:
    """Raises ``RemoteStoreError``. For a worker thread."""
    epochs_name = names.name(segment, ObjectKind.LEADER_EPOCHS)
    snapshot_name = names.name(segment, ObjectKind.SNAPSHOT)
    epochs = store.get(epochs_name, size_bytes_max=LEADER_EPOCHS_BYTES_MAX)
    snapshot = store.get(snapshot_name, size_bytes_max=SNAPSHOT_BYTES_MAX)
    try:
        leader_epochs = decode_leader_epochs(epochs)
    except ValueError as error:
        raise RemoteDataDamaged(f"{epochs_name} is no list of leader epochs: {error}") from error
    try:
        producers = tuple(decode_snapshot(snapshot))
    except SnapshotDamaged as error:
        raise RemoteDataDamaged(f"{snapshot_name} is no snapshot of producers: {error}") from error
    return AuxState(leader_epochs, producers, snapshot, segment.end_offset + 1)


def encode_leader_epochs(epochs: Sequence[EpochStart]) -> bytes:
    """The text of a ``leader-epoch-checkpoint``."""
    return (f"{_VERSION}\n{len(epochs)}\n" + "".join(f"{epoch} {start}\n" for epoch, start in epochs)).encode()


def decode_leader_epochs(data: bytes) -> tuple[EpochStart, ...]:
    """Raises ``ValueError`` for any other text."""
    version, count, *lines = data.decode("ascii").splitlines() or [""] * 2
    if version != _VERSION or int(count) != len(lines):
        raise ValueError(f"it begins with {version!r} and {count!r} and has {len(lines)} lines")
    entries = tuple(EpochStart(int(epoch), int(start)) for epoch, start in (line.split() for line in lines))
    for one, following in pairwise(entries):
        if one.epoch >= following.epoch or one.start_offset >= following.start_offset:
            raise ValueError(f"{one} stands before {following}")
    return entries

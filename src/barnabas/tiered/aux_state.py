"""What a follower needs to begin at an offset whose past is only remote: the leader epochs and the producers as of a segment's end.

Both are the files a log keeps itself, so what is fetched can be put into the partition's directory as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from barnabas.storage.leader_epochs import EpochStart
from barnabas.storage.producer_snapshot import SnapshotDamaged, decode_snapshot
from barnabas.storage.producer_state import Producer
from barnabas.tiered.metadata.segment_metadata import RemoteSegmentMetadata
from barnabas.tiered.store.object_names import ObjectKind, ObjectNames
from barnabas.tiered.store.store import RemoteDataDamaged, RemoteStore

# A line an epoch: more of them than a cluster elects leaders in its life.
LEADER_EPOCHS_BYTES_MAX = 16 * 1024 * 1024
# 46 bytes a producer, which makes over a million of them.
SNAPSHOT_BYTES_MAX = 64 * 1024 * 1024
_VERSION = "0"


@dataclass(frozen=True, slots=True)
class AuxState:
    leader_epochs: tuple[EpochStart, ...]
    producers: tuple[Producer, ...]
    producer_snapshot: bytes
    """As it lies in the store; belongs into ``<offset>.snapshot``."""
    offset: int
    """One above the segment's end: the state is as of here."""


def fetch_aux_state(store: RemoteStore, names: ObjectNames, segment: RemoteSegmentMetadata) -> AuxState:
    """Raises ``RemoteStoreError``. For a worker thread."""
    epochs_name = names.name(segment, ObjectKind.LEADER_EPOCHS)
    snapshot_name = names.name(segment, ObjectKind.SNAPSHOT)
    epochs = store.get(epochs_name, size_bytes_max=LEADER_EPOCHS_BYTES_MAX)
    snapshot = store.get(snapshot_name, size_bytes_max=SNAPSHOT_BYTES_MAX)
    try:
        leader_epochs = decode_leader_epochs(epochs)
    except ValueError as wrong:
        raise RemoteDataDamaged(f"{epochs_name} is no list of leader epochs: {wrong}") from wrong
    try:
        producers = tuple(decode_snapshot(snapshot))
    except SnapshotDamaged as wrong:
        raise RemoteDataDamaged(f"{snapshot_name} is no snapshot of producers: {wrong}") from wrong
    return AuxState(leader_epochs, producers, snapshot, segment.end_offset + 1)


def encode_leader_epochs(epochs: Sequence[EpochStart]) -> bytes:
    """The text of a ``leader-epoch-checkpoint``."""
    return (f"{_VERSION}\n{len(epochs)}\n" + "".join(f"{epoch} {start}\n" for epoch, start in epochs)).encode()


def decode_leader_epochs(data: bytes) -> tuple[EpochStart, ...]:
    """``ValueError`` for anything that is not one."""
    version, count, *lines = data.decode("ascii").splitlines() or [""] * 2
    if version != _VERSION or int(count) != len(lines):
        raise ValueError(f"it begins with {version!r} and {count!r} and has {len(lines)} lines")
    entries = tuple(EpochStart(int(epoch), int(start)) for epoch, start in (line.split() for line in lines))
    for one, following in pairwise(entries):
        if one.epoch >= following.epoch or one.start_offset >= following.start_offset:
            raise ValueError(f"{one} stands before {following}")
    return entries

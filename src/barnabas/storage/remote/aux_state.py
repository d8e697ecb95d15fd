"""What a follower needs to begin at an offset whose past is only remote: the leader epochs and the producers as of a segment's end."""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.storage.leader_epochs import EpochStart
from barnabas.storage.producer_state import Producer
from barnabas.storage.remote.object_names import ObjectNames
from barnabas.storage.remote.segment_metadata import RemoteSegmentMetadata
from barnabas.storage.remote.store import RemoteStore


@dataclass(frozen=True, slots=True)
class AuxState:
    leader_epochs: tuple[EpochStart, ...]
    producers: tuple[Producer, ...]
    producer_snapshot: bytes
    """As it lies in the store; belongs into ``<offset>.snapshot``."""
    offset: int
    """One above the segment's end: the state is as of here."""


def fetch_aux_state(store: RemoteStore, names: ObjectNames, segment: RemoteSegmentMetadata) -> AuxState:
    """Raises ``RemoteStoreError``."""
    raise NotImplementedError

"""Control batches: records that the cluster writes between users' records, and that consumers skip.

The key of a control record is two int16, a version and one of :class:`ControlType`; the value
depends on the type.
"""

from __future__ import annotations

import struct
from enum import IntEnum

from barnabas.model.buffers import Buffer
from barnabas.records.batch_builder import build_batch
from barnabas.records.record import Record, open_batch

_KEY = struct.Struct(">hh")
_MARKER = struct.Struct(">hi")


class ControlType(IntEnum):
    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


def control_key(kind: ControlType) -> bytes:
    return _KEY.pack(0, kind)


def read_control_type(record: Record) -> int:
    """The raw type: readers must skip types that they do not know."""
    if record.key is None or len(record.key) < _KEY.size:
        raise ValueError("control record without a type in its key")
    kind: int = _KEY.unpack_from(record.key)[1]
    return kind


def build_control_batch(records: list[tuple[ControlType, bytes]], *, base_offset: int, timestamp: int, leader_epoch: int) -> bytearray:
    """Control records of the quorum: leader changes, snapshot headers and footers, voters."""
    return build_batch(
        [Record(base_offset + index, timestamp, control_key(kind), value) for index, (kind, value) in enumerate(records)],
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        control=True,
    )


def build_end_transaction(kind: ControlType, *, coordinator_epoch: int, producer_id: int, producer_epoch: int, timestamp: int) -> bytearray:
    """The marker that ends a producer's transaction in one partition."""
    assert kind in (ControlType.ABORT, ControlType.COMMIT)
    return build_batch(
        [Record(0, timestamp, control_key(kind), _MARKER.pack(0, coordinator_epoch))],
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
    )


def read_end_transaction(batch: Buffer) -> tuple[ControlType, int] | None:
    """The outcome of a transaction and the coordinator's epoch, or None for a control batch of
    another kind.

    When a transaction is wholly cleaned away, compaction leaves its marker as an empty batch, which
    is None too.
    """
    record = next(open_batch(batch), None)
    if record is None:
        return None
    kind = read_control_type(record)
    if kind not in (ControlType.ABORT, ControlType.COMMIT) or record.value is None:
        return None
    if len(record.value) < _MARKER.size:
        raise ValueError(f"the marker of a transaction has {len(record.value)} bytes")
    return ControlType(kind), _MARKER.unpack_from(record.value)[1]

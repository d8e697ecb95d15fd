"""Batches that a follower fetched from its leader, checked before a byte of them is written.

Batches must continue the follower's log without a gap, with epochs that do not fall and are not
above the leader's, and with correct checksums. The last one may be incomplete; the next fetch
brings it again. A batch that fails a check is dropped with everything behind it, and fetched again.
"""

from __future__ import annotations

from barnabas.model.buffers import Buffer
from barnabas.model.dataclass import dataclass
from barnabas.quorum.core.control_history import ControlChange, control_changes
from barnabas.quorum.core.log_outline import EpochStart, OffsetAndEpoch
from barnabas.records.batches import check_crc, walk


@dataclass(frozen=True, slots=True)
class Fetched:
    """``batches`` may be appended as they are; ``problem`` is the reason why the rest was
    dropped."""

    batches: Buffer
    end_offset: int
    epochs: tuple[EpochStart, ...]
    changes: tuple[ControlChange, ...]
    problem: str | None = None


def check_fetched(records: Buffer, *, end_of_log: OffsetAndEpoch, leader_epoch: int) -> Fetched:
    view = memoryview(records)
    offset, epoch, size = end_of_log.offset, end_of_log.epoch, 0
    epochs: list[EpochStart] = []
    changes: list[ControlChange] = []
    problem: str | None = None
    try:
        for position, header in walk(view):
            batch = view[position : position + header.size_bytes]
            if header.base_offset != offset:
                raise ValueError(f"a batch at offset {header.base_offset}, where {offset} is next")
            if not epoch <= header.leader_epoch <= leader_epoch:
                raise ValueError(f"a batch of epoch {header.leader_epoch} behind epoch {epoch}, from the leader of epoch {leader_epoch}")
            check_crc(batch, header)
            if header.producer_id >= 0:
                raise ValueError(f"a batch of producer {header.producer_id} at offset {header.base_offset}, though only controllers write")
            changes += control_changes(header, batch)
            epochs.append(EpochStart(header.leader_epoch, header.base_offset))
            offset, epoch, size = header.last_offset + 1, header.leader_epoch, position + header.size_bytes
    except ValueError as error:
        problem = str(error)
    return Fetched(view[:size], offset, tuple(epochs), tuple(changes), problem)

"""Makes a follower's log equal to its leader's: the offset to truncate to, the batches to append.

Truncation follows leader epochs only. The leader answers a fetch with the last epoch that both logs
can have in common, and with its end offset in the leader's log; the follower truncates to the
smaller of the two end offsets. The high watermark does not suffice: it lags, and a follower that
truncates to it loses committed records (KIP-101, KIP-279).

The follower verifies the checksum of every batch from its leader, so that a bit that flipped in
transit, or on the leader's disk, does not become a second corrupt copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from barnabas.model.buffers import Buffer
from barnabas.records.batch_header import BatchHeader
from barnabas.records.batches import CorruptBatch, check_crc, walk
from barnabas.records.control_batch import read_end_transaction
from barnabas.storage.leader_epochs import UNDEFINED_EPOCH, EpochStart
from barnabas.storage.log import Log
from barnabas.storage.producer_snapshot import write_snapshot
from barnabas.storage.producer_state import Producer

OFFSET_MAX = 2**63 - 1


def truncation_offset(log: Log, diverging: EpochStart) -> int:
    """The offset to truncate to, when the leader's log diverges from this one.

    The leader has ``diverging.epoch`` up to ``diverging.start_offset`` and other records after it.
    A follower that does not know this epoch goes back to the end of the epoch before, and its next
    fetch asks again.
    """
    end = log.log_end_offset
    own = log.leader_epochs.end_offset_for(diverging.epoch, end)
    if own.epoch == UNDEFINED_EPOCH:
        return min(diverging.start_offset, end)
    if own.epoch != diverging.epoch:
        return min(own.start_offset, end)
    return min(own.start_offset, diverging.start_offset, end)


def _check_contents(batch: Buffer, header: BatchHeader) -> None:
    """Check the facts that the log relies on: a next offset exists, and a marker has a type."""
    if header.last_offset >= OFFSET_MAX:
        raise CorruptBatch(f"batch at offset {header.base_offset} ends at {header.last_offset}, and there is no offset behind that")
    if header.control and header.producer_id >= 0:
        try:
            read_end_transaction(batch)
        except ValueError as wrong:
            raise CorruptBatch(f"marker at offset {header.base_offset}: {wrong}") from wrong


def begin_tiered(
    log: Log, offset: int, *, log_start_offset: int, leader_epochs: Sequence[EpochStart], producers: Iterable[Producer]
) -> None:
    """Empty the log and begin at ``offset``, where the leader's local log begins.

    The offsets below are in remote storage, which also has their leader epochs and producers. The
    log start offset stays ``log_start_offset``.
    """
    log.truncate_fully(offset)
    log.log_start_offset = log_start_offset
    write_snapshot(log.disk, log.directory, offset, producers)
    log.rebuild_producers()
    # Write the epochs last: while they are missing, a restart can see that this was interrupted.
    log.leader_epochs.entries = [entry for entry in leader_epochs if entry.start_offset < offset]
    log.leader_epochs.write()


def lacks_its_past(log: Log) -> bool:
    """Whether a follower was interrupted in :func:`begin_tiered`.

    Then the offsets below its local log are remote, and their leader epochs are missing here.
    """
    if not log.settings.remote_enabled or log.local_start_offset != log.log_end_offset or log.log_start_offset == log.log_end_offset:
        return False
    entries = log.leader_epochs.entries
    return not entries or entries[0].start_offset > log.log_start_offset


def append_fetched(log: Log, records: Buffer, *, leader_epoch: int, now_ms: int, begin_at: Callable[[int], None]) -> int:
    """Append the batches that a leader of ``leader_epoch`` sent; returns the number of bytes.

    Raises ``CorruptBatch`` at the first invalid batch; the batches before it are in the log then.
    ``begin_at`` empties the log.

    A batch of a later epoch than that of the fetch is skipped: it was written after the leader
    decided the response, by a later leader whose log may have been truncated first.
    """
    view = memoryview(records)
    appended = 0
    for position, header in walk(view):
        batch = view[position : position + header.size_bytes]
        check_crc(batch, header)
        if header.leader_epoch > leader_epoch:
            break
        _check_contents(batch, header)
        if header.base_offset < log.log_end_offset:
            if log.log_end_offset != log.log_start_offset or header.last_offset < log.log_end_offset:
                raise CorruptBatch(f"batch at offset {header.base_offset} came where {log.log_end_offset} was expected")
            # Records were deleted up to an offset inside this batch, and the empty log begins with
            # the whole batch.
            start = log.log_start_offset
            begin_at(header.base_offset)
            log.append_as_follower(batch, header, now_ms)
            log.advance_start(start)
        else:
            if header.leader_epoch < log.leader_epochs.latest:
                raise CorruptBatch(
                    f"batch at offset {header.base_offset} is of epoch {header.leader_epoch}, behind {log.leader_epochs.latest}"
                )
            log.append_as_follower(batch, header, now_ms)
        appended += header.size_bytes
    return appended

"""A follower's log made equal to its leader's: where to cut, and what to append.

Cutting goes by leader epochs and by nothing else. The leader answers a fetch with the last epoch that both can have in common and where
that epoch ended on its side; the follower cuts to the earlier of the two ends. The high watermark would not do: it lags, and a
follower that cuts to it throws away what is committed (KIP-101, KIP-279).

What a leader sends is believed only after its checksum: a byte that was turned over on the way, or on the leader's disk, must not become a
second copy of the damage.
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
    """Where to cut when the leader says that its log has ``diverging.epoch`` up to ``diverging.start_offset`` and then something else.

    Where the follower does not know that epoch, it goes back to the end of the one before, and the next fetch asks again.
    """
    end = log.log_end_offset
    own = log.leader_epochs.end_offset_for(diverging.epoch, end)
    if own.epoch == UNDEFINED_EPOCH:
        return min(diverging.start_offset, end)
    if own.epoch != diverging.epoch:
        return min(own.start_offset, end)
    return min(own.start_offset, diverging.start_offset, end)


def _check_contents(batch: Buffer, header: BatchHeader) -> None:
    """What the log will rely on once the batch is in it: that there is an offset behind it, and that a marker says what it ends."""
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
    """Begin anew at ``offset``, where the leader's local log begins, with all that is known of what lies below: remote storage has it,
    and says who led and who produced there. The log still begins at ``log_start_offset``."""
    log.truncate_fully(offset)
    log.log_start_offset = log_start_offset
    write_snapshot(log.disk, log.directory, offset, producers)
    log.rebuild_producers()
    # Last: without them it is seen that the rest may be missing too.
    log.leader_epochs.entries = [entry for entry in leader_epochs if entry.start_offset < offset]
    log.leader_epochs.write()


def lacks_its_past(log: Log) -> bool:
    """Whether a follower was interrupted in :func:`begin_tiered`: what lies below its local log is remote, and nobody here knows who
    led there."""
    if not log.settings.remote_enabled or log.local_start_offset != log.log_end_offset or log.log_start_offset == log.log_end_offset:
        return False
    entries = log.leader_epochs.entries
    return not entries or entries[0].start_offset > log.log_start_offset


def append_fetched(log: Log, records: Buffer, *, leader_epoch: int, now_ms: int, begin_at: Callable[[int], None]) -> int:
    """Append what a leader of ``leader_epoch`` sent; how many bytes. ``CorruptBatch`` at the first batch that is not what it should
    be, when those before it are in the log. ``begin_at`` empties the log.

    A batch of a later epoch than the one that was asked in is left out: it was written after the answer was decided, by somebody
    whose log may have been cut first.
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
            # Records were deleted up to somewhere inside this batch, and an empty log begins with the whole of it.
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

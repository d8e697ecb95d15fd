"""Which records of a batch survive when a log is cleaned. Pure: batches go in in the order of the
log, batches come out.

The first rule that applies decides:

=========================================  =====================================================
data of an aborted transaction             removed
marker of a transaction without records    kept until its delete horizon, which is set the first
                                           time a pass sees it
other control batches                      kept
record behind the end of the key map       kept: it may be the latest of its key
record without a key                       removed
record that is not the latest of its key   removed
tombstone that is the latest of its key    kept until the delete horizon of its batch, which is
                                           set the first time a pass sees it
=========================================  =====================================================

A batch without any record left is removed as a whole, unless it is the last of an active producer,
the last of the pass, or the last of its segment: then its header stays. The first keeps sequence
numbers. The second is Kafka's rule. The third is ours: recovery cannot mistake a segment that
always reaches to the next one for one that lost its end in a power cut (``storage/recovery.py``).

Offsets never change. A batch that loses nothing passes through unchanged, still closed. In the
range of the key map that is known from the offsets of the survivors, without opening it; elsewhere
its keys are looked up.
"""

from __future__ import annotations

from typing import NamedTuple

from barnabas.model.buffers import Buffer
from barnabas.records.batch_header import DELETE_HORIZON_BIT, NO_TIMESTAMP, BatchHeader
from barnabas.records.record_scan import body_of, scan_records
from barnabas.storage.compaction.batch_rewrite import Batch, emptied, reduced, with_delete_horizon
from barnabas.storage.compaction.cleaning_job import CleaningJob
from barnabas.storage.compaction.key_map import KeyMap
from barnabas.storage.compaction.transactions import CleanedTransactions
from barnabas.storage.transaction_index import AbortedTransaction


class Filtered(NamedTuple):
    """The rest of a batch, or None. ``aborted`` is the entry for the transaction index of the
    cleaned segment.
    """

    batch: Batch | None
    aborted: AbortedTransaction | None = None


class BatchFilter:
    def __init__(self, job: CleaningJob, key_map: KeyMap) -> None:
        self._producers = job.producers
        self._end_offset = job.end_offset
        self._now_ms = job.now_ms
        self._horizon_ms = job.now_ms + job.delete_retention_ms
        self._map = key_map
        self._transactions = CleanedTransactions(job.aborted)

    def filter(self, batch: Batch, *, ends_segment: bool) -> Filtered:
        """Raises ``ValueError`` when the batch cannot be read."""
        header = batch.header
        aborted = None
        if header.control:
            kept, aborted = self._control(batch)
        else:
            kept = None if self._transactions.aborts(header) or not header.record_count else self._data(batch)
        if kept is None and (self._must_stay(header) or ends_segment):
            if not header.record_count:
                kept = batch
            elif self._must_stay(header):
                kept = emptied(header)
            else:
                # Its time is not needed, and a search for the newest record of a segment would
                # find it by mistake.
                kept = emptied(header._replace(max_timestamp=NO_TIMESTAMP))
        return Filtered(kept, aborted)

    def _must_stay(self, header: BatchHeader) -> bool:
        if header.last_offset + 1 == self._end_offset:
            return True
        last = self._producers.get(header.producer_id)
        if last is None:
            return False
        if last.data_offset is not None:
            return header.last_offset == last.data_offset
        # The producer began an epoch and has written nothing yet, so only a marker records that
        # epoch and fences the one before.
        return header.control and header.producer_epoch == last.epoch

    def _control(self, batch: Batch) -> tuple[Batch | None, AbortedTransaction | None]:
        header, data = batch
        nothing_left, aborted = self._transactions.end(header, data)
        if not header.record_count:
            return None, aborted
        if nothing_left:
            if not header.attributes & DELETE_HORIZON_BIT:
                return with_delete_horizon(header, _body(batch), list(range(header.record_count)), self._horizon_ms), aborted
            if header.base_timestamp <= self._now_ms:
                return None, aborted
        return batch, aborted

    def _data(self, batch: Batch) -> Batch | None:
        header, key_map = batch.header, self._map
        base_offset, last_offset = header.base_offset, header.last_offset
        if base_offset < key_map.start_offset or last_offset >= key_map.end_offset:
            return self._data_by_key(batch)
        survivors = key_map.survivors(base_offset, last_offset + 1)
        if survivors is None:
            return self._data_by_key(batch)
        if len(survivors) == header.record_count:
            return batch
        if not survivors:
            return None
        body = _body(batch)
        if header.record_count == header.last_offset_delta + 1:
            # The batch was never compacted, so its records count up from the base offset: the map
            # accepts no other batch.
            return reduced(header, body, survivors)
        staying = set(survivors)
        deltas = scan_records(header, body).deltas
        return reduced(header, body, [index for index, delta in enumerate(deltas) if delta in staying])

    def _data_by_key(self, batch: Batch) -> Batch | None:
        header, body = batch.header, _body(batch)
        has_horizon = bool(header.attributes & DELETE_HORIZON_BIT)
        kept, has_tombstone = self._map.staying(header, body, without_tombstones=has_horizon and header.base_timestamp <= self._now_ms)
        if not kept:
            return None
        if has_tombstone and not has_horizon:
            return with_delete_horizon(header, body, kept, self._horizon_ms)
        return batch if len(kept) == header.record_count else reduced(header, body, kept)


def _body(batch: Batch) -> Buffer:
    return body_of(batch.data, batch.header)

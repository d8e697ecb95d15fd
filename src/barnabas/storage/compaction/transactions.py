"""The transactions that a cleaning has met: data of aborted ones is removed, and a marker too once
its transaction has no records left.

Batches must come in the order of the log, from its beginning: a marker can go when no batch of its
transaction came before it.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.model.buffers import Buffer
from barnabas.records.batch_header import TRANSACTIONAL_BIT, BatchHeader
from barnabas.records.control_batch import ControlType, read_end_transaction
from barnabas.storage.transaction_index import AbortedTransaction


class CleanedTransactions:
    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        # Sorted so that the next to begin is at the end.
        self._to_come = sorted(aborted, key=lambda each: each.first_offset, reverse=True)
        # By producer id: begun, and the marker not met yet.
        self._aborted: dict[int, AbortedTransaction] = {}
        # Producer ids whose open transaction has a batch in the log.
        self._with_data: set[int] = set()

    def aborts(self, header: BatchHeader) -> bool:
        """Whether a batch of data belongs to an aborted transaction."""
        if not header.attributes & TRANSACTIONAL_BIT:
            return False
        self._begin(header.last_offset)
        self._with_data.add(header.producer_id)
        aborted = self._aborted.get(header.producer_id)
        # A reader that begins in the middle of the log does not meet every marker.
        return aborted is not None and header.base_offset <= aborted.last_offset

    def end(self, header: BatchHeader, batch: Buffer) -> tuple[bool, AbortedTransaction | None]:
        """For a control batch: whether it is the marker of a transaction without records, and its
        entry for the index of the cleaned segment. Raises ``ValueError`` when it cannot be read.
        """
        self._begin(header.last_offset)
        if not header.record_count:
            return True, None  # cleaned before
        ended = read_end_transaction(batch)
        if ended is None:
            return False, None
        has_data = header.producer_id in self._with_data
        self._with_data.discard(header.producer_id)
        if ended[0] is ControlType.ABORT:
            aborted = self._aborted.pop(header.producer_id, None)
            return (False, aborted) if has_data and aborted is not None else (True, None)
        return not has_data, None

    def _begin(self, offset: int) -> None:
        while self._to_come and self._to_come[-1].first_offset <= offset:
            begun = self._to_come.pop()
            before = self._aborted.get(begun.producer_id)
            if before is None or before.last_offset < begun.first_offset:
                self._aborted[begun.producer_id] = begun

"""Clients that check the copiers' work over the wire: a reader of committed records, and one that
asks for the group's stable offsets.

They compare every response with the checker's ledger.
"""

from __future__ import annotations

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition
from barnabas.records.batches import check_crc, walk
from barnabas.records.record import open_batch
from barnabas.simulation.coordinator_client import PASSING, CoordinatorClient, records_of
from barnabas.simulation.stable_offsets import stable_offsets
from barnabas.simulation.violations import Violation
from barnabas.wire.messages.fetch import PartitionData

READ_COMMITTED = 1
READING_SECONDS = 0.1
ASKING_SECONDS = 0.2


class CommittedReader(CoordinatorClient):
    """Reads a partition of the output from its start, as consumers with
    ``isolation.level=read_committed`` do.
    """

    async def run(self, partition: TopicPartition) -> None:
        offset = 0
        while True:
            data = await self.fetch(partition, offset, isolation=READ_COMMITTED)
            if data is None:
                continue
            end, shown = _shown(data, offset)
            if end > offset:
                self.world.ledger.read(partition, offset, end, shown, self.host.name)
                self.world.records_read += len(shown)
                offset = end
            await self.pause(READING_SECONDS)


def _shown(data: PartitionData, offset: int) -> tuple[int, list[int]]:
    """The end of the batches, and the offsets of the records that a consumer would show."""
    aborted = sorted(data.aborted_transactions or [], key=lambda each: each.first_offset)
    hidden: set[int] = set()
    shown: list[int] = []
    end = offset
    view = records_of(data)
    for position, header in walk(view):
        if position + header.size_bytes > len(view):
            break
        batch = view[position : position + header.size_bytes]
        check_crc(batch, header)
        while aborted and aborted[0].first_offset <= header.last_offset:
            hidden.add(aborted.pop(0).producer_id)
        if header.control:
            hidden.discard(header.producer_id)
        elif header.producer_id not in hidden:
            shown += [record.offset for record in open_batch(batch) if record.offset >= offset]
        end = max(end, header.last_offset + 1)
    return end, shown


class OffsetsReader(CoordinatorClient):
    """Belongs to no group, and asks for the copiers' offsets."""

    async def run(self) -> None:
        while True:
            code, _ = await stable_offsets(self, range(len(self.world.partitions)))
            if code and code not in PASSING and code is not ErrorCode.UNSTABLE_OFFSET_COMMIT:
                raise Violation(f"{self.host.name} gets {code.name} when it asks for offsets")
            await self.pause(ASKING_SECONDS)

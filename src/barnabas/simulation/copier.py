"""A process that copies the input to the output exactly once: it consumes, transforms and produces,
in transactions.

    initialise -> settle -> positions -> copy -> settle ...
                                           |-> abort, on purpose or because it must:
                                               positions are looked up again
    fenced at any step -> the process ends

Positions come from OffsetFetch with ``require_stable``, and after that from the copier's own
commits. With its offsets the copier sends the member id and generation that it had before it read
the records: if it lost its partitions since then, the coordinator refuses.
"""

from __future__ import annotations

import asyncio
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition
from barnabas.records.batches import check_crc, walk
from barnabas.simulation.classic_member import ClassicMember
from barnabas.simulation.consumer_member import ConsumerMember
from barnabas.simulation.coordinator_client import PASSING, CoordinatorClient, records_of
from barnabas.simulation.group_member import Fenced, GroupMember, Membership
from barnabas.simulation.host import Host
from barnabas.simulation.stable_offsets import GROUP, INPUT, stable_offsets
from barnabas.simulation.transaction_ledger import Ending, Range
from barnabas.simulation.transactional_producer import ToBeAborted, TransactionalProducer

if TYPE_CHECKING:
    from barnabas.simulation.groups_world import GroupsWorld

RECORDS_MAX = 8
IDLE_SECONDS = 0.1
ABORTED_SHARE = 0.1
LEAVING_SHARE = 0.02
# How often a copier stalls in the middle of a transaction, and for how long at most: longer than a
# transaction, a session and a rebalance may take.
DAWDLING_SHARE = 0.08
DAWDLING_SECONDS_MAX = 5.0
FREEZING_SHARE = 0.5


class Kind(NamedTuple):
    """The properties of a copier."""

    protocol: str
    """eager, cooperative or consumer."""
    static: bool
    implicit: bool
    """Transactions of version 2."""
    timeout_ms: int
    """Of its transactions."""


class Copier(CoordinatorClient):
    def __init__(self, world: GroupsWorld, host: Host, chance: Random, slot: int, kind: Kind) -> None:
        super().__init__(world, host, chance)
        self._producer = TransactionalProducer(self, f"copier-{slot}", implicit=kind.implicit, timeout_ms=kind.timeout_ms)
        self._member = self._join_as(slot, kind)
        self._positions: dict[int, int] = {}

    def _join_as(self, slot: int, kind: Kind) -> GroupMember:
        instance_id = f"instance-{slot}" if kind.static else None
        inputs = len(self.world.partitions)
        if kind.protocol == "consumer":
            return ConsumerMember(self, GROUP, INPUT, inputs, instance_id, member_id=f"member-{self.host.name}-{self.host.incarnation}")
        return ClassicMember(self, GROUP, INPUT, inputs, instance_id, cooperative=kind.protocol == "cooperative")

    @property
    def name(self) -> str:
        return f"{self.host.name} as {self._producer.identity}"

    async def run(self) -> None:
        try:
            await self._producer.initialise()
            self.world.go(self.host, self._member.beat())
            while True:
                await self._work()
        except Fenced as fenced:
            self.world.ended(self.host, str(fenced))

    async def _work(self) -> None:
        if self.chance.random() < LEAVING_SHARE:
            await self._member.leave()
        await self._member.settle()
        for partition in self._member.take_lost():
            self._positions.pop(partition, None)
        if not await self._find_positions():
            return
        records = await self._read()
        if records:
            await self._copy(records)
        else:
            await self.pause(IDLE_SECONDS)

    async def _find_positions(self) -> bool:
        missing = [partition for partition in sorted(self._member.owned) if partition not in self._positions]
        if not missing:
            return True
        code, found = await stable_offsets(self, missing, self._member)
        if found is None:
            if code in PASSING or code is ErrorCode.UNSTABLE_OFFSET_COMMIT:
                await self.pause()
            else:
                self._member.refused(code)
            return False
        # A partition that was lost meanwhile is not owned again by this request.
        self._positions |= {partition: offset for partition, offset in found.items() if partition in self._member.owned}
        return True

    async def _read(self) -> dict[int, Range]:
        """Some records of each of some partitions."""
        owned = sorted(self._positions)
        chosen = self.chance.sample(owned, self.chance.randint(1, len(owned))) if owned else []
        ranges = {}
        for index in chosen:
            start = self._positions[index]
            end = await self._end_of_some(TopicPartition(INPUT, index), start)
            if end > start:
                ranges[index] = Range(start, min(end, start + self.chance.randint(1, RECORDS_MAX)))
        return ranges

    async def _end_of_some(self, partition: TopicPartition, offset: int) -> int:
        view = records_of(await self.fetch(partition, offset))
        end = offset
        for position, header in walk(view):
            if position + header.size_bytes > len(view):
                break
            check_crc(view[position : position + header.size_bytes], header)
            end = max(end, header.last_offset + 1)
        return end

    async def _copy(self, records: dict[int, Range]) -> None:
        member = self._member.membership
        if not records.keys() <= self._member.owned:
            return
        await self._producer.begin()
        ledger = self.world.ledger
        number = ledger.began(self.name, records)
        try:
            for index, copied in records.items():
                values = [f"{number} {index} {offset}".encode() for offset in range(*copied)]
                await self._producer.send(self.world.output_of(index), values)
            await self._stall()
            ends = {index: copied.end for index, copied in records.items()}
            await self._producer.send_offsets(GROUP, INPUT, ends, str(number), self._credentials(member))
            await self._stall()
            committed = self.chance.random() >= ABORTED_SHARE
            if await self._producer.end(committed=committed):
                ledger.acknowledged(number, Ending.COMMIT if committed else Ending.ABORT)
        except ToBeAborted as why:
            await self._abort(number, why)
            return
        if committed:
            # If the partition changed hands meanwhile, the next owner looks up the position, and so
            # does this one if it gets it back.
            self._positions |= {index: end for index, end in ends.items() if index in self._positions}
        else:
            self._positions.clear()

    def _credentials(self, before: Membership) -> Membership:
        """The membership that the copier sends with its offsets. Not the current one: a member that
        was evicted meanwhile has none, and a commit without a member id is not fenced (KIP-447).
        """
        return before

    async def _abort(self, number: int, why: ToBeAborted) -> None:
        self._positions.clear()
        if why.refusal is not None:
            self._member.refused(why.refusal)
        try:
            if await self._producer.end(committed=False):
                self.world.ledger.acknowledged(number, Ending.ABORT)
        except ToBeAborted as again:
            raise Fenced(f"its abort is refused: {again}") from again

    async def _stall(self) -> None:
        """Stall in the middle: either only the copier's own work, or its whole process, so that its
        heartbeats stop as well.
        """
        if self.world.healed or self.chance.random() >= DAWDLING_SHARE:
            return
        seconds = self.chance.random() * DAWDLING_SECONDS_MAX
        if self.chance.random() < FREEZING_SHARE:
            self.host.pause(int(seconds * 1000))
            # After a stall the heartbeats may run first and learn that the group continued without
            # this member.
            seconds = self.chance.random()
        await asyncio.sleep(seconds)

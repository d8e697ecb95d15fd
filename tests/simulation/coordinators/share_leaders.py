"""Leaders of share partitions: a leader reads every change that the share coordinator confirmed to
its predecessors, on whichever node the coordinator is by then.

A leader reads the state with its epoch, then writes changes: delivery counts rise, and the start
offset moves on. It may be replaced at any time, and then its writes are refused. For each share
partition the witness knows what is certain (writes that were confirmed) and what is possible
(writes that were sent). A state that is read lies between the two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from typing import Any

from barnabas.coordinators.record import decode_record
from barnabas.coordinators.share.persister import NO_START_OFFSET, SharePartitionKey
from barnabas.coordinators.share.record_types import SHARE_RECORD_TYPES
from barnabas.model.errors import ErrorCode
from barnabas.records.record import open_batch
from barnabas.wire.messages import (
    initialize_share_group_state as initialize,
    read_share_group_state as read,
    write_share_group_state as write,
)
from tests.simulation.coordinators.node import DATA, DATA_PARTITIONS, SHARES_SHARD, TOPIC_IDS
from tests.simulation.coordinators.world import Ask, Script, World

GROUP = "queue"
STATE_EPOCH = 1
OFFSETS_AHEAD = 30
ACKNOWLEDGED = 2
# Every so many steps the log is replayed from its start.
REPLAYED_EVERY = 40

Delivery = tuple[int, int]  # delivery count and delivery state


class SharePartition:
    """The certain and the possible deliveries of one share partition."""

    def __init__(self, index: int) -> None:
        self.key = SharePartitionKey(GROUP, TOPIC_IDS[DATA], index)
        self.leader_epoch = 0
        self.start = self.possible_start = 0
        self.certain: dict[int, Delivery] = {}
        self.possible: dict[int, set[Delivery]] = {}

    def sent(self, start: int, changes: dict[int, Delivery]) -> None:
        self.possible_start = max(self.possible_start, start)
        for offset, delivery in changes.items():
            self.possible.setdefault(offset, set()).add(delivery)

    def confirmed(self, start: int, changes: dict[int, Delivery]) -> None:
        self.start = max(self.start, start)
        for offset, delivery in changes.items():
            self.certain[offset] = max(self.certain.get(offset, (0, 0)), delivery)


class ShareWitness:
    def __init__(self, world: World) -> None:
        self._world = world
        self.partitions = [SharePartition(index) for index in range(DATA_PARTITIONS)]
        self.counts: Counter[str] = Counter()
        self._steps = 0
        self._initialized = False
        world.checks.append(self.check)
        world.on_loaded.append(lambda partition: self.replay() if partition == SHARES_SHARD else None)

    def check(self) -> None:
        self._steps += 1
        if self._steps % REPLAYED_EVERY == 0:
            self.replay()

    def replay(self) -> None:
        """The states in memory are those that the log builds up, from wherever it begins."""
        node = self._world.node
        machine = node.share_machine
        if machine is None:
            return
        log, again = node.partitions[SHARES_SHARD].log, node.make_share_machine(0)
        for _, batch in log.batches(log.log_start_offset, log.log_end_offset):
            for record in open_batch(batch):
                assert record.key is not None
                decoded = decode_record(SHARE_RECORD_TYPES, record.key, record.value)
                assert decoded is not None
                again.replay(decoded, None, record.offset)
        assert again.states == machine.states
        self.counts["replays"] += 1
        self.counts["pruned"] = max(self.counts["pruned"], log.log_start_offset)

    def compare(self, partition: SharePartition, certain: dict[int, Delivery], start: int, found: Any) -> None:
        """``certain`` and ``start`` are from the time at which the read was sent."""
        assert start <= found.start_offset <= partition.possible_start
        deliveries = {
            offset: (batch.delivery_count, batch.delivery_state)
            for batch in found.state_batches
            for offset in range(batch.first_offset, batch.last_offset + 1)
        }
        for offset, delivery in certain.items():
            assert offset < found.start_offset or deliveries[offset] >= delivery, f"the delivery of {offset} is lost"
        for offset, delivery in deliveries.items():
            assert delivery in partition.possible[offset], f"no leader wrote the delivery of {offset}"
        self.counts["reads"] += 1

    def initializer(self) -> Script:
        """The group coordinator initializes the states before the first leader reads."""
        data = [initialize.PartitionData(partition=each.key.partition, state_epoch=STATE_EPOCH, start_offset=0) for each in self.partitions]
        topic = initialize.InitializeStateData(topic_id=TOPIC_IDS[DATA], partitions=data)
        while not self._initialized:
            response = yield Ask(initialize.InitializeShareGroupStateRequest(group_id=GROUP, topics=[topic]), 0)
            if response is not None and not any(each.error_code for each in response.results[0].partitions):
                self._initialized = True

    def leader(self, index: int) -> Script:
        if self._initialized:
            yield from _Leader(self._world, self, self.partitions[index]).script()


class _Leader:
    def __init__(self, world: World, witness: ShareWitness, partition: SharePartition) -> None:
        self._chance = world.chance
        self._witness = witness
        self._partition = partition
        partition.leader_epoch += 1
        self._epoch = partition.leader_epoch
        self._start = 0

    def script(self) -> Script:
        found = None
        while found is None:
            found = yield from self._read()
        if not found.error_code:
            self._start = found.start_offset
            while (yield from self._write()) != ErrorCode.FENCED_LEADER_EPOCH:
                pass
        self._witness.counts["fenced"] += 1

    def _read(self) -> Generator[Ask, Any, Any]:
        partition = self._partition
        certain, start = dict(partition.certain), partition.start
        asked = read.PartitionData(partition=partition.key.partition, leader_epoch=self._epoch)
        topic = read.ReadStateData(topic_id=partition.key.topic_id, partitions=[asked])
        response = yield Ask(read.ReadShareGroupStateRequest(group_id=GROUP, topics=[topic]), 0)
        if response is None:
            return None
        (found,) = response.results[0].partitions
        if found.error_code == ErrorCode.FENCED_LEADER_EPOCH:
            return found
        if found.error_code:
            assert found.error_code in (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS), found
            return None
        self._witness.compare(partition, certain, start, found)
        return found

    def _write(self) -> Generator[Ask, Any, int]:
        chance, partition = self._chance, self._partition
        moves = chance.random() < 0.3
        start = self._start + chance.randrange(5) if moves else self._start
        batches: list[write.StateBatch] = []
        changes: dict[int, Delivery] = {}
        for _ in range(chance.randrange(1, 4)):
            first = start + chance.randrange(OFFSETS_AHEAD)
            last, count, state = first + chance.randrange(4), chance.randrange(1, 5), chance.choice([0, ACKNOWLEDGED])
            batches.append(write.StateBatch(first_offset=first, last_offset=last, delivery_state=state, delivery_count=count))
            changes |= {offset: max(changes.get(offset, (0, 0)), (count, state)) for offset in range(first, last + 1)}
        asked = write.PartitionData(
            partition=partition.key.partition,
            state_epoch=STATE_EPOCH,
            leader_epoch=self._epoch,
            start_offset=start if moves else NO_START_OFFSET,
            state_batches=batches,
        )
        topic = write.WriteStateData(topic_id=partition.key.topic_id, partitions=[asked])
        partition.sent(start, changes)
        while True:
            response = yield Ask(write.WriteShareGroupStateRequest(group_id=GROUP, topics=[topic]), 0)
            code = response.results[0].partitions[0].error_code if response is not None else None
            if code == ErrorCode.NONE:
                self._start = start
                partition.confirmed(start, changes)
                self._witness.counts["writes"] += 1
            if code is not None and code in (ErrorCode.NONE, ErrorCode.FENCED_LEADER_EPOCH):
                return int(code)
            assert code in (None, ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS), code

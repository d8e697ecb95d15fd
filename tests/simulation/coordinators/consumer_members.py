"""Members of a consumer group: a partition is assigned to a member only when no other member owns
or still has to revoke it, and epochs that members have seen survive.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from barnabas.coordinators.group.consumer.consumer_group import ConsumerGroup
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition
from barnabas.model.promise import Promise
from barnabas.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, TopicPartitions
from tests.simulation.coordinators.node import DATA, DATA_PARTITIONS, GROUPS_SHARD, TOPIC_IDS
from tests.simulation.coordinators.offsets import commit_request
from tests.simulation.coordinators.world import Ask, Script, World

CONSUMER = "consumer"
REBALANCE_TIMEOUT_MS = 15_000


class ConsumerWitness:
    def __init__(self, world: World, name: str = CONSUMER) -> None:
        self._world = world
        self.name = name
        self._told: Counter[str] = Counter()
        """By member: the highest epoch it has seen."""
        self.members: list[ConsumerMember] = []
        self.epochs = 0
        self._joins: Counter[str] = Counter()
        world.witnesses.append(self.see)
        world.checks.append(self.check)
        world.on_loaded.append(self.loaded)

    def group(self) -> ConsumerGroup | None:
        machine = self._world.node.group_machine
        group = machine.shard.groups.get(self.name) if machine is not None else None
        return group if isinstance(group, ConsumerGroup) else None

    def check(self) -> None:
        group = self.group()
        if self._world.node.group_machine is not None:
            # A removed member starts over, perhaps in another group: an empty one makes room for a
            # classic one of its name.
            for member_id in [each for each in self._told if group is None or each not in group.members]:
                del self._told[member_id]
        if group is None:
            return
        owners: dict[Any, str] = {}
        for member in group.members.values():
            for partition in (*member.ownership.assigned, *member.ownership.revoking):
                other = owners.setdefault(partition, member.member_id)
                assert other == member.member_id, f"{partition} belongs to {other} and to {member.member_id}"

    def see(self, request: Any, answer: Promise[Any]) -> None:
        if isinstance(request, ConsumerGroupHeartbeatRequest) and request.group_id == self.name:
            if request.member_epoch == 0:
                # The member starts over, perhaps in a group that was emptied and is new since:
                # earlier responses do not count.
                self._joins[request.member_id] += 1
                self._told.pop(request.member_id, None)
            joins = self._joins[request.member_id]
            answer.then(lambda response: self._beaten(request, response, joins))

    def _beaten(self, request: ConsumerGroupHeartbeatRequest, response: ConsumerGroupHeartbeatResponse, joins: int) -> None:
        member_id = request.member_id
        if not response.error_code and joins == self._joins[member_id]:
            self.epochs = max(self.epochs, response.member_epoch)
            if response.member_epoch < 0:
                self._told.pop(member_id, None)
            else:
                self._told[member_id] = max(self._told[member_id], response.member_epoch)

    def loaded(self, partition: TopicPartition) -> None:
        group = self.group()
        if partition != GROUPS_SHARD or group is None:
            return
        for member in group.members.values():
            reported = self._told[member.member_id]
            assert member.epoch >= reported, f"{member.member_id} has seen epoch {reported}, and is known at {member.epoch}"

    def given(self, receiver: ConsumerMember) -> None:
        """A member has just received its assignment: no other member of the group believes to own
        any of it.
        """
        group = self.group()
        if group is None or receiver.member_id not in group.members:
            return
        for other in self.members:
            if other is not receiver and other.member_id in group.members:
                both = receiver.owned & other.owned
                assert not both, f"{receiver.member_id} and {other.member_id} both own {both}"


class ConsumerMember:
    """Its messages keep their order: a report of owned partitions must not come late."""

    def __init__(self, world: World, witness: ConsumerWitness, name: str) -> None:
        self._world = world
        self._witness = witness
        self._name = name
        self._incarnation = 0
        self.member_id = ""
        self.owned: frozenset[int] = frozenset()
        witness.members.append(self)

    def script(self) -> Script:
        self._incarnation += 1
        self.member_id, self.owned = f"{self._name}-{self._incarnation}", frozenset()
        chance = self._world.chance
        epoch = 0
        while True:
            if epoch and chance.random() < 0.05:
                # From now on it owns nothing, whether or not the request arrives.
                self.owned = frozenset()
                yield self._beat(-1, joining=False)
                return
            if epoch and chance.random() < 0.3:
                offset = chance.randrange(1 << 30)
                yield commit_request(self._witness.name, chance.randrange(DATA_PARTITIONS), offset, member_id=self.member_id, epoch=epoch)
                continue
            response = yield self._beat(epoch, joining=epoch == 0)
            if response is None:
                continue
            if response.error_code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH):
                epoch, self.owned = 0, frozenset()
            elif not response.error_code:
                epoch = response.member_epoch
                if response.assignment is not None:
                    self.owned = frozenset(index for topic in response.assignment.topic_partitions for index in topic.partitions)
                    self._witness.given(self)

    def _beat(self, epoch: int, *, joining: bool) -> Ask:
        owned = [TopicPartitions(topic_id=TOPIC_IDS[DATA], partitions=sorted(self.owned))] if self.owned else []
        request = ConsumerGroupHeartbeatRequest(
            group_id=self._witness.name,
            member_id=self.member_id,
            member_epoch=epoch,
            rebalance_timeout_ms=REBALANCE_TIMEOUT_MS if joining else -1,
            subscribed_topic_names=[DATA] if joining else None,
            topic_partitions=owned,
        )
        return Ask(request, 1)

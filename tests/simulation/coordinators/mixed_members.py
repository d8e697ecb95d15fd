"""A group that members of both protocols join and leave: it is classic, turns into a consumer
group, and back.

At any time no partition belongs to two of its members.
"""

from __future__ import annotations

import struct

from barnabas.coordinators.group.classic.classic_group import ClassicGroup
from barnabas.coordinators.group.classic.state import ClassicState
from barnabas.wire.compiler import decode, encode
from barnabas.wire.embedded.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
    TopicPartition,
)
from tests.simulation.coordinators.classic_members import ClassicMember
from tests.simulation.coordinators.consumer_members import ConsumerWitness
from tests.simulation.coordinators.node import DATA, DATA_PARTITIONS
from tests.simulation.coordinators.world import World

MIXED = "mixed"
_VERSION = struct.pack(">h", 1)


class MixedWitness(ConsumerWitness):
    def __init__(self, world: World) -> None:
        super().__init__(world, MIXED)
        self.turns = 0
        self._was_classic = True

    def check(self) -> None:
        super().check()
        machine = self._world.node.group_machine
        group = machine.shard.groups.get(MIXED) if machine is not None else None
        if group is None:
            return
        classic = isinstance(group, ClassicGroup)
        self.turns += classic != self._was_classic
        self._was_classic = classic
        if isinstance(group, ClassicGroup) and group.state is ClassicState.STABLE:
            owned = [index for member in group.members.values() for index in partitions_in(member.assignment)]
            assert len(owned) == len(set(owned)), f"{owned} have more than one owner"


class MixedClassicMember(ClassicMember):
    """A consumer of the classic protocol, with an assignor that lets members keep their
    partitions.
    """

    group, protocol_type, protocol = MIXED, "consumer", "cooperative-sticky"
    shared = DATA_PARTITIONS
    _owned: tuple[int, ...] = ()

    def subscription(self) -> bytes:
        owned = [TopicPartition(topic=DATA, partitions=list(self._owned))] if self._owned else []
        return _VERSION + encode(ConsumerProtocolSubscription(topics=[DATA], owned_partitions=owned), 1)

    def share(self, numbers: list[int]) -> bytes:
        topics = [ConsumerProtocolAssignmentTopicPartition(topic=DATA, partitions=numbers)] if numbers else []
        return _VERSION + encode(ConsumerProtocolAssignment(assigned_partitions=topics), 1)

    def assigned(self, assignment: bytes) -> None:
        self._owned = tuple(partitions_in(assignment))


def partitions_in(assignment: bytes) -> list[int]:
    if not assignment:
        return []
    given, _ = decode(ConsumerProtocolAssignment, 1, assignment, len(_VERSION))
    return [index for topic in given.assigned_partitions for index in topic.partitions]

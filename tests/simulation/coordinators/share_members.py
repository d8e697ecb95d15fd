"""Members of a share group and an administrator of its offsets, with a share coordinator at the
other end of the network: only partitions with state are assigned, epochs that members have seen
survive, and an acknowledged start offset is the one that the share coordinator has.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from barnabas.coordinators.group.share.share_group import ShareGroup
from barnabas.coordinators.share.persister import NO_START_OFFSET, SharePartitionKey, ShareState, ShareSummary, StateBatch
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition
from barnabas.model.promise import Promise
from barnabas.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
)
from barnabas.wire.messages.delete_share_group_offsets import DeleteShareGroupOffsetsRequest, DeleteShareGroupOffsetsRequestTopic
from barnabas.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from tests.simulation.coordinators.node import DATA, DATA_PARTITIONS, GROUPS_SHARD, TOPIC_IDS
from tests.simulation.coordinators.world import Ask, Script, World

SHARE = "share"
VERSION, ADMIN_VERSION = 1, 0
_FAILED_SHARE = 0.1
_UNKNOWN_COUNT = -1

T = TypeVar("T")


class DistantShareCoordinator:
    """Another node, which never crashes. Requests to it and its responses take their time; a
    request that fails may still have been carried out. As with the real one, the requests about one
    share partition keep their order, and those of a node that has crashed do not arrive any more.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self.states: dict[SharePartitionKey, ShareSummary] = {}
        self._queues: dict[tuple[int, SharePartitionKey], deque[Callable[[], None]]] = {}
        """By the incarnation of the asking node; the first request of a queue is under way."""

    def _ask(self, key: SharePartitionKey, deed: Callable[[], T], failure: T) -> Promise[T]:
        world, answer = self._world, Promise[T]()
        incarnation = world.node.incarnation
        queue = self._queues.setdefault((incarnation, key), deque())

        def arrive() -> None:
            if world.node.incarnation != incarnation:
                return
            fails = world.chance.random() < _FAILED_SHARE
            value = failure if fails and world.chance.random() < 0.5 else deed()
            world.post(lambda: leave(failure if fails else value))

        def leave(value: T) -> None:
            if world.node.incarnation != incarnation:
                return
            queue.popleft()
            if queue:
                world.post(queue[0])
            answer.resolve(value)
            world.check()

        queue.append(arrive)
        if len(queue) == 1:
            world.post(arrive)
        return answer

    def initialize(self, key: SharePartitionKey, *, state_epoch: int, start_offset: int) -> Promise[ErrorCode]:
        def deed() -> ErrorCode:
            known = self.states.get(key)
            if known is not None and known.state_epoch > state_epoch:
                return ErrorCode.FENCED_STATE_EPOCH
            self.states[key] = ShareSummary(state_epoch, 0, start_offset, _UNKNOWN_COUNT)
            return ErrorCode.NONE

        return self._ask(key, deed, ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def delete(self, key: SharePartitionKey) -> Promise[ErrorCode]:
        def deed() -> ErrorCode:
            self.states.pop(key, None)
            return ErrorCode.NONE

        return self._ask(key, deed, ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def read_summary(self, key: SharePartitionKey, *, leader_epoch: int) -> Promise[ShareSummary | ErrorCode]:
        def deed() -> ShareSummary | ErrorCode:
            return self.states.get(key, ShareSummary(0, 0, NO_START_OFFSET, _UNKNOWN_COUNT))

        return self._ask(key, deed, ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def read(self, key: SharePartitionKey, *, leader_epoch: int) -> Promise[ShareState | ErrorCode]:
        raise AssertionError("only leaders of partitions read states")

    def write(
        self,
        key: SharePartitionKey,
        *,
        state_epoch: int,
        leader_epoch: int,
        start_offset: int,
        delivery_complete_count: int,
        batches: Sequence[StateBatch],
    ) -> Promise[ErrorCode]:
        raise AssertionError("only leaders of partitions write states")


class ShareWitness:
    def __init__(self, world: World) -> None:
        self._world = world
        self.coordinator = DistantShareCoordinator(world)
        world.node.connect_share_coordinator(self.coordinator)
        self._seen: Counter[str] = Counter()
        """By member: the highest epoch it has seen."""
        self._offsets: set[int] = set()
        """All that the administrator has asked for."""
        self.assignments = 0
        self.alterations = 0
        world.witnesses.append(self.see)
        world.checks.append(self.check)
        world.on_loaded.append(self.loaded)

    def group(self) -> ShareGroup | None:
        machine = self._world.node.group_machine
        group = machine.shard.groups.get(SHARE) if machine is not None else None
        return group if isinstance(group, ShareGroup) else None

    def check(self) -> None:
        group = self.group()
        if group is None:
            return
        for member_id in [each for each in self._seen if each not in group.members]:
            del self._seen[member_id]
        assigned = frozenset().union(*group.targets.values())
        assert assigned <= group.states.initialized_partitions(), "a partition is assigned that is not initialized"
        for topic_id, number in group.states.initialized_partitions():
            key = SharePartitionKey(SHARE, topic_id, number)
            assert key in self.coordinator.states, f"{key} counts as initialized, and has no state"

    def see(self, request: Any, answer: Promise[Any]) -> None:
        if isinstance(request, ShareGroupHeartbeatRequest):
            answer.then(lambda response: self._beaten(request, response))
        elif isinstance(request, AlterShareGroupOffsetsRequest):
            self._offsets |= {each.start_offset for each in request.topics[0].partitions}
            answer.then(lambda response: self._altered(response))

    def _beaten(self, request: ShareGroupHeartbeatRequest, response: ShareGroupHeartbeatResponse) -> None:
        if not response.error_code and response.member_epoch >= 0:
            self._seen[request.member_id] = max(self._seen[request.member_id], response.member_epoch)
            self.assignments += response.assignment is not None and bool(response.assignment.topic_partitions)

    def _altered(self, response: AlterShareGroupOffsetsResponse) -> None:
        if response.error_code:
            return
        for each in response.responses[0].partitions:
            state = self.coordinator.states.get(SharePartitionKey(SHARE, TOPIC_IDS[DATA], each.partition_index))
            # Another request of the administrator, which gave up waiting, may have set another
            # offset, or deleted it.
            if not each.error_code and state is not None:
                assert state.start_offset in self._offsets, "a heartbeat has undone an acknowledged offset"
                self.alterations += 1

    def loaded(self, partition: TopicPartition) -> None:
        group = self.group()
        if partition == GROUPS_SHARD and group is not None:
            for member in group.members.values():
                seen = self._seen[member.member_id]
                assert member.epoch >= seen, f"{member.member_id} has seen epoch {seen}, and is known at {member.epoch}"


class ShareMember:
    def __init__(self, world: World, name: str) -> None:
        self._world = world
        self._name = name
        self._incarnation = 0

    def script(self) -> Script:
        self._incarnation += 1
        member_id, chance = f"{self._name}-{self._incarnation}", self._world.chance
        epoch = 0
        while True:
            leaves = epoch > 0 and chance.random() < 0.1
            request = ShareGroupHeartbeatRequest(
                group_id=SHARE,
                member_id=member_id,
                member_epoch=-1 if leaves else epoch,
                subscribed_topic_names=[DATA] if epoch == 0 else None,
            )
            response = yield Ask(request, VERSION)
            if leaves:
                return
            if response is None:
                continue
            if response.error_code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH):
                epoch = 0
            elif not response.error_code:
                epoch = response.member_epoch


def share_administrator(world: World) -> Callable[[], Script]:
    """Alters and deletes offsets, which succeeds only while the group is empty."""

    def script() -> Script:
        chance = world.chance
        while True:
            if chance.random() < 0.2:
                yield Ask(
                    DeleteShareGroupOffsetsRequest(group_id=SHARE, topics=[DeleteShareGroupOffsetsRequestTopic(topic_name=DATA)]),
                    ADMIN_VERSION,
                )
                continue
            asked = [
                AlterShareGroupOffsetsRequestPartition(partition_index=index, start_offset=chance.randrange(1 << 30))
                for index in range(DATA_PARTITIONS)
            ]
            topics = [AlterShareGroupOffsetsRequestTopic(topic_name=DATA, partitions=asked)]
            yield Ask(AlterShareGroupOffsetsRequest(group_id=SHARE, topics=topics), ADMIN_VERSION)

    return script

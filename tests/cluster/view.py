"""The state of a cluster, asked of any broker that answers, and waits for an expected state."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from typing import Any

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID
from barnabas.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from barnabas.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest, PartitionData, ResponsePartitionData, TopicData
from barnabas.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponsePartition
from peers.cluster import Cluster, Node
from tests.cluster.access import Access, Security
from tests.waiting import LONG_PATIENCE_SECONDS, until

# A node that is cut off or overloaded is given up for another one.
ANSWER_SECONDS_MAX = 3.0
# A controller may take longer for a change than for an answer.
CHANGE_ANSWER_SECONDS_MAX = 25.0
# On a busy machine a broker may be silent for too long and return soon. A request that timed out
# may have had its effect.
_NOT_NOW = (ErrorCode.INVALID_REPLICATION_FACTOR, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_CONTROLLER)
_DESCRIBE_QUORUM = DescribeQuorumRequest(topics=[TopicData(topic_name="__cluster_metadata", partitions=[PartitionData(partition_index=0)])])


class View:
    """``without`` names nodes that are not asked, because they cannot know the state any more."""

    def __init__(self, cluster: Cluster, *, without: Collection[int] = (), security: Security | None = None) -> None:
        self.cluster = cluster
        self._without = without
        self.security = security

    @property
    def access(self) -> Access:
        return Access(self.cluster.bootstrap, self.security)

    def seen_without(self, *nodes: int) -> View:
        return View(self.cluster, without=nodes, security=self.security)

    def ask(self, request: Any, version: int | None = None, *, seconds_max: float = ANSWER_SECONDS_MAX) -> Any | None:
        """The answer of the first broker that gives one."""
        for node in self._askable():
            with suppress(OSError), self.access.connect(node.bootstrap, seconds_max) as client:
                return client.ask(request, version)
        return None

    def _askable(self) -> Iterable[Node]:
        return [node for node in self.cluster.brokers if node.responsive and node.id not in self._without]

    # -- brokers and controllers --------------------------------------------------------------

    def brokers(self) -> set[int]:
        """The brokers that are not fenced."""
        answer = self.ask(MetadataRequest(topics=[], allow_auto_topic_creation=False))
        return {broker.node_id for broker in answer.brokers} if answer is not None else set()

    def quorum(self) -> ResponsePartitionData | None:
        return _leads(self.ask(_DESCRIBE_QUORUM, 1))

    def listeners_of_voters(self) -> dict[int, set[str]]:
        """The names of the listeners with which the voters are known."""
        answer = self.ask(_DESCRIBE_QUORUM, 2)
        return {} if answer is None else {node.node_id: {each.name for each in node.listeners} for node in answer.nodes}

    def controller_by_itself(self) -> int | None:
        """The controller that claims to lead the quorum, asked at its own listener."""
        for node in self.cluster.controllers:
            if node.responsive:
                with suppress(OSError), self.access.connect(node.controller, ANSWER_SECONDS_MAX) as client:
                    if _leads(client.ask(_DESCRIBE_QUORUM, 1)) is not None:
                        return node.id
        return None

    def active_controller(self) -> int | None:
        quorum = self.quorum()
        return quorum.leader_id if quorum is not None else None

    def await_brokers(self, *ids: int) -> None:
        """Waits until exactly these brokers are in the cluster, in the view of each of them."""
        wanted = set(ids)

        def all_agree() -> bool:
            return all(self._as_seen_by(node) == wanted for node in self.cluster.brokers if node.id in wanted)

        until(all_agree, f"the brokers are {sorted(wanted)}", seen=self.brokers, seconds_max=LONG_PATIENCE_SECONDS)

    def _as_seen_by(self, node: Node) -> set[int]:
        with suppress(OSError), self.access.connect(node.bootstrap, ANSWER_SECONDS_MAX) as client:
            return {broker.node_id for broker in client.ask(MetadataRequest(topics=[], allow_auto_topic_creation=False)).brokers}
        return set()

    def await_controller(self, *, other_than: int | None = None) -> int:
        def another() -> int | None:
            active = self.active_controller()
            return active if active != other_than else None

        return until(another, f"there is an active controller other than {other_than}", seconds_max=LONG_PATIENCE_SECONDS)

    # -- partitions ---------------------------------------------------------------------------

    def partitions(self, topic: str) -> dict[int, MetadataResponsePartition]:
        answer = self.ask(MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False))
        if answer is None or answer.topics[0].error_code:
            return {}
        return {partition.partition_index: partition for partition in answer.topics[0].partitions}

    def leader(self, topic: str, partition: int = 0) -> int | None:
        """The leader, or None."""
        described = self.partitions(topic).get(partition)
        return described.leader_id if described is not None and described.leader_id >= 0 else None

    def await_leader(self, topic: str, partition: int = 0, *, other_than: int | None = None) -> int:
        def another() -> int | None:
            leader = self.leader(topic, partition)
            return leader if leader != other_than else None

        return until(another, f"{topic}-{partition} has a leader other than {other_than}", seconds_max=LONG_PATIENCE_SECONDS)

    def await_in_sync(self, topic: str, *, replicas: Collection[int] | None = None) -> None:
        """Waits until every partition has all its replicas in sync; with ``replicas`` exactly
        these."""

        def in_sync() -> bool:
            described = self.partitions(topic)
            return bool(described) and all(
                set(each.isr_nodes) == set(each.replica_nodes if replicas is None else replicas) and each.leader_id >= 0
                for each in described.values()
            )

        self._until(in_sync, f"{topic} is in sync", topic)

    def _until(self, condition: Callable[[], bool], what: str, topic: str) -> None:
        until(condition, what, seen=lambda: self.partitions(topic), seconds_max=LONG_PATIENCE_SECONDS)

    # -- coordinators -------------------------------------------------------------------------

    def coordinator(self, group: str) -> int:
        def found() -> int | None:
            answer = self.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=[group]))
            if answer is None or answer.coordinators[0].error_code:
                return None
            node_id: int = answer.coordinators[0].node_id
            return node_id

        return until(found, f"{group} has a coordinator", seconds_max=LONG_PATIENCE_SECONDS)

    # -- changes ------------------------------------------------------------------------------

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        *,
        assignments: dict[int, list[int]] | None = None,
        replication_factor: int = -1,
        configs: dict[str, str] | None = None,
    ) -> None:
        """Creates it and waits until every replica is in sync. ``assignments`` are replicas by
        partition, the preferred leader first."""
        placed = [CreatableReplicaAssignment(partition_index=index, broker_ids=ids) for index, ids in (assignments or {}).items()]
        request = CreateTopicsRequest(
            topics=[
                CreatableTopic(
                    name=name,
                    num_partitions=-1 if placed else partitions,
                    replication_factor=-1 if placed else replication_factor,
                    assignments=placed,
                    configs=[CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()],
                )
            ],
            timeout_ms=20_000,
        )

        def created() -> bool:
            answer = self.ask(request, seconds_max=CHANGE_ANSWER_SECONDS_MAX)
            if answer is None or answer.topics[0].error_code in _NOT_NOW:
                return False
            assert answer.topics[0].error_code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS), answer.topics[0]
            return True

        until(created, f"{name} is created", seconds_max=LONG_PATIENCE_SECONDS)
        self.await_in_sync(name)
        for node in self._askable():
            # A new partition is in sync from the beginning, also in the view of a broker that
            # learns of it before its leader does.
            own = self.seen_without(*(other.id for other in self.cluster.brokers if other is not node))
            until(lambda own=own: own.partitions(name), f"node {node.id} knows {name}", seconds_max=LONG_PATIENCE_SECONDS)  # type: ignore[misc]

    def delete_topic(self, name: str) -> None:
        request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name, topic_id=ZERO_UUID)], timeout_ms=20_000)

        def deleted() -> bool:
            answer = self.ask(request, seconds_max=CHANGE_ANSWER_SECONDS_MAX)
            if answer is None or answer.responses[0].error_code in _NOT_NOW:
                return False
            # A request whose answer was lost has deleted it.
            assert answer.responses[0].error_code in (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), answer.responses[0]
            return True

        until(deleted, f"{name} is deleted", seconds_max=LONG_PATIENCE_SECONDS)

    def reassign(self, topic: str, replicas: dict[int, list[int]]) -> None:
        """Reassigns the partitions and waits until every one has exactly these replicas, all in
        sync."""
        partitions = [ReassignablePartition(partition_index=index, replicas=ids) for index, ids in replicas.items()]
        request = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(name=topic, partitions=partitions)], timeout_ms=20_000)

        def accepted() -> bool:
            answer = self.ask(request, seconds_max=CHANGE_ANSWER_SECONDS_MAX)
            if answer is None or answer.error_code in _NOT_NOW:
                return False
            assert answer.error_code == 0, answer
            assert not any(each.error_code for each in answer.responses[0].partitions), answer
            return True

        until(accepted, f"{topic} is to be at {replicas}", seconds_max=LONG_PATIENCE_SECONDS)

        def moved() -> bool:
            now = self.partitions(topic)
            there = {index: (each.replica_nodes, sorted(each.isr_nodes)) for index, each in now.items() if index in replicas}
            return there == {index: (ids, sorted(ids)) for index, ids in replicas.items()}

        self._until(moved, f"{topic} is at {replicas}", topic)

    def elect_preferred(self, topic: str, partitions: list[int]) -> None:
        """Asks for the elections and waits until each of these partitions is led by the first of
        its replicas."""
        topics = [TopicPartitions(topic=topic, partitions=partitions)]
        request = ElectLeadersRequest(election_type=0, topic_partitions=topics, timeout_ms=10_000)

        def led() -> bool:
            # The request is repeated, because on a busy machine the preferred replica may just be
            # out of sync.
            answer = self.ask(request, seconds_max=CHANGE_ANSWER_SECONDS_MAX)
            now = self.partitions(topic)
            return answer is not None and all(index in now and now[index].leader_id == now[index].replica_nodes[0] for index in partitions)

        self._until(led, f"{topic} is led as preferred", topic)


def _leads(answer: Any | None) -> ResponsePartitionData | None:
    if answer is None or answer.error_code or not answer.topics:
        return None
    partition: ResponsePartitionData = answer.topics[0].partitions[0]
    return partition if partition.error_code == 0 and partition.leader_id >= 0 else None


def ready(cluster: Cluster, security: Security | None = None) -> View:
    """Waits until all brokers are in the cluster and a controller is active."""
    view = View(cluster, security=security)
    view.await_brokers(*(node.id for node in cluster.brokers))
    view.await_controller()
    return view

"""A share group works on a topic while its members and brokers die; then the journals are checked.

Producers send idempotently, so an acknowledged record is in the log once, at the offset that the
producer heard.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import KafkaError, Message, Producer

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from barnabas.wire.messages.incremental_alter_configs import AlterableConfig, AlterConfigsResource, IncrementalAlterConfigsRequest
from peers.cluster import QUICK, Cluster
from tests.cluster.barnabas_cluster import barnabas_cluster
from tests.cluster.share_checker import anomalies, stories, summary, unsettled
from tests.cluster.share_journal import Where
from tests.cluster.share_members import Kind, Members
from tests.cluster.view import ANSWER_SECONDS_MAX, View
from tests.waiting import LONG_PATIENCE_SECONDS, until

TOPIC = "queue"
GROUP = "workers"
# A starved client keeps records for seconds before its application sees them. Shorter locks end so
# often there that the broker archives records which no application got.
LOCK_SECONDS = 6.0
LIMIT = 10
# Further records come more slowly: a starved machine has enough to do.
SLOWER = 10
# About an hour of them at the highest rate of the tests; the waits of the deeds end before.
RECORDS_MAX = 200_000
_GROUP_RESOURCE = 32
# Locks and sessions that end soon, so that others take over the work of the dead; and few
# partitions of the state, which a JVM creates sooner.
SETTINGS = {
    **QUICK,
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.record.lock.duration.ms": str(int(LOCK_SECONDS * 1000)),
    "group.share.delivery.count.limit": str(LIMIT),
    "group.share.min.session.timeout.ms": "1000",
    "group.share.session.timeout.ms": "6000",
    "group.share.min.heartbeat.interval.ms": "200",
    "group.share.heartbeat.interval.ms": "500",
    "group.share.assignment.interval.ms": "0",
    "group.share.min.assignment.interval.ms": "0",
    "share.coordinator.state.topic.num.partitions": "3",
}

MIXED = (Kind("librdkafka", "explicit"), Kind("librdkafka", "implicit"), Kind("java", "renew"), Kind("java", "implicit"))


@dataclass(slots=True)
class Produced:
    """Records that the cluster acknowledged."""

    partitions: int
    wheres: set[Where] = field(default_factory=set)
    errors: list[str] = field(default_factory=list)

    def send(self, bootstrap: str, count: int, *, per_second: float, enough: threading.Event) -> None:
        """Sends ``count`` records, and some more until there are ``enough``: the deeds wait for the
        group to work, and on a starved machine they take longer than the records last."""
        producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5})
        for number in range(RECORDS_MAX):
            producer.produce(TOPIC, b"%d" % number, partition=number % self.partitions, on_delivery=self._delivered)
            producer.poll(0)
            if number + 1 >= count and enough.is_set():
                break
            time.sleep((1 if number < count else SLOWER) / per_second)
        producer.flush(LONG_PATIENCE_SECONDS)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        partition, offset = message.partition(), message.offset()
        if error is not None or partition is None or offset is None:
            self.errors.append(str(error))
        else:
            self.wheres.add(Where(partition, offset))


@dataclass(slots=True)
class Scene:
    cluster: Cluster
    view: View
    members: Members
    produced: Produced

    def progress(self) -> None:
        """Waits until members get records that they did not have before."""
        before = len(self.members.lines())

        def further() -> bool:
            self.members.check_alive()
            return len(self.members.lines()) > before + 50

        until(further, "the group works", seconds_max=LONG_PATIENCE_SECONDS)

    def kill_members(self, slot: int) -> None:
        self.progress()
        self.members.kill_one(slot)

    def kill_broker(self, node_id: int | None = None) -> None:
        """Kills the leader of the first partition, or a node, and starts it again."""
        self.progress()
        victim = self.cluster.node(node_id if node_id is not None else self.view.await_leader(TOPIC, 0))
        victim.kill()
        self.progress()
        victim.start()
        victim.await_listening()
        self.view.await_brokers(*(node.id for node in self.cluster.brokers))
        self.view.await_in_sync(TOPIC)


def shared(
    directory: Path,
    *,
    partitions: int,
    records: int,
    per_second: float,
    deeds: Sequence[Callable[[Scene], None]],
    kinds: Sequence[Kind] = MIXED,
    count: int = 5,
    brokers: int = 3,
    seed: int = 1,
) -> str:
    """Performs the deeds while records are produced and shared; returns a summary."""
    nodes = directory / "nodes"
    nodes.mkdir()
    with barnabas_cluster(brokers=brokers, properties=SETTINGS, directory=nodes) as cluster:
        view = View(cluster)
        view.create_topic(TOPIC, partitions)
        begin_at_the_start(view)
        epochs = _leader_epochs(view, partitions)
        produced, enough = Produced(partitions), threading.Event()
        bootstrap = view.access.bootstrap
        sender = threading.Thread(
            target=produced.send, args=(bootstrap, records), kwargs={"per_second": per_second, "enough": enough}, daemon=True
        )
        sender.start()
        with Members(
            kinds, directory, bootstrap=bootstrap, group=GROUP, topic=TOPIC, count=count, seed=seed, lock_seconds=LOCK_SECONDS
        ) as members:
            scene = Scene(cluster, view, members, produced)
            try:
                for deed in deeds:
                    deed(scene)
            finally:
                enough.set()
            sender.join(LONG_PATIENCE_SECONDS)
            assert not sender.is_alive(), "the producer did not end"
            assert not produced.errors, produced.errors[:3]
            _await_settled(scene)
            members.stop_all()
            members.sweep()
            # Whatever a member held is free after its lock, and reaches the sweeping member soon.
            time.sleep(LOCK_SECONDS + 2)
            _await_settled(scene)
            members.stop_all()
            lines = members.lines()
        # Leaders also change without a deed: a starved broker is fenced for a while.
        moved = [partition for partition, epoch in _leader_epochs(view, partitions).items() if epoch != epochs[partition]]
        found = anomalies(produced.wheres, lines, limit=LIMIT, moved=moved)
        assert not found, "\n".join([*found[:10], f"{len(found)} anomalies", summary(lines)])
        return summary(lines)


def _leader_epochs(view: View, partitions: int) -> dict[int, int]:
    """The highest that any broker knows: the metadata of a starved one may be old."""
    brokers = {node.id for node in view.cluster.brokers}

    def known() -> dict[int, int] | None:
        epochs: dict[int, int] = {}
        for broker in brokers:
            for index, each in view.seen_without(*(brokers - {broker})).partitions(TOPIC).items():
                epochs[index] = max(each.leader_epoch, epochs.get(index, -1))
        return epochs if len(epochs) == partitions else None

    return until(known, "the brokers know the leaders of the topic", seconds_max=LONG_PATIENCE_SECONDS)


def _await_settled(scene: Scene) -> None:
    def settled() -> bool:
        scene.members.check_alive()
        return not unsettled(scene.produced.wheres, scene.members.lines(), limit=LIMIT)

    until(
        settled,
        "every record is acknowledged, or was delivered as often as the limit allows",
        seen=lambda: _unsettled_with_offsets(scene),
        seconds_max=LONG_PATIENCE_SECONDS,
    )


def _unsettled_with_offsets(scene: Scene) -> list[str]:
    """Some records that the test waits for, their deliveries, and the group's offsets. A record
    below the start offset, or in a partition without lag, was archived: the leader delivered it to
    members whose applications did not get it."""
    lines = scene.members.lines()
    told = stories(lines)
    late = sorted(unsettled(scene.produced.wheres, lines, limit=LIMIT))
    records = [f"{tuple(where)}: {told[where].deliveries if where in told else 'no delivery'}" for where in late[:5]]
    return [f"{len(late)} records", *records, *_offsets(scene.view)]


def _offsets(view: View) -> list[str]:
    all_topics = DescribeShareGroupOffsetsRequestGroup(group_id=GROUP, topics=None)
    coordinator = view.cluster.node(view.coordinator(GROUP))
    with view.access.connect(coordinator.bootstrap, ANSWER_SECONDS_MAX) as client:
        answer = client.ask(DescribeShareGroupOffsetsRequest(groups=[all_topics]), 1)
    found = [each for group in answer.groups for topic in group.topics for each in topic.partitions]
    return [f"partition {each.partition_index} begins at {each.start_offset} and has a lag of {each.lag}" for each in found]


def begin_at_the_start(view: View) -> None:
    """The group gets the records that were produced before its first member joined."""
    config = AlterableConfig(name="share.auto.offset.reset", config_operation=0, value="earliest")
    resource = AlterConfigsResource(resource_type=_GROUP_RESOURCE, resource_name=GROUP, configs=[config])

    def altered() -> bool:
        answer = view.ask(IncrementalAlterConfigsRequest(resources=[resource], validate_only=False), 1)
        return answer is not None and answer.responses[0].error_code == ErrorCode.NONE

    until(altered, "the group begins at the start of its topic")

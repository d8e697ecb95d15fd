"""All replicas of a node: found by name and by id, spread over directories, and failed with their
directory.
"""

from __future__ import annotations

from barnabas.model.ids import TopicPartition, Uuid
from barnabas.replication.topic_counters import TopicCounters, forget_topic
from barnabas.replication.waiting_fetch import WaitingFetch
from barnabas.telemetry.metrics import Metrics
from tests.unit.replication.made import TOPIC_ID, World


def test_a_replica_is_found_by_name_and_by_id_until_it_is_removed() -> None:
    world = World()
    first, second = world.partition(), world.partition(index=1)
    replicas = world.replicas
    assert (replicas.get("t", 1), replicas.by_id(TOPIC_ID, 0), len(replicas)) == (second, first, 2)
    assert replicas.get("t", 2) is replicas.get("u", 0) is replicas.by_id(Uuid(b"?" * 16), 0) is None
    assert set(replicas) == {first, second}
    assert replicas.remove(TopicPartition("t", 0)) is first
    assert not first.leads
    assert replicas.by_id(TOPIC_ID, 1) is second
    replicas.remove(TopicPartition("t", 1))
    assert (replicas.by_id(TOPIC_ID, 1), len(replicas), replicas.topic_names) == (None, 0, {})
    assert replicas.remove(TopicPartition("t", 1)) is None


def test_requests_that_wait_for_a_removed_replica_are_answered() -> None:
    world = World()
    answered: list[int] = []
    WaitingFetch([world.partition()], missing_bytes=1, complete=lambda: answered.append(1))
    world.replicas.remove(TopicPartition("t", 0))
    assert answered == [1]


NEW = TopicPartition("new", 0)


def test_a_cordoned_directory_gets_new_replicas_only_by_request_or_without_another() -> None:
    world = World(directories=2)
    world.partition(directory=1)
    first, second = world.directories
    first.cordoned = True
    assert world.replicas.directory_for_new(NEW) is second
    second.cordoned = True
    assert world.replicas.directory_for_new(NEW) is first, "the controller had not heard of it"
    world.replicas.prefer(NEW, second)
    assert world.replicas.directory_for_new(NEW) is second
    assert world.replicas.directory_for_new(NEW) is first, "said for the next time only"


def test_the_next_replica_goes_to_the_directory_with_the_fewest() -> None:
    world = World(directories=3)
    world.partition(directory=0)
    world.partition(index=1, directory=1)
    assert world.replicas.directory_for_new(NEW) is world.directories[2]
    # Replicas that are about to be created count too.
    world.directories[2].reserved = 2
    assert world.replicas.directory_for_new(NEW) in world.directories[:2]


def test_a_failed_directory_fails_its_own_replicas_and_is_reported_once() -> None:
    world = World(directories=2)
    lost, kept = world.partition(directory=0), world.partition(index=1, directory=1)
    for _ in range(2):
        world.replicas.disk_failed(world.directories[0], OSError("smoke"))
    assert world.failures == [("/d0", "smoke")]
    assert (lost.online, lost.leads, kept.online, kept.leads) == (False, False, True, True)
    assert world.replicas.directory_for_new(NEW) is world.directories[1]
    world.replicas.disk_failed(world.directories[1], OSError("fire"))
    assert world.replicas.directory_for_new(NEW) is None


def test_checkpoints_ask_a_replica_for_its_high_watermark_when_they_are_written() -> None:
    world = World()
    partition = world.partition()
    partition.progress.high_watermark = 7
    assert world.directories[0].high_watermarks[partition.partition]() == 7


def test_counters_of_a_topic_are_shared_and_forgotten_with_it() -> None:
    metrics = Metrics()
    first, second = TopicCounters(metrics, "t"), TopicCounters(metrics, "t")
    first.bytes_in.value += 5
    assert second.bytes_in.value == 5
    forget_topic(metrics, "t")
    assert TopicCounters(metrics, "t").bytes_in.value == 0
    assert {labels for _, readings in metrics.values() for labels, _ in readings} == {("t",)}

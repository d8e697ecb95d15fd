"""Share groups of 20 consumers, whose members and brokers are killed.

Every record is delivered at least once, a confirmed acknowledgement is never undone, and no record
is delivered beyond the limit. ``CLUSTER_OF=apache`` runs the same tests with Apache Kafka.
"""

from __future__ import annotations

import pytest

from peers.apache_kafka import why_missing
from tests.cluster.evidence import evidence
from tests.cluster.share_members import Kind
from tests.cluster.sharing import Scene, shared

pytestmark = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")]


def kill_a_process_of_each_client(scene: Scene) -> None:
    for slot in (0, 2):
        scene.kill_members(slot)


def kill_the_leader(scene: Scene) -> None:
    scene.kill_broker()


@pytest.mark.parametrize("partitions", [1, 6])
def test_twenty_share_consumers_acknowledge_every_record_once_while_members_are_killed(partitions: int) -> None:
    with evidence("sharing") as directory:
        shared(directory, partitions=partitions, records=2000, per_second=400, deeds=[kill_a_process_of_each_client])


def test_share_consumers_acknowledge_every_record_once_while_a_leader_is_killed() -> None:
    with evidence("sharing") as directory:
        shared(
            directory,
            partitions=6,
            records=2000,
            per_second=200,
            deeds=[kill_the_leader],
            kinds=[Kind("librdkafka", "explicit"), Kind("java", "renew")],
        )


@pytest.mark.soak
@pytest.mark.parametrize("partitions", [1, 6])
@pytest.mark.parametrize("seed", range(3))
def test_twenty_share_consumers_survive_many_deaths(partitions: int, seed: int) -> None:
    deeds = [kill_a_process_of_each_client, kill_the_leader] * 4
    with evidence("sharing") as directory:
        shared(directory, partitions=partitions, records=60_000, per_second=400, deeds=deeds, seed=seed)

"""Replicas move between directories, and directories fail, while clients work and nodes are
killed.
"""

from __future__ import annotations

import pytest

from peers.cluster import Cluster, Node
from tests.cluster.chaos import PARTITIONS, TOPIC, Chaos, survived
from tests.cluster.view import View
from tests.scenarios.client import Client
from tests.scenarios.test_directory_moves import move
from tests.waiting import until


def home_of(node: Node, partition: int) -> int:
    return next(number for number, data in enumerate(node.log_dirs) if (data / f"{TOPIC}-{partition}").exists())


def every_replica_moves(chaos: Chaos, cluster: Cluster, view: View) -> None:
    """Moves leaders and followers alike to the other directory of their broker."""
    for node in cluster.brokers:
        homes = {partition: home_of(node, partition) for partition in range(PARTITIONS)}
        with Client(node.bootstrap) as client:
            for partition, home in homes.items():
                assert move(client, TOPIC, node.log_dirs[1 - home], partition) == 0
        for partition, home in homes.items():
            name = f"{TOPIC}-{partition}"
            until((node.log_dirs[1 - home] / name).exists, f"{name} of node {node.id} is there")
    chaos.await_progress()


def moves_begin(chaos: Chaos, cluster: Cluster, view: View) -> None:
    """Starts moves, so that the next deed finds them half done."""
    for node in cluster.brokers:
        with Client(node.bootstrap) as client:
            for partition in range(PARTITIONS):
                assert move(client, TOPIC, node.log_dirs[1 - home_of(node, partition)], partition) == 0


def a_directory_fails(chaos: Chaos, cluster: Cluster, view: View) -> None:
    """A directory of a leader fails, but not the one with the metadata log: other brokers then lead
    its partitions."""
    node = cluster.node(view.await_leader(TOPIC))
    with Client(node.bootstrap) as client:
        for partition in range(PARTITIONS):
            assert move(client, TOPIC, node.log_dirs[1], partition) == 0
    for partition in range(PARTITIONS):
        until((node.log_dirs[1] / f"{TOPIC}-{partition}").exists, "its replicas are in the second")
    chaos.await_progress()
    # No file under the old name can be created, renamed or removed any more, and open files alone
    # are not enough to continue.
    node.log_dirs[1].rename(node.directory / "lost")
    for partition in range(PARTITIONS):
        view.await_leader(TOPIC, partition, other_than=node.id)
    chaos.await_progress()
    node.kill()
    (node.directory / "lost").rename(node.log_dirs[1])
    node.start()
    view.await_in_sync(TOPIC)


@pytest.mark.soak
def test_replicas_move_while_clients_work_and_nodes_are_killed() -> None:
    survived([every_replica_moves, moves_begin, "kill leader", every_replica_moves], seed=11, log_dirs=2)


SMALL_SEGMENTS = {"log.segment.bytes": "1048576", "log.roll.ms": "1000", "log.flush.offset.checkpoint.interval.ms": "1000"}


@pytest.mark.soak
def test_partitions_of_a_failed_directory_get_leaders_elsewhere() -> None:
    survived([a_directory_fails], seed=12, log_dirs=2, properties=SMALL_SEGMENTS)


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("transactional", [False, True], ids=["idempotent", "transactional"])
def test_replicas_move_again_and_again_while_nodes_are_killed(transactional: bool) -> None:
    deeds = [deed for _ in range(6) for deed in (moves_begin, "kill leader", every_replica_moves, "kill follower", moves_begin)]
    survived(deeds, seed=13, log_dirs=2, transactional=transactional)

"""The replicas of one partition: no death of a replica loses an acknowledged record."""

from __future__ import annotations

import pytest

from tests.unit.replication.cluster import Cluster

# The simulation runs a hundred thousand of these with whole clusters; these few are quick and need
# nothing but this package.
SEEDS = 12


def test_a_record_is_acknowledged_when_all_in_sync_replicas_have_it_and_all_learn_of_the_commit() -> None:
    cluster = Cluster(seed=1)
    acked = cluster.produce()
    assert acked is not None
    assert not cluster.acknowledged
    cluster.run(500)
    assert cluster.acknowledged == [acked]
    cluster.run(500)
    assert [node.partition.high_watermark for node in cluster.nodes.values() if node.partition is not None] == [1, 1, 1]


@pytest.mark.parametrize("seed", range(SEEDS))
def test_acknowledged_records_survive_random_deaths(seed: int) -> None:
    cluster = Cluster(seed)
    chance = cluster.chance
    for _ in range(25):
        for _ in range(chance.randrange(12)):
            cluster.produce()
            cluster.run(chance.choice((0, 3, 20)))
        down = [node for node in cluster.nodes.values() if not node.up]
        up = [node for node in cluster.nodes.values() if node.up]
        event = chance.randrange(6)
        if event == 0 and len(up) > 1:
            node = chance.choice(up)
            # A power cut loses unsynced data, so at most one of the last in-sync replicas may
            # suffer one.
            power = chance.random() < 0.5 and not (set(cluster.image.isr) <= {node.node_id, *(each.node_id for each in down)})
            cluster.stop(node, power=power)
            if power or chance.random() < 0.7:
                cluster.fence(node.node_id)
        elif event == 1 and down:
            cluster.start(chance.choice(down))
        elif event == 2:
            cluster.elect(chance.choice(cluster.ids))
        elif event == 3 and up:
            # Its heartbeats are late, so the controller fences it although it runs.
            cluster.fence(chance.choice(up).node_id)
        cluster.run(chance.choice((10, 100, 600)))
        for node in cluster.nodes.values():
            if node.up and cluster.brokers[node.node_id].fenced and chance.random() < 0.5:
                cluster.unfence(node)
    cluster.heal()

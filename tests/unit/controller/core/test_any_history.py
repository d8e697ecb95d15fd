"""Random requests of brokers, leaders and operators in any order leave the cluster consistent."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from barnabas.metadata.metadata_image import MetadataImage
from barnabas.metadata.topics import PartitionImage
from barnabas.model.ids import NO_NODE
from barnabas.wire.messages.alter_partition import AlterPartitionRequest, BrokerState, PartitionData, TopicData
from barnabas.wire.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    DirectoryData,
    PartitionData as Placed,
    TopicData as PlacedTopic,
)
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from barnabas.wire.messages.unregister_broker import UnregisterBrokerRequest
from tests.unit.controller.core.deciding import Office
from tests.unit.controller.core.test_brokers import registration
from tests.unit.controller.core.test_elections import elect
from tests.unit.controller.core.test_reassignments import move
from tests.unit.controller.core.test_topics import create, wanted
from tests.unit.metadata.made import registered, topic, uuid

BROKERS = (1, 2, 3, 4)
HISTORIES, STEPS = 30, 60


def any_number(chance: Random, likely: int) -> int:
    """Mostly what makes sense; now and then what only a broken or hostile peer would send."""
    return likely if chance.random() < 0.8 else chance.choice([-(2**31), -2, -1, 0, likely - 1, likely + 1, 2**31 - 1])


def any_request(chance: Random, image: MetadataImage) -> Any:
    broker = chance.choice(BROKERS)
    known = image.cluster.brokers.get(broker)
    epoch = any_number(chance, known.epoch if known is not None else 5)
    index = any_number(chance, chance.randint(0, 2))
    match chance.choice(
        ["beat", "beat", "beat", "register", "unregister", "report", "report", "elect", "move", "cancel", "place", "create"]
    ):
        case "beat":
            return BrokerHeartbeatRequest(
                broker_id=broker,
                broker_epoch=epoch,
                current_metadata_offset=any_number(chance, image.provenance.offset),
                want_fence=chance.random() < 0.1,
                want_shut_down=chance.random() < 0.1,
                offline_log_dirs=[uuid(10 * broker + chance.randint(0, 2))] if chance.random() < 0.1 else [],
                cordoned_log_dirs=chance.choice([None, [], [uuid(10 * broker)]]),
            )
        case "register":
            return registration(
                broker_id=broker,
                incarnation=chance.randint(1, 5),
                directories=[uuid(10 * broker + number) for number in range(chance.randint(1, 2))],
                previous_epoch=epoch,
            )
        case "unregister" if chance.random() < 0.2:
            return UnregisterBrokerRequest(broker_id=broker)
        case "report":
            return any_report(chance, image, index)
        case "elect":
            return elect(chance.randint(0, 2), index)
        case "move":
            return move([any_number(chance, each) for each in chance.sample(BROKERS, chance.randint(0, 3))], index=index)
        case "cancel":
            return move(None, index=index)
        case "place":
            place = DirectoryData(
                id=uuid(10 * broker + chance.randint(0, 2)),
                topics=[PlacedTopic(topic_id=uuid(1), partitions=[Placed(partition_index=index)])],
            )
            return AssignReplicasToDirsRequest(broker_id=broker, broker_epoch=epoch, directories=[place])
        case _:
            return create(wanted(f"n{chance.randint(0, 3)}", 2, chance.randint(1, 3)))


def any_report(chance: Random, image: MetadataImage, index: int) -> AlterPartitionRequest:
    state = image.topics.by_name["t"].partitions.get(index) or image.topics.by_name["t"].partitions[0]
    leader = any_number(chance, state.leader)
    known = image.cluster.brokers.get(leader)
    others = chance.sample(state.replicas, chance.randint(0, len(state.replicas)))
    epochs = {each: broker.epoch for each, broker in image.cluster.brokers.items()}
    in_sync = [BrokerState(broker_id=each, broker_epoch=any_number(chance, epochs.get(each, -1))) for each in {leader, *others}]
    data = PartitionData(
        partition_index=index,
        leader_epoch=any_number(chance, state.leader_epoch),
        new_isr_with_epochs=in_sync,
        leader_recovery_state=chance.choice([0, 0, 0, 1, 7]),
        partition_epoch=any_number(chance, state.partition_epoch),
    )
    topics = [TopicData(topic_id=uuid(1), partitions=[data])]
    return AlterPartitionRequest(broker_id=leader, broker_epoch=known.epoch if known is not None else -1, topics=topics)


def check(image: MetadataImage, before: MetadataImage) -> None:
    for each in image.topics.by_id.values():
        for index, state in each.partitions.items():
            check_partition(image, state)
            old = before.topics.by_id[each.topic_id].partitions.get(index) if each.topic_id in before.topics.by_id else None
            if old is not None and old != state:
                assert state.partition_epoch > old.partition_epoch
                assert state.leader_epoch > old.leader_epoch or (state.leader == old.leader and state.leader_epoch == old.leader_epoch)


def check_partition(image: MetadataImage, state: PartitionImage) -> None:
    assert len(set(state.replicas)) == len(state.replicas) == len(state.directories or state.replicas) > 0
    assert len(set(state.isr)) == len(state.isr)
    assert {*state.isr, *state.eligible_leader_replicas, *state.adding_replicas, *state.removing_replicas} <= set(state.replicas)
    assert not set(state.isr) & set(state.eligible_leader_replicas)
    assert not set(state.adding_replicas) & set(state.removing_replicas)
    assert len(state.last_known_elr) <= 1
    if state.leader != NO_NODE:
        assert state.leader in state.isr
        assert image.cluster.active(state.leader)
        assert image.online(state, state.leader)
    # With the ELR, every member of the ISR is alive: otherwise a leader could be missed.
    assert all(image.cluster.active(each) for each in state.isr)


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_the_cluster_stays_one_that_can_be_true(seed: int) -> None:
    chance = Random(seed)
    office = Office([*(registered(each, directories=2) for each in BROKERS), *topic(1, "t", [1, 2, 3], [2, 3], [4])], seed=seed)
    for _ in range(STEPS):
        before = office.image
        if chance.random() < 0.2:
            office.wait(chance.choice([1, 1000, 5000, 9001]))
        else:
            office.decide(any_request(chance, office.image))
        check(office.image, before)

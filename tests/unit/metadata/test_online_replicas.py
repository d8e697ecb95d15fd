"""Queries of an image: replicas that can be served, and directories that count."""

from __future__ import annotations

from dataclasses import replace

import pytest

from barnabas.metadata.cluster import (
    LOST_DIRECTORY,
    MIGRATING_DIRECTORY,
    UNASSIGNED_DIRECTORY,
    BrokerImage,
    reserved_directory,
)
from barnabas.model.ids import Uuid
from tests.unit.metadata.made import after, partition, registered, topic, uuid

BROKER = BrokerImage(1, 7, uuid(1), (), directories=(uuid(10), uuid(11)))


def test_a_replica_is_offline_when_its_broker_is_fenced_or_unknown_or_its_directory_is_away() -> None:
    record = partition(1, 0, [1, 2, 3, 4], directories=[uuid(10), uuid(20), uuid(999), uuid(40)])
    image = after([registered(1), registered(2, fenced=True), registered(3), topic(1, "t")[0], record])
    assert image.offline_replicas(image.topics.by_name["t"].partitions[0]) == [2, 3, 4]


def test_a_replica_in_an_unknown_directory_counts_as_online() -> None:
    image = after([registered(1), *topic(1, "t", [1])])
    assert image.offline_replicas(image.topics.by_name["t"].partitions[0]) == []


@pytest.mark.parametrize(
    ("directory", "online"),
    [(uuid(10), True), (uuid(12), False), (UNASSIGNED_DIRECTORY, True), (MIGRATING_DIRECTORY, True), (LOST_DIRECTORY, False)],
)
def test_directories_that_are_online(directory: Uuid, online: bool) -> None:
    assert BROKER.has_online(directory) is online


def test_the_default_directory_of_a_broker_is_its_only_one_or_unassigned() -> None:
    assert BROKER.default_directory == UNASSIGNED_DIRECTORY
    assert replace(BROKER, directories=(uuid(10),)).default_directory == uuid(10)
    assert replace(BROKER, directories=()).default_directory == MIGRATING_DIRECTORY


def test_a_broker_with_only_cordoned_directories_takes_no_new_replicas() -> None:
    assert BROKER.takes_new_replicas
    assert replace(BROKER, cordoned_directories=(uuid(10),)).takes_new_replicas
    assert not replace(BROKER, cordoned_directories=(uuid(10), uuid(11))).takes_new_replicas


def test_the_first_hundred_ids_name_no_directory() -> None:
    assert reserved_directory(Uuid((99).to_bytes(16, "big")))
    assert not reserved_directory(Uuid((100).to_bytes(16, "big")))


def test_the_replicas_once_a_reassignment_is_done() -> None:
    record = partition(1, 0, [1, 4, 2, 3])
    record.adding_replicas, record.removing_replicas = [4], [3]
    state = after([topic(1, "t")[0], record]).topics.by_name["t"].partitions[0]
    assert (state.reassigning, state.replicas_wanted, state.preferred_leader) == (True, (1, 4, 2), 1)

"""The directories of new processes, and data of processes that are not started."""

from __future__ import annotations

from random import Random

import pytest

from barnabas.config.parse import parse_broker_config
from barnabas.config.settings import BrokerSettings
from barnabas.model.cannot_start import CannotStart
from barnabas.model.ids import NodeId
from barnabas.node.format import format_directories
from barnabas.simulation.disk import SimulatedDisk
from barnabas.storage.meta_properties import read_meta_properties
from barnabas.supervisor.directories import format_new_processes, refuse_data_of_others
from barnabas.supervisor.process_settings import derive
from tests.unit.controller.core.deciding import CLUSTER_ID, Dice

FILE = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "1@box:9093",
    "log.dirs": "/a,/b",
    "metadata.log.dir": "/meta",
}
FIRST = parse_broker_config(FILE)


def processes(count: int) -> list[BrokerSettings]:
    return [parse_broker_config(FILE | each.overrides) for each in derive(FIRST, count, machine="box")]


def formatted(*paths: str) -> SimulatedDisk:
    disk = SimulatedDisk(Random(0))
    if paths:
        format_directories(disk, paths, cluster_id=CLUSTER_ID, node_id=NodeId(1), entropy=Dice(), now_ms=5)
    return disk


def format_new(disk: SimulatedDisk, count: int) -> list[int]:
    return format_new_processes(disk, processes(count), entropy=Dice(), now_ms=5)


def test_directories_of_new_processes_get_the_id_of_the_cluster() -> None:
    disk = formatted("/a", "/b", "/meta")
    assert format_new(disk, 3) == [2, 3]
    for node_id in (2, 3):
        for path in ("/a", "/b", "/meta"):
            meta = read_meta_properties(disk, f"{path}/processes/node-{node_id}")
            assert meta is not None
            assert (meta.cluster_id, meta.node_id) == (CLUSTER_ID, node_id)


def test_processes_that_have_data_are_left_alone() -> None:
    disk = formatted("/a", "/b", "/meta")
    format_new(disk, 2)
    before = read_meta_properties(disk, "/a/processes/node-2")
    assert format_new(disk, 3) == [3]
    assert format_new(disk, 3) == []
    assert read_meta_properties(disk, "/a/processes/node-2") == before


@pytest.mark.parametrize("paths", [(), ("/a",), ("/a", "/b")])
def test_no_process_is_formatted_before_every_directory_of_the_first(paths: tuple[str, ...]) -> None:
    disk = formatted(*paths)
    with pytest.raises(CannotStart, match="is not formatted: run `barnabas storage format` first"):
        format_new(disk, 2)
    assert not disk.exists("/a/processes")


def test_data_of_a_process_that_is_not_started_is_refused_with_the_way_out() -> None:
    disk = formatted("/a", "/b", "/meta")
    format_new(disk, 4)
    refuse_data_of_others(disk, FIRST, [1, 2, 3, 4], given="--processes 4")
    refuse_data_of_others(disk, FIRST, [1, 2, 3, 4, 5], given="--processes 5")
    with pytest.raises(CannotStart, match=r"/a/processes/node-4 holds the data of a process that --processes 3 does not start.*reassign"):
        refuse_data_of_others(disk, FIRST, [1, 2, 3], given="--processes 3")
    with pytest.raises(CannotStart, match="/a/processes/node-2 holds the data of a process that `server` does not start"):
        refuse_data_of_others(disk, FIRST, [], given="`server`")


def test_a_node_that_never_had_several_processes_is_not_refused() -> None:
    refuse_data_of_others(formatted("/a", "/b", "/meta"), FIRST, [], given="`server`")
    refuse_data_of_others(formatted(), FIRST, [], given="`server`")

"""Moving a replica between directories: wherever it is interrupted, the replica is found again,
whole and once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, Future
from itertools import count
from random import Random
from types import SimpleNamespace
from typing import Any, cast

import pytest

from barnabas.config.parse import parse_broker_config
from barnabas.devcluster.development import development_properties
from barnabas.env.clock import SystemClock
from barnabas.env.entropy import SystemEntropy
from barnabas.logcare.directories.moves import DirectoryMoves
from barnabas.metadata.configs import ConfigsImage
from barnabas.metadata.effective_configs import EffectiveConfigs
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition, Uuid
from barnabas.model.promise import Promise
from barnabas.replication.cluster_view import ClusterView
from barnabas.replication.local_replicas import LocalReplicas
from barnabas.replication.partition import Partition
from barnabas.replication.publisher import ReplicaPublisher
from barnabas.simulation.disk import PowerCut, SimulatedDisk
from barnabas.storage.delayed_removals import DelayedRemovals
from barnabas.storage.found_logs import FoundLogs
from barnabas.storage.leader_epochs import EpochStart
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.log_settings import LogSettings
from barnabas.telemetry.logs import EventLog
from barnabas.telemetry.metrics import Metrics
from barnabas.wire.metadata_records import MetadataRecord, PartitionRecord, TopicRecord
from tests.unit import simulated
from tests.unit.metadata.made import after, delta_of
from tests.unit.storage.logs import NOW_MS, append, data, fill, numbered, values
from tests.waiting import until_async

ME = 1
TOPIC_ID = Uuid(b"t" * 16)
PARTITION = TopicPartition("t", 0)
SMALL = LogSettings(segment_bytes=1000, index_interval_bytes=200, file_delete_delay_ms=0)
HOME, AWAY = "/home", "/away"


class AtOnce(Executor):
    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except Exception as wrong:  # noqa: BLE001 - as an executor does
            done.set_exception(wrong)
        return done


class Reports:
    """The controller, as far as it hears of directories."""

    def __init__(self, directory_id: Uuid) -> None:
        self.believed = directory_id
        self.code = ErrorCode.NONE
        self.on_moving: Callable[[], None] = lambda: None

    def placed(self, topic_id: Uuid, partition: int, directory: LogDirectory) -> None:
        self.believed = directory.directory_id

    def moving(self, topic_id: Uuid, partition: int, directory: LogDirectory) -> Promise[ErrorCode]:
        if self.code == ErrorCode.NONE:
            self.believed = directory.directory_id
        self.on_moving()
        return Promise.kept(self.code)


class Node:
    """As much of a node as has to do with where its replicas lie. The first one makes the
    partition."""

    def __init__(self, disk: SimulatedDisk, reports: Reports | None = None) -> None:
        self.disk = disk
        for path in (HOME, AWAY):
            disk.make_directory(path)
        disk.sync_directory("/")
        self.home, self.away = (LogDirectory(disk, path, Uuid(path.encode().ljust(16, b"."))) for path in (HOME, AWAY))
        found = FoundLogs()
        for directory in (self.home, self.away):
            for each in directory.open_logs(lambda _: SMALL, clean=False, now_ms=NOW_MS):
                found.add(directory, each)
        self.failed: list[str] = []
        self.replicas = LocalReplicas([self.home, self.away], lambda directory, _: self._failed(directory))
        self.reports = reports or Reports(self.home.directory_id)
        settings = parse_broker_config(development_properties(data_dir=HOME, overrides={"log.segment.delete.delay.ms": "0"}))
        effective = EffectiveConfigs(settings, ConfigsImage(), ME)
        log = EventLog("ERROR")
        removals = DelayedRemovals(AtOnce(), self.replicas.disk_failed)
        self.moves = DirectoryMoves(
            self.replicas,
            cast(Any, SimpleNamespace(effective=effective)),
            settings,
            SystemClock(),
            SystemEntropy(),
            AtOnce(),
            cast(Any, self.reports),
            removals,
            Metrics(),
            log,
            on_new_log=lambda _: None,
        )
        context: Any = SimpleNamespace(
            node_id=ME, clock=SystemClock(), entropy=SystemEntropy(), executor=AtOnce(), metrics=Metrics(), log=log
        )
        observer: Any = SimpleNamespace(
            placed=self.reports.placed,
            log_created=lambda _: None,
            role_changed=lambda _: None,
            removed=self.moves.forget,
            damaged=lambda _: None,
            copy_found=self.moves.resume,
        )
        self.publisher = ReplicaPublisher(context, self.replicas, found, removals, ClusterView(), observer)
        self.effective = effective

    def _failed(self, directory: LogDirectory) -> None:
        self.failed.append(directory.path)
        self.moves.directory_failed(directory)

    async def publish(self) -> Partition:
        records: list[MetadataRecord] = [
            TopicRecord(name="t", topic_id=TOPIC_ID),
            PartitionRecord(
                partition_id=0,
                topic_id=TOPIC_ID,
                replicas=[ME],
                isr=[ME],
                removing_replicas=[],
                adding_replicas=[],
                leader=ME,
                leader_epoch=0,
                partition_epoch=0,
                directories=[self.reports.believed],
            ),
        ]
        await self.publisher.publish(delta_of(records), after(records), self.effective)
        replica = self.replicas.get("t", 0)
        assert replica is not None
        replica.log.settings = SMALL
        return replica

    async def arrived(self, replica: Partition, directory: LogDirectory) -> None:
        def is_there() -> bool:
            for move in list(self.moves._moves.values()):
                if move.task is not None and move.task.done():
                    move.task.result()
            return replica.directory is directory and replica.health.future is None

        await until_async(is_there, f"the replica is in {directory.path}", pause_seconds=0.001)


def run(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    simulated.run(scenario())


async def moved_halfway(node: Node, batches: int = 25) -> Partition:
    replica = await node.publish()
    fill(replica.log, batches)
    assert node.moves.move(replica, node.away) == ErrorCode.NONE
    return replica


def test_a_moved_replica_keeps_everything_the_old_one_knew() -> None:
    async def scenario() -> None:
        node = Node(SimulatedDisk(Random(0)))
        replica = await node.publish()
        fill(replica.log, 30)
        replica.log.leader_epochs.assign(7, 30)
        replica.log.cleaned_to = 10
        producers = replica.log.producers
        node.moves.move(replica, node.away)
        await node.arrived(replica, node.away)
        assert values(replica.log) == [numbered(n) for n in range(30)]
        assert replica.log.leader_epochs.entries[-1] == EpochStart(7, 30)
        assert replica.log.producers is producers
        assert replica.log.cleaned_to == 10
        assert node.reports.believed == node.away.directory_id
        assert list(node.away.logs) == [PARTITION]
        assert not node.home.logs
        assert not node.away.futures
        append(replica.log, leader_epoch=7)

    run(scenario)


def test_appends_and_truncations_during_a_move_reach_the_new_directory() -> None:
    async def scenario() -> None:
        node = Node(SimulatedDisk(Random(0)))
        replica = await moved_halfway(node)
        for step in range(40):
            await asyncio.sleep(0)
            if replica.health.future is None:
                break
            if step % 5 == 4:
                replica.role.leads = False
                replica.truncate_to(replica.log.log_end_offset - 3)
                replica.role.leads = True
            append(replica.log, data(1, value=b"step %d" % step), leader_epoch=step)
        expected = values(replica.log)
        await node.arrived(replica, node.away)
        assert values(replica.log)[: len(expected)] == expected

    run(scenario)


def test_a_refusal_of_the_controller_leaves_the_replica_where_it_is() -> None:
    async def scenario() -> None:
        node = Node(SimulatedDisk(Random(0)))
        node.reports.code = ErrorCode.UNKNOWN_TOPIC_ID
        replica = await moved_halfway(node)
        await until_async(lambda: replica.health.future is None, "the move is given up")
        assert replica.directory is node.home
        assert node.reports.believed == node.home.directory_id
        await asyncio.sleep(0.01)
        assert not [name for name in node.disk.names(AWAY) if name.startswith("t-0")]

    run(scenario)


@pytest.mark.parametrize("how", ["killed", "power cut"])
def test_an_interrupted_move_leaves_the_replica_whole_and_once(how: str) -> None:
    flushed = 0

    async def until_dark(node: Node, step: int) -> bool:
        """Whether the move was done before the lights went out."""
        nonlocal flushed
        replica = await node.publish()
        fill(replica.log, 12)
        replica.log.flush()
        node.home.write_recovery_points()
        flushed = 12
        fill(replica.log, 3)
        node.disk.crash_after(step)
        try:
            node.moves.move(replica, node.away)
            await node.arrived(replica, node.away)
            append(replica.log)
        except PowerCut:
            return False
        return True

    async def after_restart(disk: SimulatedDisk, believed: Uuid, step: int) -> None:
        node = Node(disk, Reports(believed))
        replica = await node.publish()
        found = values(replica.log)
        least = 15 if how == "killed" else flushed
        assert found[:least] == [numbered(n) for n in range(least)], f"at step {step}"
        if replica.health.future is not None:
            await node.arrived(replica, node.away)
            assert values(replica.log) == found
        assert node.reports.believed == replica.directory.directory_id
        await asyncio.sleep(0.001)
        left = [f"{path}/{name}" for path in (HOME, AWAY) for name in disk.names(path) if name.startswith("t-0")]
        assert left == [replica.log.directory], f"at step {step}"

    for step in count(1):
        node = Node(SimulatedDisk(Random(step)))
        try:
            finished = simulated.run(until_dark(node, step))
        except PowerCut:  # in a worker thread
            finished = False
        survivor = node.disk.kill() if how == "killed" else node.disk.crash()
        simulated.run(after_restart(survivor, node.reports.believed, step))
        if finished:
            assert step > 20, "the move has steps"
            return

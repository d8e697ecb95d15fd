"""Three drivers over real logs on simulated disks, talking in the bytes of the wire."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest

from barnabas.env.awaiting import awaited
from barnabas.env.entropy import SystemEntropy
from barnabas.metadata.snapshot import SnapshotId
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import METADATA_TOPIC, NodeId, Uuid
from barnabas.model.promise import Promise
from barnabas.quorum.core.node import QuorumNode
from barnabas.quorum.core.quorum import Identity
from barnabas.quorum.core.settings import QuorumSettings
from barnabas.quorum.core.voters import Endpoint, ReplicaKey, configured_voters
from barnabas.quorum.driver import QuorumDriver
from barnabas.quorum.metadata_log import MetadataLog
from barnabas.simulation.disk import SimulatedDisk
from barnabas.storage.log_settings import LogSettings
from barnabas.wire.compiler import FieldNotInVersion, decode, encode
from barnabas.wire.messages import begin_quorum_epoch, describe_quorum, end_quorum_epoch, fetch, fetch_snapshot, update_raft_voter, vote
from barnabas.wire.metadata_records import NoOpRecord
from tests.unit import simulated
from tests.unit.simulated import LoopClock
from tests.waiting import until_async

LISTENER = "CONTROLLER"
SETTINGS = QuorumSettings(fetch_snapshot_max_bytes=100)
RESPONSES: dict[type[Any], tuple[type[Any], int, int]] = {
    vote.VoteRequest: (vote.VoteResponse, 0, 2),
    begin_quorum_epoch.BeginQuorumEpochRequest: (begin_quorum_epoch.BeginQuorumEpochResponse, 0, 1),
    end_quorum_epoch.EndQuorumEpochRequest: (end_quorum_epoch.EndQuorumEpochResponse, 0, 1),
    fetch.FetchRequest: (fetch.FetchResponse, 15, 18),
    fetch_snapshot.FetchSnapshotRequest: (fetch_snapshot.FetchSnapshotResponse, 0, 1),
    update_raft_voter.UpdateRaftVoterRequest: (update_raft_voter.UpdateRaftVoterResponse, 0, 0),
}


class Quorum:
    """With ``oldest`` all nodes use the first version of every API instead of the last."""

    def __init__(self, *, oldest: bool = False) -> None:
        self.nodes: dict[int, RunningNode] = {}
        self.disks: dict[int, SimulatedDisk] = {}
        self.oldest = oldest

    def start(self, *node_ids: int) -> None:
        for node_id in node_ids:
            self.nodes[node_id] = RunningNode(self, node_id)
            self.nodes[node_id].driver.start(self.nodes[node_id])

    @property
    def leader(self) -> RunningNode | None:
        return next((node for node in self.nodes.values() if node.driver.leading), None)

    async def elected(self) -> RunningNode:
        await until_async(lambda: self.leader is not None and self.leader.high_watermark > 0, "a leader is elected")
        assert self.leader is not None
        return self.leader

    async def all_have(self, offset: int) -> None:
        await until_async(
            lambda: all(node.high_watermark >= offset for node in self.nodes.values()),
            f"all nodes have committed up to {offset}",
            seen=lambda: {node.node_id: node.high_watermark for node in self.nodes.values()},
        )


class RunningNode:
    def __init__(self, quorum: Quorum, node_id: int) -> None:
        self.quorum = quorum
        self.node_id = node_id
        self.high_watermark = 0
        self.candidacies: list[int] = []
        self.offices: list[int] = []
        self.snapshots: list[SnapshotId] = []
        disk = quorum.disks.setdefault(node_id, SimulatedDisk(Random(node_id)))
        disk.make_directory("/data")
        self.log = MetadataLog(disk, "/data", LogSettings(segment_bytes=1 << 20), clean=True, now_ms=0)
        identity = Identity(
            ReplicaKey(NodeId(node_id), Uuid(bytes([node_id]) * 16)), "a-cluster", LISTENER, (Endpoint(LISTENER, "n", node_id),)
        )
        voters = configured_voters(LISTENER, [(NodeId(each), "n", each) for each in (1, 2, 3)])
        self.driver = QuorumDriver(
            QuorumNode(identity, voters, self.log.read_quorum_state(), SETTINGS, SystemEntropy()),
            self.log,
            self,
            LoopClock(),
            ThreadPoolExecutor(1),
        )

    def failed(self, error: BaseException) -> None:
        raise error

    def misbehaved(self, problem: str) -> None:
        pass

    def became_candidate(self, epoch: int) -> None:
        self.candidacies.append(epoch)

    def became_leader(self, epoch: int, epoch_start_offset: int) -> None:
        self.offices.append(epoch)

    def resigned(self, epoch: int) -> None:
        self.offices.append(-epoch)

    def leader_changed(self) -> None:
        pass

    def committed(self, high_watermark: int) -> None:
        self.high_watermark = high_watermark

    def snapshot_installed(self, snapshot: SnapshotId) -> None:
        self.snapshots.append(snapshot)
        self.committed(snapshot.end_offset)

    def die(self) -> None:
        self.driver.close()
        self.log.abandon()
        del self.quorum.nodes[self.node_id]

    # -- the network, as the driver sees it ---------------------------------------------------

    def at(self, host: str, port: int, purpose: str = "") -> Wire:
        return Wire(self.quorum, port)

    def refuses(self, host: str, port: int) -> Promise[bool]:
        return Promise.kept(port not in self.quorum.nodes)


class Wire:
    def __init__(self, quorum: Quorum, target: int) -> None:
        self.quorum = quorum
        self.target = target

    def send(self, request: Any, *, timeout_ms: int) -> Promise[Any]:
        answer: Promise[Any] = Promise()
        node = self.quorum.nodes.get(self.target)
        response_type, lowest, highest = RESPONSES[type(request)]
        version = lowest if self.quorum.oldest else highest
        if node is None:
            asyncio.get_running_loop().call_soon(answer.resolve, ErrorCode.NETWORK_EXCEPTION)
            return answer
        try:
            received = decode(type(request), version, encode(request, version))[0]
        except FieldNotInVersion:
            answer.resolve(ErrorCode.UNSUPPORTED_VERSION)
            return answer

        def back(response: Any) -> None:
            returned = decode(response_type, version, encode(response, version))[0]
            asyncio.get_running_loop().call_soon(answer.resolve, returned)

        asyncio.get_running_loop().call_soon(lambda: node.driver.serve(received, version).then(back))
        return answer


@contextmanager
def closing(quorum: Quorum) -> Iterator[Quorum]:
    try:
        yield quorum
    finally:
        for node in list(quorum.nodes.values()):
            node.driver.close()


@pytest.mark.parametrize("oldest", [False, True])
def test_a_batch_that_the_leader_appends_is_committed_everywhere_in_any_version(oldest: bool) -> None:
    async def run() -> None:
        with closing(Quorum(oldest=oldest)) as quorum:
            quorum.start(1, 2, 3)
            leader = await quorum.elected()
            end = leader.driver.append([NoOpRecord(), NoOpRecord()])
            await quorum.all_have(end)
            written = [list(node.log.batches(0, end)) for node in quorum.nodes.values()]
            assert written[0] == written[1] == written[2]
            known = {(node.driver.leader.node_id, node.driver.leader.endpoint) for node in quorum.nodes.values() if node.driver.leader}
            assert known == {(leader.node_id, ("n", leader.node_id))}

    simulated.run(run())


def test_a_leader_that_dies_is_replaced_and_catches_up_when_it_comes_back() -> None:
    async def run() -> None:
        with closing(Quorum()) as quorum:
            quorum.start(1, 2, 3)
            old = await quorum.elected()
            await quorum.all_have(old.driver.append([NoOpRecord()]))
            old.die()
            new = await quorum.elected()
            end = new.driver.append([NoOpRecord()])
            quorum.start(old.node_id)
            await quorum.all_have(end)
            assert new.driver.epoch > old.driver.epoch

    simulated.run(run())


def test_a_leader_that_stops_hands_over_first() -> None:
    async def run() -> None:
        with closing(Quorum()) as quorum:
            quorum.start(1, 2, 3)
            old = await quorum.elected()
            await quorum.all_have(old.driver.append([NoOpRecord()]))
            await awaited(old.driver.stop())
            await until_async(lambda: quorum.leader not in (None, old), "another node leads")
            assert old.offices == [old.offices[0], -old.offices[0]]
            assert old.offices[0] in old.candidacies

    simulated.run(run())


def test_a_node_with_nothing_takes_the_leaders_snapshot() -> None:
    async def run() -> None:
        with closing(Quorum()) as quorum:
            quorum.start(1, 2)
            leader = await quorum.elected()
            for _ in range(5):
                leader.driver.append([NoOpRecord()])
            end = leader.driver.append([NoOpRecord()])
            await quorum.all_have(end)
            snapshot = SnapshotId(end, leader.driver.epoch)
            leader.log.write_snapshot(snapshot, [NoOpRecord()] * 20, last_timestamp=1, now_ms=2)
            leader.driver.snapshots_changed()
            quorum.start(3)
            await quorum.all_have(end)
            joined = quorum.nodes[3]
            assert joined.snapshots == [snapshot]
            assert (joined.log.start_offset, joined.log.snapshots()) == (end, [snapshot])
            await quorum.all_have(leader.driver.append([NoOpRecord()]))

    simulated.run(run())


def test_the_leader_describes_the_quorum_and_others_send_one_to_it() -> None:
    async def run() -> None:
        with closing(Quorum()) as quorum:
            quorum.start(1, 2, 3)
            leader = await quorum.elected()
            await quorum.all_have(leader.driver.append([NoOpRecord()]))
            partition = describe_quorum.PartitionData(partition_index=0)
            request = describe_quorum.DescribeQuorumRequest(
                topics=[describe_quorum.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])]
            )
            for node in quorum.nodes.values():
                answer = node.driver.serve(request).value
                described = answer.topics[0].partitions[0]
                if node is not leader:
                    assert described.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
                    continue
                assert [each.replica_id for each in described.current_voters] == [1, 2, 3]
                assert all(each.log_end_offset == leader.driver.end_offset for each in described.current_voters)
                assert all(each.last_fetch_timestamp > 1_600_000_000_000 for each in described.current_voters)
                assert [each.node_id for each in answer.nodes] == [1, 2, 3]
                for version in (0, 1, 2):
                    encode(leader.driver.serve(request, version).value, version)

    simulated.run(run())

"""Attacks on the listener of controllers, and on brokers with the identity of other brokers.

There is no authentication yet, so a peer that reaches the listener of controllers can do everything
that a controller or a broker can: call an election, fetch as a voter, register a broker, unregister
one. Kafka is the same on a listener without authentication. No peer can break the node, use up its
epochs, make it accept records that are in no log, or delay its clients.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from barnabas.api.controller_handlers import CONTROLLER_HANDLERS
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import METADATA_TOPIC_ID, ZERO_UUID, Uuid
from barnabas.testing import EmbeddedBroker
from barnabas.wire.apis import ApiKey, stable_versions
from barnabas.wire.messages import begin_quorum_epoch as begin, end_quorum_epoch as end, fetch, fetch_snapshot, vote
from barnabas.wire.messages.add_raft_voter import AddRaftVoterRequest, Listener
from barnabas.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest
from barnabas.wire.messages.alter_partition import AlterPartitionRequest, TopicData as ChangedTopic
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from barnabas.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from barnabas.wire.messages.envelope import EnvelopeRequest
from tests.hostile.conftest import GROWTH_BYTES_MAX, Victim
from tests.hostile.controller_fuzzer import METADATA, ControllerFuzzer, controller_victim, quorum_of
from tests.hostile.fuzzer import Vocabulary, make_frame
from tests.scenarios.client import Client, HungUp, frame_of
from tests.waiting import until

SHORT_FRAMES = 1_200
LONG_FRAMES_PER_API = 20_000
INT32_MAX, INT64_MAX = 2**31 - 1, 2**63 - 1
STRANGER = 77


class Controller:
    """The attacked node, and its two listeners."""

    def __init__(self, kafka: EmbeddedBroker, door: str) -> None:
        self.kafka = kafka
        self.door = door

    def ask(self, request: Any, version: int | None = None) -> Any:
        with Client(self.door) as client:
            return client.ask(request, version)

    @property
    def epoch(self) -> int:
        return quorum_of(self.door).leader_epoch

    def serves(self) -> None:
        """It still has its old records, and accepts new ones."""
        with Client(self.kafka.bootstrap) as client:
            assert client.values("t")[0] == b"kept through everything"
            client.create_topic(f"new-{random.randrange(1 << 40)}")
        assert self.kafka.complaints == ""


@pytest.fixture(scope="module")
def attacked() -> Iterator[Controller]:
    kafka, door = controller_victim()
    with kafka:
        with Client(kafka.bootstrap) as client:
            client.create_topic("t")
            client.produce("t", [b"kept through everything"])
        yield Controller(kafka, door)


@pytest.fixture
def controller(attacked: Controller) -> Iterator[Controller]:
    victim = Victim(attacked.kafka)
    victim.forget_peak()
    before = victim.memory_bytes()
    yield attacked
    attacked.serves()
    assert victim.memory_bytes("VmHWM") - before < GROWTH_BYTES_MAX


# -- epochs


def a_vote(epoch: int, *, pre_vote: bool = False) -> vote.VoteRequest:
    partition = vote.PartitionData(
        partition_index=0, replica_epoch=epoch, replica_id=STRANGER, last_offset_epoch=0, last_offset=0, pre_vote=pre_vote
    )
    return vote.VoteRequest(cluster_id=None, voter_id=1, topics=[vote.TopicData(topic_name=METADATA, partitions=[partition])])


def a_beginning(epoch: int, host: str = "127.0.0.1") -> begin.BeginQuorumEpochRequest:
    partition = begin.PartitionData(partition_index=0, leader_id=STRANGER, leader_epoch=epoch)
    return begin.BeginQuorumEpochRequest(
        cluster_id=None,
        voter_id=1,
        topics=[begin.TopicData(topic_name=METADATA, partitions=[partition])],
        leader_endpoints=[begin.LeaderEndpoint(name="CONTROLLER", host=host, port=1)],
    )


def an_end(epoch: int) -> end.EndQuorumEpochRequest:
    partition = end.PartitionData(
        partition_index=0, leader_id=STRANGER, leader_epoch=epoch, preferred_candidates=[end.ReplicaInfo(candidate_id=1)] * 1000
    )
    return end.EndQuorumEpochRequest(cluster_id=None, topics=[end.TopicData(topic_name=METADATA, partitions=[partition])])


@pytest.mark.parametrize("epoch", [INT32_MAX, INT32_MAX - 1, 2**30, -(2**31)])
@pytest.mark.parametrize("say", [a_vote, a_beginning, an_end], ids=["vote", "begin", "end"])
def test_an_impossible_epoch_uses_up_no_epoch(controller: Controller, say: Any, epoch: int) -> None:
    before = controller.epoch
    answer = controller.ask(say(epoch)).topics[0].partitions[0]
    assert answer.error_code in (ErrorCode.INVALID_REQUEST, ErrorCode.FENCED_LEADER_EPOCH)
    assert controller.epoch == before


def test_a_node_keeps_serving_while_a_stranger_calls_elections(controller: Controller) -> None:
    """A lone voter knows no other log, so it steps down as Raft demands, and elects itself again at
    once.
    """
    for _ in range(20):
        controller.ask(a_vote(controller.epoch + 1))
    controller.serves()


@pytest.mark.parametrize("host", ["127.0.0.1", "", "nul\x00", "x" * 300, "\N{SNOWMAN}" * 80, "256.256.1.1"])
def test_a_node_keeps_serving_after_a_stranger_claims_leadership(controller: Controller, host: str) -> None:
    controller.ask(a_beginning(controller.epoch + 1, host))
    controller.serves()


# -- the metadata log


def a_fetch(epoch: int, **fields: Any) -> fetch.FetchRequest:
    given: dict[str, Any] = {"fetch_offset": 0, "last_fetched_epoch": 0, "partition_max_bytes": 1000, **fields}
    partition = fetch.FetchPartition(partition=0, current_leader_epoch=epoch, **given)
    return fetch.FetchRequest(
        cluster_id=None,
        replica_state=fetch.ReplicaState(replica_id=STRANGER),
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=INT32_MAX,
        topics=[fetch.FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=[partition])],
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"fetch_offset": INT64_MAX},
        {"fetch_offset": -(2**63)},
        {"last_fetched_epoch": INT32_MAX},
        {"partition_max_bytes": -(2**31)},
        {"partition_max_bytes": INT32_MAX},
        {"log_start_offset": INT64_MAX, "high_watermark": INT64_MAX},
    ],
    ids=str,
)
def test_a_fetch_of_the_metadata_log_with_extreme_values_is_answered(controller: Controller, fields: dict[str, int]) -> None:
    controller.ask(a_fetch(controller.epoch, **fields))


def test_a_fetch_of_the_metadata_log_is_answered_in_every_version(controller: Controller) -> None:
    """The oldest versions lack fields that a replica needs, and cannot name the leader."""
    epoch = controller.epoch
    for version in stable_versions(ApiKey.FETCH).all():
        topic = fetch.FetchTopic(partitions=[fetch.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)])
        request = fetch.FetchRequest(max_wait_ms=0, min_bytes=0, topics=[topic])
        if version < 13:
            topic.topic = METADATA
        else:
            topic.topic_id = METADATA_TOPIC_ID
        if version < 15:
            request.replica_id = STRANGER
        else:
            request.replica_state = fetch.ReplicaState(replica_id=STRANGER)
        if version >= 9:
            topic.partitions[0].current_leader_epoch = epoch
        (told,) = controller.ask(request, version).responses[0].partitions
        assert told.error_code == (ErrorCode.INVALID_REQUEST if version < 12 else told.error_code)


def test_a_snapshot_position_outside_the_file_is_refused(controller: Controller) -> None:
    with Client(controller.kafka.bootstrap) as client:
        for number in range(40):
            client.create_topic(f"snapshotted-{number}")

    def ask(offset: int, epoch: int, position: int, size: int) -> int:
        partition = fetch_snapshot.PartitionSnapshot(
            partition=0,
            current_leader_epoch=controller.epoch,
            snapshot_id=fetch_snapshot.SnapshotId(end_offset=offset, epoch=epoch),
            position=position,
        )
        topic = fetch_snapshot.TopicSnapshot(name=METADATA, partitions=[partition])
        request = fetch_snapshot.FetchSnapshotRequest(cluster_id=None, replica_id=STRANGER, max_bytes=size, topics=[topic])
        code: int = controller.ask(request).topics[0].partitions[0].error_code
        return code

    def served() -> tuple[int, int] | None:
        """The newest snapshot, once it is no longer only a file."""
        found = sorted(Path(controller.kafka.data_dir, f"{METADATA}-0").glob("0*.checkpoint"))
        if not found:
            return None
        offset, epoch = map(int, found[-1].stem.split("-"))
        return (offset, epoch) if ask(offset, epoch, 0, 1) == ErrorCode.NONE else None

    offset, epoch = until(served, "a snapshot is served")
    places = ((0, INT32_MAX), (0, 1), (2**40, 1000), (2**62, INT32_MAX), (INT64_MAX, INT32_MAX), (-1, 100), (0, -1), (0, 0))
    codes = [ask(offset, epoch, position, size) for position, size in places]
    assert codes[:2] == [ErrorCode.NONE] * 2
    assert set(codes[2:]) == {ErrorCode.POSITION_OUT_OF_RANGE}


def test_a_request_with_another_cluster_id_is_refused(controller: Controller) -> None:
    for request in (a_vote(5), a_beginning(5), an_end(5), a_fetch(5)):
        request.cluster_id = "another"
        assert controller.ask(request).error_code == ErrorCode.INCONSISTENT_CLUSTER_ID


# -- the controller


@pytest.mark.parametrize("epoch", [-1, 0, INT64_MAX, -(2**63)])
def test_a_request_with_another_broker_epoch_is_refused(controller: Controller, epoch: int) -> None:
    for request in (
        BrokerHeartbeatRequest(broker_id=1, broker_epoch=epoch, current_metadata_offset=INT64_MAX, want_fence=True, want_shut_down=True),
        # Without topics it succeeds with any epoch, as in Kafka.
        AlterPartitionRequest(broker_id=1, broker_epoch=epoch, topics=[ChangedTopic(topic_id=ZERO_UUID, partitions=[])]),
        AllocateProducerIdsRequest(broker_id=1, broker_epoch=epoch),
    ):
        assert controller.ask(request).error_code == ErrorCode.STALE_BROKER_EPOCH


def _envelope(inside: bytes, principal: bytes = b"\x00\x00\x05User\x02x\x00\x00", address: bytes = bytes(4)) -> EnvelopeRequest:
    return EnvelopeRequest(request_data=inside, request_principal=principal, client_host_address=address)


def test_an_envelope_with_an_invalid_request_is_refused(controller: Controller) -> None:
    elect = ElectLeadersRequest(election_type=0, topic_partitions=[TopicPartitions(topic="t", partitions=[0])], timeout_ms=0)
    good = frame_of(elect, 2)[4:]
    insides = [
        b"",
        b"\x00",
        good[:9],
        good[:-1],
        good + b"x",
        bytes(100),
        random.Random(1).randbytes(300),
        good[:2] + b"\x00\x63" + good[4:],
    ]
    # Requests that are never forwarded.
    insides += [frame_of(a_vote(9), 2)[4:], frame_of(_envelope(good), 0)[4:]]
    for inside in insides:
        controller.ask(_envelope(inside))
    for principal in (b"", b"\x00", b"\x00\x01", b"\x00\x00\xff\xff\xff\xff\x0f", random.Random(2).randbytes(40)):
        assert controller.ask(_envelope(good, principal)).error_code == ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE
    for address in (b"", b"\x01", bytes(5), bytes(17), bytes(100_000)):
        assert controller.ask(_envelope(good, address=address)).error_code == ErrorCode.INVALID_REQUEST
    assert controller.ask(_envelope(good)).error_code == ErrorCode.NONE


def test_a_voter_with_an_invalid_address_is_refused(controller: Controller) -> None:
    for host in ("", "nul\x00", "x" * 70, "x" * 30_000):
        listeners = [Listener(name="CONTROLLER", host=host, port=0)] * 100
        request = AddRaftVoterRequest(
            cluster_id=None, timeout_ms=INT32_MAX, voter_id=9, voter_directory_id=Uuid(b"d" * 16), listeners=listeners
        )
        assert controller.ask(request).error_code != ErrorCode.NONE


def test_long_lists_and_repeated_entries_are_answered(controller: Controller) -> None:
    topics = [TopicPartitions(topic="t", partitions=[0, -1, INT32_MAX] * 1000)] * 3
    answer = controller.ask(ElectLeadersRequest(election_type=0, topic_partitions=topics, timeout_ms=0))
    assert sum(len(each.partition_result) for each in answer.replica_election_results) == 9000


def test_truncated_frames_close_the_connection(controller: Controller) -> None:
    whole = frame_of(a_vote(1), 2)
    for cut in range(4, len(whole) - 1, 3):
        with Client(controller.door) as client:
            client.send_bytes(struct.pack(">i", cut - 4) + whole[4:cut])
            with pytest.raises(HungUp):
                client.receive_frame()
    for cut in range(1, len(whole), 5):
        with Client(controller.door) as client:
            client.send_bytes(whole[:cut])


# -- random frames


@contextmanager
def fuzzed(seed: int, keys: tuple[ApiKey, ...], frames: int) -> Iterator[tuple[EmbeddedBroker, ControllerFuzzer]]:
    kafka, door = controller_victim()
    with kafka:
        fuzzer = ControllerFuzzer(kafka, door, seed, keys)
        victim = Victim(kafka)
        before = victim.memory_bytes()
        fuzzer.run(0, frames)
        assert victim.memory_bytes("VmHWM") - before < GROWTH_BYTES_MAX, f"seed {seed}"
        yield kafka, fuzzer


def test_mutated_frames_of_every_api_leave_the_controller_active_and_its_log_readable() -> None:
    with fuzzed(20_261_116, tuple(CONTROLLER_HANDLERS), SHORT_FRAMES) as (kafka, fuzzer):
        assert fuzzer.outcomes["answered"] > SHORT_FRAMES / 4
        assert fuzzer.outcomes["silence"] < SHORT_FRAMES / 50
        kafka.kill()
        kafka.start()
        with Client(kafka.bootstrap) as client:
            client.create_topic("after-all-that")
        assert kafka.complaints == ""


def test_the_short_run_covers_every_api_of_controllers() -> None:
    frames = (make_frame(20_261_116, index, Vocabulary(), tuple(CONTROLLER_HANDLERS)) for index in range(SHORT_FRAMES))
    assert {frame.what.split()[0] for frame in frames} == {key.api_name for key in CONTROLLER_HANDLERS}


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("key", sorted(CONTROLLER_HANDLERS), ids=lambda key: key.name.lower())
def test_many_frames_of_one_controller_api_leave_the_node_serving(key: ApiKey) -> None:
    seed = random.SystemRandom().randrange(1 << 30)
    with fuzzed(seed, (key,), LONG_FRAMES_PER_API):
        pass

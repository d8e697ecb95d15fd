"""Hostile peers of the cores: a voter with random requests and responses, a follower of a lying
leader, a controller with random requests. No core raises, and committed records stay committed.

Thousands of steps, no sockets: the tests drive the state machines directly, with messages made by
the fuzzer from their declarations.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from barnabas.api.controller_handlers import CONTROLLER_HANDLERS
from barnabas.controller.error_responses import error_response
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import METADATA_TOPIC_ID, LeaderEpoch, NodeId, Uuid
from barnabas.quorum.core.effects import Flush, InstallSnapshot, Reply, ReplyWithRecords, ReplyWithSnapshot, Send, Truncate
from barnabas.quorum.core.events import Flushed, SnapshotInstalled, SnapshotRefused, Tick, Truncated
from barnabas.quorum.core.quorum_state import QuorumState
from barnabas.quorum.core.settings import EPOCH_ACCEPTED_MAX
from barnabas.records.batch_header import assign_offset, seal
from barnabas.records.control_batch import ControlType
from barnabas.wire.apis import ApiKey, messages, stable_versions
from barnabas.wire.compiler import encode
from barnabas.wire.declare import declaration_of
from barnabas.wire.messages.broker_registration import BrokerRegistrationRequest, Feature, Listener
from tests.hostile.controller_fuzzer import METADATA
from tests.hostile.fuzzer import Maker, Vocabulary
from tests.unit.controller.core.deciding import CLUSTER_ID, Office
from tests.unit.metadata.made import topic
from tests.unit.quorum.core.made import CLUSTER, OneOfThree, batch_at, key, log_of
from tests.unit.records.made import with_header
from tests.unit.replication.made import NOW_MS, TOPIC_ID
from tests.unit.replication.test_follower_fetch import Follower
from tests.unit.storage.logs import data, marker

STEPS = 1500
LONG_FACTOR = 200
_EXTREMES_32 = (2**31 - 1, 2**31 - 2, -1, -(2**31), 2**24)
_EXTREMES_64 = (2**63 - 1, 2**63 - 2, -1, -(2**63), 2**40)


def newest(message: Any) -> int:
    api_key = declaration_of(type(message)).key
    assert api_key is not None
    return stable_versions(ApiKey(api_key)).highest


# -- the quorum

_ASKED_OF_QUORUMS = (
    ApiKey.VOTE,
    ApiKey.BEGIN_QUORUM_EPOCH,
    ApiKey.END_QUORUM_EPOCH,
    ApiKey.FETCH,
    ApiKey.FETCH_SNAPSHOT,
    ApiKey.ADD_RAFT_VOTER,
    ApiKey.REMOVE_RAFT_VOTER,
    ApiKey.UPDATE_RAFT_VOTER,
)


class Quarrel:
    """One voter of three; the other two send random messages."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.node = OneOfThree(state=QuorumState(LeaderEpoch(5), leader_id=NodeId(2)), log=log_of((3, 0), (5, 7), end=9))
        self.words = Vocabulary(topic_ids=[bytes(METADATA_TOPIC_ID)], single=frozenset({"topics", "responses", "partitions"}))
        self.maker = Maker(self.chance, self.words)
        self.sent: list[Send] = []
        self.committed = 0
        self.versions: dict[int, int] = {}  # of the requests, by token

    def turn(self) -> None:
        chance, node = self.chance, self.node
        self._learn()
        match chance.randrange(4):
            case 0:
                request_key = chance.choice(_ASKED_OF_QUORUMS)
                version = chance.choice(stable_versions(request_key).all())
                self.versions[node.last_token + 1] = version
                node.ask(self.maker.message(messages(request_key)[0], version), version)
            case 1 if self.sent:
                send = self.sent.pop(chance.randrange(len(self.sent)))
                node.answer(send, self._answer_to(send.request))
            case 2:
                node.wait() if node.core.deadline_ms < 1 << 60 else node.step(Tick(), after_ms=100)
            case _:
                node.step(Tick(), after_ms=chance.randrange(50))
        self._perform()
        self._check()

    def _answer_to(self, request: Any) -> Any:
        """Mostly a response of the right kind; a peer's connection lets no other through."""
        if self.chance.random() < 0.1:
            return self.chance.choice((ErrorCode.NETWORK_EXCEPTION, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.UNSUPPORTED_VERSION))
        api_key = declaration_of(type(request)).key
        assert api_key is not None
        response = messages(ApiKey(api_key))[1]
        answer = self.maker.message(response, stable_versions(ApiKey(api_key)).highest)
        if ApiKey(api_key) is ApiKey.FETCH and answer.responses and answer.responses[0].partitions:
            end = self.node.core.log_end_offset
            answer.responses[0].partitions[0].records = self.chance.choice(
                (b"", batch_at(end, self.node.core.epoch), batch_at(end + 1, 1), self.maker._records(), self._twisted(end))
            )
        return answer

    def _twisted(self, end: int) -> bytes:
        """A batch with a valid checksum and a false header."""
        field = self.chance.choice(("record_count", "last_offset_delta", "attributes", "producer_id", "base_sequence", "max_timestamp"))
        batch = with_header(bytearray(batch_at(end, self.node.core.epoch)), **{field: self.chance.choice((-1, 0, 1, 0x20, 2**15 - 1))})
        seal(batch)
        return bytes(batch)

    def _perform(self) -> None:
        effects = list(self.node.effects)
        while effects:
            effect = effects.pop(0)
            match effect:
                case Send():
                    encode(effect.request, newest(effect.request))
                    self.sent = [*self.sent[-20:], effect]
                case Reply(token, response) | ReplyWithRecords(token, response) | ReplyWithSnapshot(token, response):
                    encode(response, self.versions.pop(token))
                case Truncate(end_offset):
                    assert end_offset >= self.committed
                    effects += self.node.step(Truncated(end_offset))
                case InstallSnapshot(snapshot):
                    assert snapshot.offset > self.committed
                    installed = self.chance.random() < 0.3 and snapshot.offset < 2**40
                    effects += self.node.step(SnapshotInstalled(snapshot, []) if installed else SnapshotRefused(snapshot))
                case Flush(end_offset, generation):
                    effects += self.node.step(Flushed(min(end_offset, self.node.core.log_end_offset), generation))

    def _check(self) -> None:
        core = self.node.core
        assert core.high_watermark >= self.committed
        assert core.log_end_offset >= core.high_watermark
        assert core.epoch < EPOCH_ACCEPTED_MAX + 2**20
        self.committed = core.high_watermark

    def _learn(self) -> None:
        core = self.node.core
        epoch, end = core.epoch, core.log_end_offset
        epochs = (epoch, epoch, epoch, epoch, epoch + 1, epoch - 1, *_EXTREMES_32)
        offsets = (end, end, end, 0, end - 1, end + 1, *_EXTREMES_64)
        self.words.likely = {
            "cluster_id": (CLUSTER,) * 8 + ("another",),
            **dict.fromkeys(("topic_name", "topic", "name"), (METADATA,) * 8 + ("CONTROLLER", "CONTROLLER", "t")),
            **dict.fromkeys(("partition_index", "partition", "index"), (0,) * 8 + (1, -1)),
            **dict.fromkeys(("voter_id", "replica_id", "leader_id", "candidate_id", "node_id"), (1, 2, 2, 3, 3, 9, *_EXTREMES_32)),
            **dict.fromkeys(("replica_epoch", "leader_epoch", "current_leader_epoch", "epoch"), epochs),
            **dict.fromkeys(("last_fetched_epoch", "last_offset_epoch"), (core.quorum.log.last_epoch,) * 4 + epochs),
            **dict.fromkeys(("fetch_offset", "last_offset", "end_offset", "high_watermark", "log_start_offset"), offsets),
            **dict.fromkeys(("position", "size"), (0, 0, 0, 10, 300, *_EXTREMES_64)),
            "error_code": (0,) * 12 + (3, 6, 41, 42, 74, 75, 76, 98, 99, 100, 127, -1, 999),
            "host": ("n2", "n3", "", "nul\x00", "x" * 300),
            **dict.fromkeys(
                ("voter_directory_id", "replica_directory_id", "candidate_directory_id"),
                (bytes(16), key(1).directory_id, key(2).directory_id),
            ),
        }


def quarrel(seed: int, steps: int) -> Quarrel:
    made = Quarrel(seed)
    for _ in range(steps):
        made.turn()
    return made


@pytest.mark.parametrize("seed", range(6))
def test_a_voter_among_lying_peers_never_raises_and_keeps_committed_records(seed: int) -> None:
    quarrel(seed, STEPS)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_a_voter_among_lying_peers_never_raises_in_many_runs() -> None:
    seed = random.SystemRandom().randrange(1 << 30)
    for offset in range(LONG_FACTOR):
        quarrel(seed + offset, STEPS)


# -- a follower of partitions


def mislead(seed: int, steps: int) -> None:
    """A follower whose leader sends any response."""
    chance = random.Random(seed)
    words = Vocabulary(topic_ids=[bytes(TOPIC_ID)], single=frozenset({"topics", "responses", "partitions"}))
    maker = Maker(chance, words)
    follower = Follower(1, 1, 2, 3)
    now_ms, silent = 0, 0
    for _ in range(steps):
        end, start = follower.end, follower.partition.log.log_start_offset
        offsets = (end, end, end - 1, end + 1, 0, 0, *_EXTREMES_64)
        words.likely = {
            "topic_id": (bytes(TOPIC_ID),) * 8,
            **dict.fromkeys(("topic", "name"), ("t",) * 8),
            **dict.fromkeys(("partition_index", "partition"), (0,) * 8 + (1, -1)),
            "error_code": (0,) * 20 + (1, 6, 74, 75, 76, 100, -1, 999),
            **dict.fromkeys(("epoch", "leader_epoch"), (-1,) * 12 + (0, 1, 2, 3, 4, *_EXTREMES_32)),
            **dict.fromkeys(("end_offset", "offset", "high_watermark", "log_start_offset", "last_stable_offset"), offsets),
        }
        request = follower.asks(now_ms)
        if request is None:
            now_ms += 1000
            silent += 1
            assert silent < steps, "it was given up"
            continue
        encode(request, newest(request))
        api_key = declaration_of(type(request)).key
        assert api_key is not None
        response = maker.message(messages(ApiKey(api_key))[1], stable_versions(ApiKey(api_key)).highest)
        for each in getattr(response, "responses", ()):
            for told in each.partitions:
                told.records = chance.choice((b"", None, _sent_by_a_liar(chance, end), maker._records()))
        if chance.random() < 0.1:
            response = chance.choice((ErrorCode.NETWORK_EXCEPTION, response))
        follower.core.answered(response, now_ms, wall_ms=NOW_MS)
        for each in list(follower.core):
            if each.failed:
                # Fenced, until the metadata changes that, as it does here.
                follower.core.forget(follower.partition)
                follower.core.follow(follower.partition)
        partition = follower.partition
        assert partition.log.log_start_offset <= partition.log.log_end_offset < 2**63
        assert partition.high_watermark <= partition.log.log_end_offset
        if partition.log.log_end_offset > 2**62 or start > 2**40:
            return  # the follower is at an offset that no log reaches: the test ends here
    assert follower.world.failures == []


def _sent_by_a_liar(chance: random.Random, end: int) -> bytes:
    batch = chance.choice(
        (lambda: data(), lambda: marker(7, ControlType.COMMIT), lambda: data(), lambda: bytearray(batch_at(0, 0, b"a", b"b")))
    )()
    if chance.random() < 0.5:
        field = chance.choice(
            ("record_count", "last_offset_delta", "attributes", "producer_id", "producer_epoch", "base_sequence", "max_timestamp")
        )
        batch = with_header(batch, **{field: chance.choice((-1, 0, 1, 0x20, 0x30, 2**15 - 1))})
    if chance.random() < 0.2:
        batch[chance.randrange(61, len(batch))] ^= 0x55
    assign_offset(
        batch,
        min(2**63 - 1, max(0, end + chance.choice((0, 0, 0, 0, 1, -1, 5, 2**33, 2**63 - 3 - end)))),
        chance.choice((3, 3, 3, 2, 4, -1)),
    )
    if chance.random() < 0.8:
        seal(batch)
    return bytes(batch[: chance.choice((len(batch), len(batch), len(batch), 60, 70))])


@pytest.mark.parametrize("seed", range(12))
def test_a_follower_of_a_lying_leader_never_raises_and_drops_no_partition(seed: int) -> None:
    mislead(seed, 150)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_a_follower_of_a_lying_leader_never_raises_in_many_runs() -> None:
    seed = random.SystemRandom().randrange(1 << 30)
    for offset in range(LONG_FACTOR * 10):
        mislead(seed + offset, 150)


# -- the controller

_NOT_DECIDED = (
    ApiKey.API_VERSIONS,
    ApiKey.DESCRIBE_ACLS,
    ApiKey.DESCRIBE_CONFIGS,
    ApiKey.DESCRIBE_QUORUM,
    ApiKey.DESCRIBE_CLUSTER,
    ApiKey.DESCRIBE_DELEGATION_TOKEN,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
    ApiKey.ENVELOPE,
    ApiKey.SASL_AUTHENTICATE,
    ApiKey.SASL_HANDSHAKE,
    *_ASKED_OF_QUORUMS,
)
# Responses that the handler changes for requests of older versions than these.
_AS_DECIDED_FROM = {ApiKey.ELECT_LEADERS: 1, ApiKey.CREATE_DELEGATION_TOKEN: 3}
_DECIDED = tuple(each for each in CONTROLLER_HANDLERS if each not in _NOT_DECIDED)


def pester(seed: int, steps: int) -> None:
    """A controller with random requests from random peers."""
    chance = random.Random(seed)
    office = Office(topic(1, "fuzz-a", [1, 2]), seed=seed)
    for broker in (1, 2, 3):
        office.ask(_registration(office, broker))
    words = Vocabulary(topic_ids=[])
    maker = Maker(chance, words)
    for _ in range(steps):
        brokers = office.image.cluster.brokers
        words.topic_ids = [bytes(each) for each in office.image.topics.by_id][:4]
        partitions = [each for topic_ in office.image.topics.by_id.values() for each in topic_.partitions.values()][:8]
        words.likely = {
            "cluster_id": (CLUSTER_ID,) * 5 + ("",),
            **dict.fromkeys(("name", "topic", "topic_name"), (*office.image.topics.by_name, "metadata.version", "PLAINTEXT")[:6]),
            **dict.fromkeys(("broker_id", "replicas", "broker_ids", "new_isr"), (1, 2, 3, 1, 2, 3, 9, *_EXTREMES_32)),
            "broker_epoch": (*(each.epoch for each in brokers.values()), -1, 2**63 - 1),
            **dict.fromkeys(("leader_epoch",), (*(each.leader_epoch for each in partitions), *_EXTREMES_32)),
            **dict.fromkeys(("partition_epoch",), (*(each.partition_epoch for each in partitions), *_EXTREMES_32)),
            **dict.fromkeys(("partition_index", "partition_id", "partitions", "partition_indexes"), (0, 0, 1, -1, 2**31 - 1)),
            "current_metadata_offset": (office.next_offset, *_EXTREMES_64),
            "num_partitions": (1, 2, -1, 0),
            "count": (1, 2, 3),
            "replication_factor": (1, 2, -1, 3, 32767),
            **dict.fromkeys(
                ("log_dirs", "offline_log_dirs", "cordoned_log_dirs", "id"),
                (*(each for broker in brokers.values() for each in broker.directories), bytes(16), bytes(15) + b"\x01")[:8],
            ),
            "port": (9092,),
        }
        request_key = chance.choice(_DECIDED)
        version = chance.choice(stable_versions(request_key).all())
        request = maker.message(messages(request_key)[0], version)
        response = office.ask(request)
        if version >= _AS_DECIDED_FROM.get(request_key, 0):
            encode(response, version)
        encode(error_response(request, ErrorCode.NOT_CONTROLLER, version=version), version)
        if chance.random() < 0.05:
            office.wait(chance.choice((10, 1000, 10_000)))


def _registration(office: Office, broker_id: int) -> BrokerRegistrationRequest:
    levels = office.image.features.levels
    return BrokerRegistrationRequest(
        broker_id=broker_id,
        cluster_id=CLUSTER_ID,
        incarnation_id=Uuid(bytes([broker_id]) * 16),
        listeners=[Listener(name="PLAINTEXT", host="localhost", port=9000 + broker_id, security_protocol=0)],
        features=[Feature(name=name, min_supported_version=level, max_supported_version=level) for name, level in levels.items()],
        rack=None,
        log_dirs=[Uuid(bytes([100 + broker_id]) * 16)],
    )


@pytest.mark.parametrize("seed", range(6))
def test_a_controller_with_random_requests_never_raises(seed: int) -> None:
    pester(seed, 400)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_a_controller_with_random_requests_never_raises_in_many_runs() -> None:
    seed = random.SystemRandom().randrange(1 << 30)
    for offset in range(LONG_FACTOR):
        pester(seed + offset, 400)

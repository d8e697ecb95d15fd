"""The shortcut serves a commit that repeats the previous one, with the same response and the same
log as the normal way.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from copy import copy
from types import SimpleNamespace
from typing import Any, cast

import pytest

from barnabas.api.broker import Broker
from barnabas.api.broker_apis import offset_commit
from barnabas.api.commit_shortcut import REMEMBERED_PARTITIONS_MAX, CommitShortcut
from barnabas.api.dispatch import Dispatch
from barnabas.coordinators.coordinator import Coordinator
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.network.connection import LATER, Connection
from barnabas.security.principal import ANONYMOUS
from barnabas.security.quotas.client_quotas import ClientQuotas
from barnabas.telemetry.metrics import Metrics
from barnabas.wire.apis import ApiKey
from barnabas.wire.compiler import decode, encoder
from barnabas.wire.headers import RequestHeader, request_header_version
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from barnabas.wire.messages.offset_fetch import OffsetFetchRequestGroup
from barnabas.wire.metadata_records import RemoveTopicRecord
from tests.unit.api.open_access import OPEN_ACCESS
from tests.unit.coordinators.classic.test_classic_groups import GROUP, join, stable_group, subscription
from tests.unit.coordinators.desk import Desk
from tests.unit.metadata.made import after, topic, uuid

VERSION = 9
TOPICS = [*topic(1, "t", [1], [1]), *topic(2, "another", [1])]


class Broken(Exception):
    """A handler raised, so there is no response."""


class Client:
    """One connection to a coordinator with one shard. A turn of the loop ends with each request,
    unless it is sent with :meth:`submit`."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.connection = self._connection()
        self._at_turns_end: list[Callable[[], None]] = []
        clock = SimpleNamespace(wall_ms=lambda: desk.now_ms)
        metadata = SimpleNamespace()
        # The parts of a broker that OffsetCommit needs.
        self.broker = SimpleNamespace(
            groups=Coordinator("__consumer_offsets", desk.runtime, cast(Any, clock), lambda: 1),
            metadata=metadata,
            access=OPEN_ACCESS,
            metrics=Metrics(),
            client_quotas=ClientQuotas(),
            log=SimpleNamespace(error=lambda *_, **__: None),
            loop=SimpleNamespace(call_soon=self._at_turns_end.append),
        )
        self.image = after(TOPICS)
        self._dispatch = Dispatch(cast(Broker, self.broker), {ApiKey.OFFSET_COMMIT: offset_commit.handle})
        self._correlation_id = 0

    @property
    def image(self) -> MetadataImage:
        return cast(MetadataImage, self.broker.metadata.image)

    @image.setter
    def image(self, image: MetadataImage) -> None:
        self.broker.metadata.image = image

    def another_connection(self) -> Client:
        """A connection to the same broker, in the same turns."""
        other = copy(self)
        other.connection = self._connection()
        return other

    def _connection(self) -> SimpleNamespace:
        replies: list[Any] = []
        return SimpleNamespace(
            shortcut=None, peer_address=("", 0), principal=ANONYMOUS, close=self._closed, replies=replies, answer=replies.append
        )

    def _closed(self) -> None:
        raise Broken

    def end_turn(self) -> None:
        while self._at_turns_end:
            self._at_turns_end.pop(0)()

    @property
    def memo(self) -> CommitShortcut:
        assert isinstance(self.connection.shortcut, CommitShortcut)
        return self.connection.shortcut

    def send(self, request: OffsetCommitRequest, version: int = VERSION, *, forgetful: bool = False) -> Promise[OffsetCommitResponse]:
        self.submit(request, version, forgetful=forgetful)
        expected = self._correlation_id.to_bytes(4, "big")
        self.end_turn()
        reply = self.connection.replies.pop()

        def read(frame: Any) -> OffsetCommitResponse:
            data = bytes(frame)
            assert int.from_bytes(data[:4], "big") == len(data) - 4
            assert data[4:8] == expected
            answer, end = decode(OffsetCommitResponse, version, data, 9 if version >= 8 else 8)
            assert end == len(data)
            return answer

        return reply.map(read) if isinstance(reply, Promise) else Promise.kept(read(reply))

    def submit(self, request: OffsetCommitRequest, version: int = VERSION, *, forgetful: bool = False) -> None:
        """The reply goes to the connection, now or at the end of the turn."""
        self._correlation_id += 1
        if forgetful:
            self.connection.shortcut = None
        reply = self._dispatch.serve(cast(Connection, self.connection), memoryview(frame_of(request, version, self._correlation_id)))
        assert reply is not None
        if reply is not LATER:
            self.connection.answer(reply)

    def commit(self, offset: int, **asked: Any) -> ErrorCode:
        (found,) = self.send(commit_of(offset, **asked)).value.topics
        return ErrorCode(found.partitions[0].error_code)

    def is_repeated(self, request: OffsetCommitRequest) -> bool:
        """Whether the shortcut serves the frame."""
        served = self.memo.serve(cast(Connection, self.connection), memoryview(frame_of(request, VERSION, 1))) is not None
        self.end_turn()
        return served

    def committed(self) -> list[tuple[str, int, int]]:
        """Topic, partition and offset of all commits so far."""
        records = [record for record in self.desk.records() if hasattr(record.key, "topic")]
        return [(record.key.topic, record.key.partition, record.value.offset) for record in records if record.value is not None]


def commit_of(
    offset: int,
    *,
    name: str = "t",
    number: int = 1,
    partition: int = 0,
    metadata: str | None = "",
    leader_epoch: int = 3,
    group: str = GROUP,
    **who: Any,
) -> OffsetCommitRequest:
    return OffsetCommitRequest(
        group_id=group,
        member_id=who.pop("member_id", ""),
        topics=[
            OffsetCommitRequestTopic(
                name=name,
                topic_id=uuid(number),
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=partition,
                        committed_offset=offset,
                        committed_leader_epoch=leader_epoch,
                        committed_metadata=metadata,
                    )
                ],
            )
        ],
        **who,
    )


def frame_of(request: OffsetCommitRequest, version: int, correlation_id: int) -> bytes:
    out = bytearray()
    header = RequestHeader(
        request_api_key=ApiKey.OFFSET_COMMIT, request_api_version=version, correlation_id=correlation_id, client_id="client"
    )
    encoder(RequestHeader, request_header_version(OffsetCommitRequest, version))(header, out)
    encoder(OffsetCommitRequest, version)(request, out)
    return bytes(out)


@pytest.fixture
def client() -> Client:
    return Client(Desk())


@pytest.mark.parametrize("version", range(2, 11))
def test_a_remembered_commit_gives_the_same_answers_and_the_same_log(version: int) -> None:
    chance = random.Random(version)
    with_memory, without = Client(Desk()), Client(Desk())
    names = [("t", 1, 0), ("t", 1, 1), ("another", 2, 0), ("t", 1, 7), ("unknown", 9, 0)]
    texts = ["", None, "where I was", "ä", "\x7f" * 5000, "\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x03"]
    for _ in range(300):
        name, number, partition = names[min(chance.randrange(12), len(names) - 1) if chance.random() < 0.5 else 0]
        asked: dict[str, Any] = {
            "name": name,
            "number": number,
            "partition": partition,
            "metadata": chance.choice(texts) if chance.random() < 0.3 else "",
            "leader_epoch": chance.choice([-1, 0, 3]),
        }
        offset = chance.choice([chance.randrange(1 << 40), 5, -1])
        answers = [each.send(commit_of(offset, **asked), version, forgetful=each is without).value for each in (with_memory, without)]
        assert answers[0] == answers[1]
        for each in (with_memory, without):
            each.desk.wait(7)
    assert with_memory.desk.log.batches == without.desk.log.batches
    assert with_memory.committed()


def test_a_repeated_commit_differs_only_in_offset_and_leader_epoch(client: Client) -> None:
    client.commit(5)
    assert client.is_repeated(commit_of(6, leader_epoch=4))
    assert not client.is_repeated(commit_of(6, metadata="other"))
    assert not client.is_repeated(commit_of(6, partition=1))
    assert not client.is_repeated(commit_of(6, group="other"))
    assert not client.is_repeated(commit_of(6, member_id="somebody"))
    assert not client.is_repeated(commit_of(6, generation_id_or_member_epoch=1))
    assert not client.is_repeated(commit_of(6, group_instance_id="i"))
    assert client.committed() == [("t", 0, 5), ("t", 0, 6)]


def test_several_partitions_are_remembered_up_to_a_limit(client: Client) -> None:
    client.commit(5)
    client.commit(5, partition=1)
    client.commit(5, name="another", number=2)
    assert client.is_repeated(commit_of(6))
    assert client.is_repeated(commit_of(7, partition=1))
    assert client.is_repeated(commit_of(8, name="another", number=2))
    for number in range(REMEMBERED_PARTITIONS_MAX):
        client.commit(1, group=f"group {number:04}")
    assert not client.is_repeated(commit_of(2, group=f"group {REMEMBERED_PARTITIONS_MAX - 1:04}"))
    assert client.is_repeated(commit_of(2, group="group 0000"))


def test_a_request_cut_off_where_it_was_remembered_is_not_taken_for_a_whole_one(client: Client) -> None:
    client.commit(5)
    whole = frame_of(commit_of(6), VERSION, 1)
    for size in range(len(whole)):
        assert client.memo.serve(cast(Connection, client.connection), memoryview(whole[:size])) is None
    assert client.memo.serve(cast(Connection, client.connection), memoryview(whole + b"\x00")) is None


def test_a_repeated_commit_is_answered_after_it_is_replicated(client: Client) -> None:
    client.commit(5)
    client.desk.log.lagging = True
    answers = [client.send(commit_of(offset)) for offset in (6, 7)]
    assert not any(answer.done for answer in answers)
    client.desk.log.catch_up()
    assert [answer.value.topics[0].partitions[0].error_code for answer in answers] == [ErrorCode.NONE] * 2
    assert client.committed() == [("t", 0, 5), ("t", 0, 6), ("t", 0, 7)]


def test_a_first_commit_is_remembered_before_it_is_replicated(client: Client) -> None:
    client.desk.log.lagging = True
    first = client.send(commit_of(5))
    client.desk.log.catch_up()
    assert first.done
    assert client.is_repeated(commit_of(6))


def test_a_waiting_commit_is_answered_not_coordinator_when_the_leader_resigns(client: Client) -> None:
    client.commit(5)
    client.desk.log.lagging = True
    answer = client.send(commit_of(6))
    client.desk.log.catch_up(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert answer.value.topics[0].partitions[0].error_code == ErrorCode.NOT_COORDINATOR


def test_a_commit_that_the_log_refuses_has_its_error(client: Client) -> None:
    client.commit(5)
    client.desk.log.refusal = ErrorCode.NOT_ENOUGH_REPLICAS
    assert client.commit(6) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    client.desk.log.refusal = ErrorCode.NONE
    assert client.commit(7) is ErrorCode.NONE
    assert client.committed() == [("t", 0, 5), ("t", 0, 7)]


def test_a_shard_that_is_unloaded_takes_no_repeated_commit_and_one_that_returns_does(client: Client) -> None:
    client.commit(5)
    client.desk.unload()
    assert client.commit(6) is ErrorCode.NOT_COORDINATOR
    client.desk.restart()
    assert client.commit(7) is ErrorCode.NONE
    assert client.committed() == [("t", 0, 5), ("t", 0, 7)]


def test_a_topic_that_is_deleted_and_created_again_is_another_topic(client: Client) -> None:
    client.commit(5)
    client.image = after([RemoveTopicRecord(topic_id=uuid(1))], client.image)
    assert client.commit(6) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    client.image = after(topic(3, "t", [1]), client.image)
    assert client.commit(7) is ErrorCode.NONE
    assert client.commit(8) is ErrorCode.NONE
    assert [record.value.topic_id for record in client.desk.records() if record.value is not None] == [uuid(1), uuid(3), uuid(3)]


def test_a_commit_without_a_member_is_refused_once_the_group_has_members(client: Client) -> None:
    client.commit(5)
    stable_group(client.desk, subscription("t"))
    assert client.commit(6) is ErrorCode.UNKNOWN_MEMBER_ID
    assert client.committed() == [("t", 0, 5)]


def test_a_member_is_refused_when_its_generation_is_over(client: Client) -> None:
    group = stable_group(client.desk, subscription("t"))
    (member_id,) = group.members
    me: dict[str, Any] = {"member_id": member_id, "group_instance_id": "i", "generation_id_or_member_epoch": group.generation}
    assert [client.commit(offset, **me) for offset in (5, 6)] == [ErrorCode.NONE] * 2
    joined = join(client.desk, subscription("t", "another"), member_id=member_id)
    assert joined.generation_id > me["generation_id_or_member_epoch"]
    assert client.commit(7, **me) is ErrorCode.ILLEGAL_GENERATION
    assert [offset for _, _, offset in client.committed()] == [5, 6]


def test_repeated_commits_keep_a_member_alive_as_heartbeats_do(client: Client) -> None:
    group = stable_group(client.desk, subscription("t"))
    (member_id,) = group.members
    me: dict[str, Any] = {"member_id": member_id, "group_instance_id": "i", "generation_id_or_member_epoch": group.generation}
    for offset in range(10):
        client.desk.wait(9_000)
        assert client.commit(offset, **me) is ErrorCode.NONE
    client.desk.wait(11_000)
    assert client.commit(11, **me) is not ErrorCode.NONE


def test_a_commit_of_which_the_handler_refused_a_part_is_not_remembered() -> None:
    client = Client(Desk())
    request = commit_of(5)
    request.topics += commit_of(1, partition=7).topics
    for _ in range(2):
        answered = client.send(request).value.topics
        outcomes = sorted(each.error_code for topic in answered for each in topic.partitions)
        assert outcomes == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_the_commits_of_one_turn_become_one_batch(client: Client) -> None:
    clients = [client, *(client.another_connection() for _ in range(3))]
    for number, each in enumerate(clients):
        each.commit(5, group=f"group {number}")
    batches = len(client.desk.log.batches)
    for number, each in enumerate(clients):
        each.submit(commit_of(6 + number, group=f"group {number}"))
    client.end_turn()
    assert len(client.desk.log.batches) == batches + 1
    assert client.committed()[-4:] == [("t", 0, offset) for offset in (6, 7, 8, 9)]
    assert all(len(each.connection.replies) == 1 for each in clients)


def test_commits_of_one_turn_are_replayed_as_they_are_read_back(client: Client) -> None:
    other = client.another_connection()
    client.commit(5)
    other.commit(5, partition=1, metadata="here")
    client.submit(commit_of(1 << 40))
    other.submit(commit_of(7, partition=1, metadata="here"))
    client.end_turn()
    everything = OffsetFetchRequestGroup(group_id=GROUP, topics=None)
    before = client.desk.machine.offsets.fetch(everything, require_stable=False).answer
    client.desk.restart()
    assert client.desk.machine.offsets.fetch(everything, require_stable=False).answer == before


def test_two_commits_of_a_partition_in_one_turn_are_both_written_in_order(client: Client) -> None:
    other = client.another_connection()
    client.commit(5)
    other.commit(5, partition=1)
    for submitted, offset, partition in ((client, 6, 0), (other, 7, 1), (client, 8, 0)):
        submitted.submit(commit_of(offset, partition=partition))
    client.end_turn()
    assert client.committed()[-3:] == [("t", 0, 6), ("t", 1, 7), ("t", 0, 8)]
    assert len(client.connection.replies) == 2


def test_a_commit_refused_within_a_turn_does_not_hinder_the_others(client: Client) -> None:
    other = client.another_connection()
    client.commit(5)
    other.commit(5, group="other")
    stable_group(client.desk, subscription("t"))
    client.submit(commit_of(6))
    other.submit(commit_of(7, group="other"))
    client.end_turn()
    assert client.committed()[-1] == ("t", 0, 7)
    answer, _ = decode(OffsetCommitResponse, VERSION, bytes(client.connection.replies[0]), 9)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_commits_that_the_log_refuses_are_refused_one_by_one(client: Client) -> None:
    other = client.another_connection()
    client.commit(5)
    other.commit(5, partition=1)
    client.desk.log.refusal = ErrorCode.NOT_ENOUGH_REPLICAS
    client.submit(commit_of(6))
    other.submit(commit_of(7, partition=1))
    client.end_turn()
    for each in (client, other):
        (reply,) = each.connection.replies
        answer, _ = decode(OffsetCommitResponse, VERSION, bytes(reply.value if isinstance(reply, Promise) else reply), 9)
        assert answer.topics[0].partitions[0].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert client.committed() == [("t", 0, 5), ("t", 1, 5)]

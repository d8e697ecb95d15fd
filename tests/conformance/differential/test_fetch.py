"""Fetch: offsets, sizes, epochs and sessions."""

from __future__ import annotations

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID, Uuid
from barnabas.records.compression import Codec
from barnabas.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic, ReplicaState
from tests.conformance.differential.pair import Pair, Peer
from tests.conformance.differential.produced import batch_at, produce

BY_NAME = range(4, 13)
BY_ID = range(13, 19)
WITH_SESSIONS = range(7, 13)
PLENTY = 2**30
NOWHERE = Uuid(bytes(15) + b"\7")
BATCHES = [
    batch_at(1000, 1001, 1002),
    batch_at(5000, value=bytes(2000)),
    batch_at(*range(10), codec=Codec.GZIP),
    batch_at(7, codec=Codec.ZSTD),
]
# Offsets 0-2, 3, 4-13, 14.
END = 15


@pytest.fixture(scope="module")
def topic(pair: Pair) -> str:
    pair.create("fetched", 4)
    for partition in (0, 1):
        produce(pair, "fetched", BATCHES, partition)
    # Partition 2 begins in the middle, partition 3 is empty.
    produce(pair, "fetched", BATCHES, 2)
    trim = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name="fetched", partitions=[DeleteRecordsPartition(partition_index=2, offset=5)])], timeout_ms=5000
    )
    pair.same(trim, [2])
    return "fetched"


def part(index: int = 0, offset: int = 0, *, size: int = PLENTY, epoch: int = -1, fetched_epoch: int = -1) -> FetchPartition:
    return FetchPartition(
        partition=index, fetch_offset=offset, partition_max_bytes=size, current_leader_epoch=epoch, last_fetched_epoch=fetched_epoch
    )


def fetch(
    *parts: FetchPartition,
    name: str = "fetched",
    topic_id: Uuid = ZERO_UUID,
    size: int = PLENTY,
    least: int = 0,
    wait_ms: int = 0,
    isolation: int = 0,
    session: tuple[int, int] = (0, -1),
    forgotten: tuple[int, ...] = (),
    replica: int = -1,
) -> FetchRequest:
    return FetchRequest(
        max_wait_ms=wait_ms,
        min_bytes=least,
        max_bytes=size,
        isolation_level=isolation,
        session_id=session[0],
        session_epoch=session[1],
        topics=[FetchTopic(topic=name, topic_id=topic_id, partitions=list(parts))] if parts else [],
        forgotten_topics_data=[ForgottenTopic(topic=name, topic_id=topic_id, partitions=list(forgotten))] if forgotten else [],
        replica_id=replica,
    )


@pytest.mark.parametrize("isolation", [0, 1], ids=["uncommitted", "committed"])
@pytest.mark.parametrize("offset", [0, 1, 2, 3, 4, 8, 13, 14, 15, 16, 100, -1, -2, 2**62])
def test_fetch_at_any_offset(pair: Pair, topic: str, offset: int, isolation: int) -> None:
    pair.same(fetch(part(0, offset), isolation=isolation), BY_NAME)
    pair.same(fetch(part(2, offset), part(3, offset), isolation=isolation), [12])


def test_fetch_takes_a_negative_size_for_zero(pair: Pair, topic: str) -> None:
    differ = {"responses": "Kafka trips over it and answers UNKNOWN_SERVER_ERROR; to us the first batch comes however small the limit"}
    ((_, barnabas),) = pair.same(fetch(part(0, 0, size=-1)), [12], differ=differ)
    assert barnabas.responses[0].partitions[0].error_code == ErrorCode.NONE


@pytest.mark.parametrize("size", [0, 1, 60, 61, 100, 200, 2000, 2300, 2**31 - 1])
def test_fetch_of_any_size(pair: Pair, topic: str, size: int) -> None:
    for offset in (0, 1, 3, 4):
        pair.same(fetch(part(0, offset, size=size)), [4, 12])
        pair.same(fetch(part(0, offset), size=size), [4, 12])
    pair.same(fetch(part(0, 0, size=size), part(1, 0, size=size), part(2, 5, size=size)), [12])
    pair.same(fetch(part(0, 0), part(1, 3), part(2, 5), size=size), [12])
    pair.same(fetch(part(3, 0), part(1, 0), part(0, 0), size=size), [12])


def test_fetch_does_not_wait_when_it_may_not_or_need_not(pair: Pair, topic: str) -> None:
    for least in (-1, 0, 1, 10, 10_000):
        pair.same(fetch(part(0, 0), least=least, wait_ms=0), [12])
        pair.same(fetch(part(0, END), least=least, wait_ms=-5), [12])
    pair.same(fetch(part(0, END), least=1, wait_ms=20), BY_NAME)
    # An error is answered at once, however long the fetch may wait.
    pair.same(fetch(part(0, END), part(1, 99), least=1, wait_ms=30_000), [12])
    pair.same(fetch(least=1, wait_ms=30_000), [12])


@pytest.mark.parametrize("current", [-2, -1, 0, 1, 5])
@pytest.mark.parametrize("fetched", [-2, -1, 0, 1, 5])
def test_fetch_checks_the_leader_epoch(pair: Pair, topic: str, current: int, fetched: int) -> None:
    for offset in (0, 5, END, END + 1):
        pair.same(fetch(part(0, offset, epoch=current, fetched_epoch=fetched)), [12])
    pair.same(fetch(part(0, 0, epoch=current)), range(9, 13))
    pair.same(fetch(part(3, 0, epoch=current, fetched_epoch=fetched)), [12])
    pair.same(fetch(part(2, 7, epoch=current, fetched_epoch=fetched)), [12])


def test_fetch_refuses_missing_topics_and_partitions(pair: Pair, topic: str) -> None:
    for name, index in (("fetched", 9), ("fetched", -1), ("never-was", 0), ("a b", 0), ("", 0)):
        pair.same(fetch(part(index), name=name), BY_NAME)
    pair.same(fetch(part(9), part(0)), [12])
    pair.same(fetch(), BY_NAME)


def test_fetch_of_a_repeated_partition(pair: Pair, topic: str) -> None:
    for offsets in ((0, 4), (4, 0)):
        request = fetch(*(part(0, offset) for offset in offsets))
        ((kafka, barnabas),) = pair.same(request, [12], differ={"responses": "Kafka answers the last, we answer both"})
        assert kafka.responses[0].partitions[-1] == barnabas.responses[0].partitions[-1]


def test_fetch_of_an_unknown_replica_is_refused(pair: Pair, topic: str) -> None:
    for replica in (-2, -3):
        pair.same(fetch(part(0), replica=replica), [12])
    for replica in (1, 7):
        pair.same(fetch(part(0), replica=replica), [12])

        def by_id(peer: Peer, version: int, replica: int = replica) -> FetchRequest:
            request = fetch(part(0), name="", topic_id=peer.topic_id(topic))
            request.replica_state = ReplicaState(replica_id=replica, replica_epoch=-1)
            return request

        pair.same(by_id, [15, 16, 17, 18])


def test_fetch_finds_topics_by_id(pair: Pair, topic: str) -> None:
    def known(peer: Peer, version: int) -> FetchRequest:
        return fetch(part(0, 3), part(3, 0), part(9, 0), name="", topic_id=peer.topic_id(topic))

    pair.same(known, BY_ID)
    pair.same(fetch(part(0), name="", topic_id=NOWHERE), BY_ID)
    pair.same(fetch(part(0), name="", topic_id=ZERO_UUID), BY_ID)
    state = FetchRequest(
        max_wait_ms=0, min_bytes=0, topics=[], replica_state=ReplicaState(replica_id=7, replica_epoch=3), session_id=0, session_epoch=-1
    )
    pair.same(state, range(15, 19))


# -- sessions ---------------------------------------------------------------------------------


class Session:
    """One session on each side, with the same requests; each has the id that its broker
    assigned."""

    def __init__(self, pair: Pair, version: int, topic: str) -> None:
        self.pair, self.version, self.topic = pair, version, topic
        self.ids: dict[str, int] = {"Kafka": 0, "Barnabas": 0}

    def same(self, epoch: int, *parts: FetchPartition, forgotten: tuple[int, ...] = (), wrong_by: int = 0) -> ErrorCode:
        def made(peer: Peer, version: int) -> FetchRequest:
            by_id = version >= 13
            return fetch(
                *parts,
                name="" if by_id else self.topic,
                topic_id=peer.topic_id(self.topic) if by_id else ZERO_UUID,
                session=(self.ids[peer.name] + wrong_by, epoch),
                forgotten=forgotten,
            )

        ((kafka, barnabas),) = self.pair.same(made, [self.version])
        if epoch == 0:
            self.ids = {"Kafka": kafka.session_id, "Barnabas": barnabas.session_id}
        return ErrorCode(barnabas.error_code)


VERSIONS = pytest.mark.parametrize("version", [7, 10, 12, 13, 18])


@VERSIONS
def test_fetch_session_answers_only_changes(pair: Pair, version: int) -> None:
    name = pair.create(f"session-{version}", 3)
    session = Session(pair, version, name)
    produce(pair, name, BATCHES[:2])
    session.same(0, part(0, 0), part(1, 0), part(2, 0))
    session.same(1)
    session.same(2, part(0, 4))
    session.same(3)
    produce(pair, name, BATCHES[2:3])
    produce(pair, name, BATCHES[:1], 2)
    session.same(4)
    session.same(5, part(0, 14), part(2, 3))
    session.same(6)
    session.same(7, part(1, 9))
    session.same(8)
    session.same(9, part(1, 0))
    session.same(10)


@VERSIONS
def test_fetch_session_forgets_partitions(pair: Pair, version: int) -> None:
    name = pair.create(f"forgetting-{version}", 3)
    produce(pair, name, BATCHES[:2])
    produce(pair, name, BATCHES[:2], 1)
    session = Session(pair, version, name)
    session.same(0, part(0, 4), part(1, 4))
    produce(pair, name, BATCHES[:1])
    produce(pair, name, BATCHES[:1], 1)
    session.same(1, forgotten=(0,))
    session.same(2, forgotten=(2, 7))
    session.same(3, part(0, 5), forgotten=(1,))
    session.same(4, part(2, 0))
    session.same(5, part(2, 0), forgotten=(2,))
    session.same(6, forgotten=(0,))
    session.same(7)


@VERSIONS
def test_fetch_session_refuses_wrong_ids_and_epochs(pair: Pair, topic: str, version: int) -> None:
    session = Session(pair, version, topic)
    assert session.same(0, part(0, 0)) is ErrorCode.NONE
    assert session.same(1, wrong_by=1) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert session.same(2) is ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert session.same(1) is ErrorCode.NONE
    assert session.same(1) is ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert session.same(2) is ErrorCode.NONE
    # Epoch -1 closes the session.
    assert session.same(-1, part(0, 0)) is ErrorCode.NONE
    assert session.same(3) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_fetch_session_is_replaced_by_a_new_one(pair: Pair, topic: str) -> None:
    session = Session(pair, 12, topic)
    session.same(0, part(0, 0))
    old = dict(session.ids)
    session.same(0, part(1, 0))
    assert session.ids["Barnabas"] != old["Barnabas"]
    session.same(1, part(0, 3))
    session.ids = old
    assert session.same(1) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_fetch_session_may_begin_without_partitions(pair: Pair, topic: str) -> None:
    session = Session(pair, 12, topic)
    session.same(0)
    assert session.same(1, part(0, 0)) is ErrorCode.NONE
    assert session.same(2) is ErrorCode.NONE


def test_fetch_session_needs_a_full_request_first(pair: Pair, topic: str) -> None:
    session = Session(pair, 12, topic)
    assert session.same(5, part(0, 0)) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert session.same(-5, part(0, 0)) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_fetch_session_repeats_errors(pair: Pair) -> None:
    name = pair.create("session-errors", 2)
    session = Session(pair, 12, name)
    session.same(0, part(0, 50), part(1, 0), part(5, 0))
    session.same(1)
    session.same(2, part(0, 0))
    session.same(3)
    produce(pair, name, BATCHES)
    session.same(4, part(0, 0, size=1), part(1, 0))
    session.same(5)


def test_fetch_session_does_not_mix_names_and_ids(pair: Pair, topic: str) -> None:
    session = Session(pair, 12, topic)
    session.same(0, part(0, 0))
    session.version = 13
    assert session.same(1, part(0, 0)) is ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
    by_id = Session(pair, 13, topic)
    by_id.same(0, part(0, 0))
    by_id.version = 12
    assert by_id.same(1, part(0, 0)) is ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_fetch_session_serves_its_partitions_in_turn(pair: Pair) -> None:
    name = pair.create("in-turn", 4)
    for partition in range(4):
        produce(pair, name, [batch_at(1, value=bytes(500))] * 4, partition)

    def made(peer: Peer, version: int) -> FetchRequest:
        first = fetch(*(part(index, 0) for index in range(4)), name=name, size=600, session=(0, 0))
        return first if ids[peer.name] == 0 else fetch(name=name, size=600, session=(ids[peer.name], turn))

    ids = {"Kafka": 0, "Barnabas": 0}
    turn = 0
    ((kafka, barnabas),) = pair.same(made, [12])
    ids = {"Kafka": kafka.session_id, "Barnabas": barnabas.session_id}
    served: dict[str, list[int]] = {"Kafka": [], "Barnabas": []}
    for turn in range(1, 5):  # noqa: B007 - made() reads it
        for peer in pair.peers:
            partitions = pair.ask(peer, made, 12).responses[0].partitions
            served[peer.name] += [each.partition_index for each in partitions if each.records]
    # In Barnabas the first answer already counts as a turn.
    assert served == {"Kafka": [0, 1, 2, 3], "Barnabas": [1, 2, 3, 0]}

"""A consumer's requests repeat each other, and the broker has a shortcut for repeats. No client may
be able to notice it.

Most requests here are sent on a connection that has sent the same before and on a new one, and
both must get the same response.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Producer

from barnabas.api.fetch.shortcut import PARTITIONS_MAX, REMEMBERED_REQUESTS_MAX, FetchShortcut
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID, Uuid
from barnabas.network.connection import Connection, Reply
from barnabas.security.acls.acl import Operation, Permission
from barnabas.testing import EmbeddedBroker
from barnabas.wire.apis import ApiKey, stable_versions
from barnabas.wire.messages.create_acls import CreateAclsRequest
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic, ReplicaState
from tests.acl_creation import acl_creation
from tests.scenarios.client import FETCH_BY_NAME, Client, fetch_request, records_in
from tests.scenarios.quotas.altering import ANONYMOUS, set_quota
from tests.scenarios.security.logged_in import log_in, with_authorizer
from tests.waiting import PATIENCE_SECONDS, until

BY_ID = 13
REPEATABLE = range(12, stable_versions(ApiKey.FETCH).highest + 1)


class Shortcuts:
    """How many requests the shortcuts of all connections have served."""

    served = 0


@pytest.fixture
def shortcuts(monkeypatch: pytest.MonkeyPatch) -> Shortcuts:
    seen = Shortcuts()
    serve = FetchShortcut.serve

    def counted(shortcut: FetchShortcut, connection: Connection, frame: memoryview) -> Reply:
        reply = serve(shortcut, connection, frame)
        seen.served += reply is not None
        return reply

    monkeypatch.setattr(FetchShortcut, "serve", counted)
    return seen


@pytest.fixture
def reader(kafka: EmbeddedBroker) -> Iterator[Client]:
    """A connection that only fetches."""
    with Client(kafka.bootstrap) as made:
        yield made


def asked(version: int, topic_id: Uuid, offsets: dict[int, int], **options: Any) -> FetchRequest:
    """A request for partitions of topic t at these offsets."""
    request = fetch_request([], **options)
    partitions = [
        FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=1 << 20, current_leader_epoch=0)
        for index, offset in offsets.items()
    ]
    topic = FetchTopic(topic_id=topic_id, partitions=partitions) if version >= BY_ID else FetchTopic(topic="t", partitions=partitions)
    request.topics = [topic] if partitions else []
    return request


def same_for_a_new_connection(kafka: EmbeddedBroker, reader: Client, request: FetchRequest, version: int = FETCH_BY_NAME) -> Any:
    with Client(kafka.bootstrap) as new:
        expected = new.ask(request, version)
    found = reader.ask(request, version)
    assert found == expected
    return found


def warm(reader: Client, version: int = FETCH_BY_NAME, topic_id: Uuid = ZERO_UUID, **options: Any) -> None:
    for offset in range(3):
        reader.ask(asked(version, topic_id, {0: offset}, **options), version)


@pytest.mark.parametrize("version", range(4, stable_versions(ApiKey.FETCH).highest + 1))
@pytest.mark.parametrize("isolation", [0, 1])
def test_repeats_get_the_same_response_in_every_version(
    kafka: EmbeddedBroker, client: Client, reader: Client, shortcuts: Shortcuts, version: int, isolation: int
) -> None:
    topic_id = client.create_topic("t", 2)
    for number in range(4):
        client.produce("t", [b"%d" % number] * 3)
    for offset in (0, 3, 6, 9, 12):
        # The second partition is empty.
        request = asked(version, topic_id, {0: offset, 1: 0}, isolation_level=isolation, max_wait_ms=1)
        response = same_for_a_new_connection(kafka, reader, request, version)
        assert [len(each.records) > 0 for each in response.responses[0].partitions] == [offset < 12, False]
    assert shortcuts.served == (4 if version in REPEATABLE else 0)


@pytest.mark.parametrize("version", REPEATABLE)
def test_a_repeat_in_a_session_tells_only_news(client: Client, reader: Client, shortcuts: Shortcuts, version: int) -> None:
    topic_id = client.create_topic("t", 3)
    opened = reader.ask(asked(version, topic_id, dict.fromkeys(range(3), 0), session_epoch=0), version)
    session: dict[str, Any] = {"session_id": opened.session_id}
    for number in range(5):
        client.produce("t", [b"%d" % number], partition=1)
        named = {1: number} if number else {}
        response = reader.ask(asked(version, topic_id, named, session_epoch=number + 1, **session), version)
        assert (response.error_code, response.session_id) == (0, opened.session_id)
        (topic,) = response.responses
        (news,) = topic.partitions
        assert (news.partition_index, news.high_watermark) == (1, number + 1)
        assert [record.value for record in records_in(news.records)] == [b"%d" % number]
    assert shortcuts.served == 3
    nothing = reader.ask(asked(version, topic_id, {1: 5}, session_epoch=6, **session), version)
    assert (nothing.error_code, nothing.responses) == (0, [])


def test_a_repeat_with_a_wrong_epoch_or_of_a_closed_session_is_refused(client: Client, reader: Client) -> None:
    client.create_topic("t")

    def fetch(session: int, epoch: int, offset: int = 0) -> Any:
        return reader.ask(asked(FETCH_BY_NAME, ZERO_UUID, {0: offset}, session_id=session, session_epoch=epoch), FETCH_BY_NAME)

    session = fetch(0, 0).session_id
    for epoch in (1, 2, 3):
        assert fetch(session, epoch).error_code == 0
    assert fetch(session, 3).error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert fetch(session, 5).error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert fetch(session, 4).error_code == 0
    assert fetch(session + 1, 5).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert fetch(session, -1).session_id == 0
    assert fetch(session, 5).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert fetch(0, 0).session_id not in (0, session)


def test_a_request_that_forgets_partitions_is_no_repeat(client: Client, reader: Client) -> None:
    client.create_topic("t", 2)
    options: dict[str, Any] = {"session_id": 0, "session_epoch": 0}
    options["session_id"] = reader.ask(asked(FETCH_BY_NAME, ZERO_UUID, {0: 0, 1: 0}, **options), FETCH_BY_NAME).session_id
    for options["session_epoch"] in (1, 2):
        reader.ask(asked(FETCH_BY_NAME, ZERO_UUID, {0: 0}, **options), FETCH_BY_NAME)
    options["session_epoch"] = 3
    forgetting = asked(FETCH_BY_NAME, ZERO_UUID, {0: 0}, **options)
    forgetting.forgotten_topics_data = [ForgottenTopic(topic="t", partitions=[1])]
    assert reader.ask(forgetting, FETCH_BY_NAME).error_code == 0
    client.produce("t", [b"forgotten"], partition=1)
    options["session_epoch"] = 4
    assert reader.ask(asked(FETCH_BY_NAME, ZERO_UUID, {0: 0}, **options), FETCH_BY_NAME).responses == []


def test_a_repeat_waits_for_records_and_is_woken_by_them(client: Client, reader: Client, shortcuts: Shortcuts) -> None:
    client.create_topic("t")
    for number in range(5):
        request = asked(FETCH_BY_NAME, ZERO_UUID, {0: number}, min_bytes=1, max_wait_ms=60_000)
        sent = reader.send(request, FETCH_BY_NAME)
        client.produce("t", [b"%d" % number])
        answered, response = reader.receive(request, FETCH_BY_NAME)
        assert answered == sent
        assert [record.value for record in records_in(response.responses[0].partitions[0].records)] == [b"%d" % number]
    assert shortcuts.served == 4


def test_pipelined_repeats_are_answered_in_order(client: Client, reader: Client) -> None:
    client.create_topic("t")
    client.produce("t", [b"0"])
    warm(reader, min_bytes=1, max_wait_ms=1)
    requests = [asked(FETCH_BY_NAME, ZERO_UUID, {0: offset}, min_bytes=1, max_wait_ms=60_000) for offset in (1, 0, 0, 1)]
    sent = [reader.send(request, FETCH_BY_NAME) for request in requests]
    client.produce("t", [b"1"])
    answers = [reader.receive(request, FETCH_BY_NAME) for request in requests]
    assert [answered for answered, _ in answers] == sent
    first = [records_in(response.responses[0].partitions[0].records)[0].value for _, response in answers]
    assert first == [b"1", b"0", b"0", b"1"]


@pytest.mark.parametrize("offset", [-1, 1, 99])
def test_a_repeat_out_of_range_gets_the_error(kafka: EmbeddedBroker, client: Client, reader: Client, offset: int) -> None:
    client.create_topic("t")
    warm(reader)
    response = same_for_a_new_connection(kafka, reader, asked(FETCH_BY_NAME, ZERO_UUID, {0: offset}))
    assert response.responses[0].partitions[0].error_code == ErrorCode.OFFSET_OUT_OF_RANGE


@pytest.mark.parametrize("changed", ["min_bytes", "max_bytes", "isolation_level", "size", "partition", "epoch", "follower"])
def test_another_request_of_the_same_length_is_no_repeat(
    kafka: EmbeddedBroker, client: Client, reader: Client, shortcuts: Shortcuts, changed: str
) -> None:
    topic_id = client.create_topic("t", 2)
    client.produce("t", [b"0"])
    warm(reader, BY_ID, topic_id)
    served = shortcuts.served
    request = asked(BY_ID, topic_id, {0: 0})
    partition = request.topics[0].partitions[0]
    match changed:
        case "min_bytes" | "max_bytes" | "isolation_level":
            setattr(request, changed, 1)
        case "size":
            partition.partition_max_bytes = 7
        case "partition":
            partition.partition = 1
        case "epoch":
            partition.current_leader_epoch = 3
        case "follower":
            request.replica_id = 2
    same_for_a_new_connection(kafka, reader, request, BY_ID)
    assert shortcuts.served == served


def test_topics_in_another_order_are_read_at_their_own_offsets(kafka: EmbeddedBroker, client: Client, reader: Client) -> None:
    """The requests have the same length, and their offsets are at other positions because the
    names have other lengths. Read at the positions of the first request, offset 256 would be 1."""
    for topic in ("ab", "cde"):
        client.create_topic(topic)
        client.produce(topic, [b"0", b"1", b"2"])

    def fetch(*offsets: tuple[str, int]) -> list[int]:
        request = fetch_request([(topic, 0, offset) for topic, offset in offsets])
        for each in request.topics:
            each.partitions[0].current_leader_epoch = 0
        response = same_for_a_new_connection(kafka, reader, request)
        return [topic.partitions[0].error_code for topic in response.responses]

    fetch(("ab", 0), ("cde", 0))
    fetch(("cde", 0), ("ab", 0))
    assert fetch(("cde", 256), ("ab", 0)) == [ErrorCode.OFFSET_OUT_OF_RANGE, ErrorCode.NONE]
    assert fetch(("ab", 256), ("cde", 1)) == [ErrorCode.OFFSET_OUT_OF_RANGE, ErrorCode.NONE]


def test_fetches_of_followers_are_never_repeats(client: Client, reader: Client, shortcuts: Shortcuts) -> None:
    topic_id = client.create_topic("t")
    version = stable_versions(ApiKey.FETCH).highest
    request = asked(version, topic_id, {0: 0})
    request.replica_state = ReplicaState(replica_id=2, replica_epoch=1)
    for _ in range(4):
        (topic,) = reader.ask(request, version).responses
        assert topic.partitions[0].error_code != 0
    assert shortcuts.served == 0


def test_a_repeat_for_a_deleted_topic_gets_the_error_and_then_the_new_topic(kafka: EmbeddedBroker, client: Client, reader: Client) -> None:
    topic_id = client.create_topic("t")
    client.produce("t", [b"old"])
    warm(reader)
    warm_by_id = [reader.ask(asked(BY_ID, topic_id, {0: 0}), BY_ID) for _ in range(3)][-1]
    assert warm_by_id.responses[0].partitions[0].error_code == 0
    client.delete_topic("t")
    by_id = same_for_a_new_connection(kafka, reader, asked(BY_ID, topic_id, {0: 0}), BY_ID)
    assert by_id.responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    client.create_topic("t")
    client.produce("t", [b"new"])
    by_name = same_for_a_new_connection(kafka, reader, asked(FETCH_BY_NAME, ZERO_UUID, {0: 0}))
    assert [record.value for record in records_in(by_name.responses[0].partitions[0].records)] == [b"new"]


def test_a_repeat_that_reads_committed_records_gets_the_aborted_transactions(
    kafka: EmbeddedBroker, client: Client, reader: Client, shortcuts: Shortcuts
) -> None:
    client.create_topic("t")
    client.produce("t", [b"before"])
    warm(reader, isolation_level=1)
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": "x"})
    producer.init_transactions(PATIENCE_SECONDS)
    producer.begin_transaction()
    producer.produce("t", b"aborted")
    producer.flush(PATIENCE_SECONDS)
    request = asked(FETCH_BY_NAME, ZERO_UUID, {0: 1}, isolation_level=1)
    unstable = same_for_a_new_connection(kafka, reader, request).responses[0].partitions[0]
    assert (unstable.high_watermark, unstable.last_stable_offset, len(unstable.records)) == (2, 1, 0)
    producer.abort_transaction(PATIENCE_SECONDS)
    aborted = same_for_a_new_connection(kafka, reader, request).responses[0].partitions[0]
    assert [each.first_offset for each in aborted.aborted_transactions] == [1]
    assert shortcuts.served >= 4


def test_a_quota_applies_to_repeats_from_the_moment_it_is_set(client: Client, reader: Client) -> None:
    client.create_topic("t")
    client.produce("t", [bytes(20_000)])
    for _ in range(5):
        assert reader.ask(asked(FETCH_BY_NAME, ZERO_UUID, {0: 0}), FETCH_BY_NAME).throttle_time_ms == 0
    set_quota(client, ANONYMOUS, consumer_byte_rate=1000)
    until(
        lambda: reader.ask(asked(FETCH_BY_NAME, ZERO_UUID, {0: 0}), FETCH_BY_NAME).throttle_time_ms > 0, "repeated requests are throttled"
    )


def test_a_rule_applies_to_repeats_from_the_moment_it_is_set() -> None:
    def set_rule(permission: Permission) -> None:
        rule = acl_creation(resource_name="t", operation=Operation.READ, permission_type=permission)
        assert admin.ask(CreateAclsRequest(creations=[rule]), 3).results[0].error_code == 0

    def error() -> int:
        response = alice.ask(asked(FETCH_BY_NAME, ZERO_UUID, {0: 0}), FETCH_BY_NAME)
        code: int = response.responses[0].partitions[0].error_code
        return code

    with EmbeddedBroker(config=with_authorizer()) as kafka, log_in(kafka, "admin") as admin, log_in(kafka, "alice") as alice:
        admin.create_topic("t")
        assert [error() for _ in range(3)] == [ErrorCode.TOPIC_AUTHORIZATION_FAILED] * 3
        set_rule(Permission.ALLOW)
        until(lambda: error() == ErrorCode.NONE, "alice may read")
        assert [error() for _ in range(3)] == [ErrorCode.NONE] * 3
        set_rule(Permission.DENY)
        until(lambda: error() == ErrorCode.TOPIC_AUTHORIZATION_FAILED, "alice may no longer read")


def test_a_connection_that_also_produces_keeps_the_shortcut_for_produce(client: Client, shortcuts: Shortcuts) -> None:
    client.create_topic("t")
    for number in range(4):
        client.produce("t", [b"%d" % number])
        (record,) = records_in(client.fetch("t", offset=number).records)
        assert record.value == b"%d" % number
    assert shortcuts.served == 0


def test_a_connection_remembers_a_limited_number_of_requests(client: Client, reader: Client, shortcuts: Shortcuts) -> None:
    client.create_topic("t")

    def fetch(min_bytes: int) -> None:
        assert reader.ask(asked(FETCH_BY_NAME, ZERO_UUID, {0: 0}, min_bytes=min_bytes), FETCH_BY_NAME).error_code == 0

    for min_bytes in range(REMEMBERED_REQUESTS_MAX + 5):
        fetch(min_bytes)
    assert shortcuts.served == 0
    fetch(0)
    fetch(REMEMBERED_REQUESTS_MAX + 1)
    assert shortcuts.served == 1


def test_a_request_with_many_partitions_is_no_repeat(kafka: EmbeddedBroker, client: Client, reader: Client, shortcuts: Shortcuts) -> None:
    topic_id = client.create_topic("t", PARTITIONS_MAX + 1)
    for count in (PARTITIONS_MAX, PARTITIONS_MAX + 1):
        for _ in range(3):
            same_for_a_new_connection(kafka, reader, asked(BY_ID, topic_id, dict.fromkeys(range(count), 0)), BY_ID)
    assert shortcuts.served == 2

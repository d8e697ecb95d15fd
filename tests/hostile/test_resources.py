"""Well-formed but hostile requests: to fill memory, to block the loop, to write where no client
may.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from typing import Any, Self

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.replication.fetch_sessions import SESSION_PARTITIONS_MAX
from barnabas.wire.apis import ApiKey
from barnabas.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from barnabas.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from barnabas.wire.messages.describe_topic_partitions import Cursor, DescribeTopicPartitionsRequest, TopicRequest
from barnabas.wire.messages.fetch import FetchPartition, FetchTopic
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.hostile.conftest import Victim
from tests.scenarios.client import (
    FETCH_BY_NAME,
    PRODUCE_BY_NAME,
    Client,
    HungUp,
    batch_of,
    fetch_request,
    frame_of,
    newest,
    produce_request,
)

MISSING = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
# How long the broker may work for a hostile client while a bystander waits, in seconds of processor
# time: on a busy machine these take longer by the clock. A healthy response takes a millisecond.
# The client only waits for the response to come at all.
BYSTANDER_SECONDS_MAX = 3.0


def longest_wait(victim: Victim, stop: threading.Event) -> float:
    """The longest that the broker worked, until ``stop``, between a bystander's small request and
    its response.
    """
    worst = 0.0
    with victim.client() as bystander:
        while not stop.wait(0.02):
            before = victim.worked_seconds()
            bystander.probe()
            worst = max(worst, victim.worked_seconds() - before)
    return worst


class Bystander:
    """``with Bystander(victim) as seen: attack()``, then ``seen.worst``."""

    def __init__(self, victim: Victim) -> None:
        self._victim = victim
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.worst = float("inf")

    def _watch(self) -> None:
        self.worst = longest_wait(self._victim, self._stop)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


# -- sessions, producers, waits


def test_fetches_beyond_the_session_cache_are_served_without_a_session(victim: Victim) -> None:
    """A thousand have room; the others are served without one, and those that have theirs keep
    it.
    """
    opens = fetch_request([("t", 0, 0)], session_epoch=0)
    with victim.client() as owner, victim.client() as client:
        mine = owner.ask(opens, FETCH_BY_NAME).session_id
        assert mine != 0
        sessions = []
        for _ in range(30):
            for _ in range(100):
                client.send(opens, FETCH_BY_NAME)
            sessions += [client.receive(opens, FETCH_BY_NAME)[1].session_id for _ in range(100)]
        assert sessions[-1] == 0
        assert len(set(sessions)) <= 1001
        assert owner.ask(fetch_request([], session_id=mine, session_epoch=1), FETCH_BY_NAME).error_code == 0
        # Closing them by id makes room again.
        for session in set(sessions) - {0}:
            client.ask(fetch_request([], session_id=session, session_epoch=-1), FETCH_BY_NAME)
        assert client.ask(opens, FETCH_BY_NAME).session_id != 0


def test_a_growing_fetch_session_costs_bounded_memory(victim: Victim) -> None:
    """Partitions that do not exist cost a few hundred bytes each for as long as the session
    lives.
    """
    with victim.client() as client:
        session = client.ask(fetch_request([("t", 0, 0)], session_epoch=0), FETCH_BY_NAME).session_id
        for epoch in range(1, 4):
            request = fetch_request(
                [(f"missing-{epoch}-{number}", 0, 0) for number in range(3000)], session_id=session, session_epoch=epoch
            )
            assert client.ask(request, FETCH_BY_NAME).error_code == 0
        client.ask(fetch_request([], session_id=session, session_epoch=-1), FETCH_BY_NAME)


def test_a_flood_of_init_producer_id_gets_unique_ids(victim: Victim) -> None:
    """Every id once, many more than one block of them at a time, from many connections."""
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0)
    clients = [victim.client() for _ in range(20)]
    seen: list[int] = []
    for _ in range(5):
        for client in clients:
            for _ in range(100):
                client.send(request)
        for client in clients:
            for _ in range(100):
                answer = client.receive(request)[1]
                assert answer.error_code == 0
                seen.append(answer.producer_id)
    assert len(set(seen)) == len(seen) == 10_000
    for client in clients:
        client.close()


@pytest.mark.parametrize("transactional_id", ["", "x", "x" * 32_000])
def test_transactional_ids_without_a_coordinator_or_with_an_endless_timeout_are_refused(victim: Victim, transactional_id: str) -> None:
    with victim.client() as client:
        answer = client.ask(InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=2**31 - 1))
        assert answer.error_code in (ErrorCode.INVALID_REQUEST, ErrorCode.NOT_COORDINATOR, ErrorCode.INVALID_TRANSACTION_TIMEOUT)
        assert answer.producer_id == -1


def test_waiting_fetches_of_many_connections_cost_little(victim: Victim) -> None:
    waits = fetch_request([("t", 0, 1)], min_bytes=2**31 - 1, max_wait_ms=2**31 - 1)
    frame = frame_of(waits, FETCH_BY_NAME)
    clients = [victim.client() for _ in range(100)]
    for client in clients:
        client.send_bytes(frame * 50)
    with victim.client() as other:
        before = victim.worked_seconds()
        other.produce("t", [b"woken"])
        assert victim.worked_seconds() - before < BYSTANDER_SECONDS_MAX
    for client in clients:
        client.close()


def test_a_waiting_fetch_ends_with_its_connection(victim: Victim) -> None:
    waits = fetch_request([("t", 0, 1)], min_bytes=2**31 - 1, max_wait_ms=2**31 - 1)
    frame = frame_of(waits, FETCH_BY_NAME)

    def storm(rounds: int) -> int:
        for _ in range(rounds):
            with victim.client() as client:
                client.send_bytes(frame * 100)
                # A last request behind them: when the broker closes the connection for it, it has
                # served them all.
                client.send_bytes(struct.pack(">i", -1))
                assert client.hung_up()
        return victim.memory_bytes()

    settled = storm(50)
    assert storm(150) - settled < 10 * 1024 * 1024


def test_remembered_request_beginnings_cost_bounded_memory(victim: Victim) -> None:
    """A broker remembers the beginning of a producer's request. Eight connections, each with four
    hundred beginnings of 32 KiB.
    """
    before = victim.memory_bytes()
    batch = batch_of([b"x"])
    clients = [victim.client() for _ in range(8)]
    for client in clients:
        for number in range(400):
            request = produce_request("t", 0, batch)
            request.timeout_ms = 1000 + number
            client.send_bytes(frame_of(request, PRODUCE_BY_NAME, correlation_id=number, client_id="c" * 32_000))
            assert client.receive(request, PRODUCE_BY_NAME)[0] == number
    assert victim.memory_bytes() - before < 40 * 1024 * 1024
    for client in clients:
        client.close()


def test_a_flood_of_small_expensive_requests_delays_no_client(victim: Victim) -> None:
    """Thousands of them fit into one read of a socket, and each response has fifty kilobytes."""
    asked = DescribeConfigsResource(resource_type=4, resource_name="1", configuration_keys=None)
    request = DescribeConfigsRequest(resources=[asked], include_synonyms=True, include_documentation=True)
    with victim.client(receive_buffer_bytes=4096) as deaf, Bystander(victim) as seen:
        deaf.send_bytes(frame_of(request, newest(request)) * 1000)
        time.sleep(1)
        with victim.client() as client:
            client.probe()
    assert seen.worst < 1


def test_settings_that_are_asked_for_thousands_of_times_are_described_once(victim: Victim) -> None:
    asked = DescribeConfigsResource(resource_type=4, resource_name="1", configuration_keys=None)
    request = DescribeConfigsRequest(resources=[asked] * 3000, include_synonyms=True, include_documentation=True)
    with victim.client() as client, Bystander(victim) as seen:
        results = client.ask(request).results
        topics = [DescribeConfigsResource(resource_type=2, resource_name="t", configuration_keys=None)]
        request.resources += topics
        described = client.ask(request).results[-1]
    assert seen.worst < 1
    assert len(results) == 3000
    assert results[0] == results[1]
    assert results[0].error_code == 0
    assert (results[-1].error_code, results[-1].configs) == (ErrorCode.INVALID_REQUEST, [])
    # An existing topic is described, however much else the request asks for.
    assert (described.error_code, len(described.configs) > 0) == (0, True)


def test_a_fetch_session_has_no_more_partitions_than_its_limit(victim: Victim) -> None:
    def fetch(partitions: int, session: int, epoch: int) -> Any:
        request = fetch_request([], session_id=session, session_epoch=epoch)
        request.topics = [
            FetchTopic(
                topic="t",
                partitions=[FetchPartition(partition=5 + each, fetch_offset=0, partition_max_bytes=1) for each in range(partitions)],
            )
        ]
        return client.ask(request, FETCH_BY_NAME)

    with victim.client() as client:
        assert fetch(SESSION_PARTITIONS_MAX + 1, 0, 0).session_id == 0
        session = fetch(SESSION_PARTITIONS_MAX, 0, 0).session_id
        assert session != 0
        assert fetch(SESSION_PARTITIONS_MAX + 1, session, 1).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_fetch_or_a_deletion_of_more_elements_than_its_limit_closes_the_connection(victim: Victim) -> None:
    partitions = [FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1)] * 250_000
    fetch = fetch_request([])
    fetch.topics = [FetchTopic(topic="t", partitions=partitions)]
    deletion = DeleteTopicsRequest(topics=[DeleteTopicState(name="absent")] * 50_001, timeout_ms=1)
    with Bystander(victim) as seen:
        for request, version in ((fetch, FETCH_BY_NAME), (deletion, newest(deletion))):
            with victim.client() as client:
                client.send_bytes(frame_of(request, version))
                assert client.hung_up()
    assert seen.worst < 1


def test_a_client_that_never_reads_costs_bounded_memory(victim: Victim) -> None:
    with victim.client() as client:
        client.create_topic("unread")
        client.produce("unread", [bytes(900_000)])
    deaf = [victim.client(receive_buffer_bytes=4096) for _ in range(20)]
    frame = frame_of(fetch_request([("unread", 0, 0)]), FETCH_BY_NAME)
    with Bystander(victim) as seen:
        for each in deaf:
            each.socket.settimeout(0.2)
            try:
                each.send_bytes(frame * 2000)
            except TimeoutError:
                continue
    assert seen.worst < BYSTANDER_SECONDS_MAX
    for each in deaf:
        each.close()
    with victim.client() as client:
        client.delete_topic("unread")


# -- large requests


def test_a_partition_named_a_thousand_times_is_answered(victim: Victim) -> None:
    with victim.client() as client:
        response = client.ask(fetch_request([("t", 0, 0)] * 1000), FETCH_BY_NAME)
        assert sum(bool(each.records) for topic in response.responses for each in topic.partitions) >= 1
        listed = [ListOffsetsPartition(partition_index=0, timestamp=-1)] * 1000
        answer = client.ask(ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="t", partitions=listed)]))
        assert {each.error_code for each in answer.topics[0].partitions} == {ErrorCode.INVALID_REQUEST}


def test_metadata_of_many_unknown_topics_is_answered(victim: Victim) -> None:
    names = [MetadataRequestTopic(name=f"no-{number}") for number in range(20_000)]
    with victim.client() as client, Bystander(victim) as seen:
        response = client.ask(MetadataRequest(topics=names, allow_auto_topic_creation=False))
        assert {topic.error_code for topic in response.topics} == {MISSING}
    assert seen.worst < BYSTANDER_SECONDS_MAX


def array_request(key: ApiKey, version: int, begin: bytes, element: bytes, count: int, end: bytes) -> bytes:
    length = bytearray()
    number = count + 1
    while number >= 0x80:
        length.append(number & 0x7F | 0x80)
        number >>= 7
    length.append(number)
    body = struct.pack(">hhih", key, version, 1, -1) + b"\x00" + begin + bytes(length) + element * count + end
    return struct.pack(">i", len(body)) + body


def test_an_array_as_long_as_a_request_may_be_costs_no_multiple_of_it(victim: Victim) -> None:
    before = victim.memory_bytes()
    frame = array_request(ApiKey.LIST_CONFIG_RESOURCES, 1, b"", b"\x02", 30_000_000, b"\x00")
    try:
        with victim.client() as client:
            client.send_bytes(frame)
            assert client.hung_up()
        assert victim.memory_bytes("VmHWM") - before < 200 * 1024 * 1024
    finally:
        victim.forget_peak()


# -- topics

ILLEGAL = ["", ".", "..", "../x", "a/b", "/etc/passwd", "a\x00b", "x" * 250, "a b", "a\nb", "\N{SNOWMAN}", "a\\b", "a:b", "x" * 30_000]


def create(client: Client, *names: str, partitions: int = 1, factor: int = 1) -> list[int]:
    topics = [CreatableTopic(name=name, num_partitions=partitions, replication_factor=factor, assignments=[], configs=[]) for name in names]
    return [topic.error_code for topic in client.ask(CreateTopicsRequest(topics=topics)).topics]


def test_illegal_topic_names_are_refused(victim: Victim) -> None:
    before = sorted(each.name for each in victim.data_dir.parent.iterdir())
    with victim.client() as client:
        assert create(client, *ILLEGAL) == [ErrorCode.INVALID_TOPIC_EXCEPTION] * len(ILLEGAL)
        for name in ILLEGAL:
            (told,) = client.ask(MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=True)).topics
            assert (told.error_code, told.name) == (ErrorCode.INVALID_TOPIC_EXCEPTION, name)
        described = client.ask(DescribeTopicPartitionsRequest(topics=[TopicRequest(name=name) for name in ILLEGAL], cursor=None))
        assert {topic.error_code for topic in described.topics} == {ErrorCode.INVALID_TOPIC_EXCEPTION}
    assert sorted(each.name for each in victim.data_dir.parent.iterdir()) == before


def test_names_that_collide_in_metrics_are_refused(victim: Victim) -> None:
    with victim.client() as client:
        assert create(client, "a.b") == [0]
        assert create(client, "a_b", "a.b") == [ErrorCode.INVALID_TOPIC_EXCEPTION, ErrorCode.TOPIC_ALREADY_EXISTS]
        client.delete_topic("a.b")
        assert create(client, "a_b") == [0]
        client.delete_topic("a_b")


def test_long_legal_topic_names_are_accepted(victim: Victim) -> None:
    name = "x" * 249
    with victim.client() as client:
        assert create(client, name) == [0]
        client.produce(name, [b"fits"])
        assert client.values(name) == [b"fits"]
        client.delete_topic(name)


def test_invalid_partition_and_replica_counts_are_refused(victim: Victim) -> None:
    with victim.client() as client:
        for partitions in (0, -2, -(2**31)):
            assert create(client, "n", partitions=partitions) == [ErrorCode.INVALID_PARTITIONS]
        assert create(client, "n", partitions=2**31 - 1) == [ErrorCode.POLICY_VIOLATION]
        assert create(client, "n", "m", partitions=6000) == [ErrorCode.POLICY_VIOLATION] * 2
        for factor in (0, -2, -32768, 2, 32767):
            assert create(client, "n", factor=factor) == [ErrorCode.INVALID_REPLICATION_FACTOR]
        for count in (0, -1, -(2**31), 1, 2**31 - 1):
            grow = CreatePartitionsRequest(
                topics=[CreatePartitionsTopic(name="t", count=count, assignments=None)], timeout_ms=0, validate_only=False
            )
            assert client.ask(grow).results[0].error_code in (ErrorCode.INVALID_PARTITIONS, ErrorCode.POLICY_VIOLATION)


def test_one_topic_a_thousand_times_in_a_request_is_refused(victim: Victim) -> None:
    with victim.client() as client:
        assert create(client, *["same"] * 1000) == [ErrorCode.INVALID_REQUEST]
        assert create(client, "same") == [0]
        doomed = DeleteTopicsRequest(topics=[DeleteTopicState(name="same", topic_id=bytes(16))] * 1000, timeout_ms=0)  # type: ignore[arg-type]
        assert {each.error_code for each in client.ask(doomed).responses} == {ErrorCode.INVALID_REQUEST}
        client.delete_topic("same")


def test_topics_can_be_created_and_deleted_rapidly(victim: Victim) -> None:
    files = victim.open_files()
    with victim.client() as client:
        for _ in range(60):
            client.create_topic("shortlived", 2)
            client.delete_topic("shortlived")
        assert (
            client.ask(MetadataRequest(topics=[MetadataRequestTopic(name="shortlived")], allow_auto_topic_creation=False))
            .topics[0]
            .error_code
            == MISSING
        )
    assert victim.open_files() <= files + 20


@pytest.mark.parametrize("limit", [0, -1, -(2**31), 1, 2**31 - 1])
@pytest.mark.parametrize("index", [-(2**31), -1, 0, 2**31 - 1])
def test_describe_topic_partitions_accepts_any_page_size(victim: Victim, limit: int, index: int) -> None:
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name="t")], response_partition_limit=limit, cursor=Cursor(topic_name="t", partition_index=index)
    )
    with victim.client() as client:
        client.ask(request)
        client.probe()


def numbers_everywhere() -> list[tuple[str, Any]]:
    """Requests with extreme numbers that must get a response, whichever it is."""
    extremes = (-(2**63), -7, 2**63 - 1)
    return [
        (f"{what} {number}", request)
        for number in extremes
        for what, request in (
            (
                "offsets",
                ListOffsetsRequest(
                    replica_id=-1,
                    topics=[ListOffsetsTopic(name="t", partitions=[ListOffsetsPartition(partition_index=0, timestamp=number)])],
                ),
            ),
            ("fetch", fetch_request([("t", 0, number)])),
        )
    ]


@pytest.mark.parametrize(("what", "request_"), numbers_everywhere())
def test_requests_with_extreme_numbers_are_answered(victim: Victim, what: str, request_: Any) -> None:
    version = FETCH_BY_NAME if "fetch" in what else newest(request_)
    with victim.client() as client:
        client.ask(request_, version)
        client.probe()


@pytest.mark.parametrize("max_bytes", [-(2**31), -1, 0, 1, 2**31 - 1])
@pytest.mark.parametrize("wait", [(-(2**31), -(2**31)), (2**31 - 1, 0), (0, 2**31 - 1)])
def test_fetches_with_extreme_sizes_and_waits_are_answered(victim: Victim, max_bytes: int, wait: tuple[int, int]) -> None:
    min_bytes, max_wait_ms = wait
    request = fetch_request(
        [("t", 0, 0)], max_bytes=max_bytes, partition_max_bytes=max_bytes, min_bytes=min_bytes, max_wait_ms=max_wait_ms, isolation_level=77
    )
    with victim.client() as client:
        assert client.ask(request, FETCH_BY_NAME).error_code == 0


def test_a_client_that_sends_faster_than_it_is_served_delays_no_other(victim: Victim) -> None:
    """Four clients that pipeline as much as their sockets accept, and a bystander."""
    frame = frame_of(fetch_request([("t", 0, 0)]), FETCH_BY_NAME) * 200

    def push(stop: threading.Event) -> None:
        with victim.client() as client:
            client.socket.settimeout(0.1)
            reader = threading.Thread(target=drain, args=(client.socket, stop))
            reader.start()
            while not stop.is_set():
                try:
                    client.socket.sendall(frame)
                except (TimeoutError, HungUp, OSError):
                    break
            stop.wait()
            reader.join()

    stop = threading.Event()
    pushers = [threading.Thread(target=push, args=(stop,)) for _ in range(4)]
    with Bystander(victim) as seen:
        for each in pushers:
            each.start()
        time.sleep(1.5)
    stop.set()
    for each in pushers:
        each.join()
    assert seen.worst < BYSTANDER_SECONDS_MAX


def drain(source: socket.socket, stop: threading.Event) -> None:
    while not stop.is_set():
        try:
            if not source.recv(1 << 16):
                return
        except TimeoutError:
            continue
        except OSError:
            return

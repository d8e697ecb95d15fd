"""Malformed frames and headers, and versions that were not offered."""

from __future__ import annotations

import struct

import pytest

from barnabas.wire.apis import ApiKey, stable_versions
from barnabas.wire.compiler import encode
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest
from barnabas.wire.messages.metadata import MetadataRequest
from tests.conformance.differential.comparison import plain
from tests.conformance.differential.pair import Pair, Peer
from tests.conformance.differential.raw_client import Closed, RawClient

SERVED_BY_US = sorted(
    {
        *(ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.LIST_OFFSETS, ApiKey.METADATA, ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS),
        *(ApiKey.DELETE_RECORDS, ApiKey.INIT_PRODUCER_ID, ApiKey.OFFSET_FOR_LEADER_EPOCH, ApiKey.DESCRIBE_CONFIGS, ApiKey.ALTER_CONFIGS),
        *(ApiKey.DESCRIBE_LOG_DIRS, ApiKey.CREATE_PARTITIONS, ApiKey.INCREMENTAL_ALTER_CONFIGS, ApiKey.DESCRIBE_QUORUM),
        *(ApiKey.FIND_COORDINATOR, ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.HEARTBEAT, ApiKey.LEAVE_GROUP, ApiKey.DESCRIBE_GROUPS),
        *(ApiKey.LIST_GROUPS, ApiKey.DELETE_GROUPS, ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_FETCH, ApiKey.OFFSET_DELETE),
        *(ApiKey.CONSUMER_GROUP_HEARTBEAT, ApiKey.CONSUMER_GROUP_DESCRIBE, ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.ADD_OFFSETS_TO_TXN),
        *(ApiKey.TXN_OFFSET_COMMIT, ApiKey.END_TXN, ApiKey.WRITE_TXN_MARKERS, ApiKey.LIST_TRANSACTIONS, ApiKey.DESCRIBE_TRANSACTIONS),
        *(
            ApiKey.DESCRIBE_PRODUCERS,
            ApiKey.UPDATE_FEATURES,
            ApiKey.DESCRIBE_CLUSTER,
            ApiKey.LIST_CONFIG_RESOURCES,
            ApiKey.DESCRIBE_TOPIC_PARTITIONS,
        ),
    }
)


def exchanged(peer: Peer, frame: bytes) -> bytes | Closed:
    with RawClient(peer.broker.address) as client:
        client.send(frame)
        return client.receive()


def both_hang_up(pair: Pair, frame: bytes) -> None:
    answers = {peer.name: exchanged(peer, frame) for peer in pair.peers}
    assert answers == {"Kafka": Closed(), "Barnabas": Closed()}


@pytest.mark.parametrize("key", SERVED_BY_US, ids=lambda key: key.api_name)
def test_versions_outside_the_offer_end_the_connection(pair: Pair, key: ApiKey) -> None:
    lowest, highest = stable_versions(key)
    for version in (lowest - 1, highest + 1, 99, -1):
        both_hang_up(pair, struct.pack(">hhih", key, version, 7, -1) + bytes(100))


@pytest.mark.parametrize("key", [-1, 4, 5, 6, 7, 52, 56, 58, 62, 63, 70, 93, 94, 95, 1000])
def test_unknown_and_internal_apis_end_the_connection(pair: Pair, key: int) -> None:
    both_hang_up(pair, struct.pack(">hhih", key, 0, 7, -1) + bytes(100))


@pytest.mark.parametrize("version", [5, 6, 99, 32767, -1, -32768])
def test_an_unknown_version_of_api_versions_is_answered_in_version_0(pair: Pair, version: int) -> None:
    frame = struct.pack(">hhih", ApiKey.API_VERSIONS, version, 7, -1) + bytes(20)
    kafka, barnabas = (exchanged(peer, frame) for peer in pair.peers)
    assert barnabas == kafka


@pytest.mark.parametrize(
    "frame",
    [
        b"\0",
        bytes(7),
        struct.pack(">hhi", ApiKey.METADATA, 1, 7),
        struct.pack(">hhih", ApiKey.METADATA, 1, 7, 500) + b"short",
        struct.pack(">hhih", ApiKey.METADATA, 1, 7, 2) + b"\xff\xfe" + bytes(4),
        struct.pack(">hhih", ApiKey.METADATA, 12, 7, -1),
        struct.pack(">hhih", ApiKey.METADATA, 1, 7, -1) + struct.pack(">i", 1_000_000),
        struct.pack(">hhih", ApiKey.METADATA, 1, 7, -1) + struct.pack(">i", -2),
        struct.pack(">hhih", ApiKey.CREATE_TOPICS, 7, 7, -1) + b"\0\xff\xff\xff\xff\x0f",
        struct.pack(">hhih", ApiKey.PRODUCE, 3, 7, -1) + bytes(3),
    ],
    ids=["one byte", "seven bytes", "no client id", "long client id", "client id not UTF-8", "no body", "huge array", "negative array",
         "huge compact array", "half a body"],
)  # fmt: skip
def test_unreadable_frames_are_answered_or_end_the_connection_as_in_kafka(pair: Pair, frame: bytes) -> None:
    kafka, barnabas = (exchanged(peer, frame) for peer in pair.peers)
    if isinstance(kafka, Closed):
        assert isinstance(barnabas, Closed)
    else:
        assert not isinstance(barnabas, Closed), f"Kafka answers {kafka!r}"


@pytest.mark.parametrize("length", [0, -1, -(2**31), 2**31 - 1, 104_857_601])
def test_impossible_frame_lengths_end_the_connection(pair: Pair, length: int) -> None:
    for peer in pair.peers:
        with RawClient(peer.broker.address) as client:
            client.send_bytes(struct.pack(">i", length))
            client.send_bytes(bytes(1000))
            assert client.receive() == Closed(), peer.name


def test_bytes_behind_a_request_are_taken_alike(pair: Pair) -> None:
    body = encode(MetadataRequest(topics=[]), 1)
    frame = struct.pack(">hhih", ApiKey.METADATA, 1, 7, -1) + body + b"more"
    kafka, barnabas = (exchanged(peer, frame) for peer in pair.peers)
    assert isinstance(barnabas, Closed) == isinstance(kafka, Closed)


def test_unknown_tagged_fields_are_skipped_alike(pair: Pair) -> None:
    tags = b"\x01\x63\x03abc"
    header = struct.pack(">hhih", ApiKey.DESCRIBE_CLUSTER, 1, 7, -1) + tags
    body = encode(DescribeClusterRequest(include_cluster_authorized_operations=False), 1)[:-1] + tags
    answers = []
    for peer in pair.peers:
        answer = exchanged(peer, header + body)
        assert not isinstance(answer, Closed), peer.name
        answers.append(plain(RawClient.read(ApiKey.DESCRIBE_CLUSTER, 1, answer), 1)["error_code"])
    assert answers == [0, 0]


@pytest.mark.parametrize("client_id", [None, "", "ä", "x" * 1000])
def test_a_request_may_have_any_client_id(pair: Pair, client_id: str | None) -> None:
    for peer in pair.peers:
        with RawClient(peer.broker.address, client_id) as client:
            for version in range(5):
                answer = client.ask(ApiVersionsRequest(client_software_name="a", client_software_version="1"), version)
                assert answer.error_code == 0


def test_requests_sent_together_are_answered_in_order(pair: Pair) -> None:
    for peer in pair.peers:
        with RawClient(peer.broker.address) as client:
            requests = [
                struct.pack(">hhih", ApiKey.METADATA, 1, 100 + number, -1) + encode(MetadataRequest(topics=[]), 1) for number in range(20)
            ]
            client.send_bytes(b"".join(struct.pack(">i", len(frame)) + frame for frame in requests))
            numbers = []
            for _ in requests:
                answer = client.receive()
                assert not isinstance(answer, Closed)
                numbers.append(struct.unpack_from(">i", answer)[0])
            assert numbers == list(range(100, 120)), peer.name

"""Tagged fields: unknown ones are skipped, known ones fill exactly the size they announce, and
every count is checked.
"""

from __future__ import annotations

import pytest

from barnabas.wire.compiler import decode, encode
from barnabas.wire.coordinator_records.consumer_group_member_metadata import ConsumerGroupMemberMetadataValue
from barnabas.wire.coordinator_records.transaction_log import TransactionLogValue
from barnabas.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest
from barnabas.wire.tagged_fields import TAGS_MAX, MalformedMessage, skip_tagged_fields
from barnabas.wire.varint import write_uvarint

# Of a request to delete topics.
ELEMENTS = 50_000


def tag(number: int, value: bytes) -> bytes:
    out = bytearray()
    write_uvarint(out, number)
    write_uvarint(out, len(value))
    return bytes(out) + value


def section(*tags: bytes) -> bytes:
    out = bytearray()
    write_uvarint(out, len(tags))
    return bytes(out) + b"".join(tags)


EPOCH_7 = tag(1, (7).to_bytes(8, "big"))
READY = tag(3, b"\x01")


def api_versions_response(tags: bytes) -> ApiVersionsResponse:
    fixed = encode(ApiVersionsResponse(error_code=0, api_keys=[]), 3)
    assert fixed.endswith(b"\x00")
    bytes_ = fixed[:-1] + tags
    message, position = decode(ApiVersionsResponse, 3, bytes_)
    assert position == len(bytes_)
    return message


@pytest.mark.parametrize(
    "tags",
    [
        section(EPOCH_7, READY),
        section(READY, EPOCH_7),
        section(EPOCH_7, READY, tag(99, b"unknown")),
        section(tag(2**32 - 1, b"x" * 300), EPOCH_7, tag(50, b""), READY),
    ],
    ids=["in order", "out of order", "with one unknown", "between unknown ones"],
)
def test_known_tags_are_read_and_unknown_ones_skipped(tags: bytes) -> None:
    message = api_versions_response(tags)
    assert (message.finalized_features_epoch, message.zk_migration_ready) == (7, True)


def test_a_message_that_knows_no_tags_skips_them_all() -> None:
    written = encode(ApiVersionsRequest(client_software_name="n"), 3)
    with_tags = written[:-1] + section(tag(0, b"abc"), tag(1, b""))
    assert decode(ApiVersionsRequest, 3, with_tags) == (ApiVersionsRequest(client_software_name="n"), len(with_tags))


def test_absent_tags_mean_defaults() -> None:
    message = api_versions_response(section())
    assert (message.finalized_features_epoch, message.zk_migration_ready) == (-1, False)


def test_a_tagged_field_that_holds_its_default_is_not_written() -> None:
    response = ApiVersionsResponse(error_code=0, api_keys=[])
    response.finalized_features_epoch = -1
    assert encode(response, 3).endswith(section())
    response.finalized_features_epoch = 0
    assert encode(response, 3).endswith(section(tag(1, bytes(8))))


def test_tagged_fields_are_written_in_the_order_of_their_tags_not_of_their_declaration() -> None:
    value = TransactionLogValue(
        producer_id=1,
        producer_epoch=1,
        next_producer_epoch=5,
        transaction_timeout_ms=1,
        transaction_status=1,
        transaction_partitions=None,
        transaction_last_update_timestamp_ms=1,
        transaction_start_timestamp_ms=1,
        client_transaction_version=2,
    )
    assert encode(value, 1).endswith(section(tag(2, b"\x00\x02"), tag(3, b"\x00\x05")))


@pytest.mark.parametrize("value", [(7).to_bytes(7, "big"), (7).to_bytes(9, "big"), b""], ids=["short", "long", "empty"])
def test_a_known_tag_must_fill_its_size(value: bytes) -> None:
    # Enough bytes follow that the value itself can be read with any announced size.
    with pytest.raises(MalformedMessage, match="tagged finalized_features_epoch does not fill its size"):
        api_versions_response(section(tag(1, value), tag(90, bytes(20))))


@pytest.mark.parametrize("count", [2, TAGS_MAX])
def test_a_count_of_tags_beyond_the_bytes_that_remain_is_refused(count: int) -> None:
    out = bytearray()
    write_uvarint(out, count)
    with pytest.raises(MalformedMessage, match=f"{count} tagged fields where 3 bytes remain"):
        skip_tagged_fields(bytes(out) + b"\x05\x00\x05", 0, len(out) + 3)
    with pytest.raises(MalformedMessage, match=f"{count} tagged fields"):
        api_versions_response(bytes(out) + b"\x05\x00\x05")


@pytest.mark.parametrize("count", [TAGS_MAX + 1, 1000, 2**31, 2**32 - 1])
def test_a_struct_with_more_tags_than_the_limit_is_refused(count: int) -> None:
    out = bytearray()
    write_uvarint(out, count)
    tags = bytes(out) + b"\x63\x00" * min(count, 1000)
    with pytest.raises(MalformedMessage, match=f"{count} tagged fields in one struct, which may have {TAGS_MAX}"):
        skip_tagged_fields(tags, 0, len(tags))
    with pytest.raises(MalformedMessage, match=f"{count} tagged fields in one struct"):
        api_versions_response(tags)


def test_a_struct_may_have_as_many_tags_as_the_limit() -> None:
    tags = section(*[tag(99, b"")] * TAGS_MAX)
    assert skip_tagged_fields(tags, 0, len(tags)) == len(tags)
    assert api_versions_response(tags) == api_versions_response(b"\x00")


@pytest.mark.parametrize("count", [TAGS_MAX, 10])
def test_tags_count_as_elements_of_a_request(count: int) -> None:
    """Otherwise millions of them would fit into one request, each struct being within its limit."""
    topic = b"\x02t" + bytes(16) + section(*[tag(99, b"")] * count)
    topics = bytearray()
    write_uvarint(topics, ELEMENTS // (count + 1) + 2)
    request = bytes(topics) + topic * (ELEMENTS // (count + 1) + 1) + bytes(4) + b"\x00"
    with pytest.raises(MalformedMessage, match=f"more than {ELEMENTS} elements in one request"):
        decode(DeleteTopicsRequest, 6, request)
    topics.clear()
    write_uvarint(topics, ELEMENTS // (count + 1) + 1)
    request = bytes(topics) + topic * (ELEMENTS // (count + 1)) + bytes(4) + b"\x00"
    assert len(decode(DeleteTopicsRequest, 6, request)[0].topics) == ELEMENTS // (count + 1)


@pytest.mark.parametrize("size", [1, 2**31 - 1, 2**32 - 1])
def test_a_tag_longer_than_the_bytes_that_remain_is_refused(size: int) -> None:
    out = bytearray(b"\x01\x63")
    write_uvarint(out, size)
    with pytest.raises(MalformedMessage, match=f"tagged field 99 announces {size} where 0 bytes remain"):
        skip_tagged_fields(bytes(out), 0, len(out))
    with pytest.raises(MalformedMessage, match="tagged field 99"):
        api_versions_response(bytes(out))


def test_skipping_ends_behind_the_last_tag() -> None:
    written = section(tag(5, b"five"), tag(6, b""))
    assert skip_tagged_fields(written + b"rest", 0, len(written) + 4) == len(written)


def member(metadata_is_null: bool) -> ConsumerGroupMemberMetadataValue:
    value = ConsumerGroupMemberMetadataValue(
        instance_id=None,
        rack_id=None,
        client_id="",
        client_host="",
        subscribed_topic_names=[],
        subscribed_topic_regex=None,
        server_assignor=None,
    )
    if metadata_is_null:
        value.classic_member_metadata = None
    return value


def test_a_tagged_struct_encodes_null_as_0_and_other_structs_as_minus_1() -> None:
    # Kafka writes the value this way for every member that uses the consumer protocol.
    written = encode(member(metadata_is_null=True), 0)
    assert written.endswith(section(tag(0, b"\x00")))
    assert decode(ConsumerGroupMemberMetadataValue, 0, written)[0].classic_member_metadata is None
    assert encode(member(metadata_is_null=False), 0).endswith(section())

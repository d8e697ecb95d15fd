"""The response to a batch of a topic that requires schemas, byte for byte."""

from __future__ import annotations

from random import Random

import pytest
from crc32c import crc32c

from barnabas.model.errors import ErrorCode
from barnabas.records.compression import Codec
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.scenarios.client import Client, produce_request
from tests.scenarios.schema_validation.stage import BY_ID, BY_PAYLOAD, PAYLOAD, Stage, batch, errors_of, record, stamped
from tests.waiting import until

PROTO = 'syntax = "proto3";\npackage shop;\nmessage First { int64 id = 1; }\nmessage Second { message Inner { string name = 1; } }\n'
NESTED = """{"type": "record", "name": "L", "fields": [
    {"name": "next", "type": ["null", "L"]}, {"name": "v", "type": {"type": "array", "items": "bytes"}}]}"""
JSON = '{"title": "Order", "type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}'


def test_a_refused_batch_names_its_bad_records(stage: Stage, client: Client) -> None:
    topic = stage.topic(client, BY_ID)
    schema_id, other = stage.register(f"{topic}-value"), stage.register(f"{topic}-elsewhere", '"string"')
    good = stamped(schema_id)
    answer = client.produce_batch(topic, 0, batch(good, b"raw", good, stamped(999_999), stamped(other), None))
    assert (answer.error_code, answer.base_offset) == (ErrorCode.INVALID_RECORD, -1)
    assert errors_of(answer) == {
        1: "the value does not name a schema",
        3: "schema id 999999 of the value is not registered",
        4: f"schema id {other} of the value is not registered under the subject {topic}-value",
    }
    assert answer.error_message == "one or more records have been rejected; record 1: the value does not name a schema"
    assert client.end_offset(topic) == 0
    assert client.produce(topic, [good, good]) == 0


def test_a_null_value_passes_and_so_does_a_null_key(stage: Stage, client: Client) -> None:
    topic = stage.topic(client, {"confluent.key.schema.validation": "true", **BY_PAYLOAD})
    assert client.produce_batch(topic, 0, batch(None, None)).error_code == ErrorCode.NONE


@pytest.mark.parametrize("version", [3, 7, 8, 9, 12])
def test_errors_of_records_are_in_responses_since_version_8(stage: Stage, client: Client, version: int) -> None:
    topic = stage.topic(client, BY_ID)
    response = client.ask(produce_request(topic, 0, batch(b"raw")), version)
    answer = response.responses[0].partition_responses[0]
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert bool(answer.record_errors) == bool(answer.error_message) == (version >= 8)


@pytest.mark.parametrize("codec", list(Codec), ids=str)
@pytest.mark.parametrize("config", [BY_ID, BY_PAYLOAD], ids=["id", "payload"])
def test_compressed_batches_are_validated(stage: Stage, client: Client, codec: Codec, config: dict[str, str]) -> None:
    topic = stage.topic(client, config)
    good = stamped(stage.register(f"{topic}-value"))
    assert client.produce_batch(topic, 0, batch(*[good] * 100, codec=codec)).error_code == ErrorCode.NONE
    assert list(errors_of(client.produce_batch(topic, 0, batch(*[good] * 99, b"raw", codec=codec)))) == [99]
    assert client.end_offset(topic) == 100


def test_keys_have_a_setting_and_a_subject_of_their_own(stage: Stage, client: Client) -> None:
    topic = stage.topic(client, {"confluent.key.schema.validation": "true"})
    key = stamped(stage.register(f"{topic}-key"))
    assert client.produce_batch(topic, 0, batch(record(b"raw", key=key), record(b"raw"))).error_code == ErrorCode.NONE
    answer = client.produce_batch(topic, 0, batch(record(b"raw", key=key), record(b"raw", key=b"k")))
    assert errors_of(answer) == {1: "the key does not name a schema"}


@pytest.mark.parametrize(
    ("strategy", "subject"),
    [("RecordNameStrategy", "{record}"), ("TopicRecordNameStrategy", "{topic}-{record}"), ("TopicNameStrategy", "{topic}-value")],
)
@pytest.mark.parametrize("ours", [False, True], ids=["confluent's name", "our name"])
@pytest.mark.parametrize(
    ("type_", "schema", "record_name"),
    [
        ("AVRO", '{{"type": "record", "name": "R{unique}", "namespace": "shop", "fields": []}}', "shop.R{unique}"),
        ("JSON", '{{"type": "object", "title": "R{unique}"}}', "R{unique}"),
        ("PROTOBUF", 'syntax = "proto3";\npackage shop;\nmessage A{unique} {{}}\nmessage R{unique} {{}}', "shop.R{unique}"),
    ],
    ids=["AVRO", "JSON", "PROTOBUF"],
)
def test_the_subject_follows_the_strategy(
    stage: Stage, client: Client, strategy: str, subject: str, ours: bool, type_: str, schema: str, record_name: str
) -> None:
    own = {"barnabas.value.subject.name.strategy": strategy}
    confluents = {"confluent.value.subject.name.strategy": f"io.confluent.kafka.serializers.subject.{strategy}"}
    topic = stage.topic(client, {**BY_ID, **(own if ours else confluents)})
    unique = topic.removeprefix("topic-")
    text, name = schema.format(unique=unique), record_name.format(unique=unique)
    schema_id = stage.register(f"{topic}-unrelated", text, type_)
    value = stamped(schema_id, b"\x02\x02")
    assert client.produce_batch(topic, 0, batch(value)).error_code == ErrorCode.INVALID_RECORD
    # The same schema gets the same id under a second subject, and is known at once.
    assert stage.register(subject.format(topic=topic, record=name), text, type_) == schema_id
    assert client.produce_batch(topic, 0, batch(value)).error_code == ErrorCode.NONE


def test_a_guid_in_a_header_names_the_schema(stage: Stage, client: Client) -> None:
    topic = stage.topic(client, BY_PAYLOAD)
    stage.register(f"{topic}-value")
    guid = b"\x01" + stage.guid_of(f"{topic}-value")
    header = ("__value_schema_id", guid)
    assert client.produce_batch(topic, 0, batch(record(PAYLOAD, headers=[header]), record(guid + PAYLOAD))).error_code == ErrorCode.NONE
    unknown = ("__value_schema_id", b"\x01" + bytes(16))
    answer = client.produce_batch(topic, 0, batch(record(b"junk junk", headers=[header]), record(PAYLOAD, headers=[unknown])))
    assert errors_of(answer)[1] == "schema GUID 00000000-0000-0000-0000-000000000000 of the value is not registered"
    assert (errors_of(answer)[0] or "").startswith("the value does not match schema GUID ")


@pytest.mark.parametrize(
    ("type_", "schema", "good", "bad"),
    [
        ("AVRO", '{"type": "record", "name": "N", "fields": [{"name": "x", "type": "string"}]}', b"\x04hi", b"\x40hi"),
        ("JSON", JSON, b'{"id": 5}', b'{"id": "five"}'),
        ("PROTOBUF", PROTO, b"\x00\x08\x05", b"\x00\x08"),
    ],
    ids=["AVRO", "JSON", "PROTOBUF"],
)
def test_at_level_payload_the_bytes_must_decode(stage: Stage, client: Client, type_: str, schema: str, good: bytes, bad: bytes) -> None:
    by_payload, by_id = stage.topic(client, BY_PAYLOAD), stage.topic(client, BY_ID)
    schema_id = stage.register(f"{by_payload}-value", schema, type_)
    assert stage.register(f"{by_id}-value", schema, type_) == schema_id
    fine, broken = stamped(schema_id, good), stamped(schema_id, bad)
    assert client.produce_batch(by_payload, 0, batch(fine, fine)).error_code == ErrorCode.NONE
    answer = client.produce_batch(by_payload, 0, batch(fine, broken, fine))
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert list(errors_of(answer)) == [1]
    assert (errors_of(answer)[1] or "").startswith(f"the value does not match schema id {schema_id}: ")
    assert client.produce_batch(by_id, 0, batch(fine, broken, fine)).error_code == ErrorCode.NONE


def test_a_deleted_subject_refuses_when_the_knowledge_is_renewed(stage: Stage, client: Client) -> None:
    topic = stage.topic(client, BY_ID)
    good = stamped(stage.register(f"{topic}-value"))
    client.produce(topic, [good])
    stage.registry.ask("DELETE", f"/subjects/{topic}-value")
    client.alter_configs(4, "1", {"barnabas.schema.validation.cache.ms": "0"})
    until(lambda: client.produce_batch(topic, 0, batch(good)).error_code == ErrorCode.INVALID_RECORD, "the broker asks the registry again")
    client.alter_configs(4, "1", {"barnabas.schema.validation.cache.ms": "300000"})


def test_each_partition_of_a_request_has_its_own_verdict(stage: Stage, client: Client) -> None:
    topic = stage.topic(client, BY_ID, partitions=3)
    free = stage.topic(client, {})
    good = stamped(stage.register(f"{topic}-value"))
    data = [PartitionProduceData(index=index, records=batch(value)) for index, value in enumerate((good, b"raw", good))]
    request = ProduceRequest(
        transactional_id=None,
        acks=-1,
        timeout_ms=10_000,
        topic_data=[
            TopicProduceData(name=topic, partition_data=data),
            TopicProduceData(name=free, partition_data=[PartitionProduceData(index=0, records=batch(b"raw"))]),
        ],
    )
    checked, unchecked = client.ask(request, 12).responses
    assert [each.error_code for each in checked.partition_responses] == [0, ErrorCode.INVALID_RECORD, 0]
    assert [each.error_code for each in unchecked.partition_responses] == [0]


def test_without_acknowledgements_a_refused_batch_closes_the_connection(stage: Stage, client: Client) -> None:
    topic = stage.topic(client, BY_ID)
    with Client(stage.kafka.bootstrap) as careless:
        careless.send(produce_request(topic, 0, batch(b"raw"), acks=0), 12)
        assert careless.hung_up()
    assert client.end_offset(topic) == 0


def test_a_refused_batch_consumes_no_sequence_number(stage: Stage, client: Client) -> None:
    topic = stage.topic(client, BY_ID)
    good = stamped(stage.register(f"{topic}-value"))
    identity = client.ask(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0))
    producer = {"producer_id": identity.producer_id, "producer_epoch": identity.producer_epoch}

    def send(value: bytes, sequence: int) -> int:
        return client.produce_batch(topic, 0, batch(value, base_sequence=sequence, **producer)).error_code

    assert send(good, 0) == ErrorCode.NONE
    assert send(b"raw", 1) == ErrorCode.INVALID_RECORD
    assert send(good, 2) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert send(good, 1) == ErrorCode.NONE
    assert send(good, 1) == ErrorCode.NONE  # The retry gets the response of the first attempt.
    assert client.end_offset(topic) == 2


def test_pipelined_batches_of_a_producer_keep_their_order_while_ids_are_looked_up(stage: Stage, client: Client) -> None:
    topic = stage.topic(client, BY_ID)
    ids = [stage.register(f"{topic}-value", schema) for schema in ('"int"', '"long"', '"float"', '"double"')]
    identity = client.ask(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0))
    requests = [
        produce_request(
            topic,
            0,
            batch(stamped(ids[number % 4]), base_sequence=number, producer_id=identity.producer_id, producer_epoch=identity.producer_epoch),
            acks=-1,
        )
        for number in range(100)
    ]
    for request in requests:
        client.send(request, 12)
    answers = [client.receive(request, 12)[1].responses[0].partition_responses[0] for request in requests]
    assert [each.error_code for each in answers] == [0] * 100
    assert [each.base_offset for each in answers] == list(range(100))


def test_a_damaged_batch_is_corrupt_and_not_invalid(stage: Stage, client: Client) -> None:
    topic = stage.topic(client, BY_ID)
    made = batch(b"raw")
    made[-2] ^= 1
    assert client.produce_batch(topic, 0, made).error_code == ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("config", [BY_ID, BY_PAYLOAD], ids=["id", "payload"])
def test_hostile_bytes_get_an_answer(stage: Stage, client: Client, config: dict[str, str]) -> None:
    """Values that are nearly right, batches whose records are nearly right, and noise."""
    topic = stage.topic(client, config)
    random = Random(16)
    ids = [
        stage.register(f"{topic}-value", NESTED),
        stage.register(f"{topic}-other", JSON, "JSON"),
        stage.register(f"{topic}-third", PROTO, "PROTOBUF"),
    ]
    codes = set()
    for _ in range(300):
        value = bytearray(stamped(random.choice(ids), random.choice([b"\x02" * 2000, b"[" * 5000, random.randbytes(200), b"\xff" * 30])))
        for _ in range(random.randint(0, 3)):
            value[random.randrange(len(value))] = random.randrange(256)
        made = batch(bytes(value), stamped(ids[0], b"\x00\x00"), codec=random.choice(list(Codec)))
        if random.random() < 0.3:
            made[random.randrange(61, len(made))] ^= 1 << random.randrange(8)
            made[17:21] = _checksum(made)
        codes.add(client.produce_batch(topic, 0, made).error_code)
    assert codes <= {ErrorCode.NONE, ErrorCode.INVALID_RECORD}
    assert ErrorCode.INVALID_RECORD in codes


def _checksum(made: bytearray) -> bytes:
    return crc32c(bytes(made[21:])).to_bytes(4, "big")

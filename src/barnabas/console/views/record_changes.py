"""Sending records: one that a person types, the same one again, or a file of them."""

from __future__ import annotations

import json
from typing import Final

from barnabas.console.access.catalog import topic
from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.access.producing import Sent, send
from barnabas.console.core.record_request import FORMATS, NewRecord, read_bytes, read_headers, read_lines
from barnabas.console.core.topic import Topic
from barnabas.console.errors import BadValue
from barnabas.console.limits import BODY_BYTES_MAX
from barnabas.console.views.records import read_one
from barnabas.console.web.call import Call
from barnabas.console.web.operation import Changed, change
from barnabas.console.web.parameters import Parameter


async def produce_record(call: Call) -> Changed:
    client = call.cluster
    target = await topic(client, call.text("target") or call.text("topic"))
    key = await _bytes(call, client, target, "key")
    value = await _bytes(call, client, target, "value")
    partition = call.optional_number("partition")
    if partition is not None and partition >= len(target.partitions):
        raise BadValue(f"Topic {target.name} has no partition {partition}.", "partition")
    return await _sent(call, client, target, [NewRecord(key, value, read_headers(call.text("headers")), partition)])


async def resend_record(call: Call) -> Changed:
    client = call.cluster
    target = await topic(client, call.text("target") or call.text("topic"))
    record, _, _ = await read_one(call)
    if record.control is not None or record.offset != int(call.path["offset"]):
        raise BadValue("There is no record of a producer at this offset.")
    return await _sent(call, client, target, [NewRecord(record.key, record.value, list(record.headers))])


async def produce_file(call: Call) -> Changed:
    client = call.cluster
    target = await topic(client, call.text("topic"))
    records = list(read_lines(call.text("file")))
    if not records:
        raise BadValue("The file has no records.", "file")
    wrong = next((each.partition for each in records if each.partition is not None and each.partition >= len(target.partitions)), None)
    if wrong is not None:
        raise BadValue(f"Topic {target.name} has no partition {wrong}.", "file")
    return await _sent(call, client, target, records)


async def _sent(call: Call, client: ClusterClient, target: Topic, records: list[NewRecord]) -> Changed:
    sent: list[Sent] = await client.run(send, client.settings.bootstrap, client.properties, target.name, records)
    if len(sent) == 1:
        place = sent[0]
        done = f"The record is {target.name}/{place.partition}/{place.offset}."
        return Changed(done, call.url("topics", target.name, "records", place.partition, place.offset))
    return Changed(f"{len(sent)} records are in topic {target.name}.", call.url("topics", target.name, "records"))


async def _bytes(call: Call, client: ClusterClient, target: Topic, part: str) -> bytes | None:
    text, name = call.text(part), call.text(f"{part}_format")
    if name != "schema":
        return read_bytes(text, name, part)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadValue(f"{part} is no JSON: {error}.", part) from None
    try:
        return await client.run(client.schemas.encode, f"{target.name}-{part}", value)
    except BadValue as error:
        raise BadValue(error.sentence, part) from error


_TARGET: Final = Parameter("target", "Another topic than that of the address.", default="")

OPERATIONS: Final = (
    change(
        "produce_record",
        "/clusters/{cluster}/topics/{topic}/records",
        produce_record,
        summary="Send a record.",
        parameters=(
            Parameter("key", "The key.", default="", maximum=BODY_BYTES_MAX, secret=True),
            Parameter("key_format", "How the key is written.", default="null", choices=FORMATS),
            Parameter("value", "The value.", default="", maximum=BODY_BYTES_MAX, secret=True),
            Parameter("value_format", "How the value is written; null is a tombstone.", default="text", choices=FORMATS),
            Parameter("headers", "Headers, a line name=value each.", default="", maximum=100_000, secret=True),
            Parameter("partition", "The partition; chosen by the key if empty.", int, minimum=0),
            _TARGET,
        ),
    ),
    change(
        "resend_record",
        "/clusters/{cluster}/topics/{topic}/records/{partition}/{offset}/resend",
        resend_record,
        summary="Send the key, the value and the headers of a record again.",
        parameters=(_TARGET,),
    ),
    change(
        "produce_file",
        "/clusters/{cluster}/topics/{topic}/records/file",
        produce_file,
        summary="Send the records of a file, a line of JSON each.",
        parameters=(Parameter("file", "The content of the file.", required=True, maximum=BODY_BYTES_MAX, secret=True),),
    ),
)

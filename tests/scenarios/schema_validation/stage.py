"""A broker whose topics may require schemas, with a registry beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

from barnabas.records.batch_builder import build_batch
from barnabas.records.record import Header, Record
from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.produce import PartitionProduceResponse
from tests.registry_process import RegistryProcess
from tests.scenarios.client import NOW_MS, Client

BY_ID = {"confluent.value.schema.validation": "true"}
BY_PAYLOAD = {"barnabas.value.schema.validation": "payload"}
REGISTRY_URL = "barnabas.schema.registry.url"

INT_SCHEMA = '{"type": "record", "name": "Number", "namespace": "shop", "fields": [{"name": "x", "type": "int"}]}'
# The record {"x": 1}.
PAYLOAD = b"\x02"

_names = count()


def stamped(schema_id: int, payload: bytes = PAYLOAD) -> bytes:
    return b"\x00" + schema_id.to_bytes(4, "big") + payload


def batch(*records: bytes | Record | None, **options: Any) -> bytearray:
    opened = [each if isinstance(each, Record) else record(each) for each in records]
    return build_batch([each._replace(offset=offset) for offset, each in enumerate(opened)], **options)


def record(value: bytes | None, *, key: bytes | None = None, headers: Iterable[Header] = ()) -> Record:
    return Record(0, NOW_MS, key, value, tuple(headers))


@dataclass
class Stage:
    kafka: EmbeddedBroker
    registry: RegistryProcess

    def topic(self, client: Client, configs: Mapping[str, str], *, partitions: int = 1) -> str:
        name = f"topic-{next(_names)}"
        client.create_topic(name, partitions, dict(configs))
        return name

    def register(self, subject: str, schema: str = INT_SCHEMA, type_: str = "AVRO") -> int:
        response = self.registry.ask("POST", f"/subjects/{subject}/versions", {"schema": schema, "schemaType": type_})
        assert response.status_code == 200, response.text
        return int(response.json()["id"])

    def guid_of(self, subject: str) -> bytes:
        guid: str = self.registry.ask("GET", f"/subjects/{subject}/versions/latest").json()["guid"]
        return bytes.fromhex(guid.replace("-", ""))


def errors_of(answer: PartitionProduceResponse) -> dict[int, str | None]:
    """The reasons of the response by the index of the record."""
    return {each.batch_index: each.batch_index_error_message for each in answer.record_errors}

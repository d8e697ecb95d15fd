"""Our Avro serializers beside Confluent's Java ones: each reads what the other writes."""

from __future__ import annotations

import subprocess
from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated
from uuid import UUID, uuid4

import pytest

from barnabas.registry_client import RegistryClient
from barnabas.schemas import AvroDeserializer, AvroSerializer, Digits, RecordContext
from peers.confluent_client import confluent_program, why_confluent_is_missing
from tests.registry_process import RegistryProcess
from tests.waiting import LONG_PATIENCE_SECONDS

PROGRAM = Path(__file__).with_name("AvroTravel.java")


class Status(Enum):
    NEW = 1
    PAID = 2


@dataclass
class Line:
    name: str
    price: Annotated[Decimal, Digits(10, 2)]


@dataclass
class Payment:
    id: UUID
    at: datetime
    day: date
    status: Status
    lines: list[Line]
    token: bytes
    ratio: float
    note: str | None = None
    tags: dict[str, int] = field(default_factory=dict)
    previous: Payment | None = None


PAYMENT = Payment(
    UUID(int=7),
    datetime(2026, 1, 1, 12, 0, 0, 5, tzinfo=UTC),
    date(1969, 12, 31),
    Status.PAID,
    [Line("é", Decimal("-1.25")), Line("", Decimal("0.00"))],
    b"\x00\xff",
    0.1,
    "n",
    {"k": -1},
)


@pytest.mark.skipif(why_confluent_is_missing() is not None, reason=str(why_confluent_is_missing()))
def test_java_reads_our_records_and_we_read_javas(registry: RegistryProcess) -> None:
    sent = [PAYMENT, Payment(**{**vars(PAYMENT), "note": None, "previous": PAYMENT, "status": Status.NEW})]
    there, back = f"there-{uuid4()}", f"back-{uuid4()}"
    with RegistryClient(registry.url) as client:
        serialize, deserialize = AvroSerializer(client, Payment, namespace="bank"), AvroDeserializer(client, Payment)
        written = [serialize(each, RecordContext(there)) for each in sent]
        command = confluent_program(PROGRAM, registry.url, there, back)
        lines = "\n".join(b64encode(each).decode() for each in written)
        done = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=LONG_PATIENCE_SECONDS, check=False)
        assert done.returncode == 0, done.stderr
        read = [line.rpartition("\t") for line in done.stdout.splitlines()]
        assert [deserialize(b64decode(encoded)) for _, _, encoded in read] == sent
        # The same schema has the same id under both subjects, and data has one form.
        assert [b64decode(encoded) for _, _, encoded in read] == written
        assert '"status": "PAID"' in read[0][0]
        assert client.versions(f"{back}-value") == [1]

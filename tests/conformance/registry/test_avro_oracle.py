"""Our reader of Avro data beside Java's: the same bytes, the same schemas, the same data."""

from __future__ import annotations

import json
import random
import subprocess
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import pytest

from barnabas.schemas.avro.avro_schema import AvroSchema
from barnabas.schemas.avro.codec import AvroCodec
from barnabas.schemas.avro.union_forms import UnionForm
from barnabas.schemas.errors import DoesNotDecode, InvalidSchema
from peers.confluent_client import confluent_program, why_confluent_is_missing
from tests.conformance.registry.evolving_schemas import Evolution
from tests.waiting import LONG_PATIENCE_SECONDS

PROGRAM = Path(__file__).with_name("AvroOracle.java")
CASES = 1_500

Case = tuple[Any, Any, bytes]


def java_answers(cases: list[Case]) -> list[str]:
    lines = "\n".join(
        " ".join(b64encode(part).decode() for part in (json.dumps(writer).encode(), json.dumps(reader).encode(), data))
        for writer, reader, data in cases
    )
    done = subprocess.run(
        confluent_program(PROGRAM), input=lines, capture_output=True, text=True, timeout=LONG_PATIENCE_SECONDS, check=True
    )
    return done.stdout.splitlines()


def our_answer(writer: Any, reader: Any, data: bytes) -> bytes | str:
    """The data as the reader's schema writes it again, or the reason why it cannot be read."""
    try:
        written, read = AvroSchema.parse(json.dumps(writer)), AvroSchema.parse(json.dumps(reader))
        value = AvroCodec(written, read, logical_types=False, unions=UnionForm.INDEXED).decode(data)
    except (DoesNotDecode, InvalidSchema) as error:
        return str(error)
    return AvroCodec(read, logical_types=False).encode(value)


def _same(schema: Any, ours: bytes | str, theirs: bytes) -> bool:
    """Equal bytes, or equal data: Java's maps have an order of their own."""
    if isinstance(ours, str) or ours == theirs:
        return ours == theirs
    codec = AvroCodec(AvroSchema.parse(json.dumps(schema)), logical_types=False)
    return repr_sorted(codec.decode(ours)) == repr_sorted(codec.decode(theirs))


def repr_sorted(value: Any) -> str:
    """NaN equals itself in a text."""
    if isinstance(value, dict):
        return str(sorted((key, repr_sorted(each)) for key, each in value.items()))
    return str([repr_sorted(each) for each in value]) if isinstance(value, list) else repr(value)


def differences(cases: list[Case]) -> list[Any]:
    answers = java_answers(cases)
    assert len(answers) == len(cases)
    found = []
    for case, theirs in zip(cases, answers, strict=True):
        ours = our_answer(*case)
        agree = isinstance(ours, str) if theirs.startswith("-") else _same(case[1], ours, b64decode(theirs[2:]))
        if not agree:
            found.append((json.dumps(case[0]), json.dumps(case[1]), case[2], ours, theirs))
    return found


@pytest.mark.skipif(why_confluent_is_missing() is not None, reason=str(why_confluent_is_missing()))
def test_old_data_reads_as_in_java() -> None:
    cases: list[Case] = []
    for seed in range(CASES):
        evolution = Evolution(random.Random(seed))
        writer = evolution.schema()
        value = evolution.value(writer)
        data = AvroCodec(AvroSchema.parse(json.dumps(writer)), logical_types=False).encode(value)
        cases.append((writer, evolution.newer(writer), data))
    assert differences(cases) == []


@pytest.mark.skipif(why_confluent_is_missing() is not None, reason=str(why_confluent_is_missing()))
def test_damaged_data_that_java_refuses_is_refused() -> None:
    """Java is more lenient with some bytes, such as a boolean of 7; it never refuses what we
    accept."""
    cases: list[Case] = []
    for seed in range(CASES):
        chance = random.Random(seed)
        evolution = Evolution(chance)
        schema = evolution.schema()
        data = bytearray(AvroCodec(AvroSchema.parse(json.dumps(schema)), logical_types=False).encode(evolution.value(schema)))
        for _ in range(chance.randrange(1, 4)):
            if data and chance.random() < 0.7:
                data[chance.randrange(len(data))] = chance.randrange(256)
            elif data:
                del data[chance.randrange(len(data)) :]
        cases.append((schema, schema, bytes(data)))
    wrongly_accepted = [each for each in differences(cases) if not isinstance(each[3], str)]
    assert wrongly_accepted == []

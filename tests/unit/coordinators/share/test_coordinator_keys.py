from __future__ import annotations

import pytest

from barnabas.coordinators.share.coordinator_keys import parse_coordinator_key
from barnabas.coordinators.share.persister import SharePartitionKey
from barnabas.model.ids import uuid_text
from tests.unit.metadata.made import uuid

TOPIC = uuid_text(uuid(1))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"g:{TOPIC}:3", SharePartitionKey("g", uuid(1), 3)),
        (f"a:b::c:{TOPIC}:3", SharePartitionKey("a:b::c", uuid(1), 3)),
        (f"g:{TOPIC}:-1", SharePartitionKey("g", uuid(1), -1)),
        (f"g:{TOPIC}:+1::", SharePartitionKey("g", uuid(1), 1)),
        (f"g:{TOPIC}==:3", SharePartitionKey("g", uuid(1), 3)),
    ],
)
def test_a_coordinator_key_is_read_from_its_end(text: str, expected: SharePartitionKey) -> None:
    assert parse_coordinator_key(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("", ":", ":::", "g", "g:0", "g:topic:0"),
        *(f":{TOPIC}:0", f"  :{TOPIC}:0"),
        *(f"g:{TOPIC}:x", f"g:{TOPIC}:", f"g:{TOPIC}:2147483648", f"g:{TOPIC}:1_0"),
    ],
)
def test_any_other_text_is_no_coordinator_key(text: str) -> None:
    assert parse_coordinator_key(text) is None


def test_a_key_survives_its_own_text() -> None:
    key = SharePartitionKey("a:b", uuid(1), 7)
    assert parse_coordinator_key(key.coordinator_key) == key

"""Schemas as a registry gives them."""

from __future__ import annotations

import pytest

from barnabas.registry_client.registered import RegisteredSchema
from barnabas.schemas.errors import InvalidSchema
from barnabas.schemas.parsing import parse_schema
from barnabas.schemas.schema import SchemaType

# A default that does not fit its type: older registries accepted it.
LENIENT = '{"type":"record","name":"R","fields":[{"name":"f","type":"int","default":"none"}]}'


def test_a_schema_that_an_older_registry_accepted_is_still_read() -> None:
    with pytest.raises(InvalidSchema):
        parse_schema(SchemaType.AVRO, LENIENT)
    assert RegisteredSchema(SchemaType.AVRO, LENIENT).parsed.record_name == "R"

from __future__ import annotations

import pytest

from barnabas.console.core.subject import (
    SchemaReference,
    SubjectVersion,
    pretty_schema,
    read_references,
    reference_lines,
    subjects_of_topic,
    versions_of,
)
from barnabas.console.errors import BadValue


def test_versions_are_listed_newest_first_with_deleted_ones() -> None:
    assert versions_of([1, 2, 3], [1, 3]) == [SubjectVersion(3, False), SubjectVersion(2, True), SubjectVersion(1, False)]


def test_references_are_lines_that_can_be_read_back() -> None:
    found = [SchemaReference("shop.Address", "address value", 2), SchemaReference("other.proto", "other", 10)]
    assert read_references(reference_lines(found) + "\n\n") == found


@pytest.mark.parametrize("line", ["name subject", "name subject x", "name subject 9999999999", "1"])
def test_a_line_without_name_subject_and_version_is_refused(line: str) -> None:
    with pytest.raises(BadValue, match="A reference is a line"):
        read_references(line)


def test_json_schemas_are_printed_with_a_line_for_each_field_and_others_stay() -> None:
    assert pretty_schema("AVRO", '{"type":"string"}') == '{\n  "type": "string"\n}'
    assert pretty_schema("AVRO", "[" * 100_000) == "[" * 100_000
    assert pretty_schema("PROTOBUF", 'syntax = "proto3";') == 'syntax = "proto3";'


def test_subjects_of_a_topic_are_those_of_its_name_and_of_its_records() -> None:
    subjects = ["orders-eu-value", "orders-key", "orders-shop.Order", "orders-value", "shop.Order"]
    assert subjects_of_topic("orders", subjects) == ["orders-key", "orders-value", "orders-shop.Order"]

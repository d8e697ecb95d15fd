"""Protobuf schemas as descriptors: what Python's serializers send becomes text and back again."""

from __future__ import annotations

from base64 import b64encode

import pytest
from google.protobuf import api_pb2, descriptor_pb2, struct_pb2, timestamp_pb2, type_pb2, wrappers_pb2
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool

from barnabas.schemas.protobuf.descriptors import descriptor_of
from barnabas.schemas.protobuf.protobuf_schema import ProtobufSchema


@pytest.mark.parametrize(
    "module", [timestamp_pb2, struct_pb2, wrappers_pb2, descriptor_pb2, api_pb2, type_pb2], ids=lambda module: module.__name__
)
def test_a_descriptor_becomes_a_file_with_the_same_messages(module: object) -> None:
    sent = FileDescriptorProto()
    module.DESCRIPTOR.CopyToProto(sent)  # type: ignore[attr-defined]
    schema = ProtobufSchema.parse(b64encode(sent.SerializeToString()).decode())
    assert [message.name for message in schema.file.messages] == [message.name for message in sent.message_type]
    assert ProtobufSchema.parse(schema.canonical).canonical == schema.canonical
    made = descriptor_of(schema.file, sent.name)
    for before, after in zip(sent.message_type, made.message_type, strict=True):
        described = {(each.number, each.name, each.type, each.type_name, each.label) for each in before.field}
        assert {(each.number, each.name, each.type, each.type_name, each.label) for each in after.field} == described


def test_a_file_becomes_a_descriptor_that_protobuf_accepts() -> None:
    text = """syntax = "proto3"; package a;
    message M { optional string s = 1; repeated int32 r = 2; map<string, N> by_name = 3; oneof o { int32 q = 4; N n = 5; } E e = 6;
      message N { bytes b = 1; } enum E { Z = 0; Y = 1; } }"""
    pool = DescriptorPool()
    pool.Add(descriptor_of(ProtobufSchema.parse(text).file, "a.proto"))
    message = pool.FindMessageTypeByName("a.M")
    assert {field.name for field in message.fields} == {"s", "r", "by_name", "q", "n", "e"}
    assert message.fields_by_name["by_name"].message_type.GetOptions().map_entry
    assert message.fields_by_name["q"].containing_oneof.name == "o"
    assert message.fields_by_name["s"].has_presence


def test_text_that_is_neither_a_file_nor_a_descriptor_is_refused() -> None:
    from barnabas.schemas.errors import InvalidSchema

    with pytest.raises(InvalidSchema):
        ProtobufSchema.parse("bm8gZGVzY3JpcHRvcg==")

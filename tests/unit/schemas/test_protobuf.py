"""Changes of Protobuf schemas, and their canonical text."""

from __future__ import annotations

import pytest

from barnabas.schemas.errors import InvalidSchema, SchemaTooComplex
from barnabas.schemas.protobuf.comparison import COMPATIBLE, changes_between
from barnabas.schemas.protobuf.protobuf_schema import ProtobufSchema
from barnabas.schemas.schema import ResolvedReference


def proto(body: str, *, syntax: str = "proto3", package: str = "") -> ProtobufSchema:
    named = f"package {package};" if package else ""
    return ProtobufSchema.parse(f'syntax = "{syntax}"; {named} {body}')


def message(fields: str) -> str:
    return f"message M {{ {fields} }}"


NONE: list[str] = []
SCALARS = [
    ("int32 a = 1;", "int64 a = 1;", NONE),
    ("int32 a = 1;", "uint32 a = 1;", NONE),
    ("uint64 a = 1;", "bool a = 1;", NONE),
    ("sint32 a = 1;", "sint64 a = 1;", NONE),
    ("int32 a = 1;", "sint32 a = 1;", ["FIELD_SCALAR_KIND_CHANGED"]),
    ("fixed32 a = 1;", "sfixed32 a = 1;", NONE),
    ("fixed64 a = 1;", "sfixed64 a = 1;", NONE),
    ("fixed32 a = 1;", "fixed64 a = 1;", ["FIELD_SCALAR_KIND_CHANGED"]),
    ("string a = 1;", "bytes a = 1;", NONE),
    ("string a = 1;", "int32 a = 1;", ["FIELD_SCALAR_KIND_CHANGED"]),
    ("float a = 1;", "double a = 1;", ["FIELD_SCALAR_KIND_CHANGED"]),
    ("float a = 1;", "fixed32 a = 1;", ["FIELD_SCALAR_KIND_CHANGED"]),
    ("E a = 1; enum E { Z = 0; }", "int32 a = 1; enum E { Z = 0; }", NONE),
    ("E a = 1; enum E { Z = 0; }", "string a = 1; enum E { Z = 0; }", ["FIELD_SCALAR_KIND_CHANGED"]),
    ("string a = 1;", "N a = 1; message N {}", ["FIELD_KIND_CHANGED", "MESSAGE_ADDED"]),
    ("string a = 1;", "map<string, string> a = 1;", ["FIELD_KIND_CHANGED"]),
    ("map<string, int32> a = 1;", "map<string, int64> a = 1;", NONE),
    ("map<string, int32> a = 1;", "map<int32, int32> a = 1;", ["FIELD_SCALAR_KIND_CHANGED"]),
    ("map<string, int32> a = 1;", "map<string, string> a = 1;", ["FIELD_SCALAR_KIND_CHANGED"]),
    ("string a = 1;", "string b = 1;", ["FIELD_NAME_CHANGED"]),
    ("string a = 1;", "string a = 2;", ["FIELD_REMOVED", "FIELD_ADDED"]),
    ("string a = 1;", "string a = 1; string b = 2;", ["FIELD_ADDED"]),
    ("string a = 1; string b = 2;", "string a = 1;", ["FIELD_REMOVED"]),
    ("string a = 1; string b = 2;", "string b = 2; string a = 1;", NONE),
    ("N a = 1; message N {} message O {}", "O a = 1; message N {} message O {}", ["FIELD_NAMED_TYPE_CHANGED"]),
    ("message N {}", "", ["MESSAGE_REMOVED"]),
    ("", "message N {}", ["MESSAGE_ADDED"]),
    ("message N {} message O {}", "message O {} message N {}", ["MESSAGE_MOVED", "MESSAGE_MOVED"]),
    ("message N { string a = 1; }", "message N { int32 a = 1; }", ["FIELD_SCALAR_KIND_CHANGED"]),
    ("enum E { Z = 0; }", "", ["ENUM_REMOVED"]),
    ("", "enum E { Z = 0; }", ["ENUM_ADDED"]),
    ("enum E { Z = 0; }", "enum E { Z = 0; A = 1; }", ["ENUM_CONST_ADDED"]),
    ("enum E { Z = 0; A = 1; }", "enum E { Z = 0; }", ["ENUM_CONST_REMOVED"]),
    ("enum E { Z = 0; }", "enum E { Y = 0; }", ["ENUM_CONST_CHANGED"]),
    ("", "oneof o { string a = 1; }", ["ONEOF_ADDED", "ONEOF_FIELD_ADDED"]),
    ("oneof o { string a = 1; }", "", ["ONEOF_REMOVED"]),
    ("oneof o { string a = 1; string b = 2; }", "oneof o { string a = 1; }", ["ONEOF_FIELD_REMOVED"]),
    ("oneof o { string a = 1; }", "oneof o { string a = 1; int32 b = 2; }", ["ONEOF_FIELD_ADDED"]),
    ("oneof o { string a = 1; }", "string a = 1;", ["ONEOF_REMOVED", "ONEOF_FIELD_MOVED_TO_TOP_LEVEL"]),
    ("string a = 1;", "oneof o { string a = 1; }", ["ONEOF_ADDED"]),
    ("string a = 1; string b = 2;", "oneof o { string a = 1; string b = 2; }", ["MULTIPLE_FIELDS_MOVED_TO_ONEOF", "ONEOF_ADDED"]),
    ("oneof o { string a = 1; } string b = 2;", "oneof o { string a = 1; string b = 2; }", ["FIELD_MOVED_TO_EXISTING_ONEOF"]),
    ("oneof o { string a = 1; }", "oneof p { string a = 1; }", ["ONEOF_REMOVED", "ONEOF_ADDED"]),
    (
        "oneof o { string a = 1; string b = 2; }",
        "string a = 1;",
        ["ONEOF_REMOVED", "ONEOF_FIELD_MOVED_TO_TOP_LEVEL", "ONEOF_FIELD_REMOVED"],
    ),
    ("oneof o { string a = 1; }", "oneof o { int32 a = 1; }", ["FIELD_SCALAR_KIND_CHANGED"]),
]


@pytest.mark.parametrize(("old", "new", "expected"), SCALARS, ids=[f"{old} -> {new}" for old, new, _ in SCALARS])
def test_a_change_of_a_message_has_its_name(old: str, new: str, expected: list[str]) -> None:
    before, after = proto(message(old)), proto(message(new))
    assert [change.kind for change in changes_between(before.file, after.file)] == expected
    assert (after.unreadable(before) == []) == (set(expected) <= COMPATIBLE)


OF_PROTO2 = [
    ("optional int32 a = 1;", "repeated int32 a = 1;", ["FIELD_NUMERIC_LABEL_CHANGED"]),
    ("optional string a = 1;", "repeated string a = 1;", ["FIELD_STRING_OR_BYTES_LABEL_CHANGED"]),
    ("optional double a = 1;", "required double a = 1;", ["FIELD_NUMERIC_LABEL_CHANGED"]),
    ("", "required string a = 1;", ["REQUIRED_FIELD_ADDED"]),
    ("required string a = 1;", "", ["REQUIRED_FIELD_REMOVED"]),
    ("", "optional group G = 1 { optional string x = 2; }", ["FIELD_ADDED", "MESSAGE_ADDED"]),
]


@pytest.mark.parametrize(("old", "new", "expected"), OF_PROTO2)
def test_labels_count_where_the_file_has_them(old: str, new: str, expected: list[str]) -> None:
    before, after = proto(message(old), syntax="proto2"), proto(message(new), syntax="proto2")
    assert [change.kind for change in changes_between(before.file, after.file)] == expected


def test_another_package_is_another_schema() -> None:
    assert [difference.kind for difference in proto("message M {}", package="b").unreadable(proto("message M {}", package="a"))] == [
        "PACKAGE_CHANGED"
    ]


def test_a_full_name_and_a_short_one_are_the_same_type() -> None:
    short, full = "message M { N n = 1; message N {} }", "message M { .a.M.N n = 1; message N {} }"
    assert changes_between(proto(short, package="a").file, proto(full, package="a").file) == []


def test_a_recursive_message_is_compared_to_its_end() -> None:
    old, new = proto("message M { M next = 1; string a = 2; }"), proto("message M { M next = 1; int32 a = 2; }")
    assert [change.kind for change in changes_between(old.file, new.file)] == ["FIELD_SCALAR_KIND_CHANGED"]


@pytest.mark.parametrize("package", ["", "package p;", "package o;"])
def test_a_changed_type_of_an_import_is_found_where_it_is_used(package: str) -> None:
    """Also if the importing file has the package of the imported one."""

    def using(body: str) -> ProtobufSchema:
        other = ResolvedReference("other.proto", f'syntax = "proto3"; package o; message Other {{ {body} }}')
        return ProtobufSchema.parse(f'syntax = "proto3"; {package} import "other.proto"; message M {{ o.Other x = 1; }}', [other])

    kinds = [difference.kind for difference in using("int32 a = 1;").unreadable(using("string a = 1;"))]
    assert kinds == ["FIELD_SCALAR_KIND_CHANGED", "FIELD_NAMED_TYPE_CHANGED"]
    assert using("string a = 1; string b = 2;").unreadable(using("string a = 1;")) == []


CANONICAL = """syntax = "proto3";
package a.b;

import "google/protobuf/timestamp.proto";

option java_package = "x";

message M {
  reserved 7, 9 to 11;
  reserved "gone";

  string s = 1;
  repeated int32 r = 2;
  map<string, N> m = 5;
  google.protobuf.Timestamp at = 6;

  oneof o {
    int32 q = 3;
    N n = 4;
  }

  message N {
    optional string x = 1 [deprecated = true];
  }
  enum E {
    Z = 0;
    Y = 1;
  }
}
message Other {}
enum Top {
  T = 0;
}

service S {
  rpc Get (M) returns (stream Other);
}
"""


def test_the_canonical_text_has_a_fixed_layout() -> None:
    written = """syntax="proto3"; package a.b; import "google/protobuf/timestamp.proto"; option java_package = 'x';
    enum Top { T = 0; } // a comment
    message M { /* another */ enum E { Z = 0; Y = 1; } string s = 1; repeated int32 r = 2; oneof o { int32 q = 3; N n = 4; }
      map<string, N> m = 5; google.protobuf.Timestamp at = 6; message N { optional string x = 1 [deprecated=true]; }
      reserved 7, 9 to 11; reserved "gone"; }
    message Other {} service S { rpc Get(M) returns (stream Other); }"""
    parsed = ProtobufSchema.parse(written)
    assert parsed.canonical == CANONICAL
    assert ProtobufSchema.parse(parsed.canonical).canonical == CANONICAL
    assert parsed.record_name == "a.b.M"


def test_the_normal_form_ignores_order_and_short_names_but_not_the_order_of_messages() -> None:
    one = proto("message M { int32 b = 2; N a = 1; message N {} } message O {}", package="p")
    other = proto("message M { .p.M.N a = 1; int32 b = 2; message N {} } message O {}", package="p")
    assert one.canonical != other.canonical
    assert one.normalized == other.normalized
    assert proto("message O {} message M { int32 b = 2; N a = 1; message N {} }", package="p").normalized != one.normalized


@pytest.mark.parametrize(
    "text",
    [
        "",
        "message",
        "message M { string a = 1 }",
        "message M { foo }",
        'syntax = "proto3"; message M { Missing a = 1; }',
        'syntax = "proto3"; message M { string a = 1; string b = 1; }',
        'syntax = "proto3"; message M { string a = 1; string a = 2; }',
        'syntax = "proto3"; message M { string a = 0; }',
        'syntax = "proto3"; message M { string a = 536870912; }',
        'syntax = "proto3"; message M {} message M {}',
        'syntax = "proto3"; enum E { }',
        'syntax = "proto3"; message M { map<double, string> a = 1; }',
        'syntax = "proto3"; import "file:///etc/passwd"; message M {}',
        '{"type":"string"}',
    ],
)
def test_an_invalid_file_is_refused_with_a_sentence(text: str) -> None:
    if not text:
        assert ProtobufSchema.parse(text).file.messages == []
        return
    with pytest.raises(InvalidSchema, match=r"\.$"):
        ProtobufSchema.parse(text)


def test_a_deep_file_is_refused_before_the_grammar_sees_it() -> None:
    with pytest.raises(SchemaTooComplex):
        ProtobufSchema.parse('syntax = "proto3"; ' + "message M { " * 200 + "}" * 200)

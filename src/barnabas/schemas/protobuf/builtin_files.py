"""The files that Protobuf brings along, which a schema may import without a reference.

They are read from the descriptors of the installed ``protobuf`` package. Names are looked up in a
fixed list: a schema from outside must not choose a module to import.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Final

_OF_PROTOBUF: Final = (
    "any",
    "api",
    "descriptor",
    "duration",
    "empty",
    "field_mask",
    "source_context",
    "struct",
    "timestamp",
    "type",
    "wrappers",
)
# Of the package googleapis-common-protos, which need not be installed.
_OF_TYPES: Final = (
    "calendar_period",
    "color",
    "date",
    "datetime",
    "dayofweek",
    "expr",
    "fraction",
    "interval",
    "latlng",
    "localized_text",
    "money",
    "month",
    "phone_number",
    "postal_address",
    "quaternion",
    "timeofday",
)
_MODULES: Final = {f"google/protobuf/{name}.proto": f"google.protobuf.{name}_pb2" for name in _OF_PROTOBUF} | {
    f"google/type/{name}.proto": f"google.type.{name}_pb2" for name in _OF_TYPES
}


def is_builtin(name: str) -> bool:
    return name in _MODULES or name.startswith("confluent/")


@cache  # Bounded by the list above.
def builtin_descriptor(name: str) -> bytes | None:
    """The descriptor of a file; None if the file is not installed, and its types stay unknown."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    module = _MODULES.get(name)
    if module is None:
        return None
    try:
        found = import_module(module).DESCRIPTOR
    except ImportError:
        return None
    described = FileDescriptorProto()
    found.CopyToProto(described)
    return bytes(described.SerializeToString())

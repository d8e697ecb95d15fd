"""Protobuf messages whose schema a registry has (:mod:`barnabas.pipelines.registered`).

format: protobuf
format: {protobuf: {registry: http://127.0.0.1:8081, record: bank.Payment}}
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.pipelines.registered.settings import RegisteredSettings, declare_registered
from barnabas.schemas.schema import SchemaType

if TYPE_CHECKING:
    from barnabas.pipelines.declaration.fields import Fields


def declare(fields: Fields) -> RegisteredSettings:
    return declare_registered(fields, SchemaType.PROTOBUF)

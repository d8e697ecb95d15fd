"""The types of schemas, references between them, and the parsed form that all types share.

A schema is text of a type, with references to other schemas by subject and version. Parsed, it is a
:class:`ParsedSchema`, which knows its canonical text and the reasons why it cannot read older data.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, Protocol

from barnabas.schemas.difference import Difference
from barnabas.schemas.steps import Steps


class SchemaType(StrEnum):
    AVRO = "AVRO"
    JSON = "JSON"
    PROTOBUF = "PROTOBUF"


class Policy(StrEnum):
    """How strictly JSON Schemas are compared; the other formats know only one way."""

    STRICT = "STRICT"
    LENIENT = "LENIENT"


class Reference(NamedTuple):
    """A schema that another one uses under ``name``: the full name of an Avro type, the address in
    a ``$ref``, or the path in an import.
    """

    name: str
    subject: str
    version: int


class ResolvedReference(NamedTuple):
    """The text behind a reference, and behind the references of that text, and so on."""

    name: str
    text: str


class ParsedSchema(Protocol):
    @property
    def type(self) -> SchemaType: ...

    @property
    def canonical(self) -> str:
        """The text that a registry stores: equal for schemas that differ only in layout."""

    @property
    def normalized(self) -> str:
        """The canonical text with everything sorted that may stand in any order."""

    def unreadable(self, older: ParsedSchema, policy: Policy = Policy.STRICT, steps: Steps | None = None) -> list[Difference]:
        """What keeps this schema from reading data that was written with ``older``. Raises
        :class:`~barnabas.schemas.errors.OutOfSteps`; without ``steps`` after ``COMPARISONS_MAX``.
        """

    @property
    def record_name(self) -> str | None:
        """The full name of the record or message, for subjects that carry it."""

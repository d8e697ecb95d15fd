"""A schema as a registry has it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from uuid import UUID

from barnabas.registry_client.errors import RegistryUnreachable
from barnabas.schemas.parsing import parse_schema
from barnabas.schemas.schema import ParsedSchema, Reference, ResolvedReference, SchemaType


@dataclass(frozen=True)
class RegisteredSchema:
    """Equal answers make equal objects; ``parsed`` is made once for each."""

    type: SchemaType
    text: str
    id: int | None = None
    """None if the registry was asked by GUID and did not tell."""
    guid: UUID | None = None
    """None from registries that have no GUIDs."""
    subject: str | None = None
    version: int | None = None
    references: tuple[Reference, ...] = ()
    resolved: tuple[ResolvedReference, ...] = field(default=(), repr=False)
    """The texts behind the references, in the order that a parser needs."""

    @cached_property
    def parsed(self) -> ParsedSchema:
        """Raises :class:`~barnabas.schemas.errors.InvalidSchema`."""
        return parse_schema(self.type, self.text, self.resolved, stored=True)


@contextmanager
def answers_in_shape() -> Iterator[None]:
    """An answer without the fields that it must have comes from no registry."""
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise RegistryUnreachable(f"The registry answers with something else than its API says: {error!r}.") from None


def references_of(answer: Any) -> tuple[Reference, ...]:
    with answers_in_shape():
        return tuple(Reference(str(each["name"]), str(each["subject"]), int(each["version"])) for each in answer.get("references") or ())


def registered_of(answer: Any, resolved: Sequence[ResolvedReference], **known: Any) -> RegisteredSchema:
    """``known`` are the fields that the caller knows already, for answers without them."""
    with answers_in_shape():
        fields = {
            "type": SchemaType(answer.get("schemaType") or SchemaType.AVRO.value),
            "text": str(answer["schema"]),
            "id": answer.get("id"),
            "guid": UUID(answer["guid"]) if answer.get("guid") else None,
            "subject": answer.get("subject"),
            "version": answer.get("version"),
        }
    fields |= {name: value for name, value in known.items() if value is not None and fields.get(name) is None}
    return RegisteredSchema(**fields, references=references_of(answer), resolved=tuple(resolved))

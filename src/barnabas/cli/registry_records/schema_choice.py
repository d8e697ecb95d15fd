"""Which schema ``produce`` writes with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.cli.errors import Refused
from barnabas.cli.registry_records.formats import Format
from barnabas.cli.registry_records.registry_access import refusing
from barnabas.cli.schemas.schema_files import references, text_of, type_of
from barnabas.schemas.schema import Reference

if TYPE_CHECKING:
    from barnabas.registry_client.client import RegistryClient
    from barnabas.registry_client.registered import RegisteredSchema


@dataclass(frozen=True, slots=True)
class SchemaChoice:
    """The options of one part of the records, as they were given. Without any of them the schema is
    the latest of the subject."""

    part: str
    """``key`` or ``value``."""
    format: Format | None
    file: Path | None = None
    schema_id: int | None = None
    version: int | None = None
    subject: str | None = None
    message: str | None = None
    references: tuple[str, ...] = ()

    @property
    def chosen_format(self) -> Format:
        """Raises ``Refused`` for options that contradict each other."""
        given = {
            f"--{self.part}-schema": self.file,
            f"--{self.part}-schema-id": self.schema_id,
            f"--{self.part}-schema-version": self.version,
        }
        named = [option for option, value in given.items() if value is not None]
        if len(named) > 1:
            raise Refused(f"{' and '.join(named)} name two schemas: give one of them.")
        named += [f"--{self.part}-{name}" for name in ("subject", "message") if getattr(self, name) is not None]
        if self.format is None:
            return Format.AUTO if named else Format.TEXT
        if named and not self.format.needs_registry:
            raise Refused(f"{named[0]} is for schemas: --{self.part}-format is avro, json_schema, protobuf or auto then.")
        return self.format

    def registered(self, registry: RegistryClient, topic: str) -> RegisteredSchema:
        """Raises ``Refused``."""
        with refusing():
            found = self._found(registry, topic)
        wanted = self.chosen_format.schema_type
        if wanted not in (None, found.type):
            raise Refused(f"The schema of {self.part}s is of type {found.type.value}, and not {self.chosen_format.value}.")
        return found

    def _found(self, registry: RegistryClient, topic: str) -> RegisteredSchema:
        if self.schema_id is not None:
            return registry.schema_by_id(self.schema_id)
        subject = self.subject or registry.associated_subject(topic, is_key=self.part == "key") or f"{topic}-{self.part}"
        if self.file is not None:
            wanted = self.chosen_format.schema_type
            named = [Reference(each["name"], each["subject"], each["version"]) for each in references(list(self.references))]
            return registry.register(subject, type_of(self.file, wanted.value if wanted is not None else None), text_of(self.file), named)
        return registry.version(subject, self.version) if self.version is not None else registry.latest(subject)

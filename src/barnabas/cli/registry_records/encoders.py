"""The encoders of keys and values of ``produce``."""

from __future__ import annotations

from dataclasses import dataclass, field

from barnabas.cli.cluster.client import Cluster
from barnabas.cli.errors import Refused
from barnabas.cli.registry_records.part_encoder import PartEncoder
from barnabas.cli.registry_records.registry_access import registry_client
from barnabas.cli.registry_records.schema_choice import SchemaChoice


@dataclass(frozen=True, slots=True)
class Encoders:
    key: SchemaChoice
    value: SchemaChoice
    url: str | None
    login: str | None = field(repr=False)

    @property
    def needed(self) -> bool:
        """Raises ``Refused`` for options that contradict each other."""
        needed = self.key.chosen_format.needs_registry or self.value.chosen_format.needs_registry
        if not needed and self.url is not None:
            raise Refused("--registry is for keys or values with schemas: their format is avro, json_schema, protobuf or auto.")
        return needed

    def made(self, cluster: Cluster, topic: str) -> tuple[PartEncoder | None, PartEncoder | None]:
        """None for a part without a schema. Raises ``Refused``."""
        # Imported here: most commands need no registry.
        from barnabas.cli.registry_records.encoding import SchemaEncoder

        with registry_client(cluster.registry, self.url, self.login) as registry:
            made = [
                SchemaEncoder(choice.registered(registry, topic), choice.message) if choice.chosen_format.needs_registry else None
                for choice in (self.key, self.value)
            ]
        return made[0], made[1]

"""The settings in the metadata log: of topics, brokers, all brokers, groups and client metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from enum import IntEnum
from typing import NamedTuple

from barnabas.metadata.draft import Draft
from barnabas.model.dataclass import dataclass
from barnabas.wire.metadata_records import ConfigRecord, MetadataRecord


class ResourceType(IntEnum):
    """The numbers of the protocol, with their gaps."""

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigResource(NamedTuple):
    type: int
    name: str  # The id of a broker, or the empty name for all brokers.


CLUSTER_DEFAULT = ConfigResource(ResourceType.BROKER, "")


@dataclass(frozen=True, slots=True)
class ConfigsImage:
    by_resource: Mapping[ConfigResource, Mapping[str, str]] = field(default_factory=dict)

    def of(self, kind: ResourceType, name: str) -> Mapping[str, str]:
        return self.by_resource.get(ConfigResource(kind, name), {})

    def records(self) -> Iterator[MetadataRecord]:
        for resource, values in self.by_resource.items():
            for name, value in sorted(values.items()):
                yield ConfigRecord(resource_type=resource.type, resource_name=resource.name, name=name, value=value)


class ConfigsDelta:
    def __init__(self, image: ConfigsImage) -> None:
        self.image = image
        self._draft: Draft[ConfigResource, Mapping[str, str]] = Draft(image.by_resource)

    @property
    def changed(self) -> set[ConfigResource]:
        return self._draft.changed

    def replay(self, record: ConfigRecord) -> None:
        resource = ConfigResource(record.resource_type, record.resource_name)
        values = dict(self._draft.get(resource) or {})
        if record.value is None:
            values.pop(record.name, None)
        else:
            values[record.name] = record.value
        if values:
            self._draft.set(resource, values)
        else:
            self._draft.remove(resource)

    def forget_topic(self, name: str) -> None:
        """Delete the settings of a deleted topic."""
        resource = ConfigResource(ResourceType.TOPIC, name)
        if self._draft.get(resource) is not None:
            self._draft.remove(resource)

    def finish(self) -> ConfigsImage:
        return ConfigsImage(self._draft.finish()) if self.changed else self.image

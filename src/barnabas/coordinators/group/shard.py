"""The state that the parts of one shard share: groups, timers, randomness and metadata."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from barnabas.coordinators.group.group import Group
from barnabas.coordinators.group.settings import GroupSettings, SettingsOfGroup
from barnabas.coordinators.timers import Timers
from barnabas.env.entropy import Entropy
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.model.dataclass import dataclass


@dataclass(slots=True)
class GroupShard:
    partition: int
    settings: GroupSettings
    entropy: Entropy
    image: Callable[[], MetadataImage]
    """The newest metadata, for topics, their ids and partitions."""
    settings_of: Callable[[str], SettingsOfGroup]
    groups: dict[str, Group] = field(default_factory=dict)
    timers: Timers = field(default_factory=Timers)

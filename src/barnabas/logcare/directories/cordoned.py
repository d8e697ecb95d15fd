"""Directories that get no new replicas, by ``cordoned.log.dirs``. This node places none there and
reports them with its next heartbeat, so that the controller places none on a node where all
directories are cordoned."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from barnabas.metadata.effective_configs import EffectiveConfigs
from barnabas.metadata.metadata_delta import MetadataDelta
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.model.ids import Uuid
from barnabas.storage.log_directory import LogDirectory

ALL_DIRECTORIES = "*"


class CordonedDirectories:
    def __init__(self, directories: Sequence[LogDirectory], on_change: Callable[[], None]) -> None:
        self._directories = directories
        self._on_change = on_change
        self._known = False

    @property
    def ids(self) -> list[Uuid] | None:
        """The ids of the cordoned directories; None until this node has read its own settings from
        the metadata."""
        return [each.directory_id for each in self._directories if each.cordoned] if self._known else None

    async def publish(self, delta: MetadataDelta, image: MetadataImage, effective: EffectiveConfigs) -> None:
        if self._known and not delta.configs.changed:
            return
        named = effective.broker["cordoned.log.dirs"]
        assert isinstance(named, tuple)
        paths = {os.path.abspath(str(each)) for each in named}
        before, self._known = self.ids, True
        for directory in self._directories:
            directory.cordoned = ALL_DIRECTORIES in named or directory.path in paths
        if self.ids != before:
            self._on_change()

"""The names of all topics, and a number that changes only when they do.

Metadata changes all the time (a replica falls behind, a leader moves); patterns need matching again only when a topic came or went.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from barnabas.metadata.metadata_image import MetadataImage
from barnabas.metadata.topics import TopicImage


class TopicNames:
    def __init__(self, image: Callable[[], MetadataImage]) -> None:
        self._image = image
        self.names: Mapping[str, TopicImage] = {}
        self._version = -1

    @property
    def version(self) -> int:
        """The metadata offset at which the names were first seen to be these."""
        image = self._image()
        if image.topics.by_name is not self.names:
            if self._version < 0 or image.topics.by_name.keys() != self.names.keys():
                self._version = max(image.provenance.offset, 0)
            self.names = image.topics.by_name
        return self._version

"""The names of all topics, and a version that changes only with them.

Metadata changes all the time (an ISR shrinks, a leader moves), but patterns must be matched again
only if a topic was created or deleted.
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
        """The metadata offset at which the current names were first seen."""
        image = self._image()
        if image.topics.by_name is not self.names:
            if self._version < 0 or image.topics.by_name.keys() != self.names.keys():
                self._version = max(image.provenance.offset, 0)
            self.names = image.topics.by_name
        return self._version

"""The names of all topics in order, which are sorted only when a topic is created or deleted.

A client that pages through all topics would otherwise have them sorted for every page.
"""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.metadata.topics import TopicsImage


class TopicNames:
    """Of the newest image that was asked for."""

    def __init__(self) -> None:
        self._image: TopicsImage | None = None
        self._as_in_image: list[str] = []
        self._in_order: Sequence[str] = ()

    def in_order(self, image: TopicsImage) -> Sequence[str]:
        if image is not self._image:
            names = list(image.by_name)
            # An image that differs only in partitions has the same names in the same places.
            if names != self._as_in_image:
                self._as_in_image, self._in_order = names, sorted(names)
            self._image = image
        return self._in_order

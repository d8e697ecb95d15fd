"""Where a topic was mirrored from, by the names that ``barnabas mirror`` and MirrorMaker give.

Both call the copy of ``orders`` of cluster A ``A.orders``, and keep the positions of groups in the
topic ``A.checkpoints.internal`` beside it. A mirror that keeps names leaves nothing to tell its
topics by.
"""

from __future__ import annotations

_SEPARATOR = "."


def checkpoints_beside(topic: str) -> str | None:
    """The topic that exists beside ``topic`` if a mirror writes it; None if no mirror can."""
    alias, separator, name = topic.partition(_SEPARATOR)
    return f"{alias}.checkpoints.internal" if alias and separator and name and not name.endswith(".internal") else None


def alias_of(topic: str) -> str:
    """The name of the source cluster, of a topic that a mirror writes."""
    return topic.partition(_SEPARATOR)[0]

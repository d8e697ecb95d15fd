"""The topics that a member may see, which bound what its regular expression matches.

A pattern is matched during a heartbeat, with the permissions of the client that sent it, and again
when topics or rules change. As in Kafka one heartbeat matches all patterns of the group, so members
of one group should have the same permissions. A pattern is never matched without a heartbeat: when
a member leaves, the coordinator does not know what the others may see.
"""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple


class VisibleTopics(NamedTuple):
    names: Container[str]
    version: int
    """Changes with the rules."""

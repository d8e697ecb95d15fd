"""The kinds of groups, with their names in ListGroups."""

from __future__ import annotations

from enum import Enum


class GroupKind(Enum):
    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"

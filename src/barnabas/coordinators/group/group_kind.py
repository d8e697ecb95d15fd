"""What kinds of groups there are, as ListGroups names them."""

from __future__ import annotations

from enum import Enum


class GroupKind(Enum):
    CLASSIC = "classic"
    CONSUMER = "consumer"

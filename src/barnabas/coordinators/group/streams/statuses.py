"""The conditions that a heartbeat reports to a member besides errors."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class StatusCode(IntEnum):
    STALE_TOPOLOGY = 0
    MISSING_SOURCE_TOPICS = 1
    INCORRECTLY_PARTITIONED_TOPICS = 2
    MISSING_INTERNAL_TOPICS = 3
    SHUTDOWN_APPLICATION = 4
    ASSIGNMENT_DELAYED = 5


class Condition(NamedTuple):
    code: StatusCode
    detail: str

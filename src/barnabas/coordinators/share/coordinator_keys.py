"""Keys by which FindCoordinator finds share coordinators: ``group:topic id:partition``.

A group id may contain colons, so a key is read from its end. What counts as a key is what Java's
methods accept: colons at the end are ignored, and numbers may have a sign.
"""

from __future__ import annotations

import re

from barnabas.coordinators.share.persister import SharePartitionKey
from barnabas.model.ids import parse_uuid

_PARTITION = re.compile(r"[+-]?\d{1,10}")
_INT32_MIN, _INT32_MAX = -(2**31), 2**31 - 1
_PADDED_UUID_CHARACTERS = 24


def parse_coordinator_key(text: str) -> SharePartitionKey | None:
    """None for a text that is no key."""
    left, _, partition = text.rstrip(":").rpartition(":")
    group_id, _, topic = left.rpartition(":")
    if not group_id.strip() or _PARTITION.fullmatch(partition) is None or not _INT32_MIN <= int(partition) <= _INT32_MAX:
        return None
    try:
        topic_id = parse_uuid(topic.removesuffix("==") if len(topic) == _PADDED_UUID_CHARACTERS else topic)
    except ValueError:
        return None
    return SharePartitionKey(group_id, topic_id, int(partition))

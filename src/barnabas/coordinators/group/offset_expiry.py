"""The expiry of committed offsets.

| group                                  | the age of an offset counts from                       |
|----------------------------------------|--------------------------------------------------------|
| simple: only offsets, never a member   | its commit                                             |
| classic, empty                         | the time when the last member left                     |
| classic "consumer", stable             | its commit, if no member subscribes to its topic       |
| classic, any other                     | never                                                  |
| consumer and streams protocol          | its commit, if no member subscribes to its topic       |

A commit with its own retention time (OffsetCommit 2 to 4) expires at that time instead, in the same
groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from barnabas.coordinators.group.committed_offset import NO_EXPIRY, CommittedOffset
from barnabas.coordinators.group.group import Group
from barnabas.coordinators.group.group_kind import GroupKind
from barnabas.coordinators.record import CoordinatorRecord

_CONSUMER_PROTOCOL_TYPE = "consumer"
_STABLE = "Stable"

# Deletions are written in portions, because a batch larger than message.max.bytes is refused. A
# quarter of the default leaves room for clusters with a smaller value.
PORTION_KEY_BYTES_MAX = 256 * 1024


def is_expired(group: Group, topic: str, committed: CommittedOffset, *, now_ms: int, retention_ms: int) -> bool:
    since_ms = _old_since_ms(group, committed)
    if since_ms is None or group.subscribed_to(topic):
        return False
    if committed.expire_timestamp_ms != NO_EXPIRY:
        return now_ms >= committed.expire_timestamp_ms
    return now_ms - since_ms >= retention_ms


def _old_since_ms(group: Group, committed: CommittedOffset) -> int | None:
    if group.kind is not GroupKind.CLASSIC or not group.protocol_type:
        return committed.commit_timestamp_ms
    empty_since_ms = group.empty_since_ms
    if empty_since_ms is not None:
        # The oldest group records do not contain the time at which the group became empty.
        return empty_since_ms if empty_since_ms >= 0 else committed.commit_timestamp_ms
    if group.protocol_type == _CONSUMER_PROTOCOL_TYPE and group.state_name == _STABLE:
        return committed.commit_timestamp_ms
    return None


def portion(deletions: Iterable[Sequence[CoordinatorRecord]]) -> tuple[list[CoordinatorRecord], bool]:
    """As many deletions as fit into one batch, and whether some are left. The records of one
    sequence stay together.
    """
    records: list[CoordinatorRecord] = []
    size_bytes = 0
    for together in deletions:
        size_bytes += sum(len(record.encode()[0]) for record in together)
        if records and size_bytes > PORTION_KEY_BYTES_MAX:
            return records, True
        records += together
    return records, False

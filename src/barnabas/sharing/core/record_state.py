"""The states of a record in a share partition, and the acknowledgements that change them.

    AVAILABLE --acquire--> ACQUIRED --accept--> ACKNOWLEDGED
        ^                      |
        |                      +--reject, gap--> ARCHIVED
        +-- release, lock ends, session ends --+
                        (ARCHIVED instead, if the delivery limit is reached)

ACKNOWLEDGED and ARCHIVED are final. The numbers are those that Kafka persists. ACQUIRED is never
persisted: a lock ends with the leader that granted it.
"""

from __future__ import annotations

from enum import IntEnum


class RecordState(IntEnum):
    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVED = 4

    @property
    def final(self) -> bool:
        return self >= RecordState.ACKNOWLEDGED


class AcknowledgeType(IntEnum):
    """The numbers of the protocol. ``GAP`` stands for an offset without a record."""

    GAP = 0
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4


class PartitionState(IntEnum):
    """The life of a share partition on its leader.

    EMPTY --read from the persister--> INITIALIZING --> ACTIVE, or FAILED if that did not work.
    Any of them --another broker leads, or the topic is gone--> FENCED
    """

    EMPTY = 0
    INITIALIZING = 1
    ACTIVE = 2
    FAILED = 3
    FENCED = 4

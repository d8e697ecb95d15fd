"""What ShareFetch and ShareAcknowledge have in common: whether share groups are served, which
members may call, and how acknowledgements are checked and performed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Protocol

from barnabas.api.broker import Broker
from barnabas.api.leader_hints import topic_name
from barnabas.api.needs import READ_GROUP, READ_TOPIC
from barnabas.api.share_protocol import is_member_id, share_groups_are_served
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition, Uuid
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.sharing.core.acknowledging import AcknowledgedRange
from barnabas.sharing.core.record_state import AcknowledgeType
from barnabas.sharing.core.sessions import SharedPartition
from barnabas.sharing.local_share_partition import ACCEPTED, Verdict

_RENEW_VERSION_MIN = 2
_NOT_LED_HERE = Verdict(ErrorCode.NOT_LEADER_OR_FOLLOWER, "This broker does not lead the partition.")
_NOT_SHARED_HERE = Verdict(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "No member of the group has fetched the partition from this leader.")


def refuse_member(broker: Broker, caller: Caller, group_id: str | None, member_id: str | None) -> ErrorCode:
    """NONE if this member of this group may fetch and acknowledge here."""
    if not share_groups_are_served(broker):
        return ErrorCode.UNSUPPORTED_VERSION
    if group_id is None:
        return ErrorCode.INVALID_REQUEST
    if not broker.access.may(caller, READ_GROUP, group_id):
        return ErrorCode.GROUP_AUTHORIZATION_FAILED
    if member_id is None or not is_member_id(member_id):
        return ErrorCode.INVALID_REQUEST
    return ErrorCode.NONE


class ReadableTopics:
    """Which partitions the caller of one request may read; one decision for each topic."""

    __slots__ = ("_broker", "_caller", "_verdicts")

    def __init__(self, broker: Broker, caller: Caller) -> None:
        self._broker = broker
        self._caller = caller
        self._verdicts: dict[Uuid, ErrorCode] = {}

    def refuse(self, partition: SharedPartition) -> ErrorCode:
        """NONE if the partition exists and the caller may read it."""
        topic_id, index = partition
        error = self._verdicts.get(topic_id)
        if error is None:
            error = self._verdicts[topic_id] = self._refuse_topic(topic_id)
        if error or self._broker.replicas.by_id(topic_id, index) is not None:
            return error
        name = topic_name(self._broker, topic_id)
        known = name is not None and self._broker.metadata.image.topics.partition(TopicPartition(name, index)) is not None
        return ErrorCode.NONE if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def _refuse_topic(self, topic_id: Uuid) -> ErrorCode:
        name = topic_name(self._broker, topic_id)
        if name is None:
            return ErrorCode.UNKNOWN_TOPIC_ID
        may = self._broker.access.may(self._caller, READ_TOPIC, name)
        return ErrorCode.NONE if may else ErrorCode.TOPIC_AUTHORIZATION_FAILED


class SentBatch(Protocol):
    """An acknowledgement batch of either request."""

    first_offset: int
    last_offset: int
    acknowledge_types: list[int]


def checked_ranges(batches: Sequence[SentBatch], *, version: int, renews: bool) -> list[AcknowledgedRange] | None:
    """None if a batch is no range, they are not ascending, or a type is unknown or not allowed."""
    highest = AcknowledgeType.RENEW if version >= _RENEW_VERSION_MIN and renews else AcknowledgeType.REJECT
    ranges = []
    before = -1
    for batch in batches:
        first, last, types = batch.first_offset, batch.last_offset, batch.acknowledge_types
        if first > last or first < before or not types:
            return None
        if len(types) > 1 and last - first != len(types) - 1:
            return None
        if min(types) < AcknowledgeType.GAP or max(types) > highest:
            return None
        ranges.append(AcknowledgedRange(first, last, types))
        before = last
    return ranges


Verdicts = dict[SharedPartition, Verdict]


def acknowledge(
    broker: Broker,
    group_id: str,
    member_id: str,
    sent: Iterable[tuple[SharedPartition, Sequence[SentBatch]]],
    topics: ReadableTopics,
    *,
    version: int,
    renews: bool,
    then: Callable[[Verdicts], None],
) -> None:
    """Perform the acknowledgements of a request; ``then`` gets all verdicts, at once or later."""
    verdicts: Verdicts = {}
    empty: list[SharedPartition] = []
    waiting = 0
    performed = complete = False

    def came(partition: SharedPartition, verdict: Verdict) -> None:
        nonlocal waiting
        verdicts[partition] = verdict
        waiting -= 1
        if complete and not waiting:
            then(verdicts)

    for partition, batches in sent:
        error = topics.refuse(partition)
        ranges = checked_ranges(batches, version=version, renews=renews)
        if ranges is None and error is not ErrorCode.UNKNOWN_TOPIC_ID:
            error = ErrorCode.INVALID_REQUEST
        if error:
            verdicts[partition] = Verdict(error)
            continue
        if not ranges:
            empty.append(partition)
            continue
        performed = True
        share = broker.shares.get(group_id, partition)
        if share is None:
            replica = broker.replicas.by_id(*partition)
            here = replica is not None and replica.leads
            verdicts[partition] = _NOT_SHARED_HERE if here else _NOT_LED_HERE
            continue
        verdict = share.acknowledge(member_id, ranges)
        if isinstance(verdict, Promise) and not verdict.done:
            verdicts[partition] = Verdict(ErrorCode.NONE)  # keeps the order of the request
            waiting += 1
            verdict.then(partial(came, partition))
        else:
            verdicts[partition] = verdict.value if isinstance(verdict, Promise) else verdict
    if performed:
        # Like Kafka: a request that acknowledges nothing at all gets no verdicts about nothing.
        verdicts |= dict.fromkeys(empty, ACCEPTED)
    complete = True
    if not waiting:
        then(verdicts)

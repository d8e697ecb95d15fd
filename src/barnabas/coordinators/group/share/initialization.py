"""Initialization of share partitions: which of them need it, and what follows from the result.

The request goes out when its record is committed. Its answer may get lost with this coordinator, so
a heartbeat repeats it after ``group.share.initialize.retry.interval.ms``. A coordinator that has
just taken over repeats it at once, since no answer can reach it. The share coordinator accepts a
repeated request.

The state epoch of a request is the group epoch. The share coordinator refuses an epoch that is
lower than that of the state, so a late request of a former member cannot undo a newer one.
Administrators may send several requests in one epoch; only the last one for a partition counts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import count
from typing import NamedTuple

from barnabas.coordinators.group.assignors.assignor import IdPartition
from barnabas.coordinators.group.shard import GroupShard
from barnabas.coordinators.group.share.effects import InitializeStates
from barnabas.coordinators.group.share.share_change import ShareChange
from barnabas.coordinators.group.share.share_group import ShareGroup
from barnabas.coordinators.group.share.topic_states import TopicPartitions
from barnabas.coordinators.outcome import Outcome
from barnabas.model.ids import Uuid

# The leader of the partition chooses the start by `share.auto.offset.reset`.
_NO_START_OFFSET = -1


class _Request(NamedTuple):
    """The last request for a partition. It is not repeated between the two times: one without an
    answer may not have been sent.
    """

    number: int
    since_ms: int
    until_ms: int


class Initialization:
    def __init__(self, shard: GroupShard) -> None:
        self._shard = shard
        # By group. Bounded by the initializing partitions.
        self._requests: dict[str, dict[IdPartition, _Request]] = {}
        self._numbers = count()

    def begin(self, change: ShareChange, now_ms: int) -> list[InitializeStates]:
        """The requests for all partitions of subscribed topics that have no state yet."""
        needed = self._uninitialized(change, now_ms)
        if not needed:
            return []
        change.take_states(change.states.begin(needed))
        offsets = {(topic_id, number): _NO_START_OFFSET for topic_id, topic in needed.items() for number in sorted(topic.partitions)}
        return [self.request(change.group_id, change.epoch, offsets, now_ms)]

    def _uninitialized(self, change: ShareChange, now_ms: int) -> dict[Uuid, TopicPartitions]:
        topics = self._shard.image().topics.by_name
        needed = {}
        for name in sorted(change.subscribed_topics()):
            topic = topics.get(name)
            if topic is None:
                continue
            missing = frozenset(topic.partitions) - self._started(change, topic.topic_id, now_ms)
            if missing:
                needed[topic.topic_id] = TopicPartitions(name, missing)
        return needed

    def _started(self, change: ShareChange, topic_id: Uuid, now_ms: int) -> frozenset[int]:
        initialized, initializing = change.states.initialized.get(topic_id), change.states.initializing.get(topic_id)
        started = initialized.partitions if initialized is not None else frozenset()
        if initializing is None:
            return started
        requests = self._requests.get(change.group_id, {})
        return started | {number for number in initializing.partitions if _is_under_way(requests.get((topic_id, number)), now_ms)}

    def request(self, group_id: str, state_epoch: int, start_offsets: Mapping[IdPartition, int], now_ms: int) -> InitializeStates:
        """A request of an administrator brings offsets; until it is answered, a member that joins
        must not request state without an offset.
        """
        until_ms = now_ms + self._shard.settings.share.initialize_retry_interval_ms
        request = _Request(next(self._numbers), now_ms, until_ms)
        self._requests.setdefault(group_id, {}).update(dict.fromkeys(start_offsets, request))
        return InitializeStates(group_id, request.number, state_epoch, start_offsets)

    def forget(self, group_id: str) -> None:
        self._requests.pop(group_id, None)

    def finish(self, asked: InitializeStates, refused: Collection[IdPartition]) -> Outcome[frozenset[IdPartition]]:
        """The share coordinator has initialized the partitions of a request, except the refused
        ones. The answer is the partitions that a newer request has taken over, whether it is still
        under way or has ended first; for them this result does not count.
        """
        group = self._shard.groups.get(asked.group_id)
        if not isinstance(group, ShareGroup):
            return Outcome(frozenset(asked.start_offsets))
        requests = self._requests.get(asked.group_id, {})
        answered = [slot for slot in asked.start_offsets if slot in requests and requests[slot].number == asked.number]
        for slot in answered:
            del requests[slot]
        change = ShareChange(group)
        done = [slot for slot in answered if slot not in refused]
        change.take_states(change.states.finish(done).give_up(slot for slot in answered if slot in refused))
        return Outcome(frozenset(asked.start_offsets).difference(answered), change.records)


def _is_under_way(request: _Request | None, now_ms: int) -> bool:
    # A clock that was set back must not delay the repetition.
    return request is not None and request.since_ms <= now_ms < request.until_ms

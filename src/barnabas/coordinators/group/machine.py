"""The groups of one partition of ``__consumer_offsets``: members, assignments and offsets.

The parts share one shard:
:class:`~barnabas.coordinators.group.classic.classic_groups.ClassicGroups` (JoinGroup and related
requests), :class:`~barnabas.coordinators.group.consumer.consumer_groups.ConsumerGroups` (KIP-848),
:class:`~barnabas.coordinators.group.share.share_groups.ShareGroups` (KIP-932),
:class:`~barnabas.coordinators.group.streams.streams_groups.StreamsGroups` (KIP-1071) and
:class:`~barnabas.coordinators.group.offsets.Offsets`. Each part names its own record types; callers
run operations on the parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from barnabas.coordinators.group.classic.classic_groups import ClassicGroups
from barnabas.coordinators.group.consumer.consumer_groups import ConsumerGroups
from barnabas.coordinators.group.offsets import Offsets
from barnabas.coordinators.group.shard import GroupShard
from barnabas.coordinators.group.share.share_groups import ShareGroups
from barnabas.coordinators.group.streams.streams_groups import StreamsGroups
from barnabas.coordinators.outcome import ProducerIdentity
from barnabas.coordinators.record import CoordinatorRecord


class GroupMachine:
    def __init__(self, shard: GroupShard) -> None:
        self.shard = shard
        self.timers = shard.timers
        self.classic = ClassicGroups(shard)
        self.offsets = Offsets(shard, self.classic.simple_group)
        self.consumer = ConsumerGroups(shard, self.classic)
        self.share = ShareGroups(shard)
        self.streams = StreamsGroups(shard)
        # Keyed by the class of the record key. Only offsets take part in transactions.
        self._replays: dict[type[Any], Callable[[CoordinatorRecord], None]] = {
            **self.classic.replays,
            **self.consumer.replays,
            **self.share.replays,
            **self.streams.replays,
        }

    def replay(self, record: CoordinatorRecord, transaction: ProducerIdentity | None, offset: int) -> None:
        replay = self._replays.get(type(record.key))
        if replay is not None:
            replay(record)
        else:
            self.offsets.replay(record, transaction)

    def replay_end(self, transaction: ProducerIdentity, *, committed: bool) -> None:
        self.offsets.replay_end(transaction, committed=committed)

    def loaded(self, now_ms: int) -> None:
        self.classic.loaded(now_ms)
        self.consumer.loaded(now_ms)
        self.share.loaded(now_ms)
        self.streams.loaded(now_ms)
        self.offsets.loaded(now_ms)

    def unloaded(self) -> None:
        self.classic.unloaded()
        self.consumer.unloaded()

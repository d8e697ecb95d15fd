"""Limits on replication, for moving partitions without starving clients: bytes per second for the
replicas that are named.

There are two of them, one for the bytes that a broker sends as a leader and one for those that it
fetches as a follower. Both apply only to replicas that are behind: a replica that is in sync must
stay in sync at any cost.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

from barnabas.config.keys import Value
from barnabas.model.ids import TopicPartition

UNLIMITED = 2**63 - 1
ALL_REPLICAS = "*"
# As Kafka measures it (replication.quota.window.num and .size.seconds): a burst is forgotten after
# eleven seconds.
DEFAULT_WINDOWS, DEFAULT_WINDOW_MS = 11, 1000


class ByteRate:
    """Bytes per second over the last windows, from the oldest one that is remembered."""

    __slots__ = ("_window_ms", "_windows")

    def __init__(self, windows: int = DEFAULT_WINDOWS, window_ms: int = DEFAULT_WINDOW_MS) -> None:
        self._windows: deque[list[int]] = deque(maxlen=windows)  # the start of each, and its bytes
        self._window_ms = window_ms

    def record(self, size_bytes: int, now_ms: int) -> None:
        windows = self._windows
        if not windows or now_ms - windows[-1][0] >= self._window_ms:
            windows.append([now_ms, 0])
        windows[-1][1] += size_bytes

    def per_second(self, now_ms: int) -> float:
        windows = self._windows
        while windows and now_ms - windows[0][0] >= self._window_ms * (windows.maxlen or 1):
            windows.popleft()
        if not windows:
            return 0.0
        elapsed_ms = max(now_ms - windows[0][0], self._window_ms)
        return sum(size_bytes for _, size_bytes in windows) * 1000 / elapsed_ms


class Throttle:
    """The throttle of one direction."""

    __slots__ = ("_named", "_rate", "limit")

    def __init__(self) -> None:
        self.limit = UNLIMITED  # bytes per second
        self._rate = ByteRate()
        self._named: dict[str, frozenset[int] | None] = {}  # None for all partitions of the topic

    def name_replicas(self, topic: str, entries: Iterable[str], node_id: int) -> None:
        """``entries`` as in a topic's setting: ``partition:broker``, or ``*``."""
        entries = [entry for entry in entries if entry]
        if ALL_REPLICAS in entries:
            self._named[topic] = None
            return
        own = frozenset(int(partition) for partition, _, broker in (entry.partition(":") for entry in entries) if broker == str(node_id))
        if own:
            self._named[topic] = own
        else:
            self._named.pop(topic, None)

    def concerns(self, partition: TopicPartition) -> bool:
        if not self._named or partition.topic not in self._named:
            return False
        named = self._named[partition.topic]
        return named is None or partition.partition in named

    def holds(self, partition: TopicPartition, now_ms: int) -> bool:
        """Whether nothing of this partition may be sent now."""
        return self.concerns(partition) and self._rate.per_second(now_ms) > self.limit

    def moved(self, partition: TopicPartition, size_bytes: int, now_ms: int) -> None:
        if self.concerns(partition):
            self._rate.record(size_bytes, now_ms)


class ReplicationThrottles:
    def __init__(self) -> None:
        self.leader = Throttle()
        self.follower = Throttle()

    def follow_broker(self, settings: Mapping[str, Value]) -> None:
        for throttle, name in ((self.leader, "leader"), (self.follower, "follower")):
            limit = settings.get(f"{name}.replication.throttled.rate")
            throttle.limit = limit if isinstance(limit, int) else UNLIMITED

    def follow_topic(self, topic: str, settings: Mapping[str, Value], node_id: int) -> None:
        for throttle, name in ((self.leader, "leader"), (self.follower, "follower")):
            entries = settings.get(f"{name}.replication.throttled.replicas")
            throttle.name_replicas(topic, entries if isinstance(entries, tuple) else (), node_id)

    def forget_topic(self, topic: str) -> None:
        for throttle in (self.leader, self.follower):
            throttle.name_replicas(topic, (), 0)

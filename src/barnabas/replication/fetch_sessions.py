"""Incremental fetch sessions (KIP-227): a client names its partitions once, and from then on only
changes; responses likewise.

A session is an id, an epoch that counts its requests, and the partitions in the order in which they
are served next. Responses leave out partitions without news. There is room for ``slots`` sessions.
When it is full, a new session replaces one that was idle for :data:`EVICTION_MS`, or the smallest
that is older than that if the new one is larger, since a larger session saves more. Otherwise the
client gets no session and must send full requests, which works as well. So does a client with more
than :data:`SESSION_PARTITIONS_MAX` partitions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from barnabas.env.entropy import Entropy
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.replication.reads import PartitionRead

NO_SESSION = 0
INITIAL_EPOCH, FINAL_EPOCH = 0, -1
EVICTION_MS = 120_000
# Each request of a session, however short, reads all its partitions in one turn of the loop: about
# 5 microseconds for each. The request of a client without a session is as long as its work. A
# follower of a broker that leads this many partitions still has a session.
SESSION_PARTITIONS_MAX = 50_000
# The search for the smallest session looks at all of them, so its result is used for this long.
SMALLEST_KNOWN_MS = 1000
_EPOCH_MAX = 2**31 - 1
_ID_BITS = 31
_ANY_SIZE = 2**31


class PartitionKey(NamedTuple):
    """By name or by id, depending on the version of the request; the other is empty."""

    topic: str
    topic_id: Uuid
    partition: int


class FetchedPartition:
    """One partition of a fetch: the request for it, and in a session the offsets that were last
    sent."""

    __slots__ = (
        "current_leader_epoch",
        "fetch_offset",
        "index",
        "key",
        "last_fetched_epoch",
        "log_start_offset",
        "sent_high_watermark",
        "sent_log_start_offset",
        "size_bytes_max",
        "topic",
        "topic_id",
    )

    def __init__(
        self,
        key: PartitionKey,
        *,
        fetch_offset: int,
        size_bytes_max: int,
        current_leader_epoch: int,
        last_fetched_epoch: int,
        log_start_offset: int = -1,
    ) -> None:
        """``log_start_offset`` is the log start of the follower that fetches; consumers have
        none."""
        self.key = key
        self.topic, self.topic_id, self.index = key
        self.fetch_offset = fetch_offset
        self.size_bytes_max = size_bytes_max
        self.current_leader_epoch = current_leader_epoch
        self.last_fetched_epoch = last_fetched_epoch
        self.log_start_offset = log_start_offset
        self.sent_high_watermark = -1
        self.sent_log_start_offset = -1

    def at(self, fetch_offset: int) -> FetchedPartition:
        """The same request for another offset."""
        return FetchedPartition(
            self.key,
            fetch_offset=fetch_offset,
            size_bytes_max=self.size_bytes_max,
            current_leader_epoch=self.current_leader_epoch,
            last_fetched_epoch=self.last_fetched_epoch,
            log_start_offset=self.log_start_offset,
        )

    def take(self, newer: FetchedPartition) -> None:
        if newer.current_leader_epoch != self.current_leader_epoch:
            # A follower drops a response for another leader epoch, and with it the high watermark.
            self.sent_high_watermark = -1
        self.fetch_offset = newer.fetch_offset
        self.size_bytes_max = newer.size_bytes_max
        self.current_leader_epoch = newer.current_leader_epoch
        self.last_fetched_epoch = newer.last_fetched_epoch
        self.log_start_offset = newer.log_start_offset

    def news(self, read: PartitionRead) -> bool:
        """Whether an incremental response must include this partition. Remembers the offsets as
        sent."""
        if read.error or read.diverging is not None:
            # The next response includes the partition again, whatever its offsets are then. A
            # follower that truncates its log takes no high watermark from the response that made it
            # do so, and on an idle partition it would never receive it again.
            self.sent_high_watermark = -1
            return True
        changed = (
            read.region is not None
            or read.records is not None
            or read.preferred_replica >= 0
            or read.high_watermark != self.sent_high_watermark
            or read.log_start_offset != self.sent_log_start_offset
        )
        self.sent_high_watermark, self.sent_log_start_offset = read.high_watermark, read.log_start_offset
        return changed


class FetchSession:
    __slots__ = ("created_ms", "epoch", "last_used_ms", "partitions", "session_id", "uses_topic_ids")

    def __init__(self, session_id: int, partitions: Iterable[FetchedPartition], *, uses_topic_ids: bool, now_ms: int) -> None:
        self.session_id = session_id
        self.epoch = 1
        self.partitions = {each.key: each for each in partitions}
        self.uses_topic_ids = uses_topic_ids
        self.created_ms = self.last_used_ms = now_ms

    def update(self, named: Iterable[FetchedPartition], forgotten: Iterable[PartitionKey]) -> None:
        for each in named:
            known = self.partitions.get(each.key)
            if known is None:
                self.partitions[each.key] = each
            else:
                known.take(each)
        for key in forgotten:
            self.partitions.pop(key, None)

    def serve_last(self, served: Iterable[FetchedPartition]) -> None:
        """Partitions that got data move behind the others, so that a busy partition cannot starve
        its neighbours."""
        for each in served:
            if self.partitions.pop(each.key, None) is not None:
                self.partitions[each.key] = each


class FetchContext(NamedTuple):
    """One request in its session."""

    session: FetchSession | None
    partitions: list[FetchedPartition]
    incremental: bool

    @property
    def session_id(self) -> int:
        return self.session.session_id if self.session is not None else NO_SESSION


class FetchSessions:
    def __init__(self, slots: int, entropy: Entropy) -> None:
        self.slots = slots
        self._entropy = entropy
        self._sessions: dict[int, FetchSession] = {}  # least recently used first
        self._too_small = 0  # new sessions up to this size find no room
        self._too_small_until_ms = 0

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[FetchSession]:
        return iter(self._sessions.values())

    def begin(
        self,
        *,
        session_id: int,
        epoch: int,
        named: list[FetchedPartition],
        forgotten: Iterable[PartitionKey],
        uses_topic_ids: bool,
        now_ms: int,
    ) -> FetchContext | ErrorCode:
        """The partitions of a request, or the error that makes the client send a full request."""
        if epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            if session_id != NO_SESSION:
                self._sessions.pop(session_id, None)
            if epoch == FINAL_EPOCH:
                return FetchContext(None, named, incremental=False)
            return FetchContext(self._open(named, uses_topic_ids=uses_topic_ids, now_ms=now_ms), named, incremental=False)
        session = self._sessions.get(session_id)
        if session is None:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if session.epoch != epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH
        if session.uses_topic_ids != uses_topic_ids:
            return ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
        session.update(named, forgotten)
        if len(session.partitions) > SESSION_PARTITIONS_MAX:
            # The client sends a full request next, which gets no session.
            del self._sessions[session_id]
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if not session.partitions:
            # No partition is left: Kafka closes such a session, and tells the client so by a
            # response without a session.
            del self._sessions[session_id]
            return FetchContext(None, [], incremental=False)
        session.epoch = 1 if epoch == _EPOCH_MAX else epoch + 1
        session.last_used_ms = now_ms
        self._sessions[session_id] = self._sessions.pop(session_id)
        return FetchContext(session, list(session.partitions.values()), incremental=True)

    def withdraw(self, fetch: FetchContext) -> int:
        """The id of the session in a response that leaves out all partitions. A session that the
        request opened is closed again, because its client must name its partitions once more."""
        if fetch.session is None or fetch.incremental:
            return fetch.session_id
        self._sessions.pop(fetch.session.session_id, None)
        return NO_SESSION

    def _open(self, named: list[FetchedPartition], *, uses_topic_ids: bool, now_ms: int) -> FetchSession | None:
        if len(named) > SESSION_PARTITIONS_MAX:
            return None
        if len(self._sessions) >= self.slots:
            victim = self._victim(len(named), now_ms)
            if victim is None:
                return None
            del self._sessions[victim.session_id]
        session_id = NO_SESSION
        while session_id == NO_SESSION or session_id in self._sessions:
            session_id = self._entropy.below(1 << _ID_BITS)
        session = FetchSession(session_id, named, uses_topic_ids=uses_topic_ids, now_ms=now_ms)
        self._sessions[session_id] = session
        return session

    def _victim(self, size: int, now_ms: int) -> FetchSession | None:
        """The session whose room a new one of ``size`` partitions may take."""
        longest_unused = next(iter(self._sessions.values()), None)
        if longest_unused is None:
            return None
        if now_ms - longest_unused.last_used_ms >= EVICTION_MS:
            return longest_unused
        if size <= self._too_small and now_ms < self._too_small_until_ms:
            return None
        old = (each for each in self._sessions.values() if now_ms - each.created_ms >= EVICTION_MS)
        smallest = min(old, key=lambda each: len(each.partitions), default=None)
        if smallest is not None and len(smallest.partitions) < size:
            return smallest
        self._too_small = len(smallest.partitions) if smallest is not None else _ANY_SIZE
        self._too_small_until_ms = now_ms + SMALLEST_KNOWN_MS
        return None

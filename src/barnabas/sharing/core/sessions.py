"""Share sessions: the partitions that a member fetches from this broker, named once.

A session belongs to a member of a group and counts its requests with an epoch:

    0         a new session, instead of an older one of the member; acknowledges nothing
    n         the next request, with changes of the partitions. Another n is
              INVALID_SHARE_SESSION_EPOCH, a session that is not here SHARE_SESSION_NOT_FOUND
    2^31-1    is followed by 1
    -1        the last request: acknowledges, then the session ends

A session also ends when its connection does. Either way the shell releases the records that the
member still holds, and others get them at once. A member whose connection broke opens a new
session.

There is room for ``group.share.max.share.sessions``. A member that finds none gets
SHARE_SESSION_LIMIT_REACHED, and no session of another member ends for it: members have locks, so
that they cannot be replaced as readers of fetch sessions can.

Responses of a session leave out partitions without news, except for a partition that the session
has just learned, and one whose last response had an error.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import NamedTuple

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid

INITIAL_EPOCH, FINAL_EPOCH = 0, -1
_EPOCH_MAX = 2**31 - 1


class SharedPartition(NamedTuple):
    topic_id: Uuid
    partition: int


class SessionKey(NamedTuple):
    group_id: str
    member_id: str


class ShareSession:
    __slots__ = ("connection", "epoch", "key", "partitions")

    def __init__(self, key: SessionKey, partitions: Iterable[SharedPartition], connection: Hashable) -> None:
        """``connection`` identifies the connection that opened the session."""
        self.key = key
        self.epoch = 1
        self.connection = connection
        # Whether the next response must name the partition, although it has no news.
        self.partitions: dict[SharedPartition, bool] = dict.fromkeys(partitions, False)

    def update(self, named: Iterable[SharedPartition], forgotten: Iterable[SharedPartition]) -> None:
        for each in named:
            self.partitions.setdefault(each, True)
        for each in forgotten:
            self.partitions.pop(each, None)

    def has_news(self, partition: SharedPartition, *, records: bool, error: bool) -> bool:
        """Whether the response must name the partition. Remembers that it does."""
        due = self.partitions.get(partition)
        if due is None:
            return records or error
        if due or error:
            self.partitions[partition] = error
        return records or error or due

    def in_turn(self, epoch: int) -> list[SharedPartition]:
        """The partitions, beginning with another one at each request, so that a busy one does not
        starve the others."""
        every = list(self.partitions)
        if len(every) < 2 or epoch < 1:
            return every
        begin = epoch % len(every)
        return every[begin:] + every[:begin]


class ShareSessions:
    def __init__(self, sessions_max: int) -> None:
        self.sessions_max = sessions_max
        self._sessions: dict[SessionKey, ShareSession] = {}
        self._of_connection: dict[Hashable, dict[SessionKey, None]] = {}
        self._members: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[ShareSession]:
        return iter(self._sessions.values())

    def get(self, key: SessionKey) -> ShareSession | None:
        return self._sessions.get(key)

    def has_members(self, group_id: str) -> bool:
        return group_id in self._members

    def open(self, key: SessionKey, partitions: Iterable[SharedPartition], connection: Hashable) -> ShareSession | ErrorCode:
        """A new session. The member may still hold records from an older one, and keeps them."""
        self.remove(key)
        if len(self._sessions) >= self.sessions_max:
            return ErrorCode.SHARE_SESSION_LIMIT_REACHED
        session = self._sessions[key] = ShareSession(key, partitions, connection)
        self._of_connection.setdefault(connection, {})[key] = None
        self._members[key.group_id] = self._members.get(key.group_id, 0) + 1
        return session

    def continue_with(self, key: SessionKey, epoch: int) -> ShareSession | ErrorCode:
        """The session of a request that is not its first. The final epoch changes nothing yet: the
        caller removes the session once the request is served."""
        session = self._sessions.get(key)
        if session is None:
            return ErrorCode.SHARE_SESSION_NOT_FOUND
        if epoch == FINAL_EPOCH:
            return session
        if session.epoch != epoch:
            return ErrorCode.INVALID_SHARE_SESSION_EPOCH
        session.epoch = 1 if epoch == _EPOCH_MAX else epoch + 1
        return session

    def remove(self, key: SessionKey) -> ShareSession | None:
        session = self._sessions.pop(key, None)
        if session is None:
            return None
        keys = self._of_connection[session.connection]
        del keys[key]
        if not keys:
            del self._of_connection[session.connection]
        left = self._members[key.group_id] - 1
        if left:
            self._members[key.group_id] = left
        else:
            del self._members[key.group_id]
        return session

    def disconnected(self, connection: Hashable) -> list[ShareSession]:
        """The sessions that end with a connection."""
        ended = (self.remove(key) for key in list(self._of_connection.get(connection, ())))
        return [session for session in ended if session is not None]

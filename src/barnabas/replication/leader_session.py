"""A follower's half of a fetch session (KIP-227): it knows what its leader remembers, so that a
request names only what has changed.

The other half is :mod:`~barnabas.replication.fetch_sessions`. Whenever the two might disagree, a
new session begins with a full request.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.replication.fetch_sessions import INITIAL_EPOCH, NO_SESSION

_EPOCH_MAX = 2**31 - 1
# Expected errors: the leader had no more room, or has restarted. The next request is a full one,
# without a pause.
SESSION_LOST = frozenset(
    {ErrorCode.FETCH_SESSION_ID_NOT_FOUND, ErrorCode.INVALID_FETCH_SESSION_EPOCH, ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR}
)

Key = tuple[Uuid, int]  # topic id and partition


class Asked(NamedTuple):
    """The entry of one partition in a fetch."""

    leader_epoch: int
    offset: int
    last_epoch: int
    log_start_offset: int


class LeaderSession:
    __slots__ = ("_remembered", "epoch", "session_id")

    def __init__(self) -> None:
        self.session_id = NO_SESSION
        self.epoch = INITIAL_EPOCH
        self._remembered: dict[Key, Asked] = {}

    def update(self, wanted: Mapping[Key, Asked]) -> tuple[list[Key], list[Key]]:
        """The partitions that the next request must name, and those that it tells the leader to
        forget."""
        remembered = self._remembered
        if self.epoch == INITIAL_EPOCH:
            self._remembered = dict(wanted)
            return list(wanted), []
        named = [key for key, asked in wanted.items() if remembered.get(key) != asked]
        forgotten = [key for key in remembered if key not in wanted] if len(remembered) + len(named) > len(wanted) else []
        for key in named:
            remembered[key] = wanted[key]
        for key in forgotten:
            del remembered[key]
        return named, forgotten

    def answered(self, session_id: int) -> None:
        if session_id == NO_SESSION:
            # The leader has no room: send full requests, which works as well.
            self.session_id, self.epoch = NO_SESSION, INITIAL_EPOCH
        elif session_id != self.session_id or self.epoch == INITIAL_EPOCH:
            self.session_id, self.epoch = session_id, 1
        else:
            self.epoch = 1 if self.epoch == _EPOCH_MAX else self.epoch + 1

    def lost(self, code: ErrorCode | None = None) -> None:
        """The next request is a full one; it ends the old session where the leader may still have
        it."""
        if code is ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
            self.session_id = NO_SESSION
        self.epoch = INITIAL_EPOCH

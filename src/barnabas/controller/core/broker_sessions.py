"""Who was heard of lately: the sessions of brokers.

Soft state of the active controller, in no log: a new controller begins it anew and gives every unfenced broker a whole session's time to
be heard of. Times are monotonic. A session belongs to one epoch of a broker; a zombie's heartbeat prolongs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

NOT_STOPPING = -1


@dataclass(slots=True)
class _Session:
    epoch: int
    heard_ms: int
    metadata_offset: int = -1
    stop_offset: int = NOT_STOPPING


class BrokerSessions:
    def __init__(self, *, timeout_ms: int) -> None:
        self._timeout_ms = timeout_ms
        self._sessions: dict[int, _Session] = {}

    def heard(self, broker_id: int, epoch: int, *, now_ms: int, metadata_offset: int = -1) -> None:
        session = self._sessions.get(broker_id)
        if session is None or session.epoch != epoch:
            self._sessions[broker_id] = _Session(epoch, now_ms, metadata_offset)
            return
        session.heard_ms = now_ms
        session.metadata_offset = metadata_offset

    def end(self, broker_id: int) -> None:
        self._sessions.pop(broker_id, None)

    def alive(self, broker_id: int, epoch: int, *, now_ms: int) -> bool:
        session = self._sessions.get(broker_id)
        return session is not None and session.epoch == epoch and now_ms <= session.heard_ms + self._timeout_ms

    def expired(self, now_ms: int) -> list[int]:
        """Whose session is over, the longest silent first."""
        over = [(session.heard_ms, broker_id) for broker_id, session in self._sessions.items() if self._over(session, now_ms)]
        return [broker_id for _, broker_id in sorted(over)]

    def _over(self, session: _Session, now_ms: int) -> bool:
        return now_ms > session.heard_ms + self._timeout_ms

    @property
    def next_deadline_ms(self) -> int | None:
        """The first moment at which somebody's session will be over."""
        if not self._sessions:
            return None
        return min(session.heard_ms for session in self._sessions.values()) + self._timeout_ms + 1

    # -- controlled shutdown --------------------------------------------------------------------------------------------------

    def stop(self, broker_id: int, *, offset: int) -> None:
        """A broker began to stop, and what that takes was written up to ``offset``."""
        session = self._sessions.get(broker_id)
        if session is not None and session.stop_offset == NOT_STOPPING:
            session.stop_offset = offset

    def stop_offset(self, broker_id: int) -> int:
        session = self._sessions.get(broker_id)
        return NOT_STOPPING if session is None else session.stop_offset

    def seen_by(self, broker_id: int) -> int:
        """Up to which offset of the metadata log a broker has come, as far as it said."""
        session = self._sessions.get(broker_id)
        return -1 if session is None else session.metadata_offset

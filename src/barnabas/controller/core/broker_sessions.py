"""The sessions of brokers: when each one sent its last heartbeat.

This is soft state of the active controller, in no log: a new controller starts with fresh sessions
and gives every unfenced broker a whole session timeout to send a heartbeat. Times are monotonic. A
session belongs to one epoch of a broker, so the heartbeat of a zombie prolongs nothing.
"""

from __future__ import annotations

from barnabas.model.dataclass import dataclass

NOT_STOPPING = -1


@dataclass(slots=True)
class _Session:
    epoch: int
    last_contact_ms: int
    metadata_offset: int = -1
    stop_offset: int = NOT_STOPPING


class BrokerSessions:
    def __init__(self, *, timeout_ms: int) -> None:
        self._timeout_ms = timeout_ms
        self._sessions: dict[int, _Session] = {}

    def touch(self, broker_id: int, epoch: int, *, now_ms: int, metadata_offset: int = -1) -> None:
        session = self._sessions.get(broker_id)
        if session is None or session.epoch != epoch:
            self._sessions[broker_id] = _Session(epoch, now_ms, metadata_offset)
            return
        session.last_contact_ms = now_ms
        session.metadata_offset = metadata_offset

    def end(self, broker_id: int) -> None:
        self._sessions.pop(broker_id, None)

    def alive(self, broker_id: int, epoch: int, *, now_ms: int) -> bool:
        session = self._sessions.get(broker_id)
        return session is not None and session.epoch == epoch and now_ms <= session.last_contact_ms + self._timeout_ms

    def expired(self, now_ms: int) -> list[int]:
        """The brokers whose session is over, the longest silent first."""
        over = [(session.last_contact_ms, broker_id) for broker_id, session in self._sessions.items() if self._over(session, now_ms)]
        return [broker_id for _, broker_id in sorted(over)]

    def _over(self, session: _Session, now_ms: int) -> bool:
        return now_ms > session.last_contact_ms + self._timeout_ms

    @property
    def next_deadline_ms(self) -> int | None:
        """The first moment at which a session will be over."""
        if not self._sessions:
            return None
        return min(session.last_contact_ms for session in self._sessions.values()) + self._timeout_ms + 1

    # -- controlled shutdown -----------------------------------------------------------------------

    def stop(self, broker_id: int, *, offset: int) -> None:
        """A broker began its controlled shutdown; the records that move its leadership end at
        ``offset``."""
        session = self._sessions.get(broker_id)
        if session is not None and session.stop_offset == NOT_STOPPING:
            session.stop_offset = offset

    def stop_offset(self, broker_id: int) -> int:
        session = self._sessions.get(broker_id)
        return NOT_STOPPING if session is None else session.stop_offset

    def seen_by(self, broker_id: int) -> int:
        """The offset of the metadata log that a broker reported last."""
        session = self._sessions.get(broker_id)
        return -1 if session is None else session.metadata_offset

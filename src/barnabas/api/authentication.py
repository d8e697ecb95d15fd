"""Authentication of one listener: the shell around :mod:`barnabas.security.sasl`.

A connection is served by this module until it is authenticated, and by the dispatcher afterwards.
Where sessions end, this module stays in between: it lets the client authenticate again, and closes
the connection of a client that goes on without.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from barnabas.env.clock import Clock
from barnabas.model.promise import Promise
from barnabas.network.connection import Connection, Frame, Reply as Answer, ServeFrame
from barnabas.security.sasl.authenticator import Accepted, Authenticator, Closed, Mechanism, PassOn, Refused, Reply, Session
from barnabas.telemetry.logs import EventLog
from barnabas.wire.apis import ApiKey
from barnabas.wire.headers import read_request_prefix

# A client that authenticates again more often than this gains nothing and costs hashing.
REAUTHENTICATION_MS_MIN = 1000


class Authentication:
    def __init__(
        self,
        mechanisms: Callable[[], Mapping[str, Mechanism]],
        then: ServeFrame,
        clock: Clock,
        log: EventLog,
        *,
        failed_delay_ms: int,
    ) -> None:
        """``then`` serves connections that are authenticated."""
        self._mechanisms = mechanisms
        self._then = then
        self._clock = clock
        self._log = log
        self._failed_delay_ms = failed_delay_ms

    def serve(self, connection: Connection, frame: memoryview) -> Answer:
        """The first frame of a connection."""
        return self._begin(connection, frame, None)

    def _begin(self, connection: Connection, frame: memoryview, previous: Session | None) -> Answer:
        authenticator = Authenticator(self._mechanisms(), previous)

        def receive(connection: Connection, frame: memoryview) -> Answer:
            return self._receive(connection, frame, authenticator)

        limit = connection.listener.first_request_bytes_max
        connection.serve_with(receive, request_bytes_max=limit)
        return receive(connection, frame)

    def _receive(self, connection: Connection, frame: memoryview, authenticator: Authenticator) -> Answer:
        match authenticator.receive(frame, self._clock.wall_ms()):
            case PassOn():
                return self._then(connection, frame)
            case Reply(answer):
                return answer
            case Accepted(answer, session):
                self._accept(connection, session)
                return answer
            case Refused(reason, last):
                self._log.info("authentication failed", client=connection.peer_address[0], listener=connection.listener.name, reason=reason)
                return self._refuse_later(connection, last)
            case Closed(reason):
                connection.refuse(reason)
                return None

    def _accept(self, connection: Connection, session: Session) -> None:
        connection.principal = session.principal
        connection.shortcut = None
        limit = connection.listener.limits.request_bytes_max
        if session.lifetime_ms is None:
            connection.serve_with(self._then, request_bytes_max=limit)
        else:
            connection.serve_with(self._until_the_end(session, session.lifetime_ms), request_bytes_max=limit)

    def _until_the_end(self, session: Session, lifetime_ms: int) -> ServeFrame:
        """Serves a session that ends."""
        began_ms = self._clock.monotonic_ms()

        def serve(connection: Connection, frame: memoryview) -> Answer:
            age_ms = self._clock.monotonic_ms() - began_ms
            if age_ms >= REAUTHENTICATION_MS_MIN and read_request_prefix(frame).api_key == ApiKey.SASL_HANDSHAKE:
                return self._begin(connection, frame, session)
            if age_ms >= lifetime_ms:
                connection.refuse("the session of the connection is over")
                return None
            return self._then(connection, frame)

        return serve

    def _refuse_later(self, connection: Connection, last: Frame | None) -> Promise[Frame | None]:
        """The answer and the close come after a delay, and nothing is read meanwhile."""
        connection.mute()
        answer: Promise[Frame | None] = Promise()

        def end() -> None:
            answer.resolve(last)
            connection.close()

        connection.listener.loop.call_later(self._failed_delay_ms / 1000, end)
        return answer

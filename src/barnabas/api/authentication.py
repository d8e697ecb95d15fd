"""Authentication of one listener: the shell around :mod:`barnabas.security.sasl`.

A connection is served by this module until it is authenticated, and by the dispatcher afterwards.
Where sessions end, this module stays in between: it lets the client authenticate again, and closes
the connection of a client that goes on without.

Nothing here ends a connection that is slow to authenticate: as in Kafka,
``connections.max.idle.ms`` closes silent ones, and ``max.connections.per.ip`` bounds how many a
machine can hold open.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from barnabas.env.clock import Clock
from barnabas.env.worker import Worker
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.network.connection import Connection, Frame, Reply as Answer, ServeFrame
from barnabas.security.sasl.authenticator import (
    Accepted,
    Authenticator,
    Closed,
    Mechanism,
    Misplaced,
    PassOn,
    Refused,
    Reply,
    Session,
    Working,
)
from barnabas.security.sasl.exchange import Settled
from barnabas.telemetry.catalogue import AUTHENTICATIONS, EXPIRED_CONNECTIONS_KILLED
from barnabas.telemetry.logs import EventLog
from barnabas.telemetry.metrics import Metrics
from barnabas.wire.apis import ApiKey, messages, stable_versions
from barnabas.wire.compiler import encoder
from barnabas.wire.declare import declaration_of
from barnabas.wire.frames import OutFrame
from barnabas.wire.headers import read_request_prefix, response_header_version

# A client that authenticates again more often than this gains nothing and costs hashing.
REAUTHENTICATION_MS_MIN = 1000
_CORRELATION_ID_BYTES = 4


class Authentication:
    def __init__(
        self,
        mechanisms: Callable[[], Mapping[str, Mechanism]],
        then: ServeFrame,
        clock: Clock,
        log: EventLog,
        worker: Worker,
        metrics: Metrics,
        *,
        failed_delay_ms: int,
    ) -> None:
        """``then`` serves connections that are authenticated; ``worker`` runs steps that block."""
        self.mechanisms = mechanisms
        self.then = then
        self.clock = clock
        self.log = log
        self.worker = worker
        self.metrics = metrics
        self.failed_delay_ms = failed_delay_ms

    def serve(self, connection: Connection, frame: memoryview) -> Answer:
        """The first frame of a connection."""
        return _Login(self, connection).begin(connection, frame)


class _Login:
    """One authentication of a connection: its first, or a later one of the same client."""

    def __init__(self, authentication: Authentication, connection: Connection, previous: Session | None = None) -> None:
        self._all = authentication
        self._previous = previous
        self._began_ms = authentication.clock.monotonic_ms()
        self._authenticator = Authenticator(authentication.mechanisms(), previous)

    def begin(self, connection: Connection, frame: memoryview) -> Answer:
        connection.serve_with(self._receive, request_bytes_max=connection.listener.first_request_bytes_max)
        return self._receive(connection, frame)

    def _receive(self, connection: Connection, frame: memoryview) -> Answer:
        match self._authenticator.receive(frame, self._all.clock.wall_ms()):
            case PassOn():
                return self._all.then(connection, frame)
            case Working(work, then):
                return self._work(connection, work, then)
            case Misplaced(reason):
                answer = illegal_state(frame)
                if answer is not None:
                    connection.answer(answer)
                connection.refuse(reason)
                return None
            case Closed(reason):
                connection.refuse(reason)
                return None
            case outcome:
                return self._finish(connection, outcome)

    def _finish(self, connection: Connection, outcome: Reply | Accepted | Refused) -> Frame | Promise[Frame | None]:
        match outcome:
            case Reply(answer):
                return answer
            case Accepted(answer, session):
                self._count(connection, "accepted" if self._previous is None else "accepted again")
                self._accept(connection, session)
                return answer
            case Refused(reason, last):
                self._count(connection, "refused")
                self._all.log.info(
                    "authentication failed", client=connection.peer_address[0], listener=connection.listener.name, reason=reason
                )
                return self._refuse_later(connection, last)

    def _work(
        self, connection: Connection, work: Callable[[], Settled], then: Callable[[Settled], Reply | Accepted | Refused]
    ) -> Promise[Frame | None]:
        """A step on a thread. Nothing is read meanwhile."""
        connection.mute()
        answer: Promise[Frame | None] = Promise()

        def done(settled: Settled) -> None:
            finished = self._finish(connection, then(settled))
            if isinstance(finished, Promise):
                finished.then(answer.resolve)
            else:
                answer.resolve(finished)
                connection.unmute()

        self._all.worker.run(work).then(done)
        return answer

    def _count(self, connection: Connection, outcome: str) -> None:
        self._all.metrics.counter(AUTHENTICATIONS, connection.listener.name, outcome).value += 1

    def _accept(self, connection: Connection, session: Session) -> None:
        connection.principal = session.principal
        connection.shortcut = None
        limit = connection.listener.limits.request_bytes_max
        if session.lifetime_ms is None:
            connection.serve_with(self._all.then, request_bytes_max=limit)
        else:
            connection.serve_with(self._until_the_end(session, session.lifetime_ms), request_bytes_max=limit)

    def _until_the_end(self, session: Session, lifetime_ms: int) -> ServeFrame:
        """Serves a session that ends. An attempt to authenticate again too soon goes to the
        dispatcher, which answers it with ILLEGAL_SASL_STATE."""
        clock = self._all.clock
        began_ms = clock.monotonic_ms()
        # Kafka counts from the last attempt to authenticate again; the first may come at once.
        again_ms = began_ms if self._previous is None else self._began_ms + REAUTHENTICATION_MS_MIN

        def serve(connection: Connection, frame: memoryview) -> Answer:
            now_ms = clock.monotonic_ms()
            if now_ms >= again_ms and read_request_prefix(frame).api_key == ApiKey.SASL_HANDSHAKE:
                return _Login(self._all, connection, session).begin(connection, frame)
            if now_ms - began_ms >= lifetime_ms:
                self._all.metrics.counter(EXPIRED_CONNECTIONS_KILLED, connection.listener.name).value += 1
                connection.refuse("the session of the connection is over")
                return None
            return self._all.then(connection, frame)

        return serve

    def _refuse_later(self, connection: Connection, last: Frame | None) -> Promise[Frame | None]:
        """The answer and the close come after a delay, and nothing is read meanwhile."""
        connection.mute()
        answer: Promise[Frame | None] = Promise()

        def end() -> None:
            answer.resolve(last)
            connection.close()

        connection.listener.loop.call_later(self._all.failed_delay_ms / 1000, end)
        return answer


def illegal_state(frame: memoryview) -> OutFrame | None:
    """The response of a request that came in the middle of an authentication.

    None where the error would have to stand in each topic of the request: its body is not parsed
    for a client that is not authenticated.
    """
    prefix = read_request_prefix(frame)
    try:
        key = ApiKey(prefix.api_key)
    except ValueError:
        return None
    if prefix.api_version not in stable_versions(key):
        return None
    response = messages(key)[1]
    fields = {each.name: each for each in declaration_of(response).fields}
    if "error_code" not in fields or prefix.api_version not in fields["error_code"].options.versions:
        return None
    values = {name: each.default() for name, each in fields.items()}
    out = OutFrame(_CORRELATION_ID_BYTES)
    out += prefix.correlation_id.to_bytes(_CORRELATION_ID_BYTES, "big", signed=True)
    if response_header_version(response, prefix.api_version) == 1:
        out.append(0)
    encoder(response, prefix.api_version)(response(**{**values, "error_code": ErrorCode.ILLEGAL_SASL_STATE}), out)
    out.seal()
    return out

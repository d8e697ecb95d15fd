"""Sessions and refusals of a listener with SASL, on a clock that the test moves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from barnabas.api.authentication import Authentication
from barnabas.env.worker import Worker
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.network.connection import Connection, Reply, ServeFrame
from barnabas.security.principal import ANONYMOUS, Principal
from barnabas.security.sasl.authenticator import Mechanism
from barnabas.security.sasl.exchange import Authenticated, Blocking, Failed, Step
from barnabas.security.sasl.plain import PlainClient, PlainServer, PlainUsers
from barnabas.telemetry.catalogue import AUTHENTICATIONS, EXPIRED_CONNECTIONS_KILLED
from barnabas.telemetry.logs import EventLog
from barnabas.telemetry.metrics import Metrics
from barnabas.wire.apis import ApiKey
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.list_offsets import ListOffsetsRequest
from tests.unit.security.sasl.frames import answer, handshake, request_frame, token, versions

SESSION_MS = 5000
DELAY_MS = 100
RECEIVE_BYTES_MAX, REQUEST_BYTES_MAX = 1000, 1_000_000
SERVED = b"served"
GOOD, BAD, BOB = (PlainClient(*each).first() for each in (("alice", "wonder"), ("alice", "wrong"), ("bob", "builder")))
METADATA = request_frame(FindCoordinatorRequest(key="g"), ApiKey.FIND_COORDINATOR, 3)


class Clock:
    now_ms = 1_000_000

    def wall_ms(self) -> int:
        return self.now_ms

    def monotonic_ms(self) -> int:
        return self.now_ms


class Client:
    """A connection as authentication sees it, and the client's end of it."""

    def __init__(self, serve: ServeFrame) -> None:
        self._serve = serve
        self.timers: list[tuple[float, Callable[[], None]]] = []
        self.listener = SimpleNamespace(
            name="SASL",
            first_request_bytes_max=RECEIVE_BYTES_MAX,
            limits=SimpleNamespace(request_bytes_max=REQUEST_BYTES_MAX),
            loop=SimpleNamespace(call_later=lambda seconds, call: self.timers.append((seconds, call))),
        )
        self.peer_address = ("127.0.0.1", 1)
        self.principal = ANONYMOUS
        self.shortcut: object = "of an earlier principal"
        self.request_bytes_max = RECEIVE_BYTES_MAX
        self.muted = self.closed = False
        self.refusals: list[str] = []
        self.answers: list[Any] = []

    def send(self, frame: memoryview) -> Any:
        reply = self._serve(cast(Connection, self), frame)
        return reply.value if isinstance(reply, Promise) and reply.done else reply

    def serve_with(self, serve: ServeFrame, *, request_bytes_max: int) -> None:
        self._serve, self.request_bytes_max = serve, request_bytes_max

    def mute(self) -> None:
        self.muted = True

    def unmute(self) -> None:
        self.muted = False

    def answer(self, reply: Any) -> None:
        self.answers.append(reply)

    def refuse(self, reason: str) -> None:
        self.refusals.append(reason)
        self.closed = True

    def close(self) -> None:
        self.closed = True


class Slow:
    def step(self, token: bytes) -> Step:
        return Blocking(lambda: Authenticated(b"", Principal("User", "alice")) if token == b"good" else Failed("no"))


class Listener:
    def __init__(self, session_ms: int = 0) -> None:
        users = PlainUsers({"alice": "wonder", "bob": "builder"})
        mechanisms: Mapping[str, Mechanism] = {
            "PLAIN": Mechanism(lambda: PlainServer(users.check), session_ms),
            "SLOW": Mechanism(Slow, session_ms),
        }
        self.clock = Clock()
        self.metrics = Metrics()
        self.work: list[Callable[[], None]] = []
        self._authentication = Authentication(
            lambda: mechanisms, self._then, self.clock, EventLog(), cast(Worker, self), self.metrics, failed_delay_ms=DELAY_MS
        )

    def _then(self, connection: Connection, frame: memoryview) -> Reply:
        return SERVED

    def run(self, work: Callable[[], Any]) -> Promise[Any]:
        """The worker: the test decides when the work is done."""
        promise: Promise[Any] = Promise()
        self.work.append(lambda: promise.resolve(work()))
        return promise

    def connect(self) -> Client:
        return Client(self._authentication.serve)

    def logged_in(self, version: int = 2) -> Client:
        client = self.connect()
        client.send(handshake("PLAIN"))
        client.send(token(GOOD, version))
        assert client.send(METADATA) == SERVED
        return client

    def killed(self) -> float:
        return self.metrics.counter(EXPIRED_CONNECTIONS_KILLED, "SASL").value

    def ended(self, outcome: str) -> float:
        return self.metrics.counter(AUTHENTICATIONS, "SASL", outcome).value


def test_a_login_sets_the_principal_and_lifts_the_limit_of_requests() -> None:
    listener = Listener()
    client = listener.connect()
    assert client.send(versions()) == SERVED
    client.send(handshake("PLAIN"))
    assert (client.principal, client.request_bytes_max) == (ANONYMOUS, RECEIVE_BYTES_MAX)
    client.send(token(GOOD))
    assert (client.principal, client.request_bytes_max) == (Principal("User", "alice"), REQUEST_BYTES_MAX)
    assert client.shortcut is None
    assert listener.ended("accepted") == 1


def test_a_refusal_and_the_close_come_after_the_delay_and_nothing_is_read_meanwhile() -> None:
    listener = Listener()
    client = listener.connect()
    client.send(handshake("PLAIN"))
    promised = client.send(token(BAD))
    assert isinstance(promised, Promise)
    assert (client.muted, client.closed) == (True, False)
    ((seconds, end),) = client.timers
    assert seconds == DELAY_MS / 1000
    end()
    assert client.closed
    assert answer(promised.value, ApiKey.SASL_AUTHENTICATE, 2).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert listener.ended("refused") == 1


def test_another_api_during_an_exchange_gets_illegal_sasl_state_and_the_connection_ends() -> None:
    client = Listener().connect()
    client.send(handshake("PLAIN"))
    assert client.send(METADATA) is None
    assert client.closed
    assert answer(client.answers[0], ApiKey.FIND_COORDINATOR, 3).error_code == ErrorCode.ILLEGAL_SASL_STATE


@pytest.mark.parametrize(
    "other",
    [
        # Its error would stand in each topic.
        request_frame(ListOffsetsRequest(replica_id=-1, topics=[], isolation_level=0, timeout_ms=0), ApiKey.LIST_OFFSETS, 10),
        memoryview(b"\x7f\xff\x00\x00\x00\x00\x00\x01\xff\xff"),
        memoryview(b"\x00\x0a\x7f\xff\x00\x00\x00\x01\xff\xff"),
    ],
    ids=["ListOffsets", "unknown API", "unknown version"],
)
def test_another_api_without_a_place_for_the_error_only_ends_the_connection(other: memoryview) -> None:
    client = Listener().connect()
    client.send(handshake("PLAIN"))
    client.send(other)
    assert client.closed
    assert client.answers == []


def test_a_session_without_an_end_leaves_a_second_handshake_to_its_handler() -> None:
    client = Listener().logged_in()
    assert client.send(handshake("PLAIN")) == SERVED
    assert client.send(token(GOOD)) == SERVED


def test_a_client_that_goes_on_after_its_session_is_killed() -> None:
    listener = Listener(SESSION_MS)
    client = listener.logged_in()
    listener.clock.now_ms += SESSION_MS - 1
    assert client.send(METADATA) == SERVED
    listener.clock.now_ms += 1
    assert client.send(METADATA) is None
    assert client.refusals == ["the session of the connection is over"]
    assert listener.killed() == 1


@pytest.mark.parametrize("version", [0, 2])
def test_a_client_that_cannot_read_its_lifetime_is_killed_at_the_end_as_well(version: int) -> None:
    listener = Listener(SESSION_MS)
    client = listener.logged_in(version)
    listener.clock.now_ms += SESSION_MS
    client.send(METADATA)
    assert client.closed


@pytest.mark.parametrize("late_ms", [0, SESSION_MS, 10 * SESSION_MS])
def test_a_client_authenticates_again_before_and_after_the_end(late_ms: int) -> None:
    listener = Listener(SESSION_MS)
    client = listener.logged_in()
    listener.clock.now_ms += late_ms
    assert answer(client.send(handshake("PLAIN")), ApiKey.SASL_HANDSHAKE, 1).error_code == ErrorCode.NONE
    assert client.request_bytes_max == RECEIVE_BYTES_MAX
    assert answer(client.send(token(GOOD)), ApiKey.SASL_AUTHENTICATE, 2).session_lifetime_ms == SESSION_MS
    assert client.send(METADATA) == SERVED
    assert (listener.ended("accepted"), listener.ended("accepted again")) == (1, 1)


def test_a_client_may_authenticate_again_once_a_second() -> None:
    listener = Listener(SESSION_MS)
    client = listener.logged_in()
    client.send(handshake("PLAIN"))
    client.send(token(GOOD))
    listener.clock.now_ms += 999
    # The dispatcher's handler answers with ILLEGAL_SASL_STATE.
    assert client.send(handshake("PLAIN")) == SERVED
    listener.clock.now_ms += 1
    assert client.send(handshake("PLAIN")) != SERVED


def test_a_client_that_authenticates_again_as_another_user_is_refused() -> None:
    client = Listener(SESSION_MS).logged_in()
    client.send(handshake("PLAIN"))
    promised = client.send(token(BOB))
    client.timers[0][1]()
    assert answer(promised.value, ApiKey.SASL_AUTHENTICATE, 2).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert client.closed


@pytest.mark.parametrize(("sent", "served"), [(b"good", True), (b"bad", False)])
def test_a_step_that_blocks_mutes_the_connection_until_it_is_done(sent: bytes, served: bool) -> None:
    listener = Listener()
    client = listener.connect()
    client.send(handshake("SLOW"))
    promised = client.send(token(sent))
    assert isinstance(promised, Promise)
    assert client.muted
    assert client.principal == ANONYMOUS
    listener.work[0]()
    assert (promised.done, client.muted) == (served, not served)
    if served:
        assert client.send(METADATA) == SERVED
    else:
        client.timers[0][1]()
        assert (promised.done, client.closed) == (True, True)

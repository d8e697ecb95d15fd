"""The order of requests before a connection is authenticated."""

from __future__ import annotations

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.security.principal import Principal
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
from barnabas.security.sasl.exchange import Authenticated, Blocking, Failed, Step
from barnabas.security.sasl.plain import PlainClient, PlainServer, PlainUsers
from barnabas.wire.apis import ApiKey
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.list_offsets import ListOffsetsRequest
from barnabas.wire.tagged_fields import MalformedMessage
from tests.unit.security.sasl.frames import answer, handshake, request_frame, token, versions

NOW_MS = 1_000_000
ALICE = Principal("User", "alice")
GOOD = PlainClient("alice", "wonder").first()
BAD = PlainClient("alice", "wrong").first()


class Expiring:
    """A credential that ends."""

    def step(self, token: bytes) -> Step:
        return Authenticated(b"", ALICE, NOW_MS + 60_000) if token == b"good" else Failed("no")


def authenticator(session_ms_max: int = 0, previous: Session | None = None) -> Authenticator:
    users = PlainUsers({"alice": "wonder", "bob": "builder"})
    return Authenticator(
        {"PLAIN": Mechanism(lambda: PlainServer(users.check), session_ms_max), "EXPIRING": Mechanism(Expiring, session_ms_max)}, previous
    )


def test_versions_then_a_handshake_then_a_token() -> None:
    made = authenticator()
    assert made.receive(versions(), NOW_MS) == PassOn()
    chosen = made.receive(handshake("PLAIN"), NOW_MS)
    assert isinstance(chosen, Reply)
    assert answer(chosen.frame, ApiKey.SASL_HANDSHAKE, 1).mechanisms == ["EXPIRING", "PLAIN"]
    done = made.receive(token(GOOD), NOW_MS)
    assert isinstance(done, Accepted)
    assert done.session == Session("PLAIN", ALICE, None, may_reauthenticate=True)
    assert answer(done.frame, ApiKey.SASL_AUTHENTICATE, 2).session_lifetime_ms == 0


def test_an_expired_credential_is_refused() -> None:
    made = authenticator()
    made.receive(handshake("EXPIRING"), NOW_MS)
    refused = made.receive(token(b"good"), NOW_MS + 60_000)
    assert isinstance(refused, Refused)
    assert refused.reason == "Authentication failed: the credentials have expired"


def test_a_handshake_may_come_first() -> None:
    assert isinstance(authenticator().receive(handshake("PLAIN"), NOW_MS), Reply)


def test_an_unknown_version_of_api_versions_may_be_asked_again_and_a_known_one_not() -> None:
    made = authenticator()
    assert made.receive(versions_of_the_future(), NOW_MS) == PassOn()
    assert made.receive(versions(), NOW_MS) == PassOn()
    assert isinstance(made.receive(versions(), NOW_MS), Closed)


def test_api_versions_with_an_invalid_name_of_the_client_may_be_asked_again() -> None:
    made = authenticator()
    invalid = ApiVersionsRequest(client_software_name="-", client_software_version="1")
    for _ in range(2):
        assert made.receive(request_frame(invalid, ApiKey.API_VERSIONS, 3), NOW_MS) == PassOn()
    assert made.receive(versions(), NOW_MS) == PassOn()
    assert isinstance(made.receive(versions(), NOW_MS), Closed)


def versions_of_the_future() -> memoryview:
    frame = bytearray(versions())
    frame[2:4] = (99).to_bytes(2, "big")
    return memoryview(bytes(frame))


def test_any_other_request_closes_the_connection_unparsed_and_is_answered_only_during_an_exchange() -> None:
    other = request_frame(ListOffsetsRequest(replica_id=-1, topics=[], isolation_level=0, timeout_ms=0), ApiKey.LIST_OFFSETS, 10)
    assert isinstance(authenticator().receive(other, NOW_MS), Closed)
    made = authenticator()
    made.receive(handshake("PLAIN"), NOW_MS)
    assert isinstance(made.receive(other[:11], NOW_MS), Misplaced)
    assert isinstance(authenticator().receive(token(GOOD), NOW_MS), Closed)


def test_a_mechanism_that_is_not_enabled_gets_the_list_of_those_that_are() -> None:
    refused = authenticator().receive(handshake("SCRAM-SHA-256"), NOW_MS)
    assert isinstance(refused, Refused)
    response = answer(refused.frame, ApiKey.SASL_HANDSHAKE, 1)
    assert response.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
    assert response.mechanisms == ["EXPIRING", "PLAIN"]


def test_a_wrong_password_gets_an_answer_before_the_end() -> None:
    made = authenticator()
    made.receive(handshake("PLAIN"), NOW_MS)
    refused = made.receive(token(BAD, version=0), NOW_MS)
    assert isinstance(refused, Refused)
    response = answer(refused.frame, ApiKey.SASL_AUTHENTICATE, 0)
    assert response.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert "Invalid username or password" in response.error_message


def test_after_a_handshake_of_version_0_tokens_have_no_header() -> None:
    made = authenticator()
    made.receive(handshake("PLAIN", version=0), NOW_MS)
    done = made.receive(memoryview(GOOD), NOW_MS)
    assert isinstance(done, Accepted)
    assert done.frame == b"\x00\x00\x00\x00"


def test_after_a_handshake_of_version_0_a_failure_has_no_answer() -> None:
    made = authenticator()
    made.receive(handshake("PLAIN", version=0), NOW_MS)
    refused = made.receive(memoryview(BAD), NOW_MS)
    assert isinstance(refused, Refused)
    assert refused.frame is None


@pytest.mark.parametrize(("session_ms_max", "lifetime_ms"), [(0, 60_000), (5000, 5000), (90_000, 60_000)])
def test_a_session_ends_with_its_credential_or_with_the_limit(session_ms_max: int, lifetime_ms: int) -> None:
    made = authenticator(session_ms_max)
    made.receive(handshake("EXPIRING"), NOW_MS)
    done = made.receive(token(b"good"), NOW_MS)
    assert isinstance(done, Accepted)
    assert done.session.lifetime_ms == lifetime_ms
    assert answer(done.frame, ApiKey.SASL_AUTHENTICATE, 2).session_lifetime_ms == lifetime_ms


@pytest.mark.parametrize(
    ("mechanism", "sent", "outcome"),
    [("PLAIN", GOOD, Accepted), ("PLAIN", PlainClient("bob", "builder").first(), Refused), ("EXPIRING", b"good", Refused)],
)
def test_authenticating_again_keeps_the_mechanism_and_the_principal(mechanism: str, sent: bytes, outcome: type) -> None:
    made = authenticator(5000, Session("PLAIN", ALICE, 5000, may_reauthenticate=True))
    assert isinstance(made.receive(handshake(mechanism), NOW_MS), Reply)
    assert isinstance(made.receive(token(sent), NOW_MS), outcome)


def test_bytes_that_do_not_decode_are_malformed() -> None:
    made = authenticator()
    with pytest.raises(MalformedMessage):
        made.receive(handshake("PLAIN")[:12], NOW_MS)


def test_a_credential_that_has_ended_is_refused() -> None:
    made = authenticator()
    made.receive(handshake("EXPIRING"), NOW_MS)
    assert isinstance(made.receive(token(b"good"), NOW_MS + 60_000), Refused)


class Slow:
    """An exchange whose steps belong on a thread."""

    def step(self, token: bytes) -> Step:
        return Blocking(lambda: Authenticated(b"done", ALICE) if token == b"good" else Failed("no"))


@pytest.mark.parametrize(("sent", "outcome"), [(b"good", Accepted), (b"bad", Refused)])
def test_a_step_that_blocks_is_settled_after_its_work(sent: bytes, outcome: type) -> None:
    made = Authenticator({"SLOW": Mechanism(Slow)})
    made.receive(handshake("SLOW"), NOW_MS)
    working = made.receive(token(sent), NOW_MS)
    assert isinstance(working, Working)
    assert isinstance(working.then(working.work()), outcome)


def test_a_blocking_step_may_not_change_the_principal_either() -> None:
    made = Authenticator({"SLOW": Mechanism(Slow)}, Session("SLOW", Principal("User", "bob"), 5000, may_reauthenticate=True))
    made.receive(handshake("SLOW"), NOW_MS)
    working = made.receive(token(b"good"), NOW_MS)
    assert isinstance(working, Working)
    assert isinstance(working.then(working.work()), Refused)


def test_a_handshake_during_an_exchange_is_misplaced() -> None:
    made = authenticator()
    made.receive(handshake("PLAIN"), NOW_MS)
    assert isinstance(made.receive(handshake("PLAIN"), NOW_MS), Misplaced)
    made = authenticator()
    made.receive(handshake("PLAIN"), NOW_MS)
    assert isinstance(made.receive(versions(), NOW_MS), Misplaced)


def test_authenticating_again_begins_with_a_handshake() -> None:
    session = Session("PLAIN", ALICE, 5000, may_reauthenticate=True)
    assert isinstance(authenticator(5000, session).receive(versions(), NOW_MS), Closed)

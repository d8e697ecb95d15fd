"""The messages of RFC 4752 around a context that stands for the Kerberos library."""

from __future__ import annotations

import pytest

from barnabas.security.principal import Principal
from barnabas.security.sasl.exchange import Authenticated, Blocking, Challenge, Failed, ServerRefused, Settled
from barnabas.security.sasl.gssapi import TOKENS_MAX, GssapiClient, GssapiServer, GssFailure


class Context:
    """Both sides of a context: it is complete after ``steps`` tokens, and wraps with a mark."""

    def __init__(self, steps: int = 1, *, last_is_empty: bool = False) -> None:
        self._left = steps
        self._last_is_empty = last_is_empty

    @property
    def complete(self) -> bool:
        return self._left == 0

    def step(self, token: bytes) -> bytes:
        if token == b"forged":
            raise GssFailure("the ticket is forged")
        self._left -= 1
        return b"" if self.complete and self._last_is_empty else b"token"

    def wrap(self, message: bytes) -> bytes:
        return b"W" + message

    def unwrap(self, token: bytes) -> bytes:
        if token[:1] != b"W":
            raise GssFailure("the message is not wrapped")
        return token[1:]

    def initiator(self) -> str:
        return "alice@EXAMPLE.COM"


def server(context: Context | None = None, name: str | None = "alice") -> GssapiServer:
    return GssapiServer(lambda: context or Context(), lambda _: name)


def stepped(made: GssapiServer, token: bytes) -> Settled:
    step = made.step(token)
    assert isinstance(step, Blocking)
    return step.work()


def test_no_security_layer_is_offered_and_the_ticket_names_the_principal() -> None:
    made = server()
    assert stepped(made, b"ticket") == Challenge(b"token")
    assert stepped(made, b"") == Challenge(b"W\x01\x00\x00\x00")
    assert stepped(made, b"W\x01\x00\x00\x00") == Authenticated(b"", Principal("User", "alice"))


def test_a_last_token_that_is_empty_is_not_sent_alone() -> None:
    made = server(Context(last_is_empty=True))
    assert stepped(made, b"ticket") == Challenge(b"W\x01\x00\x00\x00")


@pytest.mark.parametrize("authorization_id", [b"", b"alice@EXAMPLE.COM", b"kafka@localhost", b"root"])
def test_the_authorization_identity_changes_nothing(authorization_id: bytes) -> None:
    made = server(Context(last_is_empty=True))
    stepped(made, b"ticket")
    assert stepped(made, b"W\x01\x00\xff\xff" + authorization_id) == Authenticated(b"", Principal("User", "alice"))


@pytest.mark.parametrize(
    "choice", [b"", b"W", b"W\x01", b"W\x02\x00\x00\x00", b"W\x04\x00\x00\x00", b"\x01\x00\x00\x00", b"W\x00\x00\x00\x00"]
)
def test_a_choice_that_was_not_offered_is_refused(choice: bytes) -> None:
    made = server(Context(last_is_empty=True))
    stepped(made, b"ticket")
    assert isinstance(stepped(made, choice), Failed)


def test_failures_say_nothing_to_the_client() -> None:
    forged = stepped(server(), b"forged")
    unnamed = server(Context(last_is_empty=True), name=None)
    stepped(unnamed, b"ticket")
    nameless = stepped(unnamed, b"W\x01\x00\x00\x00")
    assert isinstance(forged, Failed)
    assert isinstance(nameless, Failed)
    assert forged.message == nameless.message
    assert forged.reason == "the ticket is forged"


def test_an_exchange_has_a_limited_number_of_tokens() -> None:
    made = server(Context(steps=1000))
    outcomes = [stepped(made, b"ticket") for _ in range(TOKENS_MAX + 1)]
    assert isinstance(outcomes[-1], Failed)
    assert all(isinstance(each, Challenge) for each in outcomes[:-1])


def test_a_client_chooses_no_layer() -> None:
    client = GssapiClient(Context(), b"first")
    assert client.first() == b"first"
    assert client.step(b"answer") == b"token"
    assert client.step(b"W\x07\x00\xff\xff") == b"W\x01\x00\x00\x00"
    assert client.step(b"") is None


@pytest.mark.parametrize("offer", [b"W\x06\x00\xff\xff", b"W", b"plain"])
def test_a_client_refuses_a_server_that_insists_on_a_layer(offer: bytes) -> None:
    client = GssapiClient(Context(steps=0), b"first")
    with pytest.raises(ServerRefused):
        client.step(offer)

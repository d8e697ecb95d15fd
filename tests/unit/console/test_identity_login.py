"""Requests of one session at once, of which one renews or ends the login of the others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import cast

import pytest
from starlette.requests import Request

from barnabas.client_settings.bearer_token import TOKEN
from barnabas.console.access.identity_login import log_in_with_identity
from barnabas.console.catalogue import OPERATIONS
from barnabas.console.services import Services
from barnabas.console.settings import ClusterSettings, ConsoleSettings, LoginMode
from barnabas.console.web.call import Call
from barnabas.console.web.sessions import Identity, Session
from barnabas.telemetry.logs import EventLog
from tests.unit import simulated

CLUSTER = ClusterSettings("tokens", "k:1", {"security.protocol": "sasl_plaintext", "sasl.mechanism": "OAUTHBEARER"})
FIRST, RENEWED = Identity("User:alice", "first"), Identity("User:alice", "renewed")


def _renewed(session: Session) -> None:
    session.identity = RENEWED
    session.logins.clear()


def _ended(session: Session) -> None:
    session.identity = None
    session.logins.clear()


@pytest.mark.parametrize("overtaken_by", [_renewed, _ended])
def test_a_request_keeps_its_login_when_another_one_of_the_session_changes_it(overtaken_by: Callable[[Session], None]) -> None:
    services = Services(ConsoleSettings((CLUSTER,), login=LoginMode.HEADER), EventLog("FATAL"))
    session = Session("1", 0.0, 0.0, identity=FIRST)
    call = Call(OPERATIONS[0], {"cluster": "tokens"}, session, services, cast(Request, SimpleNamespace()))

    async def scenario() -> None:
        login = asyncio.create_task(log_in_with_identity(call, FIRST))
        await asyncio.sleep(0)
        overtaken_by(session)
        await login
        assert services.client_of("tokens", call) is not None

    try:
        simulated.run(scenario())
    finally:
        services.close()
    assert call.logins["tokens"].properties[TOKEN] == "first"
    assert session.logins == {}, "the session is not logged in with a token that it has no more"

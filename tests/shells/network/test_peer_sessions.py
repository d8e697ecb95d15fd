"""Connections whose session ends: they are replaced before, and no request fails because of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from barnabas.model.promise import Promise
from barnabas.network.peer_connection import Login
from barnabas.network.peers import Peer, Peers
from barnabas.security.sasl.plain import PlainClient
from barnabas.wire.apis import ApiKey
from barnabas.wire.messages.sasl_authenticate import SaslAuthenticateResponse
from barnabas.wire.messages.sasl_handshake import SaslHandshakeResponse
from tests.shells.network.test_peers import PATIENCE_MS, coming, heartbeat, heartbeat_response
from tests.unit.network.hostile_peer import Visitor, answer, serving
from tests.waiting import PATIENCE_SECONDS

OFFERED = {ApiKey.HEARTBEAT: (4, 4), ApiKey.SASL_HANDSHAKE: (1, 1), ApiKey.SASL_AUTHENTICATE: (2, 2)}
SESSION_MS = 1
LOGIN = Login("PLAIN", lambda _: Promise.kept(PlainClient("node", "secret")))


async def admit(visitor: Visitor) -> None:
    """Accepts the peer for a session that is over at once."""
    await visitor.greet(OFFERED)
    asked = await visitor.request()
    visitor.writer.write(answer(asked.correlation_id, SaslHandshakeResponse(error_code=0, mechanisms=["PLAIN"]), 1))
    asked = await visitor.request()
    accepted = SaslAuthenticateResponse(error_code=0, error_message=None, auth_bytes=b"", session_lifetime_ms=SESSION_MS)
    visitor.writer.write(answer(asked.correlation_id, accepted, 2))


async def asked_of(visit: Callable[[Visitor], Awaitable[None]], ask: Callable[[Peer], Awaitable[None]]) -> list[str]:
    """The reports of failed connections."""
    reports: list[str] = []
    async with serving(visit) as port:
        peers = Peers("node 1", report=lambda _, reason: reports.append(reason), login=LOGIN)
        try:
            await ask(peers.at("127.0.0.1", port))
            return list(reports)
        finally:
            peers.close()


async def session_over() -> None:
    await asyncio.sleep(2 * SESSION_MS / 1000)


def test_each_request_after_the_end_of_a_session_is_answered_on_another_connection() -> None:
    connections = 0

    async def visit(visitor: Visitor) -> None:
        nonlocal connections
        connections += 1
        number = connections
        await admit(visitor)
        asked = await visitor.request()
        visitor.writer.write(answer(asked.correlation_id, heartbeat_response(number), asked.api_version))
        await visitor.reader.read()

    async def ask(peer: Peer) -> None:
        for number in range(1, 6):
            assert (await coming(peer.send(heartbeat(), timeout_ms=PATIENCE_MS))).throttle_time_ms == number
            await session_over()

    assert asyncio.run(asked_of(visit, ask)) == []


def test_a_request_in_flight_at_the_end_of_a_session_is_answered_and_then_its_connection_is_closed() -> None:
    arrived, may_answer, closed = asyncio.Event(), asyncio.Event(), asyncio.Event()
    connections = 0

    async def visit(visitor: Visitor) -> None:
        nonlocal connections
        connections += 1
        first = connections == 1
        await admit(visitor)
        asked = await visitor.request()
        if first:
            arrived.set()
            await may_answer.wait()
        visitor.writer.write(answer(asked.correlation_id, heartbeat_response(1 if first else 2), asked.api_version))
        await visitor.reader.read()
        if first:
            closed.set()

    async def ask(peer: Peer) -> None:
        slow = peer.send(heartbeat(), timeout_ms=PATIENCE_MS)
        await asyncio.wait_for(arrived.wait(), PATIENCE_SECONDS)
        await session_over()
        quick = peer.send(heartbeat(), timeout_ms=PATIENCE_MS)
        assert (await coming(quick)).throttle_time_ms == 2
        may_answer.set()
        assert (await coming(slow)).throttle_time_ms == 1
        await asyncio.wait_for(closed.wait(), PATIENCE_SECONDS)

    assert asyncio.run(asked_of(visit, ask)) == []

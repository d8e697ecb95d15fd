"""Requests to other nodes: in order, in versions both know, and never stuck on a peer that is slow,
gone or lying.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.network import peers as peers_module
from barnabas.network.peers import CALLS_WAITING_MAX, SETUP_TIMEOUT_MS, Peer, Peers
from barnabas.testing import EmbeddedBroker
from barnabas.wire.apis import ApiKey
from barnabas.wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from barnabas.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from barnabas.wire.messages.metadata import MetadataRequest, MetadataResponse
from tests.unit.network.hostile_peer import Visitor, answer, framed, greeting, serving
from tests.waiting import PATIENCE_SECONDS

PATIENCE_MS = 20_000
_CORRELATION_ID = struct.Struct(">i")


async def coming(promise: Promise[Any]) -> Any:
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    promise.then(future.set_result)
    return await asyncio.wait_for(future, PATIENCE_SECONDS)


def heartbeat(group: str = "g") -> HeartbeatRequest:
    return HeartbeatRequest(group_id=group, generation_id=1, member_id="m")


def heartbeat_response(throttle_time_ms: int) -> HeartbeatResponse:
    """The tests tell responses apart by a field without meaning here."""
    return HeartbeatResponse(error_code=0, throttle_time_ms=throttle_time_ms)


async def asked_of(
    visit: Callable[[Visitor], Awaitable[None]], ask: Callable[[Peer], Awaitable[None]], *, setup_timeout_ms: int = SETUP_TIMEOUT_MS
) -> None:
    async with serving(visit) as port:
        peers = Peers("node 1", setup_timeout_ms=setup_timeout_ms)
        try:
            await ask(peers.at("127.0.0.1", port))
        finally:
            peers.close()


# -- a real node


def test_a_node_answers_in_the_newest_version_both_know() -> None:
    async def ask(port: int) -> None:
        peers = Peers("node 7")
        peer = peers.at("127.0.0.1", port)
        metadata, beat = peer.send(MetadataRequest(topics=None), timeout_ms=PATIENCE_MS), peer.send(heartbeat(), timeout_ms=PATIENCE_MS)
        response = await coming(metadata)
        assert isinstance(response, MetadataResponse)
        assert [broker.port for broker in response.brokers] == [port]
        assert response.cluster_id, "only newer versions carry this field"
        assert isinstance(await coming(beat), HeartbeatResponse)
        # A listener for clients refuses the requests that brokers send to the controller.
        to_controller = BrokerHeartbeatRequest(
            broker_id=1, broker_epoch=1, current_metadata_offset=0, want_fence=False, want_shut_down=False
        )
        assert await coming(peer.send(to_controller, timeout_ms=PATIENCE_MS)) is ErrorCode.UNSUPPORTED_VERSION
        peers.close()
        assert await coming(peer.send(heartbeat(), timeout_ms=PATIENCE_MS)) is ErrorCode.NETWORK_EXCEPTION

    with EmbeddedBroker() as broker:
        asyncio.run(ask(int(broker.bootstrap.rpartition(":")[2])))


def test_a_node_that_was_restarted_is_dialled_again() -> None:
    async def ask(peers: Peers, port: int) -> Any:
        for _ in range(100):
            response = await coming(peers.at("127.0.0.1", port).send(MetadataRequest(topics=[]), timeout_ms=PATIENCE_MS))
            if not isinstance(response, ErrorCode):
                return response
            assert response is ErrorCode.NETWORK_EXCEPTION
        return None

    async def twice(broker: EmbeddedBroker) -> None:
        peers, port = Peers("node 7"), int(broker.bootstrap.rpartition(":")[2])
        assert isinstance(await ask(peers, port), MetadataResponse)
        await asyncio.to_thread(broker.stop)
        await asyncio.to_thread(broker.start)
        assert isinstance(await ask(peers, port), MetadataResponse)
        peers.close()

    with EmbeddedBroker() as broker:
        asyncio.run(twice(broker))


# -- order and versions


def test_requests_are_pipelined_and_answered_in_order() -> None:
    async def visit(visitor: Visitor) -> None:
        await visitor.greet()
        asked = [await visitor.request() for _ in range(3)]
        for number, each in enumerate(asked):
            visitor.writer.write(answer(each.correlation_id, heartbeat_response(number), each.api_version))
        await visitor.reader.read()

    async def ask(peer: Peer) -> None:
        answers = [peer.send(heartbeat(), timeout_ms=PATIENCE_MS) for _ in range(3)]
        assert [(await coming(each)).throttle_time_ms for each in answers] == [0, 1, 2]

    asyncio.run(asked_of(visit, ask))


@pytest.mark.parametrize(("version_max", "sent"), [(None, 3), (2, 2), (9, 3)])
def test_a_request_uses_the_highest_version_that_both_sides_know(version_max: int | None, sent: int) -> None:
    versions = []

    async def visit(visitor: Visitor) -> None:
        await visitor.greet({ApiKey.HEARTBEAT: (1, 3)})
        asked = await visitor.request()
        versions.append(asked.api_version)
        visitor.writer.write(answer(asked.correlation_id, heartbeat_response(0), asked.api_version))
        await visitor.reader.read()

    async def ask(peer: Peer) -> None:
        await coming(peer.send(heartbeat(), timeout_ms=PATIENCE_MS, version_max=version_max))
        assert versions == [sent]

    asyncio.run(asked_of(visit, ask))


@pytest.mark.parametrize("offered", [{ApiKey.METADATA: (0, 1)}, {ApiKey.HEARTBEAT: (90, 99)}, {ApiKey.HEARTBEAT: (3, 1)}])
def test_a_request_that_the_peer_does_not_know_is_not_sent(offered: dict[ApiKey, tuple[int, int]]) -> None:
    async def visit(visitor: Visitor) -> None:
        await visitor.greet(offered)
        await visitor.reader.read()

    async def ask(peer: Peer) -> None:
        assert await coming(peer.send(heartbeat(), timeout_ms=PATIENCE_MS)) is ErrorCode.UNSUPPORTED_VERSION

    asyncio.run(asked_of(visit, ask))


def test_the_handshake_falls_back_to_the_version_of_an_older_node() -> None:
    async def visit(visitor: Visitor) -> None:
        asked = await visitor.request()
        own = [ApiVersion(api_key=ApiKey.API_VERSIONS, min_version=0, max_version=2)]
        visitor.writer.write(answer(asked.correlation_id, ApiVersionsResponse(error_code=35, api_keys=own), 0))
        asked = await visitor.request()
        assert asked.api_version == 2
        visitor.writer.write(greeting(asked.correlation_id, {ApiKey.HEARTBEAT: (0, 2)}, version=2))
        asked = await visitor.request()
        visitor.writer.write(answer(asked.correlation_id, heartbeat_response(5), asked.api_version))
        await visitor.reader.read()

    async def ask(peer: Peer) -> None:
        assert (await coming(peer.send(heartbeat(), timeout_ms=PATIENCE_MS))).throttle_time_ms == 5

    asyncio.run(asked_of(visit, ask))


# -- lies


@pytest.mark.parametrize(
    "nonsense",
    [
        lambda asked: answer(asked.correlation_id + 1, heartbeat_response(0), asked.api_version),
        lambda asked: framed(b"\x00"),
        lambda asked: framed(_CORRELATION_ID.pack(asked.correlation_id) + b"\x00\x00"),
        lambda asked: framed(_CORRELATION_ID.pack(asked.correlation_id) + b"\x05\xff"),
        lambda asked: b"\x7f\xff\xff\xff" + _CORRELATION_ID.pack(asked.correlation_id),
        lambda asked: b"\x00\x00\x00\x00",
        lambda asked: b"\xff\xff\xff\xff",
        lambda asked: b"HTTP/1.1 400 Bad Request\r\n\r\n",
    ],
)
def test_an_invalid_response_ends_the_connection_and_fails_all_calls(nonsense: Callable[[Any], bytes]) -> None:
    async def visit(visitor: Visitor) -> None:
        await visitor.greet()
        asked = await visitor.request()
        await visitor.request()
        visitor.writer.write(nonsense(asked))
        await visitor.reader.read()

    async def ask(peer: Peer) -> None:
        answers = [peer.send(heartbeat(), timeout_ms=PATIENCE_MS) for _ in range(2)]
        assert [await coming(each) for each in answers] == [ErrorCode.NETWORK_EXCEPTION] * 2

    asyncio.run(asked_of(visit, ask))


@pytest.mark.parametrize(
    "nonsense",
    [
        lambda asked: framed(b"\x00\x00\x00\x00\x00"),
        lambda asked: answer(asked.correlation_id, ApiVersionsResponse(error_code=41, api_keys=[]), 4),
        lambda asked: answer(asked.correlation_id, ApiVersionsResponse(error_code=35, api_keys=[]), 0),
        lambda asked: framed(_CORRELATION_ID.pack(asked.correlation_id) + b"\x00\x00\xff\xff\xff\xff\x0f"),
    ],
)
def test_an_invalid_api_versions_response_is_a_failed_connection(nonsense: Callable[[Any], bytes]) -> None:
    async def visit(visitor: Visitor) -> None:
        while True:
            visitor.writer.write(nonsense(await visitor.request()))

    async def ask(peer: Peer) -> None:
        assert await coming(peer.send(heartbeat(), timeout_ms=PATIENCE_MS)) is ErrorCode.NETWORK_EXCEPTION

    asyncio.run(asked_of(visit, ask))


def test_a_response_without_a_request_ends_the_connection() -> None:
    visits = []

    async def visit(visitor: Visitor) -> None:
        visits.append(visitor)
        await visitor.greet()
        asked = await visitor.request()
        visitor.writer.write(answer(asked.correlation_id, heartbeat_response(0), asked.api_version))
        visitor.writer.write(answer(asked.correlation_id + 1, heartbeat_response(0), asked.api_version))
        assert await visitor.reader.read() == b"", "the node closed the connection"
        ended.set()

    async def ask(peer: Peer) -> None:
        assert isinstance(await coming(peer.send(heartbeat(), timeout_ms=PATIENCE_MS)), HeartbeatResponse)
        await asyncio.wait_for(ended.wait(), PATIENCE_SECONDS)
        assert isinstance(await coming(peer.send(heartbeat(), timeout_ms=PATIENCE_MS)), HeartbeatResponse)
        assert len(visits) == 2

    ended = asyncio.Event()
    asyncio.run(asked_of(visit, ask))


# -- silence


def test_a_timeout_of_the_oldest_request_replaces_the_connection() -> None:
    visits = 0

    async def visit(visitor: Visitor) -> None:
        nonlocal visits
        visits += 1
        await visitor.greet()
        asked = await visitor.request()
        visitor.writer.write(answer(asked.correlation_id, heartbeat_response(visits), asked.api_version))
        await visitor.reader.read()

    async def ask(peer: Peer) -> None:
        # A request that times out before there is a connection is never sent.
        assert (await coming(peer.send(heartbeat(), timeout_ms=PATIENCE_MS))).throttle_time_ms == 1
        late, behind = peer.send(heartbeat(), timeout_ms=50), peer.send(heartbeat(), timeout_ms=PATIENCE_MS)
        assert await coming(late) is ErrorCode.REQUEST_TIMED_OUT
        assert await coming(behind) is ErrorCode.NETWORK_EXCEPTION
        assert (await coming(peer.send(heartbeat(), timeout_ms=PATIENCE_MS))).throttle_time_ms == 2

    asyncio.run(asked_of(visit, ask))


def test_a_timeout_behind_a_slower_request_keeps_the_connection() -> None:
    async def visit(visitor: Visitor) -> None:
        await visitor.greet()
        asked = [await visitor.request()]
        connected.set()
        asked += [await visitor.request() for _ in range(2)]
        await timed_out.wait()
        for number, each in enumerate(asked):
            visitor.writer.write(answer(each.correlation_id, heartbeat_response(number), each.api_version))
        await visitor.reader.read()

    async def ask(peer: Peer) -> None:
        slow = peer.send(heartbeat(), timeout_ms=PATIENCE_MS)
        # A request that times out before there is a connection is never sent.
        await connected.wait()
        late, last = (peer.send(heartbeat(), timeout_ms=timeout_ms) for timeout_ms in (50, PATIENCE_MS))
        assert await coming(late) is ErrorCode.REQUEST_TIMED_OUT
        timed_out.set()
        assert [(await coming(each)).throttle_time_ms for each in (slow, last)] == [0, 2]

    connected, timed_out = asyncio.Event(), asyncio.Event()
    asyncio.run(asked_of(visit, ask))


def test_a_peer_that_accepts_and_stays_silent_is_a_failed_connection() -> None:
    async def visit(visitor: Visitor) -> None:
        await visitor.reader.read()

    async def ask(peer: Peer) -> None:
        assert await coming(peer.send(heartbeat(), timeout_ms=PATIENCE_MS)) is ErrorCode.NETWORK_EXCEPTION

    asyncio.run(asked_of(visit, ask, setup_timeout_ms=50))


def test_a_request_also_times_out_while_connecting() -> None:
    async def visit(visitor: Visitor) -> None:
        await visitor.reader.read()

    async def ask(peer: Peer) -> None:
        assert await coming(peer.send(heartbeat(), timeout_ms=50)) is ErrorCode.REQUEST_TIMED_OUT

    asyncio.run(asked_of(visit, ask))


def test_a_closed_port_fails_every_request_and_is_reported_once() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]

        async def ask() -> None:
            reports: list[tuple[str, str]] = []
            peers = Peers("node 1", report=lambda address, reason: reports.append((address, reason)))
            peer = peers.at("127.0.0.1", port)
            for _ in range(3):
                assert await coming(peer.send(heartbeat(), timeout_ms=PATIENCE_MS)) is ErrorCode.NETWORK_EXCEPTION
            assert [address for address, _ in reports] == [f"127.0.0.1:{port}"], "once, not for every attempt"
            peers.close()

        asyncio.run(ask())


@pytest.mark.parametrize("address", [("127.0.0.1", 70_000), ("", 0), ("no such host \x00", 1), ("x" * 300, 1)])
def test_an_invalid_address_is_a_failed_connection(address: tuple[str, int]) -> None:
    async def ask() -> None:
        peers = Peers("node 1")
        assert await coming(peers.at(*address).send(heartbeat(), timeout_ms=PATIENCE_MS)) is ErrorCode.NETWORK_EXCEPTION
        peers.close()

    asyncio.run(ask())


def test_an_immediate_retry_waits_for_the_backoff() -> None:
    dialled = 0

    async def visit(visitor: Visitor) -> None:
        nonlocal dialled
        dialled += 1

    async def ask(peer: Peer) -> None:
        loop, failures = asyncio.get_running_loop(), 0
        began = loop.time()
        enough: asyncio.Future[None] = loop.create_future()

        def again(outcome: Any) -> None:
            nonlocal failures
            assert outcome is ErrorCode.NETWORK_EXCEPTION
            failures += 1
            if failures == 4:
                enough.set_result(None)
            else:
                peer.send(heartbeat(), timeout_ms=PATIENCE_MS).then(again)

        peer.send(heartbeat(), timeout_ms=PATIENCE_MS).then(again)
        await enough
        assert dialled == 4
        assert loop.time() - began > 0.3, "50, 100 and 200 ms"

    asyncio.run(asked_of(visit, ask))


# -- limits and leaving


def test_requests_beyond_the_limit_of_one_peer_are_refused() -> None:
    async def visit(visitor: Visitor) -> None:
        await visitor.reader.read()

    async def ask(peer: Peer) -> None:
        waiting = [peer.send(heartbeat(), timeout_ms=PATIENCE_MS) for _ in range(CALLS_WAITING_MAX)]
        assert peer.send(heartbeat(), timeout_ms=PATIENCE_MS).value is ErrorCode.NETWORK_EXCEPTION
        assert not any(each.done for each in waiting)
        peer.close()
        assert {each.value for each in waiting} == {ErrorCode.NETWORK_EXCEPTION}

    asyncio.run(asked_of(visit, ask))


def test_an_abandoned_request_is_not_sent() -> None:
    groups = []

    async def visit(visitor: Visitor) -> None:
        await visitor.greet()
        while True:
            asked = await visitor.request()
            groups.append(asked.correlation_id)
            visitor.writer.write(answer(asked.correlation_id, heartbeat_response(len(groups)), asked.api_version))

    async def ask(peer: Peer) -> None:
        unwanted = peer.send(heartbeat(), timeout_ms=PATIENCE_MS)
        wanted = peer.send(heartbeat(), timeout_ms=PATIENCE_MS)
        unwanted.abandon()
        assert (await coming(wanted)).throttle_time_ms == 1
        # Abandoned in flight: its response is dropped, and the next response still belongs to the
        # next request.
        peer.send(heartbeat(), timeout_ms=PATIENCE_MS).abandon()
        assert (await coming(peer.send(heartbeat(), timeout_ms=PATIENCE_MS))).throttle_time_ms == 3
        assert not unwanted.done

    asyncio.run(asked_of(visit, ask))


def test_each_purpose_has_a_connection_of_its_own() -> None:
    async def visit(visitor: Visitor) -> None:
        visits.append(visitor)
        await visitor.greet()
        asked = await visitor.request()
        if len(visits) == 2:
            visitor.writer.write(answer(asked.correlation_id, heartbeat_response(2), asked.api_version))
        await visitor.reader.read()

    async def ask() -> None:
        async with serving(visit) as port:
            peers = Peers("node 1")
            assert peers.at("127.0.0.1", port) is peers.at("127.0.0.1", port)
            stuck = peers.at("127.0.0.1", port).send(heartbeat(), timeout_ms=PATIENCE_MS)
            while not visits:
                await asyncio.sleep(0)
            assert (await coming(peers.at("127.0.0.1", port, "control").send(heartbeat(), timeout_ms=PATIENCE_MS))).throttle_time_ms == 2
            assert not stuck.done
            peers.close()
            assert stuck.value is ErrorCode.NETWORK_EXCEPTION

    visits: list[Visitor] = []
    asyncio.run(ask())


def test_unused_addresses_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers_module, "PEERS_MAX", 2)
    peers = Peers("node 1")
    first = peers.at("a", 1)
    peers.at("b", 1)
    peers.at("c", 1)
    assert peers.at("a", 1) is not first

"""Requests to the controller: local or remote, repeated when the controller moves, and always
answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, NamedTuple, cast

import pytest

from barnabas.controller import channel as controller_channel
from barnabas.controller.channel import ControllerChannel
from barnabas.controller.envelopes import read_address, read_principal, response_bytes
from barnabas.controller.error_responses import error_response
from barnabas.env.awaiting import awaited
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import NodeId
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.network.connection import Connection
from barnabas.network.peers import Peers
from barnabas.security.principal import ANONYMOUS
from barnabas.telemetry.logs import EventLog
from barnabas.wire.apis import ApiKey, messages
from barnabas.wire.compiler import decode
from barnabas.wire.headers import read_request_prefix
from barnabas.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from barnabas.wire.messages.create_topics import CreatableTopic, CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse
from barnabas.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from barnabas.wire.messages.envelope import EnvelopeRequest, EnvelopeResponse
from tests.unit import simulated
from tests.unit.network.hostile_peer import Visitor, answer, serving

HERE, THERE, ELSEWHERE = NodeId(1), NodeId(2), NodeId(3)
PATIENCE_MS = 20_000
OFFERED = {ApiKey.ENVELOPE: (0, 0), ApiKey.ALLOCATE_PRODUCER_IDS: (0, 0)}
ALLOCATE = AllocateProducerIdsRequest(broker_id=HERE, broker_epoch=5)
ALLOCATED = AllocateProducerIdsResponse(throttle_time_ms=0, error_code=0, producer_id_start=1000, producer_id_len=1000)
CREATE = CreateTopicsRequest(topics=[CreatableTopic(name="t", num_partitions=1, replication_factor=1, assignments=[], configs=[])])
CREATED = CreateTopicsResponse(throttle_time_ms=0, topics=[CreatableTopicResult(name="t", error_code=0, error_message=None)])


class Led(NamedTuple):
    node_id: int
    epoch: int
    endpoint: tuple[str, int] | None


class Quorum:
    def __init__(self) -> None:
        self.leader: Led | None = None


class Local:
    """A controller in this node that returns the answers of the test."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[Any] = []

    def submit(self, request: Any, context: Caller | None = None) -> Promise[Any]:
        self.asked.append(request)
        given = self.answers.pop(0)
        return given if isinstance(given, Promise) else Promise.kept(given)


class _Peer:
    peer_address = ("10.1.2.3", 5555)
    principal = ANONYMOUS


def client(version: int = 7) -> Caller:
    return Caller(cast(Connection, _Peer()), version, 77, "an admin")


class World:
    """A channel, and the quorum that it asks for the leader."""

    def __init__(self, local: Local | None = None, *, timeout_ms: int = PATIENCE_MS, session_timeout_ms: int = PATIENCE_MS) -> None:
        self.quorum = Quorum()
        self.peers = Peers("node 1")
        self.channel = ControllerChannel(
            HERE,
            self.quorum,
            self.peers,
            EventLog("FATAL"),
            local=local,
            timeout_ms=timeout_ms,
            session_timeout_ms=session_timeout_ms,
        )

    def leads(self, node_id: int, port: int | None = None, *, epoch: int = 1) -> None:
        self.quorum.leader = Led(node_id, epoch, None if port is None else ("127.0.0.1", port))
        self.channel.leader_changed()

    async def ask(self, request: Any, context: Caller | None = None) -> Any:
        return await awaited(self.channel.submit(request, context))


def run(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    simulated.run(scenario())


def allocating(response: Any = ALLOCATED) -> Callable[[Visitor], Awaitable[None]]:
    async def visit(visitor: Visitor) -> None:
        await visitor.greet(OFFERED)
        while True:
            asked = await visitor.request()
            visitor.writer.write(answer(asked.correlation_id, response, asked.api_version))

    return visit


# -- finding the controller -------------------------------------------------------------------


def test_the_controller_in_this_node_is_asked_without_the_wire() -> None:
    async def scenario() -> None:
        local = Local(ALLOCATED)
        world = World(local)
        world.leads(HERE)
        assert world.channel.submit(ALLOCATE).value is ALLOCATED, "at once"
        assert local.asked == [ALLOCATE]

    run(scenario)


def test_the_controller_in_another_node_is_asked_over_the_wire() -> None:
    async def scenario() -> None:
        async with serving(allocating()) as port:
            world = World()
            world.leads(THERE, port)
            assert await world.ask(ALLOCATE) == ALLOCATED
            world.peers.close()

    run(scenario)


def test_a_request_waits_while_no_leader_is_known() -> None:
    async def scenario() -> None:
        world = World(Local(ALLOCATED))
        asked = asyncio.ensure_future(world.ask(ALLOCATE))
        await asyncio.sleep(0)
        assert not asked.done()
        world.leads(HERE)
        assert await asked is ALLOCATED

    run(scenario)


def test_a_node_that_answers_not_controller_is_asked_again() -> None:
    """It may lead the quorum and not be the active controller yet."""

    async def scenario() -> None:
        refusal = error_response(CREATE, ErrorCode.NOT_CONTROLLER)
        world = World(Local(refusal, refusal, CREATED))
        world.leads(HERE)
        assert await world.ask(CREATE) is CREATED

    run(scenario)


def test_a_new_leader_is_asked_while_the_old_one_is_silent() -> None:
    async def silence(visitor: Visitor) -> None:
        await visitor.greet(OFFERED)
        await visitor.request()
        asked.set()
        await visitor.reader.read()

    async def scenario() -> None:
        async with serving(silence) as paused, serving(allocating()) as alive:
            world = World()
            world.leads(THERE, paused)
            answered = asyncio.ensure_future(world.ask(ALLOCATE))
            await asked.wait()
            world.leads(ELSEWHERE, alive, epoch=2)
            assert await answered == ALLOCATED
            world.peers.close()

    asked = asyncio.Event()
    run(scenario)


def test_a_controller_that_closes_the_connection_is_asked_again() -> None:
    visits = 0

    async def visit(visitor: Visitor) -> None:
        nonlocal visits
        visits += 1
        if visits == 1:
            await visitor.greet(OFFERED)
            await visitor.request()
        elif visits > 2:
            await allocating()(visitor)

    async def scenario() -> None:
        async with serving(visit) as port:
            world = World()
            world.leads(THERE, port)
            assert await world.ask(ALLOCATE) == ALLOCATED
            assert visits == 3
            world.peers.close()

    run(scenario)


def test_a_heartbeat_is_sent_again_on_a_new_connection_before_the_session_ends() -> None:
    """The first connection is silent and open, as behind a firewall that forgot it."""
    beat = BrokerHeartbeatRequest(broker_id=HERE, broker_epoch=5, current_metadata_offset=0, want_fence=False, want_shut_down=False)
    alive = BrokerHeartbeatResponse(throttle_time_ms=0, error_code=0, is_fenced=False, should_shut_down=False)
    asked_at: list[float] = []

    async def visit(visitor: Visitor) -> None:
        await visitor.greet({ApiKey.BROKER_HEARTBEAT: (0, 1)})
        asked = await visitor.request()
        asked_at.append(asyncio.get_running_loop().time())
        if len(asked_at) == 1:
            await visitor.reader.read()
        visitor.writer.write(answer(asked.correlation_id, alive, asked.api_version))

    async def scenario() -> None:
        async with serving(visit) as port:
            world = World(session_timeout_ms=9000)
            world.leads(THERE, port)
            assert await world.ask(beat) == alive
            assert 4.5 <= asked_at[1] - asked_at[0] < 9
            world.peers.close()

    run(scenario)


# -- always an answer -------------------------------------------------------------------------


@pytest.mark.parametrize("leader", [None, Led(THERE, 1, None), Led(HERE, 1, None)])
def test_a_request_without_a_controller_is_answered_request_timed_out(leader: Led | None) -> None:
    async def scenario() -> None:
        world = World(timeout_ms=120)
        world.quorum.leader = leader
        response = await world.ask(CreateTopicsRequest(topics=CREATE.topics, timeout_ms=0), client())
        assert [topic.error_code for topic in response.topics] == [ErrorCode.REQUEST_TIMED_OUT]

    run(scenario)


def test_a_request_whose_time_is_over_at_once_still_reaches_the_controller() -> None:
    async def scenario() -> None:
        local = Local(Promise())
        world = World(local)
        world.leads(HERE)
        answer = world.channel.submit(ALLOCATE, timeout_ms=0)
        assert local.asked == [ALLOCATE]
        assert (await awaited(answer)).error_code == ErrorCode.REQUEST_TIMED_OUT

    run(scenario)


def test_a_request_that_names_a_time_is_answered_by_then() -> None:
    async def scenario() -> None:
        world = World(Local(Promise()))  # The controller decides, and its answer never comes.
        world.quorum.leader = Led(HERE, 1, None)
        response = await world.ask(CreateTopicsRequest(topics=CREATE.topics, timeout_ms=120), client())
        assert [topic.error_code for topic in response.topics] == [ErrorCode.REQUEST_TIMED_OUT]

    run(scenario)


def test_waiting_requests_are_answered_when_the_node_stops() -> None:
    async def scenario() -> None:
        never: Promise[Any] = Promise()
        world = World(Local(never))
        waiting = world.channel.submit(ALLOCATE)
        world.quorum.leader = Led(HERE, 1, None)
        parked = world.channel.submit(ALLOCATE)
        world.channel.close()
        assert waiting.value.error_code == parked.value.error_code == ErrorCode.REQUEST_TIMED_OUT
        assert world.channel.submit(ALLOCATE).value.error_code == ErrorCode.REQUEST_TIMED_OUT
        never.resolve(ALLOCATED)  # The late answer changes nothing.

    run(scenario)


def test_a_controller_that_does_not_know_the_request_is_not_asked_again() -> None:
    async def scenario() -> None:
        async with serving(allocating()) as port:
            world = World()
            world.leads(THERE, port)
            response = await world.ask(ElectLeadersRequest(topic_partitions=[TopicPartitions(topic="t", partitions=[0])]))
            assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
            world.peers.close()

    run(scenario)


def test_waiting_requests_have_a_limit_while_there_is_no_controller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(controller_channel, "REQUESTS_WAITING_MAX", 2)

    async def scenario() -> None:
        world = World()
        waiting = [world.channel.submit(CREATE, client()) for _ in range(3)]
        assert [each.done for each in waiting] == [False, False, True]
        own = world.channel.submit(ALLOCATE)
        assert not own.done, "what the broker needs to live is not held against it"
        waiting[0].abandon()
        waiting.append(world.channel.submit(CREATE, client()))
        world.channel.close()

    run(scenario)


# -- forwarding for clients -------------------------------------------------------------------


def enveloping(respond: Callable[[EnvelopeRequest], EnvelopeResponse]) -> Callable[[Visitor], Awaitable[None]]:
    async def visit(visitor: Visitor) -> None:
        await visitor.greet(OFFERED)
        while True:
            frame = await visitor.frame()
            asked = read_request_prefix(frame)
            assert asked.api_key == ApiKey.ENVELOPE
            envelope, _ = decode(EnvelopeRequest, 0, frame, asked.position + 1)
            visitor.writer.write(answer(asked.correlation_id, respond(envelope), 0))

    return visit


@pytest.mark.parametrize("version", [2, 5, 7])
def test_a_forwarded_request_carries_the_principal_and_the_version_of_the_client(version: int) -> None:
    seen: list[Any] = []

    def respond(envelope: EnvelopeRequest) -> EnvelopeResponse:
        inside = read_request_prefix(envelope.request_data)
        flexible = version >= 5
        request, end = decode(messages(ApiKey.CREATE_TOPICS)[0], version, envelope.request_data, inside.position + flexible)
        assert end == len(envelope.request_data)
        seen.append((inside[:4], request))
        assert envelope.request_principal is not None
        seen.append((read_principal(envelope.request_principal), read_address(envelope.client_host_address)))
        return EnvelopeResponse(response_data=response_bytes(CREATED, version, inside.correlation_id), error_code=0)

    async def scenario() -> None:
        async with serving(enveloping(respond)) as port:
            world = World()
            world.leads(THERE, port)
            response = await world.ask(CREATE, client(version))
            assert [(topic.name, topic.error_code) for topic in response.topics] == [("t", 0)]
            assert seen == [((ApiKey.CREATE_TOPICS, version, 77, "an admin"), CREATE), (ANONYMOUS, "10.1.2.3")]
            world.peers.close()

    run(scenario)


def test_an_envelope_that_went_to_the_wrong_node_is_sent_again() -> None:
    answers = [
        EnvelopeResponse(error_code=ErrorCode.NOT_CONTROLLER),
        EnvelopeResponse(error_code=0, response_data=response_bytes(CREATED, 7, 77)),
    ]

    async def scenario() -> None:
        async with serving(enveloping(lambda _: answers.pop(0))) as port:
            world = World()
            world.leads(THERE, port)
            assert (await world.ask(CREATE, client())).topics[0].error_code == ErrorCode.NONE
            world.peers.close()

    run(scenario)


@pytest.mark.parametrize(
    ("envelope", "told"),
    [
        (EnvelopeResponse(error_code=ErrorCode.UNSUPPORTED_VERSION), ErrorCode.UNSUPPORTED_VERSION),
        (EnvelopeResponse(error_code=ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE), ErrorCode.UNKNOWN_SERVER_ERROR),
        (EnvelopeResponse(error_code=0, response_data=None), ErrorCode.UNKNOWN_SERVER_ERROR),
        (EnvelopeResponse(error_code=0, response_data=b""), ErrorCode.UNKNOWN_SERVER_ERROR),
        (EnvelopeResponse(error_code=0, response_data=response_bytes(CREATED, 7, 78)), ErrorCode.UNKNOWN_SERVER_ERROR),
        (EnvelopeResponse(error_code=0, response_data=response_bytes(CREATED, 7, 77)[:-9]), ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_errors_between_nodes_are_hidden_from_the_client(envelope: EnvelopeResponse, told: ErrorCode) -> None:
    async def scenario() -> None:
        async with serving(enveloping(lambda _: envelope)) as port:
            world = World()
            world.leads(THERE, port)
            assert (await world.ask(CREATE, client())).topics[0].error_code == told
            world.peers.close()

    run(scenario)

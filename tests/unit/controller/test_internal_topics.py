"""Internal topics that a broker requests itself: once for all clients that need them, and without
making a client wait for long.
"""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from barnabas.api.broker import Broker
from barnabas.api.broker_apis import metadata
from barnabas.api.described_topics import DescribedTopics
from barnabas.api.sliced_answers import SlicedAnswers
from barnabas.controller import internal_topics
from barnabas.controller.internal_topics import InternalTopics
from barnabas.devcluster.development import development_properties
from barnabas.env.awaiting import awaited
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.model.topic_names import TRANSACTION_STATE
from barnabas.node.process import parse_settings
from barnabas.telemetry.logs import EventLog
from barnabas.wire.compiler import decode, encode
from barnabas.wire.messages.create_topics import CreatableTopicResult, CreateTopicsResponse
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from tests.unit import simulated
from tests.unit.api.open_access import OPEN_ACCESS
from tests.unit.api.test_cluster_as_clients_see_it import client, cluster

REPLICAS = {"transaction.state.log.replication.factor": "3"}


class Seat:
    def __init__(self, log_level: str = "FATAL") -> None:
        self.requests: list[Any] = []
        self.answers: list[Promise[Any]] = []
        settings = parse_settings(development_properties(data_dir="nowhere", overrides=REPLICAS))
        parts: dict[str, Any] = {
            "node_id": 1,
            "cluster_id": "a cluster",
            "settings": settings,
            "log": EventLog("FATAL"),
            "controller": self,
            "access": OPEN_ACCESS,
            "doubted_brokers": (),
            "sliced_answers": SlicedAnswers(),
            "described_topics": DescribedTopics(),
            "metadata": SimpleNamespace(image=cluster(), effective=SimpleNamespace(settings=settings)),
            "internal_topics": InternalTopics(self, settings, EventLog(log_level)),
        }
        self.topics: InternalTopics = parts["internal_topics"]
        self.broker = cast(Broker, SimpleNamespace(**parts))

    def submit(self, request: Any, caller: Any = None) -> Promise[Any]:
        self.requests.append(request)
        self.answers.append(Promise())
        return self.answers[-1]

    def answer(self, code: int = 0) -> None:
        results = [CreatableTopicResult(name=topic.name, error_code=code, error_message=None) for topic in self.requests[-1].topics]
        self.answers[-1].resolve(CreateTopicsResponse(throttle_time_ms=0, topics=results))


def test_the_controller_is_asked_once_for_all_waiting_clients() -> None:
    seat = Seat()
    waiting = [seat.topics.create(TRANSACTION_STATE) for _ in range(3)]
    (request,) = seat.requests
    assert [(topic.name, topic.replication_factor) for topic in request.topics] == [(TRANSACTION_STATE, 3)]
    seat.answer(ErrorCode.TOPIC_ALREADY_EXISTS)
    assert [each.value for each in waiting] == [ErrorCode.NONE] * 3
    seat.topics.create(TRANSACTION_STATE)
    assert len(seat.requests) == 2, "and again once it has answered"


def test_a_topic_in_flight_is_left_out_of_the_next_request() -> None:
    seat = Seat()
    seat.topics.create_all(["a", "b"])
    both = seat.topics.create_all(["b", "c", "c"])
    assert [[topic.name for topic in request.topics] for request in seat.requests] == [["a", "b"], ["c"]]
    seat.answer(ErrorCode.INVALID_REPLICATION_FACTOR)
    assert both["c"].value is ErrorCode.INVALID_REPLICATION_FACTOR
    assert not both["b"].done


def test_requested_internal_topics_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(internal_topics, "CREATIONS_MAX", 2)
    seat = Seat()
    outcomes = seat.topics.create_all(["a", "b", "c"])
    assert outcomes["c"].value is ErrorCode.REQUEST_TIMED_OUT
    assert seat.topics.create("d").value is ErrorCode.REQUEST_TIMED_OUT


def test_a_missing_or_unknown_result_is_not_a_success() -> None:
    seat = Seat()
    lost = seat.topics.create("a")
    seat.answers[-1].resolve(CreateTopicsResponse(throttle_time_ms=0, topics=[]))
    odd = seat.topics.create("b")
    seat.answer(31_000)
    assert lost.value is odd.value is ErrorCode.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize("stopping", [False, True])
def test_a_failed_creation_is_logged_unless_the_node_is_stopping(stopping: bool, capsys: pytest.CaptureFixture[str]) -> None:
    seat = Seat("WARN")
    created = seat.topics.create(TRANSACTION_STATE)
    if stopping:
        seat.topics.stop()
    seat.answer(ErrorCode.REQUEST_TIMED_OUT)
    assert created.value is ErrorCode.REQUEST_TIMED_OUT
    assert ("internal topic not created" in capsys.readouterr().err) is not stopping


@pytest.mark.parametrize("code", [None, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.INVALID_REPLICATION_FACTOR])
def test_a_client_that_names_a_new_topic_does_not_wait_for_a_missing_controller(
    code: ErrorCode | None,
) -> None:
    async def scenario() -> MetadataResponse:
        seat = Seat()
        seat.broker.loop = asyncio.get_running_loop()
        asked = metadata.handle(seat.broker, client(13), MetadataRequest(topics=[MetadataRequestTopic(name="new")]))
        assert isinstance(asked, Promise)
        assert not asked.done
        if code is not None:
            seat.answer(code)
        return decode(MetadataResponse, 13, encode(await awaited(asked), 13))[0]

    (topic,) = simulated.run(scenario()).topics
    about_the_topic = code is ErrorCode.INVALID_REPLICATION_FACTOR
    assert topic.error_code == (code if about_the_topic else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

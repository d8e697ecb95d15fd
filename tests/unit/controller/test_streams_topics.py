"""Internal topics of streams groups: created in the client's name, once, and not again too soon
after a failure.
"""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.controller import streams_topics
from barnabas.controller.streams_topics import StreamsTopics
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.telemetry.logs import EventLog
from barnabas.wire.messages.create_topics import CreatableTopic, CreatableTopicResult, CreateTopicsResponse
from tests.unit.api.test_cluster_as_clients_see_it import client

RETRY_AFTER_MS = 10_000


class Desk:
    """A controller that answers when the test wants, and a clock."""

    def __init__(self) -> None:
        self.now_ms = 0
        self.asked: list[tuple[list[str], Any]] = []
        self._answers: list[Promise[Any]] = []
        self.topics = StreamsTopics(self, self, EventLog("FATAL"), timeout_ms=30_000)

    def wall_ms(self) -> int:
        return self.now_ms

    def monotonic_ms(self) -> int:
        return self.now_ms

    def submit(self, request: Any, caller: Any = None) -> Promise[Any]:
        self.asked.append(([topic.name for topic in request.topics], caller))
        self._answers.append(Promise())
        return self._answers[-1]

    def answer(self, message: str | None = None, **codes: int) -> None:
        results = [CreatableTopicResult(name=name, error_code=code, error_message=message) for name, code in codes.items()]
        self._answers[-1].resolve(CreateTopicsResponse(throttle_time_ms=0, topics=results))

    def create(self, *names: str) -> None:
        made = [CreatableTopic(name=name, num_partitions=1, replication_factor=-1, assignments=[], configs=[]) for name in names]
        self.topics.create(made, client(0), retry_after_ms=RETRY_AFTER_MS)

    @property
    def names(self) -> list[list[str]]:
        return [names for names, _ in self.asked]


def test_topics_are_created_in_the_name_of_the_client() -> None:
    desk, caller = Desk(), client(0)
    desk.topics.create([], caller, retry_after_ms=1)
    assert desk.asked == []
    desk.create("a")
    ((_, asked),) = desk.asked
    assert asked.principal == caller.principal
    assert asked.version == 7, "the version of CreateTopics, not that of the heartbeat"


def test_a_topic_in_flight_is_not_asked_for_twice() -> None:
    desk = Desk()
    desk.create("a", "b")
    desk.create("a", "b", "c")
    assert desk.names == [["a", "b"], ["c"]]


def test_a_failure_is_remembered_until_the_topic_may_be_tried_again() -> None:
    desk = Desk()
    desk.create("a", "b")
    desk.answer("not enough brokers", a=ErrorCode.INVALID_REPLICATION_FACTOR, b=ErrorCode.NONE)
    assert desk.topics.failures(["a", "b"]) == {"a": "not enough brokers"}
    desk.create("a")
    assert desk.names == [["a", "b"]]
    desk.now_ms = RETRY_AFTER_MS
    assert desk.topics.failures(["a"]) == {}
    desk.create("a")
    assert desk.names == [["a", "b"], ["a"]]
    desk.answer(a=ErrorCode.NONE)
    assert desk.topics.failures(["a"]) == {}


def test_a_topic_that_exists_already_is_no_failure() -> None:
    desk = Desk()
    desk.create("a")
    desk.answer(a=ErrorCode.TOPIC_ALREADY_EXISTS)
    assert desk.topics.failures(["a"]) == {}


def test_a_failure_without_a_sentence_shows_its_name() -> None:
    desk = Desk()
    desk.create("a", "b")
    desk.answer(a=ErrorCode.REQUEST_TIMED_OUT)
    assert desk.topics.failures(["a", "b"]) == {"a": "REQUEST_TIMED_OUT", "b": "UNKNOWN_SERVER_ERROR"}


def test_topics_in_flight_and_failures_have_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams_topics, "CREATIONS_MAX", 2)
    monkeypatch.setattr(streams_topics, "FAILURES_MAX", 1)
    desk = Desk()
    desk.create("a", "b", "c")
    assert desk.names == [["a", "b"]]
    desk.answer(a=ErrorCode.INVALID_CONFIG, b=ErrorCode.INVALID_CONFIG)
    assert list(desk.topics.failures(["a", "b"])) == ["b"]

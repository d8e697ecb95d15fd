"""The internal topics of streams groups, which a broker creates on behalf of the client whose
heartbeat needs them.

The heartbeat does not wait for the controller: the next one finds the topics, or the reason why
they could not be created. A topic that failed is not tried again for some time, and one that is
being created is not asked for twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from barnabas.controller.port import ControllerPort
from barnabas.env.clock import Clock
from barnabas.model.errors import ErrorCode, known_error
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.telemetry.logs import EventLog
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse

# The version in which the request travels to the controller in the client's name.
_CREATE_TOPICS_VERSION = 7
# Topics whose creation is in flight. Beyond this limit no further creation is requested until the
# controller has answered.
CREATIONS_MAX = 10_000
# Reasons that are kept. Beyond this limit the oldest is forgotten, and its topic tried again.
FAILURES_MAX = 1_000


class StreamsTopics:
    def __init__(self, controller: ControllerPort, clock: Clock, log: EventLog, *, timeout_ms: int) -> None:
        self._controller = controller
        self._clock = clock
        self._log = log
        self._timeout_ms = timeout_ms
        self._under_way: set[str] = set()
        self._failures: dict[str, tuple[int, str]] = {}  # Until when, and why.

    def create(self, topics: Sequence[CreatableTopic], caller: Caller, *, retry_after_ms: int) -> None:
        failed = self.failures(topic.name for topic in topics)
        room = CREATIONS_MAX - len(self._under_way)
        new = [topic for topic in topics if topic.name not in failed and topic.name not in self._under_way][: max(0, room)]
        if not new:
            return
        names = [topic.name for topic in new]
        self._under_way.update(names)
        client = Caller(caller.connection, _CREATE_TOPICS_VERSION, caller.correlation_id, caller.client_id, api=caller.api)
        request = CreateTopicsRequest(topics=new, timeout_ms=self._timeout_ms)
        response: Promise[CreateTopicsResponse] = self._controller.submit(request, client)
        response.then(lambda answer: self._answered(names, answer, retry_after_ms))

    def failures(self, names: Iterable[str]) -> dict[str, str]:
        """The reasons why topics could not be created just now."""
        now_ms = self._clock.monotonic_ms()
        return {name: failure[1] for name in names if (failure := self._failures.get(name)) is not None and failure[0] > now_ms}

    def _answered(self, names: Sequence[str], response: CreateTopicsResponse, retry_after_ms: int) -> None:
        self._under_way.difference_update(names)
        results = {topic.name: topic for topic in response.topics}
        until_ms = self._clock.monotonic_ms() + retry_after_ms
        for name in names:
            self._failures.pop(name, None)
            result = results.get(name)
            code = known_error(result.error_code) if result is not None else ErrorCode.UNKNOWN_SERVER_ERROR
            if code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                why = (result.error_message if result is not None else None) or code.name
                self._failures[name] = (until_ms, why)
                self._log.warning("internal topic of a streams group not created", topic=name, error=code.name, reason=why)
        while len(self._failures) > FAILURES_MAX:
            del self._failures[next(iter(self._failures))]

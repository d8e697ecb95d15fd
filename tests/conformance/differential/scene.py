"""A script that several clients perform at both brokers at once, where each broker assigns ids of
its own.

The step that learns an id gives it a name: ``learns={"a": "member_id"}`` calls the answer's
``member_id`` *a*. Questions are functions of the known ids of the peer that they go to
(``the["a"]``), and answers are compared with the names in place of the ids.

Versions go by *age*: at age 0 every API uses its oldest version, at age 1 the next one, each as far
as it goes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self, TypeAlias

from barnabas.model.ids import Uuid
from barnabas.wire.apis import ApiKey, stable_versions
from barnabas.wire.compiler import encode
from barnabas.wire.declare import declaration_of
from barnabas.wire.headers import request_header_version
from tests.conformance.differential.comparison import described, deviations, plain
from tests.conformance.differential.pair import Pair, Peer
from tests.conformance.differential.raw_client import Closed, RawClient
from tests.waiting import until

AGE_MAX = 13
"""At this age every API of coordinators speaks its newest version."""

_PRODUCER_IDS = frozenset({"producer_id", "ongoing_txn_producer_id"})


class Known:
    """The ids that one peer assigned, by the names that the script gave them."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self._values: dict[str, Any] = {}
        self._names: dict[Any, str] = {}

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def learn(self, name: str, value: Any) -> None:
        self._values[name] = value
        self._names[value] = f"<{name}>"

    def topic_id(self, topic: str) -> Uuid:
        topic_id = self.peer.topic_id(topic)
        self._names[topic_id] = f"<{topic}>"
        return topic_id

    def named(self, value: Any, field: str = "") -> Any:
        match value:
            case dict():
                return {key: self.named(each, key) for key, each in value.items()}
            case list():
                return [self.named(each, field) for each in value]
            case str() | bytes():
                return self._names.get(value, value)
            case int() if field in _PRODUCER_IDS and value >= 0:
                return self._names.get(value, "a producer id")
            case _:
                return value


# A request, or a function of Known that makes one. It has no type, because a lambda that binds a
# loop's variable would fit none.
Script: TypeAlias = Any


class Scene:
    def __init__(self, pair: Pair, age: int = AGE_MAX) -> None:
        self.pair = pair
        self.age = age
        self._known = [Known(peer) for peer in pair.peers]
        self._clients: dict[tuple[str, str], RawClient] = {}
        self._waiting: dict[str, tuple[Any, int]] = {}
        self._closing = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._closing.close()

    def version(self, message: type[Any]) -> int:
        offered = stable_versions(ApiKey(declaration_of(message).key or 0))
        return min(offered.lowest + self.age, offered.highest)

    # -- questions and answers ----------------------------------------------------------------

    def same(
        self,
        script: Script,
        version: int | None = None,
        *,
        by: str = "somebody",
        learns: Mapping[str, str] | None = None,
        differ: Mapping[str, str] | None = None,
        expect: int | None = None,
        through: Callable[[Any], Any] | None = None,
    ) -> Any:
        """Asks both and compares; returns Barnabas' answer. ``expect`` is the error code at the
        top, for scripts that name the expected outcome; ``through`` removes fields from an answer
        that this test is not about."""
        self.begins(by, script, version)
        return self.ends(by, learns=learns, differ=differ, expect=expect, through=through)

    def begins(self, by: str, script: Script, version: int | None = None) -> None:
        """Sends without waiting, because the answer may depend on other clients."""
        for known in self._known:
            request = _made(script, known)
            spoken = self.version(type(request)) if version is None else version
            self._waiting[by] = (request, spoken)
            key = ApiKey(declaration_of(type(request)).key or 0)
            client = self._client(known.peer, by)
            flexible = request_header_version(type(request), spoken) == 2
            client.send(client.frame(key, spoken, encode(request, spoken), flexible=flexible))

    def ends(
        self,
        by: str,
        *,
        learns: Mapping[str, str] | None = None,
        differ: Mapping[str, str] | None = None,
        expect: int | None = None,
        through: Callable[[Any], Any] | None = None,
    ) -> Any:
        request, version = self._waiting.pop(by)
        key = ApiKey(declaration_of(type(request)).key or 0)
        answers: list[tuple[Any, Any]] = []
        for known in self._known:
            received = self._client(known.peer, by).receive()
            answer = received if isinstance(received, Closed) else RawClient.read(key, version, received)
            for name, path in (learns or {}).items():
                known.learn(name, _at(answer, path))
            if through is not None:
                answer = through(answer)
            answers.append((answer, known.named(plain(answer, version))))
        (_, kafka), (ours, barnabas) = answers
        found = [(version, each) for each in deviations(key.api_name, kafka, barnabas, differ or {})]
        if found:
            raise AssertionError(f"{described(found)}\nasked by {by}: {request!r:.1000}\nKafka answered {kafka!r:.1500}")
        if expect is not None:
            assert ours.error_code == expect, f"expected {expect}, both answered {ours.error_code} to {request!r:.600}"
        return ours

    def until(self, script: Script, holds: Callable[[Any], bool], version: int | None = None) -> None:
        """Asks each peer until its answer is as wanted, because other clients see a change only
        after a moment."""
        for known in self._known:
            answers: list[Any] = []

            def holds_there(known: Known = known, answers: list[Any] = answers) -> bool:
                request = _made(script, known)
                answers[:] = [self._client(known.peer, "watcher").ask(request, self.version(type(request)) if version is None else version)]
                return holds(answers[0])

            until(holds_there, f"{known.peer.name} answers as wanted", seen=answers.copy, pause_seconds=0.002)

    def soon_same(self, script: Script, version: int | None = None, *, differ: Mapping[str, str] | None = None) -> Any:
        def same() -> tuple[Any]:
            return (self.same(script, version, differ=differ),)

        return until(same, "both give the same answer", retry_on=AssertionError)[0]

    def learn(self, name: str, value: Callable[[Known], Any]) -> None:
        for known in self._known:
            known.learn(name, value(known))

    def _client(self, peer: Peer, by: str) -> RawClient:
        client = self._clients.get((peer.name, by))
        if client is None:
            client = self._clients[peer.name, by] = RawClient(peer.broker.address)
            self._closing.callback(client.close)
        return client


def _made(script: Script, known: Known) -> Any:
    return script(known) if callable(script) else script


def _at(answer: Any, path: str) -> Any:
    """``coordinators.0.key``: attributes and positions."""
    for part in path.split("."):
        answer = answer[int(part)] if part.isdigit() else getattr(answer, part)
    return answer

"""Questions to the registry: each is asked once, however many batches wait for its answer.

Threads ask, because the client blocks. A question has an answer after the timeout in any case:
:class:`~.core.knowledge.Unreachable` when none came. Then no question is asked for a short time, so
that an outage costs producers one wait and not one for every request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final, Protocol, TypeAlias

from barnabas.env.clock import Clock
from barnabas.model.promise import Promise
from barnabas.schema_validation.core.knowledge import Answer, KnownSchemas, Registered, Unreachable, Unregistered
from barnabas.schema_validation.core.stamps import Stamp
from barnabas.schema_validation.limits import Limits
from barnabas.telemetry import catalogue
from barnabas.telemetry.logs import EventLog
from barnabas.telemetry.metrics import Metrics

# More different questions than this at once come from a client that sends random ids.
QUESTIONS_MAX: Final = 1000

_TOO_MANY: Final = Unreachable(f"more than {QUESTIONS_MAX} ids of schemas wait for the schema registry")


class SchemaSource(Protocol):
    """Answers a question about a stamp. Threads call it, and it may block."""

    def look_up(self, stamp: Stamp, *, facts: bool) -> Answer:
        """Never raises. ``facts`` asks for the text of the schema too."""


Ask: TypeAlias = Callable[[Callable[[], Answer]], Promise[Answer]]


class Lookups:
    def __init__(
        self,
        source: SchemaSource,
        known: KnownSchemas,
        ask: Ask,
        limits: Callable[[], Limits],
        clock: Clock,
        loop: asyncio.AbstractEventLoop,
        metrics: Metrics,
        log: EventLog,
    ) -> None:
        self._source = source
        self._known = known
        self._ask = ask
        self._limits = limits
        self._clock = clock
        self._loop = loop
        self._log = log
        self._asked: dict[tuple[Stamp, bool], Promise[Answer]] = {}
        self._outage: Unreachable | None = None
        self._asks_again_ms = 0
        self._counters = {
            outcome: metrics.counter(catalogue.SCHEMA_LOOKUPS, kind)
            for outcome, kind in ((Registered, "registered"), (Unregistered, "unregistered"), (Unreachable, "failed"))
        }

    def look_up(self, stamp: Stamp, *, facts: bool) -> Promise[Answer]:
        """The answer, also for the batches of other callers that wait for it already."""
        question = (stamp, facts)
        asked = self._asked.get(question)
        if asked is not None:
            return asked
        if self._outage is not None and self._clock.monotonic_ms() < self._asks_again_ms:
            return Promise.kept(self._outage)
        if len(self._asked) >= QUESTIONS_MAX:
            return Promise.kept(_TOO_MANY)
        asked = self._asked[question] = Promise()
        timeout_ms = self._limits().timeout_ms
        late = Unreachable(f"the schema registry did not answer within {timeout_ms} ms")
        timer = self._loop.call_later(timeout_ms / 1000, self._answered, question, asked, late)

        def answered(answer: Answer) -> None:
            timer.cancel()
            self._answered(question, asked, answer)

        self._ask(partial(self._source.look_up, stamp, facts=facts)).then(answered)
        return asked

    def _answered(self, question: tuple[Stamp, bool], asked: Promise[Answer], answer: Answer) -> None:
        if asked.done:
            # The timeout was faster, but the next batch can use the answer.
            self._learn(question[0], answer)
            return
        del self._asked[question]
        self._counters[type(answer)].value += 1
        self._learn(question[0], answer)
        asked.resolve(answer)

    def _learn(self, stamp: Stamp, answer: Answer) -> None:
        now_ms = self._clock.monotonic_ms()
        self._known.learn(stamp, answer, now_ms)
        if isinstance(answer, Unreachable):
            self._asks_again_ms = now_ms + self._limits().missing_ms
            if self._outage is None:
                self._log.warning("schema registry unreachable", reason=answer.reason)
            self._outage = answer
        elif self._outage is not None:
            self._outage = None
            self._log.info("schema registry reachable again")

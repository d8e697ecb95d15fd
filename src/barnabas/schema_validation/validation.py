"""Validates batches of producers: at once where this broker knows enough, otherwise step by step.

    on the loop    the batch is small and not compressed, the topic checks ids only, and this broker
                   knows all ids: it passes at once
    examine        a thread opens the batch, and judges it if this broker knows its stamps
    look up        otherwise the registry is asked, and then a thread examines the batch again

A batch waits in its lane (:mod:`.lanes`) meanwhile. Its wait has a timeout: a registry that hangs
delays a batch by that much and no more, and so do threads that are busy.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import field
from functools import partial
from typing import Final, Protocol, TypeVar

from barnabas.env.clock import Clock
from barnabas.model.dataclass import dataclass
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise, all_of
from barnabas.records.batch_header import HEADER_BYTES, BatchHeader
from barnabas.records.record import MalformedRecord
from barnabas.records.schema_rules import SchemaRules
from barnabas.replication.partition import Partition
from barnabas.schema_validation.core.examination import Examined, Expectations, Knowledge, examine, of_part, readable_header, scan
from barnabas.schema_validation.core.knowledge import Answer, KnownSchemas, Unreachable, Use
from barnabas.schema_validation.core.stamps import Indexed, Stamp, TooManyRecords
from barnabas.schema_validation.core.verdict import expectations, no_verdict
from barnabas.schema_validation.lanes import Lane, Lanes, Verdict, WaitingBatch
from barnabas.schema_validation.limits import Limits
from barnabas.schema_validation.lookups import Lookups
from barnabas.telemetry import catalogue
from barnabas.telemetry.metrics import Counter, Metrics

T = TypeVar("T")

# The records of a batch that the loop looks at one by one, in about a millisecond and a half; a
# thread scans batches with more.
RECORDS_ON_LOOP_MAX: Final = 2048
# Four of the largest batches that topics accept by default.
BUFFER_BYTES_MAX: Final = 4 * 1024 * 1024
# The objects around a waiting batch count too, or a flood of tiny batches would have no limit.
WAITING_OVERHEAD_BYTES: Final = 2048


class RunOnThread(Protocol):
    def __call__(self, work: Callable[[], T]) -> Promise[T]: ...


@dataclass(slots=True, eq=False)
class _Check:
    """One batch on its way to a verdict."""

    waiting: WaitingBatch
    topic: str
    records: memoryview
    header: BatchHeader
    expected: Expectations
    timer: asyncio.TimerHandle | None = None
    questions: set[Stamp] = field(default_factory=set)
    """Those that are open."""


class SchemaValidation:
    def __init__(
        self,
        lookups: Lookups,
        known: KnownSchemas,
        run: RunOnThread,
        limits: Callable[[], Limits],
        clock: Clock,
        loop: asyncio.AbstractEventLoop,
        metrics: Metrics,
    ) -> None:
        self._lookups = lookups
        self._known = known
        self._run = run
        self._limits = limits
        self._clock = clock
        self._loop = loop
        self._metrics = metrics
        self._lanes = Lanes()
        self._buffer = bytearray()
        # The rules of a topic are one object until its settings change.
        self._expected: dict[Partition, tuple[SchemaRules, Expectations]] = {}
        self._counters: dict[tuple[str, str], Counter] = {}
        metrics.reading(catalogue.SCHEMA_WAITING_BATCHES, lambda: [((), self._lanes.batches)])
        metrics.reading(catalogue.SCHEMA_WAITING_BYTES, lambda: [((), self._lanes.size_bytes)])
        metrics.reading(catalogue.SCHEMAS_KNOWN, lambda: [((), len(known))])

    # -- at once -----------------------------------------------------------------------------------

    def passes(self, partition: Partition, rules: SchemaRules, records: memoryview) -> bool:
        """Whether the batch may be appended now. Otherwise :meth:`check` decides."""
        if self._lanes.busy_partition(partition):
            return False
        header = readable_header(records)
        return header is not None and self._passes_at_once(partition, rules, header, records)

    def _passes_at_once(self, partition: Partition, rules: SchemaRules, header: BatchHeader, records: memoryview) -> bool:
        if header.codec or rules.decodes:
            return False
        expected = self._expectations(partition, rules)
        try:
            stamps = scan(self._copied(records), header, expected, end=len(records) - HEADER_BYTES, loop_records_max=RECORDS_ON_LOOP_MAX)
        except (MalformedRecord, TooManyRecords):
            return False
        limits, now_ms = self._limits(), self._clock.monotonic_ms()
        for each in expected:
            for stamp in of_part(stamps, each):
                use = self._known.use(stamp, each, now_ms, fresh_ms=limits.fresh_ms, missing_ms=limits.missing_ms)
                if use is Use.FITS_ASK_AGAIN:
                    self._lookups.look_up(stamp, facts=each.needs_facts)
                elif use is not Use.FITS:
                    return False
        self._count(partition.partition.topic, "accepted")
        return True

    def _copied(self, records: memoryview) -> Indexed:
        """The body of a batch in a buffer that is used again for the next one. A new megabyte for
        each batch would come from the kernel page by page, and go back."""
        size = len(records) - HEADER_BYTES
        if size > BUFFER_BYTES_MAX:
            return bytes(records[HEADER_BYTES:])
        if size > len(self._buffer):
            self._buffer = bytearray(size)
        # Through a view, because a bytearray would first copy the memoryview into another one.
        memoryview(self._buffer)[:size] = records[HEADER_BYTES:]
        return self._buffer

    # -- step by step ------------------------------------------------------------------------------

    def check(self, partition: Partition, rules: SchemaRules, records: memoryview | None, producer: object) -> Verdict | Promise[Verdict]:
        """The verdict about a batch; None lets it through.

        ``producer`` stands for the producer of a batch without a producer id. A promise resolves
        in the order of the batches of one producer, and the caller appends the batch at once then.
        """
        header = None if records is None else readable_header(records)
        lane: Lane = (partition, producer if header is None or header.producer_id < 0 else header.producer_id)
        busy = self._lanes.busy(lane)
        if header is None or records is None:
            # The append refuses it with the right words, behind the batches before it.
            return self._behind(lane) if busy else None
        if not busy and self._passes_at_once(partition, rules, header, records):
            return None
        limits, topic = self._limits(), partition.partition.topic
        size_bytes = len(records) + WAITING_OVERHEAD_BYTES
        if self._lanes.size_bytes + size_bytes > limits.waiting_bytes_max:
            self._count(topic, "no verdict")
            return no_verdict(f"more than {limits.waiting_bytes_max} bytes of batches wait for their validation")
        waiting = self._lanes.enter(lane, size_bytes)
        check = _Check(waiting, topic, records, header, self._expectations(partition, rules))
        check.timer = self._loop.call_later(limits.timeout_ms / 1000, self._late, check, limits.timeout_ms)
        self._examine(check, {})
        return waiting.given

    def _behind(self, lane: Lane) -> Promise[Verdict]:
        waiting = self._lanes.enter(lane, WAITING_OVERHEAD_BYTES)
        self._lanes.decide(waiting, None)
        return waiting.given

    def _examine(self, check: _Check, answers: dict[Stamp, Answer]) -> None:
        limits = self._limits()
        knowledge = Knowledge(self._known, self._clock.monotonic_ms(), limits.fresh_ms, limits.missing_ms, limits.accept_unknown)
        examining = partial(examine, check.records, check.header, check.expected, knowledge, answers)
        self._run(examining).then(partial(self._examined, check, answers))

    def _examined(self, check: _Check, answers: dict[Stamp, Answer], examined: Examined) -> None:
        if check.waiting.decided:
            return
        for stamp, expected in examined.refused:
            self._known.refused(stamp, expected, self._clock.monotonic_ms())
        for stamp, facts in examined.stale.items():
            self._lookups.look_up(stamp, facts=facts)
        if not examined.questions:
            self._decide(check, examined.verdict)
            return
        check.questions = set(examined.questions)
        asked = [self._lookups.look_up(stamp, facts=facts) for stamp, facts in examined.questions.items()]

        def answered(found: list[Answer]) -> None:
            if check.questions and not check.waiting.decided:
                check.questions = set()
                self._examine(check, {**answers, **dict(zip(examined.questions, found, strict=True))})

        all_of(asked).then(answered)

    def _late(self, check: _Check, timeout_ms: int) -> None:
        """A registry that has not answered yet counts as unreachable. If batches pass without its
        answer, the rest of this one is still judged."""
        if check.questions and self._limits().accept_unknown:
            late = Unreachable(f"the schema registry did not answer within {timeout_ms} ms")
            answers: dict[Stamp, Answer] = dict.fromkeys(check.questions, late)
            check.questions = set()
            self._examine(check, answers)
        else:
            self._decide(check, no_verdict(f"the validation took longer than {timeout_ms} ms"))

    def _decide(self, check: _Check, verdict: Verdict) -> None:
        if check.waiting.decided:
            return
        if check.timer is not None:
            check.timer.cancel()
        outcome = "accepted" if verdict is None else "refused" if verdict.code is ErrorCode.INVALID_RECORD else "no verdict"
        self._count(check.topic, outcome)
        self._lanes.decide(check.waiting, verdict)

    # -- changes -----------------------------------------------------------------------------------

    def rules_changed(self, partitions: Iterable[Partition]) -> None:
        """Lets the waiting batches of partitions pass whose topic is not validated any more, before
        later batches that do not wait could overtake them."""
        self._expected.clear()
        for partition in partitions if self._lanes.batches else ():
            if partition.log.settings.rules.schemas is None:
                for waiting in self._lanes.of_partition(partition):
                    self._lanes.decide(waiting, None)

    def stop(self) -> None:
        """The broker stops: waiting batches are refused, and their producers retry elsewhere."""
        for waiting in self._lanes.all():
            self._lanes.decide(waiting, no_verdict("the broker stops"))

    # -- shorthands --------------------------------------------------------------------------------

    def _expectations(self, partition: Partition, rules: SchemaRules) -> Expectations:
        found = self._expected.get(partition)
        if found is None or found[0] is not rules:
            found = self._expected[partition] = (rules, expectations(partition.partition.topic, rules))
        return found[1]

    def _count(self, topic: str, outcome: str) -> None:
        counter = self._counters.get((topic, outcome))
        if counter is None:
            counter = self._counters[topic, outcome] = self._metrics.counter(catalogue.SCHEMA_BATCHES, topic, outcome)
        counter.value += 1

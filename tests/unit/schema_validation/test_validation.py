"""Batches on their way to a verdict: the order, the timeouts, and the questions to the registry."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.records.compression import Codec
from barnabas.records.schema_rules import SchemaRules
from barnabas.records.validation import BatchRules, Refused
from barnabas.replication.partition import Partition
from barnabas.schema_validation.core.knowledge import Answer, KnownSchemas, Unreachable, Unregistered
from barnabas.schema_validation.core.stamps import Stamp
from barnabas.schema_validation.lanes import Verdict
from barnabas.schema_validation.limits import Limits
from barnabas.schema_validation.lookups import QUESTIONS_MAX, Lookups
from barnabas.schema_validation.validation import WAITING_OVERHEAD_BYTES, SchemaValidation
from barnabas.storage.log_settings import LogSettings
from barnabas.telemetry import catalogue
from barnabas.telemetry.logs import EventLog
from barnabas.telemetry.metrics import Metrics
from tests.unit import simulated
from tests.unit.replication.made import World
from tests.unit.schema_validation.made import ID_LEVEL, PAYLOAD_LEVEL, batch, registered, stamp, stamped

GOOD = registered("t-value", wrong=b"bad")


class Registry:
    """A registry that answers when the test says so."""

    def __init__(self) -> None:
        self.answers: dict[Stamp, Answer] = {stamp(1): GOOD}
        self.asked: list[Stamp] = []
        self.silent = False
        self._held: list[tuple[Callable[[], Answer], Promise[Answer]]] = []

    def look_up(self, stamp: Stamp, *, facts: bool) -> Answer:
        return self.answers.get(stamp, Unregistered.UNREGISTERED)

    def ask(self, question: Callable[[], Answer]) -> Promise[Answer]:
        self.asked.append(question.args[0])  # type: ignore[attr-defined]
        promise: Promise[Answer] = Promise()
        self._held.append((question, promise))
        if not self.silent:
            asyncio.get_running_loop().call_soon(self.speak)
        return promise

    def speak(self) -> None:
        held, self._held = self._held, []
        for question, promise in held:
            promise.resolve(question())


class Threads:
    """Work that takes a turn of the loop, or longer."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.runs = 0

    def run(self, work: Callable[[], Any]) -> Promise[Any]:
        self.runs += 1
        promise: Promise[Any] = Promise()
        asyncio.get_running_loop().call_later(self.seconds, lambda: promise.resolve(work()))
        return promise


class Validating:
    def __init__(self, rules: SchemaRules = ID_LEVEL, **limits: Any) -> None:
        self.limits = replace(Limits(3000, 300_000, 1000, 10_000_000, accept_unknown=False), **limits)
        self.registry, self.threads, self.metrics = Registry(), Threads(), Metrics()
        self.known = KnownSchemas(1000)
        self.rules = rules
        self.world = World()
        self.partition = self.new_partition("t")
        loop, clock = asyncio.get_running_loop(), simulated.LoopClock()
        lookups = Lookups(self.registry, self.known, self.registry.ask, lambda: self.limits, clock, loop, self.metrics, EventLog("ERROR"))
        self.validation = SchemaValidation(lookups, self.known, self.threads.run, lambda: self.limits, clock, loop, self.metrics)

    def new_partition(self, topic: str) -> Partition:
        return self.world.partition(topic, settings=LogSettings(rules=BatchRules(schemas=self.rules)))

    def check(self, made: memoryview | None, producer: object = "connection", partition: Partition | None = None) -> Promise[Verdict]:
        verdict = self.validation.check(partition or self.partition, self.rules, made, producer)
        return verdict if isinstance(verdict, Promise) else Promise.kept(verdict)

    def passes(self, made: memoryview) -> bool:
        return self.validation.passes(self.partition, self.rules, made)

    def counted(self, outcome: str) -> int:
        return self.metrics.counter(catalogue.SCHEMA_BATCHES, "t", outcome).value

    def waiting(self) -> tuple[int, int]:
        return self.validation._lanes.batches, self.validation._lanes.size_bytes


async def settled(promise: Promise[Verdict]) -> Verdict:
    while not promise.done:
        await asyncio.sleep(0.001)
    return promise.value


async def code_of(promise: Promise[Verdict]) -> ErrorCode:
    verdict = await settled(promise)
    return ErrorCode.NONE if verdict is None else verdict.code


def scenario(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    def run() -> None:
        simulated.run(test())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


@scenario
async def test_an_unknown_id_is_looked_up_once_and_known_from_then_on() -> None:
    world = Validating()
    assert not world.passes(batch(stamped(1)))
    assert await code_of(world.check(batch(stamped(1)))) is ErrorCode.NONE
    assert world.registry.asked == [stamp(1)]
    assert world.passes(batch(stamped(1), None, stamped(1)))
    assert world.check(batch(stamped(1))).done
    assert world.registry.asked == [stamp(1)]
    assert world.counted("accepted") == 3


@scenario
async def test_a_stampede_of_one_unknown_id_asks_once() -> None:
    world = Validating()
    world.registry.silent = True
    checks = [world.check(batch(stamped(1)), producer=number) for number in range(50)]
    await asyncio.sleep(1)
    world.registry.speak()
    assert [await code_of(each) for each in checks] == [ErrorCode.NONE] * 50
    assert world.registry.asked == [stamp(1)]


@scenario
async def test_a_negative_answer_is_remembered_for_a_short_time() -> None:
    world = Validating(missing_ms=1000)
    for _ in range(5):
        assert await code_of(world.check(batch(stamped(9)))) is ErrorCode.INVALID_RECORD
    assert world.registry.asked == [stamp(9)]
    world.registry.answers[stamp(9)] = GOOD
    await asyncio.sleep(1.1)
    assert await code_of(world.check(batch(stamped(9)))) is ErrorCode.NONE
    assert world.counted("refused") == 5


@scenario
async def test_a_schema_that_is_registered_for_a_second_topic_is_known_there_at_once() -> None:
    world = Validating(missing_ms=1000)
    await settled(world.check(batch(stamped(1))))
    world.registry.answers[stamp(1)] = registered("t-value", "u-value")
    assert await code_of(world.check(batch(stamped(1)), partition=world.new_partition("u"))) is ErrorCode.NONE


@scenario
async def test_a_refusal_of_one_topic_is_none_of_another() -> None:
    world = Validating(missing_ms=1000)
    other = world.new_partition("u")
    assert await code_of(world.check(batch(stamped(9)))) is ErrorCode.INVALID_RECORD
    world.registry.answers[stamp(9)] = registered("t-value", "u-value")
    assert await code_of(world.check(batch(stamped(9)), partition=other)) is ErrorCode.NONE


@scenario
async def test_a_hanging_registry_delays_a_batch_by_the_timeout_and_no_longer() -> None:
    world = Validating(timeout_ms=3000)
    world.registry.silent = True
    began = asyncio.get_running_loop().time()
    found = await settled(world.check(batch(stamped(1))))
    assert found is not None
    assert found.code is ErrorCode.NOT_ENOUGH_REPLICAS
    assert 2.9 < asyncio.get_running_loop().time() - began < 3.2
    assert world.counted("no verdict") == 1


@scenario
async def test_an_outage_costs_one_wait_and_then_answers_at_once_for_a_while() -> None:
    world = Validating(timeout_ms=3000, missing_ms=1000)
    world.registry.silent = True
    await settled(world.check(batch(stamped(1))))
    began = asyncio.get_running_loop().time()
    for schema_id in range(2, 20):
        assert await code_of(world.check(batch(stamped(schema_id)))) is ErrorCode.NOT_ENOUGH_REPLICAS
    assert asyncio.get_running_loop().time() - began < 0.5
    assert world.registry.asked == [stamp(1)]
    world.registry.silent = False
    await asyncio.sleep(1)
    assert await code_of(world.check(batch(stamped(1)))) is ErrorCode.NONE


@scenario
async def test_a_registry_that_refuses_to_answer_counts_as_unreachable() -> None:
    world = Validating()
    world.registry.answers[stamp(1)] = Unreachable("the registry answers 401")
    found = await settled(world.check(batch(stamped(1))))
    assert found == Refused(ErrorCode.NOT_ENOUGH_REPLICAS, "the schemas of the batch cannot be validated now: the registry answers 401")


@scenario
async def test_batches_pass_without_a_registry_where_the_settings_accept_them() -> None:
    world = Validating(PAYLOAD_LEVEL, timeout_ms=3000, accept_unknown=True)
    world.registry.silent = True
    first, second = world.check(batch(stamped(1))), world.check(batch(stamped(7), b"raw"))
    assert await code_of(first) is ErrorCode.NONE
    assert await code_of(second) is ErrorCode.INVALID_RECORD


@scenario
async def test_old_knowledge_is_used_at_once_while_the_registry_is_asked_again() -> None:
    world = Validating(fresh_ms=1000)
    await settled(world.check(batch(stamped(1))))
    await asyncio.sleep(2)
    world.registry.silent = True
    assert world.passes(batch(stamped(1)))
    assert world.passes(batch(stamped(1)))
    assert world.registry.asked == [stamp(1), stamp(1)]
    await asyncio.sleep(60)
    assert world.passes(batch(stamped(1)))
    world.registry.silent = False
    world.registry.answers[stamp(1)] = Unregistered.UNREGISTERED
    await asyncio.sleep(60)
    world.passes(batch(stamped(1)))
    await asyncio.sleep(1)
    assert not world.passes(batch(stamped(1)))


@scenario
async def test_batches_of_one_producer_keep_their_order_while_one_waits() -> None:
    world = Validating()
    await settled(world.check(batch(stamped(1))))
    world.registry.silent = True
    order: list[int] = []
    for sequence, schema_id in enumerate([9, 1, 1]):
        made = batch(stamped(schema_id), producer_id=4000, sequence=sequence)
        world.check(made, producer=f"connection {sequence}").then(lambda _, number=sequence: order.append(number))  # type: ignore[misc]
    assert not world.passes(batch(stamped(1), producer_id=4000, sequence=3))
    await asyncio.sleep(1)
    assert order == []
    world.registry.speak()
    await asyncio.sleep(1)
    assert order == [0, 1, 2]
    assert world.passes(batch(stamped(1)))


@scenario
async def test_other_producers_and_other_partitions_do_not_wait() -> None:
    world = Validating()
    await settled(world.check(batch(stamped(1))))
    world.registry.silent = True
    held = world.check(batch(stamped(9), producer_id=4000, sequence=0))
    assert world.check(batch(stamped(1), producer_id=4001, sequence=0)).done
    assert world.check(batch(stamped(1)), producer="another connection").done
    assert world.check(batch(stamped(1), producer_id=4000, sequence=0), partition=world.world.partition("t", 1)).done
    assert not held.done
    world.registry.speak()


@scenario
async def test_batches_without_a_producer_id_wait_behind_those_of_their_connection() -> None:
    world = Validating()
    await settled(world.check(batch(stamped(1))))
    world.registry.silent = True
    first, second, garbage = world.check(batch(stamped(9))), world.check(batch(stamped(1))), world.check(None)
    await asyncio.sleep(1)
    assert (first.done, second.done, garbage.done) == (False, False, False)
    world.registry.speak()
    assert [await code_of(each) for each in (first, second, garbage)] == [ErrorCode.INVALID_RECORD, ErrorCode.NONE, ErrorCode.NONE]


@scenario
async def test_waiting_batches_have_a_limit_of_memory() -> None:
    world = Validating(waiting_bytes_max=3 * WAITING_OVERHEAD_BYTES)
    world.registry.silent = True
    first, second, third = (world.check(batch(stamped(1)), producer=number) for number in range(3))
    assert (first.done, second.done) == (False, False)
    assert await code_of(third) is ErrorCode.NOT_ENOUGH_REPLICAS
    assert world.waiting()[0] == 2
    await asyncio.sleep(1)
    world.registry.speak()
    await asyncio.sleep(1)
    assert world.waiting() == (0, 0)


@scenario
async def test_open_questions_have_a_limit() -> None:
    world = Validating(waiting_bytes_max=10**9)
    world.registry.silent = True
    flood = [world.check(batch(stamped(10 + number)), producer=number) for number in range(QUESTIONS_MAX)]
    await asyncio.sleep(1)
    assert await code_of(world.check(batch(stamped(1)))) is ErrorCode.NOT_ENOUGH_REPLICAS
    assert len(world.registry.asked) == QUESTIONS_MAX
    world.registry.speak()
    assert {await code_of(each) for each in flood} == {ErrorCode.INVALID_RECORD}


@scenario
async def test_threads_that_are_busy_delay_a_batch_by_the_timeout_and_no_longer() -> None:
    world = Validating(PAYLOAD_LEVEL, timeout_ms=500, accept_unknown=True)
    world.threads.seconds = 10
    found = await settled(world.check(batch(stamped(1))))
    assert found == Refused(
        ErrorCode.NOT_ENOUGH_REPLICAS, "the schemas of the batch cannot be validated now: the validation took longer than 500 ms"
    )
    await asyncio.sleep(20)
    assert world.waiting() == (0, 0)


@scenario
async def test_the_loop_checks_only_small_batches_of_known_ids_that_are_not_compressed() -> None:
    world = Validating()
    await settled(world.check(batch(stamped(1))))
    before = world.threads.runs
    assert world.check(batch(stamped(1))).done
    assert world.threads.runs == before
    for made in (batch(*[stamped(1, b"x" * (number % 50)) for number in range(3000)]), batch(stamped(1), codec=Codec.ZSTD), batch(b"raw")):
        assert not world.passes(made)
        assert not world.check(made, producer=id(made)).done
    assert world.threads.runs == before + 3
    await asyncio.sleep(1)


@scenario
async def test_payloads_are_decoded_on_threads() -> None:
    world = Validating(PAYLOAD_LEVEL)
    assert await code_of(world.check(batch(stamped(1)))) is ErrorCode.NONE
    assert not world.passes(batch(stamped(1)))
    assert await code_of(world.check(batch(stamped(1, b"bad")))) is ErrorCode.INVALID_RECORD


@scenario
async def test_a_topic_that_needs_no_schemas_any_more_lets_its_waiting_batches_pass() -> None:
    world = Validating()
    world.registry.silent = True
    held = [world.check(batch(stamped(schema_id))) for schema_id in (1, 2)]
    other = world.check(batch(stamped(1)), partition=world.new_partition("u"))
    world.partition.log.configure(LogSettings())
    world.validation.rules_changed([world.partition])
    assert [each.value for each in held] == [None, None]
    assert not other.done
    world.registry.speak()
    await asyncio.sleep(1)


@scenario
async def test_a_broker_that_stops_refuses_its_waiting_batches() -> None:
    world = Validating()
    world.registry.silent = True
    held = world.check(batch(stamped(1)))
    world.validation.stop()
    assert await code_of(held) is ErrorCode.NOT_ENOUGH_REPLICAS
    world.registry.speak()
    await asyncio.sleep(5)


@pytest.mark.parametrize("made", [None, memoryview(b"garbage"), batch(stamped(1))[:-3]], ids=["none", "garbage", "cut off"])
def test_bytes_that_are_no_batch_are_left_to_the_append(made: memoryview | None) -> None:
    async def ask() -> None:
        assert Validating().check(made).value is None

    simulated.run(ask())

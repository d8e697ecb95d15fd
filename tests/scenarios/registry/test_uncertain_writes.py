"""Writes that fail, although their records may have reached the topic."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import pytest

from barnabas.registry.core.entries import Entry, SchemaEntry
from barnabas.registry.core.errors import RegistryError, schema_too_large, timed_out
from barnabas.registry.core.parsed_schemas import ParsedSchemas
from barnabas.registry.core.registering import Registration, register
from barnabas.registry.core.state import RegistryState
from barnabas.registry.service import RegistryService
from barnabas.schemas.schema import SchemaType
from tests.scenarios.registry.registry_client import Memory, record


class SlowToComeBack(Memory):
    """Records reach the topic, and the state learns of them only later."""

    def __init__(self, state: RegistryState) -> None:
        super().__init__(state)
        self._late: list[Entry] = []

    async def write(self, entries: Sequence[Entry]) -> None:
        self._late += entries
        # The writes after this one come to wait for their turn.
        await asyncio.sleep(0)
        raise timed_out("The records were written, but could not be read back in time")

    async def come_back(self) -> None:
        await super().write(self._late)


class TooLarge(Memory):
    async def write(self, entries: Sequence[Entry]) -> None:
        raise schema_too_large("The schema is too large")


async def registered(service: RegistryService, subject: str) -> SchemaEntry:
    wanted = Registration(SchemaType.AVRO, json.dumps(record(name=subject)))
    return await service.write(lambda parsed: register(service.state, parsed, subject, wanted))


def code(outcome: SchemaEntry | BaseException) -> int:
    assert isinstance(outcome, RegistryError)
    return outcome.code


def test_a_write_after_an_uncertain_one_waits_until_everything_is_replayed() -> None:
    async def scenario() -> None:
        service = RegistryService(RegistryState())
        topic = SlowToComeBack(service.state)
        service.lead(topic)
        first, second = await asyncio.gather(registered(service, "one"), registered(service, "two"), return_exceptions=True)
        assert (code(first), code(second)) == (50002, 50004)
        assert topic.given_up
        assert not service.is_leader
        await topic.come_back()
        service.lead(Memory(service.state))
        assert (await registered(service, "two")).id == 2
        assert (await registered(service, "one")).id == 1, "the failed write took effect"
        service.stop()

    asyncio.run(scenario())


def test_a_write_that_is_cancelled_is_uncertain() -> None:
    class Endless(Memory):
        async def write(self, entries: Sequence[Entry]) -> None:
            begun.set()
            await asyncio.Event().wait()

    async def scenario() -> None:
        service = RegistryService(RegistryState())
        topic = Endless(service.state)
        service.lead(topic)
        write = asyncio.create_task(registered(service, "one"))
        await begun.wait()
        write.cancel()
        with pytest.raises(asyncio.CancelledError):
            await write
        assert topic.given_up
        assert not service.is_leader
        service.stop()

    begun = asyncio.Event()
    asyncio.run(scenario())


def test_a_decision_of_an_earlier_term_is_not_written() -> None:
    async def scenario() -> None:
        service = RegistryService(RegistryState())
        service.lead(Memory(service.state))
        later = Memory(service.state)

        def decide(parsed: ParsedSchemas) -> object:
            decision = register(service.state, parsed, "one", Registration(SchemaType.AVRO, '"int"'))
            # While this thread decides, another instance leads and writes, and then this one again.
            service.lead(None)
            service.lead(later)
            return decision

        with pytest.raises(RegistryError) as refused:
            await service.write(decide)  # type: ignore[arg-type]
        assert refused.value.code == 50004
        assert not later.records
        assert service.is_leader
        service.stop()

    asyncio.run(scenario())


def test_an_uncertain_write_of_an_earlier_term_leaves_the_present_one_alone() -> None:
    async def scenario() -> None:
        service = RegistryService(RegistryState())
        later = Memory(service.state)

        class Replaced(Memory):
            async def write(self, entries: Sequence[Entry]) -> None:
                service.lead(later)
                raise timed_out("The brokers did not acknowledge the records in time")

        service.lead(Replaced(service.state))
        with pytest.raises(RegistryError):
            await registered(service, "one")
        assert service.is_leader
        assert not later.given_up
        service.stop()

    asyncio.run(scenario())


def test_a_schema_that_is_too_large_leaves_the_leader_alone() -> None:
    async def scenario() -> None:
        service = RegistryService(RegistryState())
        topic = TooLarge(service.state)
        service.lead(topic)
        with pytest.raises(RegistryError) as refused:
            await registered(service, "one")
        assert (refused.value.code, refused.value.status) == (42209, 422)
        assert service.is_leader
        assert not topic.given_up
        service.stop()

    asyncio.run(scenario())

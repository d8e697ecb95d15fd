"""A schema that takes long holds no other request: it leaves its turn, and comes back with its
verdict at hand.
"""

from __future__ import annotations

import asyncio
import json
from threading import Event

import pytest

from barnabas.registry.core.registering import Registration, register
from barnabas.registry.service import QUICK_STEPS_MAX, RegistryService
from barnabas.schemas.errors import OutOfSteps
from barnabas.schemas.schema import SchemaType
from barnabas.schemas.steps import Steps
from tests.scenarios.registry.registry_client import Client, record


def union(letter: str, count: int = 120) -> str:
    """Each branch of one such union is compared with each branch of another."""
    return json.dumps([{"type": "record", "name": f"{letter}{number}", "fields": []} for number in range(count)])


def wanted(text: str) -> Registration:
    return Registration(SchemaType.AVRO, text)


def occupy(service: RegistryService, held: Event) -> None:
    """Keep the thread for long comparisons busy until the event is set."""
    begun = Event()

    def work() -> None:
        begun.set()
        held.wait()

    service._slow.submit(work)
    begun.wait()


async def registered(service: RegistryService, subject: str, text: str) -> int:
    return (await service.write(lambda parsed: register(service.state, parsed, subject, wanted(text)))).id


def test_a_decision_of_many_steps_is_quick_once_its_verdict_is_known(client: Client) -> None:
    client.registered("a", union("R"))
    state, parsed, wider = client.service.state, client.service.parsed, wanted(union("R", 121))
    quick = Steps(QUICK_STEPS_MAX)
    with pytest.raises(OutOfSteps):
        register(state, parsed.within(quick), "a", wider)
    assert quick.taken <= QUICK_STEPS_MAX + 1, "no request holds the others for longer"
    long = register(state, parsed, "a", wider)
    again = Steps(QUICK_STEPS_MAX)
    assert register(state, parsed.within(again), "a", wider) == long
    assert again.taken == 0


def test_others_register_while_a_schema_is_compared(client: Client) -> None:
    service = client.service
    client.registered("a", union("R"))
    held = Event()

    async def scenario() -> list[int]:
        # The thread for long comparisons is busy until the others have their answers.
        occupy(service, held)
        slow = asyncio.create_task(registered(service, "a", union("R", 121)))
        others = [await registered(service, f"other-{number}", f'{{"type":"fixed","name":"F","size":{number}}}') for number in range(5)]
        assert not slow.done()
        held.set()
        return [*others, await slow]

    ids = asyncio.run(scenario())
    assert ids == [2, 3, 4, 5, 6, 7]
    assert client.get("/subjects/a/versions") == (200, [1, 2])


def test_a_schema_is_compared_with_versions_that_came_while_it_waited(client: Client) -> None:
    service = client.service
    client.ask("PUT", "/config/a", {"compatibility": "BACKWARD"})
    client.registered("a", record(*[f"F{number}" for number in range(5_000)]))
    held = Event()
    narrower = record(*[f"F{number}" for number in range(4_990)], "new")

    async def scenario() -> None:
        occupy(service, held)
        slow = asyncio.create_task(registered(service, "a", json.dumps(narrower)))
        await asyncio.sleep(0)
        held.set()
        with pytest.raises(Exception, match="READER_FIELD_MISSING_DEFAULT_VALUE"):
            await slow

    asyncio.run(scenario())
    assert client.get("/subjects/a/versions") == (200, [1])


def test_a_long_file_is_parsed_beside_the_decisions(client: Client) -> None:
    fields = "".join(f" string f{number} = {number};" for number in range(1, 400))
    quick = Steps(QUICK_STEPS_MAX)
    text = f'syntax = "proto3"; message M {{{fields} }}'
    with pytest.raises(OutOfSteps):
        client.service.parsed.within(quick).parse(SchemaType.PROTOBUF, text, (), "p")
    assert client.registered("p", text, schemaType="PROTOBUF") == 1

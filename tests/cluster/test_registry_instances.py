"""Several instances of the registry, whose leader is killed, paused and stopped under load: every
schema keeps the id that was answered, and no id belongs to two schemas.
"""

from __future__ import annotations

import json
import threading
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from barnabas.testing import EmbeddedBroker
from tests.registry_process import RegistryProcess, several
from tests.waiting import until

INSTANCES = 3


def schema(number: int) -> str:
    return json.dumps({"type": "record", "name": f"R{number}", "fields": [{"name": "x", "type": "int"}]})


class Registrations(threading.Thread):
    """Registers one schema after the other, at whichever instance answers."""

    def __init__(self, instances: list[RegistryProcess], first: int) -> None:
        super().__init__(daemon=True)
        self._instances = instances
        self._number = first
        self._stopped = threading.Event()
        self.ids: dict[int, int] = {}

    def run(self) -> None:
        while not self._stopped.is_set():
            self._number += 1
            answer = self._registered(self._number)
            if answer is not None:
                self.ids[self._number] = answer

    def _registered(self, number: int) -> int | None:
        """The id, once an instance gives one; requests that fail are sent again, as clients do."""
        while not self._stopped.is_set():
            for instance in list(self._instances):
                try:
                    response = instance.ask("POST", f"/subjects/s{number}/versions", {"schema": schema(number)}, seconds_max=20)
                except httpx.HTTPError:
                    continue
                if response.status_code == 200:
                    return int(response.json()["id"])
        return None

    def stop(self) -> None:
        self._stopped.set()
        self.join()


@pytest.mark.timeout(600)
def test_every_schema_keeps_its_id_whatever_happens_to_the_leader() -> None:
    with EmbeddedBroker(config={"group.initial.rebalance.delay.ms": 0}) as kafka, ExitStack() as ends:
        instances = [ends.enter_context(each) for each in several(kafka.bootstrap, INSTANCES)]
        alive = list(instances)
        loads = [Registrations(alive, first) for first in (0, 100_000)]
        for load in loads:
            load.start()

        def grown(by: int = 5) -> None:
            before = sum(len(load.ids) for load in loads)
            until(lambda: sum(len(load.ids) for load in loads) >= before + by, "registrations go on")

        grown()
        first = instances[0]
        first.pause()
        alive.remove(first)
        grown()
        # It was the leader or a follower; in both cases it must not write with what it knew.
        first.resume()
        alive.append(first)
        grown()
        alive.remove(instances[1])
        instances[1].kill()
        grown()
        alive.remove(first)
        assert first.stop() == 0
        grown()
        for load in loads:
            load.stop()
        given = {number: schema_id for load in loads for number, schema_id in load.ids.items()}
        assert len(set(given.values())) == len(given), "two schemas have one id"
        last = instances[2]
        wrong = {number: found for number, schema_id in given.items() if (found := _found(last, number)) != schema_id}
        assert not wrong


def _found(instance: RegistryProcess, number: int) -> Any:
    response = instance.ask("GET", f"/subjects/s{number}/versions/1")
    return response.json().get("id")

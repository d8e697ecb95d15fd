"""Classic members over real connections, one each: the scripts of
:mod:`~tests.unit.coordinators.classic.script` at a broker.

No clock is moved here and nothing sleeps: the transcript names the members that get an answer after
each line, and the test awaits those answers. An answer that comes too early is found where the next
one of its connection is expected. A join after which no member gets an answer must have arrived
before the next line, since connections do not wait for each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import takewhile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.delete_groups import DeleteGroupsRequest
from barnabas.wire.messages.describe_groups import DescribedGroup, DescribeGroupsRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.list_groups import ListGroupsRequest
from tests.scenarios.client import Client
from tests.unit.coordinators.classic.script import ADMIN, Script
from tests.waiting import until

SCENES = Path(__file__).parent / "classic_members.txt"


class Members(Script):
    """Adds to the commands of members: ``list [states=Stable,Empty] [types=classic]`` and
    ``delete``."""

    def __init__(self, bootstrap: str, group_id: str) -> None:
        super().__init__()
        self.group_id = group_id
        self._bootstrap = bootstrap
        self._connections: dict[str, Client] = {}
        self._asked: dict[str, list[tuple[Any, int]]] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        asked = FindCoordinatorRequest(coordinator_keys=[self.group_id])
        # The first group of a cluster waits for the topic that stores groups, and then for its
        # shard.
        until(lambda: self._client(ADMIN).ask(asked).coordinators[0].error_code == ErrorCode.NONE, "a coordinator")
        until(lambda: self._described().error_code == ErrorCode.NONE, "a loaded shard")
        return self

    def _described(self) -> DescribedGroup:
        (group,) = self._client(ADMIN).ask(DescribeGroupsRequest(groups=[self.group_id]), 5).groups
        described: DescribedGroup = group
        return described

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()

    def _client(self, name: str) -> Client:
        if name not in self._connections:
            self._connections[name] = self._stack.enter_context(Client(self._bootstrap))
        return self._connections[name]

    def ask(self, name: str, request: Any, version: int) -> None:
        self._client(name).send(request, version)
        self._asked.setdefault(name, []).append((request, version))

    def perform_scene(self, scene: str) -> str:
        lines = scene.splitlines()
        for number, line in enumerate(lines):
            if line.startswith("#"):
                self.lines.append(line)
            elif not line.startswith(" "):
                self.perform(line)
                told = list(takewhile(lambda each: each.startswith(" "), lines[number + 1 :]))
                for each in told:
                    self._await(each.split(":")[0].strip())
                self.tell_answers()
                if line.startswith("join") and not told:
                    until(lambda: self._described().group_state == "PreparingRebalance", "a join that waits")
        return "\n".join(self.lines)

    def _await(self, name: str) -> None:
        request, version = self._asked[name].pop(0)
        _, response = self._client(name).receive(request, version)
        self.answered(name, response)

    def _list(self, names: list[str], options: dict[str, str]) -> None:
        request = ListGroupsRequest(
            states_filter=options["states"].split(",") if "states" in options else [],
            types_filter=options["types"].split(",") if "types" in options else [],
        )
        self.ask(ADMIN, request, 5)

    def _delete(self, names: list[str], options: dict[str, str]) -> None:
        self.ask(ADMIN, DeleteGroupsRequest(groups_names=[self.group_id]), 2)

    def told(self, response: Any) -> str:
        match response:
            case _ if hasattr(response, "results"):
                (result,) = response.results
                return ErrorCode(result.error_code).name if result.error_code else "deleted"
            case _ if hasattr(response, "groups") and hasattr(response, "error_code"):
                found = [each for each in response.groups if each.group_id == self.group_id]
                return " ".join(f"{each.protocol_type} {each.group_state} {each.group_type}" for each in found) or "not listed"
            case _:
                return super().told(response)


def scenes() -> Iterator[tuple[str, str]]:
    """Title and text."""
    for scene in SCENES.read_text().strip("\n").split("\n\n"):
        yield scene.splitlines()[0].lstrip("# "), scene


def performed_at(bootstrap: str, title: str, scene: str) -> str:
    with Members(bootstrap, title.replace(" ", "-")) as members:
        return members.perform_scene(scene)

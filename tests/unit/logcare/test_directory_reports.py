"""The controller hears where replicas lie, once for many, and again until it has heard."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from barnabas.controller.error_responses import error_response
from barnabas.logcare.directories import reports
from barnabas.logcare.directories.reports import DirectoryReports
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.storage.log_directory import LogDirectory
from tests.unit import simulated
from tests.unit.metadata.made import uuid
from tests.waiting import until_async

FIRST, SECOND = (cast(LogDirectory, SimpleNamespace(directory_id=uuid(number))) for number in (50, 51))
TOPIC, OTHER = uuid(1), uuid(2)
# Many times the pause between two tries, on the simulated loop.
LONG_SECONDS = 60


class Controller:
    def __init__(self) -> None:
        self.requests: list[Any] = []
        self.answers: list[Promise[Any]] = []

    def submit(self, request: Any, context: Caller | None = None) -> Promise[Any]:
        self.requests.append(request)
        self.answers.append(Promise())
        return self.answers[-1]

    def answer(self, code: ErrorCode = ErrorCode.NONE) -> None:
        next(each for each in self.answers if not each.done).resolve(error_response(self.requests[-1], code))

    def heard(self) -> list[Any]:
        return [
            (each.id, topic.topic_id, [partition.partition_index for partition in topic.partitions])
            for each in self.requests[-1].directories
            for topic in each.topics
        ]


def run(scenario: Callable[[Controller, DirectoryReports], Awaitable[None]], epoch: Callable[[], int] = lambda: 7) -> None:
    async def main() -> None:
        controller = Controller()
        await scenario(controller, DirectoryReports(controller, 1, epoch))

    simulated.run(main())


async def until(controller: Controller, requests: int) -> None:
    await until_async(lambda: len(controller.requests) >= requests, f"{requests} requests reach the controller")


def test_replicas_placed_in_one_turn_are_reported_in_one_request() -> None:
    async def scenario(controller: Controller, reports: DirectoryReports) -> None:
        for index in range(3):
            reports.placed(TOPIC, index, FIRST)
        reports.placed(OTHER, 0, SECOND)
        await until(controller, 1)
        assert controller.heard() == [(uuid(50), TOPIC, [0, 1, 2]), (uuid(51), OTHER, [0])]
        reports.placed(TOPIC, 3, FIRST)
        await asyncio.sleep(LONG_SECONDS)
        assert len(controller.requests) == 1, "one at a time"
        controller.answer()
        await until(controller, 2)
        assert controller.heard() == [(uuid(50), TOPIC, [3])]

    run(scenario)


def test_a_refused_report_is_repeated_in_the_newest_epoch_unless_it_changed() -> None:
    epochs = [7, 8]

    async def scenario(controller: Controller, reports: DirectoryReports) -> None:
        reports.placed(TOPIC, 0, FIRST)
        reports.placed(TOPIC, 1, FIRST)
        await until(controller, 1)
        reports.placed(TOPIC, 1, SECOND)
        controller.answer(ErrorCode.STALE_BROKER_EPOCH)
        await until(controller, 2)
        assert controller.heard() == [(uuid(50), TOPIC, [0]), (uuid(51), TOPIC, [1])]
        assert [request.broker_epoch for request in controller.requests] == [7, 8]

    run(scenario, lambda: epochs.pop(0))


def test_a_request_has_a_limit_and_a_stopped_node_says_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "REPORTS_PER_REQUEST_MAX", 2)

    async def scenario(controller: Controller, reports: DirectoryReports) -> None:
        for index in range(5):
            reports.placed(TOPIC, index, FIRST)
        await until(controller, 1)
        assert controller.heard() == [(uuid(50), TOPIC, [0, 1])]
        controller.answer()
        await until(controller, 2)
        assert controller.heard() == [(uuid(50), TOPIC, [2, 3])]
        reports.stop()
        controller.answer(ErrorCode.REQUEST_TIMED_OUT)
        await asyncio.sleep(LONG_SECONDS)
        assert len(controller.requests) == 2

    run(scenario)

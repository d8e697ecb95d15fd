"""The list of groups in the order of their lag, while the console still asks about them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, Route, expect

from barnabas.console.access import group_measures
from barnabas.console.access.groups import group_offsets
from barnabas.console.settings import ClusterSettings
from barnabas.testing import EmbeddedBroker
from tests.console.browser import SHIFT_MAX, observe_shifts, opened_page, screenshot, serious_problems, shifted, wider_than_the_screen
from tests.console.console_thread import console_of
from tests.console.groups_of_tests import commit, produce
from tests.waiting import until

PHONE_PIXELS = 360


@pytest.fixture
def slow_coordinators(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Coordinators tell the offsets of all groups only when the event is set."""
    may_answer = threading.Event()

    async def held(*arguments: Any) -> Mapping[str, Any]:
        while not may_answer.is_set():
            await asyncio.sleep(0.01)
        return await group_offsets(*arguments)

    monkeypatch.setattr(group_measures, "group_offsets", held)
    return may_answer


@pytest.fixture
def groups(broker: EmbeddedBroker, topic: str) -> str:
    """The common part of the names of three groups; the last one is the furthest behind."""
    name = f"group-{uuid4().hex[:12]}"
    produce(broker.bootstrap, topic, 30)
    for number, offset in enumerate((10, 5, 1)):
        commit(broker.bootstrap, f"{name}-{number}", {(topic, 0): offset})
    return name


@pytest.mark.parametrize("width", [1280, PHONE_PIXELS])
def test_a_list_by_lag_says_that_it_is_incomplete_and_completes_itself_without_a_shift(
    browser: Browser, broker: EmbeddedBroker, groups: str, slow_coordinators: threading.Event, width: int
) -> None:
    with console_of(ClusterSettings("local", broker.bootstrap)) as console, opened_page(browser, console.url, width=width) as page:
        observe_shifts(page)
        page.goto(f"/clusters/local/groups?search={groups}&sort=-lag")
        note = page.locator("#order")
        expect(note).to_have_text("incomplete 0 of 3 groups are in order. The others follow.")
        expect(note).to_have_role("status")
        expect(page.locator("#list tbody tr")).to_have_count(3)
        assert serious_problems(page) == []
        assert wider_than_the_screen(page) <= 0
        screenshot(page, f"groups-incomplete-{width}")
        slow_coordinators.set()
        expect(note).to_have_text("The order is complete: 3 groups.")
        names = page.locator("#list tbody tr td:first-child")
        expect(names).to_have_text([f"{groups}-{each}" for each in (2, 1, 0)])
        expect(page.locator("td[data-label='Records behind']")).to_have_text(["9", "5", "0"])
        assert shifted(page) <= SHIFT_MAX
        screenshot(page, f"groups-complete-{width}")
        found = console.client().get("/clusters/local/groups", search=groups, sort="-lag")
        assert (found["measured"], [each["id"] for each in found["page"]["items"]]) == (3, [f"{groups}-{each}" for each in (2, 1, 0)])


def test_a_search_is_not_lost_to_a_list_that_completes_itself(
    browser: Browser, broker: EmbeddedBroker, groups: str, slow_coordinators: threading.Event
) -> None:
    held: list[Route] = []
    with console_of(ClusterSettings("local", broker.bootstrap)) as console, opened_page(browser, console.url) as page:

        def hold_first(route: Route) -> None:
            held.append(route)
            if len(held) > 1:
                route.continue_()

        page.goto(f"/clusters/local/groups?search={groups}&sort=-lag")
        page.route("**/groups?*", hold_first)
        # A call of the page runs the handler of the route.
        until(lambda: (page.evaluate("0"), held)[1], "the list asks for its completion")
        page.evaluate("window.wanted = 0; document.addEventListener('htmx:confirm', () => { window.wanted += 1; })")
        page.get_by_label("Search").fill(f"{groups}-1")
        until(lambda: page.evaluate("window.wanted") >= 1, "the search is to be asked for")
        slow_coordinators.set()
        # The answer for the old search arrives while the new one waits.
        held[0].continue_()
        expect(page.locator("#list tbody tr td:first-child")).to_have_text([f"{groups}-1"])
        expect(page.locator("#order")).to_have_text("The order is complete: 1 group.")

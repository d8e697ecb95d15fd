"""A real browser: Debian's Chromium, driven by Playwright.

The headless shell is Chromium without windows, tabs and extensions. It renders the same pages, and
a page costs it a tenth of a second of a processor; the whole browser takes a second for each.
``make chromium`` installs it when root runs it; tests are skipped with a sentence without it.
Screenshots are kept in ``build/screenshots``.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, expect, sync_playwright

from tests.waiting import until

SCREENSHOTS: Final = Path(__file__).parents[2] / "build" / "screenshots"
AXE: Final = Path(__file__).parent / "vendor" / "axe.min.js"
# A page of a starved machine takes tens of seconds; a step that ends early costs nothing.
STEP_MILLISECONDS_MAX: Final = 60_000
expect.set_options(timeout=STEP_MILLISECONDS_MAX)
# Parts of a page that jump while it is drawn make people click on the wrong one.
SHIFT_MAX: Final = 0.1
# More than the links and fields of the longest page that is driven by keyboard.
TABS_MAX: Final = 80
_PROGRAMS: Final = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


@contextmanager
def started_browser() -> Iterator[Browser]:
    program = next(filter(None, map(shutil.which, _PROGRAMS)), None)
    if program is None:
        pytest.skip("Chromium is missing, so tests in a browser are skipped (as root: make chromium).")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


# What htmx logs about a request that the browser ends because the page is left.
_LEFT: Final = ("htmx:afterRequest", "htmx:sendAbort")


@contextmanager
def opened_page(browser: Browser, url: str, *, width: int = 1280, dark: bool = False, expected: tuple[str, ...] = ()) -> Iterator[Page]:
    """A page of the console. The test fails if the page logs an error, for example because the
    policy forbids a script or a style, unless its text has an ``expected`` part."""
    context = browser.new_context(
        base_url=url, viewport={"width": width, "height": 800}, color_scheme="dark" if dark else "light", reduced_motion="reduce"
    )
    errors: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not any(each in message.text for each in ("status of 4", *_LEFT, *expected)):
            errors.append(message.text)

    context.set_default_timeout(STEP_MILLISECONDS_MAX)
    page = context.new_page()
    page.on("console", note)
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    context.close()
    assert errors == []


_OBSERVES_SHIFTS: Final = """
window.shifted = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifted += entry.value;
}).observe({type: "layout-shift", buffered: true});
"""


def observe_shifts(page: Page) -> None:
    """From the next page on; :func:`shifted` tells how far its parts moved while it was drawn."""
    page.add_init_script(_OBSERVES_SHIFTS)


def shifted(page: Page) -> float:
    """Google's cumulative layout shift: 0.1 and less is good."""
    moved: float = page.evaluate("window.shifted")
    return moved


def screenshot(page: Page, name: str) -> None:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)


def serious_problems(page: Page) -> list[str]:
    """What axe-core finds wrong for people with disabilities, of the two upper grades. Playwright
    runs the script in the page without adding it there, so the policy stays as it is."""
    page.evaluate(AXE.read_text("utf-8"))
    found: Any = page.evaluate("axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']})")
    return [
        f"{each['id']}: {each['help']}: {[node['html'][:200] for node in each['nodes']][:3]}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]


def wider_than_the_screen(page: Page) -> int:
    """Pixels by which the page itself, and not a table inside of it, must be scrolled sideways."""
    too_wide: int = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return too_wide


def open_directly(page: Page, address: str) -> None:
    """Opens a page by its address. axe-core finds nothing serious, and its parts stay in place."""
    observe_shifts(page)
    page.goto(address)
    assert serious_problems(page) == []
    assert shifted(page) <= SHIFT_MAX


def tab_to(page: Page, target: Locator) -> None:
    """Moves the focus with the Tab key alone, as a person without a mouse does."""
    for _ in range(TABS_MAX):
        page.keyboard.press("Tab")
        if target.evaluate("each => each === document.activeElement"):
            return
    raise AssertionError(f"{target} is not reached with {TABS_MAX} tabs")


def reload_until(page: Page, condition: Callable[[], bool], what: str) -> None:
    """Loads the page again until it shows a change, as a person does: the broker that answers may
    apply a change later than the controller that accepted it."""

    def shows() -> bool:
        page.reload()
        return condition()

    page.wait_for_load_state()
    if not condition():
        until(shows, what)

"""Every page, light and dark and on a phone: axe-core finds nothing serious, and nothing is too
wide.

A new page is a line in ``PAGES``."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser

from tests.console.browser import SHIFT_MAX, observe_shifts, opened_page, screenshot, serious_problems, shifted, wider_than_the_screen
from tests.console.console_thread import ConsoleThread

PHONE_PIXELS = 360
PAGES = {
    "clusters": "/clusters",
    "cluster": "/clusters/local",
    "topics": "/clusters/local/topics?internal=true",
    "new-topic": "/clusters/local/topics/new",
    "topic": "/clusters/local/topics/{topic}",
    "records": "/clusters/local/topics/{topic}/records",
    "record": "/clusters/local/topics/{topic}/records/0/0",
    "topic-settings": "/clusters/local/topics/{topic}/settings?search=retention",
    "topic-users": "/clusters/local/topics/{topic}/users",
    "brokers": "/clusters/local/brokers",
    "broker": "/clusters/local/brokers/1",
    "broker-disks": "/clusters/local/brokers/1/disks",
    "feature-change": "/clusters/local/brokers/features/change?name=streams.version&level=0",
    "broker-settings": "/clusters/local/brokers/1/settings?search=cleaner",
    "broker-setting-change": "/clusters/local/brokers/1/settings/change?name=log.cleaner.threads&value=2",
    "settings-of-all-brokers": "/clusters/local/brokers/all/settings",
    "broker-loggers": "/clusters/local/brokers/1/loggers",
    "quorum": "/clusters/local/brokers/quorum",
    "features": "/clusters/local/brokers/features",
    "groups": "/clusters/local/groups",
    "group": "/clusters/local/groups/{group}",
    "group-members": "/clusters/local/groups/{group}/members",
    "group-reset": "/clusters/local/groups/{group}/reset?to=earliest",
    "reassignment": "/clusters/local/reassignment",
    "preferred-leaders": "/clusters/local/reassignment/leaders",
    "dead-letter-topics": "/clusters/local/dead-letters",
    "dead-letters": "/clusters/local/dead-letters/{dead_letters}",
    "dead-letter": "/clusters/local/dead-letters/{dead_letters}/letters/0/0",
    "redrive": "/clusters/local/dead-letters/{dead_letters}/redrive",
    "transactions": "/clusters/local/transactions",
    "hanging-transactions": "/clusters/local/transactions/hanging",
    "permissions-without-authorizer": "/clusters/local/security?name=orders",
    "rules-without-authorizer": "/clusters/local/security/rules",
    "users": "/clusters/local/security/users",
    "tokens": "/clusters/local/security/tokens",
    "quotas": "/clusters/local/security/quotas",
    "rates": "/clusters/local/rates",
    "changes": "/audit",
    "login": "/login",
    "error": "/clusters/local/topics/no-such-topic",
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_accessible_in_light_and_dark_and_on_a_phone(
    browser: Browser, console: ConsoleThread, accessible_topic: str, accessible_group: str, accessible_letters: str, name: str
) -> None:
    with opened_page(browser, console.url) as page:
        observe_shifts(page)
        page.goto(PAGES[name].format(topic=accessible_topic, group=accessible_group, dead_letters=accessible_letters))
        assert serious_problems(page) == []
        assert shifted(page) < SHIFT_MAX
        screenshot(page, name)
        page.emulate_media(color_scheme="dark")
        assert serious_problems(page) == []
        screenshot(page, f"{name}-dark")
        page.set_viewport_size({"width": PHONE_PIXELS, "height": 740})
        assert wider_than_the_screen(page) <= 0
        screenshot(page, f"{name}-phone")

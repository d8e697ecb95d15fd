"""One broker and one console for all tests of this package that need no settings of their own;
topics have names of their own."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest
from playwright.sync_api import Browser

from barnabas.console.settings import ClusterSettings
from barnabas.testing import EmbeddedBroker
from tests.console.browser import started_browser
from tests.console.console_thread import ConsoleClient, ConsoleThread, console_of
from tests.console.groups_of_tests import commit, member
from tests.console.letters_of_tests import send_letters
from tests.registry_process import RegistryProcess


@pytest.fixture(scope="package")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as started:
        yield started


@pytest.fixture(scope="package")
def secure_broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(secure=True) as started:
        yield started


@pytest.fixture(scope="package")
def console(broker: EmbeddedBroker) -> Iterator[ConsoleThread]:
    with console_of(ClusterSettings("local", broker.bootstrap)) as started:
        yield started


@pytest.fixture(scope="package")
def registry(broker: EmbeddedBroker) -> Iterator[str]:
    with RegistryProcess(broker.bootstrap) as started:
        yield started.url


@pytest.fixture(scope="package")
def with_registry(broker: EmbeddedBroker, registry: str) -> Iterator[ConsoleThread]:
    with console_of(ClusterSettings("local", broker.bootstrap, registry=registry)) as console:
        yield console


@pytest.fixture
def client(console: ConsoleThread) -> Iterator[ConsoleClient]:
    made = console.client()
    yield made
    made.http.close()


@pytest.fixture
def topic(client: ConsoleClient) -> str:
    """A new topic with three partitions."""
    name = f"topic-{uuid4().hex[:12]}"
    client.post("/clusters/local/topics", name=name, partitions=3)
    return name


@pytest.fixture
def new_name() -> str:
    return f"topic-{uuid4().hex[:12]}"


@pytest.fixture(scope="package")
def accessible_topic(console: ConsoleThread) -> str:
    """A topic that the tests of pages only look at."""
    client = console.client()
    client.post("/clusters/local/topics", name="shown-topic", partitions=3)
    records = "/clusters/local/topics/shown-topic/records"
    for number in range(8):
        value = f'{{"order": {number}, "customer": "c{number % 3}", "amount": {number * 12.5}, "note": "<b>not bold</b>"}}'
        client.post(records, key=f"c{number % 3}", key_format="text", value=value, value_format="json", headers="source=shop", partition=0)
    client.post(records, key="c1", key_format="text", value_format="null", partition=1)
    return "shown-topic"


@pytest.fixture(scope="package")
def accessible_group(broker: EmbeddedBroker, accessible_topic: str) -> Iterator[str]:
    """A group with a member and a lag that the tests of pages only look at."""
    commit(broker.bootstrap, "shown-group", {(accessible_topic, 0): 3})
    with member(broker.bootstrap, "shown-group", accessible_topic):
        yield "shown-group"


@pytest.fixture(scope="package")
def accessible_letters(broker: EmbeddedBroker, console: ConsoleThread, accessible_topic: str) -> str:
    """A topic of dead letters that the tests of pages only look at."""
    console.client().post("/clusters/local/topics", name="shown-dead-letters", partitions=1)
    send_letters(broker.bootstrap, accessible_topic, "shown-dead-letters", ["line 1: no JSON", "line 2: no JSON", "field 'a' is missing"])
    return "shown-dead-letters"


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with started_browser() as started:
        yield started

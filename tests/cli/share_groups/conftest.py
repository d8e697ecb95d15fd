"""One broker with heartbeats that are quicker than in production, for all tests here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from barnabas.testing import EmbeddedBroker
from tests.cli.running import Cli

QUICK = {
    "group.share.min.heartbeat.interval.ms": "100",
    "group.share.heartbeat.interval.ms": "100",
    "group.share.assignment.interval.ms": "0",
}


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config=QUICK) as running:
        yield running


@pytest.fixture
def cli(broker: EmbeddedBroker) -> Cli:
    return Cli(broker.bootstrap)


@pytest.fixture
def orders(cli: Cli, request: pytest.FixtureRequest) -> str:
    """A topic with three records, and the name of a share group that begins with the first."""
    name = str(request.node.name).replace("[", "-").replace("]", "")
    cli("topics", "create", name, "--partitions", 2).worked()
    cli("produce", name, "--partition", 0, stdin=b"a\nb\nc\n").worked()
    cli("configs", "alter", "--group", name, "--set", "share.auto.offset.reset=earliest").worked()
    return name

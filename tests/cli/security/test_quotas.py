"""``barnabas quotas`` against Apache Kafka and against Barnabas."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.narrow_terminal import COLUMNS, on_terminal
from tests.cli.running import Cli
from tests.cli.security.authorizing import Authorizing
from tests.waiting import until

_OPTIONS = {"user": "user", "client-id": "client", "ip": "ip"}


@pytest.fixture(autouse=True)
def without_quotas(authorizing: Authorizing, cli: Cli) -> Iterator[None]:
    yield
    for each in cli("quotas", "list", "--json").json:
        words = [
            word
            for part in each["entity"]
            for word in ([f"--{_OPTIONS[part['type']]}-default"] if part["name"] is None else [f"--{part['type']}", part["name"]])
        ]
        cli("quotas", "remove", *words).worked()
    listed(cli, 0)


def listed(cli: Cli, count: int) -> list[list[str]]:
    """Kafka answers a change when the controller has it; its brokers have it a little later."""
    until(lambda: len(cli("quotas", "list").rows) == count, f"{count} limits are listed")
    return cli("quotas", "list").rows


def test_limits_are_set_listed_and_removed(cli: Cli) -> None:
    done = cli("quotas", "set", "--user", "alice", "producer_byte_rate=1MB", "consumer_byte_rate=512KiB")
    assert done.text == "producer_byte_rate of user alice is 1 MB/s now.\nconsumer_byte_rate of user alice is 512 KiB/s now.\n"
    cli("quotas", "set", "--user", "alice", "--client-id", "app", "request_percentage=50%").worked()
    cli("quotas", "set", "--user-default", "--client-default", "controller_mutation_rate=2.5").worked()
    cli("quotas", "set", "--client-id", "app", "producer_byte_rate=1234567").worked()
    cli("quotas", "set", "--ip", "127.0.0.9", "connection_creation_rate=10").worked()
    assert listed(cli, 6) == [
        ["alice", "-", "-", "producer_byte_rate", "1 MB/s"],
        ["alice", "-", "-", "consumer_byte_rate", "512 KiB/s"],
        ["alice", "app", "-", "request_percentage", "50 %"],
        ["<default>", "<default>", "-", "controller_mutation_rate", "2.5/s"],
        ["-", "app", "-", "producer_byte_rate", "1234567 B/s"],
        ["-", "-", "127.0.0.9", "connection_creation_rate", "10/s"],
    ]
    assert cli("quotas", "list", "--user", "alice", "--client-id", "app", "--json").json == [
        {"entity": [{"type": "user", "name": "alice"}, {"type": "client-id", "name": "app"}], "limits": {"request_percentage": 50.0}}
    ]
    assert len(cli("quotas", "list", "--user", "alice").rows) == 3
    assert cli("quotas", "remove", "--user", "alice", "consumer_byte_rate").text == "Removed consumer_byte_rate of user alice.\n"
    listed(cli, 5)
    again = cli("quotas", "remove", "--user", "alice", "consumer_byte_rate").complaint
    assert again == "There is no consumer_byte_rate of user alice."


def test_a_list_on_a_terminal_fits_80_columns(cli: Cli) -> None:
    assert on_terminal(cli, "quotas", "list") == ["There are no quotas."]
    user = "CN=alice,OU=A department of some length,O=An organization,L=A town,C=DE"
    cli("quotas", "set", "--user", user, "--client-id", "a-client-id-of-some-length", "producer_byte_rate=10GB").worked()
    listed(cli, 1)
    lines = on_terminal(cli, "quotas", "list")
    assert len(lines) > 2
    assert max(map(len, lines)) <= COLUMNS

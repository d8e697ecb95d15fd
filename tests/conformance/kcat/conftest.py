from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from barnabas.testing import EmbeddedBroker
from tests.cli.running import Cli
from tests.waiting import PATIENCE_SECONDS


class Kcat:
    """kcat as a user runs it, without the remarks that it writes to stderr."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    def __call__(self, *words: object, stdin: bytes = b"") -> bytes:
        # KCAT_CONFIG keeps the settings of the user who runs the tests away.
        done = subprocess.run(
            ["kcat", "-b", self._bootstrap, *(each if isinstance(each, bytes) else str(each) for each in words)],
            input=stdin,
            capture_output=True,
            timeout=PATIENCE_SECONDS,
            env={"KCAT_CONFIG": "/dev/null", "PATH": "/usr/local/bin:/usr/bin:/bin"},
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    if shutil.which("kcat") is None:
        pytest.skip("kcat is missing, so nothing is compared with it (apt-get install kcat, or make kcat as root).")
    # Records here have timestamps of long ago, which retention would delete after five minutes.
    with EmbeddedBroker(config={"log.retention.ms": -1}) as running:
        yield running


@pytest.fixture(scope="module")
def kcat(broker: EmbeddedBroker) -> Kcat:
    return Kcat(broker.bootstrap)


@pytest.fixture(scope="module")
def cli(broker: EmbeddedBroker) -> Cli:
    return Cli(broker.bootstrap)


@pytest.fixture(scope="module")
def mixed(broker: EmbeddedBroker, cli: Cli) -> str:
    """Records of every kind in one partition: null, empty, text and other bytes as key and value,
    headers that are repeated, empty or null, and one second between timestamps."""
    cli("topics", "create", "mixed").worked()
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    data = [b"plain", "\u00fc\u4f60".encode(), bytes(range(2, 256)), b"two\nlines", b"", None, b"%s\\n", b"last"]
    headers: list[tuple[str, str | bytes | None]] = [
        ("a", b"1"),
        ("b", b"x,y=z"),
        ("a", b"2"),
        ("none", None),
        ("empty", b""),
        ("\u00fc", b"\xff"),
    ]
    for index, value in enumerate(data):
        producer.produce("mixed", value, key=data[-index], headers=headers[:index], timestamp=1_750_000_000_000 + 1000 * index)
    producer.flush()
    return "mixed"


@pytest.fixture(scope="module")
def wide(broker: EmbeddedBroker, cli: Cli) -> str:
    """Three partitions with 20, 7 and no records."""
    cli("topics", "create", "wide", "--partitions", 3).worked()
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for partition, count in ((0, 20), (1, 7)):
        for index in range(count):
            producer.produce(
                "wide", f"{partition}/{index}", key=f"{index % 3}", partition=partition, timestamp=1_750_000_000_000 + 1000 * index
            )
    producer.flush()
    return "wide"

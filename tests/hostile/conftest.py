"""A broker in a process of its own, attacked by one test after the other, and checked after each.

After any attack it serves the next client, has logged no error of its own, and has grown by less
than :data:`GROWTH_BYTES_MAX`.
"""

from __future__ import annotations

import http.client
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.testing import EmbeddedBroker
from peers.ports import free_port
from tests.scenarios.client import Client
from tests.waiting import PATIENCE_SECONDS

# Tests choose the age of their records, so retention is off, however long the tests take.
NOTHING_EXPIRES = {"log.retention.check.interval.ms": str(24 * 3_600_000)}
# Goal 7 of the reliability goals.
GROWTH_BYTES_MAX = 256 * 1024 * 1024


class Victim:
    """The broker, and the facts about it that are visible from outside."""

    def __init__(self, kafka: EmbeddedBroker, page_port: int | None = None) -> None:
        self._kafka = kafka
        self._page_port = page_port
        self.bootstrap = kafka.bootstrap
        self.data_dir = Path(kafka.data_dir)

    def client(self, *, receive_buffer_bytes: int | None = None) -> Client:
        return Client(self.bootstrap, receive_buffer_bytes=receive_buffer_bytes)

    def metrics_page(self) -> str:
        connection = http.client.HTTPConnection("127.0.0.1", self._page_port, timeout=PATIENCE_SECONDS)
        try:
            connection.request("GET", "/metrics")
            return connection.getresponse().read().decode()
        finally:
            connection.close()

    @property
    def complaints(self) -> str:
        return self._kafka.complaints

    def memory_bytes(self, line: str = "VmRSS") -> int:
        status = Path(f"/proc/{self._kafka.pid}/status").read_text()
        return int(next(each for each in status.splitlines() if each.startswith(f"{line}:")).split()[1]) * 1024

    def forget_peak(self) -> None:
        Path(f"/proc/{self._kafka.pid}/clear_refs").write_text("5")

    def worked_seconds(self) -> float:
        """How much processor time it has used. Wall time would also count the work of other
        processes.
        """
        behind_its_name = Path(f"/proc/{self._kafka.pid}/stat").read_text().rpartition(")")[2].split()
        user, system = behind_its_name[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def open_files(self) -> int:
        return len(list(Path(f"/proc/{self._kafka.pid}/fd").iterdir()))


@pytest.fixture(scope="package")
def one_victim_for_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Victim]:
    # A longer accept queue than Kafka's 50: these tests open hundreds of connections at once, and a
    # full queue costs each a second.
    page_port = free_port()
    config = {"socket.listen.backlog.size": "2000", "barnabas.prometheus.listener": f"127.0.0.1:{page_port}", **NOTHING_EXPIRES}
    # Tests look at what is beside the data, so no other process may work there.
    with EmbeddedBroker(process=True, data_dir=tmp_path_factory.mktemp("victim") / "data", config=config) as kafka:
        made = Victim(kafka, page_port)
        with made.client() as client:
            client.create_topic("t")
            client.produce("t", [b"kept through everything"])
        yield made


@pytest.fixture
def victim(one_victim_for_all: Victim) -> Iterator[Victim]:
    victim = one_victim_for_all
    victim.forget_peak()
    before = victim.memory_bytes()
    yield victim
    with victim.client() as other:
        other.probe()
        assert other.values("t")[0] == b"kept through everything"
    assert victim.complaints == ""
    assert victim.memory_bytes("VmHWM") - before < GROWTH_BYTES_MAX

"""A broker that validates schemas, and the registry that it asks."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from barnabas.registry_client import RegistryClient
from barnabas.testing import EmbeddedBroker

STOP_SECONDS_MAX = 30


@dataclass(frozen=True)
class Town:
    kafka: EmbeddedBroker
    registry: RegistryClient


@contextmanager
def open_town() -> Iterator[Town]:
    # The broker must know the address of the registry, which starts after it.
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    config = {"barnabas.schema.registry.url": url}
    with EmbeddedBroker(config=config) as kafka, _registry(kafka.bootstrap, port), RegistryClient(url) as registry:
        yield Town(kafka, registry)


@contextmanager
def _registry(bootstrap: str, port: int) -> Iterator[None]:
    command = [sys.executable, "-m", "barnabas", "registry", "-b", bootstrap, "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline().startswith("ready"), "the registry did not start"
        yield
    finally:
        process.terminate()
        process.wait(STOP_SECONDS_MAX)
        process.stdout.close()

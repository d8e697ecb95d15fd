"""Fixtures of the scenarios: a broker, a client, and a check that no error went unseen."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from barnabas.testing import EmbeddedBroker
from tests.scenarios.client import Client


@pytest.fixture(autouse=True)
def nothing_unhandled(capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """A broker in this process writes its errors to stderr, and asyncio writes unhandled exceptions
    to the log. A test that expects an error reads stderr itself, which empties it."""
    yield
    errors = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    assert not errors, errors
    assert "Traceback" not in capfd.readouterr().err


@pytest.fixture
def client(kafka: EmbeddedBroker) -> Iterator[Client]:
    with Client(kafka.bootstrap) as made:
        yield made

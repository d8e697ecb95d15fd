from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from barnabas.devcluster.certificates import CertificateAuthority, Issued
from barnabas.telemetry.logs import EventLog
from tests.scenarios.security.certificates import HOSTS, NOW, Files
from tests.scenarios.security.events import Event, Events


@pytest.fixture(scope="package")
def authority() -> CertificateAuthority:
    return CertificateAuthority.make("Barnabas tests", now=NOW)


@pytest.fixture
def files(tmp_path: Path, authority: CertificateAuthority) -> Files:
    return Files(tmp_path, authority)


@pytest.fixture(scope="package")
def node(authority: CertificateAuthority) -> Issued:
    return authority.issue("node", HOSTS, now=NOW)


@pytest.fixture(scope="package")
def alice(authority: CertificateAuthority) -> Issued:
    return authority.issue("alice", now=NOW, organization="Example")


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> Events:
    """The events that the brokers of this test log from now on, of every level."""
    seen = Events()

    def write(log: EventLog, level: str, event: str, values: dict[str, Any]) -> None:
        seen.append(Event(level, event, values))

    monkeypatch.setattr(EventLog, "_write", write)
    return seen

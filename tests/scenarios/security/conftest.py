from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.devcluster.certificates import CertificateAuthority, Issued
from tests.scenarios.security.certificates import HOSTS, NOW, Files


@pytest.fixture(scope="session")
def authority() -> CertificateAuthority:
    return CertificateAuthority.make("Barnabas tests", now=NOW)


@pytest.fixture
def files(tmp_path: Path, authority: CertificateAuthority) -> Files:
    return Files(tmp_path, authority)


@pytest.fixture(scope="session")
def node(authority: CertificateAuthority) -> Issued:
    return authority.issue("node", HOSTS, now=NOW)


@pytest.fixture(scope="session")
def alice(authority: CertificateAuthority) -> Issued:
    return authority.issue("alice", now=NOW, organization="Example")

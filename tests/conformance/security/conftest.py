from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.devcluster.certificates import CertificateAuthority
from peers.kerberos import Realm, kerberos_realm, why_missing
from tests.conformance.clients.conftest import OLD_WAY
from tests.conformance.security.nodes import PROTOCOLS, SecureNode, secure_node
from tests.scenarios.security.certificates import HOSTS, NOW, Files, pem_stores
from tests.scenarios.security.identity_provider import IdentityProvider, identity_provider

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka  # noqa: F401


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.filterwarnings(OLD_WAY))
            # kafka-python also forgets sockets whose connection was refused.
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))


@pytest.fixture(scope="package")
def provider() -> Iterator[IdentityProvider]:
    with identity_provider() as running:
        yield running


@pytest.fixture(scope="package")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Realm | None]:
    """None where there is no KDC: nodes then have no GSSAPI, and its tests are skipped."""
    if why_missing() is not None:
        yield None
        return
    with kerberos_realm(tmp_path_factory.mktemp("kerberos")) as running:
        before = {name: os.environ.get(name) for name in (*running.environment, "KRB5CCNAME")}
        # The libraries of clients read it, in this process and in those of nodes.
        os.environ.update(running.environment)
        yield running
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@pytest.fixture(scope="package", params=PROTOCOLS)
def node(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, provider: IdentityProvider, realm: Realm | None
) -> Iterator[SecureNode]:
    files = Files(tmp_path_factory.mktemp("tls"), CertificateAuthority.make("Barnabas tests", now=NOW))
    tls = pem_stores(files, files.authority.issue("node", HOSTS, now=NOW))
    with secure_node(request.param, provider, tls, realm) as running:
        if running.tickets is not None:
            os.environ["KRB5CCNAME"] = f"FILE:{running.tickets}"
        yield running

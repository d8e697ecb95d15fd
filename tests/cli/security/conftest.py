from __future__ import annotations

from collections.abc import Iterator

import pytest

from barnabas.testing import EmbeddedBroker
from peers.apache_kafka import apache_kafka, why_missing
from tests.cli.running import Cli
from tests.cli.security.authorizing import AUTHORIZER, Authorizing
from tests.cli.security.secured import Secured, mutual_tls, scram_over_tls


@pytest.fixture(scope="package", params=[scram_over_tls, mutual_tls], ids=["scram_over_tls", "mutual_tls"])
def secured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with request.param(tmp_path_factory.mktemp("secured")) as made:
        yield made


@pytest.fixture(scope="package")
def mutual(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with mutual_tls(tmp_path_factory.mktemp("mutual")) as made:
        yield made


@pytest.fixture(scope="package")
def scram(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with scram_over_tls(tmp_path_factory.mktemp("scram")) as made:
        yield made


@pytest.fixture(scope="package", params=["apache_kafka", "barnabas"])
def authorizing(request: pytest.FixtureRequest) -> Iterator[Authorizing]:
    """A cluster with Kafka's authorizer, of which every client here is a super user."""
    if request.param == "apache_kafka":
        if (missing := why_missing()) is not None:
            pytest.skip(missing)
        with apache_kafka(extra=AUTHORIZER) as (bootstrap, _):
            yield Authorizing(bootstrap, tells_super_users=False)
        return
    with EmbeddedBroker(config=AUTHORIZER) as kafka:
        yield Authorizing(kafka.bootstrap, tells_super_users=True)


@pytest.fixture
def cli(authorizing: Authorizing) -> Cli:
    return Cli(authorizing.bootstrap)
